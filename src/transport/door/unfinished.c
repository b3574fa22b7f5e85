/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that have begun to come. A small one is kept as it comes; for a large one there must be
 * room for all of it first, else its stream waits with what its window holds until there is. So
 * what is in memory is bounded, in all and of each client, and each that has room can be completed.
 * One that does not go on gives up its room when others wait for it. */
#include "transport/door/door_internal.h"

#define SMALL_BYTES ((size_t)64 << 10)
#define HUGE_BYTES ((size_t)16 << 20)
#define SILENT_MS 10000
#define LOOK_MS 1000
#define OVER_MAX 2 /* times what may be reserved may be in memory, with what waits */

static udpai_door *
door_of(const udpai_door_stream *stream)
{
    return stream->connection->listener->door;
}

static const udpai_door_events *
events_of(const udpai_door_stream *stream)
{
    return stream->connection->listener->options.events;
}

static void
look_later(udpai_door *door)
{
    bool waits = !udpai_list_empty(&door->waiting) || !udpai_list_empty(&door->waiting_huge);
    if (waits && !udpai_timer_is_set(&door->waiting_look))
        udpai_timer_set(door->wheel, &door->waiting_look, door->wheel->now_ms + LOOK_MS);
}

static udpai_reservation
reserve(udpai_door_stream *stream, size_t size)
{
    udpai_reservation answer = events_of(stream)->reserve(stream, size);
    if (answer != UDPAI_RESERVED)
        return answer;
    stream->reserved = size;
    stream->grew_ms = door_of(stream)->wheel->now_ms;
    udpai_list_remove(&stream->in_room);
    udpai_list_append(&door_of(stream)->holding, &stream->in_room);
    return answer;
}

/* True: there is no room for the others either. One of a client that has no room lets others go
 * first. */
static bool
let_in_those(udpai_list *waiting)
{
    UDPAI_LIST_FOREACH_SAFE (at, waiting) {
        udpai_door_stream *stream = UDPAI_LIST_ENTRY(at, udpai_door_stream, in_room);
        udpai_reservation answer = reserve(stream, udpai_door_unfinished_size(stream));
        if (answer == UDPAI_NO_ROOM)
            return true;
        if (answer == UDPAI_RESERVED) {
            stream->is_waiting = false;
            udpai_door_stream_due(stream);
        }
    }
    return false;
}

/* First what is soon over: one that may never be completed would hold it up for seconds. */
static void
let_in(udpai_door *door)
{
    if (!let_in_those(&door->waiting))
        (void)let_in_those(&door->waiting_huge);
}

void
udpai_door_unfinished_begin(udpai_door_stream *stream)
{
    udpai_door *door = door_of(stream);
    size_t size = udpai_door_unfinished_size(stream);
    if (stream->reserved)
        stream->grew_ms = door->wheel->now_ms;
    if (stream->reserved || stream->is_waiting || size <= SMALL_BYTES ||
        reserve(stream, size) == UDPAI_RESERVED)
        return;
    stream->is_waiting = true;
    udpai_list_append(size > HUGE_BYTES ? &door->waiting_huge : &door->waiting, &stream->in_room);
    look_later(door);
}

void
udpai_door_unfinished_over(udpai_door_stream *stream)
{
    size_t reserved = stream->reserved;
    stream->reserved = 0;
    stream->is_waiting = false;
    udpai_list_remove(&stream->in_room);
    if (!reserved)
        return;
    events_of(stream)->release(stream, reserved);
    let_in(door_of(stream));
}

bool
udpai_door_may_keep(udpai_door *door, size_t more)
{
    return door->n_kept + more <= OVER_MAX * door->max_unfinished_bytes;
}

static void
on_look(udpai_timer *timer)
{
    udpai_door *door = UDPAI_CONTAINER_OF(timer, udpai_door, waiting_look);
    UDPAI_LIST_FOREACH_SAFE (at, &door->holding) {
        udpai_door_stream *stream = UDPAI_LIST_ENTRY(at, udpai_door_stream, in_room);
        if (door->wheel->now_ms - stream->grew_ms >= SILENT_MS)
            udpai_door_stream_stalled(stream, SILENT_MS / 1000);
    }
    look_later(door);
}

void
udpai_door_unfinished_init(udpai_door *door)
{
    udpai_list_init(&door->waiting);
    udpai_list_init(&door->waiting_huge);
    udpai_list_init(&door->holding);
    udpai_timer_init(&door->waiting_look, on_look);
}
