/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes wait for which: a node that was not sent all sends for which others it waits, what
 * those have sent of themselves, and its round: one more than the least that those it waits for
 * have sent it. Of several reports of one, that counts which has passed the fewest nodes: what is
 * older goes round longer. So a node in round n has all that any had, by whatever path of fewer
 * than n nodes, when it began to wait. Nodes that wait for each other, and for no others, are done
 * in a round above their number; docs/design/federation.md, "Settled". Sans I/O, of bounded size.
 */
#ifndef UDPAI_WAITS_H
#define UDPAI_WAITS_H

#include "base/proto.h"

#define UDPAI_WAITS_MAX 64
#define UDPAI_WAITS_BYTES_MAX ((size_t)65536)
/* The number of a Wait in DeltaPublish; what is sent is such fields, one behind the other. */
#define UDPAI_WAITS_FIELD 13

typedef struct udpai_waits {
    udpai_str instances[UDPAI_WAITS_MAX]; /* the node itself first */
    uint64_t for_whom[UDPAI_WAITS_MAX];   /* of each, a bit for each */
    uint8_t distance[UDPAI_WAITS_MAX];    /* the report of a known one has passed so many nodes: the
                                             least */
    uint64_t known, outside; /* which have reported; which wait for one that cannot be named */
    uint64_t least;          /* round of those that the node waits for */
    unsigned n;
} udpai_waits;

/* Views of all texts are kept. */
void udpai_waits_begin(udpai_waits *waits, udpai_str self);
/* The node waits for one that is not there, or can never report what it waits for. */
void udpai_waits_for_unknown(udpai_waits *waits);
/* It waits for this one, which has sent so much; empty: nothing yet. What is malformed is nothing.
 */
void udpai_waits_for(udpai_waits *waits, udpai_str instance, udpai_str text);
/* Have all that it waits for, and that these wait for, reported that, and passed on what they have?
 */
bool udpai_waits_are_closed(const udpai_waits *waits);
/* What the node sends: itself first, and then the others. */
void udpai_waits_put(const udpai_waits *waits, udpai_proto_writer *writer);

#endif
