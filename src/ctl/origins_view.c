/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/names.h"
#include "ctl/origins.h"
#include "ctl/table.h"
#include "model/resource.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__OriginsStatus origins_message;
typedef Udpa__Status__V1__Contribution contribution_message;

static const char *
state_of(const contribution_message *said)
{
    if (said->effective)
        return "counts";
    if (!said->eligible)
        return "not in use";
    return said->superseded ? "outdated" : "shadowed";
}

static void
add_way(udpai_ctl_table *table, const contribution_message *said)
{
    udpai_strbuf way = {0};
    for (size_t i = 0; i + 1 < said->n_way; i++)
        udpai_strbuf_printf(&way, "%s%s", i ? " > " : "", said->way[i]);
    udpai_ctl_table_add(table, udpai_strbuf_view(&way));
    udpai_strbuf_done(&way);
}

static void
add_row(udpai_ctl_table *table, const origins_message *origins, const contribution_message *said)
{
    udpai_ctl_table_add(table, udpai_ctl_type_short(udpai_str_from(origins->type_url)));
    udpai_ctl_table_add_text(table, origins->name);
    udpai_ctl_table_add_text(table, said->origin);
    udpai_ctl_table_add_text(table, said->authority);
    udpai_ctl_table_add_text(table, said->version);
    udpai_ctl_table_addf(table, "%llu", (unsigned long long)said->generation);
    udpai_ctl_table_add_text(table, state_of(said));
    add_way(table, said);
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

void
udpai_ctl_put_origins(udpai_strbuf *out, udpa_resource *const *answers, size_t n)
{
    static const char *const heads[] = {"TYPE",    "NAME",       "ORIGIN", "AUTHORITY",
                                        "VERSION", "GENERATION", "STATE",  "WAY"};
    udpai_ctl_table table;
    udpai_ctl_table_begin(&table, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        origins_message *origins = unpack(answers[i]);
        for (size_t k = 0; origins && k < origins->n_contributions; k++)
            add_row(&table, origins, origins->contributions[k]);
        udpa__status__v1__origins_status__free_unpacked(origins, NULL);
    }
    if (udpai_ctl_table_n_rows(&table))
        udpai_ctl_table_write(&table, out);
    udpai_ctl_table_done(&table);
}
