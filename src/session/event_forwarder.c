/* SPDX-License-Identifier: Apache-2.0 */
#include "session/event_forwarder.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "events/batch.h"

#include <stdio.h>

#define GO_ON_MS 1

/* What of one kind comes from one worker. */
typedef struct intake {
    uint64_t key; /* worker * UDPAI_EVENT_KINDS + kind */
    udpai_event_forwarder *forwarder;
    udpai_topic *topic;
    udpai_topic_stream stream;
    bool is_paused;
    udpai_event_batch *batch; /* that is being taken; NULL: none */
    size_t at;                /* the next of its events */
    udpai_timer go_on;
    uint64_t last_sequence; /* of the worker's topic */
    udpai_event_figures last;
} intake;

static udpai_str
intake_key(const void *item)
{
    const intake *self = item;
    return (udpai_str){(const char *)&self->key, sizeof(self->key)};
}

udpai_topic *
udpai_event_forwarder_topic(const udpai_event_forwarder *forwarder, uint64_t kind)
{
    const udpai_topics *topics = udpai_hub_settings(forwarder->hub)->topics;
    return topics && kind < UDPAI_EVENT_KINDS ? topics->topics[kind] : NULL;
}

bool
udpai_event_forwarder_report(udpai_event_forwarder *forwarder,
                             udpai_report_kind kind,
                             uint64_t ticket,
                             udpa_bytes *events)
{
    udpai_report *report = udpai_report_new(kind);
    if (!report || (!events && kind == UDPAI_REPORT_EVENTS)) {
        udpai_log(UDPA_LOG_ERROR, "sinks",
                  "out of memory: events are not forwarded between workers");
        udpai_report_free(report);
        udpa_bytes_unref(events);
        return false;
    }
    report->ticket = ticket;
    report->events = events;
    udpai_hub_report(forwarder->hub, report);
    return true;
}

/* ---- what workers hand up ---- */

static void
answer(intake *self)
{
    self->batch = udpai_event_batch_free(self->batch);
    (void)udpai_event_forwarder_report(self->forwarder, UDPAI_REPORT_EVENTS_TAKEN, self->key, NULL);
}

static void
add(intake *self, const udpai_event *event)
{
    udpai_event_source *source = event->source;
    if (event->sequence > self->last_sequence + 1)
        udpai_topic_lose(self->topic, event->sequence - self->last_sequence - 1);
    self->last_sequence = event->sequence;
    if (udpai_topic_add(self->topic, &self->stream, source, event->message, event->time_us) !=
        UDPA_OK)
        udpai_topic_lose(self->topic, 1);
}

/* As much as may wait. */
static void
go_on(intake *self)
{
    while (self->batch && self->at < self->batch->n && !self->is_paused)
        add(self, self->batch->events[self->at++]);
    if (self->batch && self->at == self->batch->n)
        answer(self);
}

static void
on_go_on(udpai_timer *timer)
{
    go_on(UDPAI_CONTAINER_OF(timer, intake, go_on));
}

/* It may be called by what go_on() does, or by what must not be disturbed. */
static void
on_pause(udpai_topic_stream *stream, bool pause)
{
    intake *self = UDPAI_CONTAINER_OF(stream, intake, stream);
    udpai_wheel *wheel = udpai_hub_wheel(self->forwarder->hub);
    self->is_paused = pause;
    if (!pause)
        udpai_timer_set(wheel, &self->go_on, wheel->now_ms + GO_ON_MS);
}

static void
free_intake(intake *self)
{
    udpai_timer_cancel(&self->go_on);
    udpai_topic_leave(self->topic, &self->stream);
    udpai_event_batch_free(self->batch);
    udpai_free(self);
}

static intake *
make_intake(udpai_event_forwarder *forwarder, uint64_t key, udpai_topic *topic)
{
    char name[40];
    intake *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->key = key;
    self->forwarder = forwarder;
    self->topic = topic;
    self->stream.pause = on_pause;
    udpai_timer_init(&self->go_on, on_go_on);
    snprintf(name, sizeof(name), "worker %llu", (unsigned long long)(key / UDPAI_EVENT_KINDS));
    if (udpai_topic_join(topic, udpai_hub_wheel(forwarder->hub), udpai_str_from(name),
                         &self->stream) == UDPA_OK &&
        udpai_map_add(&forwarder->intakes, self))
        return self;
    free_intake(self);
    return NULL;
}

/* What it has counted since the last time. */
static void
count(intake *self, const udpai_event_figures *now)
{
    const udpai_topic_facts more = {
        .n_clients = now->n_clients - self->last.n_clients,
        .n_dropped = now->n_dropped - self->last.n_dropped,
        .n_refused = now->n_refused - self->last.n_refused,
        .n_missed = now->n_missed - self->last.n_missed,
    };
    self->last = *now;
    udpai_topic_count_others(self->topic, &more);
}

static void
begin_topics(const udpai_event_forwarder *forwarder)
{
    const udpai_topics *topics = udpai_hub_settings(forwarder->hub)->topics;
    if (topics->begin)
        topics->begin(topics, forwarder->hub);
}

static void
log_lost(const udpai_order *order, const char *why)
{
    udpai_log(UDPA_LOG_ERROR, "sinks",
              "events of worker %llu are lost, and it forwards no more: %s",
              (unsigned long long)order->session, why);
}

/* A worker that was not answered sends nothing: this is not the next before the last. */
static void
take(udpai_event_forwarder *forwarder, const udpai_order *order)
{
    udpai_topic *topic = udpai_event_forwarder_topic(forwarder, order->ticket);
    uint64_t key = order->session * UDPAI_EVENT_KINDS + order->ticket;
    if (!topic) {
        log_lost(order, "there is no such sink");
        return;
    }
    begin_topics(forwarder);
    intake *self = udpai_map_get(&forwarder->intakes, (udpai_str){(const char *)&key, sizeof(key)});
    if (!self)
        self = make_intake(forwarder, key, topic);
    udpai_event_figures figures;
    udpa_err err = !self         ? UDPA_ERR_NOMEM
                   : self->batch ? UDPA_ERR_PRECONDITION
                                 : udpai_event_batch_decode(udpai_bytes_view(order->events),
                                                            &self->batch, &figures);
    if (err != UDPA_OK) {
        log_lost(order, udpa_err_text(err));
        return;
    }
    self->at = 0;
    count(self, &figures);
    go_on(self);
}

/* ---- what workers show ---- */

/* What one worker is sent of one kind, because a stream reads it there. */
typedef struct outlet {
    uint64_t key;                  /* as that of an intake */
    udpai_topic_follower follower; /* that the worker is */
    udpai_event_forwarder *forwarder;
    udpai_topic *topic;
    bool is_under_way; /* a batch was sent, and not taken yet */
    bool is_current;   /* and it was sent that there is no more */
} outlet;

static udpai_str
outlet_key(const void *item)
{
    const outlet *self = item;
    return (udpai_str){(const char *)&self->key, sizeof(self->key)};
}

static udpai_event_batch *
next_batch(outlet *self)
{
    udpai_event_batch *batch =
        udpai_alloc(sizeof(*batch) + UDPAI_TOPIC_BATCH_EVENTS * sizeof(batch->events[0]));
    size_t bytes = 0;
    uint64_t n_lost;
    if (!batch)
        return NULL;
    udpai_list_init(&batch->node);
    while (batch->n < UDPAI_TOPIC_BATCH_EVENTS && bytes < UDPAI_TOPIC_BATCH_BYTES) {
        const udpai_event *event = udpai_topic_next(self->topic, &self->follower, &n_lost);
        if (!event)
            break;
        bytes += udpa_bytes_size(event->message);
        batch->events[batch->n++] = udpai_event_ref((udpai_event *)(uintptr_t)event);
    }
    return batch;
}

/* One batch at a time; the last one is marked. */
static void
send_next(outlet *self)
{
    bool is_at_end = udpai_topic_follower_is_done(self->topic, &self->follower);
    if (self->is_under_way || (is_at_end && self->is_current))
        return;
    uint64_t first = self->follower.expected;
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = next_batch(self);
    const udpai_event_figures figures = {
        .first = first,
        .begun_us = udpai_topic_begun_us(self->topic),
        .is_all = udpai_topic_follower_is_done(self->topic, &self->follower),
    };
    self->is_under_way =
        batch && udpai_event_forwarder_report(self->forwarder, UDPAI_REPORT_EVENTS, self->key,
                                              udpai_event_batch_encode(batch, &figures));
    self->is_current |= figures.is_all;
}

static void
on_wake(udpai_topic_follower *follower)
{
    send_next(UDPAI_CONTAINER_OF(follower, outlet, follower));
}

static void
free_outlet(outlet *self)
{
    udpai_topic_unfollow(self->topic, &self->follower);
    udpai_free(self);
}

static void
begin_outlet(udpai_event_forwarder *forwarder, uint64_t key, udpai_topic *topic)
{
    outlet *self = udpai_alloc(sizeof(*self));
    if (!self)
        return;
    self->key = key;
    self->forwarder = forwarder;
    self->topic = topic;
    self->follower.wake = on_wake;
    if (udpai_topic_follow(topic, &self->follower) == UDPA_OK &&
        udpai_map_add(&forwarder->outlets, self))
        send_next(self);
    else
        free_outlet(self);
}

/* The worker has what it has: where it goes on with another subscription, it is sent all that there
 * is. */
void
udpai_event_forwarder_demand(udpai_event_forwarder *forwarder, const udpai_order *order)
{
    udpai_topic *topic = udpai_event_forwarder_topic(forwarder, order->ticket);
    uint64_t key = order->session * UDPAI_EVENT_KINDS + order->ticket;
    if (!topic || udpai_hub_settings(forwarder->hub)->is_worker)
        return;
    outlet *self =
        udpai_map_remove(&forwarder->outlets, (udpai_str){(const char *)&key, sizeof(key)});
    if (self)
        free_outlet(self);
    if (order->is_set)
        begin_outlet(forwarder, key, topic);
}

/* ---- what is for both ---- */

void
udpai_event_forwarder_take(udpai_event_forwarder *forwarder, const udpai_order *order)
{
    if (udpai_hub_settings(forwarder->hub)->is_worker)
        udpai_event_forwarder_put_copy(forwarder, order);
    else
        take(forwarder, order);
}

void
udpai_event_forwarder_taken(udpai_event_forwarder *forwarder, const udpai_order *order)
{
    udpai_topic *topic = udpai_event_forwarder_topic(forwarder, order->ticket);
    uint64_t key = order->session * UDPAI_EVENT_KINDS + order->ticket;
    if (topic && udpai_hub_settings(forwarder->hub)->is_worker) {
        udpai_topic_written(topic, 0, 0);
        return;
    }
    outlet *self = udpai_map_get(&forwarder->outlets, (udpai_str){(const char *)&key, sizeof(key)});
    if (!self)
        return;
    self->is_under_way = false;
    send_next(self);
}

/* ---- life ---- */

void
udpai_event_forwarder_init(udpai_event_forwarder *forwarder, udpai_hub *hub)
{
    forwarder->hub = hub;
    udpai_map_init(&forwarder->intakes, intake_key);
    udpai_map_init(&forwarder->outlets, outlet_key);
    if (udpai_hub_settings(hub)->is_worker)
        udpai_event_forwarder_init_worker(forwarder);
}

void
udpai_event_forwarder_done(udpai_event_forwarder *forwarder)
{
    size_t at = 0;
    intake *from;
    outlet *to;
    while ((from = udpai_map_next(&forwarder->intakes, &at)))
        free_intake(from);
    udpai_map_done(&forwarder->intakes);
    at = 0;
    while ((to = udpai_map_next(&forwarder->outlets, &at)))
        free_outlet(to);
    udpai_map_done(&forwarder->outlets);
    if (udpai_hub_settings(forwarder->hub)->is_worker)
        udpai_event_forwarder_done_worker(forwarder);
}
