/* SPDX-License-Identifier: Apache-2.0 */
/* One request to one member, and one response. Where a connection is not there yet, that the
 * headers were sent says that it is; only then the request follows, so that it is known whether a
 * member may have read it. */
#include <grpc/byte_buffer.h>
#include <grpc/support/time.h>

#include "transport/etcd/client_internal.h"

static void
free_rpc(udpai_etcd_rpc *rpc)
{
    udpai_etcd_client *client = rpc->client;
    udpai_list_remove(&rpc->node);
    grpc_call_unref(rpc->call);
    grpc_byte_buffer_destroy(rpc->request);
    if (rpc->response)
        grpc_byte_buffer_destroy(rpc->response);
    grpc_slice_unref(rpc->sent_headers[0].value);
    grpc_metadata_array_destroy(&rpc->received_headers);
    grpc_metadata_array_destroy(&rpc->received_trailers);
    grpc_slice_unref(rpc->text);
    udpai_free(rpc);
    udpai_etcd_client_check_end(client);
}

static void
tag_done(udpai_etcd_rpc *rpc)
{
    udpai_etcd_client_tag_done(rpc->client);
    if (--rpc->n_out)
        return;
    rpc->ended(rpc);
    free_rpc(rpc);
}

static void
batch(udpai_etcd_rpc *rpc, const grpc_op *ops, size_t n_ops, udpai_tag *tag)
{
    rpc->n_out += udpai_etcd_client_batch(rpc->client, rpc->call, ops, n_ops, tag);
}

static void
on_message(udpai_tag *tag, bool ok)
{
    (void)ok; /* the status says why */
    tag_done(UDPAI_CONTAINER_OF(tag, udpai_etcd_rpc, message));
}

static void
on_headers(udpai_tag *tag, bool ok)
{
    udpai_etcd_rpc *rpc = UDPAI_CONTAINER_OF(tag, udpai_etcd_rpc, headers);
    if (ok) {
        const grpc_op ops[] = {
            {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = rpc->request},
            {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        };
        rpc->is_sent = true;
        batch(rpc, ops, UDPAI_ARRAY_LEN(ops), &rpc->message);
    }
    tag_done(rpc);
}

static void
on_end(udpai_tag *tag, bool ok)
{
    (void)ok;
    tag_done(UDPAI_CONTAINER_OF(tag, udpai_etcd_rpc, end));
}

/* On a connection that stands: all of it at once. If that breaks meanwhile, the member may have
 * read the request. */
static void
begin_at_once(udpai_etcd_rpc *rpc, const grpc_op *sending, const grpc_op *receiving)
{
    const grpc_op ops[] = {
        *sending,
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = rpc->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        receiving[0],
        receiving[1],
        receiving[2],
    };
    rpc->is_sent = true;
    batch(rpc, ops, UDPAI_ARRAY_LEN(ops), &rpc->end);
}

static void
begin_batches(udpai_etcd_rpc *rpc, bool is_connected)
{
    size_t n_headers = udpai_etcd_auth_headers(rpc->client, rpc->sent_headers);
    const grpc_op sending = {
        .op = GRPC_OP_SEND_INITIAL_METADATA,
        .data.send_initial_metadata = {.metadata = rpc->sent_headers, .count = n_headers},
    };
    const grpc_op receiving[] = {
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &rpc->received_headers},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &rpc->response},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &rpc->received_trailers,
                                        .status = &rpc->code,
                                        .status_details = &rpc->text}},
    };
    if (is_connected) {
        begin_at_once(rpc, &sending, receiving);
        return;
    }
    batch(rpc, &sending, 1, &rpc->headers);
    batch(rpc, receiving, UDPAI_ARRAY_LEN(receiving), &rpc->end);
}

udpai_etcd_rpc *
udpai_etcd_rpc_begin(udpai_etcd_client *client,
                     const udpai_etcd_method *method,
                     udpa_bytes *request,
                     void *context)
{
    udpai_etcd_rpc *rpc = udpai_alloc(sizeof(*rpc));
    if (!rpc)
        return NULL;
    rpc->client = client;
    rpc->member = client->current;
    rpc->timeout_ms = method->timeout_ms;
    rpc->ended = method->ended;
    rpc->context = context;
    rpc->headers.done = on_headers;
    rpc->message.done = on_message;
    rpc->end.done = on_end;
    rpc->text = rpc->sent_headers[0].value = grpc_empty_slice();
    grpc_metadata_array_init(&rpc->received_headers);
    grpc_metadata_array_init(&rpc->received_trailers);
    rpc->request = udpai_etcd_message(request);
    gpr_timespec timeout = gpr_time_from_millis((int64_t)method->timeout_ms, GPR_TIMESPAN);
    grpc_channel *channel = udpai_etcd_client_channel(client, rpc->member);
    rpc->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, client->cq,
                                         grpc_slice_from_static_string(method->path), NULL,
                                         gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout), NULL);
    udpai_list_append(&client->rpcs, &rpc->node);
    begin_batches(rpc, grpc_channel_check_connectivity_state(channel, 0) == GRPC_CHANNEL_READY);
    return rpc;
}

void
udpai_etcd_rpc_cancel(udpai_etcd_rpc *rpc)
{
    grpc_call_cancel(rpc->call, NULL);
}

udpai_etcd_end
udpai_etcd_rpc_end(const udpai_etcd_rpc *rpc, bool is_read)
{
    return (udpai_etcd_end){
        .address = udpai_etcd_client_address(rpc->client, rpc->member),
        .is_sent = rpc->is_sent,
        .is_read = is_read,
        .timeout_ms = rpc->timeout_ms,
        .code = rpc->code,
        .text = udpai_slice_view(&rpc->text),
    };
}
