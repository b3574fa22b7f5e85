/* SPDX-License-Identifier: Apache-2.0 */
/* A stream's life. Three operations may be outstanding: a read, a write, and the question how it
 * ended; while it idles, only the read is. When all have come back after the end, it is freed.
 *
 * Headers go with the first message. It saves a write for each stream, and nobody waits for them: a
 * UDPA session writes its Node at once, and xDS clients wait for responses. */
#include "transport/grpc/call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/utf8.h"
#include "transport/grpc/grpc_internal.h"

static void on_read(udpai_tag *tag, bool ok);
static void on_written(udpai_tag *tag, bool ok);
static void on_end(udpai_tag *tag, bool ok);
static void on_deadline(udpai_timer *timer);

static const udpai_carrier carrier;

udpai_call *
udpai_call_new(udpai_stream_thread *thread, udpai_listener *listener, grpc_call *grpc)
{
    udpai_call *call = udpai_alloc(sizeof(*call));
    if (!call)
        return NULL;
    call->grpc = grpc;
    call->read_tag.done = on_read;
    call->write_tag.done = on_written;
    call->end_tag.done = on_end;
    call->is_reading = true;
    if (listener)
        call->max_message_bytes = listener->max_message_bytes;
    udpai_timer_init(&call->stream.deadline, on_deadline);
    udpai_delayed_read_init(call);
    udpai_turn_init(&call->turn);
    udpai_stream_enter(&call->stream, thread, &carrier, listener);
    return call;
}

static void
begin(udpai_stream *stream)
{
    udpai_call_arm(udpai_call_of(stream));
}

/* ---- the end ---- */

static void
free_dialled(udpai_dialled *dialled)
{
    if (!dialled)
        return;
    grpc_metadata_array_destroy(&dialled->headers);
    grpc_metadata_array_destroy(&dialled->trailers);
    grpc_slice_unref(dialled->text);
    if (dialled->channel)
        grpc_channel_destroy(dialled->channel);
    udpai_report_free(dialled->report);
    udpai_grpc_target_unref(dialled->target);
    udpai_free(dialled);
}

static void
free_call(udpai_call *call)
{
    udpai_delayed_read_end(call);
    udpai_turn_over(call, 0);
    udpai_spread_leave(&call->stream);
    udpai_connection_leave(call);
    if (call->received)
        grpc_byte_buffer_destroy(call->received);
    if (call->grpc)
        grpc_call_unref(call->grpc);
    free_dialled(call->dialled);
    udpa_error_unref(call->status);
    udpa_error_unref(call->why);
    udpai_stream_leave(&call->stream);
    udpai_free(call);
}

static bool
is_over(const udpai_call *call)
{
    bool is_outstanding = call->read_tag.is_out || call->write_tag.is_out || call->end_tag.is_out;
    bool has_reported_end = call->is_broken || call->has_sent_status || call->dialled;
    return call->asked_for_end && !is_outstanding && has_reported_end;
}

void
udpai_call_settle(udpai_call *call)
{
    if (!is_over(call))
        return;
    if (call->stream.handler)
        call->stream.handler->closed(&call->stream, call->is_finishing ? call->status : call->why);
    else if (call->dialled)
        udpai_client_closed(call);
    free_call(call);
}

/* Nothing can be written any more. If we dialled, the peer may have sent the reason: that is waited
 * for, but not for long. */
static void
break_off(udpai_call *call)
{
    if (call->is_broken)
        return;
    call->is_broken = true;
    if (!call->dialled)
        grpc_call_cancel(call->grpc, NULL);
    else if (!call->is_finishing)
        udpai_timer_set(&call->stream.thread->wheel, &call->stream.deadline,
                        call->stream.thread->wheel.now_ms +
                            call->stream.thread->timing.finish_timeout_ms);
}

bool
udpai_call_start(udpai_call *call, const grpc_op *ops, size_t n_ops, udpai_tag *tag)
{
    udpai_tag_begin(call->stream.thread, tag);
    grpc_call_error error = grpc_call_start_batch(call->grpc, ops, n_ops, tag, NULL);
    if (error == GRPC_CALL_OK)
        return true;
    udpai_tag_forget(call->stream.thread, tag);
    udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_GRPC,
              "gRPC refuses an operation of a stream, which ends: %s",
              grpc_call_error_to_string(error));
    call->is_broken = true;
    /* What is outstanding comes back; if nothing is, the timer sees to the end. */
    grpc_call_cancel(call->grpc, NULL);
    udpai_timer_set(&call->stream.thread->wheel, &call->stream.deadline, 0);
    return false;
}

static void
on_deadline(udpai_timer *timer)
{
    udpai_call *call = UDPAI_CONTAINER_OF(timer, udpai_call, stream.deadline);
    if (call->dialled && !call->dialled->is_connected && !call->is_broken) {
        char why[64];
        snprintf(why, sizeof(why), "no answer within %llu ms",
                 (unsigned long long)udpai_client_patience_ms(call));
        udpai_client_give_up(call, GRPC_STATUS_DEADLINE_EXCEEDED, why);
        return;
    }
    if (!call->dialled && !call->is_finishing && !call->is_broken) {
        udpai_stream_end_old(&call->stream);
        return;
    }
    call->is_broken = true;
    grpc_call_cancel(call->grpc, NULL);
    udpai_call_arm(call);
    udpai_call_settle(call);
}

/* ---- reading ---- */

static void
ask_for_end(udpai_call *call)
{
    if (call->asked_for_end)
        return;
    call->asked_for_end = true;
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    if (call->dialled) {
        op.op = GRPC_OP_RECV_STATUS_ON_CLIENT;
        op.data.recv_status_on_client.trailing_metadata = &call->dialled->trailers;
        op.data.recv_status_on_client.status = &call->dialled->code;
        op.data.recv_status_on_client.status_details = &call->dialled->text;
    } else {
        op.data.recv_close_on_server.cancelled = &call->is_cancelled;
    }
    (void)udpai_call_start(call, &op, 1, &call->end_tag);
}

static void
read_one(udpai_call *call)
{
    grpc_op ops[2] = {{.op = GRPC_OP_RECV_MESSAGE}};
    size_t n = 1;
    ops[0].data.recv_message.recv_message = &call->received;
    if (call->dialled && !call->dialled->asked_for_headers) {
        call->dialled->asked_for_headers = true;
        ops[n].op = GRPC_OP_RECV_INITIAL_METADATA;
        ops[n++].data.recv_initial_metadata.recv_initial_metadata = &call->dialled->headers;
    }
    (void)udpai_call_start(call, ops, n, &call->read_tag);
}

/* A stream that is not read is watched for its end. If we dialled, the end comes behind all
 * messages, so once we have ended it they are read, and dropped. */
void
udpai_call_arm(udpai_call *call)
{
    bool is_ending = call->is_finishing || call->is_broken;
    bool reads = is_ending ? call->dialled != NULL : call->is_reading;
    if (call->peer_has_ended || (call->dialled && !call->dialled->is_connected))
        reads = false;
    if (reads && !call->read_tag.is_out && !udpai_is_read_delayed(call)) {
        if (udpai_turn_has_come(call))
            read_one(call);
        else
            reads = false;
    }
    if (is_ending || !reads)
        ask_for_end(call);
}

/* Consumes the error. */
static void
refuse(udpai_call *call, udpa_error *error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(call->grpc);
    udpai_str peer = address ? udpai_bytes_view(address) : UDPAI_STR("a peer");
    udpai_stream_end_greedy(&call->stream, peer, error);
}

void
udpai_call_refuse_size(udpai_call *call, size_t size)
{
    refuse(call, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                "a message of %zu bytes is too large: at most %zu are taken here "
                                "(%s)",
                                size, call->max_message_bytes,
                                call->dialled ? "limits.max_message_bytes_from_sources"
                                              : "max_message_bytes of the socket"));
}

void
udpai_call_refuse_load(udpai_call *call, uint64_t size)
{
    refuse(call, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                "too much is sent to this node at once: of this stream there are "
                                "%" PRIu64 " bytes of a message that is not complete: try again",
                                size));
}

void
udpai_call_refuse_stall(udpai_call *call, uint64_t size, unsigned seconds)
{
    refuse(call, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                "after %" PRIu64 " bytes nothing of a message has come for %u "
                                "seconds, while there is no room for others: try again",
                                size, seconds));
}

/* This gRPC ends the call for it, too, but may hand over the message before. */
static void
refuse_compressed(udpai_call *call)
{
    udpai_stream_end(&call->stream,
                     udpa_error_new(UDPA_ERR_UNIMPLEMENTED, NULL,
                                    "a message is compressed, and nothing is decompressed here: "
                                    "send it as it is (grpc-encoding: identity)"));
}

static void
deliver(udpai_call *call, grpc_byte_buffer *buffer)
{
    if (call->is_finishing || call->is_broken || !call->stream.handler)
        return;
    if (buffer->data.raw.compression != GRPC_COMPRESS_NONE) {
        refuse_compressed(call);
        return;
    }
    size_t size = grpc_byte_buffer_length(buffer);
    if (size > call->max_message_bytes) {
        udpai_call_refuse_size(call, size);
        return;
    }
    grpc_slice owned;
    udpai_str message = udpai_slices_join(buffer, &owned);
    call->stream.handler->receive(&call->stream, message);
    grpc_slice_unref(owned);
}

/* A peer that has dialled us and sends that it will send no more has ended the stream in peace; if
 * it sent nothing, it was cut. What those that we dialled mean is in their status. */
static void
take_end(udpai_call *call, bool ok)
{
    call->peer_has_ended = true;
    if (call->dialled || call->is_finishing)
        return;
    if (!ok || grpc_call_failed_before_recv_message(call->grpc))
        break_off(call);
    else if (call->stream.handler)
        call->stream.handler->ended(&call->stream);
}

static void
on_read(udpai_tag *tag, bool ok)
{
    udpai_call *call = UDPAI_CONTAINER_OF(tag, udpai_call, read_tag);
    grpc_byte_buffer *buffer = UDPAI_TAKE(call->received);
    size_t size = buffer ? grpc_byte_buffer_length(buffer) : 0;
    if (buffer) {
        deliver(call, buffer);
        grpc_byte_buffer_destroy(buffer);
        udpai_delayed_read_consider(call);
    } else {
        take_end(call, ok);
    }
    udpai_turn_over(call, size);
    udpai_call_arm(call);
    udpai_call_settle(call);
}

static void
on_end(udpai_tag *tag, bool ok)
{
    (void)ok; /* always */
    udpai_call *call = UDPAI_CONTAINER_OF(tag, udpai_call, end_tag);
    if (call->dialled) {
        call->peer_has_ended = true;
        call->is_broken = true;
        call->why = udpai_client_why(call);
    } else if (!call->has_sent_status) {
        call->why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                   "the peer or the network has cut the stream");
        break_off(call);
    }
    udpai_call_settle(call);
}

static void
set_reading(udpai_stream *stream, bool reading)
{
    udpai_call *call = udpai_call_of(stream);
    call->is_reading = reading;
    /* In receive() the next read has not begun: nothing is to be done before that has returned. A
     * message that is under way already still comes. */
    udpai_call_arm(call);
}

/* ---- writing ---- */

static size_t
put_headers(udpai_call *call, grpc_op *op)
{
    if (call->dialled || call->has_sent_headers)
        return 0;
    call->has_sent_headers = true;
    op->op = GRPC_OP_SEND_INITIAL_METADATA;
    return 1;
}

static void
write_message(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_call *call = udpai_call_of(stream);
    /* What will not be read is dropped; its writer is notified of the end. */
    if (call->is_broken || call->is_finishing)
        return;
    assert(!call->write_tag.is_out);
    grpc_byte_buffer *buffer = udpai_slices_from(message);
    if (!buffer) {
        break_off(call);
        return;
    }
    grpc_op ops[3] = {{0}};
    size_t n = put_headers(call, ops);
    ops[n].op = GRPC_OP_SEND_MESSAGE;
    ops[n++].data.send_message.send_message = buffer;
    if (message->is_last && call->dialled) {
        call->has_sent_status = true;
        ops[n++].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    }
    size_t size = grpc_byte_buffer_length(buffer); /* what is sent is taken out of it */
    (void)udpai_call_start(call, ops, n, &call->write_tag);
    grpc_byte_buffer_destroy(buffer);
    udpai_delayed_read_written(call, size, message->is_answered);
}

static void
send_status(udpai_call *call)
{
    grpc_op ops[2] = {{0}};
    size_t n = put_headers(call, ops);
    char text[UDPAI_STATUS_TEXT_MAX];
    snprintf(text, sizeof(text), "%s", call->status ? udpa_error_message(call->status) : "");
    udpai_utf8_mend(text); /* the cut may fall into a character */
    grpc_slice details = grpc_slice_from_copied_string(text);
    char number[16];
    snprintf(number, sizeof(number), "%u", (unsigned)call->stream.pushback_ms);
    grpc_metadata pushback = {.key = grpc_slice_from_static_string("grpc-retry-pushback-ms"),
                              .value = grpc_slice_from_copied_string(number)};
    ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[n].data.send_status_from_server.trailing_metadata = &pushback;
    ops[n].data.send_status_from_server.trailing_metadata_count = call->stream.pushback_ms != 0;
    ops[n].data.send_status_from_server.status =
        (grpc_status_code)udpa_err_to_grpc(udpa_error_code(call->status));
    ops[n++].data.send_status_from_server.status_details = &details;
    (void)udpai_call_start(call, ops, n, &call->write_tag);
    grpc_slice_unref(details);
    grpc_slice_unref(pushback.value);
}

/* After what is being written. */
static void
report_end(udpai_call *call)
{
    if (!call->is_finishing || call->is_broken || call->has_sent_status || call->write_tag.is_out)
        return;
    call->has_sent_status = true;
    if (!call->dialled) {
        send_status(call);
        return;
    }
    const grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    (void)udpai_call_start(call, &op, 1, &call->write_tag);
}

static void
on_written(udpai_tag *tag, bool ok)
{
    udpai_call *call = UDPAI_CONTAINER_OF(tag, udpai_call, write_tag);
    if (call->dialled && !call->dialled->is_connected)
        udpai_client_connected(call, ok);
    else if (!ok)
        break_off(call);
    else if (!call->is_finishing && !call->is_broken && call->stream.handler &&
             call->stream.handler->written)
        call->stream.handler->written(&call->stream);
    report_end(call);
    udpai_call_arm(call);
    udpai_call_settle(call);
}

/* A client cannot send a status: it half-closes in peace, and resets the stream otherwise. */
static void
finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_call *call = udpai_call_of(stream);
    if (call->is_finishing)
        return;
    if (call->dialled && !call->dialled->is_connected) {
        udpai_client_give_up(call, GRPC_STATUS_CANCELLED, udpa_error_message(status));
        return;
    }
    udpai_delayed_read_end(call);
    udpai_spread_leave(stream);
    call->is_finishing = true;
    call->status = udpa_error_ref((udpa_error *)(uintptr_t)status);
    udpai_timer_set(&call->stream.thread->wheel, &call->stream.deadline,
                    call->stream.thread->wheel.now_ms +
                        call->stream.thread->timing.finish_timeout_ms);
    if (call->dialled && status) {
        call->is_broken = true;
        grpc_call_cancel_with_status(call->grpc,
                                     (grpc_status_code)udpa_err_to_grpc(udpa_error_code(status)),
                                     "ended by this side", NULL);
    }
    report_end(call);
    udpai_call_arm(call);
}

static void
hurry(udpai_stream *stream, uint64_t ms)
{
    udpai_timer_set(&stream->thread->wheel, &stream->deadline, stream->thread->wheel.now_ms + ms);
}

static void
cut(udpai_stream *stream)
{
    udpai_call *call = udpai_call_of(stream);
    call->is_broken = true;
    grpc_call_cancel(call->grpc, NULL);
    udpai_call_arm(call);
}

static bool
is_alone(const udpai_stream *stream)
{
    return udpai_connection_is_alone(udpai_call_of_const(stream));
}

static bool
is_beside(const udpai_stream *stream, const udpai_stream *other)
{
    return udpai_call_of_const(stream)->connection == udpai_call_of_const(other)->connection;
}

static void
close_after(udpai_stream *stream, bool closes)
{
    if (closes)
        udpai_connection_close_after(udpai_call_of(stream));
    else
        udpai_connection_keep(udpai_call_of(stream));
}

static const udpai_carrier carrier = {
    .begin = begin,
    .write = write_message,
    .set_reading = set_reading,
    .finish = finish,
    .hurry = hurry,
    .cut = cut,
    .is_alone = is_alone,
    .is_beside = is_beside,
    .close_after = close_after,
};
