/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a sum in two parts, for what adds up, and what keeps it over a restart. */
#ifndef UDPAI_LOAD_STATS_SPLIT_INTERNAL_H
#define UDPAI_LOAD_STATS_SPLIT_INTERNAL_H

#include "reports/load_stats_split.h"

struct udpai_load_stats_split {
    udpai_load_aggregate *exclusive;
    udpai_load_aggregate *shared; /* NULL: there never was a shared client */
    /* While there is that: all places of both, so that they fit into one sum; figures only while
     * they are added up. */
    udpai_load_stats *both;
    udpai_load_stats total; /* borrows what it holds of the three */
    udpai_load_stats_cover cover;
    udpai_load_aggregate_options options;
    udpai_str cluster, node_id; /* owned */
};

/* There is a shared client: makes the second part, if it is not there yet. */
udpa_err udpai_load_stats_split_begin_shared(udpai_load_stats_split *split, udpa_error **ret_error);

#endif
