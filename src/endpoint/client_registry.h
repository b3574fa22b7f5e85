/* SPDX-License-Identifier: Apache-2.0 */
/* What this node reports to others of the clients that it serves: resources of
 * udpa.status.v1.ClientStatus, made while they have subscribers (docs/design/csds.md). Each stream
 * side reports its own (xds/client_registry.h); here they become reports of the node, with a ttl,
 * renewed in time, and withdrawn when the client leaves or the last subscription ends. Once all
 * have been reported, a further one states how many there are, and which nodes are below. On the
 * loop. */
#ifndef UDPAI_CLIENT_REGISTRY_H
#define UDPAI_CLIENT_REGISTRY_H

#include "endpoint/service.h"

/* It reports no more than that; how many more there are is reported. */
#define UDPAI_CLIENT_CENSUS_MAX 20000

typedef struct udpai_client_registry_options {
    udpai_node *node;
    udpai_wheel *wheel;
    udpai_str node_id;
    uint64_t ttl_ms;
    size_t n_stream_sides; /* with those of workers; see session/worker_pool.h */
    void (*order)(void *userdata, udpai_order *order); /* takes it */
    int64_t (*wall_us)(void *userdata);
    void *userdata;
} udpai_client_registry_options;

udpa_err udpai_client_registry_new(udpai_service **ret_registry,
                                   const udpai_client_registry_options *options);

#endif
