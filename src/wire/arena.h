/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one message at a time: handed out in order, given back all at once. */
#ifndef UDPAI_ARENA_H
#define UDPAI_ARENA_H

#include <protobuf-c/protobuf-c.h>

#include "base/util.h"

typedef struct udpai_arena_chunk udpai_arena_chunk;

typedef struct udpai_arena {
    udpai_arena_chunk *chunks;    /* newest first */
    bool failed;                  /* there was no memory, since the last reset */
    ProtobufCAllocator allocator; /* allocates here, frees nothing */
} udpai_arena;

void udpai_arena_init(udpai_arena *arena);
/* NULL without memory; aligned for any type; not zeroed. */
void *udpai_arena_alloc(udpai_arena *arena, size_t size);
/* Gives back everything that was handed out; keeps one chunk for the next message. */
void udpai_arena_reset(udpai_arena *arena);
void udpai_arena_done(udpai_arena *arena);

#endif
