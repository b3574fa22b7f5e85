/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorder holds. Everything but the counting itself happens under its mutex.
 *
 * All that was counted of a cluster is one value (reports/load_stats.h), read of its accounts. What
 * is reported is the difference to that which was reported last before its epoch began: so nothing
 * is lost between two epochs. */
#ifndef UDPAI_RECORDER_INTERNAL_H
#define UDPAI_RECORDER_INTERNAL_H

#include <pthread.h>

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"
#include "base/vector.h"
#include "recorder/counters.h"
#include "recorder/recorder.h"
#include "reports/load_stats.h"

#define UDPAI_LOAD_TEXT_MAX 256 /* receivers of reports take no longer ones */
/* Of a cluster; no more, with endpoints no more than 4096, is taken in of one client. */
#define UDPAI_LOAD_CATEGORIES_MAX 64
#define UDPAI_LOAD_LOCALITIES_MAX 128
#define UDPAI_LOAD_METRIC_NAMES_MAX 32
#define UDPAI_LOAD_METRICS_MAX (UDPAI_LOAD_LOCALITIES_MAX * UDPAI_LOAD_METRIC_NAMES_MAX)
#define UDPAI_LOAD_ENDPOINTS_MAX 4096

/* Counters of a target's account: first those that end something, which are read first. */
enum {
    UDPAI_LOAD_SUCCEEDED,
    UDPAI_LOAD_FAILED,
    UDPAI_LOAD_CLOSED,
    UDPAI_LOAD_STARTED,
    UDPAI_LOAD_OPENED,
    UDPAI_LOAD_NOT_OPENED,
    UDPAI_LOAD_FIGURES
};

/* And of a metric's; a category has but the first. */
enum {
    UDPAI_LOAD_N,
    UDPAI_LOAD_SUM
};

typedef struct udpai_load_figures {
    uint64_t n[UDPAI_LOAD_FIGURES];
} udpai_load_figures;

typedef struct udpai_load_sum {
    uint64_t n;
    double sum;
} udpai_load_sum;

typedef struct udpai_load_cluster udpai_load_cluster;

typedef struct udpai_load_locality {
    udpai_list node; /* of the cluster */
    udpai_load_cluster *cluster;
    udpai_str key; /* owned, with the texts below */
    udpai_str region, zone, sub_zone;
    uint32_t priority;
    udpai_list targets;
    udpai_load_figures forgotten; /* what was counted on targets that are no more */
    udpai_load_sum *metrics;      /* the same, by the cluster's number of the name */
    size_t n_metrics;
} udpai_load_locality;

struct udpa_load_metric {
    udpai_list node; /* of the target */
    size_t name;     /* its number in the cluster */
    udpai_counters_account account;
};

struct udpa_load_target {
    udpai_list node; /* of the locality */
    udpai_list idle; /* of the recorder, while it has no reference */
    udpai_load_locality *locality;
    udpa_load_recorder *recorder;
    size_t n_references;
    udpai_str key;     /* owned, with the address */
    udpai_str address; /* empty: the locality as a whole */
    uint32_t port;
    udpai_counters_account account;
    udpai_list metrics;
};

struct udpa_load_category {
    udpai_list node; /* of the cluster */
    udpai_load_cluster *cluster;
    udpa_load_recorder *recorder;
    size_t n_references;
    udpai_str name; /* owned */
    udpai_counters_account account;
};

struct udpai_load_cluster {
    udpai_list node;            /* of the recorder */
    udpai_str name;             /* owned */
    udpai_str service_name;     /* owned; empty: not given */
    uint64_t epoch;             /* microseconds since 1970 when it began; grows */
    uint64_t epoch_ms;          /* the same by the clock that never goes back */
    udpai_load_stats *before;   /* what was reported when it began; NULL: nothing */
    udpai_load_stats *reported; /* what was reported last of this epoch; NULL: nothing */
    bool has_reported_endpoints;
    bool was_reported;  /* ever */
    const void *reader; /* the last one that reported it; NULL: it has ended; … */
    uint64_t audience;  /* … and to which recipients */
    size_t n_used;      /* references to its targets and categories */
    udpai_list localities, categories;
    size_t n_localities, n_categories;
    UDPAI_VECTOR(udpai_str) metric_names; /* owned */
};

struct udpa_load_recorder {
    atomic_size_t n_references;
    pthread_mutex_t mutex;
    size_t max_clusters, max_handles;
    size_t n_handles;
    uint64_t last_epoch;
    udpai_map clusters, localities, targets; /* by name, and by key */
    udpai_list all;                          /* clusters */
    udpai_list idle;                         /* targets without a reference */
};

/* ---- clusters.c: all under the mutex ---- */

/* Room for one thing more, and its account; NULL: it counts nothing itself. If there is none, some
 * is made, but nothing of a cluster that is used is lost by it. */
udpa_err udpai_load_room_take(udpa_load_recorder *recorder,
                              udpai_counters_account *account,
                              udpa_error **ret_error);
void udpai_load_room_leave(udpa_load_recorder *recorder, udpai_counters_account *account);

/* Found or made, and used once more: a caller that does not keep it counts that down. */
udpa_err udpai_load_cluster_use(udpa_load_recorder *recorder,
                                udpai_str name,
                                udpai_load_cluster **ret_cluster,
                                udpa_error **ret_error);
/* With all that it has. */
void udpai_load_cluster_free(udpa_load_recorder *recorder, udpai_load_cluster *cluster);

/* ---- epochs.c: the same ---- */

/* Everything begins again with what has not been reported yet; needs no memory. */
void udpai_load_epoch_begin(udpa_load_recorder *recorder, udpai_load_cluster *cluster);
/* What was counted on the target, and on its metrics, becomes its locality's. */
void udpai_load_target_fold(udpa_load_target *target);

/* ---- total.c: the same ---- */

/* All that was ever counted of the cluster. */
udpa_err udpai_load_total_read(const udpai_load_cluster *cluster, udpai_load_stats **ret_total);

/* ---- targets.c: the same ---- */

void udpai_load_target_free(udpa_load_target *target);
void udpai_load_figures_read(const udpa_load_target *target, udpai_load_figures *ret_figures);
/* What has begun and has not ended; 0 for what was counted wrongly. */
uint64_t udpai_load_in_flight(const udpai_load_figures *figures);
uint64_t udpai_load_connected(const udpai_load_figures *figures);
udpai_load_sum udpai_load_sum_read(const udpa_load_metric *metric);

#endif
