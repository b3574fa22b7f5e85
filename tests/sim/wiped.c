/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of which the owner comes back without its disk, or with an older copy of it, and with the
 * files of that time. It takes nothing away by that: what it adds comes to everybody, what it does
 * not name is held, until it names it again, name by name, or those who hold it accept that it has
 * gone. What it removes then, it has removed. */
#include <stdio.h>
#include <stdlib.h>

#include "federation/accept.h"
#include "mesh.h"
#include "network.h"
#include "seeds.h"

enum {
    N_SEEDS = 40,
    FIRST_LATE = 8, /* keys that were added after the copy was made … */
    FIRST_NEW = 20, /* … and after the owner came back */
};

static size_t n_accepted, n_named_again;
static bool may_go;

static void
saw(const mesh_member *at, int key, bool is_removed)
{
    if (is_removed && !may_go)
        mesh_fail(at, "nobody has removed it, and it has gone", key);
}

static void
expect_truth(const mesh *self, const char *when)
{
    for (size_t i = 0; i < self->n_members; i++)
        for (int key = 0; key < MESH_KEYS; key++)
            if (self->members[i].has[key] != self->exists[key])
                mesh_fail(&self->members[i], when, key);
}

/* At all but the owner itself, which has what its files say. */
static void
expect_held(const mesh *self, const bool held[MESH_KEYS])
{
    for (size_t i = 1; i < self->n_members; i++)
        for (int key = 0; key < MESH_KEYS; key++)
            if (self->members[i].has[key] != (held[key] || self->exists[key]))
                mesh_fail(&self->members[i], "not held, or not there", key);
}

static void
set_range(mesh *self, int first, int end, bool exists)
{
    for (int key = first; key < end; key++)
        self->exists[key] = exists;
}

/* ---- how it is lost ---- */

static void
come_back_empty(mesh *self)
{
    sim_node *owner = mesh_owner(self)->node;
    sim_crash_node(owner, false);
    set_range(self, 0, FIRST_NEW, false);
}

static void
come_back_older(mesh *self)
{
    sim_node *owner = mesh_owner(self)->node;
    sim_disk copy = {0};
    sim_disk_save(owner, &copy);
    set_range(self, FIRST_LATE, FIRST_NEW, true);
    mesh_set_files(self);
    mesh_run_for(self, 10 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, before it is lost");
    sim_crash_node(owner, true);
    sim_disk_restore(owner, &copy);
    sim_disk_drop(&copy);
    set_range(self, FIRST_LATE, FIRST_NEW, false);
}

/* Somebody else may start anew meanwhile, and has what is held from its disk, or from others. */
static void
restart_another(mesh *self)
{
    const mesh_member *other = &self->members[1 + sim_below(&self->world.random, self->n_relays)];
    if (sim_below(&self->world.random, 2) == 0)
        return;
    sim_crash_node(other->node, true);
    mesh_run_for(self, SIM_SECOND);
    sim_start_node(other->node);
    mesh_run_for(self, 60 * SIM_SECOND);
}

/* ---- how it ends ---- */

static void
accept_everywhere(mesh *self)
{
    may_go = true;
    for (size_t i = 1; i < self->n_members; i++)
        for (size_t k = 0; k < self->members[i].n_upstreams; k++) {
            sim_node *node = self->members[i].node;
            size_t n = 0;
            sim_loop_begin(node);
            (void)udpai_node_accept_absences(node->node, udpai_str_from(self->members[i].names[k]),
                                             &n);
            sim_loop_end(node);
            n_accepted += n;
        }
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as the owner has it, though that is accepted");
}

static void
name_again(mesh *self, bool held[MESH_KEYS])
{
    for (int key = 0; key < FIRST_NEW; key++) {
        if (!held[key])
            continue;
        held[key] = false;
        self->exists[key] = true;
        mesh_set_files(self);
        mesh_run_for(self, SIM_SECOND);
        expect_held(self, held);
        n_named_again++;
    }
    may_go = true;
    self->exists[0] = false;
    mesh_set_files(self);
    mesh_run_for(self, SIM_SECOND);
    expect_truth(self, "not as the owner has it, after all is named again");
}

static void
run(uint64_t seed, bool trace)
{
    mesh *self = calloc(1, sizeof(*self));
    bool held[MESH_KEYS] = {0}, is_older = seed % 2;
    if (!self)
        abort();
    may_go = false;
    self->saw = saw;
    self->trace = trace;
    set_range(self, 0, is_older ? FIRST_LATE : FIRST_NEW, true);
    mesh_begin(self, seed);
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_truth(self, "not as at the beginning");
    for (int key = is_older ? FIRST_LATE : 0; key < FIRST_NEW; key++)
        held[key] = true;
    (is_older ? come_back_older : come_back_empty)(self);
    mesh_run_for(self, sim_below(&self->world.random, 30 * SIM_SECOND));
    set_range(self, FIRST_NEW, MESH_KEYS, true);
    sim_start_node(mesh_owner(self)->node);
    mesh_run_for(self, 60 * SIM_SECOND);
    expect_held(self, held);
    restart_another(self);
    expect_held(self, held);
    if (sim_below(&self->world.random, 2))
        accept_everywhere(self);
    else
        name_again(self, held);
    mesh_end(self);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, run);
    printf("%zu resources were held until it was accepted that they have gone, %zu until they were "
           "named again\n",
           n_accepted, n_named_again);
    return argc > 1 || (n_accepted && n_named_again) ? EXIT_SUCCESS : EXIT_FAILURE;
}
