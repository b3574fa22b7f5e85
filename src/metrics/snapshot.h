/* SPDX-License-Identifier: Apache-2.0 */
/* All series of a node at one moment, to be written as text (text.h). It is filled again and again:
 * which values a label has, and so which series there are, stays the same as far as it can. What is
 * put into one series several times is added up: processes, threads, values that are "other".
 *
 * Belongs to one thread. */
#ifndef UDPAI_METRICS_SNAPSHOT_H
#define UDPAI_METRICS_SNAPSHOT_H

#include "base/list.h"
#include "metrics/meters.h"
#include "model/trace.h"

typedef struct udpai_metric_snapshot udpai_metric_snapshot;

/* Of what a histogram counts, one that has a trace. */
typedef struct udpai_metric_exemplar {
    uint64_t us;       /* what was observed, … */
    double at_seconds; /* … and when, since 1970; 0: there is none */
    udpai_trace trace;
} udpai_metric_exemplar;

typedef struct udpai_metric_sample {
    udpai_list node; /* in its family */
    udpai_metric metric;
    udpai_str key;                    /* the number of the family, and the value of its label */
    bool is_set;                      /* since the snapshot was begun */
    udpai_metric_exemplar *exemplars; /* of each bucket of a histogram; NULL: none */
    double values[];                  /* udpai_metric_n_values() */
} udpai_metric_sample;

udpa_err udpai_metric_snapshot_new(udpai_metric_snapshot **ret_snapshot);
udpai_metric_snapshot *udpai_metric_snapshot_free(udpai_metric_snapshot *snapshot);
UDPA_DEFINE_CLEANUP(udpai_metric_snapshot, udpai_metric_snapshot_free)

/* Empties it. Counters have counted since @p created_seconds, of 1970. */
void udpai_metric_snapshot_begin(udpai_metric_snapshot *snapshot, double created_seconds);
/* Of no histogram. Of a family without a label that is empty. */
void udpai_metric_put(udpai_metric_snapshot *snapshot,
                      udpai_metric metric,
                      udpai_str label,
                      double value);
/* Of a histogram: the last one of each bucket counts. */
void udpai_metric_put_exemplar(udpai_metric_snapshot *snapshot,
                               udpai_metric metric,
                               udpai_str label,
                               const udpai_metric_exemplar *exemplar);
/* What meters read; a udpai_reading_fn. */
void udpai_metric_snapshot_take(void *snapshot, const udpai_reading *reading);

/* Is something left out for want of memory? */
bool udpai_metric_snapshot_failed(const udpai_metric_snapshot *snapshot);
double udpai_metric_snapshot_created(const udpai_metric_snapshot *snapshot);
/* How many series it has as text, without those that OpenMetrics adds. */
size_t udpai_metric_snapshot_n_series(const udpai_metric_snapshot *snapshot);
/* The samples of a family, in the order in which they have first come; some may not be set. */
const udpai_list *udpai_metric_snapshot_samples(const udpai_metric_snapshot *snapshot,
                                                udpai_metric metric);

static inline udpai_str
udpai_metric_sample_label(const udpai_metric_sample *sample)
{
    return (udpai_str){sample->key.data + 1, sample->key.len - 1};
}

#endif
