/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom: a node that has not been told all says for which others it waits, what those
 * have said of themselves, and its round: one more than the least that those it waits for have told
 * it. Of what several say of one, that counts which has passed the fewest nodes: what is older goes
 * round longer. So whoever is in round n has all that any had, by whatever path of fewer than n
 * nodes, when it began to wait. Nodes that wait for each other, and for nobody else, are done in a
 * round above their number; docs/design/federation.md, "Settled". Sans I/O, of bounded size. */
#ifndef UDPAI_WAITS_H
#define UDPAI_WAITS_H

#include "base/proto.h"

#define UDPAI_WAITS_MAX 64
#define UDPAI_WAITS_BYTES_MAX ((size_t)65536)
/* The number of a Wait in DeltaPublish; what is said is such fields, one behind the other. */
#define UDPAI_WAITS_FIELD 13

typedef struct udpai_waits {
    udpai_str instances[UDPAI_WAITS_MAX]; /* the node itself first */
    uint64_t for_whom[UDPAI_WAITS_MAX];   /* of each, a bit for each */
    uint8_t
        distance[UDPAI_WAITS_MAX]; /* what a known one said has passed so many nodes: the least */
    uint64_t known, outside;       /* who has said; who waits for one that cannot be told */
    uint64_t least;                /* round of those that the node waits for */
    unsigned n;
} udpai_waits;

/* Views of all texts are kept. */
void udpai_waits_begin(udpai_waits *waits, udpai_str self);
/* The node waits for somebody who is not there, or can never say for whom he waits. */
void udpai_waits_for_unknown(udpai_waits *waits);
/* It waits for this one, who has said so much; empty: nothing yet. What is malformed is nothing. */
void udpai_waits_for(udpai_waits *waits, udpai_str instance, udpai_str text);
/* Have all for whom it waits, and for whom these wait, said so, and passed on what they have? */
bool udpai_waits_are_closed(const udpai_waits *waits);
/* What the node says: itself first, and then the others. */
void udpai_waits_put(const udpai_waits *waits, udpai_proto_writer *writer);

#endif
