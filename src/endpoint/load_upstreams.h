/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of LRS that this node reports to, one for each ConfigSource that has `load_reporting`:
 * each is dialled, and its subscriptions are subscriptions in the process, as of any subscriber, so
 * that clients are asked for them (docs/design/client-resources.md). On the loop. */
#ifndef UDPAI_LOAD_UPSTREAMS_H
#define UDPAI_LOAD_UPSTREAMS_H

#include "endpoint/service.h"

/* Links of these servers are above, those of others below. */
#define UDPAI_LOAD_LINKS (UINT64_C(1) << 63)

typedef struct udpai_load_upstream_config {
    udpai_str source; /* its name; borrowed for as long as the endpoint lives */
    void *target;     /* how it is reached, by the method of LRS; each DIAL has a reference */
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
} udpai_load_upstream_config;

typedef struct udpai_load_upstreams_options {
    udpai_node *node;
    udpai_wheel *wheel;
    udpai_str node_id; /* of the node with these aggregates; borrowed for as long as they are */
    const udpai_load_upstream_config *servers; /* copied, with a reference to each target */
    size_t n_servers;
    uint64_t backoff_base_ms, backoff_max_ms;
    void (*order)(void *userdata, udpai_order *order); /* takes it */
    uint64_t (*random)(void *userdata);
    void *userdata;
} udpai_load_upstreams_options;

/* *ret_upstreams: NULL if there are none. It begins to dial when the endpoint has started. */
udpa_err udpai_load_upstreams_new(udpai_service **ret_upstreams,
                                  const udpai_load_upstreams_options *options);

#endif
