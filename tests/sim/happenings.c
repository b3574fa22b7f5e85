/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a federation: the truth changes, and everything breaks. */
#include "scenario.h"

#include <stdio.h>

/* ---- the truth ---- */

/* Most names have one authority; some have two, so that precedence has something to do. */
static bool
may_say(const sim_scenario *scenario, int member, int key)
{
    if (member >= scenario->n_management)
        return sim_key_publisher(scenario, key) == member;
    if (key >= N_FILE_KEYS)
        return key == 25 && member == 0;
    return key % scenario->n_management == member || (key % 7 == 0 && member == 0);
}

static void
change_one(sim_scenario *scenario, sim_truth *truth, int key)
{
    if (truth->exists && !sim_key_is_stable(key) && sim_once_in(&scenario->world.random, 3)) {
        truth->exists = false;
        truth->ever_removed = true;
    } else {
        truth->exists = true;
        truth->version++;
    }
}

void
sim_change_truth(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    int member = (int)sim_below(&world->random, (uint64_t)scenario->n_members);
    int key = (int)sim_below(&world->random, N_KEYS);
    if (!may_say(scenario, member, key))
        return;
    sim_truth *truth = &scenario->truths[member][key];
    sim_member *self = scenario->members[member];
    change_one(scenario, truth, key);
    if (self->is_endpoint || !self->node->is_up)
        return; /* it says so when it comes to it */
    world->counts[truth->exists ? SIM_FILE_EDITS : SIM_FILE_REMOVALS]++;
    sim_set_files(self);
    sim_touch(self->node);
}

/* ---- faults ---- */

void
sim_restart(sim_world *world, void *userdata)
{
    sim_node *node = userdata;
    const sim_scenario *scenario = ((sim_member *)node->userdata)->scenario;
    if (!node->is_up && !scenario->is_over) {
        sim_start_node(node);
        world->counts[SIM_RESTARTS]++;
    }
}

static void
heal(sim_world *world, void *userdata)
{
    uintptr_t pair = (uintptr_t)userdata;
    sim_set_partition(world, world->nodes.items[pair / SIM_NODES_MAX],
                      world->nodes.items[pair % SIM_NODES_MAX], false);
}

static sim_node *
any_node(sim_world *world)
{
    return world->nodes.items[sim_below(&world->random, world->nodes.n)];
}

static void
crash(sim_node *node, bool keep_state)
{
    sim_world *world = node->world;
    if (world->trace)
        fprintf(stderr, "%9llu %s crashes%s\n", (unsigned long long)sim_ms(world), node->id,
                keep_state ? "" : " and loses its state");
    world->counts[keep_state ? SIM_CRASHES : SIM_CRASHES_WITHOUT_STATE]++;
    sim_crash_node(node, keep_state);
    sim_after(world, sim_below(&world->random, 20000000), sim_restart, node);
}

void
sim_die(sim_node *node)
{
    crash(node, true);
}

static void
crash_something(sim_world *world)
{
    sim_node *node = any_node(world);
    if (!node->is_up)
        return;
    if (sim_once_in(&world->random, 40))
        node->dies_committing = true;
    else
        crash(node, !sim_once_in(&world->random, 3));
}

static void
partition_something(sim_world *world)
{
    const sim_node *a = any_node(world), *b = any_node(world);
    if (a == b)
        return;
    if (world->trace)
        fprintf(stderr, "%9llu %s and %s are parted\n", (unsigned long long)sim_ms(world), a->id,
                b->id);
    sim_set_partition(world, a, b, true);
    sim_after(world, sim_below(&world->random, 20000000), heal,
              (void *)(uintptr_t)(a->index * SIM_NODES_MAX + b->index));
}

static void
change_interest(sim_scenario *scenario)
{
    int number = (int)sim_below(&scenario->world.random, (uint64_t)scenario->n_endpoints);
    sim_endpoint_change_interest(scenario->members[scenario->n_management + number]);
}

void
sim_happen(sim_world *world, void *userdata)
{
    sim_scenario *scenario = userdata;
    if (!scenario->is_changing)
        return;
    switch (sim_below(&world->random, 44)) {
    case 0:
        crash_something(world);
        break;
    case 1:
        partition_something(world);
        break;
    case 2:
    case 3:
        sim_cut_something(world);
        break;
    case 4:
        world->counts[SIM_SLOW_TIMES]++;
        world->slow_until_us = world->now_us + 2000000;
        break;
    case 5:
    case 6:
    case 7: /* often just before the end of the linger of what was asked before */
        change_interest(scenario);
        break;
    default:
        sim_change_truth(scenario);
        break;
    }
    sim_look_at_fail_overs(scenario);
    sim_check_gone(scenario);
    sim_after(world, sim_below(&world->random, 200000), sim_happen, scenario);
}

/* ---- what is seen of fail-overs from outside ---- */

static bool
second_source_counts(const sim_member *member)
{
    char key[32];
    snprintf(key, sizeof(key), "source:%s", member->source_names[1]);
    const udpai_origin *origin =
        udpai_store_find_origin(udpai_node_store(member->node->node), udpai_str_from(key));
    return origin && udpai_origin_is_eligible(origin, udpai_str_from(sim_types[0]));
}

void
sim_look_at_fail_overs(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        if (!member->fails_over || !member->node->is_up)
            continue;
        bool has = second_source_counts(member);
        if (has != member->has_failed_over)
            scenario->world.counts[has ? SIM_FAIL_OVERS : SIM_HAND_BACKS]++;
        member->has_failed_over = has;
    }
}
