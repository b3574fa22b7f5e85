/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/top_view.h"

#include <stdio.h>

#include "ctl/status_view.h"

static void
put_seconds(udpai_strbuf *out, double seconds)
{
    if (seconds < 1)
        udpai_strbuf_printf(out, "%.3g ms", seconds * 1000);
    else
        udpai_strbuf_printf(out, "%.3g s", seconds);
}

static void
put_head(const udpai_cli_top *top, udpai_strbuf *out)
{
    size_t at = 0;
    double up_s;
    const udpai_cli_series *build = udpai_cli_page_next(top->page, "udpa_build_info", &at);
    udpai_cli_put_text(out, udpai_str_from(top->node));
    if (build) {
        udpai_strbuf_puts(out, ", version ");
        udpai_cli_series_put_label(out, build);
    }
    if (udpai_cli_top_uptime(top, &up_s)) {
        udpai_strbuf_puts(out, ", up ");
        udpai_ctl_put_age(out, (int64_t)up_s);
    }
    udpai_strbuf_puts(out, "\n\n");
}

static void
put_rates(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"RATE", "PER SECOND", "IN ALL"};
    udpai_cli_table table;
    char room[40];
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < UDPAI_CLI_TOP_COUNTS; i++) {
        double rate = udpai_cli_top_rate(top, i);
        const udpai_str text = {room, (size_t)snprintf(room, sizeof(room), "%.1f", rate)};
        udpai_cli_table_add(&table, udpai_str_from(udpai_cli_top_count_name(i)));
        udpai_cli_table_add_quantity(&table, rate, text);
        udpai_cli_table_addf(&table, "%.0f", top->now->sums[i]);
    }
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

static void
put_times(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"TIME", "NOW", "SINCE THE START"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < UDPAI_CLI_TOP_QUANTILES; i++) {
        const udpai_cli_top_quantile *row = &udpai_cli_top_quantiles[i];
        udpai_cli_table_add(&table, udpai_str_from(row->name));
        for (int is_since_start = 0; is_since_start < 2; is_since_start++) {
            double value = 0;
            udpai_strbuf text = {0};
            if (udpai_cli_top_quantile_of(top, row, is_since_start, &value))
                put_seconds(&text, value);
            udpai_cli_table_add_quantity(&table, value, udpai_strbuf_view(&text));
            udpai_strbuf_done(&text);
        }
    }
    udpai_strbuf_putc(out, '\n');
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

static void
put_streams(const udpai_cli_top *top, udpai_strbuf *out)
{
    size_t at = 0, n = 0;
    const udpai_cli_series *series;
    udpai_strbuf_puts(out, "\nSTREAMS  ");
    while ((series = udpai_cli_page_next(top->page, "udpa_sessions", &at)))
        if (series->value > 0) {
            udpai_strbuf_puts(out, n++ ? ", " : "");
            udpai_cli_series_put_label(out, series);
            udpai_strbuf_printf(out, " %.0f", series->value);
        }
    udpai_strbuf_puts(out, n ? "\n" : "none\n");
}

static void
put_sources(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"SOURCE", "STATE", "FAILURES", "HELD"};
    udpai_cli_table table;
    udpai_cli_top_source source;
    size_t at = 0;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    while (udpai_cli_table_n_rows(&table) < UDPAI_CTL_TOP_SOURCES &&
           udpai_cli_top_next_source(top->page, &at, &source)) {
        udpai_strbuf name = {0};
        udpai_cli_series_put_label(&name, source.series);
        udpai_cli_table_add(&table, udpai_strbuf_view(&name));
        udpai_cli_table_add_text(&table, source.state);
        udpai_cli_table_addf(&table, "%.0f", source.n_failures);
        udpai_cli_table_addf(&table, "%.0f", source.n_held);
        udpai_strbuf_done(&name);
    }
    if (udpai_cli_table_n_rows(&table)) {
        udpai_strbuf_putc(out, '\n');
        udpai_cli_table_write(&table, out);
    }
    udpai_cli_table_done(&table);
}

static void
put_clients(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"CLIENT",       "ADDRESS",      "PROTOCOL", "REJECTS NOW",
                                        "NOT ANSWERED", "TYPES BEHIND", "NACKS"};
    const udpai_cli_top_clients *clients = top->clients;
    udpai_cli_table table;
    if (!clients->is_known) {
        udpai_strbuf_puts(out, "\nCLIENTS  the node does not report them to this udpactl\n");
        return;
    }
    if (clients->n == 0) {
        udpai_strbuf_printf(out, "\nCLIENTS  all of %zu streams are synchronized\n",
                            clients->n_clients);
        return;
    }
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < clients->n && i < top->max_clients; i++) {
        const udpai_cli_top_client *it = &clients->items[i];
        udpai_cli_table_add_text(&table, it->name ? it->name : "?");
        udpai_cli_table_add_text(&table, it->address ? it->address : "?");
        udpai_cli_table_add_text(&table, it->protocol ? it->protocol : "?");
        udpai_cli_table_add_number(&table, it->n_rejected);
        udpai_cli_table_add_number(&table, it->n_unanswered);
        udpai_cli_table_add_number(&table, it->n_behind);
        udpai_cli_table_add_number(&table, it->n_nacks);
    }
    udpai_strbuf_putc(out, '\n');
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

void
udpai_ctl_top_put(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    put_head(top, out);
    put_rates(top, layout, out);
    put_times(top, layout, out);
    put_streams(top, out);
    put_sources(top, layout, out);
    put_clients(top, layout, out);
}
