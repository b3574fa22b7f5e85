/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on the health of endpoints: what one checker reports of a cluster (udpa.health.v1), what
 * several report together, and what becomes of a ClusterLoadAssignment by it. Everything here is
 * computed from bytes; an endpoint is known by its address and port, as they are written. */
#ifndef UDPAI_HEALTH_H
#define UDPAI_HEALTH_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"
#include "model/types.h"

/* Of one specifier, answer or cluster. */
#define UDPAI_HEALTH_ENDPOINTS_MAX 65536

typedef enum udpai_health_status { /* the values of envoy.config.core.v3.HealthStatus */
    UDPAI_HEALTH_UNKNOWN,
    UDPAI_HEALTH_HEALTHY,
    UDPAI_HEALTH_UNHEALTHY,
    UDPAI_HEALTH_DRAINING,
    UDPAI_HEALTH_TIMEOUT,
    UDPAI_HEALTH_DEGRADED,
    UDPAI_HEALTH_STATUSES,
} udpai_health_status;

typedef struct udpai_health_address {
    udpai_str text;
    uint32_t port; /* 0: the text is the path of a Unix domain socket */
} udpai_health_address;

/* Of an envoy.config.core.v3.Address: a view. False: it is of a kind that checkers do not check, or
 * has no port. */
bool udpai_health_address_read(udpai_str address, udpai_health_address *ret_address);
int udpai_health_address_cmp(const udpai_health_address *a, const udpai_health_address *b);

/* ---- what a checker answers ---- */

typedef struct udpai_health_result {
    udpai_str cluster; /* empty: it did not name one, so it means each that has this address */
    udpai_health_address address;
    udpai_health_status status;
} udpai_health_result;

typedef struct udpai_health_answer {
    UDPAI_VECTOR(udpai_health_result) results; /* views of the message */
    size_t n_strange;                          /* endpoints without an address that can be read */
} udpai_health_answer;

/* Reads an EndpointHealthResponse. An answer by cluster counts; the list that is not, only in one
 * that has nothing by cluster. To be followed by udpai_health_answer_done(), also on failure. */
udpa_err udpai_health_answer_read(udpai_str message,
                                  udpai_health_answer *ret_answer,
                                  udpa_error **ret_error);
void udpai_health_answer_done(udpai_health_answer *answer);

/* ---- verdicts of several checkers ---- */

typedef enum udpai_health_policy {
    UDPAI_HEALTH_NONE,     /* verdicts change nothing */
    UDPAI_HEALTH_MAJORITY, /* the status that more than half of the voters report, or worse */
    UDPAI_HEALTH_ANY,      /* the worst that any checker reports */
} udpai_health_policy;

/* What one of them reports of a cluster. */
typedef struct udpai_health_opinion {
    udpai_str payload;    /* EndpointHealth */
    uint64_t deadline_ms; /* when it has expired; 0: never */
} udpai_health_opinion;

typedef struct udpai_health_endpoint {
    udpai_health_address address;
    udpai_health_status status; /* HEALTHY, DEGRADED, DRAINING, UNHEALTHY */
} udpai_health_endpoint;

typedef struct udpai_health_verdict {
    UDPAI_VECTOR(udpai_health_endpoint) endpoints; /* by address; views of the payloads */
} udpai_health_verdict;

/* Merges what has not expired; UNKNOWN is no vote, TIMEOUT is UNHEALTHY. If one reports two
 * statuses of an endpoint, the worse counts. What is malformed is left out, and counted. To be
 * followed by udpai_health_verdict_done(), also on failure. */
udpa_err udpai_health_merge(const udpai_health_opinion *opinions,
                            size_t n_opinions,
                            uint64_t now_ms,
                            udpai_health_policy policy,
                            udpai_health_verdict *ret_verdict,
                            size_t *ret_n_malformed);
/* UNKNOWN: no checker has reported it. */
udpai_health_status udpai_health_verdict_find(const udpai_health_verdict *verdict,
                                              const udpai_health_address *address);
void udpai_health_verdict_done(udpai_health_verdict *verdict);

/* ---- what becomes of endpoints ---- */

/* The worse of both; no checker improves what a configuration sets for an endpoint. */
udpai_health_status udpai_health_worse(udpai_health_status a, udpai_health_status b);

/* The ClusterLoadAssignment with the verdict in the health_status of those endpoints that it is
 * about, and everything else, byte for byte, as it was. *ret_assignment NULL: nothing is changed by
 * it. UDPA_ERR_MALFORMED: it is no such message. */
udpa_err udpai_health_apply(udpai_str assignment,
                            const udpai_health_verdict *verdict,
                            udpa_bytes **ret_assignment,
                            udpa_error **ret_error);

#endif
