/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: whatever comes first is taken for the request; then one message is on its way at a time.
 * Only reading is outstanding when there is nothing to send: the library looks through all that is.
 */
#include <grpc/byte_buffer.h>

#include "bare/bare.h"

struct stream {
    udpai_list node;
    bare_server *server;
    grpc_call *call;
    bare_tag received, sent, ended;
    grpc_byte_buffer *request;
    bare_place place;
    int is_cancelled;
    bool has_asked, has_sent, is_sending, is_over;
};

static void
start_batch(struct stream *stream, const grpc_op *ops, size_t n, bare_tag *tag)
{
    grpc_call_error error = grpc_call_start_batch(stream->call, ops, n, tag, NULL);
    if (error != GRPC_CALL_OK)
        peer_fail("gRPC refuses a batch: %s", grpc_call_error_to_string(error));
}

/* ---- the end ---- */

static void
on_end(bare_tag *tag, bool ok)
{
    struct stream *stream = UDPAI_CONTAINER_OF(tag, struct stream, ended);
    bare_server *server = stream->server;
    udpai_list_remove(&stream->node);
    grpc_call_unref(stream->call);
    udpai_free(stream);
    bare_server_check_end(server);
}

static void
end(struct stream *stream)
{
    const grpc_op ops[] = {
        {
            .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
            .data.send_status_from_server.status = GRPC_STATUS_OK,
        },
        {
            .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
            .data.recv_close_on_server.cancelled = &stream->is_cancelled,
        },
    };
    start_batch(stream, ops, UDPAI_ARRAY_LEN(ops), &stream->ended);
}

/* ---- sending ---- */

static void
send_message(struct stream *stream, grpc_byte_buffer *message)
{
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
    };
    size_t n_skipped = stream->has_sent ? 1 : 0;
    stream->has_sent = stream->is_sending = true;
    start_batch(stream, ops + n_skipped, UDPAI_ARRAY_LEN(ops) - n_skipped, &stream->sent);
    grpc_byte_buffer_destroy(message);
}

static void
send_next(struct stream *stream)
{
    if (stream->is_sending || !stream->has_asked || stream->is_over)
        return;
    grpc_byte_buffer *message = bare_store_next(&stream->server->store, &stream->place);
    if (message)
        send_message(stream, message);
}

static void
on_sent(bare_tag *tag, bool ok)
{
    struct stream *stream = UDPAI_CONTAINER_OF(tag, struct stream, sent);
    stream->is_sending = false;
    if (stream->is_over)
        end(stream);
    else if (ok)
        send_next(stream);
}

void
bare_streams_send(bare_server *server)
{
    UDPAI_LIST_FOREACH (node, &server->streams)
        send_next(UDPAI_LIST_ENTRY(node, struct stream, node));
}

/* ---- receiving ---- */

static void
receive(struct stream *stream)
{
    const grpc_op op = {
        .op = GRPC_OP_RECV_MESSAGE,
        .data.recv_message.recv_message = &stream->request,
    };
    start_batch(stream, &op, 1, &stream->received);
}

/* Without a message the peer has said its last, or has gone. */
static void
on_received(bare_tag *tag, bool ok)
{
    struct stream *stream = UDPAI_CONTAINER_OF(tag, struct stream, received);
    if (!ok || !stream->request) {
        stream->is_over = true;
        if (!stream->is_sending)
            end(stream);
        return;
    }
    grpc_byte_buffer_destroy(UDPAI_TAKE(stream->request));
    stream->has_asked = true;
    receive(stream);
    send_next(stream);
}

void
bare_stream_begin(bare_server *server, grpc_call *call)
{
    struct stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream)
        peer_fail("no memory for a stream");
    stream->server = server;
    stream->call = call;
    stream->received.done = on_received;
    stream->sent.done = on_sent;
    stream->ended.done = on_end;
    udpai_list_append(&server->streams, &stream->node);
    receive(stream);
}
