/* SPDX-License-Identifier: Apache-2.0 */
/* The leases of the model of etcd, without their keys. */
#ifndef UDPAI_TESTS_ETCD_MODEL_LEASES_H
#define UDPAI_TESTS_ETCD_MODEL_LEASES_H

#include "base/vector.h"

typedef struct etcd_model_lease {
    int64_t id, ttl_s;
    uint64_t deadline_ms;
} etcd_model_lease;

typedef struct etcd_model_leases {
    UDPAI_VECTOR(etcd_model_lease) all;
    int64_t last;
} etcd_model_leases;

/* Its id. */
int64_t etcd_model_leases_grant(etcd_model_leases *leases, int64_t ttl_s);
/* Its ttl, which begins anew; 0: there is none. */
int64_t etcd_model_leases_keep(etcd_model_leases *leases, int64_t id, uint64_t now_ms);
bool etcd_model_leases_has(const etcd_model_leases *leases, int64_t id);
void etcd_model_leases_drop(etcd_model_leases *leases, int64_t id);
/* One that is over; 0: none is. */
int64_t etcd_model_leases_ended(const etcd_model_leases *leases, uint64_t now_ms);

#endif
