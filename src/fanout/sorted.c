/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/sorted.h"

#include "base/map.h"
#include "fanout/item.h"

/* Small enough that moving half of it costs less than finding the place. */
#define LEAF_ITEMS 256

struct udpai_sorted_leaf {
    size_t n;
    udpai_item *items[LEAF_ITEMS];
};

/* How many items of the leaf are less than the name. */
static size_t
place_in_leaf(const udpai_sorted_leaf *leaf, udpai_str name)
{
    size_t low = 0, high = leaf->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (udpai_str_cmp(udpai_item_name(leaf->items[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first leaf whose last item is not less than the name; their number if there is none. */
static size_t
find_leaf(const udpai_sorted *sorted, udpai_str name)
{
    size_t low = 0, high = sorted->leaves.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const udpai_sorted_leaf *leaf = sorted->leaves.items[middle];
        if (udpai_str_cmp(udpai_item_name(leaf->items[leaf->n - 1]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

udpai_sorted_place
udpai_sorted_find(const udpai_sorted *sorted, udpai_str name)
{
    udpai_sorted_place place = {.leaf = find_leaf(sorted, name)};
    if (place.leaf < sorted->leaves.n)
        place.at = place_in_leaf(sorted->leaves.items[place.leaf], name);
    return place;
}

udpai_item *
udpai_sorted_next(const udpai_sorted *sorted, udpai_sorted_place *place)
{
    if (place->leaf == sorted->leaves.n)
        return NULL;
    const udpai_sorted_leaf *leaf = sorted->leaves.items[place->leaf];
    udpai_item *item = leaf->items[place->at++];
    if (place->at == leaf->n)
        *place = (udpai_sorted_place){.leaf = place->leaf + 1};
    return item;
}

/* ---- keeping it up ---- */

static bool
insert_leaf(udpai_sorted *sorted, size_t index)
{
    udpai_sorted_leaf *leaf = udpai_alloc(sizeof(*leaf));
    if (!leaf || !udpai_vector_reserve(&sorted->leaves, 1)) {
        udpai_free(leaf);
        return false;
    }
    udpai_sorted_leaf **at = sorted->leaves.items + index;
    memmove(at + 1, at, (sorted->leaves.n - index) * sizeof(*at));
    sorted->leaves.n++;
    *at = leaf;
    return true;
}

/* Half of a full leaf goes into a new one behind it. */
static bool
split(udpai_sorted *sorted, size_t index)
{
    if (!insert_leaf(sorted, index + 1))
        return false;
    udpai_sorted_leaf *full = sorted->leaves.items[index], *next = sorted->leaves.items[index + 1];
    next->n = full->n / 2;
    full->n -= next->n;
    memcpy(next->items, full->items + full->n, next->n * sizeof(*next->items));
    return true;
}

/* Where it goes: behind all others it goes into the last leaf. */
static bool
make_room(udpai_sorted *sorted, udpai_str name, size_t *ret_leaf)
{
    size_t index = find_leaf(sorted, name);
    if (index == sorted->leaves.n && index > 0)
        index--;
    if (sorted->leaves.n == 0 && !insert_leaf(sorted, 0))
        return false;
    const udpai_sorted_leaf *leaf = sorted->leaves.items[index];
    if (leaf->n == LEAF_ITEMS) {
        if (!split(sorted, index))
            return false;
        index += place_in_leaf(leaf, name) == leaf->n;
    }
    *ret_leaf = index;
    return true;
}

static bool
insert(udpai_sorted *sorted, udpai_item *item)
{
    udpai_str name = udpai_item_name(item);
    size_t index;
    if (!make_room(sorted, name, &index))
        return false;
    udpai_sorted_leaf *leaf = sorted->leaves.items[index];
    size_t at = place_in_leaf(leaf, name);
    memmove(leaf->items + at + 1, leaf->items + at, (leaf->n - at) * sizeof(*leaf->items));
    leaf->items[at] = item;
    leaf->n++;
    return true;
}

bool
udpai_sorted_add(udpai_sorted *sorted, udpai_item *item)
{
    return !sorted->is_made || insert(sorted, item);
}

void
udpai_sorted_remove(udpai_sorted *sorted, const udpai_item *item)
{
    udpai_sorted_place place = udpai_sorted_find(sorted, udpai_item_name(item));
    if (place.leaf == sorted->leaves.n)
        return;
    udpai_sorted_leaf *leaf = sorted->leaves.items[place.leaf];
    if (leaf->items[place.at] != item)
        return;
    udpai_item **at = leaf->items + place.at;
    memmove(at, at + 1, (--leaf->n - place.at) * sizeof(*at));
    if (leaf->n)
        return;
    udpai_free(leaf);
    udpai_sorted_leaf **gap = sorted->leaves.items + place.leaf;
    memmove(gap, gap + 1, (--sorted->leaves.n - place.leaf) * sizeof(*gap));
}

void
udpai_sorted_done(udpai_sorted *sorted)
{
    for (size_t i = 0; i < sorted->leaves.n; i++)
        udpai_free(sorted->leaves.items[i]);
    udpai_vector_done(&sorted->leaves);
    *sorted = (udpai_sorted){0};
}

udpa_err
udpai_sorted_make(udpai_sorted *sorted, const udpai_map *items)
{
    size_t at = 0;
    udpai_item *item;
    if (sorted->is_made)
        return UDPA_OK;
    while ((item = udpai_map_next(items, &at))) {
        if (insert(sorted, item))
            continue;
        udpai_sorted_done(sorted);
        return UDPA_ERR_NOMEM;
    }
    sorted->is_made = true;
    return UDPA_OK;
}
