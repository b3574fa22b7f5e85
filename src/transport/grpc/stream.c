/* SPDX-License-Identifier: Apache-2.0 */
/* What streams have in common, whatever carries them. */
#include "transport/grpc/stream.h"

#include "base/bytes.h"
#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

/* A peer that is cut off has so long to take the reason. */
#define CUT_OFF_MS 1000

/* ---- its life ---- */

void
udpai_stream_enter(udpai_stream *stream,
                   udpai_stream_thread *thread,
                   const udpai_carrier *carrier,
                   udpai_listener *listener)
{
    stream->thread = thread;
    stream->carrier = carrier;
    stream->listener = listener;
    udpai_list_init(&stream->in_listener);
    udpai_list_init(&stream->node);
    udpai_list_append(&thread->streams, &stream->node);
    if (listener)
        udpai_list_append(&listener->streams, &stream->in_listener);
    thread->n_streams++;
    udpai_thread_count(thread);
}

void
udpai_stream_leave(udpai_stream *stream)
{
    udpai_stream_thread *thread = stream->thread;
    udpai_listener *listener = stream->listener;
    udpai_timer_cancel(&stream->deadline);
    udpai_spread_leave(stream);
    udpai_drain_leave(stream);
    udpai_list_remove(&stream->node);
    udpai_list_remove(&stream->in_listener);
    if (stream->admitted)
        udpai_admission_leave(&thread->admission, stream->admitted);
    udpai_bearer_leave(&stream->bearer);
    thread->n_streams--;
    thread->n_refusals -= stream->is_refusal;
    udpai_thread_count(thread);
    if (listener)
        udpai_listener_check_end(listener);
    udpai_thread_check_end(thread);
}

void
udpai_stream_open(udpai_stream *stream, const udpai_stream_handler *handler, void *context)
{
    stream->handler = handler;
    stream->context = context;
    udpai_spread_begin_age(stream);
    stream->carrier->begin(stream);
}

/* ---- what its handler does with it ---- */

void
udpai_stream_write(udpai_stream *stream, const udpai_outgoing *message)
{
    stream->carrier->write(stream, message);
}

void
udpai_stream_set_reading(udpai_stream *stream, bool reading)
{
    stream->carrier->set_reading(stream, reading);
}

void
udpai_stream_finish(udpai_stream *stream, const udpa_error *status)
{
    stream->carrier->finish(stream, status);
}

/* ---- the end ---- */

void
udpai_stream_end(udpai_stream *stream, udpa_error *error)
{
    udpai_session *session = udpai_session_of_stream(stream);
    if (session) {
        udpai_session_finish(session, error);
        return;
    }
    udpai_stream_finish(stream, error);
    udpa_error_unref(error);
}

void
udpai_stream_end_old(udpai_stream *stream)
{
    udpai_spread_count_old(stream->thread);
    udpai_stream_end(stream, udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                            "this stream has its age "
                                            "(timing.max_stream_age): connect again"));
}

/* Its peer will try it again, so it is logged. */
void
udpai_stream_end_greedy(udpai_stream *stream, udpai_str address, udpa_error *error)
{
    udpai_stream_thread *thread = stream->thread;
    unsigned n_suppressed;
    atomic_fetch_add_explicit(&thread->stat_too_large, 1, memory_order_relaxed);
    if (udpai_log_allow(&thread->too_large_log, thread->wheel.now_ms, &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
            UDPAI_ABOUT({UDPAI_LOG_ADDRESS, address}, {UDPAI_LOG_CODE, udpai_log_code(error)}),
            "a stream of %.*s is ended: %s (%u more not shown)", (int)address.len, address.data,
            error ? udpa_error_message(error) : "out of memory", n_suppressed);
    udpai_stream_end(stream, error);
}

/* ---- what its peer has presented ---- */

/* It need not take the time to read why. */
static void
on_lost(udpai_bearer *bearer, const udpa_error *why, bool is_disowned)
{
    udpai_stream *stream = UDPAI_CONTAINER_OF(bearer, udpai_stream, bearer);
    udpai_session *session = udpai_session_of_stream(stream);
    if (session) {
        session->is_disowned = is_disowned;
        session->is_cut_off = true;
    }
    udpai_stream_end(stream, udpa_error_ref((udpa_error *)(uintptr_t)why));
    stream->carrier->hurry(stream, CUT_OFF_MS);
}

udpa_err
udpai_stream_present(udpai_stream *stream, const udpai_presented *presented, udpa_error **ret_error)
{
    stream->bearer.lose = on_lost;
    return udpai_bearer_enter(stream->thread, &stream->bearer, presented, ret_error);
}
