/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each metric (list.h), and of the labels that they have.
 *
 * A node has at most UDPAI_METRIC_SERIES_MAX series, whatever its peers do: each label has so many
 * values at most (labels.h), and the unit test of this table adds them up. */
#ifndef UDPAI_METRICS_FAMILIES_H
#define UDPAI_METRICS_FAMILIES_H

#include "base/error.h"
#include "base/util.h"
#include "metrics/list.h"

#define UDPAI_METRIC_SERIES_MAX 5000

typedef enum udpai_metric {
#define UDPAI_METRIC_ENUM_(number, kind, label, from, name, help) UDPAI_METRIC_##number,
    UDPAI_METRIC_MAP(UDPAI_METRIC_ENUM_)
#undef UDPAI_METRIC_ENUM_
    UDPAI_METRICS,
} udpai_metric;

typedef enum udpai_metric_kind {
    UDPAI_METRIC_COUNTER,
    UDPAI_METRIC_GAUGE,
    UDPAI_METRIC_LARGEST, /* a gauge; of several values that of the largest counts */
    UDPAI_METRIC_RATIO,   /* the same; meters count millionths */
    UDPAI_METRIC_HISTOGRAM,
} udpai_metric_kind;

typedef enum udpai_metric_label {
    UDPAI_LABEL_NONE,
    UDPAI_LABEL_CODE, /* udpai_metric_code() */
    UDPAI_LABEL_KIND,
    UDPAI_LABEL_LIMIT,
    UDPAI_LABEL_MODULE,
    UDPAI_LABEL_OUTCOME,
    UDPAI_LABEL_PROTOCOL,
    UDPAI_LABEL_REASON,
    UDPAI_LABEL_SOURCE,
    UDPAI_LABEL_TYPE,
    UDPAI_LABEL_TYPE_OF_FEWER, /* the same, of which fewer have series of their own */
    UDPAI_LABEL_USE,
    UDPAI_LABEL_VERSION,
    UDPAI_LABEL_WORKER,
    UDPAI_LABELS,
} udpai_metric_label;

typedef struct udpai_metric_family {
    const char *name; /* without "_total" */
    const char *help; /* a sentence */
    udpai_metric_kind kind;
    udpai_metric_label label;
} udpai_metric_family;

typedef struct udpai_metric_label_info {
    const char *name;
    size_t max_values; /* that are distinguished; the others are UDPAI_LABEL_OTHER together */
} udpai_metric_label_info;

/* All histograms are of times, and count microseconds. The upper bounds of their buckets; one
 * bucket more has what is above them. */
#define UDPAI_METRIC_BUCKETS 13
extern const uint64_t udpai_metric_bounds_us[UDPAI_METRIC_BUCKETS];

/* The bucket that counts so many microseconds. */
size_t udpai_metric_bucket(uint64_t us);

/* Each bucket, and the sum. */
#define UDPAI_METRIC_VALUES_MAX (UDPAI_METRIC_BUCKETS + 2)

const udpai_metric_family *udpai_metric_family_of(udpai_metric metric);
/* "seconds", "bytes"; NULL: it has none. */
const char *udpai_metric_unit(udpai_metric metric);
const udpai_metric_label_info *udpai_metric_label_info_of(udpai_metric_label label);
/* Are its values types? Those that the program knows are distinguished besides. */
bool udpai_metric_label_is_type(udpai_metric_label label);
/* How many numbers a series of it is kept as: 1; of a histogram UDPAI_METRIC_VALUES_MAX. */
size_t udpai_metric_n_values(udpai_metric metric);
/* The most series that it can have, with those that OpenMetrics adds (_created). */
size_t udpai_metric_max_series(udpai_metric metric);
/* The value of a label: "ok", or as gRPC calls the status. */
udpai_str udpai_metric_code(udpa_err err);

#endif
