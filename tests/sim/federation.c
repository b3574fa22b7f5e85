/* SPDX-License-Identifier: Apache-2.0 */
/* One federation, from its seed to its end. */
#include "federation.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "clients.h"
#include "federation/accept.h"
#include "guest.h"
#include "network.h"

/* In virtual time: everything happens, all is quiet, then only what refers to each other changes,
 * and nothing breaks. */
struct schedule {
    uint64_t changes_end_us, quiet_end_us, calm_end_us, end_us, tick_us, pause_us;
};

static const struct schedule usual = {60000000, 240000000, 250000000, 290000000, 1500000, 200000};
static const struct schedule of_large = {20000000,  120000000, 123000000,
                                         140000000, 4500000,   500000};

/* Each seed is run so. */
typedef enum sim_kind {
    SIM_PLAIN,
    SIM_WITH_REPORTS,
    SIM_WITH_GUESTS,
} sim_kind;

/* Of the quiet, so much at its end. */
#define REST_US 10000000

/* Within this time nobody is asked any more for what nobody wants. */
#define LEAVING_US 10000000

/* Whoever looks after a node says of what it holds that it is meant to be gone: a member that came
 * back without its disk cannot say what was removed while it was away. */
static void
accept_what_is_held(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        sim_node *node = member->node;
        for (size_t k = 0; node->is_up && k < member->provider.n_descriptors; k++) {
            char key[32];
            size_t n = 0;
            snprintf(key, sizeof(key), "source:%s", member->source_names[k]);
            const udpai_origin *origin =
                udpai_store_find_origin(udpai_node_store(node->node), udpai_str_from(key));
            if (!origin || !udpai_origin_has_absent(origin))
                continue;
            sim_loop_begin(node);
            (void)udpai_node_accept_absences(node->node, udpai_str_from(member->source_names[k]),
                                             &n);
            scenario->world.counts[SIM_ACCEPTED] += n;
            sim_loop_end(node);
        }
    }
}

static void
look_each_second(sim_scenario *scenario, uint64_t end_us)
{
    sim_world *world = &scenario->world;
    while (world->now_us < end_us) {
        sim_run_until(world, world->now_us + 1000000);
        accept_what_is_held(scenario);
        sim_check_gone(scenario);
        if (scenario->has_reports)
            sim_takers_check_expired(scenario);
    }
}

/* Each of the last seconds is as the one before. */
static void
come_to_rest(sim_scenario *scenario, uint64_t end_us)
{
    look_each_second(scenario, end_us - REST_US);
    sim_check_rest(scenario, true);
    while (scenario->world.now_us < end_us) {
        look_each_second(scenario, scenario->world.now_us + 1000000);
        sim_check_rest(scenario, false);
    }
}

static void
change_links(sim_world *world, void *userdata)
{
    sim_scenario *scenario = userdata;
    if (!scenario->is_calm)
        return;
    sim_link_change(scenario);
    if (sim_once_in(&world->random, 4))
        sim_slow_something(world, 1000000);
    sim_after(world, sim_below(&world->random, 1000000), change_links, scenario);
}

/* Who was to die in his next commit and had none, does not in the quiet. */
static void
spare_all(sim_world *world)
{
    for (size_t i = 0; i < world->nodes.n; i++)
        world->nodes.items[i]->dies_committing = false;
}

/* In the quiet clients count a little more. */
static void
begin_burst(sim_scenario *scenario)
{
    sim_takers_check_quiet(scenario);
    sim_sums_mark(scenario);
    sim_clients_burst(scenario);
}

/* That has come everywhere. Then nobody wants to know anything any more. */
static void
end_reports(sim_scenario *scenario)
{
    sim_takers_check_quiet(scenario);
    sim_sums_check(scenario);
    sim_takers_leave(scenario);
    look_each_second(scenario, scenario->world.now_us + LEAVING_US);
    sim_takers_check_nobody_asked(scenario);
}

static void
run_scenario(sim_scenario *scenario, const struct schedule *schedule)
{
    sim_world *world = &scenario->world;
    sim_truth_begin(scenario);
    for (size_t i = 0; i < world->nodes.n; i++)
        sim_after(world, sim_below(&world->random, 3000000), sim_restart, world->nodes.items[i]);
    scenario->is_changing = true;
    sim_after(world, 1000000, sim_happen, scenario);
    sim_losses_choose(scenario, schedule->changes_end_us);
    sim_run_until(world, schedule->changes_end_us);
    scenario->is_changing = false;
    spare_all(&scenario->world);
    come_to_rest(scenario, schedule->quiet_end_us);
    sim_check_quiet(scenario);
    if (scenario->has_reports)
        begin_burst(scenario);
    sim_guests_change(scenario);
    scenario->is_calm = true;
    change_links(world, scenario);
    look_each_second(scenario, schedule->calm_end_us);
    scenario->is_calm = false;
    look_each_second(scenario, schedule->end_us);
    sim_check_quiet(scenario);
    if (scenario->has_reports)
        end_reports(scenario);
}

static void
add_counts(const sim_scenario *scenario, uint64_t counts[SIM_COUNTS])
{
    for (int i = 0; i < scenario->n_management; i++)
        if (scenario->members[i]->node->is_up)
            counts[SIM_LOOPS] += udpai_node_n_loops(scenario->members[i]->node->node);
    for (int i = 0; i < SIM_COUNTS; i++)
        counts[i] += scenario->world.counts[i];
}

static void
run_one(uint64_t seed, sim_kind kind, const sim_options *options, uint64_t counts[SIM_COUNTS])
{
    unsigned long live_before = udpai_alloc_live();
    sim_scenario *scenario = udpai_alloc(sizeof(*scenario));
    if (!scenario)
        abort();
    sim_world_init(&scenario->world, seed);
    scenario->world.trace = options->trace;
    scenario->is_large = options->large;
    scenario->has_reports = kind == SIM_WITH_REPORTS;
    scenario->has_guests = kind == SIM_WITH_GUESTS;
    scenario->client_random.state = ~seed;
    const struct schedule *schedule = options->large ? &of_large : &usual;
    scenario->tick_us = schedule->tick_us;
    scenario->pause_us = schedule->pause_us;
    sim_shape_choose(scenario, seed);
    sim_build(scenario);
    if (options->trace)
        sim_print_topology(scenario);
    run_scenario(scenario, schedule);
    add_counts(scenario, counts);
    scenario->is_over = true;
    sim_world_done(&scenario->world);
    sim_free_members(scenario);
    udpai_free(scenario);
    if (udpai_alloc_live() != live_before) {
        fprintf(stderr, "FAIL: %ld pieces of memory are left behind\n",
                (long)(udpai_alloc_live() - live_before));
        exit(EXIT_FAILURE);
    }
}

void
sim_run(uint64_t seed, const sim_options *options, uint64_t counts[SIM_COUNTS])
{
    run_one(seed, SIM_PLAIN, options, counts);
    if (options->large)
        return;
    run_one(seed, SIM_WITH_REPORTS, options, counts);
    run_one(seed, SIM_WITH_GUESTS, options, counts);
}
