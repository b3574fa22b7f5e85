/* SPDX-License-Identifier: Apache-2.0 */
/* What sums that have ended had counted of which node, by cluster, for a while: a way that lags
 * behind may tell it to the next sum of the cluster, which is to know it. Belongs to one thread. */
#ifndef UDPAI_TALLY_KEPT_H
#define UDPAI_TALLY_KEPT_H

#include "base/list.h"
#include "reports/tally_nodes.h"

typedef struct udpai_tally_kept {
    udpai_map map;
    udpai_list order; /* those first that are forgotten first */
} udpai_tally_kept;

void udpai_tally_kept_init(udpai_tally_kept *kept);
void udpai_tally_kept_done(udpai_tally_kept *kept);

/* Of the cluster, of which nothing is kept; takes what was counted. What is put later is forgotten
 * no earlier. Without memory it is not kept. */
void udpai_tally_kept_put(udpai_tally_kept *kept,
                          udpa_bytes *cluster,
                          udpai_tally_nodes *counted,
                          uint64_t until_ms);
/* NULL: nothing is kept. Borrowed. */
udpai_tally_nodes *udpai_tally_kept_find(const udpai_tally_kept *kept, udpai_str cluster);
void udpai_tally_kept_forget(udpai_tally_kept *kept, udpai_str cluster);
/* Forgets what is due, and returns when the next is; UINT64_MAX: none. */
uint64_t udpai_tally_kept_expire(udpai_tally_kept *kept, uint64_t now_ms);

#endif
