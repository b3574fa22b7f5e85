/* SPDX-License-Identifier: Apache-2.0 */
/* A service of an endpoint with replicas: states how many streams of clients it has, rejects new
 * ones while it has too many and others have room, and ends some when a rebalance is asked for. On
 * the loop. */
#ifndef UDPAI_ENDPOINT_SPREAD_H
#define UDPAI_ENDPOINT_SPREAD_H

#include "base/strbuf.h"
#include "endpoint/service.h"
#include "session/spread_plan.h"

#define UDPAI_SPREAD_TICK_MS 500

typedef struct udpai_spread_options {
    udpai_wheel *wheel;
    udpai_node *node;
    bool never_rejects; /* whatever the others have */
    /* Streams of clients, of all stream sides. */
    uint64_t (*count)(void *userdata);
    /* For the others; see udpai_replication_ops. */
    void (*set_streams)(void *userdata, uint64_t n);
    void (*rebalance)(void *userdata, uint64_t over_ms);
    void (*order)(void *userdata, udpai_order *order); /* takes it */
    void *userdata;
} udpai_spread_options;

udpa_err udpai_spread_service_new(udpai_service **ret_service, const udpai_spread_options *options);

/* What is known of all replicas, with what this one has now. */
udpai_spread_facts udpai_spread_service_facts(const udpai_service *service);
uint64_t udpai_spread_service_count(const udpai_service *service);

/* Asks all replicas to rebalance, and writes what each will do as far as this one knows: a line
 * each, "ID STREAMS SHARE MOVED". UDPA_ERR_UNAVAILABLE: etcd is away. UDPA_ERR_INVAL: there is
 * nothing to share. */
udpa_err udpai_spread_service_rebalance(udpai_service *service,
                                        uint64_t over_ms,
                                        udpai_strbuf *text,
                                        udpa_error **ret_error);

#endif
