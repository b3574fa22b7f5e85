/* SPDX-License-Identifier: Apache-2.0 */
#include "session/hub.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/log.h"
#include "session/acknowledgement.h"
#include "session/hub_internal.h"

#define RETRY_MS 100 /* after lack of memory */

static udpai_str
session_key(const void *item)
{
    const udpai_session *session = item;
    return (udpai_str){(const char *)&session->id, sizeof(session->id)};
}

static udpai_str
side_link_key(const void *item)
{
    const udpai_side_link *link = item;
    return (udpai_str){(const char *)&link->link, sizeof(link->link)};
}

static void
on_interest(void *userdata, const udpai_interest_of *of)
{
    udpai_hub *hub = userdata;
    udpai_report *report =
        udpai_report_new(of->is_again ? UDPAI_REPORT_PASSED_ON : UDPAI_REPORT_INTEREST);
    const udpai_subscription_message message = {
        .type_url = of->type_url,
        .name_space = of->prefix,
        .names = &of->name,
        .n_names = 1,
        .distance = of->by_nodes,
    };
    if (report)
        report->subscription = udpai_subscription_message_copy(&message);
    if (!report || !report->subscription) {
        udpai_log(UDPA_LOG_ERROR, "session", "out of memory: a subscription is not forwarded");
        udpai_report_free(report);
        return;
    }
    report->subscribed = of->subscribed;
    udpai_hub_report(hub, report);
}

static void
report_mark(void *userdata, udpai_report *report)
{
    udpai_hub_report(userdata, report);
}

static void on_retry(udpai_timer *timer);
static void on_barrier_end(udpai_timer *timer);

static void
find_memory_meters(udpai_hub *hub)
{
    udpai_metric metric = UDPAI_METRIC_MEMORY;
    hub->fanout_memory = udpai_meters_get(hub->meters, metric, UDPAI_STR("fanout"));
    hub->responses_memory = udpai_meters_get(hub->meters, metric, UDPAI_STR("responses"));
    hub->sessions_memory = udpai_meters_get(hub->meters, metric, UDPAI_STR("sessions"));
}

udpa_err
udpai_hub_new(udpai_hub **ret_hub,
              udpai_wheel *wheel,
              const udpai_hub_options *options,
              const udpai_hub_env *env)
{
    udpai_hub *hub = udpai_alloc(sizeof(*hub));
    if (!hub)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_fanout_new(&hub->fanout, wheel, &options->fanout);
    if (err == UDPA_OK)
        err = udpai_meters_new(&hub->meters);
    if (err != UDPA_OK) {
        udpai_fanout_free(hub->fanout);
        udpai_free(hub);
        return err;
    }
    udpai_traffic_table_init(&hub->traffic, hub->meters);
    hub->wheel = wheel;
    hub->options = *options;
    hub->env = *env;
    hub->last_id = options->first_session;
    udpai_node_info_ref(hub->options.info);
    udpai_decoder_init(&hub->decoder);
    find_memory_meters(hub);
    udpai_map_init_in(&hub->sessions, session_key, &hub->memory);
    hub->last_side_link = UDPAI_SIDE_LINKS;
    udpai_map_init(&hub->side_links, side_link_key);
    udpai_list_init(&hub->ready);
    udpai_stream_barrier_init(&hub->barrier, wheel);
    udpai_timer_init(&hub->barrier.end, on_barrier_end);
    hub->marks = (udpai_marks){.fanout = hub->fanout, .wheel = wheel, .report = report_mark};
    hub->marks.userdata = hub;
    udpai_list_init(&hub->marks.open);
    udpai_debts_init(&hub->debts, wheel, hub->meters);
    udpai_list_init(&hub->late);
    udpai_timer_init(&hub->retry, on_retry);
    udpai_fanout_set_meters(hub->fanout, hub->meters);
    udpai_fanout_set_debounce(hub->fanout, options->debounce);
    if (options->is_worker) /* the node has the store */
        udpai_fanout_own_resources(hub->fanout);
    udpai_fanout_set_interest(hub->fanout, on_interest, hub);
    udpai_access_init(&hub->access, options->acl);
    udpai_event_forwarder_init(&hub->forwarder, hub);
    udpai_client_log_init(&hub->client_log, wheel);
    udpai_access_withhold(&hub->access, options);
    udpai_fanout_set_may_see(hub->fanout, udpai_access_may_see, &hub->access);
    err = udpai_own_events_init(&hub->own_events, hub);
    if (err == UDPA_OK && options->watcher)
        err = options->watcher->begin(&hub->watcher, hub);
    if (err != UDPA_OK) {
        udpai_hub_free(hub);
        return err;
    }
    *ret_hub = hub;
    return UDPA_OK;
}

udpai_hub *
udpai_hub_free(udpai_hub *hub)
{
    if (!hub)
        return NULL;
    udpai_list *node;
    if (hub->watcher)
        hub->options.watcher->free(hub->watcher);
    while ((node = udpai_list_pop(&hub->late)))
        udpai_order_free(UDPAI_LIST_ENTRY(node, udpai_order, node));
    udpai_timer_cancel(&hub->retry);
    udpai_timer_cancel(&hub->barrier.end);
    udpai_marks_done(&hub->marks);
    udpai_recent_traces_done(&hub->traces);
    udpai_debts_done(&hub->debts);
    udpai_map_done(&hub->sessions);
    assert(hub->memory.bytes == 0);
    udpai_map_done(&hub->side_links);
    udpai_own_events_done(&hub->own_events);
    udpai_event_forwarder_done(&hub->forwarder);
    udpai_client_log_done(&hub->client_log);
    udpai_fanout_free(hub->fanout);
    udpai_access_done(&hub->access);
    udpai_introduction_done(&hub->introduction);
    udpai_decoder_done(&hub->decoder);
    udpai_node_info_unref(hub->options.info);
    udpai_traffic_table_done(&hub->traffic);
    udpai_meters_free(hub->meters);
    udpai_free(hub);
    return NULL;
}

/* ---- the mirror ---- */

static void
note_traces(udpai_hub *hub, const udpai_order *order)
{
    for (size_t i = 0; i < order->marks.n; i++) {
        const udpai_change_mark *mark = &order->marks.items[i];
        const udpai_change *change = udpai_change_set_at(order->changes, mark->change);
        const udpai_recent_trace added = {
            .trace = mark->trace,
            .resource = change->resource,
            .is_removal = change->kind == UDPAI_CHANGE_REMOVE,
            .since_ms = hub->wheel->now_ms,
        };
        if (udpai_trace_is_set(&mark->trace))
            udpai_recent_traces_add(&hub->traces, &added);
    }
}

static udpa_err
follow(udpai_hub *hub, udpai_order *order)
{
    if (order->kind == UDPAI_ORDER_SETTLED) {
        udpai_fanout_set_settled(hub->fanout, UDPAI_TAKE(order->settled));
        udpai_hub_report(hub, UDPAI_TAKE(order->answer));
        return UDPA_OK;
    }
    udpa_err err = udpai_fanout_apply(hub->fanout, order->changes, &order->place);
    if (err == UDPA_OK) {
        udpai_hub_report(hub, UDPAI_TAKE(order->answer));
        udpai_marks_begin(&hub->marks, order, hub->last_id);
        note_traces(hub, order);
    }
    return err;
}

/* The loop side does not repeat an order, so nothing is given up; and no session is served from
 * half a change set. Those that are ended make room. */
static void
fall_behind(udpai_hub *hub)
{
    if (!udpai_timer_is_set(&hub->retry))
        udpai_log(UDPA_LOG_ERROR, "session",
                  "out of memory: changes cannot be applied; all streams are ended, and new ones "
                  "rejected, until they can: give the node more memory, or less to hold");
    udpai_timer_set(hub->wheel, &hub->retry, hub->wheel->now_ms + RETRY_MS);
    udpai_hub_finish_all(hub, UDPA_ERR_NOMEM, "the node is out of memory");
}

static void
catch_up(udpai_hub *hub)
{
    while (!udpai_list_empty(&hub->late)) {
        udpai_order *order = UDPAI_LIST_ENTRY(hub->late.next, udpai_order, node);
        if (follow(hub, order) != UDPA_OK) {
            fall_behind(hub);
            return;
        }
        udpai_list_remove(&order->node);
        udpai_order_free(order);
    }
    udpai_timer_cancel(&hub->retry);
}

static void
on_retry(udpai_timer *timer)
{
    catch_up(UDPAI_CONTAINER_OF(timer, udpai_hub, retry));
}

/* One with what is settled is void by the next, unless changes lie between them: so the loop side,
 * which waits for changes to be applied, has at most as many here as it may be ahead, twice. */
static void
drop_superseded(udpai_hub *hub, const udpai_order *order)
{
    if (udpai_list_empty(&hub->late) || order->kind != UDPAI_ORDER_SETTLED)
        return;
    udpai_order *last = UDPAI_LIST_ENTRY(hub->late.prev, udpai_order, node);
    if (last->kind != UDPAI_ORDER_SETTLED)
        return;
    udpai_list_remove(&last->node);
    udpai_hub_report(hub, UDPAI_TAKE(last->answer));
    udpai_order_free(last);
}

/* Takes over the order. */
static void
change_mirror(udpai_hub *hub, udpai_order *order)
{
    drop_superseded(hub, order);
    udpai_list_append(&hub->late, &order->node);
    catch_up(hub);
}

/* ---- orders ---- */

static void
end_barrier(udpai_hub *hub, uint64_t ticket)
{
    udpai_session *session;
    while ((session = udpai_stream_barrier_next(&hub->barrier, ticket)))
        udpai_session_ready(session);
}

/* Not those that have begun since it was set: time may have jumped, when the process was stopped.
 */
static void
on_barrier_end(udpai_timer *timer)
{
    udpai_hub *hub = UDPAI_CONTAINER_OF(timer, udpai_hub, barrier.end);
    end_barrier(hub, hub->barrier.ends);
    udpai_stream_barrier_ended(&hub->barrier);
}

/* The client must not wait for ever, nor take the next answer for this one: what could not be
 * described is left out. */
static void
describe_all(udpai_hub *hub, udpai_order *order)
{
    udpai_report *report = UDPAI_TAKE(order->answer);
    report->ticket = order->ticket;
    size_t at = 0;
    const udpai_session *session;
    while ((session = udpai_map_next(&hub->sessions, &at))) {
        udpa_bytes *status = session->ops->describe(session);
        if (status && !udpai_vector_push(&report->statuses, status))
            udpa_bytes_unref(status);
    }
    udpai_hub_report(hub, report);
}

/* The answers are in the order of the questions; NULL: there is none. Without memory for a list
 * there is none to any, and they are asked again. */
static void
answer_questions(udpai_hub *hub, udpai_order *order)
{
    const udpai_subscription_message *questions = order->subscription;
    udpai_report *report = UDPAI_TAKE(order->answer);
    bool has_room = udpai_vector_reserve(&report->statuses, questions->n_names);
    for (size_t i = 0; has_room && i < questions->n_names; i++)
        report->statuses.items[report->statuses.n++] =
            udpai_acknowledgement_describe(hub, questions->names[i]);
    report->subscription = UDPAI_TAKE(order->subscription);
    udpai_hub_report(hub, report);
}

static void
hang_up(udpai_hub *hub, udpai_order *order)
{
    udpai_session *session = udpai_hub_find_session(hub, order->session);
    if (session)
        udpai_session_finish(session, UDPAI_TAKE(order->error));
    else if (order->link)
        hub->env.stop_dialling(hub->env.userdata, order->link);
}

/* An order for a session that has ended meanwhile is of no use; its end was reported. */
static void
pass_on(udpai_hub *hub, udpai_order *order)
{
    udpai_session *session = udpai_hub_find_session(hub, order->session);
    if (session && !session->is_finishing)
        session->ops->order(session, order);
}

/* The sender does not know which session has the ticket. */
static void
pass_on_to_all(udpai_hub *hub, udpai_order *order)
{
    size_t at = 0;
    udpai_session *session;
    while ((session = udpai_map_next(&hub->sessions, &at)))
        if (!session->is_finishing)
            session->ops->order(session, order);
}

void
udpai_hub_order(udpai_hub *hub, udpai_order *order)
{
    udpai_introduction_note(&hub->introduction, order);
    switch (order->kind) {
    case UDPAI_ORDER_CHANGES:
    case UDPAI_ORDER_SETTLED:
        change_mirror(hub, order);
        return;
    case UDPAI_ORDER_DIAL:
        hub->env.dial(hub->env.userdata, order);
        return; /* the order is the transport's now */
    case UDPAI_ORDER_HANG_UP:
        hang_up(hub, order);
        break;
    case UDPAI_ORDER_BARRIER:
        end_barrier(hub, order->ticket);
        break;
    case UDPAI_ORDER_ACL:
        udpai_access_replace(&hub->access, order->acl);
        pass_on_to_all(hub, order);
        break;
    case UDPAI_ORDER_FORGET:
    case UDPAI_ORDER_EPOCH:
    case UDPAI_ORDER_COMMIT:
    case UDPAI_ORDER_TWINS:
        pass_on_to_all(hub, order);
        break;
    case UDPAI_ORDER_SPREAD:
        if (hub->env.spread)
            hub->env.spread(hub->env.userdata, order);
        break;
    case UDPAI_ORDER_DRAIN:
        hub->is_draining = true;
        pass_on_to_all(hub, order);
        if (hub->env.drain)
            hub->env.drain(hub->env.userdata, order->ticket);
        break;
    case UDPAI_ORDER_LEAVE:
        if (hub->env.leave)
            hub->env.leave(hub->env.userdata, order->ticket != 0);
        break;
    case UDPAI_ORDER_STATUS:
        describe_all(hub, order);
        break;
    case UDPAI_ORDER_ACKNOWLEDGEMENTS:
        answer_questions(hub, order);
        break;
    case UDPAI_ORDER_CENSUS:
        if (hub->watcher)
            hub->options.watcher->order(hub->watcher, order);
        break;
    case UDPAI_ORDER_EVENTS:
        if (order->session == 0)
            udpai_own_events_take(&hub->own_events, order);
        else
            udpai_event_forwarder_take(&hub->forwarder, order);
        break;
    case UDPAI_ORDER_EVENTS_TAKEN:
        udpai_event_forwarder_taken(&hub->forwarder, order);
        break;
    case UDPAI_ORDER_EVENTS_DEMAND:
        udpai_event_forwarder_demand(&hub->forwarder, order);
        break;
    default:
        pass_on(hub, order);
        break;
    }
    udpai_order_free(order);
}

/* ---- on the stream side's own account ---- */

udpa_err
udpai_hub_dial(udpai_hub *hub,
               udpai_side_link *link,
               void *target,
               void (*release_target)(void *target))
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    link->link = ++hub->last_side_link;
    if (!order || !udpai_map_add(&hub->side_links, link)) {
        udpai_order_free(order);
        release_target(target);
        return UDPA_ERR_NOMEM;
    }
    order->link = link->link;
    order->target = target;
    order->release_target = release_target;
    hub->env.dial(hub->env.userdata, order);
    return UDPA_OK;
}

udpai_side_link *
udpai_hub_take_link(udpai_hub *hub, uint64_t link)
{
    return udpai_map_remove(&hub->side_links, (udpai_str){(const char *)&link, sizeof(link)});
}

void
udpai_hub_not_opened(udpai_hub *hub, uint64_t link, const udpa_error *why)
{
    udpai_side_link *found = udpai_hub_take_link(hub, link);
    if (found)
        found->not_opened(found, why);
}

/* ---- sessions ---- */

static void
finish_revoked(udpai_session *session)
{
    udpai_session_finish(session, udpa_error_new(UDPA_ERR_DENIED, NULL,
                                                 "the rules of this node have changed, and none "
                                                 "is for this peer any more"));
}

static void
on_patience_end(udpai_timer *timer)
{
    finish_revoked(UDPAI_CONTAINER_OF(timer, udpai_session, patience));
}

static void
count_open(udpai_session *session)
{
    udpai_str protocol = udpai_str_from(session->ops->name);
    udpai_meters *meters = session->hub->meters;
    session->open = udpai_meters_get(meters, UDPAI_METRIC_SESSIONS, protocol);
    udpai_meter_add(session->open, 1);
    udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_SESSIONS_OPENED, protocol), 1);
}

udpa_err
udpai_session_init(udpai_session *session,
                   udpai_hub *hub,
                   const udpai_session_ops *ops,
                   const udpai_stream_info *info)
{
    if (!udpai_list_empty(&hub->late))
        return UDPA_ERR_NOMEM;
    session->hub = hub;
    session->ops = ops;
    session->info = *info;
    session->id = hub->last_id += hub->options.session_step ? hub->options.session_step : 1;
    session->since_us = hub->env.wall_us(hub->env.userdata);
    udpai_list_init(&session->in_ready);
    udpai_list_init(&session->in_barrier);
    udpai_timer_init(&session->patience, on_patience_end);
    if (!udpai_map_add(&hub->sessions, session))
        return UDPA_ERR_NOMEM;
    udpai_identity_ref(session->info.identity);
    udpa_bytes_ref(session->info.address);
    count_open(session);
    udpai_memory_add(&hub->memory, ops->size);
    if (hub->options.has_barriers && !info->is_source &&
        udpai_stream_barrier_add(&hub->barrier, session) && hub->env.wake)
        hub->env.wake(hub->env.userdata);
    return UDPA_OK;
}

udpa_err
udpai_session_init_subscriber(udpai_session *session,
                              udpai_subscriber *subscriber,
                              const udpai_subscriber_ops *ops,
                              const udpai_renderer *renderer)
{
    const udpai_stream_info *info = &session->info;
    udpai_str address = info->address ? udpai_bytes_view(info->address) : (udpai_str){0};
    udpai_subscriber_init(subscriber, session->hub->fanout, ops, renderer);
    subscriber->userdata = session;
    return udpai_subscriber_set_owner(subscriber, udpai_peer_counts_as(info->identity, address));
}

void
udpai_session_ready(udpai_session *session)
{
    if (session->is_writing || session->is_finishing || udpai_list_linked(&session->in_ready) ||
        udpai_list_linked(&session->in_barrier))
        return;
    udpai_hub *hub = session->hub;
    bool was_idle = udpai_list_empty(&hub->ready);
    udpai_list_append(&hub->ready, &session->in_ready);
    if (was_idle && hub->env.wake)
        hub->env.wake(hub->env.userdata);
}

/* Whatever this node ends a stream for is seen here. */
static void
note_end(const udpai_session *session, const udpa_error *status)
{
    udpa_err code = status ? udpa_error_code(status) : UDPA_OK;
    udpai_str address =
        session->info.address ? udpai_bytes_view(session->info.address) : (udpai_str){0};
    const udpai_log_field about[] = {
        {UDPAI_LOG_IDENTITY, udpai_identity_name(session->info.identity)},
        {UDPAI_LOG_ADDRESS, address},
        {UDPAI_LOG_CODE, udpai_log_code(status)},
    };
    if (session->is_cut_off || session->is_revoked)
        udpai_hub_note(session->hub, UDPAI_NOTE_REVOKED, UDPA_LOG_WARNING, about,
                       UDPAI_ARRAY_LEN(about), "a stream of %.*s is cut off: %s",
                       UDPAI_SHOWN(address), status ? udpa_error_message(status) : "revoked");
    else if (code == UDPA_ERR_LIMIT)
        udpai_hub_note(session->hub, UDPAI_NOTE_LIMIT_REACHED, UDPA_LOG_WARNING, about,
                       UDPAI_ARRAY_LEN(about), "a stream of %.*s is ended: %s",
                       UDPAI_SHOWN(address), udpa_error_message(status));
}

void
udpai_session_finish(udpai_session *session, udpa_error *status)
{
    if (!session->is_finishing) {
        note_end(session, status);
        session->is_finishing = true;
        udpai_timer_cancel(&session->patience);
        udpai_list_remove(&session->in_ready);
        session->info.ops->finish(session->info.stream, status);
    }
    udpa_error_unref(status);
}

void
udpai_session_pause(udpai_session *session, bool pause)
{
    if (session->is_paused == pause || session->is_finishing)
        return;
    session->is_paused = pause;
    session->info.ops->set_reading(session->info.stream, !pause);
}

static void
finish_with(udpai_session *session, udpa_err err, udpa_error *error)
{
    if (!error)
        error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
    udpai_session_finish(session, error);
}

void
udpai_session_receive(udpai_session *session, udpai_str message)
{
    if (session->is_finishing)
        return;
    udpa_error *error = NULL;
    udpa_err err = session->ops->receive(session, message, &error);
    if (err != UDPA_OK)
        finish_with(session, err, error);
}

void
udpai_session_ended(udpai_session *session)
{
    if (session->is_finishing)
        return;
    if (!session->ops->ended) {
        udpai_session_finish(session, NULL);
        return;
    }
    udpa_error *error = NULL;
    udpa_err err = session->ops->ended(session, &error);
    if (err != UDPA_OK)
        finish_with(session, err, error);
}

void
udpai_session_written(udpai_session *session)
{
    session->is_writing = false;
    udpai_session_ready(session);
}

void
udpai_session_closed(udpai_session *session, const udpa_error *why)
{
    session->why = why;
    udpai_client_log_closed(session, why);
    udpai_timer_cancel(&session->patience);
    udpai_list_remove(&session->in_ready);
    udpai_list_remove(&session->in_barrier);
    udpai_map_remove(&session->hub->sessions, session_key(session));
    udpai_meter_subtract(session->open, 1);
    udpai_memory_subtract(&session->hub->memory, session->ops->size);
    udpai_identity *identity = session->info.identity;
    udpa_bytes *address = session->info.address;
    session->ops->free(session);
    udpai_identity_unref(identity);
    udpa_bytes_unref(address);
}

static bool
write_one(udpai_session *session)
{
    udpai_outgoing out = {0};
    udpa_error *error = NULL;
    bool any = false;
    udpa_err err = session->ops->next(session, &out, &any, &error);
    if (err != UDPA_OK) {
        finish_with(session, err, error);
    } else if (any && !session->is_finishing) {
        session->is_writing = true;
        udpai_list_remove(&session->in_ready); /* more to write comes when this is written */
        session->info.ops->write(session->info.stream, &out);
        return true;
    } else if (session->is_revoked) {
        finish_revoked(session);
    }
    return false;
}

size_t
udpai_hub_run(udpai_hub *hub)
{
    udpai_list ready;
    udpai_report *report = udpai_stream_barrier_report(&hub->barrier, hub->last_id);
    if (report)
        udpai_hub_report(hub, report);
    udpai_list_init(&ready);
    udpai_list_splice(&ready, &hub->ready);
    udpai_list *node;
    size_t n = 0;
    while ((node = udpai_list_pop(&ready)))
        n += write_one(UDPAI_LIST_ENTRY(node, udpai_session, in_ready));
    return n;
}

void
udpai_hub_finish_all(udpai_hub *hub, udpa_err code, const char *why)
{
    size_t at = 0;
    udpai_session *session;
    while ((session = udpai_map_next(&hub->sessions, &at)))
        udpai_session_finish(session, udpa_error_new(code, NULL, "%s", why));
}
