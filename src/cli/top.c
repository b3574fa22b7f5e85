/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top.h"

#include <math.h>

#include "codec/json_text.h"

static const struct {
    const char *name, *series, *member;
} counts[UDPAI_CLI_TOP_COUNTS] = {
    [UDPAI_CLI_TOP_DELIVERIES] = {"deliveries", "udpa_deliveries_total", "deliveries"},
    [UDPAI_CLI_TOP_BYTES] = {"bytes delivered", "udpa_delivery_bytes_total", "deliveryBytes"},
    [UDPAI_CLI_TOP_ACKS] = {"ACKs", "udpa_acks_total", "acks"},
    [UDPAI_CLI_TOP_NACKS] = {"NACKs", "udpa_nacks_total", "nacks"},
    [UDPAI_CLI_TOP_CHANGES] = {"changes", "udpa_updates_accepted_total", "changes"},
    [UDPAI_CLI_TOP_REJECTED_CHANGES] = {"rejected changes", "udpa_updates_rejected_total",
                                        "rejectedChanges"},
};

static const char *const times[UDPAI_CLI_TOP_TIMES] = {
    [UDPAI_CLI_TOP_PROPAGATION] = "udpa_propagation_seconds_bucket",
    [UDPAI_CLI_TOP_LOOP] = "udpa_loop_turn_seconds_bucket",
    [UDPAI_CLI_TOP_STREAM_THREADS] = "udpa_stream_thread_turn_seconds_bucket",
};

const udpai_cli_top_quantile udpai_cli_top_quantiles[UDPAI_CLI_TOP_QUANTILES] = {
    {"propagation p50", "propagationP50", UDPAI_CLI_TOP_PROPAGATION, 0.5},
    {"propagation p99", "propagationP99", UDPAI_CLI_TOP_PROPAGATION, 0.99},
    {"turn of the loop p99", "loopTurnP99", UDPAI_CLI_TOP_LOOP, 0.99},
    {"turn of stream threads p99", "streamThreadTurnP99", UDPAI_CLI_TOP_STREAM_THREADS, 0.99},
};

/* ---- counters ---- */

udpai_cli_top_counts
udpai_cli_top_counts_of(const udpai_cli_page *page)
{
    udpai_cli_top_counts all = {.clock_s = 0};
    (void)udpai_cli_page_value(page, "udpa_clock_timestamp_seconds", NULL, &all.clock_s);
    for (size_t i = 0; i < UDPAI_CLI_TOP_COUNTS; i++)
        all.sums[i] = udpai_cli_page_sum(page, counts[i].series);
    for (size_t i = 0; i < UDPAI_CLI_TOP_TIMES; i++)
        all.times[i] = udpai_cli_page_histogram(page, times[i]);
    return all;
}

double
udpai_cli_top_seconds(const udpai_cli_top_counts *now, const udpai_cli_top_counts *before)
{
    bool is_newer = before->clock_s > 0 && now->clock_s > before->clock_s;
    return is_newer ? now->clock_s - before->clock_s : 0;
}

double
udpai_cli_top_rate(const udpai_cli_top *top, udpai_cli_top_count count)
{
    double seconds = udpai_cli_top_seconds(top->now, top->before);
    double more = top->now->sums[count] - top->before->sums[count];
    return seconds > 0 && more > 0 ? more / seconds : 0;
}

const char *
udpai_cli_top_count_name(udpai_cli_top_count count)
{
    return counts[count].name;
}

bool
udpai_cli_top_uptime(const udpai_cli_top *top, double *ret_seconds)
{
    double start_s;
    if (top->now->clock_s <= 0 ||
        !udpai_cli_page_value(top->page, "process_start_time_seconds", NULL, &start_s))
        return false;
    *ret_seconds = fmin(fmax(top->now->clock_s - start_s, 0), 1e12);
    return true;
}

bool
udpai_cli_top_quantile_of(const udpai_cli_top *top,
                          const udpai_cli_top_quantile *which,
                          bool is_since_start,
                          double *ret_seconds)
{
    return udpai_cli_quantile(&top->now->times[which->time],
                              is_since_start ? NULL : &top->before->times[which->time],
                              which->quantile, ret_seconds);
}

/* ---- sources ---- */

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

/* The page is gone through twice. */
bool
udpai_cli_top_next_source(const udpai_cli_page *page, size_t *at, udpai_cli_top_source *ret_source)
{
    const size_t n = page->series.n;
    while (*at < 2 * n) {
        bool is_active = *at >= n;
        size_t place = *at - (is_active ? n : 0);
        const udpai_cli_series *it = udpai_cli_page_next(page, "udpa_source_active", &place);
        *at = it ? place + (is_active ? n : 0) : (is_active ? 2 * n : n);
        if (!it || (it->value > 0) != is_active)
            continue;
        *ret_source = (udpai_cli_top_source){
            .series = it,
            .state = is_active                                                ? "active"
                     : value_of(page, "udpa_source_connected", it->label) > 0 ? "connected"
                                                                              : "not connected",
            .n_failures = value_of(page, "udpa_source_failures_total", it->label),
            .n_held = value_of(page, "udpa_source_held", it->label),
        };
        return true;
    }
    return false;
}

/* ---- JSON ---- */

static void
put_string(udpai_strbuf *out, const char *before, const char *text)
{
    udpai_strbuf_puts(out, before);
    udpai_json_put_string(out, udpai_str_from(text ? text : ""));
}

static void
put_label(udpai_strbuf *out, const udpai_cli_series *series)
{
    udpai_strbuf label = {0};
    udpai_cli_series_put_label(&label, series);
    udpai_json_put_string(out, udpai_strbuf_view(&label));
    out->failed |= udpai_strbuf_failed(&label);
    udpai_strbuf_done(&label);
}

static void
put_node(const udpai_cli_top *top, udpai_strbuf *out)
{
    size_t at = 0;
    double up_s;
    const udpai_cli_series *build = udpai_cli_page_next(top->page, "udpa_build_info", &at);
    put_string(out, "{\"node\": ", top->node);
    if (build) {
        udpai_strbuf_puts(out, ", \"version\": ");
        put_label(out, build);
    }
    if (udpai_cli_top_uptime(top, &up_s))
        udpai_strbuf_printf(out, ", \"upSeconds\": %.15g", up_s);
    udpai_strbuf_printf(out, ", \"time\": %.15g, \"seconds\": %.15g", top->now->clock_s,
                        udpai_cli_top_seconds(top->now, top->before));
}

static void
put_counts(const udpai_cli_top *top, udpai_strbuf *out)
{
    udpai_strbuf_puts(out, ", \"perSecond\": {");
    for (size_t i = 0; i < UDPAI_CLI_TOP_COUNTS; i++)
        udpai_strbuf_printf(out, "%s\"%s\": %.15g", i ? ", " : "", counts[i].member,
                            udpai_cli_top_rate(top, i));
    udpai_strbuf_puts(out, "}, \"total\": {");
    for (size_t i = 0; i < UDPAI_CLI_TOP_COUNTS; i++)
        udpai_strbuf_printf(out, "%s\"%s\": %.15g", i ? ", " : "", counts[i].member,
                            top->now->sums[i]);
    udpai_strbuf_putc(out, '}');
}

static void
put_times(const udpai_cli_top *top, const char *member, bool is_since_start, udpai_strbuf *out)
{
    size_t n = 0;
    double value;
    udpai_strbuf_printf(out, ", \"%s\": {", member);
    for (size_t i = 0; i < UDPAI_CLI_TOP_QUANTILES; i++)
        if (udpai_cli_top_quantile_of(top, &udpai_cli_top_quantiles[i], is_since_start, &value))
            udpai_strbuf_printf(out, "%s\"%s\": %.15g", n++ ? ", " : "",
                                udpai_cli_top_quantiles[i].member, value);
    udpai_strbuf_putc(out, '}');
}

static void
put_streams(const udpai_cli_top *top, udpai_strbuf *out)
{
    size_t at = 0, n = 0;
    const udpai_cli_series *series;
    udpai_strbuf_puts(out, ", \"streams\": {");
    while ((series = udpai_cli_page_next(top->page, "udpa_sessions", &at))) {
        udpai_strbuf_puts(out, n++ ? ", " : "");
        put_label(out, series);
        udpai_strbuf_printf(out, ": %.15g", series->value);
    }
    udpai_strbuf_putc(out, '}');
}

static void
put_sources(const udpai_cli_top *top, udpai_strbuf *out)
{
    size_t at = 0, n = 0;
    udpai_cli_top_source source;
    udpai_strbuf_puts(out, ", \"sources\": [");
    while (udpai_cli_top_next_source(top->page, &at, &source)) {
        udpai_strbuf_puts(out, n++ ? ", {\"name\": " : "{\"name\": ");
        put_label(out, source.series);
        udpai_strbuf_printf(out, ", \"state\": \"%s\", \"failures\": %.15g, \"held\": %.15g}",
                            source.state, source.n_failures, source.n_held);
    }
    udpai_strbuf_putc(out, ']');
}

static void
put_clients(const udpai_cli_top *top, udpai_strbuf *out)
{
    const udpai_cli_top_clients *clients = top->clients;
    if (clients->is_known)
        udpai_strbuf_printf(out, ", \"nClients\": %zu", clients->n_clients);
    udpai_strbuf_puts(out, ", \"clients\": [");
    for (size_t i = 0; i < clients->n && i < top->max_clients; i++) {
        const udpai_cli_top_client *it = &clients->items[i];
        put_string(out, i ? ", {\"client\": " : "{\"client\": ", it->name);
        put_string(out, ", \"address\": ", it->address);
        put_string(out, ", \"protocol\": ", it->protocol);
        udpai_strbuf_printf(out,
                            ", \"rejectsNow\": %llu, \"notAnswered\": %llu, \"typesBehind\": %llu, "
                            "\"nacks\": %llu}",
                            (unsigned long long)it->n_rejected,
                            (unsigned long long)it->n_unanswered, (unsigned long long)it->n_behind,
                            (unsigned long long)it->n_nacks);
    }
    udpai_strbuf_putc(out, ']');
}

void
udpai_cli_top_put_json(const udpai_cli_top *top, udpai_strbuf *out)
{
    put_node(top, out);
    put_counts(top, out);
    put_times(top, "times", false, out);
    put_times(top, "timesSinceStart", true, out);
    put_streams(top, out);
    put_sources(top, out);
    put_clients(top, out);
    udpai_strbuf_printf(out, ", \"complete\": %s}\n", top->is_complete ? "true" : "false");
}
