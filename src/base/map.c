/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/alloc.h"

#define LARGE 1024 /* slots, from which on a table may be fuller */
#define RUN 256    /* slots that are visited one after the other */

static uint64_t hash_seed;

void
udpai_map_set_seed(uint64_t seed)
{
    hash_seed = seed;
}

uint64_t
udpai_hash(udpai_str key)
{
    return XXH3_64bits_withSeed(key.data, key.len, hash_seed);
}

void
udpai_map_init(udpai_map *map, udpai_map_key_fn key)
{
    udpai_map_init_in(map, key, NULL);
}

void
udpai_map_init_in(udpai_map *map, udpai_map_key_fn key, udpai_memory *memory)
{
    *map = (udpai_map){.key = key, .memory = memory};
}

static size_t
size_of(size_t capacity)
{
    return capacity * (sizeof(void *) + sizeof(uint32_t));
}

void
udpai_map_done(udpai_map *map)
{
    udpai_free(map->items);
    udpai_memory_change(map->memory, size_of(map->capacity), 0);
    udpai_map_init_in(map, map->key, map->memory);
}

/* The part of a hash that is kept. */
static uint32_t
shorten(uint64_t hash)
{
    uint32_t kept = (uint32_t)hash;
    return kept ? kept : 1;
}

static uint32_t
short_hash(udpai_str key)
{
    return shorten(udpai_hash(key));
}

/* The slot that holds the key, or the free one where it would go. */
static size_t
find_hashed(const udpai_map *map, uint32_t hash, udpai_str key)
{
    size_t mask = map->capacity - 1;
    size_t at = hash & mask;
    while (map->hashes[at]) {
        if (map->hashes[at] == hash && udpai_str_eq(map->key(map->items[at]), key))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

static size_t
find_slot(const udpai_map *map, udpai_str key)
{
    return find_hashed(map, short_hash(key), key);
}

void *
udpai_map_get_hashed(const udpai_map *map, uint64_t hash, udpai_str key)
{
    return map->n ? map->items[find_hashed(map, shorten(hash), key)] : NULL;
}

void *
udpai_map_get(const udpai_map *map, udpai_str key)
{
    return map->n ? map->items[find_slot(map, key)] : NULL;
}

static void
insert_hashed(udpai_map *map, uint32_t hash, void *item)
{
    size_t mask = map->capacity - 1;
    size_t at = hash & mask;
    while (map->hashes[at])
        at = (at + 1) & mask;
    map->hashes[at] = hash;
    map->items[at] = item;
}

static bool
resize(udpai_map *map, size_t capacity)
{
    udpai_map other = *map;
    if (capacity > UINT32_MAX) /* beyond, hashes would not distinguish places */
        return false;
    other.items = udpai_alloc_array(capacity, sizeof(*other.items) + sizeof(*other.hashes));
    if (!other.items)
        return false;
    other.hashes = (uint32_t *)(other.items + capacity);
    other.capacity = capacity;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->hashes[i])
            insert_hashed(&other, map->hashes[i], map->items[i]);
    udpai_free(map->items);
    udpai_memory_change(map->memory, size_of(map->capacity), size_of(capacity));
    *map = other;
    return true;
}

static size_t
room_of(size_t capacity)
{
    return capacity - capacity / (capacity < LARGE ? 4 : 8);
}

bool
udpai_map_reserve(udpai_map *map, size_t n)
{
    size_t capacity = map->capacity ? map->capacity : 8;
    while (capacity <= UINT32_MAX && room_of(capacity) - map->n < n)
        capacity *= 2;
    return capacity == map->capacity || resize(map, capacity);
}

bool
udpai_map_add(udpai_map *map, void *item)
{
    if (!udpai_map_reserve(map, 1))
        return false;
    insert_hashed(map, short_hash(map->key(item)), item);
    map->n++;
    return true;
}

void *
udpai_map_replace(udpai_map *map, void *item)
{
    void **place = &map->items[find_slot(map, map->key(item))];
    void *old = *place;
    *place = item;
    return old;
}

/* Closes the gap at @p hole by moving later items of the same probe run back. */
static void
close_gap(udpai_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (hole + 1) & mask; map->hashes[at]; at = (at + 1) & mask) {
        size_t home = map->hashes[at] & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->hashes[hole] = map->hashes[at];
            map->items[hole] = map->items[at];
            hole = at;
        }
    }
    map->hashes[hole] = 0;
    map->items[hole] = NULL;
}

static void
shrink_if_sparse(udpai_map *map)
{
    if (map->n == 0)
        udpai_map_done(map);
    else if (map->capacity > 64 && map->n * 8 < map->capacity)
        (void)resize(map, map->capacity / 2); /* without memory it just stays large */
}

void *
udpai_map_remove(udpai_map *map, udpai_str key)
{
    if (!map->n)
        return NULL;
    size_t at = find_slot(map, key);
    void *item = map->items[at];
    if (item) {
        close_gap(map, at);
        map->n--;
        shrink_if_sparse(map);
    }
    return item;
}

/* Runs of slots are not visited in their order: putting a map into another of about its size would
 * fill the front of that first, in which each then looks for a free slot behind all the others.
 * With its bits in reverse a position is far from the one before; and what comes after it still
 * does when the table becomes larger, where two runs that follow each other are made of one. */
static size_t
find_run(const udpai_map *map, size_t position)
{
    size_t n_runs = map->capacity / RUN;
    if (n_runs < 2)
        return 0;
    uint32_t bits = __builtin_bswap32((uint32_t)(position / RUN));
    bits = (bits >> 4 & 0x0f0f0f0f) | (bits & 0x0f0f0f0f) << 4;
    bits = (bits >> 2 & 0x33333333) | (bits & 0x33333333) << 2;
    bits = (bits >> 1 & 0x55555555) | (bits & 0x55555555) << 1;
    return (size_t)(bits >> (32 - __builtin_ctzll(n_runs))) * RUN;
}

void *
udpai_map_next(const udpai_map *map, size_t *position)
{
    while (*position < map->capacity) {
        size_t run = find_run(map, *position);
        do {
            void *item = map->items[run + (*position)++ % RUN];
            if (item)
                return item;
        } while (*position % RUN && *position < map->capacity);
    }
    return NULL;
}
