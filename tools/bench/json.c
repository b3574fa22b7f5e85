/* SPDX-License-Identifier: Apache-2.0 */
/* docs/man/udpactl.1 has what each figure is. */
#include <inttypes.h>

#include "tools/bench/view.h"

static void
put_step(udpai_strbuf *out, const char *name, const udpai_load_step *step, const char *of)
{
    if (!step->was_done)
        return;
    udpai_strbuf_printf(out, ",\"%s\":{\"ms\":%.3f", name, step->ms);
    udpai_strbuf_printf(out, ",\"server_cpu_ms\":%.3f,\"client_cpu_ms\":%.3f", step->server_cpu_ms,
                        step->client_cpu_ms);
    udpai_strbuf_printf(out, ",\"bytes\":%" PRIu64 ",\"%s\":%" PRIu64 "}", step->bytes, of,
                        step->n);
}

static void
put_publish(udpai_strbuf *out, const udpai_load_step *step)
{
    if (step->was_done)
        udpai_strbuf_printf(
            out,
            ",\"publish\":{\"n\":%" PRIu64 ",\"ms\":%.3f,\"per_s\":%.0f,\"server_cpu_ms\":%.3f}",
            step->n, step->ms, udpai_bench_per_second(step, step->n), step->server_cpu_ms);
}

static void
put_times(udpai_strbuf *out, udpai_load_figures *figures)
{
    udpai_samples *all = &figures->deliveries, *last = &figures->last;
    udpai_strbuf_printf(out, ",\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f",
                        udpai_samples_at(all, 0.5), udpai_samples_at(all, 0.99),
                        udpai_samples_at(all, 1));
    udpai_strbuf_printf(out, ",\"last_p50_us\":%.1f,\"last_p99_us\":%.1f",
                        udpai_samples_at(last, 0.5), udpai_samples_at(last, 0.99));
}

static void
put_changes(udpai_strbuf *out, udpai_load_figures *figures)
{
    const udpai_load_step *step = &figures->changes;
    uint64_t n = figures->n_deliveries;
    if (!step->was_done)
        return;
    udpai_strbuf_printf(out, ",\"changes\":{\"n\":%" PRIu64 ",\"complete\":%zu", step->n,
                        figures->last.items.n);
    udpai_strbuf_printf(out, ",\"deliveries\":%" PRIu64 ",\"messages\":%" PRIu64, n,
                        figures->n_messages);
    udpai_strbuf_printf(out, ",\"ms\":%.3f,\"per_s\":%.0f", step->ms,
                        udpai_bench_per_second(step, n));
    put_times(out, figures);
    udpai_strbuf_printf(out, ",\"server_cpu_ms\":%.3f,\"server_cpu_s_per_million\":%.3f",
                        step->server_cpu_ms, udpai_bench_per_million(step->server_cpu_ms, n));
    udpai_strbuf_printf(out, ",\"client_cpu_s_per_million\":%.3f,\"bytes\":%" PRIu64 "}",
                        udpai_bench_per_million(step->client_cpu_ms, n), step->bytes);
}

static void
put_receipts(udpai_strbuf *out, udpai_load_figures *figures)
{
    udpai_samples *all = &figures->receipts, *after = &figures->after_receipt;
    if (all->items.n == 0)
        return;
    udpai_strbuf_printf(out, ",\"receipts\":{\"n\":%zu,\"p50_us\":%.1f", all->items.n,
                        udpai_samples_at(all, 0.5));
    udpai_strbuf_printf(out, ",\"p99_us\":%.1f,\"max_us\":%.1f", udpai_samples_at(all, 0.99),
                        udpai_samples_at(all, 1));
    if (after->items.n)
        udpai_strbuf_printf(out, ",\"visible_p50_us\":%.1f,\"visible_p99_us\":%.1f",
                            udpai_samples_at(after, 0.5), udpai_samples_at(after, 0.99));
    udpai_strbuf_putc(out, '}');
}

static void
put_memory(udpai_strbuf *out, const udpai_load_options *load, const udpai_load_memory *memory)
{
    if (load->n_servers == 0)
        return;
    udpai_strbuf_printf(out,
                        ",\"memory\":{\"begin_kb\":%" PRIu64 ",\"filled_kb\":%" PRIu64
                        ",\"connected_kb\":%" PRIu64,
                        memory->begin_kb, memory->filled_kb, memory->connected_kb);
    if (!load->is_idle)
        udpai_strbuf_printf(out, ",\"synced_kb\":%" PRIu64 ",\"end_kb\":%" PRIu64,
                            memory->synced_kb, memory->end_kb);
    udpai_strbuf_putc(out, '}');
}

static void
put_number(udpai_strbuf *out, const char *name, size_t number)
{
    if (number)
        udpai_strbuf_printf(out, ",\"%s\":%zu", name, number);
}

static void
put_load(udpai_strbuf *out, const udpai_load_options *load)
{
    udpai_strbuf_printf(out, "\"protocol\":\"%s\",\"streams\":%zu,\"connections\":%zu",
                        udpai_bench_protocols[load->protocol], load->n_streams,
                        load->n_connections);
    udpai_strbuf_printf(out, ",\"resources\":%zu,\"size\":%zu,\"names\":%zu,\"tls\":%s",
                        load->n_resources, load->size, load->n_names,
                        load->tls.authorities ? "true" : "false");
    put_number(out, "envoy", load->n_of_envoys);
    put_number(out, "namespaces", load->n_namespaces);
    put_number(out, "namespaces_each", load->n_of_a_stream);
    put_number(out, "slow", load->n_slow);
    put_number(out, "slow_bytes_per_s", load->slow_bytes_per_s);
}

void
udpai_bench_put_json(udpai_strbuf *out, const udpai_load_options *load, udpai_load_figures *figures)
{
    udpai_strbuf_putc(out, '{');
    put_load(out, load);
    put_publish(out, &figures->publish);
    put_step(out, "connect", &figures->connect, "connections");
    put_step(out, "sync", &figures->sync, "resources");
    put_memory(out, load, &figures->memory);
    put_changes(out, figures);
    put_receipts(out, figures);
    put_step(out, "reconnect", &figures->reconnect, "resources");
    put_step(out, "rest", &figures->rest, "resources");
    udpai_strbuf_printf(out, ",\"errors\":%" PRIu64 "}\n", figures->n_errors);
}
