/* SPDX-License-Identifier: Apache-2.0 */
/* Several stream sides that look like one to the loop side: with `workers`, each process has one.
 *
 * An order is given once, and answered once: what concerns all goes to all members, and is done
 * when all have done it; what concerns a session goes to the member that has it. Something is
 * subscribed to as long as any member subscribes to it. */
#ifndef UDPAI_WORKER_POOL_H
#define UDPAI_WORKER_POOL_H

#include "session/messages.h"

/* The first is the stream side of this process, which alone dials. */
#define UDPAI_WORKER_POOL_MAX 64

/* Members number their sessions in steps of so many, from their own number on, so that no two have
 * the same: udpai_hub_options.first_session and session_step. */
#define UDPAI_WORKER_POOL_STEP UDPAI_WORKER_POOL_MAX

typedef struct udpai_worker_pool_env {
    /* Hands an order on; it is the caller's still, and valid until this returns. */
    void (*order)(void *userdata, size_t member, const udpai_order *order);
    /* The same to the first member, which takes it. */
    void (*order_own)(void *userdata, udpai_order *order);
    /* For the loop side, which takes it. */
    void (*report)(void *userdata, udpai_report *report);
    void *userdata;
} udpai_worker_pool_env;

typedef struct udpai_worker_pool udpai_worker_pool;

/* NULL without memory. */
udpai_worker_pool *udpai_worker_pool_new(size_t n_members, const udpai_worker_pool_env *env);
udpai_worker_pool *udpai_worker_pool_free(udpai_worker_pool *pool);
UDPA_DEFINE_CLEANUP(udpai_worker_pool, udpai_worker_pool_free)

/* Takes an order of the loop side. */
void udpai_worker_pool_order(udpai_worker_pool *pool, udpai_order *order);
/* Takes a report of a member. Without memory something may be asked for that no member subscribes
 * to any more, but what has a subscription is asked for. */
void udpai_worker_pool_report(udpai_worker_pool *pool, size_t member, udpai_report *report);

#endif
