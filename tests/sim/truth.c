/* SPDX-License-Identifier: Apache-2.0 */
/* What is true, and how it changes. Most names have one authority; some have two, so that
 * precedence has something to do. */
#include "scenario.h"

/* Who may say it besides: what a file of the first node says. */
static bool
has_second(int key)
{
    return key < N_FILE_KEYS ? key % 7 == 0 : key == 25;
}

static sim_member *
choose_sayer(sim_scenario *scenario, int key)
{
    if (has_second(key) && sim_once_in(sim_random_of(scenario), 2))
        return scenario->members[0];
    return scenario->members[key < N_FILE_KEYS ? key % scenario->n_management
                                               : sim_key_publisher(scenario, key)];
}

int
sim_n_authorities(const sim_scenario *scenario, int key)
{
    int n = 0;
    for (int i = 0; i < scenario->n_members; i++)
        n += scenario->members[i]->truths[key].exists;
    return n;
}

void
sim_truth_removed(sim_member *member, int key)
{
    member->truths[key].ever_removed = true;
    member->scenario->ever_removed[key] = true;
}

static void
change_one(sim_member *member, int key)
{
    sim_truth *truth = &member->truths[key];
    if (truth->exists && !sim_key_is_stable(key) &&
        sim_once_in(sim_random_of(member->scenario), 3)) {
        truth->exists = false;
        sim_truth_removed(member, key);
    } else {
        truth->exists = true;
        truth->version++;
    }
}

void
sim_change_truth(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    int key = (int)sim_below(&world->random, N_OPEN_KEYS);
    sim_member *self = choose_sayer(scenario, key);
    const sim_truth *truth = &self->truths[key];
    change_one(self, key);
    if (self->is_endpoint || !self->node->is_up)
        return; /* it says so when it comes to it */
    world->counts[truth->exists ? SIM_FILE_EDITS : SIM_FILE_REMOVALS]++;
    sim_set_files(self);
    sim_touch(self->node);
}

/* What is there before anybody has started. */
void
sim_truth_begin(sim_scenario *scenario)
{
    for (int i = 0; i < 2 * N_OPEN_KEYS; i++)
        sim_change_truth(scenario);
    sim_link_begin(scenario);
    for (int i = 0; i < scenario->n_management; i++)
        for (int key = 0; key < N_FILE_KEYS; key++) {
            sim_truth *truth = &scenario->members[i]->truths[key];
            truth->is_old = truth->exists && sim_key_is_stable(key);
        }
}
