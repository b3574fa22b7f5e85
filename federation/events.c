/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/events.h"
#include "federation/stamp.h"

#include "base/alloc.h"
#include "events/topics.h"
#include "federation/local.h"

/* Of more, what comes twice because a stream has ended between is told twice. */
#define TOPICS_MAX 1024

/* The last event of a topic. */
typedef struct heard_topic {
    udpai_event_place last;
    uint32_t len;
    char name[];
} heard_topic;

static udpai_str
heard_key(const void *item)
{
    const heard_topic *heard = item;
    return (udpai_str){heard->name, heard->len};
}

void
udpai_events_init(udpai_receiver *receiver)
{
    udpai_map_init(&receiver->received_topics, heard_key);
}

void
udpai_events_free(udpai_receiver *receiver)
{
    size_t at = 0;
    heard_topic *heard;
    while ((heard = udpai_map_next(&receiver->received_topics, &at)))
        udpai_free(heard);
    udpai_map_done(&receiver->received_topics);
}

bool
udpai_resource_is_event(const udpa_resource *resource)
{
    return udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_EVENT));
}

/* NULL: there is no memory or room to know it. */
static heard_topic *
get_heard(udpai_receiver *receiver, udpai_str name)
{
    heard_topic *heard = udpai_map_get(&receiver->received_topics, name);
    if (heard || receiver->received_topics.n >= TOPICS_MAX)
        return heard;
    heard = udpai_alloc(sizeof(*heard) + name.len);
    if (!heard)
        return NULL;
    heard->len = (uint32_t)name.len;
    memcpy(heard->name, name.data, name.len);
    if (udpai_map_add(&receiver->received_topics, heard))
        return heard;
    udpai_free(heard);
    return NULL;
}

/* A source begins with the oldest that it holds whenever it is asked, as after a lost stream. */
static bool
was_told(udpai_receiver *receiver, const udpa_resource *resource)
{
    udpai_event_place place;
    if (!udpai_event_version_read(udpai_resource_version(resource), &place))
        return false;
    heard_topic *heard = get_heard(receiver, udpai_resource_name(resource));
    if (!heard)
        return false;
    if (heard->last.begun_us == place.begun_us && place.sequence <= heard->last.sequence)
        return true;
    heard->last = place;
    return false;
}

static udpa_err
check(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    const udpai_peer *peer = intake->peer;
    if (!intake->receiver->context->is_endpoint || !udpai_intake_is_from_source(intake))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%s' is an event, which is nothing to be kept: events go to endpoints "
                          "that have subscribed to them",
                          udpa_resource_name(resource));
    if (udpai_source_covers(peer->source, udpai_resource_type_url(resource),
                            udpai_resource_name(resource)))
        return udpai_intake_check_way(intake, resource, ret_error);
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%s' lies outside the namespaces of events that this source is asked for",
                      udpa_resource_name(resource));
}

static udpa_err
stamp(const udpai_intake *intake, const udpa_resource *resource, udpa_resource **ret_stamped)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpai_str from = udpai_peer_name(intake->peer);
    if (parts.authority.len == 0)
        parts.authority = from;
    udpai_stamp_hop(intake->receiver->context, &parts, &room, from);
    return udpai_resource_make(ret_stamped, &parts);
}

void
udpai_events_take(udpai_intake *intake, udpai_publication_entry *entry)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *stamped = NULL;
    udpa_error *error = NULL;
    udpa_err err = check(intake, entry->resource, &error);
    if (err == UDPA_OK)
        err = udpai_fail_code(&error, stamp(intake, entry->resource, &stamped));
    if (err != UDPA_OK)
        udpai_publication_refuse(&entry->error, error);
    else if (!was_told(intake->receiver, stamped))
        udpai_locals_tell_event(intake->receiver->local, stamped);
}
