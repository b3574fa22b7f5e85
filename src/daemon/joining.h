/* SPDX-License-Identifier: Apache-2.0 */
/* How a node becomes one of several replicas: what its directory has goes to etcd, if it is to move
 * there; it serves at once what it has, or reads etcd first; and it takes its place in the set, or
 * ends. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_JOINING_H
#define UDPAI_DAEMON_JOINING_H

#include <uv.h>

#include "daemon/plan.h"
#include "daemon/replicas.h"

/* The owner's, but for the timer. */
typedef struct udpai_joining {
    uv_loop_t *loop;
    const udpai_plan *plan;
    udpa_endpoint *endpoint;
    udpai_durable_engine *engine; /* of its database; NULL: none */
    const bool *is_stopping;
    void (*is_full)(void *userdata, udpa_error *why); /* takes it: the node has no place */
    void *userdata;
    uv_timer_t timer; /* while it has no place in its set yet */
} udpai_joining;

void udpai_joining_init(udpai_joining *joining, uv_loop_t *loop);
/* Takes the replication out of the replicas, NULL: there are none, and begins; runs the loop until
 * the node has something that it may serve. UDPA_ERR_CLOSED: it is stopping. */
udpa_err
udpai_joining_begin(udpai_joining *joining, udpai_replicas *replicas, udpa_error **ret_error);
/* The loop runs on until it has closed. */
void udpai_joining_end(udpai_joining *joining);

#endif
