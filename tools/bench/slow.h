/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that read slowly, or not at all, while the others are measured. */
#ifndef UDPAI_BENCH_SLOW_H
#define UDPAI_BENCH_SLOW_H

#include "tools/bench/clients.h"

typedef struct udpai_slow {
    udpai_load_clients *clients;
    uint64_t begin_ns;
    size_t n_bytes; /* that each may have read by now, and those that it did not */
} udpai_slow;

/* The first streams of the clients, as many as in the options: nothing that comes to them counts as
 * a delivery from now on. */
void udpai_slow_begin(udpai_slow *slow, udpai_load_clients *clients, uint64_t now_ns);
/* What may be read by now. To be called several times a second. */
void udpai_slow_read(udpai_slow *slow, uint64_t now_ns);

#endif
