/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of events as bytes, for another process of the same node; with what the topic has counted
 * that it was taken from. Without tags: a text that was cut off is never taken for a shorter one.
 */
#ifndef UDPAI_EVENT_BATCH_H
#define UDPAI_EVENT_BATCH_H

#include "events/topic.h"

/* What the other process gets besides. */
typedef struct udpai_event_figures {
    uint64_t n_clients, n_dropped, n_refused, n_missed; /* to the node: so far */
    uint64_t first;    /* to a worker: the number of the first, if nothing was lost before it */
    uint64_t begun_us; /* the same: see udpai_topic_begun_us() … */
    uint64_t is_all;   /* … and that there is nothing behind the batch; 0 or 1 */
} udpai_event_figures;

/* NULL without memory. */
udpa_bytes *udpai_event_batch_encode(const udpai_event_batch *batch,
                                     const udpai_event_figures *figures);
/* The topic of the batch is left open. UDPA_ERR_MALFORMED, UDPA_ERR_NOMEM. */
udpa_err udpai_event_batch_decode(udpai_str bytes,
                                  udpai_event_batch **ret_batch,
                                  udpai_event_figures *ret_figures);

#endif
