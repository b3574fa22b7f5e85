/* SPDX-License-Identifier: Apache-2.0 */
/* A wait that doubles, from backoff_base to backoff_max. */
#ifndef UDPAI_FEDERATION_BACKOFF_H
#define UDPAI_FEDERATION_BACKOFF_H

#include "federation/node_config.h"

/* Before the n-th attempt in a row, from 1 on. */
static inline uint64_t
udpai_backoff_ms(const udpai_node_timing *timing, unsigned n)
{
    uint64_t wait = timing->backoff_base_ms;
    for (unsigned i = 1; i < n && wait < timing->backoff_max_ms; i++)
        wait *= 2;
    return wait < timing->backoff_max_ms ? wait : timing->backoff_max_ms;
}

#endif
