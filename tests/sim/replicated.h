/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are replicas of one, on a model of etcd. Each has a replicator of its own, as the
 * thread of etcd has it in the program: what crosses to it and back comes later. */
#ifndef SIM_REPLICATED_H
#define SIM_REPLICATED_H

#include "network.h"
#include "replica/replicator.h"
#include "tests/harness/etcd_model.h"

enum {
    SIM_REPLICAS_MAX = 3,
};

typedef struct sim_set sim_set;

typedef struct sim_replica {
    sim_set *set;
    sim_node *node;
    etcd_model_client client;
    udpai_replicator *replicator; /* NULL: it is down */
    udpai_list tasks, inbox;      /* for the thread of etcd, and for the loop */
    bool tasks_due, inbox_due;
    bool is_certain; /* it has reported last that it has all there is */
    /* When somebody was let go last though it may not have what it should: nobody knows, or it took
     * too long. */
    uint64_t loose_us;
} sim_replica;

struct sim_set {
    sim_world *world;
    etcd_model etcd;
    udpai_wheel wheel; /* of etcd, and of what works with it */
    uint64_t tick_us;
    sim_replica replicas[SIM_REPLICAS_MAX];
    size_t n;
};

void sim_set_init(sim_set *set, sim_world *world, uint64_t seed);
/* After all nodes have crashed, before the world is done. */
void sim_set_done(sim_set *set);
/* One that is not up yet. */
void sim_set_add(sim_set *set, sim_node *node);
sim_replica *sim_replica_of(const sim_node *node);
/* Around whatever is done to etcd from outside. */
void sim_set_begin(sim_set *set);
void sim_set_end(sim_set *set);

#endif
