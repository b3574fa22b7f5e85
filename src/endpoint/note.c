/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/note.h"

#include <stdarg.h>
#include <stdio.h>

#include "endpoint/endpoint_internal.h"
#include "loop/clock.h"
#include "session/own_events.h"

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return udpai_wall_us();
}

/* For the topic of this process, never of a worker. */
static void
emit(void *userdata, udpa_bytes *event, int64_t time_us)
{
    const udpa_endpoint *endpoint = userdata;
    udpai_stream_thread *streams = endpoint->sides ? udpai_stream_sides_own(endpoint->sides) : NULL;
    udpai_order *order = streams ? udpai_own_event_order(event, time_us) : NULL;
    if (order)
        udpai_stream_thread_order(streams, order);
}

udpa_err
udpai_endpoint_notes_init(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    const udpai_node_events_env env = {
        .wheel = udpai_loop_wheel_get(endpoint->wheel),
        .wall_us = wall_us,
        .emit = emit,
        .userdata = endpoint,
    };
    if (!settings->topics || !settings->topics->topics[UDPAI_EVENT_NODE])
        return UDPA_OK;
    endpoint->notes = udpai_node_events_new(&env);
    return endpoint->notes ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_endpoint_note(udpa_endpoint *endpoint, const udpai_node_event *event)
{
    if (!endpoint || !endpoint->notes || endpoint->is_closing)
        return;
    udpai_node_events_note(endpoint->notes, event);
    udpai_loop_wheel_arm(endpoint->wheel);
}

void
udpai_endpoint_note_about(udpa_endpoint *endpoint,
                          udpai_node_event_kind kind,
                          udpa_log_level level,
                          const udpai_log_field *about,
                          size_t n_about,
                          const char *format,
                          ...)
{
    char text[UDPAI_LOG_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const udpai_node_event event = {kind, level, text, about, n_about};
    udpai_endpoint_note(endpoint, &event);
}
