/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of clients that are to go to other replicas, because this one has too many
 * (session/spread.h), and streams that are old. A client whose stream ends opens another one: on
 * the same connection, if it can. So the connection is closed with its last stream; what an old
 * stream came by has been sent GOAWAY (server.c). */
#include <inttypes.h>
#include <sys/random.h>

#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

#define TICK_MS 100
#define PUSHBACK_MS 1000 /* that a client is asked to wait */

static void
count(atomic_size_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void
set_clients(udpai_stream_thread *thread, size_t n)
{
    thread->n_clients = n;
    atomic_store_explicit(&thread->stat_clients, n, memory_order_relaxed);
}

/* ---- those that come ---- */

void
udpai_spread_enter(udpai_stream *stream, const udpai_grpc_method *method)
{
    if (!stream->listener)
        return;
    stream->is_client = method->is_client;
    if (stream->is_client)
        set_clients(stream->thread, stream->thread->n_clients + 1);
    else
        stream->carrier->close_after(stream, false);
}

/* The first one of a connection alone: with others there, its client would come back on it. */
static bool
is_rejected(udpai_stream *stream, uint64_t client)
{
    udpai_stream_thread *thread = stream->thread;
    return stream->is_client && stream->carrier->is_alone(stream) &&
           udpai_spread_rejects(&thread->spread, thread->wheel.now_ms, thread->n_clients - 1,
                                client);
}

udpa_err
udpai_spread_check(udpai_stream *stream, uint64_t client, udpa_error **ret_error)
{
    const udpai_spread_order *order = &stream->thread->spread.order;
    if (!is_rejected(stream, client)) {
        stream->carrier->close_after(stream, false);
        return UDPA_OK;
    }
    count(&stream->thread->stat_above_share);
    stream->pushback_ms = PUSHBACK_MS;
    stream->carrier->close_after(stream, true);
    return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                      "this replica has %" PRIu64 " streams, its share is %" PRIu64
                      ": connect again to reach another one",
                      order->n_streams, order->share);
}

void
udpai_spread_leave(udpai_stream *stream)
{
    if (stream->is_client)
        set_clients(stream->thread, stream->thread->n_clients - 1);
    stream->is_client = false;
}

/* ---- those that are to go ---- */

/* One of a client has a session. */
static void
move(udpai_stream *stream)
{
    count(&stream->thread->stat_moved);
    stream->carrier->close_after(stream, true);
    udpai_session_finish(stream->context,
                         udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                        "this replica has more streams than its share: connect "
                                        "again to reach another one"));
}

/* With the others of its connection, so that this can be closed. */
static uint64_t
move_beside(udpai_stream *first, uint64_t n)
{
    uint64_t n_moved = 0;
    UDPAI_LIST_FOREACH (at, &first->thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (n_moved == n)
            break;
        if (stream->is_client && stream->carrier->is_beside(stream, first)) {
            move(stream);
            n_moved++;
        }
    }
    return n_moved;
}

/* The oldest first: who has moved already does not do so again before the others have. */
static void
move_due(udpai_stream_thread *thread)
{
    uint64_t n = udpai_spread_take_due(&thread->spread, thread->wheel.now_ms, thread->n_clients);
    UDPAI_LIST_FOREACH (at, &thread->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, node);
        if (n == 0)
            break;
        if (!stream->is_client)
            continue;
        if (stream->carrier->is_alone(stream)) {
            move(stream);
            n--;
        } else {
            n -= move_beside(stream, n);
        }
    }
}

static void
on_tick(udpai_timer *timer)
{
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(timer, udpai_stream_thread, spread_tick);
    if (thread->is_stopping)
        return;
    move_due(thread);
    if (udpai_spread_is_busy(&thread->spread, thread->wheel.now_ms))
        udpai_timer_set(&thread->wheel, timer, thread->wheel.now_ms + TICK_MS);
}

void
udpai_spread_obey(udpai_stream_thread *thread, const udpai_order *order)
{
    udpai_spread_order what;
    if (!order->announced ||
        udpai_spread_decode(udpai_bytes_view(order->announced), &what) != UDPA_OK)
        return;
    udpai_spread_begin(&thread->spread, &what, thread->wheel.now_ms, thread->n_clients);
    udpai_timer_cancel(&thread->spread_tick);
    if (!what.over_ms)
        return;
    udpai_connections_look(&thread->connections);
    udpai_timer_set(&thread->wheel, &thread->spread_tick, thread->wheel.now_ms + TICK_MS);
}

/* ---- those that are old ---- */

static uint64_t
next_random(udpai_stream_thread *thread)
{
    uint64_t x = thread->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void
udpai_spread_begin_age(udpai_stream *stream)
{
    udpai_stream_thread *thread = stream->thread;
    uint64_t age_ms = thread->timing.max_stream_age_ms;
    if (age_ms && stream->listener)
        udpai_timer_set(&thread->wheel, &stream->deadline,
                        thread->wheel.now_ms + udpai_spread_jitter(age_ms, next_random(thread)));
}

void
udpai_spread_count_old(udpai_stream_thread *thread)
{
    count(&thread->stat_aged);
}

/* ---- its life ---- */

void
udpai_spread_init(udpai_stream_thread *thread)
{
    udpai_timer_init(&thread->spread_tick, on_tick);
    if (getrandom(&thread->random, sizeof(thread->random), GRND_NONBLOCK) < 0)
        thread->random = (uint64_t)(uintptr_t)thread;
}
