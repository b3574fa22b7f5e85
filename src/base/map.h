/* SPDX-License-Identifier: Apache-2.0 */
/* Hash map from a string (any bytes) to a pointer to an object that holds its own key. */

/* Open addressing with linear probing; 12 bytes a slot. A small table is at most 3/4 full, a large
 * one 7/8: what is not there is looked for in the hashes alone, 16 of them in a line of cache. The
 * map never owns what it points at. Iteration order is deterministic for one sequence of calls, as
 * the simulation needs, and such that a map may be put into another, item by item; and no secret is
 * kept from peers by a random seed: a peer that chooses colliding names pays for it with a limit on
 * names, and XXH3 with a per-process seed (set by udpai_map_set_seed() in programs) keeps it from
 * knowing which names collide. */
#ifndef UDPAI_MAP_H
#define UDPAI_MAP_H

#include "base/memory.h"

typedef udpai_str (*udpai_map_key_fn)(const void *item);

typedef struct udpai_map {
    void **items;     /* one allocation with the hashes, which come behind */
    uint32_t *hashes; /* 0: free */
    size_t capacity;  /* 0 or a power of two */
    size_t n;
    udpai_map_key_fn key;
    udpai_memory *memory; /* counts the table; NULL: nothing does */
} udpai_map;

/* Allocates nothing. */
void udpai_map_init(udpai_map *map, udpai_map_key_fn key);
/* The same, of one whose table counts there, as long as it lives. */
void udpai_map_init_in(udpai_map *map, udpai_map_key_fn key, udpai_memory *memory);
/* Frees the table, not the items; the map is empty then and can be used again. */
void udpai_map_done(udpai_map *map);

/* Makes room for so many more items, which can be added without memory then. False without it. */
bool udpai_map_reserve(udpai_map *map, size_t n);

void *udpai_map_get(const udpai_map *map, udpai_str key);
/* The same, with the udpai_hash() of the key: for callers that ask several maps. */
void *udpai_map_get_hashed(const udpai_map *map, uint64_t hash, udpai_str key);
/* Adds an item with a key that is not in the map yet; false without memory. */
bool udpai_map_add(udpai_map *map, void *item);
/* Puts an item in the place of the one with the same key, which must be there, and returns that. */
void *udpai_map_replace(udpai_map *map, void *item);
/* Removes the item with this key and returns it, or NULL. */
void *udpai_map_remove(udpai_map *map, udpai_str key);

/* The next item at or after *position, which is moved past it; NULL at the end. Begin with 0:
 * `size_t at = 0; while ((item = udpai_map_next(&map, &at)))`. The body must neither add nor
 * remove, but may free the item if the map is then thrown away whole. A visit that goes on later,
 * when items have come, sees all that were left, but for a few that had not lain in their places.
 */
void *udpai_map_next(const udpai_map *map, size_t *position);

/* The hash all maps use; 64 bits. */
uint64_t udpai_hash(udpai_str key);
/* Once, before the first map: makes hashes unpredictable to peers. */
void udpai_map_set_seed(uint64_t seed);

#endif
