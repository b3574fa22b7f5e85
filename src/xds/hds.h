/* SPDX-License-Identifier: Apache-2.0 */
/* HDS: clients that check the health of endpoints for others. What each is to check is a resource
 * of the type HealthCheckSpecifier, called after its node id, or "computed/" and that, or
 * "default", in the default namespace of its audience; it is sent again whenever that changes. What
 * it answers becomes client resources, one for each cluster (udpa.health.v1.EndpointHealth), which
 * it publishes as any publisher does. No I/O, like every session. */
#ifndef UDPAI_HDS_H
#define UDPAI_HDS_H

#include "base/map.h"
#include "session/hub.h"
#include "xds/server.h"

#define UDPAI_HDS_METHODS 2
/* Before a client's id, percent-encoded: the specifier that a node has computed for it. */
#define UDPAI_HDS_COMPUTED "computed"
#define UDPAI_HDS_STREAM_PATH "/envoy.service.health.v3.HealthDiscoveryService/StreamHealthCheck"
#define UDPAI_HDS_REST_PATH "/v3/discovery:health_check" /* by the method of Fetch */
#define UDPAI_HDS_FETCH_PATH "/envoy.service.health.v3.HealthDiscoveryService/FetchHealthCheck"

typedef struct udpai_hds_service udpai_hds_service;

/* What clients may call: the context of their streams. */
typedef struct udpai_hds_method {
    const char *path;
    bool is_fetch; /* one request, one specifier: nothing is answered there */
    udpai_hds_service *service;
} udpai_hds_method;

/* Outlives the hub. Belongs to the stream thread. */
struct udpai_hds_service {
    udpai_xds_server *server; /* the audiences of these clients */
    udpai_hds_method methods[UDPAI_HDS_METHODS];
    /* Of warnings: specifiers that cannot be used, or not in full; answers to what was not asked;
     * and what the rules of this node do not let a client publish. */
    udpai_log_limit bad_specifiers, bad_answers, refused;
    udpai_map announced; /* sessions, by what they have announced: of two, the later one */
};

/* What callers are sent, and what is reported to a configuration that asks for it, if this program
 * was built without HDS; NULL: it has it. */
const char *udpai_hds_absent(void);

void udpai_hds_init(udpai_hds_service *service, udpai_xds_server *server);

/* Begins a session on a new stream, whose info->context is the udpai_hds_method. */
udpa_err
udpai_hds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
