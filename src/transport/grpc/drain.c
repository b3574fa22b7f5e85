/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is to end gives up the streams that others have opened evenly over some time, so that
 * not all of them open others elsewhere at once: the oldest first, with the others of its
 * connection; nodes, which may publish, behind all clients. */
#include "transport/grpc/grpc_internal.h"

#define TICK_MS 100
#define PUSHBACK_MS 1000 /* that a peer is asked to wait */
#define WORDS "this node is draining: connect again to reach another one"

static void
set_served(udpai_stream_thread *thread, size_t n)
{
    thread->n_served = n;
    atomic_store_explicit(&thread->stat_served, n, memory_order_relaxed);
}

/* ---- those that come, and go ---- */

udpa_err
udpai_drain_check(udpai_stream *stream, udpa_error **ret_error)
{
    if (!stream->thread->drain.is_on && !stream->thread->drain.is_leaving)
        return UDPA_OK;
    stream->pushback_ms = PUSHBACK_MS;
    stream->carrier->close_after(stream, true);
    return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, WORDS);
}

void
udpai_drain_enter(udpai_stream *stream, const udpai_grpc_method *method)
{
    stream->is_served = true;
    stream->is_node = strcmp(method->path, UDPAI_UDPA_PATH) == 0;
    set_served(stream->thread, stream->thread->n_served + 1);
}

void
udpai_drain_leave(udpai_stream *stream)
{
    if (stream->is_served)
        set_served(stream->thread, stream->thread->n_served - 1);
    stream->is_served = false;
}

/* ---- those that are ended ---- */

/* Is it served, and not being ended? What is served has a session, until it is over. */
static bool
is_left(const udpai_stream *stream)
{
    const udpai_session *session = stream->is_served ? stream->context : NULL;
    return session && !session->is_finishing;
}

static size_t
count_left(const udpai_stream_thread *thread)
{
    size_t n = 0;
    UDPAI_LIST_FOREACH (at, &thread->streams)
        n += is_left(UDPAI_LIST_ENTRY(at, udpai_stream, node));
    return n;
}

static void
end(udpai_stream *stream)
{
    stream->carrier->close_after(stream, true);
    udpai_session_finish(stream->context, udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, WORDS));
}

/* Its connection as a whole: else the peer would come back on it. How many streams those were. */
static size_t
end_beside(udpai_stream *first)
{
    size_t n = 1;
    bool is_alone = first->carrier->is_alone(first);
    UDPAI_LIST_FOREACH (at, &first->thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (is_alone)
            break;
        if (stream == first || !is_left(stream) || !stream->carrier->is_beside(stream, first))
            continue;
        end(stream);
        n++;
    }
    end(first);
    return n;
}

/* At least so many, as far as there are; returns how many are missing. */
static size_t
end_some(udpai_stream_thread *thread, bool nodes, size_t n)
{
    UDPAI_LIST_FOREACH (at, &thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (n == 0)
            break;
        if (is_left(stream) && stream->is_node == nodes)
            n -= udpai_min_size(n, end_beside(stream));
    }
    return n;
}

/* A straight line from what there was to none. */
static size_t
target_at(const udpai_drain *drain, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - drain->begun_ms;
    return passed_ms >= drain->over_ms
               ? 0
               : (size_t)((double)drain->n_begun * (double)(drain->over_ms - passed_ms) /
                          (double)drain->over_ms);
}

static void
on_tick(udpai_timer *timer)
{
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(timer, udpai_stream_thread, drain.tick);
    size_t left = count_left(thread), target = target_at(&thread->drain, thread->wheel.now_ms);
    if (thread->is_stopping || left == 0)
        return;
    if (left > target)
        (void)end_some(thread, true, end_some(thread, false, left - target));
    udpai_timer_set(&thread->wheel, timer, thread->wheel.now_ms + TICK_MS);
}

void
udpai_drain_obey(udpai_stream_thread *thread, uint64_t over_ms)
{
    if (thread->drain.is_on)
        return;
    thread->drain.is_on = true;
    thread->drain.begun_ms = thread->wheel.now_ms;
    thread->drain.over_ms = over_ms;
    thread->drain.n_begun = count_left(thread);
    udpai_connections_look(&thread->connections);
    udpai_timer_set(&thread->wheel, &thread->drain.tick, thread->wheel.now_ms);
}

/* What reports goes on at once with the process that adds it up. Streams of clients beside it stay,
 * and with them its connection. */
void
udpai_drain_set_leaving(udpai_stream_thread *thread, bool is_leaving)
{
    thread->drain.is_leaving = is_leaving;
    if (!is_leaving)
        return;
    UDPAI_LIST_FOREACH (at, &thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (is_left(stream) && !stream->is_client)
            end(stream);
    }
    udpai_connections_look(&thread->connections);
}

void
udpai_drain_init(udpai_stream_thread *thread)
{
    udpai_timer_init(&thread->drain.tick, on_tick);
}
