/* SPDX-License-Identifier: Apache-2.0 */
/* Events between the processes of a node. A worker takes in what clients stream, and hands it up
 * batch by batch, each when the last one was taken; the node itself has the topics in which all of
 * it comes together, and what is made of them: files, readers, forwards.
 *
 * What cannot be taken at once, because too much waits in the node's topic, is not answered: then it
 * waits in that of the worker, whose clients are slowed down as they are in a node without workers.
 *
 * Part of the hub, on the stream thread. */
#ifndef UDPAI_RELAY_H
#define UDPAI_RELAY_H

#include "base/map.h"
#include "session/hub.h"

typedef struct udpai_relay {
    udpai_hub *hub;
    udpai_map intakes; /* of the node: by worker and kind */
} udpai_relay;

void udpai_relay_init(udpai_relay *relay, udpai_hub *hub);
void udpai_relay_done(udpai_relay *relay);

/* UDPAI_ORDER_EVENTS: of a worker. */
void udpai_relay_take(udpai_relay *relay, const udpai_order *order);
/* UDPAI_ORDER_EVENTS_TAKEN: what this worker has handed up was taken. */
void udpai_relay_taken(udpai_relay *relay, const udpai_order *order);

#endif
