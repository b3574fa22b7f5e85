/* SPDX-License-Identifier: Apache-2.0 */
/* Load stats: what was counted of one cluster, by locality, priority and endpoint.
 *
 * Such a value is one of three things. Cumulative, of a client: udpa.load.v1.ClientLoad. The
 * aggregate of many: ClusterLoad (load_aggregate.h). Or what has come since the one before:
 * ClusterStats of LRS. Counts only grow within an epoch, gauges are of now; a place that is not
 * there counts 0.
 *
 * Such a value belongs to one thread. What it may hold is bounded by its limits, and every number
 * in it is one that can be added to others without wrapping. */
#ifndef UDPAI_LOAD_STATS_H
#define UDPAI_LOAD_STATS_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/proto.h"
#include "base/vector.h"
#include "envoy/config/endpoint/v3/load_report.pb-c.h"
#include "model/types.h"
#include "wire/arena.h"

/* Bytes of a name in it: of a region, an endpoint's address, a metric, a category. */
#define UDPAI_LOAD_STATS_TEXT_MAX 256
/* Of the name of its service. */
#define UDPAI_LOAD_STATS_SERVICE_MAX 1024
/* A count stops here: what a client that counts below zero sends is above it. */
#define UDPAI_LOAD_STATS_COUNT_MAX ((uint64_t)INT64_MAX)
/* More occurs in no report, so that millions of them can be added. */
#define UDPAI_LOAD_STATS_GAUGE_MAX ((uint64_t)1 << 40)
/* More comes in no report of LRS. */
#define UDPAI_LOAD_STATS_REPORT_MAX ((uint64_t)1 << 53)
#define UDPAI_LOAD_STATS_ELAPSED_MAX_NS ((uint64_t)10 * 365 * 24 * 3600 * 1000000000)

/* Nodes that were in an aggregate, and are not any more, which it lists. */
#define UDPAI_LOAD_STATS_LEFT_NODES_MAX 1024

typedef struct udpai_load_stats_limits {
    size_t localities;
    size_t endpoints, metrics; /* of all localities together */
    size_t drops, nodes;
} udpai_load_stats_limits;

extern const udpai_load_stats_limits udpai_load_stats_client_limits, udpai_load_aggregate_limits;

typedef enum udpai_load_stats_count {
    UDPAI_LOAD_STATS_SUCCESSFUL,
    UDPAI_LOAD_STATS_ERROR,
    UDPAI_LOAD_STATS_ISSUED,
    UDPAI_LOAD_STATS_OPENED, /* connections */
    UDPAI_LOAD_STATS_FAILED, /* connections */
    UDPAI_LOAD_STATS_COUNTS,
} udpai_load_stats_count;

typedef enum udpai_load_stats_gauge {
    UDPAI_LOAD_STATS_IN_PROGRESS, /* requests */
    UDPAI_LOAD_STATS_ACTIVE,      /* connections */
    UDPAI_LOAD_STATS_GAUGES,
} udpai_load_stats_gauge;

typedef enum udpai_load_stats_metric_kind {
    UDPAI_LOAD_STATS_NAMED,
    UDPAI_LOAD_STATS_CPU,
    UDPAI_LOAD_STATS_MEMORY,
    UDPAI_LOAD_STATS_APPLICATION,
} udpai_load_stats_metric_kind;

typedef struct udpai_load_stats_metric {
    udpai_load_stats_metric_kind kind;
    udpai_str name; /* of NAMED; owned */
    uint64_t n;
    double sum;
} udpai_load_stats_metric;

typedef struct udpai_load_stats_figures {
    uint64_t counts[UDPAI_LOAD_STATS_COUNTS];
    uint64_t gauges[UDPAI_LOAD_STATS_GAUGES];
    UDPAI_VECTOR(udpai_load_stats_metric) metrics; /* sorted */
} udpai_load_stats_figures;

typedef struct udpai_load_stats_endpoint {
    udpai_str address; /* owned */
    uint32_t port;
    udpai_load_stats_figures figures;
} udpai_load_stats_endpoint;

typedef struct udpai_load_stats_locality {
    udpai_str region, zone, sub_zone; /* owned, in one piece that begins with the region */
    uint32_t priority;
    udpai_load_stats_figures figures;
    UDPAI_VECTOR(udpai_load_stats_endpoint) endpoints; /* sorted */
} udpai_load_stats_locality;

typedef struct udpai_load_stats_drop {
    udpai_str category; /* owned */
    uint64_t n;
} udpai_load_stats_drop;

typedef struct udpai_load_stats udpai_load_stats;

/* Clients of a node that a sum has counted: what they had before and have after that is not in it.
 */
typedef struct udpai_load_stats_node {
    udpai_str id;                /* owned */
    uint64_t since_us, until_us; /* by the node's own time, which is that of its own sum */
    bool is_gone;
} udpai_load_stats_node;

struct udpai_load_stats {
    udpai_str cluster, service; /* owned */
    uint64_t epoch, elapsed_ns;
    uint64_t covered_ns;  /* what the counts cover; of a report that is elapsed_ns */
    uint64_t interval_ns; /* of a sum: in which its clients report; 0: unknown */
    bool is_lasting;      /* its reporter goes on with it when this node begins anew */
    uint64_t at_ns;       /* when it came to a sum, by the time of that */
    UDPAI_VECTOR(udpai_load_stats_locality) localities; /* sorted */
    UDPAI_VECTOR(udpai_load_stats_drop) drops;          /* sorted */
    uint64_t dropped;                                   /* in total */
    UDPAI_VECTOR(udpai_load_stats_node) nodes;          /* of a sum: sorted */
    uint64_t n_clients;                                 /* of a sum */
    uint64_t n_forgotten_nodes; /* of an aggregate: that are not reported any more */
    bool is_shared;             /* of a client: it is reported to several nodes */
    uint64_t lasts_ns;          /* the ttl that it was reported with; 0: that is not known */
    udpai_load_stats *shared;   /* of a sum: what in it is of such clients; owned; NULL: nothing */
    bool was_counted; /* by others: of an epoch new to an aggregate it counts from where it is */
    /* It was taken before the aggregate began: some of what comes next of its epoch may have been
     * counted, too. Only of one that was_counted. */
    bool is_old;
    size_t n_endpoints, n_metrics;
    const udpai_load_stats_limits *limits;
};

/* Empty; NULL without memory. The limits are borrowed, for as long as it lives. */
udpai_load_stats *udpai_load_stats_new(const udpai_load_stats_limits *limits);
udpai_load_stats *udpai_load_stats_free(udpai_load_stats *stats);
UDPA_DEFINE_CLEANUP(udpai_load_stats, udpai_load_stats_free)

/* ---- places: load_stats.c ---- */

/* Copies the text to an owned field. */
udpa_err udpai_load_stats_set_text(udpai_str *field, udpai_str text);

/* The place like that one, which is made if it is not there: only what names it is read of @p like.
 * What was got before of the same kind may have moved then. UDPA_ERR_LIMIT: there are too many, or
 * a name is too long. */
udpa_err udpai_load_stats_get_locality(udpai_load_stats *stats,
                                       const udpai_load_stats_locality *like,
                                       udpai_load_stats_locality **ret_locality,
                                       udpa_error **ret_error);
udpa_err udpai_load_stats_get_endpoint(udpai_load_stats *stats,
                                       udpai_load_stats_locality *locality,
                                       const udpai_load_stats_endpoint *like,
                                       udpai_load_stats_endpoint **ret_endpoint,
                                       udpa_error **ret_error);
udpa_err udpai_load_stats_get_metric(udpai_load_stats *stats,
                                     udpai_load_stats_figures *figures,
                                     const udpai_load_stats_metric *like,
                                     udpai_load_stats_metric **ret_metric,
                                     udpa_error **ret_error);
udpa_err udpai_load_stats_get_drop(udpai_load_stats *stats,
                                   udpai_str category,
                                   udpai_load_stats_drop **ret_drop,
                                   udpa_error **ret_error);

/* NULL: it is not there, and counts 0. */
const udpai_load_stats_locality *
udpai_load_stats_find_locality(const udpai_load_stats *stats,
                               const udpai_load_stats_locality *like);
const udpai_load_stats_endpoint *
udpai_load_stats_find_endpoint(const udpai_load_stats_locality *locality,
                               const udpai_load_stats_endpoint *like);
const udpai_load_stats_metric *udpai_load_stats_find_metric(const udpai_load_stats_figures *figures,
                                                            const udpai_load_stats_metric *like);
const udpai_load_stats_drop *udpai_load_stats_find_drop(const udpai_load_stats *stats,
                                                        udpai_str category);

void udpai_load_stats_clear_nodes(udpai_load_stats *stats);
void udpai_load_stats_sort_nodes(udpai_load_stats *stats);

/* Forgets what is counted singly: it is in the figures of its locality, too. */
void udpai_load_stats_drop_endpoints(udpai_load_stats *stats);
void udpai_load_stats_forget_endpoint(udpai_load_stats *stats,
                                      const udpai_load_stats_locality *locality,
                                      const udpai_load_stats_endpoint *endpoint);

/* Is there nothing to report of it? */
bool udpai_load_stats_is_empty(const udpai_load_stats *stats);
bool udpai_load_stats_figures_empty(const udpai_load_stats_figures *figures);
bool udpai_load_stats_locality_empty(const udpai_load_stats_locality *locality);

/* ---- arithmetic: load_stats_add.c ---- */

/* Another epoch than the last, whatever the clock does; later ones are larger. */
uint64_t udpai_load_epoch_next(uint64_t *last, int64_t wall_us);

/* Makes every place of @p from in @p to, so that it can be added without fail. */
udpa_err udpai_load_stats_make_room(udpai_load_stats *to,
                                    const udpai_load_stats *from,
                                    udpa_error **ret_error);

/* UDPA_ERR_INVAL: a count of the newer one is below that of the older one, which is of the same
 * epoch; and which. */
udpa_err udpai_load_stats_check_growth(const udpai_load_stats *older,
                                       const udpai_load_stats *newer,
                                       udpa_error **ret_error);

/* The same of one place, and of one metric, as udpai_load_stats_add_growth() does. */
void udpai_load_stats_figures_add(udpai_load_stats_figures *to,
                                  const udpai_load_stats_figures *newer,
                                  const udpai_load_stats_figures *older);
void udpai_load_stats_figures_add_gauges(udpai_load_stats_figures *to,
                                         const udpai_load_stats_figures *from);
void udpai_load_stats_metric_add(udpai_load_stats_metric *to,
                                 const udpai_load_stats_metric *newer,
                                 const udpai_load_stats_metric *older);
/* Adds what the newer one's counts are above those of the older one (NULL: above 0), which must
 * have been checked; there is room for it. What is too much for a count is its maximum. */
void udpai_load_stats_add_growth(udpai_load_stats *to,
                                 const udpai_load_stats *newer,
                                 const udpai_load_stats *older);
/* Counts of a report, and the time that they cover; there is room for them. */
void udpai_load_stats_add_report(udpai_load_stats *to, const udpai_load_stats *report);
void udpai_load_stats_add_gauges(udpai_load_stats *to, const udpai_load_stats *from);
void udpai_load_stats_subtract_gauges(udpai_load_stats *to, const udpai_load_stats *from);
/* Returns whether any was above 0. */
bool udpai_load_stats_clear_gauges(udpai_load_stats *stats);

/* Takes what has come since the last time into what has come in all. On failure nothing has
 * changed, but for places that count 0. */
udpa_err udpai_load_stats_take_report(udpai_load_stats *total,
                                      const udpai_load_stats *report,
                                      udpa_error **ret_error);

/* And back: what has come since, between two totals of a client or of a sum, and how long that
 * covers. NULL, or of another epoch: since the begin. */
udpa_err udpai_load_stats_difference(const udpai_load_stats *newer,
                                     const udpai_load_stats *older,
                                     udpai_load_stats **ret_report,
                                     udpa_error **ret_error);

/* ---- parts of a sum: load_stats_part.c ---- */

/* UDPA_ERR_INVAL: what is of shared clients is more than all; and where. */
udpa_err udpai_load_stats_check_shared(const udpai_load_stats *stats, udpa_error **ret_error);
/* Takes out, and forgets, what is of shared clients: it must have been checked. */
void udpai_load_stats_leave_shared(udpai_load_stats *stats);
/* All that is counted becomes 0; the places stay. */
void udpai_load_stats_clear(udpai_load_stats *stats);

/* ---- as messages ---- */

/* load_stats_read.c: a ClusterLoad, or, if the limits have no nodes, a ClientLoad, or
 * SharedClientLoad; uses the arena, and leaves nothing there. */
udpa_err udpai_load_stats_decode(udpai_arena *arena,
                                 udpai_str bytes,
                                 const udpai_load_stats_limits *limits,
                                 udpai_load_stats **ret_stats,
                                 udpa_error **ret_error);
/* load_stats_write.c: a ClientLoad, or, if it has nodes, a ClusterLoad; without what counts 0. NULL
 * without memory. */
udpa_bytes *udpai_load_stats_encode(const udpai_load_stats *stats);

/* load_stats_lrs.c: adds the contents of a ClusterStats, which has been scanned; its name is not
 * taken over. On failure the value is good for nothing. */
udpa_err udpai_load_stats_add_message(udpai_load_stats *report,
                                      const Envoy__Config__Endpoint__V3__ClusterStats *stats,
                                      udpa_error **ret_error);
/* Puts a report as the fields of a ClusterStats of that name. */
void udpai_load_stats_put_message(udpai_proto_writer *writer,
                                  udpai_str name,
                                  const udpai_load_stats *report);

/* Checks, and copies, one number; @p what is for people. */
udpa_err udpai_load_stats_take_number(
    uint64_t *to, uint64_t value, uint64_t max, const char *what, udpa_error **ret_error);
/* Of nanoseconds; NULL counts as 0. */
udpa_err udpai_load_stats_take_elapsed(uint64_t *ret_ns,
                                       const Google__Protobuf__Duration *duration,
                                       udpa_error **ret_error);

#endif
