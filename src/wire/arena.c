/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/arena.h"

#include "base/alloc.h"

#define FIRST_CHUNK ((size_t)16 * 1024)
#define LARGEST_CHUNK ((size_t)1024 * 1024)
#define ALIGNMENT ((size_t)16)

struct udpai_arena_chunk {
    udpai_arena_chunk *next;
    size_t size, used;
    _Alignas(16) uint8_t data[];
};

static void *
allocate(void *arena, size_t size)
{
    return udpai_arena_alloc(arena, size);
}

static void
ignore(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

void
udpai_arena_init(udpai_arena *arena)
{
    arena->chunks = NULL;
    arena->failed = false;
    arena->allocator = (ProtobufCAllocator){allocate, ignore, arena};
}

static udpai_arena_chunk *
add_chunk(udpai_arena *arena, size_t at_least)
{
    size_t size =
        arena->chunks ? udpai_min_size(arena->chunks->size * 2, LARGEST_CHUNK) : FIRST_CHUNK;
    size = udpai_max_size(size, at_least);
    udpai_arena_chunk *chunk = udpai_realloc_array(NULL, sizeof(*chunk) + size, 1);
    if (chunk) {
        chunk->next = arena->chunks;
        chunk->size = size;
        chunk->used = 0;
        arena->chunks = chunk;
    }
    return chunk;
}

void *
udpai_arena_alloc(udpai_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    udpai_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size)
        chunk = add_chunk(arena, size);
    if (!chunk) {
        arena->failed = true;
        return NULL;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += size;
    return memory;
}

static void
free_chunks(udpai_arena_chunk *chunk)
{
    while (chunk) {
        udpai_arena_chunk *next = chunk->next;
        udpai_free(chunk);
        chunk = next;
    }
}

void
udpai_arena_reset(udpai_arena *arena)
{
    udpai_arena_chunk *newest = arena->chunks;
    arena->failed = false;
    if (!newest)
        return;
    free_chunks(newest->next);
    newest->next = NULL;
    newest->used = 0;
    if (newest->size > LARGEST_CHUNK) {
        udpai_free(newest);
        arena->chunks = NULL;
    }
}

void
udpai_arena_done(udpai_arena *arena)
{
    free_chunks(arena->chunks);
    arena->chunks = NULL;
}
