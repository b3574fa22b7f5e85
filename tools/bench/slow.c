/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/slow.h"

#define NS_PER_S 1e9

void
udpai_slow_begin(udpai_slow *slow, udpai_load_clients *clients, uint64_t now_ns)
{
    *slow = (udpai_slow){.clients = clients, .begin_ns = now_ns};
    for (size_t i = 0; i < clients->options->n_slow; i++) {
        clients->items[i].is_slow = true;
        udpai_link_stop_reading(clients->links[clients->items[i].link].link);
    }
}

void
udpai_slow_read(udpai_slow *slow, uint64_t now_ns)
{
    const udpai_load_clients *clients = slow->clients;
    double past_s = (double)(now_ns - slow->begin_ns) / NS_PER_S;
    size_t n_bytes = (size_t)(past_s * (double)clients->options->slow_bytes_per_s);
    for (size_t i = 0; n_bytes > slow->n_bytes && i < clients->options->n_slow; i++)
        udpai_link_read(clients->links[clients->items[i].link].link, n_bytes - slow->n_bytes);
    slow->n_bytes = n_bytes;
}
