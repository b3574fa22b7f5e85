/* SPDX-License-Identifier: Apache-2.0 */
/* The contributions to a name as a table, and which of them is effective. */
#include "base/alloc.h"
#include "cli/names.h"
#include "cli/table.h"
#include "ctl/origins.h"
#include "model/resource.h"
#include "model/type_url.h"
#include "session/origins_question.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__OriginsStatus origins_message;
typedef Udpa__Status__V1__Contribution contribution_message;

static const char *
state_of(const contribution_message *contribution)
{
    if (contribution->effective)
        return "effective";
    if (!contribution->eligible)
        return "not active";
    return contribution->superseded ? "outdated" : "shadowed";
}

static void
add_path(udpai_cli_table *table, const contribution_message *contribution)
{
    udpai_strbuf path = {0};
    for (size_t i = 0; i + 1 < contribution->n_way; i++)
        udpai_strbuf_printf(&path, "%s%s", i ? " > " : "", contribution->way[i]);
    udpai_cli_table_add(table, udpai_strbuf_view(&path));
    udpai_strbuf_done(&path);
}

static void
add_row(udpai_cli_table *table,
        const origins_message *origins,
        const contribution_message *contribution)
{
    udpai_cli_table_add(table, udpai_cli_type_short(udpai_str_from(origins->type_url)));
    udpai_cli_table_add_text(table, origins->name);
    udpai_cli_table_add_text(table, contribution->origin);
    udpai_cli_table_add_text(table, contribution->authority);
    udpai_cli_table_add_version(table, udpai_str_from(contribution->version));
    udpai_cli_table_add_number(table, contribution->generation);
    udpai_cli_table_add_text(table, state_of(contribution));
    add_path(table, contribution);
}

static origins_message *
unpack(const udpa_resource *answer)
{
    udpai_str bytes = udpai_resource_value(answer);
    return udpa__status__v1__origins_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
}

bool
udpai_ctl_has_origins(const udpa_resource *answer)
{
    origins_message *origins = unpack(answer);
    bool has_some = origins && origins->n_contributions;
    udpa__status__v1__origins_status__free_unpacked(origins, NULL);
    return has_some;
}

/* ---- of one resource ---- */

/* "publisher:IDENTITY/NODE ID" */
static bool
is_of_publisher(const char *origin, const char *node_id)
{
    udpai_str text = udpai_str_from(origin), id = udpai_str_from(node_id);
    return udpai_str_starts(text, UDPAI_STR("publisher:")) && text.len > id.len &&
           text.data[text.len - id.len - 1] == '/' &&
           memcmp(text.data + text.len - id.len, id.data, id.len) == 0;
}

/* By the name of the answer, which is the question. */
static bool
is_about(const udpa_resource *answer, const udpa_resource *resource)
{
    udpai_origins_question question;
    return udpai_origins_question_parse(udpai_resource_name(answer), &question) &&
           udpai_str_eq(question.name, udpai_resource_name(resource)) &&
           udpai_str_eq(question.type_name, udpai_type_url_name(udpai_resource_type_url(resource)));
}

static udpai_ctl_contributions
read_contributions(const udpa_resource *answer, const char *node_id)
{
    udpai_ctl_contributions contributions = {0};
    origins_message *origins = unpack(answer);
    for (size_t i = 0; origins && i < origins->n_contributions; i++) {
        const contribution_message *contribution = origins->contributions[i];
        contributions.has_own |= is_of_publisher(contribution->origin, node_id);
        if (contribution->effective && !contributions.effective)
            contributions.effective = udpai_strdup(contribution->origin);
    }
    udpa__status__v1__origins_status__free_unpacked(origins, NULL);
    return contributions;
}

udpai_ctl_contributions
udpai_ctl_contributions_of(udpa_resource *const *answers,
                           size_t n,
                           const udpa_resource *resource,
                           const char *node_id)
{
    for (size_t i = 0; i < n; i++)
        if (is_about(answers[i], resource))
            return read_contributions(answers[i], node_id);
    return (udpai_ctl_contributions){0};
}

void
udpai_ctl_contributions_done(udpai_ctl_contributions *contributions)
{
    udpai_free(contributions->effective);
}

void
udpai_ctl_put_origins(udpai_strbuf *out,
                      udpai_cli_layout *layout,
                      udpa_resource *const *answers,
                      size_t n)
{
    static const char *const heads[] = {"TYPE",    "NAME",       "ORIGIN", "AUTHORITY",
                                        "VERSION", "GENERATION", "STATE",  "PATH"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        origins_message *origins = unpack(answers[i]);
        for (size_t k = 0; origins && k < origins->n_contributions; k++)
            add_row(&table, origins, origins->contributions[k]);
        udpa__status__v1__origins_status__free_unpacked(origins, NULL);
    }
    if (udpai_cli_table_n_rows(&table))
        udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}
