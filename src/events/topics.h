/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of a node: one for each kind of events that it takes in; and how they are called where
 * they are resources: every event is a version of the resource that is named after its topic. */
#ifndef UDPAI_TOPICS_H
#define UDPAI_TOPICS_H

#include "base/proto.h"
#include "events/topic.h"
#include "model/resource.h"
#include "model/types.h"

struct udpai_hub;
struct udpai_forward;

typedef struct udpai_topics udpai_topics;

struct udpai_topics {
    udpai_topic *topics[UDPAI_EVENT_KINDS]; /* NULL: it is not configured */
    /* What a worker shows instead: copies of what all of the node have. NULL: it is no worker. */
    udpai_topic *copies[UDPAI_EVENT_KINDS];
    udpai_str node_id;                                 /* ours */
    struct udpai_forward *forwards[UDPAI_EVENT_KINDS]; /* sinks/forward.h; NULL: none */
    /* Something is about to come, on this hub; harmless again and again. NULL: it is not needed. */
    void (*begin)(const udpai_topics *topics, struct udpai_hub *hub);
};

#define UDPAI_TOPIC_NAME_ROOM (UDPAI_AUTHORITY_MAX + 64)

/* "udpa.node/<node id>/events/<kind>", in the room. */
udpai_str
udpai_topic_name(udpai_str node_id, udpai_event_kind kind, char room[UDPAI_TOPIC_NAME_ROOM]);

#define UDPAI_EVENT_VERSION_ROOM 48

/* The place of an event: "<when its node began>.<sequence>". */
typedef struct udpai_event_place {
    uint64_t begun_us, sequence;
} udpai_event_place;

udpai_str udpai_event_version(udpai_event_place place, char room[UDPAI_EVENT_VERSION_ROOM]);
/* False: it is none. */
bool udpai_event_version_read(udpai_str version, udpai_event_place *ret_place);

/* The fields of a udpa.event.v1.Event, but for the bytes of the client's message, which are the
 * last of it and follow. */
void udpai_event_put(udpai_proto_writer *writer,
                     udpai_event_kind kind,
                     const udpai_event *event,
                     uint64_t n_lost);
/* The count in a serialised one of those before it; 0 also of what is none. */
uint64_t udpai_event_n_lost(udpai_str event);

#endif
