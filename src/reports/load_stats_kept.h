/* SPDX-License-Identifier: Apache-2.0 */
/* What aggregates that have ended had counted of which node, by cluster, for a while: a path that
 * lags behind may report it to the next aggregate of the cluster, which is to know it. Belongs to
 * one thread. */
#ifndef UDPAI_LOAD_STATS_KEPT_H
#define UDPAI_LOAD_STATS_KEPT_H

#include "base/list.h"
#include "reports/load_stats_nodes.h"

typedef struct udpai_load_stats_kept {
    udpai_map map;
    udpai_list order; /* those first that are forgotten first */
} udpai_load_stats_kept;

void udpai_load_stats_kept_init(udpai_load_stats_kept *kept);
void udpai_load_stats_kept_done(udpai_load_stats_kept *kept);

/* Of the cluster, of which nothing is kept; takes what was counted. What is put later is forgotten
 * no earlier. Without memory it is not kept. */
void udpai_load_stats_kept_put(udpai_load_stats_kept *kept,
                               udpa_bytes *cluster,
                               udpai_load_stats_nodes *counted,
                               uint64_t until_ms);
/* NULL: nothing is kept. Borrowed. */
udpai_load_stats_nodes *udpai_load_stats_kept_find(const udpai_load_stats_kept *kept,
                                                   udpai_str cluster);
void udpai_load_stats_kept_forget(udpai_load_stats_kept *kept, udpai_str cluster);
/* Forgets what is due, and returns when the next is; UINT64_MAX: none. */
uint64_t udpai_load_stats_kept_expire(udpai_load_stats_kept *kept, uint64_t now_ms);

#endif
