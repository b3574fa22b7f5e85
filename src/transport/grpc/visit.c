/* SPDX-License-Identifier: Apache-2.0 */
/* Visits: sessions on the stream thread whose stream is no call of gRPC, but one request that
 * another thread brings, and that takes the answer away. To the hub they are streams like any
 * other; what the hub must not hear before its call has returned waits in due_visits. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

void
udpai_visit_init(udpai_visit *visit)
{
    memset(visit, 0, sizeof(*visit));
    atomic_init(&visit->refs, 1);
    udpai_list_init(&visit->node);
    udpai_list_init(&visit->in_due);
}

udpai_visit *
udpai_visit_ref(udpai_visit *visit)
{
    atomic_fetch_add_explicit(&visit->refs, 1, memory_order_relaxed);
    return visit;
}

udpai_visit *
udpai_visit_unref(udpai_visit *visit)
{
    if (!visit || atomic_fetch_sub_explicit(&visit->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < visit->parts.n; i++)
        udpa_bytes_unref(visit->parts.items[i]);
    udpai_vector_done(&visit->parts);
    udpa_error_unref(visit->error);
    udpai_identity_unref(visit->identity);
    udpai_chain_unref(visit->chain);
    udpai_trust_unref(visit->trust);
    udpa_bytes_unref(visit->address);
    udpa_bytes_unref(visit->message);
    visit->free(visit);
    return NULL;
}

/* ---- what the hub asks of it ---- */

/* The hub knows the stream of a visit by the visit's address alone. */
static udpai_visit *
visit_of(udpai_stream *stream)
{
    return (udpai_visit *)stream;
}

static void
make_due(udpai_visit *visit)
{
    if (!udpai_list_linked(&visit->in_due))
        udpai_list_append(&visit->thread->due_visits, &visit->in_due);
}

/* Without memory there is no answer rather than a part of one. */
static void
take_parts(udpai_visit *visit, const udpai_outgoing *message)
{
    udpa_bytes *tail = NULL;
    bool taken = udpai_vector_reserve(&visit->parts, message->n_parts + 1) &&
                 udpa_bytes_new(&tail, message->tail, message->tail_len) == UDPA_OK;
    if (!taken) {
        visit->error = udpa_error_new(UDPA_ERR_NOMEM, NULL, "%s", udpa_err_text(UDPA_ERR_NOMEM));
        return;
    }
    for (size_t i = 0; i < message->n_parts; i++)
        visit->parts.items[visit->parts.n++] = udpa_bytes_ref(message->parts[i]);
    visit->parts.items[visit->parts.n++] = tail;
}

static void
visit_write(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_visit *visit = visit_of(stream);
    if (visit->parts.n == 0 && !visit->error) /* there is one answer, the first */
        take_parts(visit, message);
    visit->is_written = true;
    make_due(visit);
}

static void
visit_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading; /* all there is was read */
}

static void
visit_finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_visit *visit = visit_of(stream);
    if (!visit->error)
        visit->error = udpa_error_ref((udpa_error *)(uintptr_t)status);
    visit->is_finished = true;
    make_due(visit);
}

static const udpai_stream_ops ops = {
    .write = visit_write,
    .set_reading = visit_set_reading,
    .finish = visit_finish,
};

/* ---- its life ---- */

static void
end(udpai_visit *visit)
{
    udpai_stream_thread *thread = visit->thread;
    udpai_list_remove(&visit->node);
    udpai_list_remove(&visit->in_due);
    if (visit->session)
        udpai_session_closed(UDPAI_TAKE(visit->session), visit->error);
    udpai_bearer_leave(&visit->bearer);
    if (visit->admitted)
        udpai_admission_leave(&thread->admission, UDPAI_TAKE(visit->admitted));
    visit->over(visit);
    udpai_visit_unref(visit);
    udpai_thread_check_end(thread);
}

bool
udpai_visits_settle(udpai_stream_thread *thread)
{
    udpai_list due, *at;
    udpai_list_init(&due);
    udpai_list_splice(&due, &thread->due_visits);
    if (udpai_list_empty(&due))
        return false;
    while ((at = udpai_list_pop(&due))) {
        udpai_visit *visit = UDPAI_LIST_ENTRY(at, udpai_visit, in_due);
        bool is_written = visit->is_written;
        visit->is_written = false;
        if (visit->is_finished)
            end(visit);
        else if (is_written)
            udpai_session_written(visit->session);
    }
    return true;
}

void
udpai_visits_finish(udpai_stream_thread *thread, const udpa_error *why)
{
    UDPAI_LIST_FOREACH (at, &thread->visits)
        udpai_session_finish(UDPAI_LIST_ENTRY(at, udpai_visit, node)->session,
                             udpa_error_ref((udpa_error *)(uintptr_t)why));
}

/* ---- beginning ---- */

static void
on_lost(udpai_bearer *bearer, const udpa_error *why, bool is_disowned)
{
    const udpai_visit *visit = UDPAI_CONTAINER_OF(bearer, udpai_visit, bearer);
    (void)is_disowned; /* who asks once publishes nothing */
    udpai_session_finish(visit->session, udpa_error_ref((udpa_error *)(uintptr_t)why));
}

static udpa_err
open_session(udpai_visit *visit, udpa_error **ret_error)
{
    udpai_stream_thread *thread = visit->thread;
    const udpai_stream_info info = {
        .stream = (udpai_stream *)visit,
        .ops = &ops,
        .identity = visit->identity,
        .address = visit->address,
        .patience_ms = visit->patience_ms,
        .is_secure = visit->is_secure,
        .context = visit->method.context,
    };
    const udpai_client client = {.identity = visit->identity,
                                 .address = udpai_bytes_view(visit->address)};
    const udpai_presented presented = {visit->trust, visit->chain, false};
    visit->bearer.lose = on_lost;
    udpa_err err = udpai_bearer_enter(thread, &visit->bearer, &presented, ret_error);
    if (err == UDPA_OK)
        err = udpai_admission_enter(&thread->admission, &client, &visit->admitted, ret_error);
    if (err == UDPA_OK)
        err = visit->method.open(&visit->session, thread->hub, &info);
    return udpai_fail_code(ret_error, err);
}

static void
run_begin(udpai_request *request)
{
    udpai_visit *visit = UDPAI_CONTAINER_OF(request, udpai_visit, begin_request);
    udpai_stream_thread *thread = visit->thread;
    udpa_err err;
    udpai_list_append(&thread->visits, &visit->node);
    if (thread->is_stopping)
        err = udpai_fail(&visit->error, UDPA_ERR_UNAVAILABLE, "%s",
                         udpa_error_message(thread->stop_why));
    else
        err = open_session(visit, &visit->error);
    if (err != UDPA_OK) {
        atomic_fetch_add_explicit(&thread->stat_refused, 1, memory_order_relaxed);
        end(visit);
        return;
    }
    udpai_session_receive(visit->session, udpai_bytes_view(visit->message));
    udpai_session_ended(visit->session);
}

bool
udpai_stream_thread_visit(udpai_stream_thread *thread, udpai_visit *visit)
{
    visit->thread = thread;
    udpai_visit_ref(visit);
    if (udpai_thread_request(thread, &visit->begin_request, run_begin))
        return true;
    udpai_visit_unref(visit);
    return false;
}

static void
run_cancel(udpai_request *request)
{
    udpai_visit *visit = UDPAI_CONTAINER_OF(request, udpai_visit, cancel_request);
    if (visit->session)
        udpai_session_finish(visit->session,
                             udpa_error_new(UDPA_ERR_CANCELLED, NULL, "nobody waits for it"));
    udpai_visit_unref(visit);
}

void
udpai_visit_cancel(udpai_visit *visit)
{
    udpai_visit_ref(visit);
    if (!udpai_thread_request(visit->thread, &visit->cancel_request, run_cancel))
        udpai_visit_unref(visit);
}
