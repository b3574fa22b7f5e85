/* SPDX-License-Identifier: Apache-2.0 */
/* What every client over gRPC needs: a channel to a target, bytes in and out, and a way for other
 * threads to wake its queue. */
#ifndef UDPAI_GRPC_CHANNEL_H
#define UDPAI_GRPC_CHANNEL_H

#include <grpc/grpc.h>

#include "transport/grpc/stream_thread.h"

/* ---- queue.c: operations that gRPC completes ---- */

typedef struct udpai_tag udpai_tag;

struct udpai_tag {
    void (*done)(udpai_tag *tag, bool ok);
    bool is_out;
    bool ok;         /* it has completed so, … */
    udpai_list node; /* … and waits for the stream thread (completions.c) */
};

/* Of a queue that waits for what is due then, by udpai_monotonic_ms(); or UDPAI_WHEEL_NEVER. */
gpr_timespec udpai_queue_deadline(uint64_t ms);

/* ---- wake.c ---- */

/* Wakes the owner of a queue from any thread: an empty batch on a call of a channel that leads
 * nowhere completes at once. One at a time, so it is called under the lock of an inbox. */
typedef struct udpai_wake {
    udpai_tag tag;
    grpc_call *call;
} udpai_wake;

/* For any number of wakes. */
grpc_channel *udpai_wake_channel_new(void);
void udpai_wake_init(udpai_wake *wake,
                     grpc_channel *wake_channel,
                     grpc_completion_queue *cq,
                     void (*done)(udpai_tag *tag, bool ok));
void udpai_wake_send(void *wake);

/* ---- target.c ---- */

/* A new channel, to be destroyed by the caller. */
grpc_channel *udpai_grpc_target_channel(const udpai_grpc_target *target, unsigned server);
const char *udpai_grpc_target_address(const udpai_grpc_target *target, unsigned server);

/* ---- client.c ---- */

/* What gRPC reports about a failed connection, in fewer words, with a hint where we have one. */
udpai_str udpai_client_reason(udpai_str text, const char **ret_hint);

/* ---- slices.c ---- */

/* A received message in one piece. @p ret_owned is to be released with grpc_slice_unref(). */
udpai_str udpai_slices_join(grpc_byte_buffer *buffer, grpc_slice *ret_owned);

/* A view of a slice, which lasts as long as that. */
static inline udpai_str
udpai_slice_view(const grpc_slice *slice)
{
    return (udpai_str){(const char *)GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

#endif
