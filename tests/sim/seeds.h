/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds of a small scene: all of them, or, by the command line, those from one to another
 * (1-1000), or one, with every message shown. */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void
sim_play_seeds(int argc, char **argv, uint64_t n_seeds, void (*play)(uint64_t seed, bool trace))
{
    char none[] = "", *end = none;
    uint64_t first = argc > 1 ? strtoull(argv[1], &end, 10) : 1;
    uint64_t last = *end == '-' ? strtoull(end + 1, NULL, 10) : argc > 1 ? first : n_seeds;
    for (uint64_t seed = first; seed <= last; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        (void)fflush(stdout);
        play(seed, argc > 1 && first == last);
    }
}

#endif
