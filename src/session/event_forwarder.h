/* SPDX-License-Identifier: Apache-2.0 */
/* Events between the processes of a node. A worker receives them from clients, and forwards them
 * batch by batch, each when the last one was accepted; the node itself has the topics in which all
 * of them come together, and their files, readers and forwards. */

/* What cannot be taken at once, because too much waits in the node's topic, is not answered: then
 * it waits in that of the worker, whose clients are slowed down as they are in a node without
 * workers.
 *
 * A reader is connected to a worker, too, and reads a copy of the node's topic: while there is one,
 * the node sends the worker what it has, in the same way.
 *
 * Part of the hub, on the stream thread. */
#ifndef UDPAI_EVENT_FORWARDER_H
#define UDPAI_EVENT_FORWARDER_H

#include "base/map.h"
#include "session/hub.h"

typedef struct udpai_event_forwarder {
    udpai_hub *hub;
    udpai_map intakes, outlets; /* of the node: by worker and kind */
} udpai_event_forwarder;

void udpai_event_forwarder_init(udpai_event_forwarder *forwarder, udpai_hub *hub);
void udpai_event_forwarder_done(udpai_event_forwarder *forwarder);

/* UDPAI_ORDER_EVENTS, and so on. */
void udpai_event_forwarder_take(udpai_event_forwarder *forwarder, const udpai_order *order);
void udpai_event_forwarder_taken(udpai_event_forwarder *forwarder, const udpai_order *order);
void udpai_event_forwarder_demand(udpai_event_forwarder *forwarder, const udpai_order *order);

/* ---- between its files ---- */

/* That events come to; NULL: there is none of this kind. */
udpai_topic *udpai_event_forwarder_topic(const udpai_event_forwarder *forwarder, uint64_t kind);
/* Takes the events. False: there is no memory, which is logged. */
bool udpai_event_forwarder_report(udpai_event_forwarder *forwarder,
                                  udpai_report_kind kind,
                                  uint64_t ticket,
                                  udpa_bytes *events);
void udpai_event_forwarder_init_worker(udpai_event_forwarder *forwarder);
void udpai_event_forwarder_done_worker(udpai_event_forwarder *forwarder);
/* Events that somebody reads here. */
void udpai_event_forwarder_put_copy(udpai_event_forwarder *forwarder, const udpai_order *order);

#endif
