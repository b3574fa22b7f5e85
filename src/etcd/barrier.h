/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until the mirror has handed on all that was committed when the wait began. So a client
 * that moves to this replica never sees an older state than it had at another one.
 *
 * A write of a key of its own is what the mirror must show then; one write stands for all that
 * wait, also while the mirror lists or watches again: it may be behind then. While etcd is known to
 * be away nobody waits. Owned by the thread of its etcd. */
#ifndef UDPAI_ETCD_BARRIER_H
#define UDPAI_ETCD_BARRIER_H

#include "etcd/mirror.h"

/* At least between two writes. */
#define UDPAI_BARRIER_INTERVAL_MS 50
/* So long is waited at most; after that, nobody waits until a write has come through. */
#define UDPAI_BARRIER_PATIENCE_MS 1000

typedef struct udpai_barrier udpai_barrier;

typedef struct udpai_barrier_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    udpai_mirror *mirror; /* of a prefix that holds the key */
    /* Somebody has waited in vain, and before that one is called; or a write has come through
     * again, and before those are called that waited for it. From there, somebody may begin to
     * wait. */
    void (*late_changed)(void *userdata, bool is_late);
    void *userdata;
} udpai_barrier_env;

/* Owned by the caller, until it has passed. */
typedef struct udpai_barrier_waiter {
    /* @p is_current: the mirror has all that was committed before; else that was not to be known in
     * time. Also called from inside. */
    void (*passed)(struct udpai_barrier_waiter *waiter, bool is_current);
    udpai_list node;
    uint64_t since_ms;
} udpai_barrier_waiter;

udpa_err
udpai_barrier_new(udpai_barrier **ret_barrier, const udpai_barrier_env *env, udpai_str key);
/* Who waits is not called. NULL does nothing. Returns NULL. Before the mirror. */
udpai_barrier *udpai_barrier_free(udpai_barrier *barrier);

void udpai_barrier_wait(udpai_barrier *barrier, udpai_barrier_waiter *waiter);
/* Harmless for one that does not wait. */
void udpai_barrier_wait_end(udpai_barrier_waiter *waiter);

#endif
