/* SPDX-License-Identifier: Apache-2.0 */
#include "session/own_events.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "events/batch.h"
#include "session/hub_internal.h"

/* It has its place in the ring at once: nothing can be slowed down. */
static void
on_pause(udpai_topic_stream *stream, bool pause)
{
    (void)stream;
    (void)pause;
}

static int64_t
wall_us(void *userdata)
{
    return udpai_hub_wall_us(((const udpai_own_events *)userdata)->hub);
}

/* Without memory it is missing. */
static void
emit(void *userdata, udpa_bytes *event, int64_t time_us)
{
    udpai_own_events *own = userdata;
    if (udpai_topic_add(own->topic, &own->stream, own->source, event, time_us) != UDPA_OK)
        udpai_topic_lose(own->topic, 1);
}

udpa_err
udpai_own_events_init(udpai_own_events *own, udpai_hub *hub)
{
    const udpai_topics *topics = udpai_hub_settings(hub)->topics;
    udpai_topic *topic = topics ? topics->topics[UDPAI_EVENT_NODE] : NULL;
    const udpai_node_events_env env = {
        .wheel = udpai_hub_wheel(hub),
        .wall_us = wall_us,
        .emit = emit,
        .userdata = own,
    };
    own->hub = hub;
    if (!topic)
        return UDPA_OK;
    own->stream.pause = on_pause;
    own->source = udpai_event_source_new(topics->node_id, (udpai_str){0}, (udpai_str){0});
    own->notes = udpai_node_events_new(&env);
    if (!own->source || !own->notes ||
        udpai_topic_join(topic, env.wheel, UDPAI_STR("node"), &own->stream) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    own->topic = topic;
    return UDPA_OK;
}

void
udpai_own_events_done(udpai_own_events *own)
{
    if (own->topic)
        udpai_topic_leave(own->topic, &own->stream);
    own->topic = NULL;
    own->notes = udpai_node_events_free(own->notes);
    own->source = udpai_event_source_unref(own->source);
}

void
udpai_hub_note(udpai_hub *hub,
               udpai_node_event_kind kind,
               udpa_log_level level,
               const udpai_log_field *about,
               size_t n_about,
               const char *format,
               ...)
{
    char text[UDPAI_LOG_MESSAGE_MAX];
    va_list args;
    if (kind == UDPAI_NOTE_LIMIT_REACHED)
        udpai_meter_add(udpai_meters_get(hub->meters, UDPAI_METRIC_STREAMS_LIMITED, (udpai_str){0}),
                        1);
    if (!hub->own_events.topic)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const udpai_node_event event = {kind, level, text, about, n_about};
    udpai_node_events_note(hub->own_events.notes, &event);
}

/* ---- of the loop ---- */

/* It has bounded the rate itself. */
void
udpai_own_events_take(udpai_own_events *own, const udpai_order *order)
{
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = NULL;
    udpai_event_figures figures;
    if (!own->topic || order->ticket != UDPAI_EVENT_NODE ||
        udpai_event_batch_decode(udpai_bytes_view(order->events), &batch, &figures) != UDPA_OK)
        return;
    for (size_t i = 0; i < batch->n; i++)
        emit(own, batch->events[i]->message, batch->events[i]->time_us);
}

static udpai_event_batch *
make_batch(udpa_bytes *message, int64_t time_us)
{
    UDPA_AUTO(udpai_event_source_unref)
    udpai_event_source *nobody =
        udpai_event_source_new((udpai_str){0}, (udpai_str){0}, (udpai_str){0});
    udpai_event *event = nobody ? udpai_event_new(nobody, message) : NULL;
    udpai_event_batch *batch =
        event ? udpai_alloc(sizeof(*batch) + sizeof(batch->events[0])) : NULL;
    if (!batch) {
        udpai_event_unref(event);
        return NULL;
    }
    udpai_list_init(&batch->node);
    event->time_us = time_us;
    batch->events[batch->n++] = event;
    return batch;
}

udpai_order *
udpai_own_event_order(udpa_bytes *event, int64_t time_us)
{
    const udpai_event_figures figures = {.is_all = 1};
    UDPA_AUTO(udpai_order_free) udpai_order *order = udpai_order_new(UDPAI_ORDER_EVENTS);
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = make_batch(event, time_us);
    if (!order || !batch)
        return NULL;
    order->ticket = UDPAI_EVENT_NODE;
    order->events = udpai_event_batch_encode(batch, &figures);
    return order->events ? UDPAI_TAKE(order) : NULL;
}
