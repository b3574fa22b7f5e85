/* SPDX-License-Identifier: Apache-2.0 */
/* The wiring: who calls whom, on which thread, and in which order everything ends. */
#include "endpoint/answers.h"

#include <sys/random.h>

#include "base/alloc.h"
#include "endpoint/check_planner.h"
#include "endpoint/client_registry.h"
#include "endpoint/load_rules.h"
#include "endpoint/load_sums.h"
#include "loop/clock.h"

/* ---- one turn of the loop ---- */

static void
run(void *userdata)
{
    udpa_endpoint *endpoint = userdata;
    if (endpoint->is_closing)
        return;
    udpai_subscriptions_sweep(endpoint);
    udpai_local_demand_run(endpoint);
    udpai_publications_run(endpoint);
    udpai_node_flush(endpoint->node);
    udpai_loop_wheel_arm(endpoint->wheel);
}

udpa_err
udpai_endpoint_set_acl(udpa_endpoint *endpoint, udpai_acl *acl)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->acl = udpai_acl_ref(acl);
    udpai_endpoint_order(endpoint, order);
    udpai_node_set_acl(endpoint->node, acl);
    if (endpoint->access)
        udpai_access_answers_set_acl(endpoint->access, acl);
    udpai_endpoint_touch(endpoint);
    return UDPA_OK;
}

void
udpai_endpoint_set_keyring(udpa_endpoint *endpoint, udpai_keyring *keyring)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_node_set_keyring(endpoint->node, keyring);
    udpai_endpoint_touch(endpoint);
}

/* Who asks gives up, if there is no memory for an answer. */
static void
answer_own_status(udpa_endpoint *endpoint, const udpai_report *report)
{
    udpai_order *answer = endpoint->own_taken && report->kind == UDPAI_REPORT_OWN_STATUS
                              ? udpai_local_acks_answer(endpoint->own_taken, report)
                              : NULL;
    if (answer)
        udpai_endpoint_order(endpoint, answer);
}

void
udpai_endpoint_take_report(udpa_endpoint *endpoint, udpai_report *report)
{
    if (endpoint->is_closing) {
        udpai_report_free(report);
        return;
    }
    if (udpai_load_upstreams_report(endpoint->load_upstreams, report) ||
        udpai_orca_collector_report(endpoint->collector, report))
        return;
    udpai_client_registry_report(endpoint->census, report);
    answer_own_status(endpoint, report);
    if (endpoint->status)
        udpai_own_status_report(endpoint->status, report);
    if (endpoint->questions)
        udpai_questions_report(endpoint->questions, report);
    if (endpoint->access)
        udpai_access_answers_report(endpoint->access, report);
    if (endpoint->origins)
        udpai_answers_report(endpoint->origins, report);
    udpai_node_report(endpoint->node, report);
}

/* While listeners are being made, those made before already have peers. The node is not asked what
 * it knows before it knows all that it has kept. */
static void
hold_or_take(udpa_endpoint *endpoint, udpai_report *report)
{
    if (!endpoint->is_started && !endpoint->is_closing)
        udpai_list_append(&endpoint->early, &report->node);
    else if (endpoint->is_closing || !udpai_inspection_hold(endpoint->inspection, report))
        udpai_endpoint_take_report(endpoint, report);
}

static void
take_pool_report(void *userdata, udpai_report *report)
{
    hold_or_take(userdata, report);
}

static void
take_reports(void *userdata, udpai_list *messages)
{
    udpa_endpoint *endpoint = userdata;
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_list *at;
    while ((at = udpai_list_pop(messages))) {
        udpai_report *report = UDPAI_LIST_ENTRY(at, udpai_report, node);
        if (endpoint->pool)
            udpai_worker_pool_report(endpoint->pool, 0, report);
        else
            hold_or_take(endpoint, report);
    }
    run(endpoint);
}

void
udpai_endpoint_take_worker_report(udpa_endpoint *endpoint, size_t worker, udpai_report *report)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_worker_pool_report(endpoint->pool, worker, report);
    udpai_endpoint_touch(endpoint);
}

/* ---- the end ---- */

static void
on_ending_closed(uv_handle_t *handle)
{
    udpa_endpoint *endpoint = UDPAI_CONTAINER_OF(handle, udpa_endpoint, ending);
    void (*closed)(void *userdata) = endpoint->closed;
    void *userdata = endpoint->closed_userdata;
    udpai_free(endpoint);
    if (closed)
        closed(userdata);
}

/* The handles closed before it have gone by now. */
static void
on_ending(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, on_ending_closed);
}

static void
free_reports(udpai_list *left)
{
    udpai_list *at;
    while ((at = udpai_list_pop(left)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
}

static void
free_events(const udpa_endpoint *endpoint, udpai_list *left)
{
    udpai_list *at;
    while ((at = udpai_list_pop(left))) {
        udpai_endpoint_event *event = UDPAI_LIST_ENTRY(at, udpai_endpoint_event, node);
        if (event != &endpoint->stopped)
            udpai_free(event);
    }
}

/* The stream thread has ended, or was never there. What was begun to be committed is committed. */
static void
tear_down(udpa_endpoint *endpoint)
{
    endpoint->is_closing = true;
    endpoint->streams = udpai_stream_thread_free(endpoint->streams);
    if (endpoint->engine)
        endpoint->engine->ops->close(endpoint->engine);
    udpai_publications_end(endpoint);
    udpai_subscriptions_free(endpoint);
    udpai_load_reporting_free(endpoint->load);
    udpai_states_free(endpoint->states);
    udpai_own_reports_free(endpoint->own_reports);
    udpai_local_demand_free(endpoint->wishes);
    udpai_own_status_free(endpoint->status);
    udpai_inspection_free(endpoint->inspection);
    udpai_questions_free(endpoint->questions);
    udpai_access_answers_free(endpoint->access);
    udpai_answers_free(endpoint->origins);
    udpai_check_planner_free(endpoint->checks);
    udpai_load_upstreams_free(endpoint->load_upstreams);
    udpai_load_sums_free(endpoint->load_sums);
    udpai_load_rules_free(endpoint->load_rules);
    udpai_client_registry_free(endpoint->census);
    udpai_orca_collector_free(endpoint->collector);
    udpai_orca_board_free(endpoint->orca);
    udpai_local_acks_free(endpoint->own_taken);
    endpoint->node = udpai_node_free(endpoint->node);
    endpoint->pool = udpai_worker_pool_free(endpoint->pool);
    udpai_free(UDPAI_TAKE(endpoint->worker_counts));
    endpoint->n_workers = 0;
    udpai_timer_cancel(&endpoint->soon);
    udpai_list left;
    udpai_list_init(&left);
    if (endpoint->reports)
        udpai_loop_inbox_close(endpoint->reports, &left);
    free_reports(&left);
    free_reports(&endpoint->early);
    if (endpoint->events)
        udpai_loop_inbox_close(endpoint->events, &left);
    free_events(endpoint, &left);
    if (endpoint->wheel)
        udpai_loop_wheel_close(endpoint->wheel);
    uv_timer_start(&endpoint->ending, on_ending, 0, 0);
}

/* What is being inspected is waited for: it has the report. */
static void
tear_down_if_idle(udpa_endpoint *endpoint)
{
    if (endpoint->is_stopped && !udpai_inspection_is_busy(endpoint->inspection))
        tear_down(endpoint);
}

void
udpai_endpoint_inspected(udpa_endpoint *endpoint)
{
    run(endpoint);
    tear_down_if_idle(endpoint);
}

void
udpa_endpoint_close(udpa_endpoint *endpoint, void (*closed)(void *userdata), void *userdata)
{
    endpoint->is_closing = true;
    endpoint->closed = closed;
    endpoint->closed_userdata = userdata;
    udpai_stream_thread_stop(endpoint->streams, "the endpoint is shutting down");
}

/* ---- what other threads say ---- */

static void
take_events(void *userdata, udpai_list *messages)
{
    udpa_endpoint *endpoint = userdata;
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_list *at;
    while ((at = udpai_list_pop(messages))) {
        udpai_endpoint_event *event = UDPAI_LIST_ENTRY(at, udpai_endpoint_event, node);
        if (event->is_stop) {
            endpoint->is_closing = endpoint->is_stopped = true;
            continue;
        }
        udpai_node_committed(endpoint->node, event->ticket, event->result);
        udpai_free(event);
    }
    run(endpoint);
    tear_down_if_idle(endpoint);
}

/* On the engine's thread. Without memory for the message the receipt is not sent, and the publisher
 * goes on waiting, which it must be able to. */
static void
on_committed(void *userdata, uint64_t ticket, udpa_err result)
{
    udpa_endpoint *endpoint = userdata;
    udpai_endpoint_event *event = udpai_alloc(sizeof(*event));
    if (!event)
        return;
    udpai_list_init(&event->node);
    event->ticket = ticket;
    event->result = result;
    udpai_loop_inbox_push(endpoint->events, &event->node);
}

/* On the stream thread. */
static void
on_report(void *userdata, udpai_report *report)
{
    udpai_loop_inbox_push(((udpa_endpoint *)userdata)->reports, &report->node);
}

/* On the stream thread. */
static void
on_stopped(void *userdata)
{
    udpa_endpoint *endpoint = userdata;
    udpai_loop_inbox_push(endpoint->events, &endpoint->stopped.node);
}

/* ---- what the node asks of its surroundings ---- */

static void
order(void *userdata, udpai_order *order)
{
    udpa_endpoint *endpoint = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        udpai_inspection_note_changes(endpoint->inspection, order->changes);
    udpai_endpoint_order(endpoint, order);
}

static void
order_own(void *userdata, udpai_order *order)
{
    udpai_stream_thread_order(((udpa_endpoint *)userdata)->streams, order);
}

static void
order_member(void *userdata, size_t member, const udpai_order *order)
{
    const udpa_endpoint *endpoint = userdata;
    endpoint->order_worker(endpoint->workers_userdata, member, order);
}

static void
commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    udpai_durable_engine *engine = ((udpa_endpoint *)userdata)->engine;
    engine->ops->commit(engine, batch, ticket);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return udpai_wall_us();
}

static uint64_t
clock_ms(void *userdata)
{
    (void)userdata;
    return udpai_monotonic_ms();
}

/* Spreads attempts to connect; nothing secret hangs on it. */
static uint64_t
random_number(void *userdata)
{
    udpa_endpoint *endpoint = userdata;
    uint64_t x = endpoint->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void
published(void *userdata,
          uint64_t ticket,
          const udpai_publication *publication,
          const udpa_error *error)
{
    udpai_publications_receipt(userdata, ticket, publication, error);
}

static void
wanted(void *userdata, udpai_str type_url, udpai_str text, bool is_wanted)
{
    udpa_endpoint *endpoint = userdata;
    udpai_load_sums_wanted(endpoint->load_sums, type_url, text, is_wanted);
    udpai_client_registry_wanted(endpoint->census, type_url, text, is_wanted);
    udpai_orca_collector_wanted(endpoint->collector, type_url, text, is_wanted);
    if (!endpoint->load_sums)
        udpai_local_demand_note(endpoint, type_url, text, is_wanted);
}

static void
audience_moved(void *userdata)
{
    udpai_load_reporting_moved(((const udpa_endpoint *)userdata)->load);
}

/* ---- the beginning ---- */

static udpa_err
make_loop_side(udpa_endpoint *endpoint,
               const udpai_endpoint_settings *settings,
               udpa_error **ret_error)
{
    udpa_err err = udpai_loop_wheel_new(&endpoint->wheel, endpoint->loop, run, endpoint, ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&endpoint->reports, endpoint->loop, take_reports, endpoint,
                                   ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&endpoint->events, endpoint->loop, take_events, endpoint,
                                   ret_error);
    endpoint->wishes = udpai_local_demand_new();
    endpoint->own_reports = udpai_own_reports_new(settings->node.id);
    if (err == UDPA_OK && (!endpoint->wishes || !endpoint->own_reports))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK)
        return err;
    const udpai_node_env env = {
        .order = order,
        .commit = settings->node.is_durable ? commit : NULL,
        .wall_us = wall_us,
        .random = random_number,
        .published = published,
        .wanted = wanted,
        .speaks_of = udpai_report_speaks_of,
        .audience_moved = audience_moved,
        .userdata = endpoint,
    };
    return udpai_node_new(&endpoint->node, udpai_loop_wheel_get(endpoint->wheel), &settings->node,
                          &env, ret_error);
}

static udpa_err
make_load_sums(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_load_sums_options options = {
        .node = endpoint->node,
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .node_id = settings->node.id,
        .interval_ms = settings->load_interval_ms,
        .wall_us = wall_us,
        .clock_ms = clock_ms,
    };
    const udpai_load_rules_options rules = {
        .node = endpoint->node,
        .otherwise = {settings->load_interval_ms, false},
        .reach = UDPAI_REACH_NOBODY, /* those are asked for while clients are */
    };
    udpa_err err = udpai_load_rules_new(&endpoint->load_rules, &rules);
    return err == UDPA_OK ? udpai_load_sums_new(&endpoint->load_sums, &options) : err;
}

static udpa_err
make_load_upstreams(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_load_upstreams_options options = {
        .node = endpoint->node,
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .node_id = settings->node.id,
        .servers = settings->load_upstreams,
        .n_servers = settings->n_load_upstreams,
        .backoff_base_ms = settings->node.timing.backoff_base_ms,
        .backoff_max_ms = settings->node.timing.backoff_max_ms,
        .order = order,
        .random = random_number,
        .userdata = endpoint,
    };
    return udpai_load_upstreams_new(&endpoint->load_upstreams, &options);
}

static udpa_err
make_planner(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_check_planner_options options = {
        .node = endpoint->node,
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .rules = settings->check_rules,
        .n_rules = settings->n_check_rules,
    };
    return settings->n_check_rules ? udpai_check_planner_new(&endpoint->checks, &options) : UDPA_OK;
}

static udpa_err
make_census(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_client_registry_options options = {
        .node = endpoint->node,
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .node_id = settings->node.id,
        .ttl_ms = settings->client_ttl_ms,
        .n_stream_sides = 1 + settings->n_workers,
        .order = order,
        .wall_us = wall_us,
        .userdata = endpoint,
    };
    return udpai_client_registry_new(&endpoint->census, &options);
}

static udpa_err
make_collector(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_orca_collector_options options = {
        .node = endpoint->node,
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .rules = settings->orca,
        .backoff_base_ms = settings->node.timing.backoff_base_ms,
        .backoff_max_ms = settings->node.timing.backoff_max_ms,
        .order = order,
        .random = random_number,
        .userdata = endpoint,
    };
    return udpai_orca_collector_new(&endpoint->collector, &options);
}

static udpa_err
make_stream_side(udpa_endpoint *endpoint,
                 const udpai_endpoint_settings *settings,
                 udpa_error **ret_error)
{
    const udpai_streams_env streams = {
        .report = on_report,
        .stopped = on_stopped,
        .userdata = endpoint,
        .session_step = settings->n_workers ? UDPAI_WORKER_POOL_STEP : 1,
    };
    const udpai_worker_pool_env pool = {
        .order = order_member,
        .order_own = order_own,
        .report = take_pool_report,
        .userdata = endpoint,
    };
    if (settings->n_workers) {
        endpoint->pool = udpai_worker_pool_new(1 + settings->n_workers, &pool);
        endpoint->worker_counts =
            udpai_alloc_array(settings->n_workers, sizeof(*endpoint->worker_counts));
        if (!endpoint->pool || !endpoint->worker_counts)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        endpoint->n_workers = settings->n_workers;
        endpoint->order_worker = settings->order_worker;
        endpoint->workers_userdata = settings->workers_userdata;
    }
    return udpai_endpoint_make_streams(&endpoint->streams, settings, &streams, ret_error);
}

udpa_err
udpai_endpoint_new(udpa_endpoint **ret_endpoint,
                   uv_loop_t *loop,
                   const udpai_endpoint_settings *settings,
                   udpa_error **ret_error)
{
    udpa_endpoint *endpoint = udpai_alloc(sizeof(*endpoint));
    if (!endpoint)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    endpoint->loop = loop;
    endpoint->stopped.is_stop = true;
    udpai_list_init(&endpoint->stopped.node);
    udpai_list_init(&endpoint->early);
    udpai_list_init(&endpoint->outlets);
    udpai_list_init(&endpoint->subscriptions);
    udpai_endpoint_turn_init(endpoint);
    uv_timer_init(loop, &endpoint->ending); /* cannot fail */
    if (getrandom(&endpoint->random, sizeof(endpoint->random), GRND_NONBLOCK) < 0)
        endpoint->random = (uint64_t)udpai_wall_us();
    udpa_err err = make_loop_side(endpoint, settings, ret_error);
    if (err == UDPA_OK && settings->serves_status)
        err = udpai_own_status_new(&endpoint->status, endpoint, settings);
    if (err == UDPA_OK && settings->load_interval_ms)
        err = make_load_sums(endpoint, settings);
    if (err == UDPA_OK && settings->client_ttl_ms)
        err = make_census(endpoint, settings);
    if (err == UDPA_OK)
        err = make_planner(endpoint, settings);
    if (err == UDPA_OK)
        err = make_load_upstreams(endpoint, settings);
    if (err == UDPA_OK)
        err = make_collector(endpoint, settings);
    if (err == UDPA_OK && settings->inspector.inspect)
        err = udpai_inspection_new(&endpoint->inspection, endpoint, &settings->inspector);
    if (err == UDPA_OK && settings->serves_status)
        err = udpai_questions_new(&endpoint->questions, endpoint);
    if (err == UDPA_OK && settings->serves_status)
        err = udpai_access_answers_new(&endpoint->access, endpoint, settings->node.acl);
    if (err == UDPA_OK && settings->serves_status)
        err = udpai_origin_answers_new(&endpoint->origins, endpoint);
    if (err == UDPA_OK)
        err = make_stream_side(endpoint, settings, ret_error);
    if (err != UDPA_OK) {
        tear_down(endpoint);
        return udpai_fail_code(ret_error, err);
    }
    *ret_endpoint = endpoint;
    return UDPA_OK;
}

static udpa_err
restore(void *userdata, const udpai_durable_op *op)
{
    return udpai_node_restore(((udpa_endpoint *)userdata)->node, op);
}

bool
udpai_endpoint_hand_on(udpa_endpoint *endpoint)
{
    bool any = endpoint && !endpoint->is_closing && udpai_load_sums_hand_on(endpoint->load_sums);
    if (any)
        udpai_endpoint_touch(endpoint);
    return any;
}

udpa_err
udpai_endpoint_keep_load(udpa_endpoint *endpoint, const char *path, udpai_str owner)
{
    return endpoint->load_sums ? udpai_load_sums_keep(endpoint->load_sums, path, owner) : UDPA_OK;
}

udpa_err
udpai_endpoint_attach(udpa_endpoint *endpoint, udpai_durable_engine *engine, udpa_error **ret_error)
{
    engine->done = on_committed;
    engine->userdata = endpoint;
    endpoint->engine = engine;
    udpai_loop_wheel_advance(endpoint->wheel);
    return engine->ops->load(engine, restore, endpoint, ret_error);
}

void
udpai_endpoint_start(udpa_endpoint *endpoint)
{
    udpai_node_start(endpoint->node);
    udpai_load_upstreams_start(endpoint->load_upstreams);
    endpoint->is_started = true;
    udpai_list *at;
    while ((at = udpai_list_pop(&endpoint->early)))
        hold_or_take(endpoint, UDPAI_LIST_ENTRY(at, udpai_report, node));
    udpai_endpoint_touch(endpoint);
}
