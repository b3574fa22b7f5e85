/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls of the client share: the queue, the members of the cluster, the token. */
#include <assert.h>
#include <grpc/byte_buffer.h>

#include "transport/etcd/client_internal.h"

/* ---- the queue ---- */

bool
udpai_etcd_client_batch(
    udpai_etcd_client *client, grpc_call *call, const grpc_op *ops, size_t n_ops, udpai_tag *tag)
{
    bool has_begun = grpc_call_start_batch(call, ops, n_ops, tag, NULL) == GRPC_CALL_OK;
    assert(has_begun);
    if (has_begun)
        client->n_out++;
    return has_begun;
}

void
udpai_etcd_client_tag_done(udpai_etcd_client *client)
{
    client->n_out--;
}

void
udpai_etcd_client_check_end(udpai_etcd_client *client)
{
    bool is_idle =
        client->n_out == 0 && udpai_list_empty(&client->rpcs) && udpai_list_empty(&client->watches);
    if (!client->is_stopping || !is_idle || client->is_queue_closed)
        return;
    client->is_queue_closed = true;
    grpc_completion_queue_shutdown(client->cq);
}

grpc_byte_buffer *
udpai_etcd_message(const udpa_bytes *bytes)
{
    grpc_slice slice =
        grpc_slice_from_copied_buffer(udpa_bytes_data(bytes), udpa_bytes_size(bytes));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* ---- members ---- */

grpc_channel *
udpai_etcd_client_channel(udpai_etcd_client *client, size_t number)
{
    udpai_etcd_member *member = &client->members[number];
    if (!member->channel)
        member->channel = udpai_grpc_target_channel(member->target, 0);
    return member->channel;
}

const char *
udpai_etcd_client_address(const udpai_etcd_client *client, size_t member)
{
    return udpai_grpc_target_address(client->members[member].target, 0);
}

void
udpai_etcd_member_drop_channel(udpai_etcd_member *member)
{
    if (member->channel)
        grpc_channel_destroy(member->channel);
    member->channel = NULL;
}

void
udpai_etcd_client_pass_over(udpai_etcd_client *client, size_t member)
{
    if (client->current == member)
        client->current = (member + 1) % client->n_members;
}

void
udpai_etcd_client_member_failed(udpai_etcd_client *client, size_t member)
{
    udpai_etcd_member_drop_channel(&client->members[member]);
    udpai_etcd_client_pass_over(client, member);
    client->auth.token =
        udpa_bytes_unref(client->auth.token); /* of an etcd that may be older now */
}

/* ---- the token ---- */

size_t
udpai_etcd_auth_headers(const udpai_etcd_client *client, grpc_metadata *headers)
{
    if (!client->auth.token)
        return 0;
    headers[0] = (grpc_metadata){
        .key = grpc_slice_from_static_string("token"),
        .value = grpc_slice_from_copied_string(udpa_bytes_data(client->auth.token)),
    };
    return 1;
}

void
udpai_etcd_auth_drop(udpai_etcd_client *client)
{
    client->auth.token = udpa_bytes_unref(client->auth.token);
}
