/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a federation: everything breaks, and comes again. */
#include "scenario.h"

#include <stdio.h>

/* ---- faults ---- */

void
sim_restart(sim_world *world, void *userdata)
{
    sim_node *node = userdata;
    const sim_scenario *scenario = ((sim_member *)node->userdata)->scenario;
    if (node->is_up || scenario->is_over || ((sim_member *)node->userdata)->is_dead)
        return;
    sim_check_kept(node->userdata);
    sim_start_node(node);
    world->counts[SIM_RESTARTS]++;
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

/* With the time until they are connected again, it may take a cycle_timeout. */
#define LONG_OUTAGE_US 15000000

/* Mostly short, and at times longer than all that anybody waits for. */
static uint64_t
outage_us(sim_world *world, const sim_node *a, const sim_node *b)
{
    sim_scenario *scenario = ((sim_member *)a->userdata)->scenario;
    uint64_t us = sim_below(&world->random, sim_once_in(&world->random, 6) ? 60000000 : 20000000);
    if (a->is_management && b->is_management && us >= LONG_OUTAGE_US)
        scenario->has_long_outage = true;
    return us;
}

/* It has lost what it told its publishers that it keeps. */
static void
forget_state(const sim_node *node)
{
    sim_member *self = node->userdata;
    self->has_lost_memory = true;
    self->scenario->has_lost_state |= node->is_management;
    for (int i = 0; i < self->scenario->n_publishers; i++) {
        sim_member *publisher = self->scenario->members[self->scenario->publishers[i]];
        for (int key = 0; key < N_KEYS && publisher->upstreams[0] == self->index; key++)
            publisher->truths[key].safe_version = 0;
    }
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
    node->clock_us = node->clock_us < -2000000 ? 0 : node->clock_us;
    if (!keep_state) {
        node->lost_us = world->now_us;
        forget_state(node);
    }
    sim_after(world, outage_us(world, node, node), sim_restart, node);
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
    if (sim_once_in(&world->random, 5))
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
    sim_after(world, outage_us(world, a, b), heal,
              (void *)(uintptr_t)(a->index * SIM_NODES_MAX + b->index));
}

#define CLOCK_STEP_US 5000000

static void
set_clock_right(sim_world *world, void *userdata)
{
    (void)world;
    sim_node *node = userdata;
    if (node->clock_us < -CLOCK_STEP_US / 2)
        node->clock_us += CLOCK_STEP_US;
}

/* Somebody's clock is set back; after a while it is right again. A machine that starts anew has a
 * clock that is; and of one that has lost its disk it does not go behind what it had said by then:
 * nobody tells it what that was, unless it recovers. */
static void
set_clock_back(sim_world *world)
{
    sim_node *node = any_node(world);
    bool may_not_know = node->lost_us && world->now_us < node->lost_us + CLOCK_STEP_US;
    if (!node->is_up || node->clock_us < -CLOCK_STEP_US / 2 || may_not_know)
        return;
    node->clock_us -= CLOCK_STEP_US;
    world->counts[SIM_CLOCKS_SET_BACK]++;
    sim_after(world, sim_below(&world->random, 10000000), set_clock_right, node);
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
    switch (sim_below(&world->random, 50)) {
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
    case 8:
        sim_slow_something(world, 5000000);
        break;
    case 9:
        set_clock_back(world);
        break;
    case 10:
        sim_rules_change(scenario);
        break;
    case 11:
        sim_identity_change(scenario);
        break;
    case 12:
    case 13:
        sim_link_change(scenario);
        break;
    default:
        sim_change_truth(scenario);
        break;
    }
    sim_check_gone(scenario);
    sim_after(world, sim_below(&world->random, scenario->pause_us), sim_happen, scenario);
}

/* ---- what is seen of fail-overs from outside ---- */

static bool
source_counts(const sim_member *member, int number)
{
    char key[32];
    snprintf(key, sizeof(key), "source:%s", member->source_names[number]);
    const udpai_origin *origin =
        udpai_store_find_origin(udpai_node_store(member->node->node), udpai_str_from(key));
    return origin && udpai_origin_is_eligible(origin, udpai_str_from(sim_types[0]));
}

/* A source that was replaced, and comes back, must stay before it counts again. The nodes' clocks
 * tell whole milliseconds. */
static void
check_fail_back(const sim_member *member)
{
    const sim_node *first = member->scenario->members[member->upstreams[0]]->node;
    uint64_t age_us = sim_stream_age_us(member->node, first);
    if (age_us && age_us + 2000 < SIM_FAIL_BACK_DELAY_MS * 1000)
        sim_fail(member, "a source counts again too early", -1);
}

void
sim_look_at_fail_over(sim_member *member)
{
    if (!member->fails_over)
        return;
    bool has = source_counts(member, 1), first_counts = source_counts(member, 0);
    if (has != member->has_failed_over)
        member->scenario->world.counts[has ? SIM_FAIL_OVERS : SIM_HAND_BACKS]++;
    if (first_counts && !member->first_counted && member->has_failed_over)
        check_fail_back(member);
    member->has_failed_over = has;
    member->first_counted = first_counts;
}
