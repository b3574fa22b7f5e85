/* SPDX-License-Identifier: Apache-2.0 */
/* The completion queue. Its library looks through all outstanding tags, one by one, each time an
 * operation completes; so there must be few, and they are counted. */
#include <assert.h>

#include "loop/clock.h"
#include "transport/grpc/grpc_internal.h"

/* Of a stream: reading, writing, the end. Of a listener: calls asked for, and its own end. */
static size_t
most_tags(const udpai_stream_thread *thread)
{
    return 3 * thread->n_streams + (UDPAI_ACCEPTS + 1) * thread->n_listeners;
}

static void
count(udpai_stream_thread *thread)
{
    atomic_store_explicit(&thread->stat_tags, thread->n_tags, memory_order_relaxed);
}

void
udpai_tag_begin(udpai_stream_thread *thread, udpai_tag *tag)
{
    assert(!tag->is_out);
    tag->is_out = true;
    thread->n_tags++;
    bool is_few = thread->n_tags <= most_tags(thread);
    assert(is_few);
    (void)is_few;
    count(thread);
}

void
udpai_tag_forget(udpai_stream_thread *thread, udpai_tag *tag)
{
    assert(tag->is_out);
    tag->is_out = false;
    thread->n_tags--;
    count(thread);
}

gpr_timespec
udpai_queue_deadline(uint64_t ms)
{
    if (ms == UDPAI_WHEEL_NEVER)
        return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    return (gpr_timespec){
        .tv_sec = (int64_t)(ms / 1000),
        .tv_nsec = (int32_t)(ms % 1000 * 1000000),
        .clock_type = GPR_CLOCK_MONOTONIC,
    };
}

/* Below so many streams a turn is one event: streams that wait for it are written to at once. With
 * more, what has come is taken in before anything goes out. A message at a time, the next one of a
 * publisher would be read behind the acknowledgements of all that its last one was sent to. */
#define FEW_STREAMS 50
#define EVENTS_A_TICK 64 /* they take less than a millisecond */

/* Bounded, so that a peer that always has something to send holds up no other for long. */
static size_t
most_events(const udpai_stream_thread *thread)
{
    return thread->n_streams < FEW_STREAMS ? 1 : 2 * thread->n_streams;
}

static bool
take(udpai_stream_thread *thread, grpc_event event)
{
    udpai_tag *tag = event.tag;
    if (event.type != GRPC_OP_COMPLETE)
        return false;
    if (tag->is_out) /* those of wakes are not counted: they begin on other threads */
        udpai_tag_forget(thread, tag);
    tag->done(tag, event.success);
    return true;
}

/* ---- waiting for the loop ---- */

/* Going to sleep and being woken takes both threads longer than the loop takes to judge a
 * publication. So for so long its answer is waited for awake; but not where that was in vain, as
 * often again. With many streams there is always something else to be done. */
#define AWAKE_NS 100000
#define REST_AFTER_MISS 20

void
udpai_queue_expect_order(udpai_stream_thread *thread)
{
    if (thread->n_streams >= FEW_STREAMS)
        return;
    if (thread->n_rests)
        thread->n_rests--;
    else
        thread->awake_until_ns = udpai_monotonic_ns() + AWAKE_NS;
}

void
udpai_queue_has_orders(udpai_stream_thread *thread)
{
    thread->awake_until_ns = 0;
}

static grpc_event
wait_awake(udpai_stream_thread *thread, gpr_timespec now)
{
    grpc_event event = {.type = GRPC_QUEUE_TIMEOUT};
    while (thread->awake_until_ns && event.type == GRPC_QUEUE_TIMEOUT) {
        event = grpc_completion_queue_next(thread->cq, now, NULL);
        if (event.type == GRPC_QUEUE_TIMEOUT && udpai_monotonic_ns() >= thread->awake_until_ns) {
            thread->awake_until_ns = 0;
            thread->n_rests = REST_AFTER_MISS;
        }
    }
    return event;
}

/* ---- a turn ---- */

static void
note_woken(udpai_stream_thread *thread, uint64_t woken_ns)
{
    atomic_store_explicit(&thread->woken_ns, woken_ns, memory_order_relaxed);
}

uint64_t
udpai_stream_thread_busy_since_ms(const udpai_stream_thread *thread)
{
    return atomic_load_explicit(&thread->woken_ns, memory_order_relaxed) / 1000000;
}

/* Of one that waits elsewhere: it waits awake for the loop as above. */
static bool
take_elsewhere(udpai_stream_thread *thread)
{
    uint64_t due_ms = thread->awake_until_ns ? 0 : udpai_wheel_next(&thread->wheel);
    note_woken(thread, 0);
    thread->acceptance->wait(thread->accepting, due_ms, &thread->woken_ns);
    if (thread->awake_until_ns && udpai_monotonic_ns() >= thread->awake_until_ns) {
        thread->awake_until_ns = 0;
        thread->n_rests = REST_AFTER_MISS;
    }
    return udpai_completions_take(thread->completions);
}

bool
udpai_queue_turn(udpai_stream_thread *thread)
{
    if (thread->completions)
        return take_elsewhere(thread);
    const gpr_timespec now = gpr_inf_past(GPR_CLOCK_MONOTONIC);
    size_t most = most_events(thread);
    grpc_event event = wait_awake(thread, now);
    if (event.type == GRPC_QUEUE_TIMEOUT) {
        note_woken(thread, 0);
        udpai_backup_poller_note(thread->backup_poller, 0);
        event = grpc_completion_queue_next(
            thread->cq, udpai_queue_deadline(udpai_wheel_next(&thread->wheel)), NULL);
    }
    uint64_t woken_ns = udpai_monotonic_ns(), now_ms = woken_ns / 1000000;
    note_woken(thread, woken_ns);
    udpai_backup_poller_note(thread->backup_poller, now_ms);
    /* First the time, so that whatever happens now happens at the time it happens. */
    udpai_wheel_advance(&thread->wheel, now_ms);
    for (size_t n = 1; take(thread, event) && n < most; n++) {
        event = grpc_completion_queue_next(thread->cq, now, NULL);
        if (n % EVENTS_A_TICK == 0)
            udpai_wheel_advance(&thread->wheel, udpai_monotonic_ms());
    }
    return event.type != GRPC_QUEUE_SHUTDOWN;
}
