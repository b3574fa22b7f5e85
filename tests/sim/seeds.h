/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of a small scene: all of them, or, by the command line, those from one to another
 * (1-1000, or --seeds 1-1000), or one, with every message shown. The one that fails is named. */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t sim_seed_played; /* 0: none */

static void
sim_say_seed(void)
{
    if (sim_seed_played)
        fprintf(stderr, "seed %llu has failed\n", (unsigned long long)sim_seed_played);
}

/* Nothing but this is left to do: what the standard says of signal handlers does not matter. */
static void
sim_on_abort(int signal_number)
{
    (void)signal_number;
    sim_say_seed();
}

static inline void
sim_play_seeds(int argc, char **argv, uint64_t n_seeds, void (*play)(uint64_t seed, bool trace))
{
    char none[] = "", *end = none;
    const char *chosen = argc > 1 ? argv[argc - 1] : NULL; /* behind --seeds, too */
    uint64_t first = chosen ? strtoull(chosen, &end, 10) : 1;
    uint64_t last = *end == '-' ? strtoull(end + 1, NULL, 10) : chosen ? first : n_seeds;
    bool trace = argc == 2 && first == last;
    if (atexit(sim_say_seed) || signal(SIGABRT, sim_on_abort) == SIG_ERR)
        exit(EXIT_FAILURE);
    for (uint64_t seed = first; seed <= last; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        (void)fflush(stdout);
        sim_seed_played = seed;
        play(seed, trace);
    }
    sim_seed_played = 0;
}

#endif
