/* SPDX-License-Identifier: Apache-2.0 */
/* The events of this node itself, in the topic of its kind: those of the stream thread, and those
 * of the loop, which come by UDPAI_ORDER_EVENTS without a worker. Those of workers come as all that
 * they have (event_forwarder.h). Part of the hub. */
#ifndef UDPAI_OWN_EVENTS_H
#define UDPAI_OWN_EVENTS_H

#include "events/node_events.h"
#include "session/hub.h"

typedef struct udpai_own_events {
    udpai_hub *hub;
    udpai_topic *topic; /* NULL: nothing is noted */
    udpai_topic_stream stream;
    udpai_event_source *source;
    udpai_node_events *notes;
} udpai_own_events;

/* UDPA_ERR_NOMEM */
udpa_err udpai_own_events_init(udpai_own_events *own, udpai_hub *hub);
void udpai_own_events_done(udpai_own_events *own);
/* Of the loop. */
void udpai_own_events_take(udpai_own_events *own, const udpai_order *order);

/* For an order to the hub of this process; NULL without memory. */
udpai_order *udpai_own_event_order(udpa_bytes *event, int64_t time_us);

#endif
