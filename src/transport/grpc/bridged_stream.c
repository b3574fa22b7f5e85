/* SPDX-License-Identifier: Apache-2.0 */
/* A bridge to one request that another thread brings, and that takes the response away. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

static void
on_ended(udpai_bridge *bridge)
{
    udpai_bridged_stream *bridged = (udpai_bridged_stream *)bridge;
    udpai_bearer_leave(&bridged->bearer);
    if (bridged->admitted)
        udpai_admission_leave(&bridge->thread->admission, UDPAI_TAKE(bridged->admitted));
    bridged->over(bridged);
    udpai_bridged_stream_unref(bridged);
}

void
udpai_bridged_stream_init(udpai_bridged_stream *bridged)
{
    memset(bridged, 0, sizeof(*bridged));
    atomic_init(&bridged->refs, 1);
    udpai_bridge_init(&bridged->bridge);
    bridged->bridge.ended = on_ended;
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
    udpa_error_unref(bridged->bridge.error);
    udpai_identity_unref(bridged->identity);
    udpai_chain_unref(bridged->chain);
    udpai_trust_unref(bridged->trust);
    udpa_bytes_unref(bridged->address);
    udpa_bytes_unref(bridged->message);
    bridged->free(bridged);
    return NULL;
}

/* ---- what the hub asks of it ---- */

/* Without memory there is no response rather than a part of one. */
static udpa_err
take_parts(udpai_bridged_stream *bridged, const udpai_outgoing *message)
{
    udpa_bytes *tail = NULL;
    if (bridged->parts.n || bridged->bridge.error)
        return UDPA_OK; /* there is one response, the first */
    if (!udpai_vector_reserve(&bridged->parts, message->n_parts + 1) ||
        udpa_bytes_new(&tail, message->tail, message->tail_len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < message->n_parts; i++)
        bridged->parts.items[bridged->parts.n++] = udpa_bytes_ref(message->parts[i]);
    bridged->parts.items[bridged->parts.n++] = tail;
    return UDPA_OK;
}

static void
bridged_write(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_bridged_stream *bridged = (udpai_bridged_stream *)stream;
    udpa_err err = take_parts(bridged, message);
    if (err == UDPA_OK && bridged->wrote)
        bridged->wrote(bridged);
    else
        udpai_bridge_written(&bridged->bridge, err);
}

static void
bridged_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading; /* all there is was read */
}

static const udpai_stream_ops ops = {
    .write = bridged_write,
    .set_reading = bridged_set_reading,
    .finish = udpai_bridge_stream_finish,
};

/* ---- beginning ---- */

static void
on_lost(udpai_bearer *bearer, const udpa_error *why, bool is_disowned)
{
    const udpai_bridged_stream *bridged = UDPAI_CONTAINER_OF(bearer, udpai_bridged_stream, bearer);
    (void)is_disowned; /* a client that asks once publishes nothing */
    udpai_session_finish(bridged->bridge.session, udpa_error_ref((udpa_error *)(uintptr_t)why));
}

static udpa_err
open_session(udpai_bridged_stream *bridged, udpa_error **ret_error)
{
    udpai_stream_thread *thread = bridged->bridge.thread;
    const udpai_stream_info info = {
        .stream = (udpai_stream *)bridged,
        .ops = &ops,
        .identity = bridged->identity,
        .address = bridged->address,
        .patience_ms = bridged->patience_ms,
        .is_secure = bridged->is_secure,
        .tls = bridged->tls,
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
        err = bridged->method.open(&bridged->bridge.session, thread->hub, &info);
    return udpai_fail_code(ret_error, err);
}

static void
run_begin(udpai_request *request)
{
    udpai_bridged_stream *bridged =
        UDPAI_CONTAINER_OF(request, udpai_bridged_stream, begin_request);
    udpai_stream_thread *thread = bridged->bridge.thread;
    udpa_err err;
    udpai_list_append(&thread->bridges, &bridged->bridge.node);
    if (thread->is_stopping)
        err = udpai_fail(&bridged->bridge.error, UDPA_ERR_UNAVAILABLE, "%s",
                         udpa_error_message(thread->stop_why));
    else
        err = open_session(bridged, &bridged->bridge.error);
    if (err != UDPA_OK) {
        atomic_fetch_add_explicit(&thread->stat_refused, 1, memory_order_relaxed);
        udpai_bridge_end(&bridged->bridge);
        return;
    }
    udpai_session_receive(bridged->bridge.session, udpai_bytes_view(bridged->message));
    udpai_session_ended(bridged->bridge.session);
}

bool
udpai_stream_thread_bridge(udpai_stream_thread *thread, udpai_bridged_stream *bridged)
{
    bridged->bridge.thread = thread;
    udpai_bridged_stream_ref(bridged);
    if (udpai_thread_request(thread, &bridged->begin_request, run_begin))
        return true;
    udpai_bridged_stream_unref(bridged);
    return false;
}

static void
drop_parts(udpai_bridged_stream *bridged)
{
    while (bridged->parts.n)
        udpa_bytes_unref(bridged->parts.items[--bridged->parts.n]);
}

/* It may have ended meanwhile. */
static void
run_taken(udpai_request *request)
{
    udpai_bridged_stream *bridged =
        UDPAI_CONTAINER_OF(request, udpai_bridged_stream, taken_request);
    drop_parts(bridged);
    if (bridged->bridge.session)
        udpai_bridge_written(&bridged->bridge, UDPA_OK);
    udpai_bridged_stream_unref(bridged);
}

void
udpai_bridged_stream_taken(udpai_bridged_stream *bridged)
{
    udpai_bridged_stream_ref(bridged);
    if (!udpai_thread_request(bridged->bridge.thread, &bridged->taken_request, run_taken))
        udpai_bridged_stream_unref(bridged);
}

static void
run_cancel(udpai_request *request)
{
    udpai_bridged_stream *bridged =
        UDPAI_CONTAINER_OF(request, udpai_bridged_stream, cancel_request);
    if (bridged->bridge.session)
        udpai_session_finish(bridged->bridge.session,
                             udpa_error_new(UDPA_ERR_CANCELLED, NULL, "no caller waits for it"));
    udpai_bridged_stream_unref(bridged);
}

void
udpai_bridged_stream_cancel(udpai_bridged_stream *bridged)
{
    udpai_bridged_stream_ref(bridged);
    if (!udpai_thread_request(bridged->bridge.thread, &bridged->cancel_request, run_cancel))
        udpai_bridged_stream_unref(bridged);
}
