/* SPDX-License-Identifier: Apache-2.0 */
/* Waking the owner of a completion queue, which gRPC has no call for. */
#include <assert.h>

#include "transport/grpc/channel.h"

grpc_channel *
udpai_wake_channel_new(void)
{
    return grpc_lame_client_channel_create("wake", GRPC_STATUS_UNAVAILABLE, "nowhere");
}

void
udpai_wake_init(udpai_wake *wake,
                grpc_channel *wake_channel,
                grpc_completion_queue *cq,
                void (*done)(udpai_tag *tag, bool ok))
{
    wake->tag.done = done;
    wake->call = grpc_channel_create_call(wake_channel, NULL, GRPC_PROPAGATE_DEFAULTS, cq,
                                          grpc_slice_from_static_string("/wake"), NULL,
                                          gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
}

void
udpai_wake_send(void *userdata)
{
    udpai_wake *wake = userdata;
    grpc_call_error error = grpc_call_start_batch(wake->call, NULL, 0, &wake->tag, NULL);
    assert(error == GRPC_CALL_OK);
    (void)error;
}
