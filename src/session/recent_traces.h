/* SPDX-License-Identifier: Apache-2.0 */
/* Traced changes that were given out not long ago: what a stream is sent of one carries its trace
 * to the next node. */
#ifndef UDPAI_RECENT_TRACES_H
#define UDPAI_RECENT_TRACES_H

#include "fanout/body.h"
#include "model/trace.h"

/* The oldest makes room for one more; and what a stream is sent later than so long afterwards is of
 * no trace. */
#define UDPAI_RECENT_TRACES 16
#define UDPAI_RECENT_TRACES_MS 60000

typedef struct udpai_recent_trace {
    udpai_trace trace;
    udpa_resource *resource; /* a reference; of a removal, what was removed */
    bool is_removal;
    uint64_t since_ms;
} udpai_recent_trace;

/* Zeroes: there are none. */
typedef struct udpai_recent_traces {
    udpai_recent_trace items[UDPAI_RECENT_TRACES]; /* the oldest first */
    size_t n;
} udpai_recent_traces;

void udpai_recent_traces_done(udpai_recent_traces *traces);
/* Takes a reference to the resource. */
void udpai_recent_traces_add(udpai_recent_traces *traces, const udpai_recent_trace *added);
/* Of what is to be sent, the youngest; NULL: none of it is of a trace. */
const udpai_trace *
udpai_recent_traces_find(udpai_recent_traces *traces, const udpai_render *what, uint64_t now_ms);

#endif
