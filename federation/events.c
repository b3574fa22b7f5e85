/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/events.h"
#include "federation/stamp.h"

#include "base/alloc.h"
#include "events/topics.h"
#include "federation/local.h"

/* Of more topics, an event that is received twice because a stream has ended between is reported
 * twice. */
#define TOPICS_MAX 1024

/* The last event of a topic. */
typedef struct received_topic {
    udpai_event_place last;
    uint32_t len;
    char name[];
} received_topic;

static udpai_str
received_key(const void *item)
{
    const received_topic *received = item;
    return (udpai_str){received->name, received->len};
}

void
udpai_events_init(udpai_receiver *receiver)
{
    udpai_map_init(&receiver->received_topics, received_key);
}

void
udpai_events_free(udpai_receiver *receiver)
{
    size_t at = 0;
    received_topic *received;
    while ((received = udpai_map_next(&receiver->received_topics, &at)))
        udpai_free(received);
    udpai_map_done(&receiver->received_topics);
}

bool
udpai_resource_is_event(const udpa_resource *resource)
{
    return udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_EVENT));
}

/* NULL: there is no memory or room to know it. */
static received_topic *
get_received(udpai_receiver *receiver, udpai_str name)
{
    received_topic *received = udpai_map_get(&receiver->received_topics, name);
    if (received || receiver->received_topics.n >= TOPICS_MAX)
        return received;
    received = udpai_alloc(sizeof(*received) + name.len);
    if (!received)
        return NULL;
    received->len = (uint32_t)name.len;
    memcpy(received->name, name.data, name.len);
    if (udpai_map_add(&receiver->received_topics, received))
        return received;
    udpai_free(received);
    return NULL;
}

/* A source begins with the oldest that it holds whenever it is asked, as after a lost stream. */
static bool
was_received(udpai_receiver *receiver, const udpa_resource *resource)
{
    udpai_event_place place;
    if (!udpai_event_version_read(udpai_resource_version(resource), &place))
        return false;
    received_topic *received = get_received(receiver, udpai_resource_name(resource));
    if (!received)
        return false;
    if (received->last.begun_us == place.begun_us && place.sequence <= received->last.sequence)
        return true;
    received->last = place;
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
        return udpai_intake_check_path(intake, resource, ret_error);
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
    else if (!was_received(intake->receiver, stamped))
        udpai_locals_notify_event(intake->receiver->local, stamped);
}
