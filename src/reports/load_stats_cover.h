/* SPDX-License-Identifier: Apache-2.0 */
/* What time the counts of an aggregate cover. Clients report now and then, each at a moment of its
 * own, so counts end when their client has reported last. The end for a sum is the mean over its
 * clients, each by its part of the requests: it moves on by what a report covers, so far as the
 * report is one of all requests. So what a sum has grown by, divided by that, is the rate of all of
 * them, whichever of them has reported. Belongs to one thread. */
#ifndef UDPAI_LOAD_STATS_COVER_H
#define UDPAI_LOAD_STATS_COVER_H

#include "reports/load_stats.h"

/* Of one reporter. */
typedef struct udpai_load_stats_span {
    int64_t since_ns;                 /* by the time of the sum: what came later was added */
    int64_t begin_ns;                 /* when its counts began */
    uint64_t covered_ns, interval_ns; /* by its own statement */
    double rate;                      /* of requests; above 0, so that all count for something */
    bool is_there;
    bool has_begun;
} udpai_load_stats_span;

/* Of all of them, while they are added up. */
typedef struct udpai_load_stats_spans {
    uint64_t now_ns, shortest_ns, longest_ns;
    double rate;
    double since_ns, behind_ns; /* times their rates */
} udpai_load_stats_spans;

/* What was reported before: it never becomes less. */
typedef struct udpai_load_stats_cover {
    bool has_begun;
    int64_t begin_ns;
    uint64_t covered_ns;
} udpai_load_stats_cover;

/* It has reported, after @p known of the same epoch (NULL: at first). @p is_added: what has come
 * with that counts. */
void udpai_load_stats_span_take(udpai_load_stats_span *span,
                                const udpai_load_stats *stats,
                                const udpai_load_stats *known,
                                bool is_added);
void udpai_load_stats_spans_add(udpai_load_stats_spans *spans, const udpai_load_stats_span *span);
/* Sets what the total covers, and in which interval clients report. */
void udpai_load_stats_cover_set(udpai_load_stats_cover *cover,
                                const udpai_load_stats_spans *spans,
                                udpai_load_stats *total);

/* Have all clients reported between these two aggregates? If not, some have reported what is long
 * ago, and others nothing yet. @p reported: NULL, or of another epoch: since the begin. */
bool udpai_load_stats_covers_all(const udpai_load_stats *sum, const udpai_load_stats *reported);

#endif
