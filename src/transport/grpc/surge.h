/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that were idle and begin to send much, many at a time. Belongs to the stream thread. */
#ifndef UDPAI_SURGE_H
#define UDPAI_SURGE_H

#include "base/wheel.h"
#include "transport/grpc/stream_thread.h"

typedef struct udpai_surge {
    udpai_timer timer;   /* set while there are streams that others have opened */
    int memory;          /* the file that has how much is resident; -1: not known */
    uint64_t calm_bytes; /* that were resident: what is more has come since */
    uint64_t looks_until_ms;
} udpai_surge;

void udpai_surge_init(udpai_stream_thread *thread);
void udpai_surge_done(udpai_stream_thread *thread);
/* Somebody has opened a stream. */
void udpai_surge_expect(udpai_stream_thread *thread);

#endif
