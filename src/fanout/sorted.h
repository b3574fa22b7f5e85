/* SPDX-License-Identifier: Apache-2.0 */
/* The items of a topic in the order of their names, so that those of a namespace are found without
 * looking at the others. Made when somebody first asks for a namespace, and kept up from then on;
 * most types are asked for as a whole, and do not pay for it. */
#ifndef UDPAI_FANOUT_SORTED_H
#define UDPAI_FANOUT_SORTED_H

#include "base/error.h"
#include "base/memory.h"

typedef struct udpai_item udpai_item;
typedef struct udpai_map udpai_map;
typedef struct udpai_sorted_leaf udpai_sorted_leaf;

/* Zero-initialised it is not made. */
typedef struct udpai_sorted {
    UDPAI_VECTOR(udpai_sorted_leaf *) leaves; /* in order; none is empty */
    udpai_memory *memory;                     /* counts it; NULL: nothing does */
    bool is_made;
} udpai_sorted;

/* Makes it of these items, if it is not made. On failure it still is not. */
udpa_err udpai_sorted_make(udpai_sorted *sorted, const udpai_map *items);
/* Adds a new item, if it is made. False without memory. */
bool udpai_sorted_add(udpai_sorted *sorted, udpai_item *item);
/* Of an item that may not be there. */
void udpai_sorted_remove(udpai_sorted *sorted, const udpai_item *item);
void udpai_sorted_done(udpai_sorted *sorted);

/* A place between two items; good until one is added or removed. */
typedef struct udpai_sorted_place {
    size_t leaf, at;
} udpai_sorted_place;

/* Before the first item whose name is not less. */
udpai_sorted_place udpai_sorted_find(const udpai_sorted *sorted, udpai_str name);
/* The item behind the place, which is moved past it; NULL at the end. */
udpai_item *udpai_sorted_next(const udpai_sorted *sorted, udpai_sorted_place *place);

#endif
