/* SPDX-License-Identifier: Apache-2.0 */
#include "session/relay.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "events/batch.h"

#include <stdio.h>

#define GO_ON_MS 1

/* What of one kind comes from one worker. */
typedef struct intake {
    uint64_t key; /* worker * UDPAI_EVENT_KINDS + kind */
    udpai_relay *relay;
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

static const udpai_topics *
topics_of(const udpai_relay *relay)
{
    return udpai_hub_settings(relay->hub)->topics;
}

/* NULL: there is none. */
static udpai_topic *
topic_of(const udpai_relay *relay, uint64_t kind)
{
    const udpai_topics *topics = topics_of(relay);
    return topics && kind < UDPAI_EVENT_KINDS ? topics->topics[kind] : NULL;
}

/* ---- a worker ---- */

static void
write_batch(void *userdata, udpai_event_batch *batch)
{
    udpai_relay *relay = userdata;
    udpai_topic *topic = batch->topic;
    udpai_topic_facts facts;
    udpai_topic_facts_get(topic, &facts);
    const udpai_event_figures figures = {facts.n_clients, facts.n_dropped, facts.n_refused};
    udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS);
    if (report)
        report->events = udpai_event_batch_encode(batch, &figures);
    if (report && report->events) {
        report->ticket = udpai_topic_kind(topic);
        udpai_hub_report(relay->hub, report);
    } else {
        udpai_report_free(report);
        udpai_topic_written(topic, 0, batch->n);
    }
    udpai_event_batch_free(batch);
}

void
udpai_relay_taken(udpai_relay *relay, const udpai_order *order)
{
    udpai_topic *topic = topic_of(relay, order->ticket);
    if (topic && udpai_hub_settings(relay->hub)->is_worker)
        udpai_topic_written(topic, 0, 0);
}

/* ---- the node ---- */

static void
answer(intake *self)
{
    udpai_report *report = udpai_report_new(UDPAI_REPORT_EVENTS_TAKEN);
    self->batch = udpai_event_batch_free(self->batch);
    if (!report) {
        udpai_log(UDPA_LOG_ERROR, "sinks",
                  "out of memory: a worker hands up no more events of one kind");
        return;
    }
    report->ticket = self->key;
    udpai_hub_report(self->relay->hub, report);
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
    udpai_wheel *wheel = udpai_hub_wheel(self->relay->hub);
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
make_intake(udpai_relay *relay, uint64_t key, udpai_topic *topic)
{
    char name[40];
    intake *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->key = key;
    self->relay = relay;
    self->topic = topic;
    self->stream.pause = on_pause;
    udpai_timer_init(&self->go_on, on_go_on);
    snprintf(name, sizeof(name), "worker %llu", (unsigned long long)(key / UDPAI_EVENT_KINDS));
    if (udpai_topic_join(topic, udpai_hub_wheel(relay->hub), udpai_str_from(name),
                         &self->stream) == UDPA_OK &&
        udpai_map_add(&relay->intakes, self))
        return self;
    free_intake(self);
    return NULL;
}

/* What it has counted since the last time. */
static void
count(intake *self, const udpai_event_figures *now)
{
    const udpai_event_figures more = {
        .n_clients = now->n_clients - self->last.n_clients,
        .n_dropped = now->n_dropped - self->last.n_dropped,
        .n_refused = now->n_refused - self->last.n_refused,
    };
    self->last = *now;
    udpai_topic_count_others(self->topic, more.n_clients, more.n_dropped, more.n_refused);
}

static void
begin_topics(const udpai_relay *relay)
{
    const udpai_topics *topics = topics_of(relay);
    if (topics->begin)
        topics->begin(topics, relay->hub);
}

static void
tell_lost(const udpai_order *order, const char *why)
{
    udpai_log(UDPA_LOG_ERROR, "sinks", "events of worker %llu are lost, and it hands up no more: %s",
              (unsigned long long)order->session, why);
}

/* A worker that was not answered sends nothing: this is not the next before the last. */
void
udpai_relay_take(udpai_relay *relay, const udpai_order *order)
{
    udpai_topic *topic = topic_of(relay, order->ticket);
    uint64_t key = order->session * UDPAI_EVENT_KINDS + order->ticket;
    if (!topic) {
        tell_lost(order, "there is no such sink");
        return;
    }
    begin_topics(relay);
    intake *self =
        udpai_map_get(&relay->intakes, (udpai_str){(const char *)&key, sizeof(key)});
    if (!self)
        self = make_intake(relay, key, topic);
    udpai_event_figures figures;
    udpa_err err = !self          ? UDPA_ERR_NOMEM
                   : self->batch ? UDPA_ERR_PRECONDITION
                                 : udpai_event_batch_decode(udpai_bytes_view(order->events),
                                                            &self->batch, &figures);
    if (err != UDPA_OK) {
        tell_lost(order, udpa_err_text(err));
        return;
    }
    self->at = 0;
    count(self, &figures);
    go_on(self);
}

/* ---- life ---- */

void
udpai_relay_init(udpai_relay *relay, udpai_hub *hub)
{
    relay->hub = hub;
    udpai_map_init(&relay->intakes, intake_key);
    if (!udpai_hub_settings(hub)->is_worker)
        return;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (topic_of(relay, i))
            udpai_topic_set_writer(topic_of(relay, i), write_batch, relay);
}

void
udpai_relay_done(udpai_relay *relay)
{
    size_t at = 0;
    intake *self;
    while ((self = udpai_map_next(&relay->intakes, &at)))
        free_intake(self);
    udpai_map_done(&relay->intakes);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS && udpai_hub_settings(relay->hub)->is_worker; i++)
        if (topic_of(relay, i))
            udpai_topic_stop(topic_of(relay, i));
}
