/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/alloc.h"

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
    *map = (udpai_map){.key = key};
}

void
udpai_map_done(udpai_map *map)
{
    udpai_free(map->slots);
    udpai_map_init(map, map->key);
}

/* The slot that holds the key, or the free one where it would go. */
static size_t
find_slot(const udpai_map *map, uint64_t hash, udpai_str key)
{
    size_t mask = map->capacity - 1;
    size_t at = (size_t)hash & mask;
    while (map->slots[at].item) {
        if (map->slots[at].hash == hash && udpai_str_eq(map->key(map->slots[at].item), key))
            break;
        at = (at + 1) & mask;
    }
    return at;
}

void *
udpai_map_get(const udpai_map *map, udpai_str key)
{
    return map->n ? map->slots[find_slot(map, udpai_hash(key), key)].item : NULL;
}

static void
insert_rehashed(udpai_map *map, udpai_map_slot slot)
{
    size_t mask = map->capacity - 1;
    size_t at = (size_t)slot.hash & mask;
    while (map->slots[at].item)
        at = (at + 1) & mask;
    map->slots[at] = slot;
}

static bool
resize(udpai_map *map, size_t capacity)
{
    udpai_map bigger = *map;
    bigger.slots = udpai_alloc_array(capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    bigger.capacity = capacity;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].item)
            insert_rehashed(&bigger, map->slots[i]);
    udpai_free(map->slots);
    *map = bigger;
    return true;
}

bool
udpai_map_add(udpai_map *map, void *item)
{
    if ((map->n + 1) * 4 > map->capacity * 3)
        if (!resize(map, map->capacity ? map->capacity * 2 : 8))
            return false;
    udpai_str key = map->key(item);
    insert_rehashed(map, (udpai_map_slot){udpai_hash(key), item});
    map->n++;
    return true;
}

void *
udpai_map_replace(udpai_map *map, void *item)
{
    udpai_str key = map->key(item);
    udpai_map_slot *slot = &map->slots[find_slot(map, udpai_hash(key), key)];
    void *old = slot->item;
    slot->item = item;
    return old;
}

/* Closes the gap at @p hole by moving later items of the same probe run back. */
static void
close_gap(udpai_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;
    for (size_t at = (hole + 1) & mask; map->slots[at].item; at = (at + 1) & mask) {
        size_t home = (size_t)map->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole] = (udpai_map_slot){0, NULL};
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
    size_t at = find_slot(map, udpai_hash(key), key);
    void *item = map->slots[at].item;
    if (item) {
        close_gap(map, at);
        map->n--;
        shrink_if_sparse(map);
    }
    return item;
}

void *
udpai_map_next(const udpai_map *map, size_t *position)
{
    while (*position < map->capacity) {
        void *item = map->slots[(*position)++].item;
        if (item)
            return item;
    }
    return NULL;
}
