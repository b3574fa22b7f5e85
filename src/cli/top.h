/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl top and the page /top show: rates and times of the last seconds, by the metrics of a
 * node, its sources, and the clients that are most behind. Pure. */
#ifndef UDPAI_CLI_TOP_H
#define UDPAI_CLI_TOP_H

#include <udpa/resource.h>

#include "cli/series.h"

#define UDPAI_CLI_TOP_CLIENTS 5         /* are shown, … */
#define UDPAI_CLI_TOP_CLIENTS_MAX 100   /* … and kept */
#define UDPAI_CLI_TOP_MANY_STREAMS 1000 /* of so many, clients may be as old as this */
#define UDPAI_CLI_TOP_CLIENTS_AGE_MS 5000

/* ---- counters ---- */

typedef enum udpai_cli_top_count {
    UDPAI_CLI_TOP_DELIVERIES,
    UDPAI_CLI_TOP_BYTES,
    UDPAI_CLI_TOP_ACKS,
    UDPAI_CLI_TOP_NACKS,
    UDPAI_CLI_TOP_CHANGES,
    UDPAI_CLI_TOP_REJECTED_CHANGES,
    UDPAI_CLI_TOP_COUNTS,
} udpai_cli_top_count;

typedef enum udpai_cli_top_time {
    UDPAI_CLI_TOP_PROPAGATION,
    UDPAI_CLI_TOP_LOOP,
    UDPAI_CLI_TOP_STREAM_THREADS,
    UDPAI_CLI_TOP_TIMES,
} udpai_cli_top_time;

/* What rates are made of: two of these. */
typedef struct udpai_cli_top_counts {
    double clock_s; /* of the node, since 1970; 0: not known */
    double sums[UDPAI_CLI_TOP_COUNTS];
    udpai_cli_histogram times[UDPAI_CLI_TOP_TIMES];
} udpai_cli_top_counts;

udpai_cli_top_counts udpai_cli_top_counts_of(const udpai_cli_page *page);

/* ---- top_clients.c ---- */

/* One of the clients that are most behind. */
typedef struct udpai_cli_top_client {
    char *name, *address, *protocol;                      /* owned; NULL: no memory */
    uint64_t n_rejected, n_unanswered, n_behind, n_nacks; /* of resources, responses, types; all */
} udpai_cli_top_client;

/* Zeroed at first, and to be followed by udpai_cli_top_clients_done(). */
typedef struct udpai_cli_top_clients {
    udpai_cli_top_client items[UDPAI_CLI_TOP_CLIENTS_MAX]; /* the worst first */
    size_t n;
    size_t n_clients; /* streams of clients, of which these are some */
    bool is_known;    /* false: the node has not reported its clients */
} udpai_cli_top_clients;

/* Takes a SessionStatus into account; other resources, and what is no client, are passed over. */
void udpai_cli_top_clients_add(udpai_cli_top_clients *clients, udpa_resource *resource);
void udpai_cli_top_clients_done(udpai_cli_top_clients *clients);

/* ---- what is shown ---- */

typedef struct udpai_cli_top {
    const udpai_cli_page *page; /* the newest */
    const udpai_cli_top_counts *now, *before;
    const udpai_cli_top_clients *clients;
    const char *node;   /* its address, or its id */
    size_t max_clients; /* that are shown */
    bool is_complete;
} udpai_cli_top;

/* By the clock of the node; 0: one is not newer than the other. */
double udpai_cli_top_seconds(const udpai_cli_top_counts *now, const udpai_cli_top_counts *before);
/* A second; 0 of a node that was started anew, which counts from 0. */
double udpai_cli_top_rate(const udpai_cli_top *top, udpai_cli_top_count count);
/* How long the node runs; false: not known. */
bool udpai_cli_top_uptime(const udpai_cli_top *top, double *ret_seconds);

/* The rows of times: a name for people, and one in JSON. */
typedef struct udpai_cli_top_quantile {
    const char *name, *member;
    udpai_cli_top_time time;
    double quantile;
} udpai_cli_top_quantile;

#define UDPAI_CLI_TOP_QUANTILES 4
extern const udpai_cli_top_quantile udpai_cli_top_quantiles[UDPAI_CLI_TOP_QUANTILES];

/* Of the last seconds, or else since the start. In seconds; false: nothing has come. */
bool udpai_cli_top_quantile_of(const udpai_cli_top *top,
                               const udpai_cli_top_quantile *which,
                               bool is_since_start,
                               double *ret_seconds);

/* "deliveries", … */
const char *udpai_cli_top_count_name(udpai_cli_top_count count);

/* A source, in the order of the page, those that are not active first. */
typedef struct udpai_cli_top_source {
    const udpai_cli_series *series; /* which has its name as its label */
    const char *state;              /* "active", "connected", "not connected" */
    double n_failures, n_held;
} udpai_cli_top_source;

/* The next one, from *at on, which is 0 at first; false: there is none. */
bool
udpai_cli_top_next_source(const udpai_cli_page *page, size_t *at, udpai_cli_top_source *ret_source);

/* All of it as one line of JSON. */
void udpai_cli_top_put_json(const udpai_cli_top *top, udpai_strbuf *out);

#endif
