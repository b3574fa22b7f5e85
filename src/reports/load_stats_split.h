/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregate of one cluster's reports, in two parts: those of clients that report to one node,
 * as this node and those below it have counted them; and those of shared clients, which report to
 * several nodes, and which every node counts itself. A node above takes the first part of this
 * one's aggregate, and counts the shared clients itself, so it does not matter how many nodes they
 * report to.
 *
 * A client that is shared from now on begins a new epoch, and so does one that is not any more:
 * what was counted of either kind stays where it is. Belongs to one thread. */
#ifndef UDPAI_LOAD_STATS_SPLIT_H
#define UDPAI_LOAD_STATS_SPLIT_H

#include "reports/load_aggregate.h"

typedef struct udpai_load_stats_split udpai_load_stats_split;

/* Its reporter. */
typedef enum udpai_load_stats_kind {
    UDPAI_LOAD_STATS_OF_CLIENT, /* ClientLoad: not counted if it is shared */
    UDPAI_LOAD_STATS_OF_NODE,   /* ClusterLoad: without what in it is of shared clients */
    UDPAI_LOAD_STATS_OF_SHARED, /* SharedClientLoad, by any way */
} udpai_load_stats_kind;

udpa_err udpai_load_stats_split_new(udpai_load_stats_split **ret_split,
                                    const udpai_load_aggregate_options *options);
udpai_load_stats_split *udpai_load_stats_split_free(udpai_load_stats_split *split);
UDPA_DEFINE_CLEANUP(udpai_load_stats_split, udpai_load_stats_split_free)
/* As udpai_load_aggregate_end(). */
void udpai_load_stats_split_end(udpai_load_stats_split *split, udpai_load_stats_nodes *ret_counted);

/* As udpai_load_aggregate_take(); both parts together are bounded as one sum is. What is of a
 * shared client, and older than what is known, which had another way, is left out: it is no error.
 */
udpa_err udpai_load_stats_split_take(udpai_load_stats_split *split,
                                     udpai_load_stats_kind kind,
                                     udpai_str reporter,
                                     udpai_load_stats *stats,
                                     udpa_error **ret_error);
bool udpai_load_stats_split_knows(const udpai_load_stats_split *split,
                                  udpai_load_stats_kind kind,
                                  udpai_str reporter,
                                  uint64_t epoch);
void udpai_load_stats_split_leave(udpai_load_stats_split *split,
                                  udpai_load_stats_kind kind,
                                  udpai_str reporter);

/* As udpai_load_aggregate_rest(). */
void udpai_load_stats_split_rest(udpai_load_stats_split *split);

/* All of it, and what in it is shared: borrowed, until the next call. NULL without memory. */
const udpai_load_stats *udpai_load_stats_split_total(udpai_load_stats_split *split,
                                                     uint64_t elapsed_ns);

#endif
