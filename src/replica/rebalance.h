/* SPDX-License-Identifier: Apache-2.0 */
/* That all replicas are to share the streams of clients evenly: one key, which whoever is asked
 * writes, and all see. Each does what follows from it by itself. Owned by the thread of its
 * replicator. */
#ifndef UDPAI_REPLICA_REBALANCE_H
#define UDPAI_REPLICA_REBALANCE_H

#include "base/wheel.h"
#include "etcd/etcd.h"
#include "store/replication.h"

#define UDPAI_REBALANCE_PATIENCE_MS 5000 /* so long a write is attempted */
#define UDPAI_REBALANCE_RETRY_MS 500

typedef struct udpai_rebalance udpai_rebalance;

typedef struct udpai_rebalance_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    uint64_t (*random)(void *userdata);
    /* Takes a REBALANCE. */
    void (*report)(void *userdata, udpai_replicated *event);
    void *userdata;
} udpai_rebalance_env;

/* @p prefix: with a '/' at its end. */
udpa_err udpai_rebalance_new(udpai_rebalance **ret_rebalance,
                             const udpai_rebalance_env *env,
                             udpai_str prefix);
/* NULL does nothing. Returns NULL. */
udpai_rebalance *udpai_rebalance_free(udpai_rebalance *rebalance);

/* Is this, behind the prefix, its key? */
bool udpai_rebalance_is_key(udpai_str key);
/* It was written, or read again: it is reported once. @p is_old: it was there before this replica,
 * and is not reported. */
void udpai_rebalance_take(udpai_rebalance *rebalance, udpai_str value, bool is_old);
/* Writes it; if that fails for long, logs so. */
void udpai_rebalance_ask(udpai_rebalance *rebalance, uint64_t over_ms);
/* What was asked for and is not written yet is not. */
void udpai_rebalance_stop(udpai_rebalance *rebalance);

#endif
