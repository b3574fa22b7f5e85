/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker's streams have counted, as it reports it to its node: a varint each, in their
 * order, how many streams of clients there are, and what its meters read (metrics/meters.h). */
#ifndef UDPAI_WORKER_COUNTS_H
#define UDPAI_WORKER_COUNTS_H

#include "endpoint/stream_counts.h"

/* What its meters read is appended by udpai_reading_encode(). */
void udpai_worker_counts_encode(const udpai_stream_counts *counts, udpai_strbuf *bytes);
/* *ret_readings: for udpai_readings_decode(), a view, which was read once. UDPA_ERR_MALFORMED */
udpa_err udpai_worker_counts_decode(udpai_str bytes,
                                    udpai_stream_counts *ret_counts,
                                    udpai_str *ret_readings);

#endif
