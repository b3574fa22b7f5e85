/* SPDX-License-Identifier: Apache-2.0 */
/* Writing in rounds: every stream that has something to be sent is sent one message. When that are
 * thousands, it takes a while, and to begin again at once would leave no time for what changes
 * meanwhile to come in: each change would go out by itself, to all, as fast as one thread can, and
 * what is sent would be more and more out of date. So the next round waits a little longer than the
 * last one took. The more there is to do, the more goes with one message, and some of the time is
 * left for reading, and for others. */
#include "loop/clock.h"
#include "transport/grpc/grpc_internal.h"

#define MOST_PAUSE_MS 100

static void
on_pause_over(udpai_timer *timer)
{
    (void)timer; /* the turn that it fires in ends with a round */
}

static uint64_t
pause_after(const udpai_stream_thread *thread, uint64_t took_ms)
{
    uint64_t ms = took_ms + took_ms / 2;
    if (thread->timing.pause_ms)
        return thread->timing.pause_ms;
    return ms < MOST_PAUSE_MS ? ms : MOST_PAUSE_MS;
}

static void
begin_pause(udpai_stream_thread *thread)
{
    uint64_t now_ms = udpai_monotonic_ms();
    uint64_t ms = pause_after(thread, now_ms - thread->wheel.now_ms);
    if (ms)
        udpai_timer_set(&thread->wheel, &thread->pause, now_ms + ms);
}

static void
write_all(udpai_stream_thread *thread)
{
    size_t n = 0;
    do
        n += udpai_hub_run(thread->hub);
    while (udpai_bridges_settle(thread));
    if (thread->acceptance)
        thread->acceptance->flush(thread->accepting);
    if (n >= thread->limits.many_messages)
        begin_pause(thread);
}

void
udpai_write_round(udpai_stream_thread *thread)
{
    if (!udpai_timer_is_set(&thread->pause))
        write_all(thread);
    else if (thread->acceptance)
        thread->acceptance->flush(thread->accepting);
}

void
udpai_rounds_init(udpai_stream_thread *thread)
{
    udpai_timer_init(&thread->pause, on_pause_over);
}
