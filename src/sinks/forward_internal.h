/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of what forwards, for forward.c and forward_session.c. */
#ifndef UDPAI_FORWARD_INTERNAL_H
#define UDPAI_FORWARD_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "sinks/forward.h"

/* Events of one client that wait for its stream, so that the next one may be another's. */
#define UDPAI_LANE_EVENTS 16

typedef struct udpai_lane udpai_lane;

/* A client, as the receiver sees it. */
struct udpai_lane {
    udpai_side_link link;
    udpai_forward *owner;
    udpai_list in_age;      /* of the forward: the least recently used first */
    udpai_session *session; /* NULL: there is no stream */
    bool is_dialling;
    bool is_asking; /* for what comes next */
    uint64_t opened_ms, used_ms;
    udpai_event_source *source; /* of the first event */
    udpai_event *waiting[UDPAI_LANE_EVENTS];
    size_t n;
    uint32_t len;
    char key[]; /* node id, identity and name, with a zero byte between */
};

struct udpai_forward {
    udpai_topic *topic;
    udpai_forward_options options;
    udpa_bytes *to;
    void *target;
    udpai_hub *hub; /* NULL: nothing is forwarded yet */
    udpai_topic_follower follower;
    udpai_event *next; /* taken from the topic, and waits for its lane; NULL: none */
    udpai_map lanes;
    udpai_list by_age;
    udpai_timer retry; /* set: nobody is dialled before */
    udpai_timer sweep;
    unsigned n_failures;
    udpai_log_limit log;
    atomic_uint_fast64_t n_streams, n_sent, n_missed;
};

/* ---- forward.c ---- */

/* The lane that was dialled for this link; NULL: nobody waits for it any more. */
udpai_lane *udpai_lane_opened(udpai_forward *forward, uint64_t link, udpai_session *session);
/* Its stream has ended; `is_logged`: not by this node, so it is logged. NULL: as it should. */
void udpai_lane_closed(udpai_lane *lane, const udpa_error *why, bool is_logged);
/* The next event to be sent; the caller's reference; NULL: there is none. */
udpai_event *udpai_lane_next(udpai_lane *lane);
/* One that was to be sent was not. */
void udpai_lane_missed(udpai_lane *lane);

/* ---- forward_session.c ---- */

/* It has no lane any more, and ends. */
void udpai_forward_session_leave(udpai_session *session);

#endif
