/* SPDX-License-Identifier: Apache-2.0 */
/* Times, of which many come, and their percentiles. Pure. */
#ifndef UDPAI_BENCH_SAMPLES_H
#define UDPAI_BENCH_SAMPLES_H

#include "base/vector.h"

/* In 100 ns. */
typedef struct udpai_samples {
    UDPAI_VECTOR(uint32_t) items;
    bool is_sorted, has_failed; /* memory was missing: some are not there */
} udpai_samples;

void udpai_samples_add(udpai_samples *samples, uint64_t ns);
/* In microseconds; @p part of 0.5 is the median, of 1 the largest. 0 without any. */
double udpai_samples_at(udpai_samples *samples, double part);
void udpai_samples_done(udpai_samples *samples);

#endif
