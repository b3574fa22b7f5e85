/* SPDX-License-Identifier: Apache-2.0 */
/* What this node tells others of the clients that it serves: resources of
 * udpa.status.v1.ClientStatus, made while somebody wants them (docs/design/csds.md). Each stream
 * side tells of its own (xds/client_registry.h); here they become reports of the node, with a ttl,
 * said again in time, and withdrawn when the client goes or nobody wants to know any more. Once all
 * have been told of, a further one says how many there are, and which nodes are below. On the
 * loop. */
#ifndef UDPAI_CLIENT_REGISTRY_H
#define UDPAI_CLIENT_REGISTRY_H

#include "endpoint/service.h"

/* It is not told of more; how many more there are is. */
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
