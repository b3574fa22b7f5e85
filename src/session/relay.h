/* SPDX-License-Identifier: Apache-2.0 */
/* Events between the processes of a node. A worker takes in what clients stream, and hands it up
 * batch by batch, each when the last one was taken; the node itself has the topics in which all of
 * it comes together, and what is made of them: files, readers, forwards.
 *
 * What cannot be taken at once, because too much waits in the node's topic, is not answered: then
 * it waits in that of the worker, whose clients are slowed down as they are in a node without
 * workers.
 *
 * Who reads is connected to a worker, too, and reads a copy of the node's topic: while anybody
 * does, the node tells the worker what it has, in the same way.
 *
 * Part of the hub, on the stream thread. */
#ifndef UDPAI_RELAY_H
#define UDPAI_RELAY_H

#include "base/map.h"
#include "session/hub.h"

typedef struct udpai_relay {
    udpai_hub *hub;
    udpai_map intakes, outlets; /* of the node: by worker and kind */
} udpai_relay;

void udpai_relay_init(udpai_relay *relay, udpai_hub *hub);
void udpai_relay_done(udpai_relay *relay);

/* UDPAI_ORDER_EVENTS, and so on. */
void udpai_relay_take(udpai_relay *relay, const udpai_order *order);
void udpai_relay_taken(udpai_relay *relay, const udpai_order *order);
void udpai_relay_wanted(udpai_relay *relay, const udpai_order *order);

/* ---- between its files ---- */

/* That events come to; NULL: there is none of this kind. */
udpai_topic *udpai_relay_topic(const udpai_relay *relay, uint64_t kind);
/* Takes the events. False: there is no memory, which is logged. */
bool
udpai_relay_report(udpai_relay *relay, udpai_report_kind kind, uint64_t ticket, udpa_bytes *events);
void udpai_relay_init_worker(udpai_relay *relay);
void udpai_relay_done_worker(udpai_relay *relay);
/* Events that somebody reads here. */
void udpai_relay_show(udpai_relay *relay, const udpai_order *order);

#endif
