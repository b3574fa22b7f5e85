/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs a server that many clients report load to it (LRS), and how late, and whether, the
 * sums of it are what was sent.
 *
 *     bench-reports --server HOST:PORT [--control HOST:PORT] [--pid PID,…] [--clients N]
 *                   [--connections N] [--clusters N] [--interval-ms N] [--rounds N]
 *
 * Each client has a stream, opens it, waits to be asked, and then reports all clusters once in each
 * interval, at some other moment than the others; --rounds times. Prints one line of JSON. */
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop/clock.h"
#include "reports/reports.h"
#include "tools/bench/processes.h"

#define PATIENCE_MS 60000
#define TURN_MS 5
#define LOOK_MS 2 /* at sums, while they are awaited */

typedef struct run {
    reports_options options;
    udpai_load_loop loop;
    reports_clients clients;
    reports_sums sums;
} run;

/* What a step took. */
typedef struct step {
    uint64_t begin_ns;
    double ms, server_cpu_ms, client_cpu_ms;
} step;

void
reports_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench-reports: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ---- measuring ---- */

static step
begin_step(const run *self)
{
    const reports_options *options = &self->options;
    return (step){
        .begin_ns = udpai_monotonic_ns(),
        .server_cpu_ms = -udpai_processes_cpu_ms(options->servers, options->n_servers),
        .client_cpu_ms = -udpai_own_cpu_ms(),
    };
}

static void
end_step(const run *self, step *one)
{
    const reports_options *options = &self->options;
    one->ms = (double)(udpai_monotonic_ns() - one->begin_ns) / 1e6;
    one->server_cpu_ms += udpai_processes_cpu_ms(options->servers, options->n_servers);
    one->client_cpu_ms += udpai_own_cpu_ms();
}

static uint64_t
memory_kb(const run *self)
{
    return udpai_processes_memory_kb(self->options.servers, self->options.n_servers);
}

/* ---- steps ---- */

static void
await_asked(run *self)
{
    uint64_t end_ms = udpai_monotonic_ms() + self->options.patience_ms;
    while (self->clients.n_asked < self->options.n_clients) {
        udpai_load_loop_run(&self->loop, TURN_MS);
        if (udpai_monotonic_ms() > end_ms)
            reports_fail("%zu of %zu clients were asked to report", self->clients.n_asked,
                         self->options.n_clients);
    }
}

static size_t
n_messages(const reports_options *options)
{
    return options->n_clients * options->n_rounds + options->n_clients / 2;
}

/* Who is late makes up for it; how many were due by now? */
static size_t
n_due(const run *self, uint64_t begin_ns)
{
    const reports_options *options = &self->options;
    uint64_t gone_us = (udpai_monotonic_ns() - begin_ns) / 1000;
    return udpai_min_size(gone_us * options->n_clients / (options->interval_ms * 1000),
                          n_messages(options));
}

static void
report(run *self)
{
    size_t n = self->options.n_clients, n_all = n_messages(&self->options), n_sent = 0;
    uint64_t begin_ns = udpai_monotonic_ns();
    while (n_sent < n_all) {
        for (size_t due = n_due(self, begin_ns); n_sent < due; n_sent++)
            reports_clients_report(&self->clients, n_sent % n, n_sent / n);
        udpai_load_loop_run(&self->loop, 1);
    }
}

/* How long it took yet, in milliseconds. */
static double
await_sums(run *self)
{
    uint64_t begin_ns = udpai_monotonic_ns();
    uint64_t end_ms = udpai_monotonic_ms() + self->options.patience_ms;
    while (!reports_sums_are_complete(&self->sums)) {
        udpai_load_loop_run(&self->loop, LOOK_MS);
        if (udpai_monotonic_ms() > end_ms)
            reports_fail("%" PRIu64 " requests of the first cluster were sent, and the sum is "
                         "%" PRIu64 ", of %" PRIu64 " clients",
                         self->clients.sent.of[0].issued, self->sums.seen[0].issued,
                         self->sums.seen[0].n_clients);
    }
    return (double)(udpai_monotonic_ns() - begin_ns) / 1e6;
}

/* ---- the whole ---- */

static void
print_step(const char *name, const step *one)
{
    printf("\"%s\": {\"ms\": %.3f, \"server_cpu_ms\": %.3f, \"client_cpu_ms\": %.3f", name, one->ms,
           one->server_cpu_ms, one->client_cpu_ms);
}

static void
print_reports(const run *self, const step *reporting)
{
    size_t n_sent = n_messages(&self->options), n = n_sent * self->options.n_clusters;
    uint64_t requests = 0;
    for (size_t i = 0; i < self->options.n_clusters; i++)
        requests += self->clients.sent.of[i].issued;
    print_step("reports", reporting);
    printf(", \"messages\": %zu, \"n\": %zu, \"per_s\": %.3f, \"server_cpu_s_per_million\": %.4f, "
           "\"client_cpu_s_per_million\": %.4f, \"server_us_per_message\": %.4f, \"requests\": "
           "%" PRIu64 "}",
           n_sent, n, (double)n / reporting->ms * 1e3, reporting->server_cpu_ms * 1e3 / (double)n,
           reporting->client_cpu_ms * 1e3 / (double)n,
           reporting->server_cpu_ms * 1e3 / (double)n_sent, requests);
}

static void
measure(run *self)
{
    uint64_t begin_kb = memory_kb(self);
    step connecting = begin_step(self);
    reports_clients_connect(&self->clients);
    await_asked(self);
    end_step(self, &connecting);
    uint64_t connected_kb = memory_kb(self);

    step reporting = begin_step(self);
    report(self);
    double sent_ms = (double)(udpai_monotonic_ns() - reporting.begin_ns) / 1e6;
    double late_ms = await_sums(self);
    end_step(self, &reporting);
    reporting.ms = sent_ms;
    printf("{\"memory\": {\"filled_kb\": %" PRIu64 ", \"synced_kb\": %" PRIu64
           ", \"connected_kb\": %" PRIu64 ", \"end_kb\": %" PRIu64 "}, ",
           begin_kb, connected_kb, connected_kb, memory_kb(self));
    print_step("asked", &connecting);
    printf("}, ");
    print_reports(self, &reporting);
    printf(", \"sum\": {\"late_ms\": %.3f, \"behind_ms\": %.3f, \"updates\": %" PRIu64 "}}\n",
           late_ms, (double)self->sums.behind_ns / 1e6, self->sums.n_updates);
}

static size_t
number(const char *name, const char *text, size_t min, size_t max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end || value < min || value > max)
        reports_fail("--%s: must be a number from %zu to %zu", name, min, max);
    return value;
}

static void
read_processes(reports_options *options, const char *text)
{
    char *end;
    for (const char *at = text; *at && options->n_servers < UDPAI_LOAD_SERVERS_MAX; at = end) {
        options->servers[options->n_servers++] = (int)strtol(at, &end, 10);
        if (end == at)
            reports_fail("--pid: must be numbers with commas between them");
        end += *end == ',';
    }
}

static void
read_options(reports_options *options, int argc, char **argv)
{
    enum {
        SERVER,
        CONTROL,
        PID,
        CLIENTS,
        CONNECTIONS,
        CLUSTERS,
        INTERVAL,
        ROUNDS,
        N_NAMES
    };
    static const struct option names[] = {
        {"server", 1, NULL, SERVER},
        {"control", 1, NULL, CONTROL},
        {"pid", 1, NULL, PID},
        {"clients", 1, NULL, CLIENTS},
        {"connections", 1, NULL, CONNECTIONS},
        {"clusters", 1, NULL, CLUSTERS},
        {"interval-ms", 1, NULL, INTERVAL},
        {"rounds", 1, NULL, ROUNDS},
        {NULL, 0, NULL, N_NAMES},
    };
    size_t numbers[N_NAMES] = {[CLIENTS] = 1000, [CLUSTERS] = 1, [INTERVAL] = 1000, [ROUNDS] = 10};
    static const size_t most[N_NAMES] = {[CLIENTS] = 1000000,
                                         [CONNECTIONS] = 1000000,
                                         [CLUSTERS] = REPORTS_CLUSTERS_MAX,
                                         [INTERVAL] = 3600000,
                                         [ROUNDS] = 1000000};
    for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (name == SERVER)
            options->server = optarg;
        else if (name == CONTROL)
            options->control = optarg;
        else if (name == PID)
            read_processes(options, optarg);
        else if (name < N_NAMES && name != '?')
            numbers[name] = number(names[name].name, optarg, 1, most[name]);
        else
            exit(2);
    }
    options->n_clients = numbers[CLIENTS];
    options->n_connections = numbers[CONNECTIONS] ? numbers[CONNECTIONS] : numbers[CLIENTS];
    options->n_clusters = numbers[CLUSTERS];
    options->interval_ms = numbers[INTERVAL];
    options->n_rounds = numbers[ROUNDS];
    options->patience_ms = PATIENCE_MS;
    if (!options->server || optind < argc || options->n_connections > options->n_clients)
        reports_fail("--server HOST:PORT is needed, and no more connections than clients");
}

int
main(int argc, char **argv)
{
    static run self;
    const udpai_load_options quiet = {0};
    read_options(&self.options, argc, argv);
    if (udpai_load_loop_open(&self.loop, &quiet, NULL) != UDPA_OK)
        reports_fail("sockets cannot be waited for");
    reports_clients_begin(&self.clients, &self.loop, &self.options);
    reports_sums_begin(&self.sums, &self.loop, &self.options, &self.clients.sent);
    measure(&self);
    reports_sums_end(&self.sums);
    reports_clients_end(&self.clients);
    udpai_load_loop_close(&self.loop);
    return 0;
}
