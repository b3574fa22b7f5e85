/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregate of what many report of one cluster: clients, and nodes that have aggregated theirs.
 *
 * Of each reporter the newest value of each epoch is kept, and what it grows by is added; so it
 * does not matter how often, in which order of epochs, or after which gap a reporter reports.
 * Gauges are those of the reporters that are there. An aggregate never counts anything twice: what
 * it cannot know to be new it does not add. Belongs to one thread. */
#ifndef UDPAI_LOAD_AGGREGATE_H
#define UDPAI_LOAD_AGGREGATE_H

#include "reports/load_stats_cover.h"
#include "reports/load_stats_nodes.h"

typedef struct udpai_load_aggregate udpai_load_aggregate;

#define UDPAI_LOAD_STATS_REPORTERS_MAX 65536
/* Reporters that have left and are remembered, so that they go on where they were. */
#define UDPAI_LOAD_STATS_LEFT_MAX 4096
/* Epochs of one reporter that are remembered: streams of one client may overlap. */
#define UDPAI_LOAD_STATS_EPOCHS_MAX 4

typedef struct udpai_load_aggregate_options {
    udpai_str cluster; /* full name; copied */
    udpai_str node_id; /* of the node that has the aggregate; copied */
    uint64_t epoch;    /* the aggregate's */
    /* A reporter's epoch that is lower may have been counted by an earlier aggregate of this node:
     * its first report counts for nothing, what it grows by does. 0: everything counts. */
    uint64_t counts_from;
    size_t max_reporters, max_left; /* 0: the limits above */
    uint64_t lasts_ns;              /* the ttl with which it is reported */
    udpai_load_stats_nodes
        *counted; /* by an earlier aggregate (udpai_load_aggregate_end()); NULL: unknown */
} udpai_load_aggregate_options;

/* What was counted is taken, unless it fails. */
udpa_err udpai_load_aggregate_new(udpai_load_aggregate **ret_aggregate,
                                  const udpai_load_aggregate_options *options);
udpai_load_aggregate *udpai_load_aggregate_free(udpai_load_aggregate *aggregate);
UDPA_DEFINE_CLEANUP(udpai_load_aggregate, udpai_load_aggregate_free)
/* Frees it but for what it has counted of which node, which is left in @p ret_counted. */
void udpai_load_aggregate_end(udpai_load_aggregate *aggregate, udpai_load_stats_nodes *ret_counted);

/* A report; consumes the value, also on failure. UDPA_ERR_INVAL: it cannot be true, and why;
 * UDPA_ERR_PRECONDITION: it counts clients that are counted here by another path; UDPA_ERR_LIMIT:
 * it is too much. What is refused changes nothing. */
udpa_err udpai_load_aggregate_take(udpai_load_aggregate *aggregate,
                                   udpai_str reporter,
                                   udpai_load_stats *stats,
                                   udpa_error **ret_error);
/* Has it reported this epoch before? */
bool udpai_load_aggregate_knows(const udpai_load_aggregate *aggregate,
                                udpai_str reporter,
                                uint64_t epoch);
/* What it has reported of it last: borrowed, until the next call; NULL: nothing. */
const udpai_load_stats *udpai_load_aggregate_known(const udpai_load_aggregate *aggregate,
                                                   udpai_str reporter,
                                                   uint64_t epoch);
/* A reporter is there no more: its counts stay, its gauges do not. */
void udpai_load_aggregate_leave(udpai_load_aggregate *aggregate, udpai_str reporter);

/* No reporter counts from here on. Those that are there leave; but all of them are remembered,
 * besides those that left before, until this is called again. */
void udpai_load_aggregate_rest(udpai_load_aggregate *aggregate);

/* The aggregate as a value: borrowed, until the next call. NULL without memory. */
const udpai_load_stats *udpai_load_aggregate_total(udpai_load_aggregate *aggregate,
                                                   uint64_t elapsed_ns);
/* Adds what time the counts of each reporter cover. */
void udpai_load_aggregate_spans(const udpai_load_aggregate *aggregate, udpai_load_stats_spans *to);
/* Reporters that are there. */
size_t udpai_load_aggregate_n_reporters(const udpai_load_aggregate *aggregate);

#endif
