/* SPDX-License-Identifier: Apache-2.0 */
/* How an endpoint runs: what other threads send, one turn of the loop, and in which order
 * everything ends. It knows its services by their table alone; their view of it is here, too. */
#include "base/alloc.h"
#include "endpoint/endpoint_internal.h"
#include "federation/node_metrics.h"
#include "loop/clock.h"
#include "model/client_type.h"

/* ---- what services know ---- */

udpai_node *
udpai_endpoint_node(const udpa_endpoint *endpoint)
{
    return endpoint->node;
}

udpai_stream_thread *
udpai_endpoint_streams(const udpa_endpoint *endpoint)
{
    return udpai_stream_sides_own(endpoint->sides);
}

udpai_wheel *
udpai_endpoint_wheel(const udpa_endpoint *endpoint)
{
    return udpai_loop_wheel_get(endpoint->wheel);
}

void
udpai_endpoint_advance(udpa_endpoint *endpoint)
{
    udpai_loop_wheel_advance(endpoint->wheel);
}

uv_loop_t *
udpai_endpoint_loop(const udpa_endpoint *endpoint)
{
    return endpoint->loop;
}

bool
udpai_endpoint_is_closing(const udpa_endpoint *endpoint)
{
    return endpoint->is_closing;
}

static void
on_soon(udpai_timer *timer)
{
    (void)timer; /* what there is to do is done after every tick of the wheel */
}

void
udpai_endpoint_touch(udpa_endpoint *endpoint)
{
    udpai_wheel *wheel = udpai_loop_wheel_get(endpoint->wheel);
    if (!udpai_timer_is_set(&endpoint->soon))
        udpai_timer_set(wheel, &endpoint->soon, wheel->now_ms);
    udpai_loop_wheel_arm(endpoint->wheel);
}

void
udpai_endpoint_order(udpa_endpoint *endpoint, udpai_order *order)
{
    udpai_stream_sides_order(endpoint->sides, order);
}

uint64_t
udpai_endpoint_random(udpa_endpoint *endpoint)
{
    uint64_t x = endpoint->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

udpai_stream_counts
udpai_endpoint_stream_counts(const udpa_endpoint *endpoint)
{
    return udpai_stream_sides_counts(endpoint->sides);
}

udpai_service *
udpai_endpoint_service(const udpa_endpoint *endpoint, udpai_service_place place)
{
    return endpoint->services.at[place];
}

void
udpai_endpoint_put_service(udpa_endpoint *endpoint,
                           udpai_service_place place,
                           udpai_service *service)
{
    endpoint->services.at[place] = service;
}

/* ---- one turn of the loop ---- */

static void
run(void *userdata)
{
    udpa_endpoint *endpoint = userdata;
    if (endpoint->is_closing)
        return;
    udpai_services_run(&endpoint->services);
    udpai_node_flush(endpoint->node);
    udpai_loop_wheel_arm(endpoint->wheel);
}

/* ---- reports ---- */

void
udpai_endpoint_resume_report(udpa_endpoint *endpoint,
                             udpai_service_place place,
                             udpai_report *report)
{
    if (endpoint->is_closing)
        udpai_report_free(report);
    else if (!udpai_services_report(&endpoint->services, place, report))
        udpai_node_report(endpoint->node, report);
}

/* By the process that takes the place of this one: the stream ends without a receipt. What clients
 * have reported until now is still added up. */
static bool
must_be_published_again(const udpai_report *report)
{
    const udpai_publication *publication = report->publication;
    if (report->kind != UDPAI_REPORT_PUBLICATION || !publication)
        return false;
    for (size_t i = 0; i < publication->entries.n; i++)
        if (!udpai_type_is_client(udpai_resource_type_url(publication->entries.items[i].resource)))
            return true;
    return publication->entries.n == 0;
}

/* While listeners are being made, those made before already have peers. The node is not asked what
 * it knows before it knows all that it has kept. */
static void
hold_or_take(void *userdata, udpai_report *report)
{
    udpa_endpoint *endpoint = userdata;
    bool is_held = (!endpoint->is_started || endpoint->is_paused) && !endpoint->is_closing;
    if (endpoint->is_leaving && must_be_published_again(report))
        udpai_report_free(report);
    else if (is_held)
        udpai_list_append(&endpoint->early, &report->node);
    else
        udpai_endpoint_resume_report(endpoint, 0, report);
}

static void
take_reports(void *userdata, udpai_list *messages)
{
    udpa_endpoint *endpoint = userdata;
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_list *at;
    while ((at = udpai_list_pop(messages)))
        udpai_stream_sides_report(endpoint->sides, 0, UDPAI_LIST_ENTRY(at, udpai_report, node));
    run(endpoint);
}

void
udpai_endpoint_take_worker_report(udpa_endpoint *endpoint, size_t worker, udpai_report *report)
{
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_stream_sides_report(endpoint->sides, worker, report);
    udpai_endpoint_touch(endpoint);
}

void
udpai_endpoint_take_worker_counts(udpa_endpoint *endpoint,
                                  size_t worker,
                                  const udpai_stream_counts *counts)
{
    udpai_stream_sides_set_counts(endpoint->sides, worker, counts);
}

static void
take_held(udpa_endpoint *endpoint)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&endpoint->early)))
        hold_or_take(endpoint, UDPAI_LIST_ENTRY(at, udpai_report, node));
    udpai_endpoint_touch(endpoint);
}

void
udpai_endpoint_turn_start(udpa_endpoint *endpoint)
{
    endpoint->is_started = true;
    take_held(endpoint);
}

void
udpai_endpoint_pause(udpa_endpoint *endpoint, bool is_paused)
{
    endpoint->is_paused = is_paused;
    udpai_loop_wheel_advance(endpoint->wheel);
    if (!is_paused)
        take_held(endpoint);
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

/* The handles closed before it are freed by now. */
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
free_replicated(udpai_list *left)
{
    udpai_list *at;
    while ((at = udpai_list_pop(left)))
        udpai_replicated_free(UDPAI_LIST_ENTRY(at, udpai_replicated, node));
}

static void
free_batches(udpai_list *left)
{
    udpai_list *at;
    while ((at = udpai_list_pop(left)))
        udpai_durable_batch_free(UDPAI_LIST_ENTRY(at, udpai_durable_batch, node));
}

void
udpai_endpoint_tear_down(udpa_endpoint *endpoint)
{
    endpoint->is_closing = true;
    udpai_stream_sides_join(endpoint->sides);
    if (endpoint->replication)
        endpoint->replication->ops->close(endpoint->replication);
    if (endpoint->engine)
        endpoint->engine->ops->close(endpoint->engine);
    udpai_services_end(&endpoint->services);
    udpai_services_free(&endpoint->services);
    endpoint->node = udpai_node_free(endpoint->node);
    endpoint->notes = udpai_node_events_free(endpoint->notes);
    udpai_vector_done(&endpoint->proposed);
    endpoint->sides = udpai_stream_sides_free(endpoint->sides);
    udpai_timer_cancel(&endpoint->soon);
    udpai_list left;
    udpai_list_init(&left);
    if (endpoint->reports)
        udpai_loop_inbox_close(endpoint->reports, &left);
    free_reports(&left);
    free_reports(&endpoint->early);
    if (endpoint->commits)
        udpai_loop_inbox_close(endpoint->commits, &left);
    free_batches(&left);
    if (endpoint->replicated)
        udpai_loop_inbox_close(endpoint->replicated, &left);
    free_replicated(&left);
    if (endpoint->stops)
        udpai_loop_inbox_close(endpoint->stops, &left);
    if (endpoint->wheel)
        udpai_loop_wheel_close(endpoint->wheel);
    uv_timer_start(&endpoint->ending, on_ending, 0, 0);
}

/* What a service has on another thread is waited for. */
static void
tear_down_if_idle(udpa_endpoint *endpoint)
{
    if (endpoint->is_stopped && !udpai_services_are_busy(&endpoint->services))
        udpai_endpoint_tear_down(endpoint);
}

void
udpai_endpoint_resume(udpa_endpoint *endpoint)
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
    udpai_stream_thread_stop(udpai_endpoint_streams(endpoint), "the endpoint is shutting down");
}

/* ---- what other threads send ---- */

static void
take_commits(void *userdata, udpai_list *batches)
{
    udpa_endpoint *endpoint = userdata;
    udpai_meter *commits = udpai_meters_get(udpai_node_meters(endpoint->node),
                                            UDPAI_METRIC_STORE_COMMIT_TIME, (udpai_str){0});
    uint64_t now_ns = udpai_monotonic_ns();
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_list *at;
    while ((at = udpai_list_pop(batches))) {
        udpai_durable_batch *batch = UDPAI_LIST_ENTRY(at, udpai_durable_batch, node);
        udpai_meter_observe(commits, (now_ns - batch->begun_ns) / 1000);
        if (endpoint->tap.ended)
            endpoint->tap.ended(endpoint->tap.userdata, batch->ticket, batch->result);
        udpai_node_committed(endpoint->node, batch->ticket, batch->result);
        udpai_durable_batch_free(batch);
    }
    run(endpoint);
    tear_down_if_idle(endpoint);
}

/* On the engine's thread. */
void
udpai_endpoint_committed(void *userdata, udpai_durable_batch *batch)
{
    udpai_loop_inbox_push(((udpa_endpoint *)userdata)->commits, &batch->node);
}

bool
udpai_endpoint_is_ready(const udpa_endpoint *endpoint, const udpa_error **ret_why)
{
    const udpai_replica_status *status = udpai_node_replica_status(endpoint->node);
    *ret_why = status ? status->locked : NULL;
    return !*ret_why;
}

/* Without memory with the next event. */
static void
follow_readiness(udpa_endpoint *endpoint)
{
    const udpa_error *why;
    bool is_ready = udpai_endpoint_is_ready(endpoint, &why) && !endpoint->is_held_back;
    if (endpoint->is_not_serving == !is_ready || endpoint->is_closing ||
        !udpai_stream_sides_set_serving(endpoint->sides, is_ready))
        return;
    endpoint->is_not_serving = !is_ready;
}

void
udpai_endpoint_hold_back(udpa_endpoint *endpoint, bool is_held_back)
{
    endpoint->is_held_back = is_held_back;
    follow_readiness(endpoint);
}

static void
note_outcome(udpa_endpoint *endpoint, const udpai_replicated *event)
{
    if (event->kind != UDPAI_REPLICATED_OUTCOME)
        return;
    for (size_t i = 0; i < endpoint->proposed.n; i++) {
        const udpai_proposed one = endpoint->proposed.items[i];
        if (one.ticket != event->ticket)
            continue;
        endpoint->proposed.items[i] = endpoint->proposed.items[--endpoint->proposed.n];
        if (event->outcome == UDPAI_REPLICATED_COMMITTED)
            udpai_meter_observe(udpai_meters_get(udpai_node_meters(endpoint->node),
                                                 UDPAI_METRIC_STORE_COMMIT_TIME, (udpai_str){0}),
                                (udpai_monotonic_ns() - one.since_ns) / 1000);
        return;
    }
}

static void
take_replicated(void *userdata, udpai_list *events)
{
    udpa_endpoint *endpoint = userdata;
    udpai_loop_wheel_advance(endpoint->wheel);
    udpai_list *at;
    while ((at = udpai_list_pop(events))) {
        udpai_replicated *event = UDPAI_LIST_ENTRY(at, udpai_replicated, node);
        note_outcome(endpoint, event);
        udpai_node_replicated(endpoint->node, event);
    }
    if (endpoint->is_started)
        run(endpoint);
    else
        udpai_node_apply_replicated(endpoint->node);
    follow_readiness(endpoint);
    tear_down_if_idle(endpoint);
}

/* On a thread of the replication. */
void
udpai_endpoint_replicated(void *userdata, udpai_replicated *event)
{
    udpai_loop_inbox_push(((udpa_endpoint *)userdata)->replicated, &event->node);
}

static void
take_stop(void *userdata, udpai_list *stops)
{
    udpa_endpoint *endpoint = userdata;
    (void)udpai_list_pop(stops);
    udpai_loop_wheel_advance(endpoint->wheel);
    endpoint->is_closing = endpoint->is_stopped = true;
    run(endpoint);
    tear_down_if_idle(endpoint);
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
    udpai_loop_inbox_push(endpoint->stops, &endpoint->stop);
}

/* ---- the beginning ---- */

udpa_err
udpai_endpoint_turn_init(udpa_endpoint *endpoint, udpa_error **ret_error)
{
    uv_loop_t *loop = endpoint->loop;
    udpai_list_init(&endpoint->stop);
    udpai_list_init(&endpoint->early);
    udpai_timer_init(&endpoint->soon, on_soon);
    uv_timer_init(loop, &endpoint->ending); /* cannot fail */
    udpa_err err = udpai_loop_wheel_new(&endpoint->wheel, loop, run, endpoint, ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&endpoint->reports, loop, take_reports, endpoint, ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&endpoint->commits, loop, take_commits, endpoint, ret_error);
    if (err == UDPA_OK)
        err =
            udpai_loop_inbox_new(&endpoint->replicated, loop, take_replicated, endpoint, ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&endpoint->stops, loop, take_stop, endpoint, ret_error);
    return err;
}

udpa_err
udpai_endpoint_turn_streams(udpa_endpoint *endpoint,
                            const udpai_endpoint_settings *settings,
                            udpa_error **ret_error)
{
    const udpai_stream_sides_env env = {
        .report = on_report,
        .stopped = on_stopped,
        .take = hold_or_take,
        .userdata = endpoint,
    };
    return udpai_stream_sides_new(&endpoint->sides, settings, &env, ret_error);
}

udpa_err
udpai_endpoint_note_interest(udpa_endpoint *endpoint,
                             const udpai_selection *selection,
                             bool is_subscribed)
{
    const udpai_str nothing = {0};
    const udpai_subscription_message message = {
        .type_url = selection->type_url,
        .name_space = selection->prefix,
        .names = selection->n_names ? selection->names : &nothing,
        .n_names = 1,
    };
    UDPA_AUTO(udpai_report_free) udpai_report *report = udpai_report_new(UDPAI_REPORT_INTEREST);
    if (report)
        report->subscription = udpai_subscription_message_copy(&message);
    if (!report || !report->subscription)
        return UDPA_ERR_NOMEM;
    report->subscribed = is_subscribed;
    (void)udpai_services_report(&endpoint->services, 0, report);
    udpai_endpoint_touch(endpoint);
    return UDPA_OK;
}
