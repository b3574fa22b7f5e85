/* SPDX-License-Identifier: Apache-2.0 */
/* A stream's life. Three operations may be outstanding: a read, a write, and the question how it
 * ended; while it idles, only the read is. When all have come back after the end, it is freed.
 *
 * Headers go with the first message. It saves a write for each stream, and nobody waits for them: a
 * UDPA session writes its Node at once, and xDS clients wait for responses. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "transport/grpc/grpc_internal.h"

static void on_read(udpai_tag *tag, bool ok);
static void on_written(udpai_tag *tag, bool ok);
static void on_end(udpai_tag *tag, bool ok);
static void on_deadline(udpai_timer *timer);
static void end_with(udpai_stream *stream, udpa_error *error);

udpai_stream *
udpai_stream_new(udpai_stream_thread *thread, grpc_call *call)
{
    udpai_stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream)
        return NULL;
    stream->thread = thread;
    stream->call = call;
    stream->read_tag.done = on_read;
    stream->write_tag.done = on_written;
    stream->end_tag.done = on_end;
    stream->is_reading = true;
    udpai_timer_init(&stream->deadline, on_deadline);
    udpai_delayed_read_init(stream);
    udpai_turn_init(&stream->turn);
    udpai_list_init(&stream->in_listener);
    udpai_list_init(&stream->node);
    udpai_list_append(&thread->streams, &stream->node);
    thread->n_streams++;
    udpai_thread_count(thread);
    return stream;
}

void
udpai_stream_open(udpai_stream *stream, const udpai_stream_handler *handler, void *context)
{
    stream->handler = handler;
    stream->context = context;
    udpai_spread_begin_age(stream);
    udpai_stream_arm(stream);
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
free_stream(udpai_stream *stream)
{
    udpai_stream_thread *thread = stream->thread;
    udpai_listener *listener = stream->listener;
    udpai_timer_cancel(&stream->deadline);
    udpai_delayed_read_end(stream);
    udpai_turn_over(stream, 0);
    udpai_spread_leave(stream);
    udpai_connection_leave(stream);
    udpai_list_remove(&stream->node);
    udpai_list_remove(&stream->in_listener);
    if (stream->received)
        grpc_byte_buffer_destroy(stream->received);
    if (stream->call)
        grpc_call_unref(stream->call);
    if (stream->admitted)
        udpai_admission_leave(&thread->admission, stream->admitted);
    udpai_bearer_leave(&stream->bearer);
    free_dialled(stream->dialled);
    udpa_error_unref(stream->status);
    udpa_error_unref(stream->why);
    thread->n_streams--;
    thread->n_refusals -= stream->is_refusal;
    udpai_free(stream);
    udpai_thread_count(thread);
    if (listener)
        udpai_listener_check_end(listener);
    udpai_thread_check_end(thread);
}

static bool
is_over(const udpai_stream *stream)
{
    bool is_outstanding =
        stream->read_tag.is_out || stream->write_tag.is_out || stream->end_tag.is_out;
    bool has_reported_end = stream->is_broken || stream->has_sent_status || stream->dialled;
    return stream->asked_for_end && !is_outstanding && has_reported_end;
}

void
udpai_stream_settle(udpai_stream *stream)
{
    if (!is_over(stream))
        return;
    if (stream->handler)
        stream->handler->closed(stream, stream->is_finishing ? stream->status : stream->why);
    else if (stream->dialled)
        udpai_client_closed(stream);
    free_stream(stream);
}

/* Nothing can be written any more. If we dialled, the peer may have sent the reason: that is waited
 * for, but not for long. */
static void
break_off(udpai_stream *stream)
{
    if (stream->is_broken)
        return;
    stream->is_broken = true;
    if (!stream->dialled)
        grpc_call_cancel(stream->call, NULL);
    else if (!stream->is_finishing)
        udpai_timer_set(&stream->thread->wheel, &stream->deadline,
                        stream->thread->wheel.now_ms + stream->thread->timing.finish_timeout_ms);
}

bool
udpai_stream_start(udpai_stream *stream, const grpc_op *ops, size_t n_ops, udpai_tag *tag)
{
    udpai_tag_begin(stream->thread, tag);
    grpc_call_error error = grpc_call_start_batch(stream->call, ops, n_ops, tag, NULL);
    if (error == GRPC_CALL_OK)
        return true;
    udpai_tag_forget(stream->thread, tag);
    udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_GRPC,
              "gRPC refuses an operation of a stream, which ends: %s",
              grpc_call_error_to_string(error));
    stream->is_broken = true;
    /* What is outstanding comes back; if nothing is, the timer sees to the end. */
    grpc_call_cancel(stream->call, NULL);
    udpai_timer_set(&stream->thread->wheel, &stream->deadline, 0);
    return false;
}

static void
on_deadline(udpai_timer *timer)
{
    udpai_stream *stream = UDPAI_CONTAINER_OF(timer, udpai_stream, deadline);
    if (stream->dialled && !stream->dialled->is_connected && !stream->is_broken) {
        char why[64];
        snprintf(why, sizeof(why), "no answer within %llu ms",
                 (unsigned long long)udpai_client_patience_ms(stream));
        udpai_client_give_up(stream, GRPC_STATUS_DEADLINE_EXCEEDED, why);
        return;
    }
    if (!stream->dialled && !stream->is_finishing && !stream->is_broken) {
        udpai_spread_count_old(stream->thread);
        end_with(stream, udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                        "this stream has its age "
                                        "(timing.max_stream_age): connect again"));
        return;
    }
    stream->is_broken = true;
    grpc_call_cancel(stream->call, NULL);
    udpai_stream_arm(stream);
    udpai_stream_settle(stream);
}

/* ---- reading ---- */

static void
ask_for_end(udpai_stream *stream)
{
    if (stream->asked_for_end)
        return;
    stream->asked_for_end = true;
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    if (stream->dialled) {
        op.op = GRPC_OP_RECV_STATUS_ON_CLIENT;
        op.data.recv_status_on_client.trailing_metadata = &stream->dialled->trailers;
        op.data.recv_status_on_client.status = &stream->dialled->code;
        op.data.recv_status_on_client.status_details = &stream->dialled->text;
    } else {
        op.data.recv_close_on_server.cancelled = &stream->is_cancelled;
    }
    (void)udpai_stream_start(stream, &op, 1, &stream->end_tag);
}

static void
read_one(udpai_stream *stream)
{
    grpc_op ops[2] = {{.op = GRPC_OP_RECV_MESSAGE}};
    size_t n = 1;
    ops[0].data.recv_message.recv_message = &stream->received;
    if (stream->dialled && !stream->dialled->asked_for_headers) {
        stream->dialled->asked_for_headers = true;
        ops[n].op = GRPC_OP_RECV_INITIAL_METADATA;
        ops[n++].data.recv_initial_metadata.recv_initial_metadata = &stream->dialled->headers;
    }
    (void)udpai_stream_start(stream, ops, n, &stream->read_tag);
}

/* A stream that is not read is watched for its end. If we dialled, the end comes behind all
 * messages, so once we have ended it they are read, and dropped. */
void
udpai_stream_arm(udpai_stream *stream)
{
    bool is_ending = stream->is_finishing || stream->is_broken;
    bool reads = is_ending ? stream->dialled != NULL : stream->is_reading;
    if (stream->peer_has_ended || (stream->dialled && !stream->dialled->is_connected))
        reads = false;
    if (reads && !stream->read_tag.is_out && !udpai_is_read_delayed(stream)) {
        if (udpai_turn_has_come(stream))
            read_one(stream);
        else
            reads = false;
    }
    if (is_ending || !reads)
        ask_for_end(stream);
}

/* Consumes the error. */
static void
end_with(udpai_stream *stream, udpa_error *error)
{
    udpai_session *session = udpai_session_of_stream(stream);
    if (session) {
        udpai_session_finish(session, error);
        return;
    }
    udpai_stream_finish(stream, error);
    udpa_error_unref(error);
}

/* A peer that is ended so will try it again, so it is logged. Consumes the error. */
static void
refuse(udpai_stream *stream, udpa_error *error)
{
    udpai_stream_thread *thread = stream->thread;
    unsigned n_suppressed;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(stream->call);
    udpai_str peer = address ? udpai_bytes_view(address) : UDPAI_STR("a peer");
    atomic_fetch_add_explicit(&thread->stat_too_large, 1, memory_order_relaxed);
    if (udpai_log_allow(&thread->too_large_log, thread->wheel.now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
                  "a stream of %.*s is ended: %s (%u more not shown)", (int)peer.len, peer.data,
                  error ? udpa_error_message(error) : "out of memory", n_suppressed);
    end_with(stream, error);
}

void
udpai_stream_refuse_size(udpai_stream *stream, size_t size)
{
    refuse(stream, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                  "a message of %zu bytes is too large: at most %zu are taken here "
                                  "(%s)",
                                  size, stream->max_message_bytes,
                                  stream->dialled ? "limits.max_message_bytes_from_sources"
                                                  : "max_message_bytes of the socket"));
}

void
udpai_stream_refuse_load(udpai_stream *stream, uint64_t size)
{
    refuse(stream, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                  "too much is sent to this node at once: of this stream there are "
                                  "%" PRIu64 " bytes of a message that is not complete: try again",
                                  size));
}

void
udpai_stream_refuse_stall(udpai_stream *stream, uint64_t size, unsigned seconds)
{
    refuse(stream, udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                  "after %" PRIu64 " bytes nothing of a message has come for %u "
                                  "seconds, while there is no room for others: try again",
                                  size, seconds));
}

/* This gRPC ends the call for it, too, but may hand over the message before. */
static void
refuse_compressed(udpai_stream *stream)
{
    end_with(stream, udpa_error_new(UDPA_ERR_UNIMPLEMENTED, NULL,
                                    "a message is compressed, and nothing is decompressed here: "
                                    "send it as it is (grpc-encoding: identity)"));
}

static void
deliver(udpai_stream *stream, grpc_byte_buffer *buffer)
{
    if (stream->is_finishing || stream->is_broken || !stream->handler)
        return;
    if (buffer->data.raw.compression != GRPC_COMPRESS_NONE) {
        refuse_compressed(stream);
        return;
    }
    size_t size = grpc_byte_buffer_length(buffer);
    if (size > stream->max_message_bytes) {
        udpai_stream_refuse_size(stream, size);
        return;
    }
    grpc_slice owned;
    udpai_str message = udpai_slices_join(buffer, &owned);
    stream->handler->receive(stream, message);
    grpc_slice_unref(owned);
}

/* A peer that has dialled us and sends that it will send no more has ended the stream in peace; if
 * it sent nothing, it was cut. What those that we dialled mean is in their status. */
static void
take_end(udpai_stream *stream, bool ok)
{
    stream->peer_has_ended = true;
    if (stream->dialled || stream->is_finishing)
        return;
    if (!ok || grpc_call_failed_before_recv_message(stream->call))
        break_off(stream);
    else if (stream->handler)
        stream->handler->ended(stream);
}

static void
on_read(udpai_tag *tag, bool ok)
{
    udpai_stream *stream = UDPAI_CONTAINER_OF(tag, udpai_stream, read_tag);
    grpc_byte_buffer *buffer = UDPAI_TAKE(stream->received);
    size_t size = buffer ? grpc_byte_buffer_length(buffer) : 0;
    if (buffer) {
        deliver(stream, buffer);
        grpc_byte_buffer_destroy(buffer);
        udpai_delayed_read_consider(stream);
    } else {
        take_end(stream, ok);
    }
    udpai_turn_over(stream, size);
    udpai_stream_arm(stream);
    udpai_stream_settle(stream);
}

static void
on_end(udpai_tag *tag, bool ok)
{
    (void)ok; /* always */
    udpai_stream *stream = UDPAI_CONTAINER_OF(tag, udpai_stream, end_tag);
    if (stream->dialled) {
        stream->peer_has_ended = true;
        stream->is_broken = true;
        stream->why = udpai_client_why(stream);
    } else if (!stream->has_sent_status) {
        stream->why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                     "the peer or the network has cut the stream");
        break_off(stream);
    }
    udpai_stream_settle(stream);
}

void
udpai_stream_set_reading(udpai_stream *stream, bool reading)
{
    stream->is_reading = reading;
    /* In receive() the next read has not begun: nothing is to be done before that has returned. A
     * message that is under way already still comes. */
    udpai_stream_arm(stream);
}

/* ---- writing ---- */

static size_t
put_headers(udpai_stream *stream, grpc_op *op)
{
    if (stream->dialled || stream->has_sent_headers)
        return 0;
    stream->has_sent_headers = true;
    op->op = GRPC_OP_SEND_INITIAL_METADATA;
    return 1;
}

void
udpai_stream_write(udpai_stream *stream, const udpai_outgoing *message)
{
    /* What will not be read is dropped; its writer is notified of the end. */
    if (stream->is_broken || stream->is_finishing)
        return;
    assert(!stream->write_tag.is_out);
    grpc_byte_buffer *buffer = udpai_slices_from(message);
    if (!buffer) {
        break_off(stream);
        return;
    }
    grpc_op ops[3] = {{0}};
    size_t n = put_headers(stream, ops);
    ops[n].op = GRPC_OP_SEND_MESSAGE;
    ops[n++].data.send_message.send_message = buffer;
    if (message->is_last && stream->dialled) {
        stream->has_sent_status = true;
        ops[n++].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
    }
    size_t size = grpc_byte_buffer_length(buffer); /* what is sent is taken out of it */
    (void)udpai_stream_start(stream, ops, n, &stream->write_tag);
    grpc_byte_buffer_destroy(buffer);
    udpai_delayed_read_written(stream, size, message->is_answered);
}

static void
send_status(udpai_stream *stream)
{
    grpc_op ops[2] = {{0}};
    size_t n = put_headers(stream, ops);
    char text[UDPAI_STATUS_TEXT_MAX];
    snprintf(text, sizeof(text), "%s", stream->status ? udpa_error_message(stream->status) : "");
    udpai_utf8_mend(text); /* the cut may fall into a character */
    grpc_slice details = grpc_slice_from_copied_string(text);
    char number[16];
    snprintf(number, sizeof(number), "%u", (unsigned)stream->pushback_ms);
    grpc_metadata pushback = {.key = grpc_slice_from_static_string("grpc-retry-pushback-ms"),
                              .value = grpc_slice_from_copied_string(number)};
    ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    ops[n].data.send_status_from_server.trailing_metadata = &pushback;
    ops[n].data.send_status_from_server.trailing_metadata_count = stream->pushback_ms != 0;
    ops[n].data.send_status_from_server.status =
        (grpc_status_code)udpa_err_to_grpc(udpa_error_code(stream->status));
    ops[n++].data.send_status_from_server.status_details = &details;
    (void)udpai_stream_start(stream, ops, n, &stream->write_tag);
    grpc_slice_unref(details);
    grpc_slice_unref(pushback.value);
}

/* After what is being written. */
static void
report_end(udpai_stream *stream)
{
    if (!stream->is_finishing || stream->is_broken || stream->has_sent_status ||
        stream->write_tag.is_out)
        return;
    stream->has_sent_status = true;
    if (!stream->dialled) {
        send_status(stream);
        return;
    }
    const grpc_op op = {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
    (void)udpai_stream_start(stream, &op, 1, &stream->write_tag);
}

static void
on_written(udpai_tag *tag, bool ok)
{
    udpai_stream *stream = UDPAI_CONTAINER_OF(tag, udpai_stream, write_tag);
    if (stream->dialled && !stream->dialled->is_connected)
        udpai_client_connected(stream, ok);
    else if (!ok)
        break_off(stream);
    else if (!stream->is_finishing && !stream->is_broken && stream->handler &&
             stream->handler->written)
        stream->handler->written(stream);
    report_end(stream);
    udpai_stream_arm(stream);
    udpai_stream_settle(stream);
}

/* A client cannot send a status: it half-closes in peace, and resets the stream otherwise. */
void
udpai_stream_finish(udpai_stream *stream, const udpa_error *status)
{
    if (stream->is_finishing)
        return;
    udpai_delayed_read_end(stream);
    udpai_spread_leave(stream);
    stream->is_finishing = true;
    stream->status = udpa_error_ref((udpa_error *)(uintptr_t)status);
    udpai_timer_set(&stream->thread->wheel, &stream->deadline,
                    stream->thread->wheel.now_ms + stream->thread->timing.finish_timeout_ms);
    if (stream->dialled && status) {
        stream->is_broken = true;
        grpc_call_cancel_with_status(stream->call,
                                     (grpc_status_code)udpa_err_to_grpc(udpa_error_code(status)),
                                     "ended by this side", NULL);
    }
    report_end(stream);
    udpai_stream_arm(stream);
}

const udpai_stream_ops udpai_grpc_stream_ops = {
    .write = udpai_stream_write,
    .set_reading = udpai_stream_set_reading,
    .finish = udpai_stream_finish,
};
