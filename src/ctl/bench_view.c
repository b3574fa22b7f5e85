/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/bench_view.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const protocols[] = {"delta", "sotw", "udpa"};

static double
per_second(const udpai_load_step *step, uint64_t n)
{
    return step->ms > 0 ? (double)n * 1e3 / step->ms : 0;
}

/* Seconds of CPU for a million. */
static double
per_million(double ms, uint64_t n)
{
    return n ? ms * 1e3 / (double)n : 0;
}

/* ---- JSON ---- */

static void
put_step(const char *name, const udpai_load_step *step, const char *of)
{
    if (step->was_done)
        printf(
            ",\"%s\":{\"ms\":%.3f,\"server_cpu_ms\":%.3f,\"client_cpu_ms\":%.3f,\"bytes\":%" PRIu64
            ",\"%s\":%" PRIu64 "}",
            name, step->ms, step->server_cpu_ms, step->client_cpu_ms, step->bytes, of, step->n);
}

static void
put_publish(const udpai_load_step *step)
{
    if (step->was_done)
        printf(",\"publish\":{\"n\":%" PRIu64 ",\"ms\":%.3f,\"per_s\":%.0f,\"server_cpu_ms\":%.3f}",
               step->n, step->ms, per_second(step, step->n), step->server_cpu_ms);
}

static void
put_changes(udpai_load_figures *figures)
{
    const udpai_load_step *step = &figures->changes;
    if (!step->was_done)
        return;
    printf(",\"changes\":{\"n\":%" PRIu64 ",\"complete\":%zu,\"deliveries\":%" PRIu64
           ",\"messages\":%" PRIu64 ",\"ms\":%.3f,\"per_s\":%.0f",
           step->n, figures->last.items.n, figures->n_deliveries, figures->n_messages, step->ms,
           per_second(step, figures->n_deliveries));
    printf(",\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f",
           udpai_samples_at(&figures->deliveries, 0.5),
           udpai_samples_at(&figures->deliveries, 0.99), udpai_samples_at(&figures->deliveries, 1));
    printf(",\"last_p50_us\":%.1f,\"last_p99_us\":%.1f,\"server_cpu_ms\":%.3f",
           udpai_samples_at(&figures->last, 0.5), udpai_samples_at(&figures->last, 0.99),
           step->server_cpu_ms);
    printf(",\"server_cpu_s_per_million\":%.3f,\"client_cpu_s_per_million\":%.3f,\"bytes\":%" PRIu64
           "}",
           per_million(step->server_cpu_ms, figures->n_deliveries),
           per_million(step->client_cpu_ms, figures->n_deliveries), step->bytes);
}

static void
put_memory(const udpai_load_memory *memory)
{
    printf(",\"memory\":{\"begin_kb\":%" PRIu64 ",\"filled_kb\":%" PRIu64
           ",\"connected_kb\":%" PRIu64 ",\"synced_kb\":%" PRIu64 ",\"end_kb\":%" PRIu64 "}",
           memory->begin_kb, memory->filled_kb, memory->connected_kb, memory->synced_kb,
           memory->end_kb);
}

static void
put_json(const udpai_load_options *load, udpai_load_figures *figures)
{
    printf(
        "{\"protocol\":\"%s\",\"streams\":%zu,\"connections\":%zu,\"resources\":%zu,\"size\":%zu,"
        "\"names\":%zu,\"tls\":%s",
        protocols[load->protocol], load->n_streams, load->n_connections, load->n_resources,
        load->size, load->n_names, load->tls.authorities ? "true" : "false");
    put_publish(&figures->publish);
    put_step("connect", &figures->connect, "connections");
    put_step("sync", &figures->sync, "resources");
    if (load->n_servers)
        put_memory(&figures->memory);
    put_changes(figures);
    put_step("reconnect", &figures->reconnect, "resources");
    printf(",\"errors\":%" PRIu64 "}\n", figures->n_errors);
}

/* ---- a table ---- */

static void
show_step(const char *title, const udpai_load_options *load, const udpai_load_step *step)
{
    if (!step->was_done)
        return;
    printf("%-28s %10.1f ms", title, step->ms);
    if (load->n_servers)
        printf("   server CPU %.1f ms", step->server_cpu_ms);
    printf("\n");
}

static void
show_changes(const udpai_load_options *load, udpai_load_figures *figures)
{
    const udpai_load_step *step = &figures->changes;
    if (!step->was_done)
        return;
    printf("%-28s %10" PRIu64 "      %" PRIu64 " deliveries in %" PRIu64
           " messages, %.0f a second\n",
           "changes", step->n, figures->n_deliveries, figures->n_messages,
           per_second(step, figures->n_deliveries));
    if (figures->last.items.n < step->n)
        printf("%-28s %10zu\n", "  that came to all streams", figures->last.items.n);
    printf("%-28s %10.1f us   p99 %.1f us, longest %.1f us\n", "  until a stream has one, p50",
           udpai_samples_at(&figures->deliveries, 0.5),
           udpai_samples_at(&figures->deliveries, 0.99), udpai_samples_at(&figures->deliveries, 1));
    printf("%-28s %10.1f us   p99 %.1f us\n", "  until the last has it, p50",
           udpai_samples_at(&figures->last, 0.5), udpai_samples_at(&figures->last, 0.99));
    if (load->n_servers)
        printf("%-28s %10.2f s of a million deliveries\n", "  server CPU",
               per_million(step->server_cpu_ms, figures->n_deliveries));
    printf("%-28s %10.2f s of a million deliveries\n", "  our CPU",
           per_million(step->client_cpu_ms, figures->n_deliveries));
}

static void
show_memory(const udpai_load_options *load, const udpai_load_memory *memory)
{
    if (load->n_servers == 0)
        return;
    printf("%-28s %10" PRIu64 " kB   with resources %" PRIu64 ", connections %" PRIu64
           ", streams %" PRIu64 ", in the end %" PRIu64 "\n",
           "server memory, at first", memory->begin_kb, memory->filled_kb, memory->connected_kb,
           memory->synced_kb, memory->end_kb);
}

static void
show_table(const udpai_load_options *load, udpai_load_figures *figures)
{
    printf("%s: %zu streams on %zu connections%s\n", protocols[load->protocol], load->n_streams,
           load->n_connections, load->tls.authorities ? ", TLS" : "");
    show_step("publish, with receipts", load, &figures->publish);
    show_step("connect", load, &figures->connect);
    show_step("first resources to all", load, &figures->sync);
    if (figures->sync.was_done)
        printf("%-28s %10" PRIu64 "      %.1f MB\n", "  resources", figures->sync.n,
               (double)figures->sync.bytes / 1e6);
    show_changes(load, figures);
    show_step("reconnect", load, &figures->reconnect);
    if (figures->reconnect.was_done)
        printf("%-28s %10" PRIu64 "      %.1f MB\n", "  resources", figures->reconnect.n,
               (double)figures->reconnect.bytes / 1e6);
    show_memory(load, &figures->memory);
}

void
udpai_bench_show(bool as_json, const udpai_load_options *load, udpai_load_figures *figures)
{
    if (as_json)
        put_json(load, figures);
    else
        show_table(load, figures);
}
