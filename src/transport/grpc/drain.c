/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is to end, or one of its listeners, gives up the streams that others have opened
 * evenly over some time, so that not all of them open others elsewhere at once: the oldest first,
 * with the others of its connection; nodes, which may publish, behind all clients. */
#include "transport/grpc/grpc_internal.h"

#define TICK_MS 100
#define PUSHBACK_MS 1000 /* that a peer is asked to wait */

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
    return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, UDPAI_DRAIN_WORDS);
}

static void
count_in_listener(const udpai_stream *stream, size_t more)
{
    if (stream->listener)
        atomic_fetch_add_explicit(&stream->listener->n_served, more, memory_order_relaxed);
}

void
udpai_drain_enter(udpai_stream *stream, const udpai_grpc_method *method)
{
    stream->is_served = true;
    count_in_listener(stream, 1);
    stream->is_node = strcmp(method->path, UDPAI_UDPA_PATH) == 0;
    set_served(stream->thread, stream->thread->n_served + 1);
}

void
udpai_drain_leave(udpai_stream *stream)
{
    if (!stream->is_served)
        return;
    set_served(stream->thread, stream->thread->n_served - 1);
    count_in_listener(stream, (size_t)-1);
    stream->is_served = false;
}

/* ---- those that are ended ---- */

/* Is it served, and not being ended? What is served has a session, until it is over. */
static bool
is_left(const udpai_drain *drain, const udpai_stream *stream)
{
    const udpai_session *session = stream->is_served ? stream->context : NULL;
    bool is_of = !drain->of || stream->listener == drain->of;
    return is_of && session && !session->is_finishing;
}

static size_t
count_left(const udpai_drain *drain)
{
    size_t n = 0;
    UDPAI_LIST_FOREACH (at, &drain->thread->streams)
        n += is_left(drain, UDPAI_LIST_ENTRY(at, udpai_stream, node));
    return n;
}

static void
end(const udpai_drain *drain, udpai_stream *stream)
{
    stream->carrier->close_after(stream, true);
    udpai_session_finish(stream->context,
                         udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s", drain->words));
}

/* Its connection as a whole: else the peer would come back on it. How many streams those were. */
static size_t
end_beside(const udpai_drain *drain, udpai_stream *first)
{
    size_t n = 1;
    bool is_alone = first->carrier->is_alone(first);
    UDPAI_LIST_FOREACH (at, &first->thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (is_alone)
            break;
        if (stream == first || !is_left(drain, stream) ||
            !stream->carrier->is_beside(stream, first))
            continue;
        end(drain, stream);
        n++;
    }
    end(drain, first);
    return n;
}

/* At least so many, as far as there are; returns how many are missing. */
static size_t
end_some(const udpai_drain *drain, bool nodes, size_t n)
{
    UDPAI_LIST_FOREACH (at, &drain->thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (n == 0)
            break;
        if (is_left(drain, stream) && stream->is_node == nodes)
            n -= udpai_min_size(n, end_beside(drain, stream));
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
    const udpai_drain *drain = UDPAI_CONTAINER_OF(timer, udpai_drain, tick);
    udpai_wheel *wheel = &drain->thread->wheel;
    size_t left = count_left(drain), target = target_at(drain, wheel->now_ms);
    if (drain->thread->is_stopping || left == 0)
        return;
    if (left > target)
        (void)end_some(drain, true, end_some(drain, false, left - target));
    udpai_timer_set(wheel, timer, wheel->now_ms + TICK_MS);
}

void
udpai_drain_begin(udpai_drain *drain, uint64_t over_ms)
{
    udpai_wheel *wheel = &drain->thread->wheel;
    if (drain->is_on)
        return;
    drain->is_on = true;
    drain->begun_ms = wheel->now_ms;
    drain->over_ms = over_ms;
    drain->n_begun = count_left(drain);
    udpai_timer_set(wheel, &drain->tick, wheel->now_ms);
}

void
udpai_drain_obey(udpai_stream_thread *thread, uint64_t over_ms)
{
    bool is_first = !thread->drain.is_on;
    udpai_drain_begin(&thread->drain, over_ms);
    if (is_first)
        udpai_connections_look(&thread->connections);
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
        if (is_left(&thread->drain, stream) && !stream->is_client)
            end(&thread->drain, stream);
    }
    udpai_connections_look(&thread->connections);
}

void
udpai_drain_init(udpai_drain *drain,
                 udpai_stream_thread *thread,
                 const udpai_listener *of,
                 const char *words)
{
    drain->thread = thread;
    drain->of = of;
    drain->words = words;
    udpai_timer_init(&drain->tick, on_tick);
}

void
udpai_drain_done(udpai_drain *drain)
{
    udpai_timer_cancel(&drain->tick);
}
