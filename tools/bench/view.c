/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/view.h"

#include <inttypes.h>

#include "cli/table.h"

const char *const udpai_bench_protocols[] = {"delta", "sotw", "udpa"};
static const char *const languages[] = {"delta xDS", "state of the world xDS", "UDPA"};

double
udpai_bench_per_second(const udpai_load_step *step, uint64_t n)
{
    return step->ms > 0 ? (double)n * 1e3 / step->ms : 0;
}

double
udpai_bench_per_million(double ms, uint64_t n)
{
    return n ? ms * 1e3 / (double)n : 0;
}

/* ---- cells ---- */

static void
add_time(udpai_cli_table *table, double us)
{
    if (us < 1e3)
        udpai_cli_table_addf(table, "%.0f us", us);
    else if (us < 1e6)
        udpai_cli_table_addf(table, "%.*f ms", us < 1e5 ? 2 : 0, us / 1e3);
    else
        udpai_cli_table_addf(table, "%.2f s", us / 1e6);
}

static void
add_bytes(udpai_cli_table *table, uint64_t n)
{
    if (n == 0)
        udpai_cli_table_add_text(table, "");
    else if (n < 1000000)
        udpai_cli_table_addf(table, "%.1f kB", (double)n / 1e3);
    else
        udpai_cli_table_addf(table, "%.1f MB", (double)n / 1e6);
}

static void
add_number(udpai_cli_table *table, uint64_t n)
{
    udpai_cli_table_add_number(table, n);
}

static void
put_table(udpai_strbuf *out, udpai_cli_table *table)
{
    if (udpai_cli_table_n_rows(table)) {
        udpai_strbuf_putc(out, '\n');
        udpai_cli_table_write(table, out);
    }
    udpai_cli_table_done(table);
}

/* ---- steps ---- */

static void
add_step(udpai_cli_table *table,
         const udpai_load_options *load,
         const char *name,
         const udpai_load_step *step)
{
    if (!step->was_done)
        return;
    udpai_cli_table_add_text(table, name);
    add_time(table, step->ms * 1e3);
    add_number(table, step->n);
    add_bytes(table, step->bytes);
    if (load->n_servers)
        add_time(table, step->server_cpu_ms * 1e3);
    else
        udpai_cli_table_add_text(table, "");
}

static void
put_steps(udpai_strbuf *out,
          udpai_cli_layout *layout,
          const udpai_load_options *load,
          const udpai_load_figures *figures)
{
    static const char *const heads[] = {"STEP", "TIME", "NUMBER", "RECEIVED", "SERVER CPU"};
    udpai_cli_table table;
    udpai_load_step publish = figures->publish;
    publish.bytes = 0; /* of receipts: not worth a figure */
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    add_step(&table, load, "resources published", &publish);
    add_step(&table, load, "connections", &figures->connect);
    add_step(&table, load, "first resources", &figures->sync);
    add_step(&table, load, "changes", &figures->changes);
    add_step(&table, load, "resources behind a reconnect", &figures->reconnect);
    add_step(&table, load, "rest", &figures->rest);
    put_table(out, &table);
}

/* ---- changes ---- */

static void
add_times(udpai_cli_table *table, const char *name, udpai_samples *samples)
{
    static const double parts[] = {0.5, 0.99, 1};
    udpai_cli_table_add_text(table, name);
    add_number(table, samples->items.n);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++)
        if (samples->items.n)
            add_time(table, udpai_samples_at(samples, parts[i]));
        else
            udpai_cli_table_add_text(table, "");
}

static void
put_cpu(udpai_strbuf *out, const udpai_load_options *load, const udpai_load_figures *figures)
{
    const udpai_load_step *step = &figures->changes;
    uint64_t n = figures->n_deliveries;
    udpai_strbuf_puts(out, "CPU of a million deliveries: ");
    if (load->n_servers)
        udpai_strbuf_printf(out, "server %.2f s, ",
                            udpai_bench_per_million(step->server_cpu_ms, n));
    udpai_strbuf_printf(out, "this client %.2f s\n",
                        udpai_bench_per_million(step->client_cpu_ms, n));
}

static void
put_changes(udpai_strbuf *out,
            udpai_cli_layout *layout,
            const udpai_load_options *load,
            udpai_load_figures *figures)
{
    static const char *const heads[] = {"CHANGES", "NUMBER", "P50", "P99", "LONGEST"};
    const udpai_load_step *step = &figures->changes;
    udpai_cli_table table;
    if (!step->was_done)
        return;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    add_times(&table, "until a stream has one", &figures->deliveries);
    add_times(&table, "until the last stream has it", &figures->last);
    if (figures->receipts.items.n) {
        add_times(&table, "until the receipt", &figures->receipts);
        add_times(&table, "from there to the last stream", &figures->after_receipt);
    }
    put_table(out, &table);
    udpai_strbuf_printf(out, "\n%" PRIu64 " deliveries in %" PRIu64 " messages, %.0f a second\n",
                        figures->n_deliveries, figures->n_messages,
                        udpai_bench_per_second(step, figures->n_deliveries));
    if (figures->n_deliveries)
        put_cpu(out, load, figures);
}

/* ---- memory ---- */

static void
put_memory(udpai_strbuf *out,
           udpai_cli_layout *layout,
           const udpai_load_options *load,
           const udpai_load_memory *memory)
{
    static const char *const heads[] = {"SERVER MEMORY", "MB", "MORE"};

    const struct {
        const char *name;
        uint64_t kb;
    } moments[] = {
        {"in the beginning", memory->begin_kb},     {"with resources", memory->filled_kb},
        {"with connections", memory->connected_kb}, {"with streams", memory->synced_kb},
        {"after changes", memory->end_kb},
    };

    size_t n = UDPAI_ARRAY_LEN(moments) - (load->is_idle ? 2 : 0);
    udpai_cli_table table;
    if (load->n_servers == 0)
        return;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++) {
        double before = (double)moments[i ? i - 1 : 0].kb / 1024,
               now = (double)moments[i].kb / 1024;
        udpai_cli_table_add_text(&table, moments[i].name);
        udpai_cli_table_addf(&table, "%.1f", now);
        if (i)
            udpai_cli_table_addf(&table, "%+.1f", now - before);
        else
            udpai_cli_table_add_text(&table, "");
    }
    put_table(out, &table);
}

/* ---- the whole ---- */

static void
put_load(udpai_strbuf *out, const udpai_load_options *load)
{
    if (load->is_idle)
        udpai_strbuf_printf(out, "%zu idle connections", load->n_connections);
    else if (load->n_connections == load->n_streams)
        udpai_strbuf_printf(out, "%zu streams of %s, each on a connection of its own",
                            load->n_streams, languages[load->protocol]);
    else
        udpai_strbuf_printf(out, "%zu streams of %s on %zu connections", load->n_streams,
                            languages[load->protocol], load->n_connections);
    udpai_strbuf_puts(out, load->tls.authorities ? ", with TLS\n" : "\n");
}

void
udpai_bench_put_text(udpai_strbuf *out,
                     udpai_cli_layout *layout,
                     const udpai_load_options *load,
                     udpai_load_figures *figures)
{
    put_load(out, load);
    put_steps(out, layout, load, figures);
    put_changes(out, layout, load, figures);
    put_memory(out, layout, load, &figures->memory);
}
