/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stats_page.h"

#include <inttypes.h>

#include "daemon/runtime_pages.h"
#include "daemon/store_page.h"
#include "endpoint/host.h"
#include "endpoint/spread.h"
#include "endpoint/stream_counts.h"
#include "federation/accept.h"

/* As the value of a label. */
static void
put_label(udpai_strbuf *text, udpai_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        char at = value.data[i];
        if (at == '\\' || at == '"' || at == '\n')
            udpai_strbuf_putc(text, '\\');
        udpai_strbuf_putc(text, at == '\n' ? 'n' : at);
    }
}

static void
put_held(void *userdata, const udpai_held_count *held)
{
    udpai_strbuf_printf(userdata, "source_held.%.*s.%.*s: %zu\n", UDPAI_SHOWN(held->name),
                        UDPAI_SHOWN(held->type_url), held->n);
}

static void
put_held_metric(void *userdata, const udpai_held_count *held)
{
    udpai_strbuf_puts(userdata, "udpa_source_held{source=\"");
    put_label(userdata, held->name);
    udpai_strbuf_puts(userdata, "\",type=\"");
    put_label(userdata, held->type_url);
    udpai_strbuf_printf(userdata, "\"} %zu\n", held->n);
}

static void
put_streams(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_service *spread = udpai_endpoint_service(facts->endpoint, UDPAI_PLACE_SPREAD);
    const udpai_stream_counts counts = udpai_endpoint_stream_counts(facts->endpoint);
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        udpai_strbuf_printf(text, "%s: %" PRIu64 "\n", udpai_stream_counter_name(i), counts.n[i]);
    udpai_strbuf_printf(text, "client_streams: %" PRIu64 "\n", counts.n_clients);
    if (spread)
        udpai_strbuf_printf(text, "client_streams_share: %" PRIu64 "\n",
                            udpai_spread_service_facts(spread).share);
}

static void
put_directories(const udpai_stats_facts *facts,
                udpai_strbuf *text,
                void (*put)(udpai_strbuf *text, const char *name, uint64_t value))
{
    const udpai_replica_status *status =
        udpai_node_replica_status(udpai_endpoint_node(facts->endpoint));
    if (!status)
        return;
    put(text, "replica_directories_waiting", status->n_files_waiting);
    put(text, "replica_directories_differing", status->n_files_differing);
}

static void
put_number(udpai_strbuf *text, const char *name, uint64_t value)
{
    udpai_strbuf_printf(text, "%s: %" PRIu64 "\n", name, value);
}

static void
put_gauge(udpai_strbuf *text, const char *name, uint64_t value)
{
    udpai_strbuf_printf(text, "# TYPE udpa_%s gauge\nudpa_%s %" PRIu64 "\n", name, name, value);
}

static void
put_counter(udpai_strbuf *text, const char *name, uint64_t value)
{
    udpai_strbuf_printf(text, "# TYPE udpa_%s_total counter\nudpa_%s_total %" PRIu64 "\n", name,
                        name, value);
}

static void
put_streams_metrics(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_service *spread = udpai_endpoint_service(facts->endpoint, UDPAI_PLACE_SPREAD);
    const udpai_stream_counts counts = udpai_endpoint_stream_counts(facts->endpoint);
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        put_counter(text, udpai_stream_counter_name(i), counts.n[i]);
    put_gauge(text, "client_streams", counts.n_clients);
    if (spread)
        put_gauge(text, "client_streams_share", udpai_spread_service_facts(spread).share);
}

static void
put_admin(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_http_counts counts = facts->admin;
    udpai_strbuf_printf(
        text,
        "admin_connections: %zu\nadmin_connections_rejected: %" PRIu64
        "\nadmin_connections_replaced: %" PRIu64 "\nadmin_requests_unauthenticated: %" PRIu64 "\n",
        counts.n_connections, counts.n_rejected, counts.n_replaced, facts->n_unauthenticated);
}

static void
put_admin_metrics(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_http_counts counts = facts->admin;
    put_gauge(text, "admin_connections", counts.n_connections);
    put_counter(text, "admin_connections_rejected", counts.n_rejected);
    put_counter(text, "admin_connections_replaced", counts.n_replaced);
    put_counter(text, "admin_requests_unauthenticated", facts->n_unauthenticated);
}

void
udpai_stats_page(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_runtime_statistics statistics = udpai_runtime_statistics_of(facts->runtime);
    udpai_runtime_stats_page(&statistics, text);
    put_streams(facts, text);
    put_admin(facts, text);
    put_directories(facts, text, put_number);
    udpai_node_visit_held(udpai_endpoint_node(facts->endpoint), put_held, text);
    udpai_store_stats(facts->endpoint, text);
}

void
udpai_stats_prometheus_page(const udpai_stats_facts *facts, udpai_strbuf *text)
{
    const udpai_runtime_statistics statistics = udpai_runtime_statistics_of(facts->runtime);
    udpai_runtime_prometheus_page(&statistics, text);
    put_streams_metrics(facts, text);
    put_admin_metrics(facts, text);
    put_directories(facts, text, put_gauge);
    udpai_strbuf_puts(text, "# TYPE udpa_source_held gauge\n");
    udpai_node_visit_held(udpai_endpoint_node(facts->endpoint), put_held_metric, text);
    udpai_store_metrics(facts->endpoint, text);
}
