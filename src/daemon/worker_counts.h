/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker's streams have counted, as it reports it to its node: a varint each, in their
 * order, and how many streams of clients there are. */
#ifndef UDPAI_WORKER_COUNTS_H
#define UDPAI_WORKER_COUNTS_H

#include "endpoint/stream_counts.h"

#define UDPAI_WORKER_COUNTS_BYTES ((size_t)10 * (UDPAI_STREAM_COUNTERS + 1))

/* How many bytes of the room it takes. */
size_t udpai_worker_counts_encode(const udpai_stream_counts *counts,
                                  uint8_t room[UDPAI_WORKER_COUNTS_BYTES]);
/* UDPA_ERR_MALFORMED */
udpa_err udpai_worker_counts_decode(udpai_str bytes, udpai_stream_counts *ret_counts);

#endif
