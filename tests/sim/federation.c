/* SPDX-License-Identifier: Apache-2.0 */
/* Random federations under random faults: sim_federation [--seeds A-B] [--trace]. Prints how often
 * everything happened, and fails if anything never did. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "scenario.h"

struct options {
    uint64_t first, last;
    bool trace, large;
};

/* In virtual time: everything happens, all is quiet, then only what refers to each other changes,
 * and nothing breaks. */
struct schedule {
    uint64_t changes_end_us, quiet_end_us, calm_end_us, end_us, tick_us, pause_us;
};

static const struct schedule usual = {60000000, 240000000, 250000000, 290000000, 1500000, 200000};
static const struct schedule of_large = {20000000,  120000000, 123000000,
                                         140000000, 4500000,   500000};

static void
look_each_second(sim_scenario *scenario, uint64_t end_us)
{
    sim_world *world = &scenario->world;
    while (world->now_us < end_us) {
        sim_run_until(world, world->now_us + 1000000);
        sim_check_gone(scenario);
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

static void
run_scenario(sim_scenario *scenario, const struct schedule *schedule)
{
    sim_world *world = &scenario->world;
    sim_truth_begin(scenario);
    for (size_t i = 0; i < world->nodes.n; i++)
        sim_after(world, sim_below(&world->random, 3000000), sim_restart, world->nodes.items[i]);
    scenario->is_changing = true;
    sim_after(world, 1000000, sim_happen, scenario);
    sim_run_until(world, schedule->changes_end_us);
    scenario->is_changing = false;
    look_each_second(scenario, schedule->quiet_end_us);
    sim_check_quiet(scenario);
    scenario->is_calm = true;
    change_links(world, scenario);
    look_each_second(scenario, schedule->calm_end_us);
    scenario->is_calm = false;
    look_each_second(scenario, schedule->end_us);
    sim_check_quiet(scenario);
}

static void
add_counts(const sim_scenario *scenario, uint64_t counts[SIM_COUNTS])
{
    for (int i = 0; i < scenario->n_management; i++)
        counts[SIM_LOOPS] += udpai_node_n_loops(scenario->members[i]->node->node);
    for (int i = 0; i < SIM_COUNTS; i++)
        counts[i] += scenario->world.counts[i];
}

static void
run(uint64_t seed, const struct options *options, uint64_t counts[SIM_COUNTS])
{
    unsigned long live_before = udpai_alloc_live();
    sim_scenario *scenario = udpai_alloc(sizeof(*scenario));
    if (!scenario)
        abort();
    sim_world_init(&scenario->world, seed);
    scenario->world.trace = options->trace;
    scenario->is_large = options->large;
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

static void
to_stderr(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "%s %s: %s\n", udpa_log_level_name(level), component, message);
}

/* One seed alone may well miss something. */
static int
report(const uint64_t counts[SIM_COUNTS], uint64_t n_seeds)
{
    int result = EXIT_SUCCESS;
    for (int i = 0; i < SIM_COUNTS; i++) {
        printf("%-24s %llu\n", sim_count_names[i], (unsigned long long)counts[i]);
        if (counts[i] || n_seeds == 1)
            continue;
        fprintf(stderr, "FAIL: never happened: %s\n", sim_count_names[i]);
        result = EXIT_FAILURE;
    }
    return result;
}

/* What must be said if the process ends in the middle of a seed. */
static uint64_t present_seed;

static void
say_seed(void)
{
    if (present_seed)
        fprintf(stderr, "seed %llu has failed; to see it again: make sim SEED=%llu\n",
                (unsigned long long)present_seed, (unsigned long long)present_seed);
}

/* Nothing but this is left to do: what the standard says of signal handlers does not matter. */
static void
on_abort(int signal_number)
{
    (void)signal_number;
    say_seed();
}

static bool
read_seeds(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    char *end;
    *ret_first = *ret_last = strtoull(text, &end, 10);
    if (*end == '-')
        *ret_last = strtoull(end + 1, &end, 10);
    return *end == '\0' && *ret_first > 0 && *ret_first <= *ret_last;
}

static bool
read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            options->trace = true;
        else if (strcmp(argv[i], "--large") == 0)
            options->large = true;
        else if (strcmp(argv[i], "--seeds") != 0 || ++i == argc ||
                 !read_seeds(argv[i], &options->first, &options->last))
            return false;
    }
    return true;
}

int
main(int argc, char **argv)
{
    uint64_t counts[SIM_COUNTS] = {0};
    struct options options = {.first = 1, .last = 40};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: sim_federation [--seeds A-B] [--large] [--trace]\n");
        return EXIT_FAILURE;
    }
    if (options.trace)
        udpa_log_set_sink(UDPA_LOG_DEBUG, to_stderr, NULL);
    if (atexit(say_seed) || signal(SIGABRT, on_abort) == SIG_ERR)
        return EXIT_FAILURE;
    for (uint64_t seed = options.first; seed <= options.last; seed++) {
        present_seed = seed;
        run(seed, &options, counts);
    }
    present_seed = 0;
    uint64_t n = options.last - options.first + 1;
    printf("%llu seeds, %llu to %llu\n", (unsigned long long)n, (unsigned long long)options.first,
           (unsigned long long)options.last);
    return report(counts, options.large ? 1 : n);
}
