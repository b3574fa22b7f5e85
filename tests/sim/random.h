/* SPDX-License-Identifier: Apache-2.0 */
/* The one source of chance of a run: everything follows from its seed. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_random {
    uint64_t state;
} sim_random;

/* splitmix64 */
static inline uint64_t
sim_next(sim_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to below - 1. */
static inline uint64_t
sim_below(sim_random *random, uint64_t below)
{
    return below ? sim_next(random) % below : 0;
}

/* True once in n, on average. */
static inline bool
sim_once_in(sim_random *random, uint64_t n)
{
    return sim_below(random, n) == 0;
}

#endif
