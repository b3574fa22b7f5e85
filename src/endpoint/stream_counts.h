/* SPDX-License-Identifier: Apache-2.0 */
/* What the streams of a node have counted since it began, with those of its workers: in its status
 * and on its pages, by one name each. Belongs to the loop. */
#ifndef UDPAI_STREAM_COUNTS_H
#define UDPAI_STREAM_COUNTS_H

#include "transport/grpc/stream_thread.h"
#include "udpa/endpoint.h"

typedef enum udpai_stream_counter {
    UDPAI_STREAMS_REFUSED,     /* for a limit, an unclear identity or an unknown method */
    UDPAI_STREAMS_CUT_OFF,     /* the peer's certificate was revoked or has expired */
    UDPAI_MESSAGES_TOO_LARGE,  /* each has ended its stream */
    UDPAI_MESSAGES_HELD_BACK,  /* had to wait for their turn to be read */
    UDPAI_STREAMS_AGED,        /* have been ended at timing.max_stream_age */
    UDPAI_STREAMS_MOVED,       /* have been ended so that they go to another replica */
    UDPAI_STREAMS_ABOVE_SHARE, /* were rejected for the same */
    UDPAI_CONNECTIONS_REFUSED, /* for a limit, where the listener is udpad's own, as those below */
    UDPAI_CONNECTIONS_ENDED, /* for streams that they have reset, or frames that ask for nothing */
    UDPAI_HANDSHAKES_FAILED,
    UDPAI_STREAM_COUNTERS,
} udpai_stream_counter;

typedef struct udpai_stream_counts {
    uint64_t n[UDPAI_STREAM_COUNTERS];
    uint64_t n_clients; /* streams of clients of xDS, now */
    uint64_t n_served;  /* streams that others have opened, now */
} udpai_stream_counts;

/* As in the status; the pages have it with "udpa_" before it and "_total" behind. */
const char *udpai_stream_counter_name(udpai_stream_counter counter);

/* Of one process. Any thread. */
udpai_stream_counts udpai_stream_counts_of(const udpai_stream_thread *streams);
void udpai_stream_counts_add(udpai_stream_counts *to, const udpai_stream_counts *counts);
/* Of all; of workers what they have sent last, at most a second ago. */
udpai_stream_counts udpai_endpoint_stream_counts(const udpa_endpoint *endpoint);
/* Takes what a worker has counted; the first is number 1. */
void udpai_endpoint_take_worker_counts(udpa_endpoint *endpoint,
                                       size_t worker,
                                       const udpai_stream_counts *counts);

#endif
