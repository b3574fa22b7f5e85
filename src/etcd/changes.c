/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/changes.h"

/* A list of many keys does not stay for ever what it was at its beginning. */
#define KEPT_EVENTS 1024

void
udpai_etcd_changes_copy_init(udpai_etcd_changes_copy *copy)
{
    *copy = (udpai_etcd_changes_copy){0};
    udpai_arena_init(&copy->arena);
}

void
udpai_etcd_changes_copy_done(udpai_etcd_changes_copy *copy)
{
    udpai_arena_done(&copy->arena);
    udpai_vector_done(&copy->events);
}

void
udpai_etcd_changes_copy_clear(udpai_etcd_changes_copy *copy)
{
    udpai_arena_reset(&copy->arena);
    if (copy->events.capacity > KEPT_EVENTS)
        udpai_vector_done(&copy->events);
    copy->events.n = 0;
}

static bool
copy_text(udpai_etcd_changes_copy *copy, udpai_str *text)
{
    char *room = udpai_arena_alloc(&copy->arena, text->len);
    if (!room)
        return false;
    if (text->len)
        memcpy(room, text->data, text->len);
    text->data = room;
    return true;
}

bool
udpai_etcd_changes_copy_add(udpai_etcd_changes_copy *copy, const udpai_etcd_event *event)
{
    udpai_etcd_event own = *event;
    return copy_text(copy, &own.kv.key) && copy_text(copy, &own.kv.value) &&
           udpai_vector_push(&copy->events, own);
}
