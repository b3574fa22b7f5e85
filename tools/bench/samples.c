/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/samples.h"

#include <stdlib.h>

#define UNIT_NS 100

void
udpai_samples_add(udpai_samples *samples, uint64_t ns)
{
    uint64_t units = ns / UNIT_NS;
    uint32_t item = units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
    samples->is_sorted = false;
    if (!udpai_vector_push(&samples->items, item))
        samples->has_failed = true;
}

static int
compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double
udpai_samples_at(udpai_samples *samples, double part)
{
    size_t n = samples->items.n;
    if (n == 0)
        return 0;
    if (!samples->is_sorted)
        qsort(samples->items.items, n, sizeof(uint32_t), compare);
    samples->is_sorted = true;
    size_t index = udpai_min_size((size_t)((double)n * part), n - 1);
    return samples->items.items[index] * (UNIT_NS / 1000.0);
}

void
udpai_samples_done(udpai_samples *samples)
{
    udpai_vector_done(&samples->items);
}
