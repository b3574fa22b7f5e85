/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that have one id, as nodes report it upstream. A node that meets what has passed another
 * node of its own id reports it to its sources, in its Node, and these to theirs: in a chain the
 * upper one learns of it by no other way. docs/design/federation.md, "Loops". Sans I/O, of bounded
 * size.
 *
 * A text of lines: the id, the instance that was met, the instance that met it, and how many nodes
 * have passed it on, with spaces between them; the first three written with percent signs. */
#ifndef UDPAI_TWIN_NOTICES_H
#define UDPAI_TWIN_NOTICES_H

#include "base/strbuf.h"

#define UDPAI_TWIN_NOTICES_MAX 8 /* no more are sent */
/* What goes round among nodes that are each other's sources ends, when no node reports it anew. */
#define UDPAI_TWIN_DISTANCE_MAX 16

/* As in the text: compared, and written again, without being read. */
typedef struct udpai_twin_notice {
    udpai_str node_id, met, by;
    unsigned distance;
} udpai_twin_notice;

typedef struct udpai_twin_notices {
    udpai_twin_notice items[UDPAI_TWIN_NOTICES_MAX]; /* in an order that depends on nothing else */
    size_t n;
} udpai_twin_notices;

/* The next of a text, which moves on behind it; views of it. Lines that are none, or have come too
 * far, are passed over. False: there is none. */
bool udpai_twin_notices_next(udpai_str *text, udpai_twin_notice *ret_notice);
/* Views are kept. Of what was added before, the lesser distance counts. */
void udpai_twin_notices_add(udpai_twin_notices *notices, const udpai_twin_notice *notice);
/* Appends them. */
void udpai_twin_notices_put(const udpai_twin_notices *notices, udpai_strbuf *text);
/* Appends one that nobody has passed on yet, from what is not written with percent signs. */
void udpai_twin_notices_put_own(udpai_strbuf *text, udpai_str node_id, udpai_str met, udpai_str by);

#endif
