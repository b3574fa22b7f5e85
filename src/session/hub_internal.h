/* SPDX-License-Identifier: Apache-2.0 */
/* The hub's inside, for hub.c and hub_parts.c alone: sessions and layers above know hub.h. */
#ifndef UDPAI_HUB_INTERNAL_H
#define UDPAI_HUB_INTERNAL_H

#include "base/map.h"
#include "session/access.h"
#include "session/client_log.h"
#include "session/event_forwarder.h"
#include "session/hub.h"
#include "session/introduction.h"
#include "session/marks.h"
#include "session/owed.h"
#include "session/own_events.h"
#include "session/recent_traces.h"
#include "session/stream_barrier.h"

struct udpai_hub {
    udpai_wheel *wheel;
    udpai_hub_options options;
    udpai_hub_env env;
    udpai_fanout *fanout;
    udpai_decoder decoder;
    udpai_map sessions; /* by id */
    udpai_list ready;
    udpai_stream_barrier barrier;
    udpai_list late; /* orders that the mirror has not followed yet, the oldest first */
    udpai_timer retry;
    udpai_access access;
    udpai_client_log client_log;
    udpai_map side_links;
    udpai_event_forwarder forwarder;
    udpai_own_events own_events;
    udpai_introduction introduction;
    udpai_marks marks;
    udpai_recent_traces traces;
    udpai_debts debts;
    uint64_t last_id, last_side_link;
    void *watcher; /* NULL: there is none */
    bool is_draining;
    udpai_meters *meters;
    udpai_memory memory; /* of sessions */
    udpai_meter *fanout_memory, *responses_memory, *sessions_memory;
    udpai_traffic_table traffic;
};

#endif
