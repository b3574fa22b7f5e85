/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/slow.h"

#define NS_PER_S 1e9

void
udpai_slow_begin(udpai_slow *slow, udpai_crowd *crowd, uint64_t now_ns)
{
    *slow = (udpai_slow){.crowd = crowd, .begin_ns = now_ns};
    for (size_t i = 0; i < crowd->options->n_slow; i++) {
        crowd->streams[i].is_slow = true;
        udpai_link_stop_reading(crowd->links[crowd->streams[i].link].link);
    }
}

void
udpai_slow_read(udpai_slow *slow, uint64_t now_ns)
{
    const udpai_crowd *crowd = slow->crowd;
    double past_s = (double)(now_ns - slow->begin_ns) / NS_PER_S;
    size_t n_bytes = (size_t)(past_s * (double)crowd->options->slow_bytes_per_s);
    for (size_t i = 0; n_bytes > slow->n_bytes && i < crowd->options->n_slow; i++)
        udpai_link_read(crowd->links[crowd->streams[i].link].link, n_bytes - slow->n_bytes);
    slow->n_bytes = n_bytes;
}
