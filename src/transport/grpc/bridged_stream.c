/* SPDX-License-Identifier: Apache-2.0 */
/* Visits: sessions on the stream thread whose stream is no call of gRPC, but one request that
 * another thread brings, and that takes the answer away. To the hub they are streams like any
 * other; what the hub must not hear before its call has returned waits in due_bridged. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

void
udpai_bridged_stream_init(udpai_bridged_stream *bridged)
{
    memset(bridged, 0, sizeof(*bridged));
    atomic_init(&bridged->refs, 1);
    udpai_list_init(&bridged->node);
    udpai_list_init(&bridged->in_due);
}

udpai_bridged_stream *
udpai_bridged_stream_ref(udpai_bridged_stream *bridged)
{
    atomic_fetch_add_explicit(&bridged->refs, 1, memory_order_relaxed);
    return bridged;
}

udpai_bridged_stream *
udpai_bridged_stream_unref(udpai_bridged_stream *bridged)
{
    if (!bridged || atomic_fetch_sub_explicit(&bridged->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < bridged->parts.n; i++)
        udpa_bytes_unref(bridged->parts.items[i]);
    udpai_vector_done(&bridged->parts);
    udpa_error_unref(bridged->error);
    udpai_identity_unref(bridged->identity);
    udpai_chain_unref(bridged->chain);
    udpai_trust_unref(bridged->trust);
    udpa_bytes_unref(bridged->address);
    udpa_bytes_unref(bridged->message);
    bridged->free(bridged);
    return NULL;
}

/* ---- what the hub asks of it ---- */

/* The hub knows a bridged stream by its address alone. */
static udpai_bridged_stream *
bridged_of(udpai_stream *stream)
{
    return (udpai_bridged_stream *)stream;
}

static void
make_due(udpai_bridged_stream *bridged)
{
    if (!udpai_list_linked(&bridged->in_due))
        udpai_list_append(&bridged->thread->due_bridged, &bridged->in_due);
}

/* Without memory there is no answer rather than a part of one. */
static void
take_parts(udpai_bridged_stream *bridged, const udpai_outgoing *message)
{
    udpa_bytes *tail = NULL;
    bool taken = udpai_vector_reserve(&bridged->parts, message->n_parts + 1) &&
                 udpa_bytes_new(&tail, message->tail, message->tail_len) == UDPA_OK;
    if (!taken) {
        bridged->error = udpa_error_new(UDPA_ERR_NOMEM, NULL, "%s", udpa_err_text(UDPA_ERR_NOMEM));
        return;
    }
    for (size_t i = 0; i < message->n_parts; i++)
        bridged->parts.items[bridged->parts.n++] = udpa_bytes_ref(message->parts[i]);
    bridged->parts.items[bridged->parts.n++] = tail;
}

static void
bridged_write(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_bridged_stream *bridged = bridged_of(stream);
    if (bridged->parts.n == 0 && !bridged->error) /* there is one answer, the first */
        take_parts(bridged, message);
    bridged->is_written = true;
    make_due(bridged);
}

static void
bridged_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading; /* all there is was read */
}

static void
bridged_finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_bridged_stream *bridged = bridged_of(stream);
    if (!bridged->error)
        bridged->error = udpa_error_ref((udpa_error *)(uintptr_t)status);
    bridged->is_finished = true;
    make_due(bridged);
}

static const udpai_stream_ops ops = {
    .write = bridged_write,
    .set_reading = bridged_set_reading,
    .finish = bridged_finish,
};

/* ---- its life ---- */

static void
end(udpai_bridged_stream *bridged)
{
    udpai_stream_thread *thread = bridged->thread;
    udpai_list_remove(&bridged->node);
    udpai_list_remove(&bridged->in_due);
    if (bridged->session)
        udpai_session_closed(UDPAI_TAKE(bridged->session), bridged->error);
    udpai_bearer_leave(&bridged->bearer);
    if (bridged->admitted)
        udpai_admission_leave(&thread->admission, UDPAI_TAKE(bridged->admitted));
    bridged->over(bridged);
    udpai_bridged_stream_unref(bridged);
    udpai_thread_check_end(thread);
}

bool
udpai_visits_settle(udpai_stream_thread *thread)
{
    udpai_list due, *at;
    udpai_list_init(&due);
    udpai_list_splice(&due, &thread->due_bridged);
    if (udpai_list_empty(&due))
        return false;
    while ((at = udpai_list_pop(&due))) {
        udpai_bridged_stream *bridged = UDPAI_LIST_ENTRY(at, udpai_bridged_stream, in_due);
        bool is_written = bridged->is_written;
        bridged->is_written = false;
        if (bridged->is_finished)
            end(bridged);
        else if (is_written)
            udpai_session_written(bridged->session);
    }
    return true;
}

void
udpai_visits_finish(udpai_stream_thread *thread, const udpa_error *why)
{
    UDPAI_LIST_FOREACH (at, &thread->bridged)
        udpai_session_finish(UDPAI_LIST_ENTRY(at, udpai_bridged_stream, node)->session,
                             udpa_error_ref((udpa_error *)(uintptr_t)why));
}

/* ---- beginning ---- */

static void
on_lost(udpai_bearer *bearer, const udpa_error *why, bool is_disowned)
{
    const udpai_bridged_stream *bridged = UDPAI_CONTAINER_OF(bearer, udpai_bridged_stream, bearer);
    (void)is_disowned; /* who asks once publishes nothing */
    udpai_session_finish(bridged->session, udpa_error_ref((udpa_error *)(uintptr_t)why));
}

static udpa_err
open_session(udpai_bridged_stream *bridged, udpa_error **ret_error)
{
    udpai_stream_thread *thread = bridged->thread;
    const udpai_stream_info info = {
        .stream = (udpai_stream *)bridged,
        .ops = &ops,
        .identity = bridged->identity,
        .address = bridged->address,
        .patience_ms = bridged->patience_ms,
        .is_secure = bridged->is_secure,
        .context = bridged->method.context,
    };
    const udpai_client client = {.identity = bridged->identity,
                                 .address = udpai_bytes_view(bridged->address)};
    const udpai_presented presented = {bridged->trust, bridged->chain, false};
    bridged->bearer.lose = on_lost;
    udpa_err err = udpai_bearer_enter(thread, &bridged->bearer, &presented, ret_error);
    if (err == UDPA_OK)
        err = udpai_admission_enter(&thread->admission, &client, &bridged->admitted, ret_error);
    if (err == UDPA_OK && !bridged->method.open)
        err = udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED, "%s",
                         (const char *)bridged->method.context);
    if (err == UDPA_OK)
        err = bridged->method.open(&bridged->session, thread->hub, &info);
    return udpai_fail_code(ret_error, err);
}

static void
run_begin(udpai_request *request)
{
    udpai_bridged_stream *bridged =
        UDPAI_CONTAINER_OF(request, udpai_bridged_stream, begin_request);
    udpai_stream_thread *thread = bridged->thread;
    udpa_err err;
    udpai_list_append(&thread->bridged, &bridged->node);
    if (thread->is_stopping)
        err = udpai_fail(&bridged->error, UDPA_ERR_UNAVAILABLE, "%s",
                         udpa_error_message(thread->stop_why));
    else
        err = open_session(bridged, &bridged->error);
    if (err != UDPA_OK) {
        atomic_fetch_add_explicit(&thread->stat_refused, 1, memory_order_relaxed);
        end(bridged);
        return;
    }
    udpai_session_receive(bridged->session, udpai_bytes_view(bridged->message));
    udpai_session_ended(bridged->session);
}

bool
udpai_stream_thread_bridge(udpai_stream_thread *thread, udpai_bridged_stream *bridged)
{
    bridged->thread = thread;
    udpai_bridged_stream_ref(bridged);
    if (udpai_thread_request(thread, &bridged->begin_request, run_begin))
        return true;
    udpai_bridged_stream_unref(bridged);
    return false;
}

static void
run_cancel(udpai_request *request)
{
    udpai_bridged_stream *bridged =
        UDPAI_CONTAINER_OF(request, udpai_bridged_stream, cancel_request);
    if (bridged->session)
        udpai_session_finish(bridged->session,
                             udpa_error_new(UDPA_ERR_CANCELLED, NULL, "nobody waits for it"));
    udpai_bridged_stream_unref(bridged);
}

void
udpai_bridged_stream_cancel(udpai_bridged_stream *bridged)
{
    udpai_bridged_stream_ref(bridged);
    if (!udpai_thread_request(bridged->thread, &bridged->cancel_request, run_cancel))
        udpai_bridged_stream_unref(bridged);
}
