/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a measurement, one after the other. */
#include "loop/clock.h"
#include "tools/bench/changes.h"
#include "tools/bench/load.h"
#include "tools/bench/processes.h"

#define SETTLE_MS 200 /* for what is acknowledged, and freed, behind a step */

typedef struct run {
    const udpai_load_options *options;
    udpai_load_figures *figures;
    udpai_load_loop loop;
    udpai_load_clients clients;
    udpai_changer changer;
    udpai_changes changes;
} run;

/* ---- measuring a step ---- */

typedef struct measure {
    double server_ms, client_ms;
    uint64_t n_bytes, begin_ns;
} measure;

static double
server_cpu_ms(const run *self)
{
    return udpai_processes_cpu_ms(self->options->servers, self->options->n_servers);
}

static double
ms_since(uint64_t begin_ns)
{
    return (double)(udpai_monotonic_ns() - begin_ns) / 1e6;
}

static measure
begin_measure(const run *self)
{
    return (measure){
        .server_ms = server_cpu_ms(self),
        .client_ms = udpai_own_cpu_ms(),
        .n_bytes = self->loop.n_bytes_read,
        .begin_ns = udpai_monotonic_ns(),
    };
}

/* Until a moment of the loop, which has noticed later that it was the last one. */
static double
ms_until(const measure *since, uint64_t ns)
{
    return ns > since->begin_ns ? (double)(ns - since->begin_ns) / 1e6 : ms_since(since->begin_ns);
}

static void
settle(run *self)
{
    uint64_t begin_ns = udpai_monotonic_ns();
    for (double past = 0; past < SETTLE_MS; past = ms_since(begin_ns))
        udpai_load_loop_run(&self->loop, (int)(SETTLE_MS - past) + 1);
}

static void
end_measure(run *self, const measure *since, double ms, udpai_load_step *step)
{
    settle(self);
    step->was_done = true;
    step->ms = ms;
    step->server_cpu_ms = server_cpu_ms(self) - since->server_ms;
    step->client_cpu_ms = udpai_own_cpu_ms() - since->client_ms;
    step->bytes = self->loop.n_bytes_read - since->n_bytes;
}

static uint64_t
memory_kb(const run *self)
{
    return udpai_processes_memory_kb(self->options->servers, self->options->n_servers);
}

/* ---- the steps ---- */

static udpa_err
fill(run *self, udpa_error **ret_error)
{
    udpai_load_step *step = &self->figures->publish;
    if (!self->options->publish_to)
        return UDPA_OK;
    measure begin = begin_measure(self);
    udpa_err err = udpai_changer_fill(&self->changer, ret_error);
    end_measure(self, &begin, ms_since(begin.begin_ns), step);
    step->n = self->options->n_resources;
    return err;
}

static udpa_err
connect_all(run *self, udpa_error **ret_error)
{
    udpai_load_step *step = &self->figures->connect;
    measure begin = begin_measure(self);
    udpa_err err = udpai_load_clients_connect(&self->clients, ret_error);
    end_measure(self, &begin, ms_since(begin.begin_ns), step);
    step->n = self->options->n_connections;
    self->figures->memory.connected_kb = memory_kb(self);
    return err;
}

static udpa_err
synchronize(run *self, udpa_error **ret_error)
{
    udpai_load_step *step = &self->figures->sync;
    measure begin = begin_measure(self);
    udpa_err err = udpai_load_clients_subscribe(&self->clients, false, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_clients_await(&self->clients, ret_error);
    end_measure(self, &begin, ms_until(&begin, self->clients.last_ns), step);
    step->n = self->clients.n_resources;
    self->figures->memory.synced_kb = memory_kb(self);
    return err;
}

static udpa_err
change(run *self, udpa_error **ret_error)
{
    udpai_load_step *step = &self->figures->changes;
    if (self->options->n_changes == 0)
        return UDPA_OK;
    uint64_t n_messages = self->clients.n_messages;
    measure begin = begin_measure(self);
    udpa_err err = udpai_changes_run(&self->changes, ret_error);
    bool is_late = self->changes.n_over < self->changes.n_sent;
    end_measure(self, &begin,
                is_late ? ms_until(&begin, self->changes.last_ns) : ms_since(begin.begin_ns), step);
    step->n = self->changes.n_sent;
    self->figures->n_messages = self->clients.n_messages - n_messages;
    return err;
}

static udpa_err
reconnect(run *self, udpa_error **ret_error)
{
    udpai_load_step *step = &self->figures->reconnect;
    if (!self->options->reconnects)
        return UDPA_OK;
    measure begin = begin_measure(self);
    udpai_load_clients_disconnect(&self->clients);
    udpa_err err = udpai_load_clients_connect(&self->clients, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_clients_subscribe(&self->clients, true, ret_error);
    if (err == UDPA_OK)
        err = udpai_changes_run_one(&self->changes, ret_error);
    end_measure(self, &begin, ms_since(begin.begin_ns), step);
    size_t n = self->clients.n_resources, n_awaited = self->changes.n_awaited;
    step->n = n > n_awaited ? n - n_awaited : 0;
    return err;
}

static udpa_err
rest(run *self, udpa_error **ret_error)
{
    double rest_ms = (double)self->options->rest_ms;
    if (rest_ms == 0)
        return UDPA_OK;
    measure begin = begin_measure(self);
    udpa_err err = UDPA_OK;
    for (double past = 0; err == UDPA_OK && past < rest_ms; past = ms_since(begin.begin_ns)) {
        udpai_load_loop_run(&self->loop, (int)(rest_ms - past) + 1);
        udpai_load_loop_report(&self->loop, "ms of rest", (size_t)past, (size_t)rest_ms);
        err = udpai_load_clients_check(&self->clients, ret_error);
    }
    end_measure(self, &begin, ms_since(begin.begin_ns), &self->figures->rest);
    return err;
}

static udpa_err
run_steps(run *self, udpa_error **ret_error)
{
    udpai_load_memory *memory = &self->figures->memory;
    memory->begin_kb = memory_kb(self);
    udpa_err err = fill(self, ret_error);
    memory->filled_kb = memory_kb(self);
    if (err == UDPA_OK)
        err = connect_all(self, ret_error);
    if (err == UDPA_OK && !self->options->is_idle) {
        err = synchronize(self, ret_error);
        if (err == UDPA_OK)
            err = change(self, ret_error);
        memory->end_kb = memory_kb(self);
        if (err == UDPA_OK)
            err = reconnect(self, ret_error);
    }
    return err == UDPA_OK ? rest(self, ret_error) : err;
}

/* ---- the whole ---- */

static udpa_err
begin(run *self, udpa_error **ret_error)
{
    const udpai_load_options *options = self->options;
    udpa_err err = udpai_load_loop_open(&self->loop, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_changer_begin(&self->changer, &self->loop, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_clients_begin(&self->clients, &self->loop, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_changes_begin(&self->changes, &self->clients, &self->changer, self->figures,
                                  ret_error);
    return err;
}

udpa_err
udpai_load_run(const udpai_load_options *options,
               udpai_load_figures *figures,
               udpa_error **ret_error)
{
    run self = {.options = options, .figures = figures, .changer.control = -1};
    *figures = (udpai_load_figures){0};
    self.clients.options = options;
    self.changes.clients = &self.clients;
    udpa_err err = udpai_load_check(options, ret_error);
    if (err != UDPA_OK)
        return err;
    err = begin(&self, ret_error);
    if (err == UDPA_OK)
        err = run_steps(&self, ret_error);
    figures->n_errors = self.clients.n_errors;
    udpai_changes_end(&self.changes);
    udpai_load_clients_end(&self.clients);
    if (!options->keeps)
        udpai_changer_clean(&self.changer);
    udpai_changer_end(&self.changer);
    udpai_load_loop_close(&self.loop);
    return err;
}

void
udpai_load_figures_done(udpai_load_figures *figures)
{
    udpai_samples_done(&figures->deliveries);
    udpai_samples_done(&figures->last);
    udpai_samples_done(&figures->receipts);
    udpai_samples_done(&figures->after_receipt);
}
