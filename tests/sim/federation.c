/* SPDX-License-Identifier: Apache-2.0 */
/* Random federations under random faults: sim_federation [--seeds A-B] [--trace]. Prints how often
 * everything happened, and fails if anything never did. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "scenario.h"

#define CHANGES_END_US 60000000
#define QUIET_END_US 240000000

static void
run_scenario(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    for (int i = 0; i < 200; i++)
        sim_change_truth(scenario);
    for (size_t i = 0; i < world->nodes.n; i++)
        sim_after(world, sim_below(&world->random, 3000000), sim_restart, world->nodes.items[i]);
    scenario->is_changing = true;
    sim_after(world, 1000000, sim_happen, scenario);
    sim_run_until(world, CHANGES_END_US);
    scenario->is_changing = false;
    while (world->now_us < QUIET_END_US) {
        sim_run_until(world, world->now_us + 1000000);
        sim_look_at_fail_overs(scenario);
        sim_check_gone(scenario);
    }
    sim_check_quiet(scenario);
}

static void
run(uint64_t seed, bool trace, uint64_t counts[SIM_COUNTS])
{
    unsigned long live_before = udpai_alloc_live();
    sim_scenario *scenario = udpai_alloc(sizeof(*scenario));
    if (!scenario)
        abort();
    sim_world_init(&scenario->world, seed);
    scenario->world.trace = trace;
    sim_build(scenario);
    if (trace)
        sim_print_topology(scenario);
    run_scenario(scenario);
    for (int i = 0; i < SIM_COUNTS; i++)
        counts[i] += scenario->world.counts[i];
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

static bool
read_seeds(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    char *end;
    *ret_first = *ret_last = strtoull(text, &end, 10);
    if (*end == '-')
        *ret_last = strtoull(end + 1, &end, 10);
    return *end == '\0' && *ret_first > 0 && *ret_first <= *ret_last;
}

int
main(int argc, char **argv)
{
    uint64_t first = 1, last = 40, counts[SIM_COUNTS] = {0};
    bool trace = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0) {
            trace = true;
        } else if (strcmp(argv[i], "--seeds") != 0 || ++i == argc ||
                   !read_seeds(argv[i], &first, &last)) {
            fprintf(stderr, "usage: sim_federation [--seeds A-B] [--trace]\n");
            return EXIT_FAILURE;
        }
    }
    if (trace)
        udpa_log_set_sink(UDPA_LOG_DEBUG, to_stderr, NULL);
    if (atexit(say_seed))
        return EXIT_FAILURE;
    for (uint64_t seed = first; seed <= last; seed++) {
        present_seed = seed;
        run(seed, trace, counts);
    }
    present_seed = 0;
    printf("%llu seeds, %llu to %llu\n", (unsigned long long)(last - first + 1),
           (unsigned long long)first, (unsigned long long)last);
    return report(counts, last - first + 1);
}
