/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that were idle and begin to send much, many at a time. Their reads are outstanding, and
 * this gRPC does not report that a message has begun. To look at all connections all the time would
 * be dear, so a few are looked at, in turn; that the process has grown is cheap to see. Then all
 * idle streams are looked at for a while, and what has sent much since the first look has its bytes
 * reserved (turnstile.c). */
#include "transport/grpc/grpc_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCH_MS 100
#define FEW 50 /* idle streams that are looked at each time */
#define GROWTH_BYTES ((uint64_t)32 << 20)
#define LOOKS_MS 2000 /* so long all idle streams are looked at */
#define MUCH_BYTES ((uint64_t)1 << 20)

/* 0: nobody knows. */
static uint64_t
resident_bytes(const udpai_surge *surge)
{
    char line[128] = "", *end;
    if (surge->memory < 0 || pread(surge->memory, line, sizeof(line) - 1, 0) <= 0)
        return 0;
    (void)strtoull(line, &end, 10); /* the size of the address space */
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool
is_idle(const udpai_call *call)
{
    const udpai_turn *turn = &call->turn;
    return call->stream.admitted && call->read_tag.is_out && turn->has_read && !turn->reserved &&
           !turn->is_tried && !turn->is_waiting;
}

/* What was unread at the first look is not counted: frames, pings. */
static void
look_at_idle(udpai_call *call)
{
    udpai_arrived arrived;
    udpai_turn *turn = &call->turn;
    if (!is_idle(call) || !udpai_connection_look(call->stream.thread, call->connection, &arrived))
        return;
    bool is_first = turn->idle_ms <= turn->read_ms || arrived.unread < turn->idle_unread;
    if (is_first) {
        turn->idle_ms = call->stream.thread->wheel.now_ms + 1;
        turn->idle_unread = arrived.unread;
        return;
    }
    uint64_t received = arrived.unread - turn->idle_unread;
    if (received < MUCH_BYTES || arrived.n_reserved) /* of several, one represents the connection */
        return;
    arrived.bytes -= received;
    udpai_connection_is_read(call->connection, &arrived);
    udpai_turn_begins_anyway(call);
}

static void
look_at_few(udpai_stream_thread *thread)
{
    for (size_t i = 0; i < FEW && i < thread->n_streams; i++) {
        udpai_list *at = udpai_list_pop(&thread->streams);
        udpai_list_append(&thread->streams, at);
        look_at_idle(UDPAI_LIST_ENTRY(at, udpai_call, stream.node));
    }
}

static void
look_at_all(udpai_stream_thread *thread)
{
    UDPAI_LIST_FOREACH (at, &thread->streams)
        look_at_idle(UDPAI_LIST_ENTRY(at, udpai_call, stream.node));
}

static void
watch(udpai_stream_thread *thread)
{
    udpai_surge *surge = &thread->surge;
    uint64_t now_ms = thread->wheel.now_ms, bytes = resident_bytes(surge);
    bool has_grown = bytes >= surge->calm_bytes + GROWTH_BYTES;
    if (has_grown)
        surge->looks_until_ms = now_ms + LOOKS_MS;
    if (has_grown || bytes < surge->calm_bytes)
        surge->calm_bytes = bytes;
    if (now_ms < surge->looks_until_ms)
        look_at_all(thread);
    else
        look_at_few(thread);
}

static void
on_time(udpai_timer *timer)
{
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(timer, udpai_stream_thread, surge.timer);
    watch(thread);
    if (thread->admission.n)
        udpai_surge_expect(thread);
}

void
udpai_surge_expect(udpai_stream_thread *thread)
{
    if (!udpai_timer_is_set(&thread->surge.timer))
        udpai_timer_set(&thread->wheel, &thread->surge.timer, thread->wheel.now_ms + WATCH_MS);
}

void
udpai_surge_init(udpai_stream_thread *thread)
{
    thread->surge.memory = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    thread->surge.calm_bytes = resident_bytes(&thread->surge);
    udpai_timer_init(&thread->surge.timer, on_time);
}

void
udpai_surge_done(udpai_stream_thread *thread)
{
    if (thread->surge.memory >= 0)
        close(thread->surge.memory);
}
