/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace that occurs once in the file may be right; one that occurs once and is nearly another
 * one is hardly. */
#include "daemon/namespace_check.h"

#include "model/name.h"

#define SLIPS_MAX 2
#define LEN_MAX 256 /* of what is compared */

/* All that the file mentions. */
struct mentions {
    UDPAI_VECTOR(udpai_str) items;
    bool failed;
};

static void
mention(void *userdata, const char *name_space)
{
    struct mentions *mentions = userdata;
    udpai_str text = udpai_str_from(name_space);
    if (text.len && text.len <= LEN_MAX && !memchr(text.data, '{', text.len) &&
        !udpai_vector_push(&mentions->items, text))
        mentions->failed = true;
}

/* ---- slips ---- */

static size_t
least(size_t a, size_t b, size_t c)
{
    size_t less = a < b ? a : b;
    return less < c ? less : c;
}

/* Letters that must be put in, left out or changed. */
static size_t
distance(udpai_str a, udpai_str b)
{
    size_t row[LEN_MAX + 1];
    for (size_t k = 0; k <= b.len; k++)
        row[k] = k;
    for (size_t i = 0; i < a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < b.len; k++) {
            size_t above = row[k + 1];
            row[k + 1] = least(above + 1, row[k] + 1, diagonal + (a.data[i] != b.data[k]));
            diagonal = above;
        }
    }
    return row[b.len];
}

static bool
is_slip(udpai_str text, udpai_str meant)
{
    size_t longer = text.len > meant.len ? text.len : meant.len;
    size_t shorter = text.len + meant.len - longer;
    return longer - shorter <= SLIPS_MAX && shorter > (size_t)2 * SLIPS_MAX &&
           distance(text, meant) <= SLIPS_MAX;
}

/* Something that is nearly it, if nothing has to do with it but itself; NULL: none. */
static const udpai_str *
find_meant(const struct mentions *mentions, udpai_str text)
{
    const udpai_str *meant = NULL;
    size_t n_itself = 0;
    for (size_t i = 0; i < mentions->items.n; i++) {
        const udpai_str *other = &mentions->items.items[i];
        n_itself += udpai_str_eq(*other, text);
        bool is_related = !udpai_str_eq(*other, text) &&
                          (udpai_prefix_covers(*other, text) || udpai_prefix_covers(text, *other));
        if (is_related || n_itself > 1)
            return NULL;
        if (!udpai_str_eq(*other, text) && is_slip(text, *other))
            meant = other;
    }
    return meant;
}

void
udpai_namespace_check_typos(const udpai_section *section,
                            const Udpa__Config__V1__Bootstrap *message,
                            udpai_diagnostics *diagnostics)
{
    struct mentions mentions = {0};
    char list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    udpai_section_namespaces(section, message, mention, &mentions);
    diagnostics->has_failed |= mentions.failed;
    for (size_t i = 0; i < message->n_providers; i++) {
        udpai_path_field(list, udpai_path_item(path, "providers", i), "config_descriptors");
        for (size_t k = 0; k < message->providers[i]->n_config_descriptors; k++) {
            const char *text = message->providers[i]->config_descriptors[k]->namespace_;
            const udpai_str *meant = find_meant(&mentions, udpai_str_from(text));
            udpai_path_item(path, list, k);
            if (meant)
                udpai_diagnostics_warn(diagnostics, udpai_path_field(path, path, "namespace"),
                                       "'%s' is mentioned nowhere else: is '%.*s' meant?", text,
                                       UDPAI_SHOWN(*meant));
        }
    }
    udpai_vector_done(&mentions.items);
}
