/* SPDX-License-Identifier: Apache-2.0 */
/* The thread itself: what it is made of, what it is sent, how it ends. */
#include <errno.h>
#include <grpc/support/log.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "transport/grpc/grpc_internal.h"

/* ---- the hub's surroundings ---- */

static void
on_report(void *userdata, udpai_report *report)
{
    udpai_stream_thread *thread = userdata;
    if (report->kind == UDPAI_REPORT_PUBLICATION)
        udpai_queue_expect_order(thread);
    thread->report(thread->userdata, report);
}

static void
on_dial(void *userdata, udpai_order *order)
{
    udpai_client_dial(userdata, order);
}

static void
on_stop_dialling(void *userdata, uint64_t link)
{
    udpai_client_stop_dialling(userdata, link);
}

static void
on_spread(void *userdata, const udpai_order *order)
{
    udpai_spread_obey(userdata, order);
}

static void
on_drain(void *userdata, uint64_t over_ms)
{
    udpai_drain_obey(userdata, over_ms);
}

static void
on_leave(void *userdata, bool leaves)
{
    udpai_drain_set_leaving(userdata, leaves);
}

static udpa_err
on_check_share(void *userdata, udpai_session *session, uint64_t client, udpa_error **ret_error)
{
    (void)userdata;
    udpai_stream *stream = udpai_stream_of_session(session);
    return stream ? udpai_spread_check(stream, client, ret_error) : UDPA_OK;
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return udpai_wall_us();
}

static const udpai_admission_words streams = {"streams", "limits.max_streams",
                                              "limits.max_streams_per_identity"};

/* ---- what others send to it ---- */

static void
on_orders(udpai_tag *tag, bool ok)
{
    (void)ok;
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(tag, udpai_stream_thread, orders_wake.tag);
    udpai_list orders, *at;
    udpai_list_init(&orders);
    udpai_inbox_take(&thread->orders, &orders);
    udpai_queue_has_orders(thread);
    while ((at = udpai_list_pop(&orders))) {
        udpai_order *order = UDPAI_LIST_ENTRY(at, udpai_order, node);
        if (thread->is_stopping)
            udpai_order_free(order);
        else
            udpai_hub_order(thread->hub, order);
    }
}

static void
on_requests(udpai_tag *tag, bool ok)
{
    (void)ok;
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(tag, udpai_stream_thread, requests_wake.tag);
    udpai_list requests, *at;
    udpai_list_init(&requests);
    udpai_inbox_take(&thread->requests, &requests);
    while ((at = udpai_list_pop(&requests))) {
        udpai_request *request = UDPAI_LIST_ENTRY(at, udpai_request, node);
        request->run(request);
    }
}

void
udpai_stream_thread_order(udpai_stream_thread *thread, udpai_order *order)
{
    if (!udpai_inbox_push(&thread->orders, &order->node))
        udpai_order_free(order);
}

struct serving_request {
    udpai_request request;
    bool is_serving;
};

static void
run_set_serving(udpai_request *request)
{
    struct serving_request *serving = UDPAI_CONTAINER_OF(request, struct serving_request, request);
    request->thread->is_serving = serving->is_serving;
    udpai_health_notify(request->thread);
    udpai_free(serving);
}

udpa_err
udpai_stream_thread_set_serving(udpai_stream_thread *thread, bool is_serving)
{
    struct serving_request *serving = udpai_alloc(sizeof(*serving));
    if (!serving)
        return UDPA_ERR_NOMEM;
    serving->is_serving = is_serving;
    if (!udpai_thread_request(thread, &serving->request, run_set_serving))
        udpai_free(serving);
    return UDPA_OK;
}

/* ---- what may change ---- */

#define DEFAULT_TO(field, value) ((field) = (field) ? (field) : (value))

static void
set_defaults(udpai_stream_thread *thread)
{
    udpai_stream_limits *limits = &thread->limits;
    udpai_stream_timing *timing = &thread->timing;
    DEFAULT_TO(limits->max_streams, UDPAI_MAX_STREAMS);
    DEFAULT_TO(limits->max_streams_per_identity, UDPAI_MAX_STREAMS_PER_IDENTITY);
    DEFAULT_TO(limits->max_source_message_bytes, UDPAI_MAX_SOURCE_MESSAGE_BYTES);
    DEFAULT_TO(limits->max_unfinished_bytes, UDPAI_MAX_UNFINISHED_BYTES);
    DEFAULT_TO(limits->many_messages, UDPAI_MANY_MESSAGES);
    DEFAULT_TO(timing->dial_timeout_ms, UDPAI_DIAL_TIMEOUT_MS);
    DEFAULT_TO(timing->finish_timeout_ms, UDPAI_FINISH_TIMEOUT_MS);
    DEFAULT_TO(timing->handshake_timeout_ms, UDPAI_HANDSHAKE_TIMEOUT_MS);
    DEFAULT_TO(timing->keepalive_ms, UDPAI_KEEPALIVE_MS);
    DEFAULT_TO(timing->keepalive_timeout_ms, UDPAI_KEEPALIVE_TIMEOUT_MS);
    DEFAULT_TO(timing->min_ping_interval_ms, UDPAI_MIN_PING_INTERVAL_MS);
    DEFAULT_TO(timing->stuck_ms, UDPAI_STUCK_MS);
    DEFAULT_TO(timing->connection_idle_ms, UDPAI_CONNECTION_IDLE_MS);
}

struct switch_request {
    udpai_request request;
    udpai_stream_switches to;
};

static void
free_switch(struct switch_request *switching)
{
    udpai_debounce_rules_unref(switching->to.debounce);
    udpai_free(switching);
}

static void
run_switch(udpai_request *request)
{
    struct switch_request *switching = UDPAI_CONTAINER_OF(request, struct switch_request, request);
    const udpai_stream_switches *to = &switching->to;
    udpai_stream_thread *thread = request->thread;
    thread->limits.max_streams = to->max_streams;
    thread->limits.max_streams_per_identity = to->max_streams_per_identity;
    thread->limits.max_message_bytes = to->max_message_bytes;
    thread->limits.max_source_message_bytes = to->max_source_message_bytes;
    thread->timing.finish_timeout_ms = to->finish_timeout_ms;
    thread->timing.max_stream_age_ms = to->max_stream_age_ms;
    set_defaults(thread);
    thread->admission.max = thread->limits.max_streams;
    thread->admission.max_per_name = thread->limits.max_streams_per_identity;
    if (thread->acceptance)
        thread->acceptance->changed(thread->accepting, &thread->limits);
    udpai_listeners_take_limits(thread);
    udpai_hub_set_fanout_options(thread->hub, &to->fanout);
    udpai_hub_set_debounce(thread->hub, to->debounce);
    free_switch(switching);
}

udpa_err
udpai_stream_thread_switch(udpai_stream_thread *thread, const udpai_stream_switches *switches)
{
    struct switch_request *switching = udpai_alloc(sizeof(*switching));
    if (!switching)
        return UDPA_ERR_NOMEM;
    switching->to = *switches;
    udpai_debounce_rules_ref(switching->to.debounce);
    if (!udpai_thread_request(thread, &switching->request, run_switch))
        free_switch(switching);
    return UDPA_OK;
}

/* ---- the end ---- */

static void
run_stop(udpai_request *request)
{
    udpai_stream_thread *thread = request->thread;
    thread->is_stopping = true;
    UDPAI_LIST_FOREACH (at, &thread->streams)
        udpai_stream_end(UDPAI_LIST_ENTRY(at, udpai_stream, node),
                         udpa_error_ref(thread->stop_why));
    udpai_listeners_begin_close(thread, thread->stop_why);
    udpai_bridges_finish(thread, thread->stop_why);
    udpai_thread_check_end(thread);
}

void
udpai_stream_thread_stop(udpai_stream_thread *thread, const char *why)
{
    if (thread->is_stop_asked)
        return;
    thread->is_stop_asked = true;
    thread->stop_why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s", why);
    (void)udpai_thread_request(thread, &thread->stop_request, run_stop);
}

/* ---- making it ---- */

void
udpai_thread_woken(udpai_stream_thread *thread)
{
    on_orders(&thread->orders_wake.tag, true);
    on_requests(&thread->requests_wake.tag, true);
}

typedef struct turn_meters {
    udpai_meter *turns, *streams, *views;
} turn_meters;

static turn_meters
turn_meters_of(udpai_meters *meters)
{
    return (turn_meters){
        .turns = udpai_meters_get(meters, UDPAI_METRIC_STREAM_THREAD_TURN, (udpai_str){0}),
        .streams = udpai_meters_get(meters, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("streams")),
        .views = udpai_meters_get(meters, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("views")),
    };
}

/* What is known anyhow is put where others read it. */
static void
show(const udpai_stream_thread *thread, const turn_meters *meters)
{
    udpai_hub_show_memory(thread->hub);
    udpai_meter_set_ratio(meters->streams, thread->admission.n, thread->admission.max);
    udpai_meter_set_ratio(meters->views, udpai_fanout_n_views(udpai_hub_fanout(thread->hub)),
                          udpai_hub_settings(thread->hub)->fanout.max_views);
}

static void *
run(void *userdata)
{
    udpai_stream_thread *thread = userdata;
    const turn_meters meters = turn_meters_of(udpai_hub_meters(thread->hub));
    show(thread, &meters);
    while (udpai_queue_turn(thread)) {
        udpai_write_round(thread);
        show(thread, &meters);
        uint64_t woken_ns = atomic_load_explicit(&thread->woken_ns, memory_order_relaxed);
        if (UDPAI_MEASURES)
            udpai_meter_observe(meters.turns, (udpai_monotonic_ns() - woken_ns) / 1000);
    }
    if (thread->stopped)
        thread->stopped(thread->userdata);
    return NULL;
}

static udpa_err
copy_options(udpai_stream_thread *thread, const udpai_stream_thread_options *options)
{
    thread->limits = options->limits;
    thread->timing = options->timing;
    thread->shares_ports = options->shares_ports;
    thread->report = options->report;
    thread->stopped = options->stopped;
    thread->userdata = options->userdata;
    thread->is_serving = true;
    thread->acceptance = options->acceptance;
    thread->listener_kind =
        thread->acceptance ? thread->acceptance->listeners : &udpai_grpc_listener_kind;
    set_defaults(thread);
    udpai_list_init(&thread->streams);
    udpai_list_init(&thread->listeners);
    udpai_list_init(&thread->health_watches);
    udpai_list_init(&thread->bridges);
    udpai_list_init(&thread->due_bridges);
    udpai_credentials_init(&thread->credentials);
    udpai_connections_init(&thread->connections);
    udpai_admission_init(&thread->admission, &streams, thread->limits.max_streams,
                         thread->limits.max_streams_per_identity);
    thread->admission.max_reserved = thread->limits.max_unfinished_bytes;
    udpai_turnstile_init(thread);
    udpai_surge_init(thread);
    udpai_spread_init(thread);
    udpai_drain_init(&thread->drain, thread, NULL, UDPAI_DRAIN_WORDS);
    thread->n_methods = options->n_methods;
    thread->methods =
        udpai_memdup(options->methods, options->n_methods * sizeof(*options->methods));
    return thread->methods ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
make_hub(udpai_stream_thread *thread, const udpai_hub_options *options)
{
    const udpai_hub_env env = {
        .report = on_report,
        .dial = on_dial,
        .stop_dialling = on_stop_dialling,
        .spread = on_spread,
        .drain = on_drain,
        .leave = on_leave,
        .check_share = on_check_share,
        .wall_us = wall_us,
        .userdata = thread,
    };
    udpai_wheel_init(&thread->wheel, udpai_monotonic_ms());
    udpai_rounds_init(thread);
    if (thread->acceptance) {
        udpa_err err = thread->acceptance->begin(&thread->accepting, thread);
        if (err != UDPA_OK)
            return err;
    }
    return udpai_hub_new(&thread->hub, &thread->wheel, options, &env);
}

static void
make_queue(udpai_stream_thread *thread)
{
    grpc_init();
    thread->cq = grpc_completion_queue_create_for_next(NULL);
    thread->wake_channel = udpai_wake_channel_new();
    udpai_wake_init(&thread->orders_wake, thread->wake_channel, thread->cq, on_orders);
    udpai_wake_init(&thread->requests_wake, thread->wake_channel, thread->cq, on_requests);
}

static void
free_queue(udpai_stream_thread *thread)
{
    thread->completions = udpai_completions_free(thread->completions);
    udpai_backup_poller_free(thread->backup_poller);
    grpc_channel_destroy(thread->wake_channel);
    grpc_completion_queue_destroy(thread->cq);
    grpc_shutdown();
}

/* What is there before the queue and the thread. */
static void
free_rest(udpai_stream_thread *thread)
{
    udpai_hub_free(thread->hub);
    if (thread->accepting)
        thread->acceptance->end(thread->accepting);
    udpai_connections_done(&thread->connections);
    udpai_surge_done(thread);
    udpai_admission_done(&thread->admission);
    udpai_credentials_done(&thread->credentials);
    udpa_error_unref(thread->stop_why);
    udpai_free(thread->methods);
    udpai_free(thread);
}

static udpa_err
make_inboxes(udpai_stream_thread *thread)
{
    void (*wake)(void *userdata) = thread->acceptance ? thread->acceptance->wake : udpai_wake_send;
    void *orders = thread->acceptance ? thread->accepting : &thread->orders_wake;
    void *requests = thread->acceptance ? thread->accepting : &thread->requests_wake;
    udpa_err err = udpai_inbox_init(&thread->orders, wake, orders);
    if (err != UDPA_OK)
        return err;
    err = udpai_inbox_init(&thread->requests, wake, requests);
    if (err != UDPA_OK)
        udpai_inbox_done(&thread->orders);
    return err;
}

static void
free_inboxes(udpai_stream_thread *thread)
{
    udpai_inbox_done(&thread->orders);
    udpai_inbox_done(&thread->requests);
}

/* gRPC's own threads must not get them either. */
static int
start_with_signals_blocked(udpai_stream_thread *thread)
{
    sigset_t before;
    udpai_signals_block(&before);
    make_queue(thread);
    if (!thread->acceptance)
        thread->backup_poller = udpai_backup_poller_new(thread->timing.stuck_ms);
    int number = 0;
    if (thread->acceptance && udpai_completions_new(&thread->completions, thread) != UDPA_OK)
        number = ENOMEM;
    if (number == 0)
        number = udpai_thread_begin(&thread->pthread, "udpa-streams", run, thread);
    udpai_signals_restore(&before);
    if (number == 0)
        return 0;
    grpc_call_unref(thread->orders_wake.call);
    grpc_call_unref(thread->requests_wake.call);
    grpc_completion_queue_shutdown(thread->cq);
    while (udpai_queue_turn(thread))
        continue;
    free_queue(thread);
    return number;
}

udpa_err
udpai_stream_thread_new(udpai_stream_thread **ret_thread,
                        const udpai_stream_thread_options *options,
                        udpa_error **ret_error)
{
    udpai_stream_thread *thread = udpai_alloc(sizeof(*thread));
    if (!thread)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = copy_options(thread, options);
    if (err == UDPA_OK)
        err = make_hub(thread, &options->hub);
    if (err == UDPA_OK)
        err = make_inboxes(thread);
    if (err != UDPA_OK) {
        free_rest(thread);
        return udpai_fail_code(ret_error, err);
    }
    int number = start_with_signals_blocked(thread);
    if (number != 0) {
        char text[128];
        free_inboxes(thread);
        free_rest(thread);
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot start the thread that serves streams: %s",
                          strerror_r(number, text, sizeof(text)));
    }
    *ret_thread = thread;
    return UDPA_OK;
}

udpai_stream_thread *
udpai_stream_thread_free(udpai_stream_thread *thread)
{
    if (!thread)
        return NULL;
    udpai_stream_thread_stop(thread, "this node is shutting down");
    pthread_join(thread->pthread, NULL);
    free_queue(thread);
    free_inboxes(thread);
    free_rest(thread);
    return NULL;
}

/* ---- figures ---- */

void
udpai_stream_thread_read_meters(const udpai_stream_thread *thread,
                                udpai_reading_fn visit,
                                void *userdata)
{
    udpai_meters_read(udpai_hub_meters(thread->hub), visit, userdata);
    if (thread->acceptance)
        udpai_meters_read(thread->acceptance->meters(thread->accepting), visit, userdata);
}

void
udpai_stream_thread_stats_get(const udpai_stream_thread *thread,
                              udpai_stream_thread_stats *ret_stats)
{
    ret_stats->n_streams = atomic_load_explicit(&thread->stat_streams, memory_order_relaxed);
    ret_stats->n_refused = atomic_load_explicit(&thread->stat_refused, memory_order_relaxed);
    ret_stats->n_too_large = atomic_load_explicit(&thread->stat_too_large, memory_order_relaxed);
    ret_stats->n_waited = atomic_load_explicit(&thread->stat_waited, memory_order_relaxed);
    ret_stats->reserved = atomic_load_explicit(&thread->stat_reserved, memory_order_relaxed);
    ret_stats->n_cut_off = atomic_load_explicit(&thread->stat_cut_off, memory_order_relaxed);
    ret_stats->n_tags = atomic_load_explicit(&thread->stat_tags, memory_order_relaxed);
    ret_stats->n_served = atomic_load_explicit(&thread->stat_served, memory_order_relaxed);
    ret_stats->n_clients = atomic_load_explicit(&thread->stat_clients, memory_order_relaxed);
    ret_stats->n_aged = atomic_load_explicit(&thread->stat_aged, memory_order_relaxed);
    ret_stats->n_moved = atomic_load_explicit(&thread->stat_moved, memory_order_relaxed);
    ret_stats->n_connections_refused = ret_stats->n_handshakes_failed = ret_stats->n_floods = 0;
    if (thread->acceptance)
        thread->acceptance->count(thread->accepting, ret_stats);
    ret_stats->n_above_share =
        atomic_load_explicit(&thread->stat_above_share, memory_order_relaxed);
}

/* ---- gRPC's log ---- */

static void
on_grpc_log(gpr_log_func_args *line)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static udpai_log_limit limit; /* peers can provoke such lines */
    udpa_log_level level = UDPA_LOG_DEBUG;
    unsigned n_left_out = 0;
    if (line->severity == GPR_LOG_SEVERITY_ERROR) {
        pthread_mutex_lock(&mutex);
        if (udpai_log_allow(&limit, udpai_monotonic_ms(), &n_left_out))
            level = UDPA_LOG_WARNING;
        pthread_mutex_unlock(&mutex);
    }
    if (n_left_out)
        udpai_log(level, UDPAI_LOG_GRPC, "%s (%u more not shown)", line->message, n_left_out);
    else
        udpai_log(level, UDPAI_LOG_GRPC, "%s", line->message);
}

void
udpai_grpc_redirect_log(void)
{
    gpr_set_log_function(on_grpc_log);
}
