/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/top_view.h"

#include <math.h>
#include <stdio.h>

#include "codec/json_text.h"
#include "ctl/status_view.h"

static const struct {
    const char *name, *series, *member;
} rates[] = {
    {"deliveries", "udpa_deliveries_total", "deliveries"},
    {"bytes delivered", "udpa_delivery_bytes_total", "deliveryBytes"},
    {"ACKs", "udpa_acks_total", "acks"},
    {"NACKs", "udpa_nacks_total", "nacks"},
    {"changes", "udpa_updates_accepted_total", "changes"},
    {"rejected changes", "udpa_updates_rejected_total", "rejectedChanges"},
};

static const struct {
    const char *name, *series, *member;
    double quantile;
} times[] = {
    {"propagation p50", "udpa_propagation_seconds_bucket", "propagationP50", 0.5},
    {"propagation p99", "udpa_propagation_seconds_bucket", "propagationP99", 0.99},
    {"turn of the loop p99", "udpa_loop_turn_seconds_bucket", "loopTurnP99", 0.99},
    {"turn of stream threads p99", "udpa_stream_thread_turn_seconds_bucket", "streamThreadTurnP99",
     0.99},
};

/* ---- numbers ---- */

double
udpai_ctl_top_seconds(const udpai_cli_page *now, const udpai_cli_page *before)
{
    double to, from;
    if (!udpai_cli_page_value(now, "udpa_clock_timestamp_seconds", NULL, &to) ||
        !udpai_cli_page_value(before, "udpa_clock_timestamp_seconds", NULL, &from))
        return 0;
    return to > from ? to - from : 0;
}

/* A node that was started again counts from 0. */
static double
rate_of(const udpai_ctl_top *top, const char *series)
{
    double seconds = udpai_ctl_top_seconds(top->now, top->before);
    double more = udpai_cli_page_sum(top->now, series) - udpai_cli_page_sum(top->before, series);
    return seconds > 0 && more > 0 ? more / seconds : 0;
}

static void
put_seconds(udpai_strbuf *out, double seconds)
{
    if (seconds < 1)
        udpai_strbuf_printf(out, "%.3g ms", seconds * 1000);
    else
        udpai_strbuf_printf(out, "%.3g s", seconds);
}

/* ---- as tables ---- */

static void
put_head(const udpai_ctl_top *top, udpai_strbuf *out)
{
    size_t at = 0;
    double now_s = 0, start_s = 0;
    const udpai_cli_series *build = udpai_cli_page_next(top->now, "udpa_build_info", &at);
    udpai_cli_put_text(out, udpai_str_from(top->node));
    if (build) {
        udpai_strbuf_puts(out, ", version ");
        udpai_cli_series_put_label(out, build);
    }
    if (udpai_cli_page_value(top->now, "udpa_clock_timestamp_seconds", NULL, &now_s) &&
        udpai_cli_page_value(top->now, "process_start_time_seconds", NULL, &start_s)) {
        udpai_strbuf_puts(out, ", up ");
        udpai_ctl_put_age(out, (int64_t)fmin(fmax(now_s - start_s, 0), 1e12));
    }
    udpai_strbuf_puts(out, "\n\n");
}

static void
put_rates(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"RATE", "PER SECOND", "IN ALL"};
    udpai_cli_table table;
    char room[40];
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rates); i++) {
        double rate = rate_of(top, rates[i].series);
        const udpai_str text = {room, (size_t)snprintf(room, sizeof(room), "%.1f", rate)};
        udpai_cli_table_add(&table, udpai_str_from(rates[i].name));
        udpai_cli_table_add_quantity(&table, rate, text);
        udpai_cli_table_addf(&table, "%.0f", udpai_cli_page_sum(top->now, rates[i].series));
    }
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

/* Of the interval; if nothing has come in it, since the start. */
static void
put_times(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"TIME", "NOW", "SINCE THE START"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++) {
        const udpai_cli_page *befores[] = {top->before, NULL};
        udpai_cli_table_add(&table, udpai_str_from(times[i].name));
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(befores); k++) {
            double value = 0;
            udpai_strbuf text = {0};
            if (udpai_cli_page_quantile(top->now, befores[k], times[i].series, times[i].quantile,
                                        &value))
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
put_streams(const udpai_ctl_top *top, udpai_strbuf *out)
{
    size_t at = 0, n = 0;
    const udpai_cli_series *series;
    udpai_strbuf_puts(out, "\nSTREAMS  ");
    while ((series = udpai_cli_page_next(top->now, "udpa_sessions", &at)))
        if (series->value > 0) {
            udpai_strbuf_puts(out, n++ ? ", " : "");
            udpai_cli_series_put_label(out, series);
            udpai_strbuf_printf(out, " %.0f", series->value);
        }
    udpai_strbuf_puts(out, n ? "\n" : "none\n");
}

/* Of the source with this label, which is escaped alike in all series. */
static double
value_of(const udpai_cli_page *page, const char *name, udpai_str label)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(page, name, &at)))
        if (udpai_str_eq(series->label, label))
            return series->value;
    return 0;
}

/* Those that are not active, then the others. */
static void
add_sources(const udpai_ctl_top *top, udpai_cli_table *table, bool is_active)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(top->now, "udpa_source_active", &at))) {
        udpai_strbuf name = {0};
        if ((series->value > 0) != is_active ||
            udpai_cli_table_n_rows(table) == UDPAI_CTL_TOP_SOURCES)
            continue;
        udpai_cli_series_put_label(&name, series);
        udpai_cli_table_add(table, udpai_strbuf_view(&name));
        udpai_cli_table_add_text(table, is_active ? "active"
                                        : value_of(top->now, "udpa_source_connected", series->label)
                                            ? "connected"
                                            : "not connected");
        udpai_cli_table_addf(table, "%.0f",
                             value_of(top->now, "udpa_source_failures_total", series->label));
        udpai_cli_table_addf(table, "%.0f", value_of(top->now, "udpa_source_held", series->label));
        udpai_strbuf_done(&name);
    }
}

static void
put_sources(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"SOURCE", "STATE", "FAILURES", "HELD"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    add_sources(top, &table, false);
    add_sources(top, &table, true);
    if (udpai_cli_table_n_rows(&table)) {
        udpai_strbuf_putc(out, '\n');
        udpai_cli_table_write(&table, out);
    }
    udpai_cli_table_done(&table);
}

static void
put_clients(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"CLIENT",       "ADDRESS",      "PROTOCOL", "REJECTS NOW",
                                        "NOT ANSWERED", "TYPES BEHIND", "NACKS"};
    const udpai_ctl_top_clients *clients = top->clients;
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
    for (size_t i = 0; i < clients->n; i++) {
        const udpai_ctl_top_client *it = &clients->items[i];
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
udpai_ctl_top_put(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out)
{
    put_head(top, out);
    put_rates(top, layout, out);
    put_times(top, layout, out);
    put_streams(top, out);
    put_sources(top, layout, out);
    put_clients(top, layout, out);
}

/* ---- JSON ---- */

static void
put_labelled(const udpai_cli_page *page, const char *name, udpai_strbuf *out)
{
    size_t at = 0, n = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(page, name, &at))) {
        udpai_strbuf label = {0};
        udpai_cli_series_put_label(&label, series);
        udpai_strbuf_puts(out, n++ ? ", " : "");
        udpai_json_put_string(out, udpai_strbuf_view(&label));
        udpai_strbuf_printf(out, ": %.15g", series->value);
        udpai_strbuf_done(&label);
    }
}

static void
put_json_clients(const udpai_ctl_top_clients *clients, udpai_strbuf *out)
{
    for (size_t i = 0; i < clients->n; i++) {
        const udpai_ctl_top_client *it = &clients->items[i];
        udpai_strbuf_puts(out, i ? ", {\"client\": " : "{\"client\": ");
        udpai_json_put_string(out, udpai_str_from(it->name ? it->name : ""));
        udpai_strbuf_puts(out, ", \"address\": ");
        udpai_json_put_string(out, udpai_str_from(it->address ? it->address : ""));
        udpai_strbuf_printf(out,
                            ", \"rejectsNow\": %llu, \"notAnswered\": %llu, \"typesBehind\": %llu, "
                            "\"nacks\": %llu}",
                            (unsigned long long)it->n_rejected,
                            (unsigned long long)it->n_unanswered, (unsigned long long)it->n_behind,
                            (unsigned long long)it->n_nacks);
    }
}

void
udpai_ctl_top_put_json(const udpai_ctl_top *top, udpai_strbuf *out)
{
    double value = 0;
    udpai_strbuf_puts(out, "{\"node\": ");
    udpai_json_put_string(out, udpai_str_from(top->node));
    (void)udpai_cli_page_value(top->now, "udpa_clock_timestamp_seconds", NULL, &value);
    udpai_strbuf_printf(out, ", \"time\": %.15g, \"seconds\": %.15g, \"perSecond\": {", value,
                        udpai_ctl_top_seconds(top->now, top->before));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rates); i++)
        udpai_strbuf_printf(out, "%s\"%s\": %.15g", i ? ", " : "", rates[i].member,
                            rate_of(top, rates[i].series));
    udpai_strbuf_puts(out, "}, \"times\": {");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++)
        if (udpai_cli_page_quantile(top->now, top->before, times[i].series, times[i].quantile,
                                    &value))
            udpai_strbuf_printf(out, "%s\"%s\": %.15g", out->data[out->len - 1] == '{' ? "" : ", ",
                                times[i].member, value);
    udpai_strbuf_puts(out, "}, \"streams\": {");
    put_labelled(top->now, "udpa_sessions", out);
    udpai_strbuf_puts(out, "}, \"sources\": {");
    put_labelled(top->now, "udpa_source_active", out);
    udpai_strbuf_puts(out, "}, \"clients\": [");
    put_json_clients(top->clients, out);
    udpai_strbuf_puts(out, "]}\n");
}
