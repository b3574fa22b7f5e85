/* SPDX-License-Identifier: Apache-2.0 */
#include "raw.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <stdio.h>

#define PATIENCE_S 20

void
raw_connect(raw_client *self,
            int port,
            grpc_channel_credentials *credentials,
            const grpc_channel_args *args)
{
    char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    grpc_init();
    if (!credentials)
        credentials = grpc_insecure_credentials_create();
    /* Without arguments of its own, a connection of its own all the same. */
    grpc_arg own_pool = {.type = GRPC_ARG_INTEGER,
                         .key = (char *)(uintptr_t)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                         .value.integer = 1};
    const grpc_channel_args only_own_pool = {1, &own_pool};
    self->cq = grpc_completion_queue_create_for_next(NULL);
    self->channel = grpc_channel_create(address, credentials, args ? args : &only_own_pool);
    grpc_channel_credentials_release(credentials);
}

void
raw_disconnect(raw_client *self)
{
    grpc_channel_destroy(self->channel);
    grpc_completion_queue_shutdown(self->cq);
    while (grpc_completion_queue_next(self->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        continue;
    grpc_completion_queue_destroy(self->cq);
    grpc_shutdown();
}

void
raw_wait_disconnected(raw_client *self)
{
    gpr_timespec until =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(PATIENCE_S, GPR_TIMESPAN));
    grpc_channel_watch_connectivity_state(self->channel, GRPC_CHANNEL_READY, until, self->cq, self);
    grpc_event event =
        grpc_completion_queue_next(self->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    assert_ptr_equal(event.tag, self);
    if (!event.success)
        fail_msg("the connection does not end within %d s", PATIENCE_S);
}

/* Starts the operations and waits for their end. */
static bool
carry_out(raw_call *call, const grpc_op *ops, size_t n)
{
    assert_int_equal(grpc_call_start_batch(call->call, ops, n, call, NULL), GRPC_CALL_OK);
    gpr_timespec until =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(PATIENCE_S, GPR_TIMESPAN));
    grpc_event event = grpc_completion_queue_next(call->client->cq, until, NULL);
    if (event.type != GRPC_OP_COMPLETE)
        fail_msg("operation %d does not end within %d s", (int)ops[0].op, PATIENCE_S);
    assert_ptr_equal(event.tag, call);
    return event.success;
}

void
raw_begin(raw_client *self, raw_call *call, const char *path)
{
    memset(call, 0, sizeof(*call));
    call->client = self;
    grpc_metadata_array_init(&call->headers);
    grpc_metadata_array_init(&call->trailers);
    grpc_slice method = grpc_slice_from_copied_string(path);
    call->call = grpc_channel_create_call(self->channel, NULL, GRPC_PROPAGATE_DEFAULTS, self->cq,
                                          method, NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_slice_unref(method);
    const grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA,
                        .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY};
    assert_true(carry_out(call, &op, 1));
}

bool
raw_send(raw_call *call, const void *data, size_t len)
{
    grpc_slice slice = grpc_slice_from_copied_buffer(data, len);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    op.data.send_message.send_message = buffer;
    bool sent = carry_out(call, &op, 1);
    grpc_byte_buffer_destroy(buffer);
    grpc_slice_unref(slice);
    return sent;
}

bool
raw_say(raw_call *call, const char *text)
{
    return raw_send(call, text, strlen(text));
}

bool
raw_receive(raw_call *call)
{
    grpc_op ops[2] = {{.op = GRPC_OP_RECV_MESSAGE}, {.op = GRPC_OP_RECV_INITIAL_METADATA}};
    ops[0].data.recv_message.recv_message = &call->received;
    ops[1].data.recv_initial_metadata.recv_initial_metadata = &call->headers;
    bool received = carry_out(call, ops, call->has_headers ? 1 : 2) && call->received;
    call->has_headers = true;
    free(call->data);
    call->data = NULL;
    call->len = 0;
    if (!received)
        return false;
    grpc_byte_buffer_reader reader;
    assert_true(grpc_byte_buffer_reader_init(&reader, call->received));
    grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
    call->len = GRPC_SLICE_LENGTH(all);
    call->data = malloc(call->len + 1);
    memcpy(call->data, GRPC_SLICE_START_PTR(all), call->len);
    grpc_slice_unref(all);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(call->received);
    call->received = NULL;
    return true;
}

void
raw_expect(raw_call *call, const char *text)
{
    assert_true(raw_receive(call));
    assert_str(((udpai_str){call->data, call->len}), text);
}

void
raw_half_close(raw_call *call)
{
    const grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    assert_true(carry_out(call, &op, 1));
}

void
raw_cancel(raw_call *call)
{
    grpc_call_cancel(call->call, NULL);
}

grpc_status_code
raw_status(raw_call *call)
{
    if (call->has_status)
        return call->code;
    while (raw_receive(call)) /* it stands behind the messages */
        continue;
    grpc_slice text = grpc_empty_slice();
    grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    op.data.recv_status_on_client.trailing_metadata = &call->trailers;
    op.data.recv_status_on_client.status = &call->code;
    op.data.recv_status_on_client.status_details = &text;
    carry_out(call, &op, 1);
    snprintf(call->text, sizeof(call->text), "%.*s", (int)GRPC_SLICE_LENGTH(text),
             (const char *)GRPC_SLICE_START_PTR(text));
    grpc_slice_unref(text);
    call->has_status = true;
    return call->code;
}

void
raw_end(raw_call *call)
{
    if (!call->has_status) {
        raw_cancel(call);
        raw_status(call);
    }
    free(call->data);
    grpc_metadata_array_destroy(&call->headers);
    grpc_metadata_array_destroy(&call->trailers);
    grpc_call_unref(call->call);
}
