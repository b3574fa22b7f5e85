/* SPDX-License-Identifier: Apache-2.0 */
/* The streams by which Envoys send events, and the one by which they are read. Sessions of the hub;
 * no I/O. The topics outlive the hub. */
#ifndef UDPAI_SINKS_H
#define UDPAI_SINKS_H

#include "events/topics.h"
#include "session/hub.h"

#define UDPAI_EVENTS_PATH "/udpa.service.events.v1.EventService/Follow"

/* A stream of events, with the topic as info->context. */
udpa_err
udpai_sink_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

/* A stream of a reader of them: info->context is the udpai_topics. */
udpa_err udpai_events_session_new(udpai_session **ret_session,
                                  udpai_hub *hub,
                                  const udpai_stream_info *info);

/* The same of a reader that somebody else has found to be allowed to read all topics. */
udpa_err udpai_events_admitted_session_new(udpai_session **ret_session,
                                           udpai_hub *hub,
                                           const udpai_stream_info *info);

/* Fields of udpa.status.v1.NodeStatus; NULL without memory. Any thread. */
udpa_bytes *udpai_sinks_describe(const udpai_topics *sinks);

#endif
