/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a map, in order: its own, then those merged from others, which never replace a key. */
#include "codec/reader_map.h"

#include "base/map.h"

#define FEW 8 /* up to here it is quicker to compare with each */

struct entries {
    udpai_entry *items;
    size_t n;
    udpai_map index; /* by key; used once there are more than FEW */
};

static udpai_str
entry_key(const void *item)
{
    return ((const udpai_entry *)item)->key->text;
}

static const udpai_entry *
find(const struct entries *entries, udpai_str key)
{
    if (entries->n > FEW)
        return udpai_map_get(&entries->index, key);
    for (size_t i = 0; i < entries->n; i++)
        if (udpai_str_eq(entry_key(&entries->items[i]), key))
            return &entries->items[i];
    return NULL;
}

/* There is room for it, and its key is new; false without memory. */
static bool
add(struct entries *entries, const udpai_tree *key, const udpai_tree *value)
{
    entries->items[entries->n++] = (udpai_entry){key, value};
    if (entries->n <= FEW)
        return true;
    size_t from = entries->n == FEW + 1 ? 0 : entries->n - 1;
    for (size_t i = from; i < entries->n; i++)
        if (!udpai_map_add(&entries->index, &entries->items[i]))
            return false;
    return true;
}

static bool
is_merge(const udpai_map_maker *maker, const udpai_tree *key)
{
    return key->plain && !udpai_source_is_strict(maker->source) &&
           udpai_str_eq(key->text, UDPAI_STR("<<"));
}

static udpai_place
place_of(const udpai_map_maker *maker, const udpai_tree *node)
{
    return (udpai_place){maker->source->name, node->line, node->column, {NULL, 0}};
}

static udpa_err
add_own(const udpai_map_maker *maker,
        struct entries *entries,
        const udpai_tree *const *pair,
        udpa_error **ret_error)
{
    const udpai_entry *first = find(entries, pair[0]->text);
    if (first) {
        char where[UDPAI_PLACE_TEXT];
        const udpai_place here = place_of(maker, pair[0]), there = place_of(maker, first->key);
        return udpai_fail_at(ret_error, UDPA_ERR_INVAL, &here, "key '%s' is already at %s",
                             UDPAI_QUOTE(pair[0]->text), udpai_place_text(where, &there));
    }
    return add(entries, pair[0], pair[1]) ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* How many entries a merge can bring; SIZE_MAX if its value is not a map or a list of maps. */
static size_t
merge_size(const udpai_tree *value)
{
    size_t n = 0;
    if (value->kind == UDPAI_TREE_MAP)
        return value->n;
    if (value->kind != UDPAI_TREE_LIST)
        return SIZE_MAX;
    for (uint32_t i = 0; i < value->n; i++) {
        if (value->items[i]->kind != UDPAI_TREE_MAP)
            return SIZE_MAX;
        n += value->items[i]->n;
    }
    return n;
}

static bool
merge_map(udpai_map_maker *maker, struct entries *entries, const udpai_tree *map)
{
    for (uint32_t i = 0; i < map->n; i++) {
        const udpai_entry *entry = &map->entries[i];
        if (find(entries, entry->key->text))
            continue;
        if (!add(entries, entry->key, entry->value))
            return false;
        maker->merged_weight += entry->key->weight + entry->value->weight;
        if (entry->value->height > maker->merged_height)
            maker->merged_height = entry->value->height;
    }
    return true;
}

static bool
merge(udpai_map_maker *maker, struct entries *entries, const udpai_tree *value)
{
    if (value->kind == UDPAI_TREE_MAP)
        return merge_map(maker, entries, value);
    for (uint32_t i = 0; i < value->n; i++)
        if (!merge_map(maker, entries, value->items[i]))
            return false;
    return true;
}

/* Room for all entries; weights bound what merges may bring, so the sum does not overflow. */
static udpa_err
make_room(const udpai_map_maker *maker, struct entries *entries, udpa_error **ret_error)
{
    size_t n = 0;
    for (size_t i = 0; i < maker->n_pairs; i++) {
        const udpai_tree *const *pair = maker->pairs + 2 * i;
        size_t more = is_merge(maker, pair[0]) ? merge_size(pair[1]) : 1;
        if (more == SIZE_MAX) {
            const udpai_place here = place_of(maker, pair[0]);
            return udpai_fail_at(ret_error, UDPA_ERR_INVAL, &here,
                                 "'<<' merges a map or a list of maps, not %s",
                                 udpai_tree_kind_text(pair[1]));
        }
        n += more;
    }
    entries->items = udpai_arena_alloc(maker->arena, n * sizeof(*entries->items));
    return entries->items ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
fill(udpai_map_maker *maker, struct entries *entries, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < maker->n_pairs && err == UDPA_OK; i++)
        if (!is_merge(maker, maker->pairs[2 * i]))
            err = add_own(maker, entries, maker->pairs + 2 * i, ret_error);
    for (size_t i = 0; i < maker->n_pairs && err == UDPA_OK; i++)
        if (is_merge(maker, maker->pairs[2 * i]) && !merge(maker, entries, maker->pairs[2 * i + 1]))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}

udpa_err
udpai_map_make(udpai_map_maker *maker, udpa_error **ret_error)
{
    struct entries entries = {0};
    udpai_map_init(&entries.index, entry_key);
    udpa_err err = make_room(maker, &entries, ret_error);
    if (err == UDPA_OK)
        err = fill(maker, &entries, ret_error);
    udpai_map_done(&entries.index);
    if (err == UDPA_OK) {
        maker->node->entries = entries.items;
        maker->node->n = (uint32_t)entries.n;
    }
    return err;
}
