/* SPDX-License-Identifier: Apache-2.0 */
/* Who here wants what: the stream side as a whole, and each subscriber in the process. */
#include "federation/interest.h"
#include "federation/provider.h"
#include "federation/reports.h"

#include "base/alloc.h"
#include "model/name.h"

#define KEY_MAX (UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX + 1)

static udpai_str
make_key(char room[KEY_MAX], udpai_str type_url, udpai_str text)
{
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, text.data, text.len);
    return (udpai_str){room, type_url.len + 1 + text.len};
}

/* ---- where names lie ---- */

/* So many prefixes of each name are counted: whoever asks for names of a thousand segments does not
 * have the node hold a thousand prefixes. */
#define PLACES_MAX 8

/* What is wanted below a prefix; it tells groups of clients, of which most come before anything is
 * wanted for them, that they need not look. */
typedef struct interest_place {
    size_t n;
    uint32_t len;
    char prefix[];
} interest_place;

udpai_str
udpai_interest_place_key(const void *item)
{
    const interest_place *place = item;
    return (udpai_str){place->prefix, place->len};
}

static interest_place *
make_place(udpai_node *node, udpai_str prefix)
{
    interest_place *place = udpai_alloc(sizeof(*place) + prefix.len);
    if (!place)
        return NULL;
    place->len = (uint32_t)prefix.len;
    memcpy(place->prefix, prefix.data, prefix.len);
    if (udpai_map_add(&node->interest_places, place))
        return place;
    udpai_free(place);
    return NULL;
}

/* Without memory all that is wanted is looked through from then on. */
static void
count_place(udpai_node *node, udpai_str prefix, bool wanted)
{
    interest_place *place = udpai_map_get(&node->interest_places, prefix);
    if (!place && wanted && !node->has_lost_places && !(place = make_place(node, prefix)))
        node->has_lost_places = true;
    if (!place)
        return;
    place->n += wanted ? 1 : (size_t)-1;
    if (place->n == 0 || (!wanted && node->has_lost_places))
        udpai_free(udpai_map_remove(&node->interest_places, prefix));
}

static udpai_str
subject_of(udpai_str text)
{
    bool is_wildcard = text.data[0] == '*';
    return (udpai_str){text.data + is_wildcard, text.len - is_wildcard};
}

/* Those that may be a group's: behind the first '/'. */
static bool
next_place(udpai_str subject, size_t *at, unsigned *n, udpai_str *ret_prefix)
{
    while (*n < PLACES_MAX && udpai_name_next_prefix(subject, at, ret_prefix))
        if (ret_prefix->len && memchr(ret_prefix->data, '/', ret_prefix->len) &&
            ret_prefix->data[ret_prefix->len - 1] != '/') {
            ++*n;
            return true;
        }
    return false;
}

static void
count_places(udpai_node *node, udpai_str text, bool wanted)
{
    udpai_str subject = subject_of(text), prefix;
    size_t at = 0;
    unsigned n = 0;
    if (!node->last_of_groups)
        return;
    while (next_place(subject, &at, &n, &prefix))
        if (prefix.len < subject.len || text.data[0] == '*')
            count_place(node, prefix, wanted);
}

/* May something be wanted there? */
static bool
may_be_wanted(const udpai_node *node, udpai_str name_space)
{
    size_t at = 0;
    unsigned n = 0;
    udpai_str prefix;
    if (node->has_lost_places || udpai_map_get(&node->interest_places, name_space))
        return true;
    while (next_place(name_space, &at, &n, &prefix))
        if (prefix.len == name_space.len)
            return false; /* it would have been counted */
    return true;
}

/* ---- what is wanted ---- */

void
udpai_interest_change(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    char room[KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return;
    udpai_str key = make_key(room, type_url, text);
    udpai_interest *interest = udpai_map_get(&node->interests, key);
    if (!interest && wanted) {
        interest = udpai_alloc(sizeof(*interest) + key.len);
        if (!interest)
            return;
        interest->type_len = (uint32_t)type_url.len;
        interest->len = (uint32_t)key.len;
        memcpy(interest->key, key.data, key.len);
        if (!udpai_map_add(&node->interests, interest)) {
            udpai_free(interest);
            return;
        }
    }
    if (!interest)
        return;
    interest->n += wanted ? 1 : (size_t)-1;
    if (wanted ? interest->n == 1 : interest->n == 0) {
        count_places(node, text, wanted);
        udpai_providers_interest(node, type_url, text, wanted);
    } else if (wanted) {
        udpai_providers_look_up(node, type_url, text);
    }
    if (interest->n == 0)
        udpai_free(udpai_map_remove(&node->interests, key));
}

void
udpai_interest_want(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_interest_change(node, type_url, text, wanted);
    udpai_reports_want(node, type_url, text, wanted);
}

static udpai_interest *
find_interest(const udpai_node *node, udpai_str type_url, udpai_str text)
{
    char room[KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return NULL;
    return udpai_map_get(&node->interests, make_key(room, type_url, text));
}

void
udpai_interest_by_nodes(udpai_node *node, udpai_str type_url, udpai_str name, bool wanted)
{
    udpai_interest *interest = find_interest(node, type_url, name);
    if ((interest && interest->by_nodes) == wanted)
        return;
    if (interest)
        interest->by_nodes = false;
    udpai_interest_want(node, type_url, name, wanted);
    if (wanted && (interest = find_interest(node, type_url, name)))
        interest->by_nodes = true;
}

bool
udpai_interest_look_up(udpai_node *node, udpai_str type_url, udpai_str name)
{
    bool is_wanted = find_interest(node, type_url, name) != NULL;
    if (is_wanted)
        udpai_providers_look_up(node, type_url, name);
    return is_wanted;
}

struct pattern {
    udpai_node *node;
    udpai_str type_url, alias;
    bool any;
};

static void
look_up_if_matched(void *userdata, udpai_str text)
{
    struct pattern *pattern = userdata;
    if (text.data[0] == '*' || !udpai_alias_matches(pattern->alias, text))
        return;
    pattern->any = true;
    udpai_providers_look_up(pattern->node, pattern->type_url, text);
}

bool
udpai_interest_look_up_aliases(udpai_node *node, const udpa_resource *was)
{
    udpai_str type_url = udpai_resource_type_url(was);
    bool any = false;
    for (size_t i = 0; i < udpa_resource_n_aliases(was); i++) {
        struct pattern pattern = {node, type_url, udpai_resource_alias(was, i), false};
        if (udpai_alias_is_pattern(pattern.alias))
            udpai_interests_visit(node, type_url, look_up_if_matched, &pattern);
        else
            pattern.any = udpai_interest_look_up(node, type_url, pattern.alias);
        any |= pattern.any;
    }
    return any;
}

bool
udpai_interest_is_own(const udpai_node *node, udpai_str type_url, udpai_str name)
{
    const udpai_interest *interest = find_interest(node, type_url, name);
    return interest && interest->n > interest->by_nodes;
}

void
udpai_interests_visit(const udpai_node *node,
                      udpai_str type_url,
                      udpai_interest_visit_fn visit,
                      void *userdata)
{
    size_t at = 0;
    const udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at))) {
        size_t skip = (size_t)interest->type_len + 1;
        if (udpai_str_eq((udpai_str){interest->key, interest->type_len}, type_url))
            visit(userdata, (udpai_str){interest->key + skip, interest->len - skip});
    }
}

static bool
is_below(udpai_str text, udpai_str name_space)
{
    udpai_str subject = subject_of(text);
    bool is_itself = text.data[0] == '*' && subject.len == name_space.len;
    return !is_itself && udpai_prefix_covers(name_space, subject);
}

static void
visit_below(const udpai_node *node,
            udpai_str type_url,
            udpai_str name_space,
            udpai_interest_visit_fn visit,
            void *userdata)
{
    size_t at = 0;
    const udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at))) {
        size_t skip = (size_t)interest->type_len + 1;
        const udpai_str text = {interest->key + skip, interest->len - skip};
        if (udpai_str_eq((udpai_str){interest->key, interest->type_len}, type_url) &&
            is_below(text, name_space))
            visit(userdata, text);
    }
}

static void
visit_text(const udpai_node *node,
           udpai_str type_url,
           udpai_str text,
           udpai_interest_visit_fn visit,
           void *userdata)
{
    char room[KEY_MAX];
    if (udpai_map_get(&node->interests, make_key(room, type_url, text)))
        visit(userdata, text);
}

static void
visit_wildcards(const udpai_node *node,
                udpai_str type_url,
                udpai_str name,
                udpai_interest_visit_fn visit,
                void *userdata)
{
    char room[UDPA_NAME_MAX + 1];
    size_t at = 0;
    udpai_str prefix;
    while (udpai_name_next_prefix(name, &at, &prefix))
        visit_text(node, type_url, udpai_wildcard_text(room, prefix), visit, userdata);
}

void
udpai_interests_visit_name(const udpai_node *node,
                           udpai_str type_url,
                           udpai_str name,
                           udpai_interest_visit_fn visit,
                           void *userdata)
{
    if (type_url.len > UDPAI_TYPE_URL_MAX || name.len > UDPA_NAME_MAX)
        return;
    visit_text(node, type_url, name, visit, userdata);
    visit_wildcards(node, type_url, name, visit, userdata);
}

void
udpai_interests_visit_place(const udpai_node *node,
                            udpai_str type_url,
                            udpai_str name_space,
                            udpai_interest_visit_fn visit,
                            void *userdata)
{
    if (type_url.len > UDPAI_TYPE_URL_MAX || name_space.len > UDPA_NAME_MAX)
        return;
    visit_wildcards(node, type_url, name_space, visit, userdata);
    if (may_be_wanted(node, name_space))
        visit_below(node, type_url, name_space, visit, userdata);
}

void
udpai_interests_visit_types(const udpai_node *node, udpai_interest_visit_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at)))
        visit(userdata, (udpai_str){interest->key, interest->type_len});
}

void
udpai_interests_free(udpai_node *node)
{
    size_t at = 0;
    udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at)))
        udpai_free(interest);
    udpai_map_done(&node->interests);
    at = 0;
    interest_place *place;
    while ((place = udpai_map_next(&node->interest_places, &at)))
        udpai_free(place);
    udpai_map_done(&node->interest_places);
}
