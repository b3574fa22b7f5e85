/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/explain_view.h"

#include "cli/names.h"
#include "ctl/awaited_view.h"

static const char *
is_of(const Udpa__Status__V1__Contribution *it)
{
    if (it->held)
        return it->effective ? "effective, held" : "shadowed, held";
    return it->effective ? "effective" : "shadowed";
}

static void
add_why(udpai_cli_table *table,
        const udpai_cli_explanation *explained,
        const Udpa__Status__V1__Contribution *it)
{
    udpai_strbuf why = {0};
    udpai_cli_put_explanation_why(&why, explained, it);
    udpai_cli_table_add(table, udpai_strbuf_view(&why));
    udpai_strbuf_done(&why);
}

static void
put_contributions(udpai_strbuf *out,
                  udpai_cli_layout *layout,
                  const udpai_cli_explanation *explained)
{
    static const char *const heads[] = {"ORIGIN",     "AUTHORITY", "VERSION",
                                        "GENERATION", "IS",        "BECAUSE"};
    const Udpa__Status__V1__OriginsStatus *origins = explained->origins;
    udpai_cli_table table;
    if (!origins || !origins->n_contributions)
        return;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < origins->n_contributions; i++) {
        const Udpa__Status__V1__Contribution *it = origins->contributions[i];
        udpai_cli_table_add_text(&table, it->origin);
        udpai_cli_table_add_text(&table, it->authority);
        udpai_cli_table_add_version(&table, udpai_str_from(it->version));
        udpai_cli_table_add_number(&table, it->generation);
        udpai_cli_table_add_text(&table, is_of(it));
        add_why(&table, explained, it);
    }
    udpai_strbuf_putc(out, '\n');
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

void
udpai_ctl_put_explained(udpai_strbuf *out,
                        udpai_cli_layout *layout,
                        const udpai_cli_explanation *explained,
                        int64_t now_us)
{
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_str_from(explained->type_url)));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_text(out, udpai_str_from(explained->name));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_explanation_fact(out, explained);
    udpai_strbuf_putc(out, '\n');
    if (explained->client) {
        udpai_strbuf_puts(out, "client ");
        udpai_cli_put_text(out, udpai_str_from(explained->client));
        udpai_strbuf_putc(out, ' ');
        udpai_cli_put_explanation_client(out, explained);
        udpai_strbuf_putc(out, '\n');
    }
    put_contributions(out, layout, explained);
    const Udpa__Status__V1__AcknowledgementStatus *status = udpai_cli_explanation_status(explained);
    if (status && (status->exists || status->n_subscribed)) {
        udpai_strbuf_putc(out, '\n');
        udpai_ctl_put_awaited(out, layout, &explained->acknowledgements, now_us);
    }
}
