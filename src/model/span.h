/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a change at this node: from when it came in to the last client that has
 * acknowledged it. A value that one side owns at a time. */
#ifndef UDPAI_SPAN_H
#define UDPAI_SPAN_H

#include "base/bytes.h"
#include "base/list.h"
#include "base/vector.h"
#include "model/trace.h"

#define UDPAI_SPAN_LINKS_MAX 32

typedef struct udpai_span {
    udpai_list node; /* for its owner */
    udpai_trace trace;
    uint8_t parent[UDPAI_SPAN_ID]; /* zeroes: it is the first of its trace */
    /* Since 1970: it came in; it was given out to clients, 0: not at all; and it ended. */
    int64_t begin_us, effective_us, end_us;
    udpa_bytes *from;    /* who has brought it */
    udpa_bytes *type;    /* type URL with a NUL, and … */
    udpa_bytes *name;    /* … name of the last resource of it */
    uint64_t n_changed;  /* resources */
    const char *outcome; /* static: "acknowledged", "nacked", …; NULL: it goes on */
    udpa_bytes *last;    /* the node id of the client that was last; NULL: not known */
    /* Changes of the same resource before it, which clients are given with it. */
    UDPAI_VECTOR(udpai_trace) links;
    size_t change; /* while it is given out: its index in the change set */
} udpai_span;

udpai_span *udpai_span_new(void);              /* NULL without memory */
udpai_span *udpai_span_free(udpai_span *span); /* NULL does nothing */
UDPA_DEFINE_CLEANUP(udpai_span, udpai_span_free)
/* Frees all of a list. */
void udpai_spans_free(udpai_list *spans);

#endif
