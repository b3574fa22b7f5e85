/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of generations: when a contribution goes, what it had reached is remembered for a while,
 * so that an older one which a slower path still brings does not appear in its place. */
#include "store/store_internal.h"

static void
on_expiry(udpai_timer *timer)
{
    udpai_floor *floor = UDPAI_CONTAINER_OF(timer, udpai_floor, expiry);
    udpai_store *store = floor->entry->type->store;
    udpai_store_entry *entry = floor->entry;
    udpai_store_forget(store, floor);
    udpai_store_mark_dirty(store, entry);
}

void
udpai_store_forget(udpai_store *store, udpai_floor *floor)
{
    udpai_store_entry *entry = floor->entry;
    for (size_t i = 0; i < entry->floors.n; i++)
        if (entry->floors.items[i] == floor)
            udpai_vector_remove_unordered(&entry->floors, i);
    udpai_list_remove(&floor->in_store);
    udpai_timer_cancel(&floor->expiry);
    udpa_resource_unref(floor->seen);
    udpai_free(floor);
    store->n_floors--;
}

static udpai_floor *
find_floor(const udpai_store_entry *entry, const udpa_resource *resource)
{
    for (size_t i = 0; i < entry->floors.n; i++)
        if (udpai_store_comparable(entry->floors.items[i]->seen, resource))
            return entry->floors.items[i];
    return NULL;
}

/* The resource without what it says: payload, version, aliases. */
static udpa_resource *
strip(const udpa_resource *resource)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *stripped = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *nothing = NULL;
    if (udpa_bytes_new(&nothing, NULL, 0) != UDPA_OK)
        return NULL;
    parts.any = nothing;
    parts.n_aliases = 0;
    parts.constraints = (udpai_str){0};
    return udpai_resource_make(&stripped, &parts) == UDPA_OK ? stripped : NULL;
}

static udpai_floor *
make_floor(udpai_store *store, udpai_store_entry *entry, const udpa_resource *gone)
{
    udpai_floor *floor = udpai_alloc(sizeof(*floor));
    udpa_resource *seen = strip(gone);
    if (!floor || !seen || !udpai_vector_push(&entry->floors, floor)) {
        udpai_free(floor);
        udpa_resource_unref(seen);
        return NULL;
    }
    floor->entry = entry;
    floor->seen = seen;
    udpai_list_init(&floor->in_store);
    udpai_timer_init(&floor->expiry, on_expiry);
    store->n_floors++;
    return floor;
}

/* Without memory nothing is remembered: an old generation may then show for a while, which the next
 * word of its source corrects. */
void
udpai_store_remember(udpai_store *store, udpai_store_entry *entry, udpa_resource *gone)
{
    if (udpa_resource_generation(gone) == 0 || store->options.remember_max == 0)
        return;
    udpai_floor *floor = find_floor(entry, gone);
    if (!floor)
        floor = make_floor(store, entry, gone);
    if (!floor)
        return;
    if (floor->generation < udpa_resource_generation(gone))
        floor->generation = udpa_resource_generation(gone);
    udpai_list_remove(&floor->in_store);
    udpai_list_append(&store->floors, &floor->in_store);
    udpai_timer_set(store->wheel, &floor->expiry,
                    store->wheel->now_ms + store->options.remember_ms);
    while (store->n_floors > store->options.remember_max) {
        udpai_floor *oldest = UDPAI_LIST_ENTRY(store->floors.next, udpai_floor, in_store);
        udpai_store_entry *freed = oldest->entry;
        udpai_store_forget(store, oldest);
        udpai_store_mark_dirty(store, freed);
    }
}
