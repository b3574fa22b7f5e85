/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/sorted.h"

#include <stdlib.h>

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

/* The first leaf whose last item is not less than the name; how many leaves there are if there is
 * none. */
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
    udpai_sorted_leaf *leaf = udpai_alloc_in(sorted->memory, sizeof(*leaf));
    if (!leaf || !udpai_vector_reserve_in(sorted->memory, &sorted->leaves, 1)) {
        udpai_free_in(sorted->memory, leaf, sizeof(*leaf));
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
    udpai_free_in(sorted->memory, leaf, sizeof(*leaf));
    udpai_sorted_leaf **gap = sorted->leaves.items + place.leaf;
    memmove(gap, gap + 1, (--sorted->leaves.n - place.leaf) * sizeof(*gap));
}

void
udpai_sorted_done(udpai_sorted *sorted)
{
    for (size_t i = 0; i < sorted->leaves.n; i++)
        udpai_free_in(sorted->memory, sorted->leaves.items[i], sizeof(udpai_sorted_leaf));
    udpai_vector_done_in(sorted->memory, &sorted->leaves);
    *sorted = (udpai_sorted){.memory = sorted->memory};
}

/* ---- making it ---- */

/* So much of a leaf is filled at first: names that come later find room. */
#define LEAF_FILLED (LEAF_ITEMS * 3 / 4)

/* Names begin alike, and lie far apart: what distinguishes most of them is beside them. */
typedef struct keyed_item {
    uint64_t key; /* the first bytes behind what all names have in common */
    udpai_item *item;
} keyed_item;

typedef UDPAI_VECTOR(keyed_item) keyed_items;

static int
compare_keyed(const void *a, const void *b)
{
    const keyed_item *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return udpai_str_cmp(udpai_item_name(x->item), udpai_item_name(y->item));
}

static size_t
common_len(const keyed_items *all)
{
    udpai_str first = udpai_item_name(all->items[0].item);
    size_t common = first.len;
    for (size_t i = 1; i < all->n; i++) {
        udpai_str name = udpai_item_name(all->items[i].item);
        size_t len = 0;
        while (len < common && len < name.len && name.data[len] == first.data[len])
            len++;
        common = len;
    }
    return common;
}

static uint64_t
key_at(udpai_str name, size_t start)
{
    uint64_t key = 0;
    for (size_t i = start; i < start + sizeof(key); i++)
        key = key << 8 | (i < name.len ? (uint8_t)name.data[i] : 0);
    return key;
}

static void
sort_by_name(keyed_items *all)
{
    size_t start = common_len(all);
    for (size_t i = 0; i < all->n; i++)
        all->items[i].key = key_at(udpai_item_name(all->items[i].item), start);
    qsort(all->items, all->n, sizeof(*all->items), compare_keyed);
}

static bool
collect_all(const udpai_map *items, keyed_items *all)
{
    size_t at = 0;
    udpai_item *item;
    if (!udpai_vector_reserve(all, items->n))
        return false;
    while ((item = udpai_map_next(items, &at)))
        all->items[all->n++] = (keyed_item){.item = item};
    return true;
}

static bool
fill_leaves(udpai_sorted *sorted, const keyed_items *all)
{
    for (size_t i = 0; i < all->n; i++) {
        if (i % LEAF_FILLED == 0 && !insert_leaf(sorted, sorted->leaves.n))
            return false;
        udpai_sorted_leaf *leaf = sorted->leaves.items[sorted->leaves.n - 1];
        leaf->items[leaf->n++] = all->items[i].item;
    }
    return true;
}

udpa_err
udpai_sorted_make(udpai_sorted *sorted, const udpai_map *items)
{
    if (sorted->is_made)
        return UDPA_OK;
    keyed_items all = {0};
    bool made = collect_all(items, &all);
    if (made && all.n > 0) {
        sort_by_name(&all);
        made = fill_leaves(sorted, &all);
    }
    udpai_vector_done(&all);
    if (!made) {
        udpai_sorted_done(sorted);
        return UDPA_ERR_NOMEM;
    }
    sorted->is_made = true;
    return UDPA_OK;
}
