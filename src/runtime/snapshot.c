/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"

struct udpai_runtime_snapshot {
    atomic_uint refs;
    const udpai_map *largest; /* what the largest layer has; NULL: there are no layers */
    udpai_map others;         /* entries of others, where those count: they are looked for first */
    size_t n_keys;
    size_t n_layers;
    udpai_runtime_layer *layers[];
};

static udpai_str
entry_key(const void *item)
{
    return udpai_runtime_entry_key(item);
}

static const udpai_runtime_entry *
find(const udpai_runtime_snapshot *snapshot, udpai_str key)
{
    if (!snapshot->largest)
        return NULL;
    uint64_t hash = udpai_hash(key);
    const udpai_runtime_entry *entry = udpai_map_get_hashed(&snapshot->others, hash, key);
    return entry ? entry : udpai_map_get_hashed(snapshot->largest, hash, key);
}

/* An entry of a layer that lies above all that were taken, or below all of them. */
static bool
take(udpai_runtime_snapshot *snapshot, udpai_runtime_entry *entry, bool is_above)
{
    udpai_str key = entry_key(entry);
    const udpai_runtime_entry *other = udpai_map_get(&snapshot->others, key);
    const udpai_runtime_entry *old = other ? other : udpai_map_get(snapshot->largest, key);
    bool counts = !old || (entry->value.text.len && (is_above || !old->value.text.len));
    snapshot->n_keys += !old;
    if (!counts)
        return true;
    if (!other)
        return udpai_map_add(&snapshot->others, entry);
    (void)udpai_map_replace(&snapshot->others, entry);
    return true;
}

static bool
take_layer(udpai_runtime_snapshot *snapshot, size_t index, bool is_above)
{
    size_t at = 0;
    udpai_runtime_entry *entry;
    const udpai_map *entries = udpai_runtime_layer_entries(snapshot->layers[index]);
    while ((entry = udpai_map_next(entries, &at)))
        if (!take(snapshot, entry, is_above))
            return false;
    return true;
}

static size_t
find_largest(udpai_runtime_layer *const *layers, size_t n)
{
    size_t largest = 0;
    for (size_t i = 1; i < n; i++)
        if (udpai_runtime_layer_entries(layers[i])->n >
            udpai_runtime_layer_entries(layers[largest])->n)
            largest = i;
    return largest;
}

/* The effective values of all. The largest stays as it is, which costs nothing; entries of the
 * others are taken one by one: those of the layers below it in their turn downwards, so that a
 * later one counts, too. */
static bool
take_all(udpai_runtime_snapshot *snapshot)
{
    size_t n = snapshot->n_layers, largest = find_largest(snapshot->layers, n);
    bool has_memory = true;
    if (n == 0)
        return true;
    snapshot->largest = udpai_runtime_layer_entries(snapshot->layers[largest]);
    snapshot->n_keys = snapshot->largest->n;
    for (size_t i = largest; i-- > 0 && has_memory;)
        has_memory = take_layer(snapshot, i, false);
    for (size_t i = largest + 1; i < n && has_memory; i++)
        has_memory = take_layer(snapshot, i, true);
    return has_memory;
}

udpai_runtime_snapshot *
udpai_runtime_snapshot_new(udpai_runtime_layer *const *layers, size_t n)
{
    udpai_runtime_snapshot *snapshot = udpai_alloc(sizeof(*snapshot) + n * sizeof(layers[0]));
    if (!snapshot)
        return NULL;
    atomic_init(&snapshot->refs, 1);
    udpai_map_init(&snapshot->others, entry_key);
    for (size_t i = 0; i < n; i++)
        snapshot->layers[snapshot->n_layers++] = udpai_runtime_layer_ref(layers[i]);
    return take_all(snapshot) ? snapshot : udpai_runtime_snapshot_unref(snapshot);
}

udpai_runtime_snapshot *
udpai_runtime_snapshot_ref(udpai_runtime_snapshot *snapshot)
{
    if (snapshot)
        atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
    return snapshot;
}

udpai_runtime_snapshot *
udpai_runtime_snapshot_unref(udpai_runtime_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    udpai_map_done(&snapshot->others);
    for (size_t i = 0; i < snapshot->n_layers; i++)
        udpai_runtime_layer_unref(snapshot->layers[i]);
    udpai_free(snapshot);
    return NULL;
}

size_t
udpai_runtime_snapshot_n_keys(const udpai_runtime_snapshot *snapshot)
{
    return snapshot->n_keys;
}

size_t
udpai_runtime_snapshot_n_layers(const udpai_runtime_snapshot *snapshot)
{
    return snapshot->n_layers;
}

const udpai_runtime_layer *
udpai_runtime_snapshot_layer(const udpai_runtime_snapshot *snapshot, size_t index)
{
    return snapshot->layers[index];
}

static int
compare_entries(const void *a, const void *b)
{
    return udpai_str_cmp(entry_key(*(const udpai_runtime_entry *const *)a),
                         entry_key(*(const udpai_runtime_entry *const *)b));
}

const udpai_runtime_entry **
udpai_runtime_snapshot_sorted(const udpai_runtime_snapshot *snapshot,
                              udpai_str prefix,
                              size_t *ret_n)
{
    const udpai_runtime_entry **all, *entry;
    size_t at = 0, n = 0;
    all = udpai_alloc_array(snapshot->n_keys, sizeof(*all));
    if (!all)
        return NULL;
    while ((entry = udpai_map_next(&snapshot->others, &at)))
        if (udpai_str_starts(entry_key(entry), prefix))
            all[n++] = entry;
    for (at = 0; snapshot->largest && (entry = udpai_map_next(snapshot->largest, &at));)
        if (udpai_str_starts(entry_key(entry), prefix) &&
            !udpai_map_get(&snapshot->others, entry_key(entry)))
            all[n++] = entry;
    if (n > 1)
        qsort(all, n, sizeof(*all), compare_entries);
    *ret_n = n;
    return all;
}

/* ---- reading ---- */

const udpai_runtime_value *
udpai_runtime_snapshot_find(const udpai_runtime_snapshot *snapshot, udpai_str key)
{
    const udpai_runtime_entry *entry = find(snapshot, key);
    return entry ? &entry->value : NULL;
}

bool
udpai_runtime_truth(const udpai_runtime_snapshot *snapshot, udpai_str key, bool otherwise)
{
    const udpai_runtime_value *value = udpai_runtime_snapshot_find(snapshot, key);
    return value && value->has_truth ? value->truth : otherwise;
}

uint64_t
udpai_runtime_integer(const udpai_runtime_snapshot *snapshot, udpai_str key, uint64_t otherwise)
{
    const udpai_runtime_value *value = udpai_runtime_snapshot_find(snapshot, key);
    return value && value->has_integer ? value->integer : otherwise;
}

double
udpai_runtime_number(const udpai_runtime_snapshot *snapshot, udpai_str key, double otherwise)
{
    const udpai_runtime_value *value = udpai_runtime_snapshot_find(snapshot, key);
    return value && value->has_number ? value->number : otherwise;
}

udpai_runtime_share
udpai_runtime_share_of(const udpai_runtime_snapshot *snapshot,
                       udpai_str key,
                       udpai_runtime_share otherwise)
{
    const udpai_runtime_value *value = udpai_runtime_snapshot_find(snapshot, key);
    if (value && value->has_share)
        return value->share;
    if (!value || !value->has_integer)
        return otherwise;
    return (udpai_runtime_share){value->integer < 100 ? (uint32_t)value->integer : 100, 100};
}
