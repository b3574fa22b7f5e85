/* SPDX-License-Identifier: Apache-2.0 */
/* Delayed reading, to save window updates. As long as a read is outstanding, this gRPC answers
 * everything that arrives by a window update of its own: a write for each acknowledgement, as dear
 * as the message that was acknowledged. What arrives while no read is outstanding is kept, and its
 * window update goes with the next message. */

/* So a stream with a peer that has nothing to send but acknowledgements is read when the next
 * message is written, or when that does not come, a little later. It is as if the peer were a
 * little further away; a peer that has asked for something was read at once before, and is after.
 *
 * When messages follow each other closely, their acknowledgements are not even taken from the
 * socket one by one: for a while it is held back, and only then read as above. */
#include "transport/grpc/grpc_internal.h"

#define STREAMS_PER_MS 20 /* it takes longer to write to all of them */
#define MOST_MS 200
#define LEAST_MS 5
/* A socket is held back if so many messages were written in the time that it is held back, … */
#define HOLD_FROM 2
#define HOLD_MS 100
/* … not for all at the same time, so that they are not all read at the same time, … */
#define HOLD_SPREAD_MS 64
/* … and until so much was written: what lets us write more has to be read, too, and peers that let
 * us write the least of all still have some room then. */
#define HOLD_BYTES_MAX ((size_t)16 << 10)

static uint64_t
longest_ms(const udpai_stream_thread *thread)
{
    uint64_t ms = thread->n_streams / STREAMS_PER_MS;
    if (thread->timing.delayed_read_ms)
        return thread->timing.delayed_read_ms;
    if (ms < LEAST_MS)
        return 0;
    return ms < MOST_MS ? ms : MOST_MS;
}

static bool
is_calm(const udpai_call *call)
{
    const udpai_session *session = udpai_session_of_stream(&call->stream);
    return session && session->is_calm && !call->dialled && !call->is_finishing && !call->is_broken;
}

bool
udpai_is_read_delayed(const udpai_call *call)
{
    return udpai_timer_is_set(&call->delayed.timer);
}

static void
wait_for(udpai_call *call, uint64_t ms)
{
    udpai_wheel *wheel = &call->stream.thread->wheel;
    udpai_timer_set(wheel, &call->delayed.timer, wheel->now_ms + ms);
}

/* ---- holding back ---- */

static uint64_t
hold_ms(udpai_stream_thread *thread)
{
    if (thread->timing.hold_ms)
        return thread->timing.hold_ms;
    return HOLD_MS - HOLD_SPREAD_MS / 2 + thread->n_holds++ % HOLD_SPREAD_MS;
}

/* Counts messages in stretches of time. */
static void
count_written(udpai_call *call)
{
    udpai_delayed_read *delayed = &call->delayed;
    uint64_t now_ms = call->stream.thread->wheel.now_ms;
    if (now_ms - delayed->since_ms >= HOLD_MS) {
        delayed->is_busy =
            delayed->n_written >= HOLD_FROM && now_ms - delayed->since_ms < 2 * HOLD_MS;
        delayed->since_ms = now_ms;
        delayed->n_written = 0;
    }
    delayed->n_written++;
}

static bool
hold(udpai_call *call)
{
    udpai_delayed_read *delayed = &call->delayed;
    bool is_busy = delayed->is_busy || call->stream.thread->timing.hold_ms;
    bool is_blocked = call->write_tag.is_out; /* by what the peer has to send first, it may be */
    delayed->n_bytes = 0;
    delayed->is_held =
        is_busy && !is_blocked && udpai_connection_hold(call->stream.thread, call->connection);
    return delayed->is_held;
}

/* What has come is kept by gRPC from now on, and read with the next message. */
static void
let_go(udpai_call *call, uint64_t ms)
{
    call->delayed.is_held = false;
    udpai_connection_let_go(call->connection);
    wait_for(call, ms);
}

/* ---- reading ---- */

static void
on_delay_end(udpai_timer *timer)
{
    udpai_call *call = UDPAI_CONTAINER_OF(timer, udpai_call, delayed.timer);
    uint64_t ms = longest_ms(call->stream.thread);
    if (call->delayed.is_held && ms) {
        let_go(call, ms);
        return;
    }
    /* Nothing was written for so long: the peer is read at once until something is. */
    udpai_delayed_read_end(call);
    call->delayed.is_idle = true;
    udpai_call_arm(call);
}

/* What acknowledges the last message may wait for the next one; what is older has waited enough. */
void
udpai_delayed_read_consider(udpai_call *call)
{
    udpai_delayed_read *delayed = &call->delayed;
    uint64_t ms = is_calm(call) ? longest_ms(call->stream.thread) : 0;
    if (ms == 0)
        delayed->n_unread = 0;
    else if (delayed->n_unread)
        delayed->n_unread--;
    if (ms && delayed->n_unread <= 1 && !delayed->is_idle)
        wait_for(call, hold(call) ? hold_ms(call->stream.thread) : ms);
}

void
udpai_delayed_read_written(udpai_call *call, size_t size, bool is_answered)
{
    udpai_delayed_read *delayed = &call->delayed;
    bool has_waited = delayed->n_unread > 0 || !is_calm(call);
    delayed->n_unread += is_answered;
    delayed->is_idle = false;
    delayed->n_bytes += size;
    count_written(call);
    if (!udpai_is_read_delayed(call) || !has_waited)
        return;
    if (delayed->is_held && delayed->n_bytes <= HOLD_BYTES_MAX && is_calm(call))
        return;
    udpai_delayed_read_end(call);
    udpai_call_arm(call);
}

void
udpai_delayed_read_init(udpai_call *call)
{
    udpai_timer_init(&call->delayed.timer, on_delay_end);
}

void
udpai_delayed_read_end(udpai_call *call)
{
    udpai_timer_cancel(&call->delayed.timer);
    if (call->delayed.is_held)
        udpai_connection_let_go(call->connection);
    call->delayed.is_held = false;
}
