/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/server.h"

#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/banner.h"
#include "daemon/directories.h"
#include "daemon/inspection.h"
#include "daemon/joining.h"
#include "daemon/kept_load.h"
#include "daemon/log_sink.h"
#include "daemon/readers.h"
#include "daemon/reload_page.h"
#include "daemon/reported_load.h"
#include "daemon/rest.h"
#include "daemon/restart.h"
#include "daemon/runtime.h"
#include "daemon/service_manager.h"
#include "daemon/shutdown.h"
#include "daemon/sinks.h"
#include "daemon/storage.h"
#include "daemon/successor.h"
#include "daemon/traces.h"
#include "daemon/workers.h"
#include "daemon/writers.h"
#include "endpoint/host.h"
#include "federation/node_metrics.h"
#include "loop/clock.h"
#include "loop/turn_meter.h"
#include "storage/sqlite.h"

typedef struct server {
    udpai_plan *plan;
    const udpai_options *options;
    udpai_schema *schema;
    udpai_inspection inspection;
    udpai_effective effective; /* configuration */
    uv_loop_t loop;
    udpa_endpoint *endpoint;
    udpai_reported_load *reported_load; /* to servers of LRS; NULL: nothing is kept of it */
    udpai_replicas *replicas;           /* NULL: none */
    udpai_daemon_storage storage;
    udpai_durable_engine *engine; /* of its database; NULL: none */
    udpai_problems problems;
    udpai_directories *directories;
    udpai_readers *readers; /* NULL: none */
    udpai_writers *writers;
    udpai_event_writer *sinks; /* NULL: nothing is written */
    udpai_daemon_runtime *runtime;
    udpai_pages *pages;
    udpai_rest *rest;  /* NULL: none */
    udpai_rest *admin; /* NULL: none */
    udpai_reload *reload;
    udpai_restart *restart;
    udpai_workers *workers; /* NULL: none */
    udpa_error *lost;       /* one of them was, and why */
    udpai_sockets *sockets;
    UDPAI_VECTOR(int) ports, http_ports, admin_ports; /* of each socket */
    uv_signal_t signals[5];
    udpai_shutdown shutdown;
    udpai_joining joining;
    udpai_turn_meter turns;
    udpai_otlp_exporter *exporter; /* NULL: nothing is traced */
    udpai_liveness *liveness;
    udpai_readiness readiness;
    udpai_service_manager *manager; /* NULL: none has started this node */
    bool is_stopping, has_turns;
} server;

/* ---- ending ---- */

/* Requests by REST are served by the stream thread, so the endpoint ends last. */
static void
on_rest_closed(void *userdata)
{
    server *self = userdata;
    udpai_pages_close(UDPAI_TAKE(self->pages));
    udpai_daemon_runtime_close(self->runtime);
    udpai_workers_close(UDPAI_TAKE(self->workers));
    if (self->endpoint)
        udpa_endpoint_close(self->endpoint, NULL, NULL);
}

static void
on_admin_closed(void *userdata)
{
    server *self = userdata;
    udpai_rest_close(self->rest, on_rest_closed, self);
}

static void
stop(server *self)
{
    if (self->is_stopping)
        return;
    self->is_stopping = true;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(self->signals); i++)
        uv_close((uv_handle_t *)&self->signals[i], NULL);
    udpai_shutdown_end(&self->shutdown);
    udpai_joining_end(&self->joining);
    udpai_restart_close(UDPAI_TAKE(self->restart));
    udpai_successor_end();
    udpai_readiness_end(&self->readiness);
    udpai_service_manager_close(UDPAI_TAKE(self->manager), 0);
    udpai_liveness_end(self->liveness);
    udpai_daemon_runtime_leave(self->runtime);
    if (self->pages)
        udpai_pages_set_certificates(self->pages, NULL);
    if (self->has_turns)
        udpai_turn_meter_end(&self->turns);
    udpai_reload_close(UDPAI_TAKE(self->reload));
    udpai_readers_close(self->readers);
    udpai_directories_close(self->directories);
    udpai_writers_close(self->writers);
    udpai_rest_close(self->admin, on_admin_closed, self);
}

static void
server_done(server *self)
{
    stop(self);
    uv_run(&self->loop, UV_RUN_DEFAULT);
    uv_loop_close(&self->loop);
    udpai_rest_free(self->rest);
    udpai_rest_free(self->admin);
    udpai_daemon_sinks_close(self->plan, UDPAI_TAKE(self->sinks)); /* nobody streams any more */
    udpai_reported_load_close(self->reported_load);
    udpai_daemon_storage_close(&self->storage);
    udpai_sockets_free(self->sockets);
    udpai_vector_done(&self->ports);
    udpai_problems_done(&self->problems);
    udpai_effective_done(&self->effective);
    udpai_daemon_runtime_free(self->runtime);
    udpai_inspection_done(&self->inspection);
    udpai_vector_done(&self->http_ports);
    udpai_vector_done(&self->admin_ports);
    udpai_liveness_free(self->liveness);
    udpai_otlp_exporter_free(self->exporter); /* what the endpoint had is there */
}

/* ---- signals ---- */

static void
on_leaving(void *userdata)
{
    server *self = userdata;
    udpai_readiness_end(&self->readiness);
    udpai_service_manager_stopping(self->manager);
    udpai_reload_end(self->reload);
}

static void
on_shut_down(void *userdata)
{
    stop(userdata);
}

static void
reload(server *self)
{
    udpai_service_manager_reloading(self->manager);
    if (self->reload)
        udpai_reload_all(self->reload);
    if (self->runtime)
        udpai_daemon_runtime_look(self->runtime);
    udpai_service_manager_reloaded(self->manager);
}

/* By another process, which has what this one had. */
static void
on_handed_over(void *userdata)
{
    server *self = userdata;
    self->shutdown.time_ms = udpai_effective_plan(&self->effective)->drain_time_ms;
    udpai_service_manager_close(UDPAI_TAKE(self->manager), udpai_restart_successor(self->restart));
    udpai_readiness_end(&self->readiness);
    udpai_reload_end(self->reload);
    udpai_writers_close(UDPAI_TAKE(self->writers));
    udpai_shutdown_leave(&self->shutdown);
}

static void
on_restarting(void *userdata, bool is_under_way)
{
    udpai_reload_hold(((server *)userdata)->reload, is_under_way);
}

static void
restart(server *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_plan *plan = udpai_effective_plan(&self->effective);
    udpa_err err = UDPA_OK;
    if (!self->restart || self->shutdown.stage != UDPAI_RUNNING)
        err = udpai_fail(&error, UDPA_ERR_PRECONDITION, "the node is beginning, or ending");
    else
        err = udpai_restart_begin(self->restart, plan->hand_over_timeout_ms, &error);
    if (err != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "restart", "SIGUSR2: no restart: %s", udpa_error_message(error));
}

static void
on_signal(uv_signal_t *handle, int number)
{
    server *self = handle->data;
    if (number == SIGUSR1) {
        udpai_log_reopen();
        udpai_daemon_storage_reopen(&self->storage);
        udpai_workers_reopen_log(self->workers);
        return;
    }
    if (number == SIGHUP) {
        reload(self);
        return;
    }
    if (number == SIGUSR2) {
        restart(self);
        return;
    }
    if (number == SIGTERM && self->readiness.listens) {
        const udpai_plan *plan = udpai_effective_plan(&self->effective);
        self->shutdown.delay_ms = plan->drain_delay_ms;
        self->shutdown.time_ms = plan->drain_time_ms;
        udpai_restart_close(UDPAI_TAKE(self->restart)); /* one that is under way ends */
        udpai_shutdown_drain(&self->shutdown);
        return;
    }
    udpai_log(UDPA_LOG_INFO, "daemon", "%s: shutting down",
              number == SIGINT ? "SIGINT" : "SIGTERM");
    udpai_shutdown_hurry(&self->shutdown);
}

static void
watch_signals(server *self)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++) {
        uv_signal_init(&self->loop, &self->signals[i]);
        self->signals[i].data = self;
        uv_signal_start(&self->signals[i], on_signal, numbers[i]);
    }
}

/* ---- beginning ---- */

/* The workers do. */
static udpa_err
have_workers_listen(server *self, udpa_error **ret_error)
{
    const udpai_plan *plan = self->plan;
    UDPAI_AUTO_FREE int *ports = udpai_alloc_array(plan->sockets.n, sizeof(*ports));
    udpa_err err = ports ? udpai_workers_listen(self->workers, self->endpoint, ports, ret_error)
                         : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < plan->sockets.n && err == UDPA_OK; i++)
        err = udpai_sockets_add(self->sockets, &plan->sockets.items[i], ports[i], ret_error);
    return err == UDPA_OK ? udpai_fail_code(ret_error, udpai_sockets_note(self->sockets, plan))
                          : err;
}

static udpa_err
listen_on_all(server *self, udpa_error **ret_error)
{
    udpa_err err = udpai_fail_code(ret_error, udpai_sockets_new(&self->sockets));
    if (err == UDPA_OK)
        err = self->workers
                  ? have_workers_listen(self, ret_error)
                  : udpai_sockets_listen(self->sockets, udpai_endpoint_streams(self->endpoint),
                                         self->rest, self->plan, ret_error);
    for (size_t i = 0; i < self->plan->sockets.n && err == UDPA_OK; i++)
        if (!udpai_vector_push(&self->ports, udpai_sockets_port(self->sockets, i)))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}

static void
on_worker_lost(void *userdata, const udpa_error *why)
{
    server *self = userdata;
    self->lost = udpa_error_ref((udpa_error *)(uintptr_t)why);
    udpai_log(UDPA_LOG_ERROR, "daemon", "%s", udpa_error_message(why));
    stop(self);
}

static udpa_err
open_workers(server *self, udpai_endpoint_settings *settings, udpa_error **ret_error)
{
    const udpai_workers_env env = {
        .loop = &self->loop,
        .plan = self->plan,
        .options = self->options,
        .lost = on_worker_lost,
        .liveness = self->liveness,
        .userdata = self,
    };
    if (settings->n_workers == 0)
        return UDPA_OK;
    settings->order_worker = udpai_workers_order;
    settings->serve_workers = udpai_workers_serve;
    settings->workers_userdata = &self->workers;
    return udpai_workers_open(&self->workers, &env, ret_error);
}

static void
log_loss(server *self, const udpa_error *loss)
{
    const char *text = udpa_error_message(loss);
    if (loss)
        udpai_problems_set(&self->problems, UDPAI_FOUND_IN_STORE, &text, 1);
}

static udpa_err
restore(server *self, udpa_error **ret_error)
{
    self->problems.endpoint = self->endpoint;
    udpa_err err = udpai_daemon_storage_open(&self->storage, self->plan, ret_error);
    udpai_durable_engine *engine = self->storage.sqlite;
    if (err == UDPA_OK && self->storage.engine)
        err = udpai_endpoint_attach(self->endpoint, self->storage.engine, ret_error);
    self->engine = err == UDPA_OK ? engine : NULL;
    if (err == UDPA_OK && engine)
        log_loss(self, udpai_sqlite_loss(engine));
    return err;
}

static void
on_full(void *userdata, udpa_error *why)
{
    server *self = userdata;
    self->lost = why;
    stop(self);
}

static udpa_err
join(server *self, udpa_error **ret_error)
{
    self->joining.plan = self->plan;
    self->joining.endpoint = self->endpoint;
    self->joining.engine = self->engine;
    self->joining.is_stopping = &self->is_stopping;
    self->joining.is_full = on_full;
    self->joining.userdata = self;
    return udpai_joining_begin(&self->joining, self->replicas, ret_error);
}

static udpa_err
open_files(server *self, udpa_error **ret_error)
{
    const udpai_directories_env directories = {
        .loop = &self->loop,
        .endpoint = self->endpoint,
        .schema = self->schema,
        .policy = self->inspection.validator ? &self->inspection.policy : NULL,
        .problems = &self->problems,
    };
    const udpai_writers_env writers = {&self->loop, self->endpoint, self->schema, &self->problems};
    udpa_err err = udpai_directories_open(&self->directories, &directories, self->plan, ret_error);
    return err == UDPA_OK ? udpai_writers_open(&self->writers, &writers, self->plan, ret_error)
                          : err;
}

static udpa_err
open_readers(server *self, const udpai_inspector *inspector, udpa_error **ret_error)
{
    const udpai_readers_env env = {&self->loop, self->endpoint, self->plan, *inspector};
    return udpai_readers_open(&self->readers, &env, ret_error);
}

/* What is looked at goes by it: before files are read, and anybody publishes. */
static udpa_err
open_runtime(server *self, udpa_error **ret_error)
{
    const udpai_tunables_follower_env env = {
        .plan = self->plan,
        .groups = &self->plan->xds.groups,
        .endpoint = self->endpoint,
        .workers = self->workers,
        .validation = &self->inspection.mode,
    };
    udpa_err err = udpai_daemon_runtime_open(&self->runtime, &self->loop, &env, ret_error);
    if (err == UDPA_OK && self->inspection.deprecations)
        udpai_deprecations_set_runtime(self->inspection.deprecations, &self->runtime->runtime);
    return err;
}

static udpa_err
open_reload(server *self, udpa_error **ret_error)
{
    const udpai_reload_env env = {
        .loop = &self->loop,
        .configuration = {self->endpoint, self->plan, self->schema, self->options, &self->problems,
                          self->replicas, self->engine, self->directories, self->readers,
                          self->workers, self->runtime->follower, &self->effective, self->sockets,
                          self->writers, &self->storage},
        .users = {self->plan, &self->effective, self->sockets, self->rest, self->admin,
                  self->replicas, self->exporter},
    };
    return udpai_reload_open(&self->reload, &env, ret_error);
}

static udpa_err
open_restart(server *self, udpa_error **ret_error)
{
    const udpai_restart_env env = {
        .loop = &self->loop,
        .plan = self->plan,
        .options = self->options,
        .endpoint = self->endpoint,
        .storage = &self->storage,
        .workers = self->workers,
        .effective = &self->effective,
        .under_way = on_restarting,
        .handed_over = on_handed_over,
        .userdata = self,
    };
    return udpai_fail_code(ret_error, udpai_restart_open(&self->restart, &env));
}

static udpa_err
note_ports(server *self, udpa_error **ret_error)
{
    bool is_noted = true;
    for (size_t i = 0; i < self->plan->http_sockets.n; i++)
        is_noted &= udpai_vector_push(&self->http_ports, udpai_rest_port(self->rest, i));
    for (size_t i = 0; self->admin && i < self->plan->admin_sockets.n; i++)
        is_noted &= udpai_vector_push(&self->admin_ports, udpai_rest_port(self->admin, i));
    return is_noted ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
on_reload_asked(void *userdata,
                const udpai_http_reading *reading,
                udpai_strbuf *text,
                udpa_error **ret_error)
{
    return udpai_reload_page(((server *)userdata)->reload, reading, text, ret_error);
}

static udpa_err
open_http(server *self, udpa_error **ret_error)
{
    const udpai_pages_env pages = {
        .loop = &self->loop,
        .endpoint = self->endpoint,
        .runtime = self->runtime,
        .replicas = self->replicas,
        .effective = &self->effective,
        .schema = self->schema,
        .workers = &self->workers,
        .engine = &self->engine,
        .liveness = self->liveness,
        .readiness = &self->readiness,
        .admin = &self->admin,
        .audit_output = &self->storage.output,
        .reload = on_reload_asked,
        .reload_userdata = self,
        .restart = &self->restart,
        .exporter = self->exporter,
    };
    udpa_err err = udpai_pages_open(&self->pages, &pages, ret_error);
    const udpai_rest_env env = {
        .loop = &self->loop,
        .streams = udpai_endpoint_streams(self->endpoint),
        .schema = self->schema,
        .pages = self->pages,
        .plan = self->plan,
    };
    if (err == UDPA_OK)
        err = udpai_rest_open(&self->rest, &env, ret_error);
    if (err == UDPA_OK)
        err = udpai_rest_open_admin(&self->admin, &env, ret_error);
    return err == UDPA_OK ? note_ports(self, ret_error) : err;
}

static void
measure_turns(server *self)
{
    udpai_meters *meters = udpai_node_meters(udpai_endpoint_node(self->endpoint));
    udpai_meter *turns = udpai_meters_get(meters, UDPAI_METRIC_LOOP_TURN, (udpai_str){0});
    udpai_turn_meter_begin(&self->turns, &self->loop, turns);
    self->has_turns = true;
}

static bool
put_service_status(void *userdata, udpai_strbuf *text)
{
    return udpai_readiness_put_line(userdata, text);
}

/* Of a successor not before it serves. */
static udpa_err
open_manager(server *self, udpa_error **ret_error)
{
    const udpai_service_manager_env env = {&self->loop, self->liveness, put_service_status,
                                           &self->readiness, udpai_successor_is()};
    const udpai_service_variables variables = udpai_service_variables_here();
    return udpai_fail_code(ret_error, udpai_service_manager_open(&self->manager, &env, &variables));
}

static udpa_err
begin_health(server *self, udpa_error **ret_error)
{
    measure_turns(self);
    udpai_liveness_begin(self->liveness, &self->loop, udpai_endpoint_streams(self->endpoint));
    const udpai_plan *plan = self->plan;
    const udpai_ready_wait wait = {
        .has_sources = plan->sources.n || plan->read_sources.n || plan->directories.n,
        .sync_timeout_ms = plan->settings.node.timing.sync_timeout_ms,
    };
    udpai_readiness_begin(&self->readiness, &self->loop, self->endpoint, &self->problems, &wait);
    return udpai_successor_is() ? UDPA_OK : open_manager(self, ret_error);
}

/* All that can be done before it accepts anybody. */
static udpa_err
prepare(server *self, udpa_error **ret_error)
{
    const udpai_plan *plan = self->plan;
    udpai_endpoint_settings settings = plan->settings;
    udpa_err err = udpai_inspection_open(&self->inspection, self->plan, self->schema,
                                         &settings.inspector, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error,
                              udpai_liveness_new(&self->liveness, plan->settings.n_workers));
    if (err == UDPA_OK)
        err = open_workers(self, &settings, ret_error);
    if (err == UDPA_OK)
        err = udpai_daemon_traces_open(&self->exporter, plan, &settings, ret_error);
    if (err == UDPA_OK)
        err = udpai_daemon_sinks_open(&self->sinks, plan, self->schema, ret_error);
    if (err == UDPA_OK)
        err = udpai_endpoint_new(&self->endpoint, &self->loop, &settings, ret_error);
    if (err == UDPA_OK)
        err = begin_health(self, ret_error);
    if (err == UDPA_OK)
        err = udpai_directories_expect(self->endpoint, plan, ret_error);
    if (err == UDPA_OK)
        err = udpai_readers_expect(self->endpoint, plan, ret_error);
    if (err == UDPA_OK)
        err = udpai_successor_take_store(&self->loop, plan, &self->is_stopping, ret_error);
    if (err == UDPA_OK)
        err = restore(self, ret_error);
    if (err == UDPA_OK)
        err = join(self, ret_error);
    if (err == UDPA_OK)
        err = open_runtime(self, ret_error);
    if (err == UDPA_OK)
        err = open_files(self, ret_error);
    if (err == UDPA_OK)
        err = open_readers(self, &settings.inspector, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error,
                              udpai_tunables_follower_take(self->runtime->follower,
                                                           self->directories, self->readers));
    return err;
}

/* A successor that keeps nothing has nothing to serve before its sources have sent it: the process
 * before it serves for as long. */
static udpa_err
await_sources(server *self)
{
    bool waits = udpai_successor_is() && !self->engine;
    if (waits)
        udpai_endpoint_start(self->endpoint);
    while (waits && !self->is_stopping && !udpai_readiness_has_synchronized(&self->readiness))
        uv_run(&self->loop, UV_RUN_ONCE);
    return self->is_stopping ? UDPA_ERR_CLOSED : UDPA_OK;
}

static udpa_err
accept_all(server *self, udpa_error **ret_error)
{
    bool was_successor = udpai_successor_is(), is_started = was_successor && !self->engine;
    if (was_successor) /* the node is ready, whichever of its sockets are accepted on first */
        udpai_readiness_listens(&self->readiness, true);
    udpa_err err = self->engine ? udpai_kept_load_open(&self->reported_load, self->endpoint,
                                                       self->plan, ret_error)
                                : UDPA_OK;
    if (err == UDPA_OK)
        err = open_http(self, ret_error);
    if (err == UDPA_OK)
        err = listen_on_all(self, ret_error);
    if (err == UDPA_OK)
        err = open_reload(self, ret_error);
    if (err == UDPA_OK)
        err = open_restart(self, ret_error);
    if (err == UDPA_OK && was_successor)
        err = open_manager(self, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_pages_set_certificates(self->pages, udpai_reload_certificates(self->reload));
    if (was_successor && self->engine)
        udpai_sqlite_set_hold(self->engine, UDPAI_SQLITE_WRITES);
    if (!is_started)
        udpai_endpoint_start(self->endpoint);
    udpai_daemon_storage_started(&self->storage, self->endpoint);
    udpai_readiness_listens(&self->readiness, was_successor);
    udpai_successor_serves(self->endpoint);
    return UDPA_OK;
}

static udpa_err
begin(server *self, udpa_error **ret_error)
{
    udpa_err err = prepare(self, ret_error);
    if (err == UDPA_OK)
        err = await_sources(self);
    if (err == UDPA_OK)
        err = udpai_successor_take_sockets(&self->loop, ret_error);
    if (err == UDPA_OK)
        err = accept_all(self, ret_error);
    if (err != UDPA_OK && ret_error && *ret_error)
        udpai_successor_fail(udpa_error_message(*ret_error));
    return err;
}

udpa_err
udpai_server_run(const udpai_server_parts *parts, udpa_error **ret_error)
{
    server self = {
        .plan = parts->plan,
        .options = parts->options,
        .schema = parts->schema,
        .replicas = parts->replicas,
        .effective = {.plan = parts->plan, .options = parts->options},
    };
    int number = uv_loop_init(&self.loop);
    if (number != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make an event loop: %s",
                          uv_strerror(number));
    udpai_turn_meter_prepare(&self.loop);
    self.shutdown = (udpai_shutdown){
        .endpoint = &self.endpoint,
        .has_workers = parts->plan->settings.n_workers > 0,
        .begun = on_leaving,
        .over = on_shut_down,
        .userdata = &self,
    };
    udpai_shutdown_init(&self.shutdown, &self.loop);
    udpai_joining_init(&self.joining, &self.loop);
    watch_signals(&self);
    bool is_successor = udpai_successor_is();
    udpa_err err = begin(&self, ret_error);
    if (err == UDPA_OK) {
        if (!is_successor) /* nothing has changed for people */
            udpai_banner_print(self.plan, self.schema, self.options,
                               &(udpai_ports){self.ports.items, self.http_ports.items,
                                              self.admin ? self.admin_ports.items : NULL});
        uv_run(&self.loop, UV_RUN_DEFAULT);
    }
    bool was_stopped = err == UDPA_ERR_CLOSED && self.is_stopping;
    server_done(&self);
    if (was_stopped) /* while it waited for etcd */
        err = UDPA_OK;
    if (err == UDPA_OK && self.lost) {
        err = udpa_error_code(self.lost);
        *ret_error = UDPAI_TAKE(self.lost);
    }
    udpa_error_unref(self.lost);
    return err;
}
