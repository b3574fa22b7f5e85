/* SPDX-License-Identifier: Apache-2.0 */
/* Reading late. To be woken for an acknowledgement and to read its hundred bytes costs about as
 * much as the message that it acknowledges. So connections that have nothing else to send, and are
 * written to, are parked in a set of their own, which is looked at a few times in a second; all
 * that has come by then is read at once. When nothing was written between two looks, the set is
 * listened to like any other connection, and so is a connection that is not written to for a while.
 */
#include <sys/epoll.h>

#include "transport/door/door_internal.h"

#define STREAMS_PER_MS 10 /* it takes longer to write to all of them */
#define MOST_MS 100
#define LEAST_MS 10
#define LEAVES_MS 1000 /* without a message, one is parked no more */
/* After so much was written, what lets us write more has to be read, too; peers that let us write
 * the least of all still have some room then. */
#define WRITTEN_MAX ((size_t)16 << 10)
#define READ_AT_ONCE 64

static uint64_t
late_ms(const udpai_door *door)
{
    uint64_t ms = door->n_streams / STREAMS_PER_MS;
    if (ms < LEAST_MS)
        return 0;
    return ms < MOST_MS ? ms : MOST_MS;
}

static void
move(udpai_door_connection *connection, int from, int to)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    (void)epoll_ctl(from, EPOLL_CTL_DEL, connection->socket, NULL);
    if (epoll_ctl(to, EPOLL_CTL_ADD, connection->socket, &event) != 0)
        udpai_door_connection_break(connection);
}

static void
watch(udpai_door *door, bool watches)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &door->parked_epoll};
    if (watches != door->watches_parked)
        (void)epoll_ctl(door->epoll, watches ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, door->parked_epoll,
                        &event);
    door->watches_parked = watches;
}

void
udpai_door_unpark(udpai_door_connection *connection)
{
    udpai_door *door = connection->listener->door;
    if (!connection->is_parked)
        return;
    connection->is_parked = false;
    udpai_list_remove(&connection->in_parked);
    if (!connection->is_broken)
        move(connection, door->parked_epoll, door->epoll);
}

void
udpai_door_park(udpai_door_connection *connection)
{
    udpai_door *door = connection->listener->door;
    uint64_t ms = late_ms(door);
    bool may_wait = ms && !connection->n_restless && connection->n_written <= WRITTEN_MAX &&
                    !connection->waits_for_room && connection->n_streams;
    if (!may_wait) {
        udpai_door_unpark(connection);
        return;
    }
    if (!connection->is_parked)
        move(connection, door->epoll, door->parked_epoll);
    connection->is_parked = true;
    udpai_list_remove(&connection->in_parked);
    udpai_list_append(&door->parked, &connection->in_parked);
    door->parked_written_ms = door->wheel->now_ms;
    watch(door, false);
    if (!udpai_timer_is_set(&door->parked_look))
        udpai_timer_set(door->wheel, &door->parked_look, door->wheel->now_ms + ms);
}

void
udpai_door_parked_read(udpai_door *door)
{
    struct epoll_event events[READ_AT_ONCE];
    int n = epoll_wait(door->parked_epoll, events, READ_AT_ONCE, 0);
    for (int i = 0; i < n; i++) {
        udpai_door_connection *connection = events[i].data.ptr;
        udpai_door_connection_read(connection);
        if (connection->n_restless)
            udpai_door_unpark(connection);
    }
    door->has_more = n == READ_AT_ONCE;
}

/* Of the others, the first was written to least lately. */
static void
let_go(udpai_door *door)
{
    UDPAI_LIST_FOREACH_SAFE (at, &door->parked) {
        udpai_door_connection *connection = UDPAI_LIST_ENTRY(at, udpai_door_connection, in_parked);
        if (door->wheel->now_ms - connection->written_ms < LEAVES_MS)
            break;
        udpai_door_unpark(connection);
    }
}

static void
on_look(udpai_timer *timer)
{
    udpai_door *door = UDPAI_CONTAINER_OF(timer, udpai_door, parked_look);
    uint64_t ms = late_ms(door);
    door->has_more = true;
    let_go(door);
    if (ms && door->wheel->now_ms - door->parked_written_ms <= ms)
        udpai_timer_set(door->wheel, timer, door->wheel->now_ms + ms);
    else
        watch(door, true);
}

void
udpai_door_parked_init(udpai_door *door)
{
    udpai_list_init(&door->parked);
    udpai_timer_init(&door->parked_look, on_look);
}
