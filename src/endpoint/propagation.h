/* SPDX-License-Identifier: Apache-2.0 */
/* A service of an endpoint: measures how long changes take from their commit to the last client
 * that acknowledges them (docs/design/fanout.md), and counts that among the metrics of the node.
 *
 * It marks changes on their way to the stream sides, which look at the marks (session/marks.h), and
 * joins what all of them report: a change has arrived when it has arrived at the last. What is
 * measured is bounded: not more than UDPAI_PROPAGATION_OPEN_MAX at a time, and not more than the
 * stream sides can look at by the way. Of more changes of a type one counts for those that were
 * left out before it. On the loop. */
#ifndef UDPAI_ENDPOINT_PROPAGATION_H
#define UDPAI_ENDPOINT_PROPAGATION_H

#include "endpoint/service.h"
#include "metrics/snapshot.h"

#define UDPAI_PROPAGATION_OPEN_MAX 1024
/* Exemplars that are kept, of all types. */
#define UDPAI_PROPAGATION_EXEMPLARS 64
/* Looks at clients that marks may cost in a second, each at all clients that there are. */
#define UDPAI_PROPAGATION_LOOKS_MAX 10000

typedef struct udpai_propagation_options {
    udpai_wheel *wheel;
    udpai_meters *meters;
    size_t n_sides; /* each reports of each mark */
    /* Streams of clients, of all stream sides. */
    uint64_t (*count)(void *userdata);
    void *userdata;
    /* Takes what has ended of spans; NULL: nothing is traced. */
    void (*take_span)(void *userdata, udpai_span *span);
    void *span_userdata;
} udpai_propagation_options;

udpa_err udpai_propagation_new(udpai_service **ret_service,
                               const udpai_propagation_options *options);
/* Marks changes of an order of kind CHANGES, which is to be given to all stream sides. NULL does
 * nothing. */
void udpai_propagation_mark(udpai_service *service, udpai_order *order);
/* Exemplars of what was traced last. NULL does nothing. */
void udpai_propagation_put_exemplars(const udpai_service *service, udpai_metric_snapshot *snapshot);

#endif
