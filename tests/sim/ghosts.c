/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of which a member dies, while the owner of what they have removes some of it: within a
 * second nobody who lives has it any more, and it does not come back when the dead one does, if it
 * does. */
#include <stdio.h>
#include <stdlib.h>

#include "mesh.h"
#include "seeds.h"

enum {
    N_SEEDS = 40
};

static size_t n_ended;

/* ---- what must hold ---- */

static void
saw(const mesh_member *at, int key, bool is_removed)
{
    if (!is_removed && !at->mesh->exists[key] && !at->has[key] && !at->may_be_old)
        mesh_fail(at, "a ghost has come", key);
}

static void
expect_truth(const mesh *self, const char *when)
{
    for (size_t i = 0; i < self->n_members; i++) {
        const mesh_member *at = &self->members[i];
        for (int key = 0; key < MESH_KEYS && at->node->is_up; key++)
            if (at->has[key] != self->exists[key])
                mesh_fail(at, when, key);
    }
}

/* Far more at once than is kept for who is behind: nobody who is in step is cut off for that. */
static void
remove_nearly_all(mesh *self)
{
    uint64_t n_connects = self->world.counts[SIM_CONNECTS];
    for (int key = 2; key < MESH_KEYS; key++) {
        n_ended += self->exists[key];
        self->exists[key] = false;
    }
    mesh_set_files(self);
    mesh_run_for(self, 1 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, a second after nearly all was removed");
    if (self->world.counts[SIM_CONNECTS] != n_connects)
        mesh_fail(mesh_owner(self), "a stream was ended for a large removal", 0);
}

static void
remove_some(mesh *self)
{
    for (int key = 0; key < MESH_KEYS; key++) {
        bool goes = self->exists[key] && sim_below(&self->world.random, 3) == 0;
        self->exists[key] = self->exists[key] && !goes;
        n_ended += goes;
    }
    mesh_set_files(self);
}

/* With its disk, or without: then it is told by the others what was removed. */
static void
restart_another(mesh *self, const mesh_member *dead)
{
    mesh_member *other = &self->members[1 + sim_below(&self->world.random, self->n_relays)];
    if (other == dead || sim_below(&self->world.random, 2) == 0)
        return;
    sim_crash_node(other->node, sim_below(&self->world.random, 2));
    mesh_run_for(self, 1 * SIM_SECOND);
    sim_start_node(other->node);
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, after a restart");
}

/* Less is to be remembered, and what had gone comes and goes once more: that it had gone before is
 * remembered no shorter than it was to be then. */
static void
remember_less(mesh *self)
{
    bool goes_again[MESH_KEYS];
    for (size_t i = 0; i < self->n_members; i++)
        if (self->members[i].node->is_up)
            mesh_remember_for(&self->members[i], 10000);
    for (int key = 0; key < MESH_KEYS; key++) {
        goes_again[key] = !self->exists[key];
        self->exists[key] = true;
    }
    mesh_set_files(self);
    mesh_run_for(self, 1 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, with what had gone");
    for (int key = 0; key < MESH_KEYS; key++)
        self->exists[key] = !goes_again[key];
    mesh_set_files(self);
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, long after what is remembered now");
}

/* It knows no better at first, and tells those who take from it alone. */
static void
come_back_alone(mesh *self, mesh_member *dead)
{
    for (size_t i = 0; i < dead->n_upstreams; i++)
        sim_set_partition(&self->world, dead->node, dead->upstreams[i]->node, true);
    sim_start_node(dead->node);
    mesh_run_for(self, 20 * SIM_SECOND);
    for (size_t i = 0; i < dead->n_upstreams; i++)
        sim_set_partition(&self->world, dead->node, dead->upstreams[i]->node, false);
}

static void
run(uint64_t seed, bool trace)
{
    mesh *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    self->saw = saw;
    self->trace = trace;
    for (int key = 0; key < MESH_KEYS; key++)
        self->exists[key] = true;
    mesh_begin(self, seed);
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as at the beginning");
    mesh_member *dead = &self->members[1 + sim_below(&self->world.random, self->n_relays)];
    sim_crash_node(dead->node, true);
    if (seed % 4 == 0)
        remove_nearly_all(self);
    for (int i = 0; i < 3; i++) {
        mesh_run_for(self, sim_below(&self->world.random, 8 * SIM_SECOND));
        remove_some(self);
        mesh_run_for(self, 1 * SIM_SECOND);
        expect_truth(self, "not as the owner has it, after a second");
    }
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as the owner has it");
    restart_another(self, dead);
    if (seed % 4 == 1)
        remember_less(self);
    if (sim_below(&self->world.random, 4) != 0) {
        dead->may_be_old = true;
        if (seed % 4 == 1)
            come_back_alone(self, dead);
        else
            sim_start_node(dead->node);
        mesh_run_for(self, 60 * SIM_SECOND);
        expect_truth(self, "not as the owner has it, when the dead one is back");
    }
    mesh_end(self);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, run);
    printf("%zu resources were removed beside a dead member\n", n_ended);
    return n_ended ? EXIT_SUCCESS : EXIT_FAILURE;
}
