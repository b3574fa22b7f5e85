/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a sum, for what adds up, and what keeps it over a restart. */
#ifndef UDPAI_TALLY_SUM_INTERNAL_H
#define UDPAI_TALLY_SUM_INTERNAL_H

#include "base/map.h"
#include "reports/tally_sum.h"

/* Its newest tallies, one of each epoch, lowest epoch first. */
typedef struct udpai_tally_reporter {
    udpai_str name; /* owned */
    udpai_tally *epochs[UDPAI_TALLY_EPOCHS_MAX];
    size_t n_epochs;
    const udpai_tally *current; /* of these, the one that came last; NULL: it is not there */
    udpai_tally_span span;
    bool is_lasting;  /* it goes on when this node begins anew */
    bool has_changed; /* since that was kept */
    bool is_resting;  /* it was there when nobody was heard any more, and is waited for */
} udpai_tally_reporter;

struct udpai_tally_sum {
    udpai_str node_id; /* owned */
    uint64_t counts_from;
    size_t max_reporters, max_gone;
    udpai_map reporters;
    udpai_tally_nodes nodes;  /* all that were ever counted by way of a reporter */
    size_t n_gone, n_resting; /* of those that are gone */
    udpai_tally *total;
};

/* Puts back what a reporter has said, as one that is not there now; consumes the tally. */
udpa_err udpai_tally_sum_restore(udpai_tally_sum *sum,
                                 udpai_str reporter,
                                 udpai_tally *tally,
                                 udpa_error **ret_error);

#endif
