/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory something has, as a running sum: whatever makes its main structures, and frees
 * them, adds and subtracts what the allocator takes for them. So nothing is looked through, and
 * what was freed is not counted any more. Belongs to one thread. */
#ifndef UDPAI_MEMORY_H
#define UDPAI_MEMORY_H

#include "base/vector.h"

typedef struct udpai_memory {
    uint64_t bytes;
} udpai_memory;

/* What glibc takes for a piece of this size: eight bytes more, and a multiple of 16. */
static inline size_t
udpai_memory_of(size_t size)
{
    size_t taken = (size + 8 + 15) / 16 * 16;
    return taken < 32 ? 32 : taken;
}

/* NULL: it is counted nowhere. */
static inline void
udpai_memory_add(udpai_memory *memory, size_t size)
{
    if (memory)
        memory->bytes += udpai_memory_of(size);
}

static inline void
udpai_memory_subtract(udpai_memory *memory, size_t size)
{
    if (memory)
        memory->bytes -= udpai_memory_of(size);
}

/* A piece has another size; 0: there is none. */
static inline void
udpai_memory_change(udpai_memory *memory, size_t before, size_t now)
{
    if (before)
        udpai_memory_subtract(memory, before);
    if (now)
        udpai_memory_add(memory, now);
}

/* As udpai_alloc(), counted. */
static inline void *
udpai_alloc_in(udpai_memory *memory, size_t size)
{
    void *piece = udpai_alloc(size);
    if (piece)
        udpai_memory_add(memory, size);
    return piece;
}

/* Of this size; NULL-safe. */
static inline void
udpai_free_in(udpai_memory *memory, void *piece, size_t size)
{
    if (piece)
        udpai_memory_subtract(memory, size);
    udpai_free(piece);
}

/* As udpai_vector_reserve() and udpai_vector_done(), counted: of one that grows by these alone. */
#define udpai_vector_reserve_in(memory, vector, more)                                              \
    udpai_vector_grow_in_((memory), (void **)&(vector)->items, &(vector)->capacity, (vector)->n,   \
                          (more), sizeof(*(vector)->items))
#define udpai_vector_push_in(memory, vector, item)                                                 \
    (udpai_vector_reserve_in((memory), (vector), 1)                                                \
         ? ((vector)->items[(vector)->n++] = (item), true)                                         \
         : false)
#define udpai_vector_done_in(memory, vector)                                                       \
    (udpai_memory_change((memory), (vector)->capacity * sizeof(*(vector)->items), 0),              \
     udpai_vector_done(vector))

static inline bool
udpai_vector_grow_in_(
    udpai_memory *memory, void **items, size_t *capacity, size_t n, size_t more, size_t item_size)
{
    size_t before = *capacity;
    bool grown = udpai_vector_grow_(items, capacity, n, more, item_size);
    if (*capacity != before)
        udpai_memory_change(memory, before * item_size, *capacity * item_size);
    return grown;
}

#endif
