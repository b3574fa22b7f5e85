/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /stats and /stats/prometheus: a few counters, by the names that they have always had.
 * All metrics are on /metrics. */
#ifndef UDPAI_DAEMON_STATS_PAGE_H
#define UDPAI_DAEMON_STATS_PAGE_H

#include "endpoint/endpoint.h"
#include "endpoint/runtime.h"
#include "transport/http/http.h"

typedef struct udpai_stats_facts {
    udpa_endpoint *endpoint;
    const udpai_runtime *runtime;
    udpai_http_counts admin;    /* of the admin sockets */
    uint64_t n_unauthenticated; /* requests there without a right token */
} udpai_stats_facts;

void udpai_stats_page(const udpai_stats_facts *facts, udpai_strbuf *text);
void udpai_stats_prometheus_page(const udpai_stats_facts *facts, udpai_strbuf *text);

#endif
