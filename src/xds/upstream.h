/* SPDX-License-Identifier: Apache-2.0 */
/* Any xDS v3 server as a ConfigSource: the node is its client, on one stream of the delta or of the
 * state of the world protocol (docs/design/xds.md).
 *
 * Federation orders and receives the same as with a UDPA peer: it asks for names and wildcards,
 * what the server sends comes as publications, what becomes of them goes back as ACK or NACK. What
 * UDPA sends and xDS does not (that something is not there, that all was sent) is found out here.
 */
#ifndef UDPAI_XDS_UPSTREAM_H
#define UDPAI_XDS_UPSTREAM_H

#include "session/hub.h"

#define UDPAI_UPSTREAM_PATIENCE_MS 15000
#define UDPAI_UPSTREAM_SILENCE_MS 1000
#define UDPAI_UPSTREAM_MAX_HELD 1000000

typedef struct udpai_upstream_options {
    bool is_delta;
    bool is_rest;         /* what it serves is polled by REST (polling.h): of types that can be */
    udpai_str type_url;   /* what the service is for; empty: the aggregated one, for all */
    udpai_str name_space; /* that its names are in */
    udpai_str authority;  /* that speaks by it */
    udpai_str node;       /* serialised: what the server takes us for */
    /* 0: the defaults above. */
    uint64_t patience_ms; /* what was asked for by name and did not come by then is not there */
    uint64_t silence_ms;  /* behind the first response to a wildcard: all was sent */
    size_t max_held;      /* resources that the server may have us hold */
} udpai_upstream_options;

/* Of the aggregated service. */
#define UDPAI_UPSTREAM_DELTA_PATH                                                                  \
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
#define UDPAI_UPSTREAM_SOTW_PATH                                                                   \
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

/* A server, across streams: what it sent on one need not be sent on the next. The context of its
 * streams, which it outlives. Belongs to the stream thread while there are any. */
typedef struct udpai_upstream udpai_upstream;

/* Copies everything. */
udpa_err udpai_upstream_new(udpai_upstream **ret_upstream, const udpai_upstream_options *options);
udpai_upstream *udpai_upstream_free(udpai_upstream *upstream);
UDPA_DEFINE_CLEANUP(udpai_upstream, udpai_upstream_free)
/* The same for callers to which it is a void *. */
void udpai_upstream_drop(void *upstream);
/* As it was made, with the defaults filled in; any thread. */
const udpai_upstream_options *udpai_upstream_settings(const udpai_upstream *upstream);

/* Begins a session on a new stream, whose info->context is the udpai_upstream; reports it opened.
 */
udpa_err udpai_upstream_session_new(udpai_session **ret_session,
                                    udpai_hub *hub,
                                    const udpai_stream_info *info);

#endif
