/* SPDX-License-Identifier: Apache-2.0 */
/* Chance that is the same each time. */
#ifndef UDPAI_TESTS_RANDOM_H
#define UDPAI_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The next number of a stream that begins at the caller's seed; splitmix64. */
static inline uint64_t
test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Below @p bound, which must not be 0. */
static inline size_t
test_random_below(uint64_t *state, size_t bound)
{
    return (size_t)(test_random(state) % bound);
}

#endif
