/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of one cluster's reports, in two parts: those of clients that report to one node, as this
 * node and those below it have counted them; and those of shared clients, which report to several
 * nodes, and whom every node counts itself. A node above takes the first part of this one's sum,
 * and counts the shared clients itself, so it does not matter how many nodes they report to.
 *
 * A client that is shared from now on begins a new epoch, and so does one that is not any more:
 * what was counted of either kind stays where it is. Belongs to one thread. */
#ifndef UDPAI_TALLY_SPLIT_H
#define UDPAI_TALLY_SPLIT_H

#include "reports/tally_sum.h"

typedef struct udpai_tally_split udpai_tally_split;

/* What says it. */
typedef enum udpai_tally_kind {
    UDPAI_TALLY_OF_CLIENT, /* ClientLoad: not counted if it is shared */
    UDPAI_TALLY_OF_NODE,   /* ClusterLoad: without what in it is of shared clients */
    UDPAI_TALLY_OF_SHARED, /* SharedClientLoad, by any way */
} udpai_tally_kind;

udpa_err udpai_tally_split_new(udpai_tally_split **ret_split,
                               const udpai_tally_sum_options *options);
udpai_tally_split *udpai_tally_split_free(udpai_tally_split *split);
UDPA_DEFINE_CLEANUP(udpai_tally_split, udpai_tally_split_free)
/* As udpai_tally_sum_end(). */
void udpai_tally_split_end(udpai_tally_split *split, udpai_tally_nodes *ret_counted);

/* As udpai_tally_sum_take(); both parts together are bounded as one sum is. What is of a shared
 * client, and older than what is known, which had another way, is left out: it is no error. */
udpa_err udpai_tally_split_take(udpai_tally_split *split,
                                udpai_tally_kind kind,
                                udpai_str reporter,
                                udpai_tally *tally,
                                udpa_error **ret_error);
bool udpai_tally_split_knows(const udpai_tally_split *split,
                             udpai_tally_kind kind,
                             udpai_str reporter,
                             uint64_t epoch);
void udpai_tally_split_leave(udpai_tally_split *split, udpai_tally_kind kind, udpai_str reporter);

/* As udpai_tally_sum_rest(). */
void udpai_tally_split_rest(udpai_tally_split *split);

/* All of it, and what in it is shared: borrowed, until the next call. NULL without memory. */
const udpai_tally *udpai_tally_split_total(udpai_tally_split *split, uint64_t elapsed_ns);

#endif
