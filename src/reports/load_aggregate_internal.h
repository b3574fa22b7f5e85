/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an aggregate, for what adds up, and what keeps it over a restart. */
#ifndef UDPAI_LOAD_AGGREGATE_INTERNAL_H
#define UDPAI_LOAD_AGGREGATE_INTERNAL_H

#include "base/map.h"
#include "reports/load_aggregate.h"

/* Its newest values, one of each epoch, lowest epoch first. */
typedef struct udpai_load_stats_reporter {
    udpai_str name; /* owned */
    udpai_load_stats *epochs[UDPAI_LOAD_STATS_EPOCHS_MAX];
    size_t n_epochs;
    const udpai_load_stats *current; /* of these, the one that came last; NULL: it is not there */
    udpai_load_stats_span span;
    bool is_lasting;  /* it goes on when this node begins anew */
    bool has_changed; /* since that was kept */
    bool is_resting;  /* it was there when reports ended, and is waited for */
} udpai_load_stats_reporter;

struct udpai_load_aggregate {
    udpai_str node_id; /* owned */
    uint64_t counts_from;
    size_t max_reporters, max_left;
    udpai_map reporters;
    udpai_load_stats_nodes nodes; /* all that were ever counted by way of a reporter */
    size_t n_left, n_resting;     /* of reporters that have left */
    udpai_load_stats *total;
};

/* Puts back what a reporter has reported, as one that is not there now; consumes the value. */
udpa_err udpai_load_aggregate_restore(udpai_load_aggregate *aggregate,
                                      udpai_str reporter,
                                      udpai_load_stats *stats,
                                      udpa_error **ret_error);

#endif
