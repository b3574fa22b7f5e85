/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a world, for each other: the network between nodes, their disks, their threads. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "world.h"

void sim_on_dial(void *side, udpai_order *order);
/* On nobody's order: if it fails, from->not_reached is called. */
void sim_dial(sim_node *from, sim_node *to);
void sim_on_stop_dialling(void *side, uint64_t link);
/* The machine has gone: its ends are gone at once, the others learn of it. */
void sim_end_streams_of(sim_node *node);

/* ---- sides.c: the stream sides of a node, and what crosses between them and its loop ---- */

void sim_sides_make(sim_node *node, const sim_node_plan *plan, udpai_node_info *info);
void sim_sides_free(sim_node *node);
/* That accepts the next stream. */
sim_side *sim_accepting_side(sim_node *node);
void sim_on_order(void *node, udpai_order *order);
void sim_report(sim_side *side, udpai_report *report);
void sim_hub_begin(sim_side *side);
void sim_hub_end(sim_side *side);
/* A short time, mostly; now and then a long one, as when a thread is not scheduled. */
uint64_t sim_hesitation_us(sim_world *world);

/* A message that arrives. from: NULL: it has gone. has_dialled: the receiver has. */
void sim_watch(const sim_node *from, sim_node *to, bool has_dialled, const udpa_bytes *bytes);
void sim_disk_commit(void *node, udpai_durable_batch *batch, uint64_t ticket);
/* What a publisher has at the node would be there after a crash, too; aborts if not. */
void sim_disk_check(sim_node *node);
void sim_disk_lose(sim_node *node);
void sim_disk_open(sim_node *node);

/* A copy of what it holds, to be put back while the node is down; to be dropped in the end. */
typedef struct sim_disk {
    UDPAI_VECTOR(udpai_durable_op) kept;
    uint64_t n_committed;
    sim_openings openings;
} sim_disk;

void sim_disk_save(const sim_node *node, sim_disk *ret_copy);
void sim_disk_restore(sim_node *node, const sim_disk *copy);
void sim_disk_drop(sim_disk *copy);
/* In this life of the node. */
void sim_node_after(sim_node *node, uint64_t delay_us, void (*action)(sim_node *node));
void sim_side_after(sim_side *side, uint64_t delay_us, void (*action)(sim_side *side));
void sim_loop_begin(sim_node *node);
void sim_loop_end(sim_node *node);

#endif
