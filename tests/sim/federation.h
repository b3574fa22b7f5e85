/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_FEDERATION_H
#define SIM_FEDERATION_H

#include "world.h"

typedef struct sim_options {
    bool trace; /* show every message */
    bool large; /* 200 nodes and 10,000 endpoints */
} sim_options;

/* Adds to the counts; the process ends where something does not hold. */
void sim_run(uint64_t seed, const sim_options *options, uint64_t counts[SIM_COUNTS]);

#endif
