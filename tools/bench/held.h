/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say that they hold when they come back: the names of resources with their versions,
 * written once for all streams, so that a client costs the server's machine little. Pure. */
#ifndef UDPAI_BENCH_HELD_H
#define UDPAI_BENCH_HELD_H

#include "base/proto.h"
#include "tools/bench/load.h"

/* What each resource is there in, by udpai_contents_index(). */
typedef struct udpai_load_version {
    char text[128];
    uint8_t len; /* 0: it is not known */
} udpai_load_version;

typedef struct udpai_load_held {
    char *fields;  /* one for each resource whose version is known; owned */
    size_t *begin; /* of each resource, and the end of the last one; owned */
    size_t n;
} udpai_load_held;

/* Of resources 0 to @p n - 1 of a namespace. False: without memory. To be ended in any case. */
bool udpai_load_held_make(udpai_load_held *held,
                          udpai_load_protocol protocol,
                          const char *name_space,
                          const udpai_load_version *versions,
                          size_t n);
/* Puts @p n of them from @p first on, around. */
void udpai_load_held_put(const udpai_load_held *held,
                         udpai_proto_writer *writer,
                         size_t first,
                         size_t n);
void udpai_load_held_done(udpai_load_held *held);

#endif
