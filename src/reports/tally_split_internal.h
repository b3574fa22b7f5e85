/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a sum in two parts, for what adds up, and what keeps it over a restart. */
#ifndef UDPAI_TALLY_SPLIT_INTERNAL_H
#define UDPAI_TALLY_SPLIT_INTERNAL_H

#include "reports/tally_split.h"

struct udpai_tally_split {
    udpai_tally_sum *exclusive;
    udpai_tally_sum *shared; /* NULL: there never was a shared client */
    /* While there is that: all places of both, so that they fit into one sum; figures only while
     * they are added up. */
    udpai_tally *both;
    udpai_tally total; /* borrows what it holds of the three */
    udpai_tally_cover cover;
    udpai_tally_sum_options options;
    udpai_str cluster, node_id; /* owned */
};

/* There is a shared client: makes the second part, if it is not there yet. */
udpa_err udpai_tally_split_begin_shared(udpai_tally_split *split, udpa_error **ret_error);

#endif
