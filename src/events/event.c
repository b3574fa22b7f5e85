/* SPDX-License-Identifier: Apache-2.0 */
#include "events/event.h"

#include "base/alloc.h"

udpai_event_source *
udpai_event_source_new(udpai_str node_id, udpai_str identity, udpai_str name)
{
    udpai_event_source *source =
        udpai_alloc(sizeof(*source) + node_id.len + identity.len + name.len);
    if (!source)
        return NULL;
    char *at = source->text;
    atomic_init(&source->refs, 1);
    source->node_id = udpai_str_put(&at, node_id);
    source->identity = udpai_str_put(&at, identity);
    source->name = udpai_str_put(&at, name);
    return source;
}

udpai_event_source *
udpai_event_source_ref(udpai_event_source *source)
{
    if (source)
        atomic_fetch_add_explicit(&source->refs, 1, memory_order_relaxed);
    return source;
}

static void
free_source(udpai_event_source *source)
{
    udpa_bytes_unref(source->identifier);
    udpai_free(source);
}

udpai_event_source *
udpai_event_source_unref(udpai_event_source *source)
{
    if (source && atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) == 1)
        free_source(source);
    return NULL;
}

udpai_event *
udpai_event_new(udpai_event_source *source, udpa_bytes *message)
{
    udpai_event *event = udpai_alloc(sizeof(*event));
    if (!event)
        return NULL;
    atomic_init(&event->refs, 1);
    event->source = udpai_event_source_ref(source);
    event->message = udpa_bytes_ref(message);
    return event;
}

udpai_event *
udpai_event_ref(udpai_event *event)
{
    if (event)
        atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
    return event;
}

udpai_event *
udpai_event_unref(udpai_event *event)
{
    if (!event || atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    udpai_event_source_unref(event->source);
    udpa_bytes_unref(event->message);
    udpai_free(event);
    return NULL;
}
