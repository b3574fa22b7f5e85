/* SPDX-License-Identifier: Apache-2.0 */
/* Whether load balancers should send clients to this node, and why not: the page /readyz, and the
 * answer of grpc.health.v1. A node is ready once it has all that its sources have, or they have had
 * the time for it; what fails later makes it degraded, for it serves on what it has.
 *
 * Belongs to the loop's thread. */
#ifndef UDPAI_READINESS_H
#define UDPAI_READINESS_H

#include <uv.h>

#include "daemon/problems.h"

typedef enum udpai_ready_state {
    UDPAI_READY,
    UDPAI_DEGRADED, /* something is wrong, and clients are served all the same */
    UDPAI_NOT_READY,
} udpai_ready_state;

typedef enum udpai_ready_check {
    UDPAI_READY_RUNNING, /* not: it shuts down */
    UDPAI_READY_STORE,
    UDPAI_READY_SOCKETS,
    UDPAI_READY_CONFIGURATION,
    UDPAI_READY_SYNCHRONIZED,
    UDPAI_READY_SOURCES,
    UDPAI_READY_CHECKS,
} udpai_ready_check;

#define UDPAI_READY_WHY_MAX 400

/* Zeroes: all is well. */
typedef struct udpai_ready_report {
    udpai_ready_state states[UDPAI_READY_CHECKS];
    char why[UDPAI_READY_CHECKS][UDPAI_READY_WHY_MAX];
    unsigned n_more[UDPAI_READY_CHECKS]; /* reasons beside that one */
} udpai_ready_report;

/* Of several for one check the worst counts, and of such the first. */
void udpai_ready_report_add(udpai_ready_report *report,
                            udpai_ready_check check,
                            udpai_ready_state state,
                            const char *format,
                            ...) UDPA_PRINTF(4, 5);
/* The text of the page, without reasons or with them and a line for each check; its HTTP status. */
unsigned
udpai_ready_report_put(const udpai_ready_report *report, bool is_verbose, udpai_strbuf *text);

/* A line for people: the state, what is served, and the first reason. Does the node serve, with all
 * that it waits for? */
bool udpai_ready_report_put_line(const udpai_ready_report *report,
                                 uint64_t n_streams,
                                 uint64_t n_resources,
                                 udpai_strbuf *text);

typedef struct udpai_readiness {
    udpa_endpoint *endpoint;
    const udpai_problems *problems;
    uint64_t begin_ms, sync_timeout_ms;
    bool listens, is_ending;
    bool has_synchronized; /* once: or that time was over */
    uv_timer_t timer;
    bool has_timer;
} udpai_readiness;

/* What a node may wait for after its start. */
typedef struct udpai_ready_wait {
    bool has_sources; /* or directories; else there is nothing to wait for */
    uint64_t sync_timeout_ms;
} udpai_ready_wait;

/* Before the endpoint listens. It may serve when it is ready: grpc.health.v1 answers so. */
void udpai_readiness_begin(udpai_readiness *readiness,
                           uv_loop_t *loop,
                           udpa_endpoint *endpoint,
                           const udpai_problems *problems,
                           const udpai_ready_wait *wait);
/* Has it all that its sources have, or have they had the time for it? */
bool udpai_readiness_has_synchronized(udpai_readiness *readiness);
/* All sockets listen. One that goes on where another process was, which was ready, is ready at
 * once. */
void udpai_readiness_listens(udpai_readiness *readiness, bool goes_on);
/* The node shuts down. */
void udpai_readiness_end(udpai_readiness *readiness);

void udpai_readiness_look(udpai_readiness *readiness, udpai_ready_report *ret_report);
bool udpai_readiness_put_line(udpai_readiness *readiness, udpai_strbuf *text);

#endif
