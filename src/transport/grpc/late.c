/* SPDX-License-Identifier: Apache-2.0 */
/* Reading late. As long as a read is outstanding, this gRPC answers whatever arrives by a window
 * update of its own: a write for each acknowledgement, as dear as the message that was
 * acknowledged. What arrives while no read is outstanding is kept, and its window update goes with
 * the next message.
 *
 * So a stream whose peer has nothing to say but acknowledgements is read when the next message is
 * written, or when that does not come, a little later. It is as if the peer were a little further
 * away; who has asked for something was read at once before, and is after. */
#include "transport/grpc/grpc_internal.h"

#define STREAMS_PER_MS 20 /* it takes longer to write to all of them */
#define MOST_MS 200
#define LEAST_MS 5

static uint64_t
longest_ms(const udpai_stream_thread *thread)
{
    uint64_t ms = thread->n_streams / STREAMS_PER_MS;
    if (thread->timing.late_reading_ms)
        return thread->timing.late_reading_ms;
    if (ms < LEAST_MS)
        return 0;
    return ms < MOST_MS ? ms : MOST_MS;
}

static bool
is_calm(const udpai_stream *stream)
{
    const udpai_session *session = udpai_session_of_stream(stream);
    return session && session->is_calm && !stream->dialled && !stream->is_finishing &&
           !stream->is_broken;
}

bool
udpai_is_late(const udpai_stream *stream)
{
    return udpai_timer_is_set(&stream->late.timer);
}

/* Nothing was written for so long: the peer is read at once until something is. */
static void
on_late(udpai_timer *timer)
{
    udpai_stream *stream = UDPAI_CONTAINER_OF(timer, udpai_stream, late.timer);
    stream->late.is_idle = true;
    udpai_stream_arm(stream);
}

/* What acknowledges the last message may wait for the next one; what is older has waited enough. */
void
udpai_late_consider(udpai_stream *stream)
{
    udpai_late *late = &stream->late;
    uint64_t ms = is_calm(stream) ? longest_ms(stream->thread) : 0;
    if (ms == 0)
        late->n_unread = 0;
    else if (late->n_unread)
        late->n_unread--;
    if (ms && late->n_unread <= 1 && !late->is_idle)
        udpai_timer_set(&stream->thread->wheel, &late->timer, stream->thread->wheel.now_ms + ms);
}

void
udpai_late_written(udpai_stream *stream)
{
    udpai_late *late = &stream->late;
    bool has_waited = late->n_unread++ > 0 || !is_calm(stream);
    late->is_idle = false;
    if (!udpai_is_late(stream) || !has_waited)
        return;
    udpai_timer_cancel(&late->timer);
    udpai_stream_arm(stream);
}

void
udpai_late_init(udpai_stream *stream)
{
    udpai_timer_init(&stream->late.timer, on_late);
}

void
udpai_late_done(udpai_stream *stream)
{
    udpai_timer_cancel(&stream->late.timer);
}
