/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregates of what clients report of clusters: resources of udpa.load.v1.ClusterLoad, made
 * while they have subscribers (docs/design/client-resources.md).
 *
 * What each client reports (ClientLoad) is asked from those that have dialled this node; what nodes
 * below have aggregated (ClusterLoad) comes to its subscribers anyway. Both are added up for each
 * cluster, and reported once a second at most, named <cluster>/<this node>. On the loop. */
#ifndef UDPAI_LOAD_AGGREGATES_H
#define UDPAI_LOAD_AGGREGATES_H

#include "endpoint/service.h"

typedef struct udpai_load_aggregates_options {
    udpai_node *node;
    udpai_wheel *wheel;
    udpai_str node_id;
    uint64_t
        interval_ms; /* in which clients report: aggregates end three of them after the last one */
    uint64_t sleep_ms; /* what has no subscription is remembered for so long; 0: an hour */
    int64_t (*wall_us)(void *userdata);
    uint64_t (*clock_ms)(void *userdata); /* what the wheel gets once in a turn, as it is now */
    void *userdata;
} udpai_load_aggregates_options;

udpa_err udpai_load_aggregates_new(udpai_service **ret_aggregates,
                                   const udpai_load_aggregates_options *options);
/* Goes on with the aggregates that are kept in this file, and keeps them there. Before the first
 * subscription; if the file cannot be had, or is of another owner, they begin with this node.
 * UDPA_ERR_NOMEM */
udpa_err udpai_load_aggregates_keep(udpai_service *aggregates, const char *path, udpai_str owner);

#endif
