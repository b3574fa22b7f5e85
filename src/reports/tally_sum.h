/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of what many say of one cluster: clients, and nodes that have summed up theirs.
 *
 * Of each reporter the newest tally of each epoch is kept, and what it grows by is added; so it
 * does not matter how often, in which order of epochs, or after which gap a reporter is heard.
 * Gauges are those of the reporters that are there. A sum never counts anything twice: what it
 * cannot know to be new it does not add. Belongs to one thread. */
#ifndef UDPAI_TALLY_SUM_H
#define UDPAI_TALLY_SUM_H

#include "reports/tally_cover.h"
#include "reports/tally_nodes.h"

typedef struct udpai_tally_sum udpai_tally_sum;

#define UDPAI_TALLY_REPORTERS_MAX 65536
/* Reporters that have gone and are remembered, so that they go on where they were. */
#define UDPAI_TALLY_GONE_MAX 4096
/* Epochs of one reporter that are remembered: streams of one client may overlap. */
#define UDPAI_TALLY_EPOCHS_MAX 4

typedef struct udpai_tally_sum_options {
    udpai_str cluster; /* full name; copied */
    udpai_str node_id; /* whose sum it is; copied */
    uint64_t epoch;    /* the sum's */
    /* A reporter's epoch that is lower may have been counted by an earlier sum of this node: what
     * it says at first counts for nothing, what it grows by does. 0: everything counts. */
    uint64_t counts_from;
    size_t max_reporters, max_gone; /* 0: the limits above */
    uint64_t lasts_ns;              /* the ttl with which it is said */
    udpai_tally_nodes *counted;     /* by an earlier sum (udpai_tally_sum_end()); NULL: unknown */
} udpai_tally_sum_options;

/* What was counted is taken, unless it fails. */
udpa_err udpai_tally_sum_new(udpai_tally_sum **ret_sum, const udpai_tally_sum_options *options);
udpai_tally_sum *udpai_tally_sum_free(udpai_tally_sum *sum);
UDPA_DEFINE_CLEANUP(udpai_tally_sum, udpai_tally_sum_free)
/* Frees it but for what it has counted of which node, which is left in @p ret_counted. */
void udpai_tally_sum_end(udpai_tally_sum *sum, udpai_tally_nodes *ret_counted);

/* What a reporter says now; consumes the tally, also on failure. UDPA_ERR_INVAL: it cannot be true,
 * and why; UDPA_ERR_PRECONDITION: it counts clients that are counted here by another way;
 * UDPA_ERR_LIMIT: it is too much. What is refused changes nothing. */
udpa_err udpai_tally_sum_take(udpai_tally_sum *sum,
                              udpai_str reporter,
                              udpai_tally *tally,
                              udpa_error **ret_error);
/* Has it said something of this epoch before? */
bool udpai_tally_sum_knows(const udpai_tally_sum *sum, udpai_str reporter, uint64_t epoch);
/* What it has said of it last: borrowed, until the next call; NULL: nothing. */
const udpai_tally *
udpai_tally_sum_known(const udpai_tally_sum *sum, udpai_str reporter, uint64_t epoch);
/* A reporter is there no more: its counts stay, its gauges do not. */
void udpai_tally_sum_leave(udpai_tally_sum *sum, udpai_str reporter);

/* Nobody is heard any more, for now. Those that are there go, as if they had left; but all of them
 * are remembered, besides those that went before, until this is said again. */
void udpai_tally_sum_rest(udpai_tally_sum *sum);

/* The sum as a tally: borrowed, until the next call. NULL without memory. */
const udpai_tally *udpai_tally_sum_total(udpai_tally_sum *sum, uint64_t elapsed_ns);
/* Adds what time the counts of each reporter cover. */
void udpai_tally_sum_spans(const udpai_tally_sum *sum, udpai_tally_spans *to);
/* Reporters that are there. */
size_t udpai_tally_sum_n_reporters(const udpai_tally_sum *sum);

#endif
