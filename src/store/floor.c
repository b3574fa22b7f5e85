/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of generations: when a contribution goes, what it had reached is remembered for a while,
 * so that an older one which a slower path still brings does not appear in its place. */
#include "store/store_internal.h"

static udpai_floors *
floors_of(udpai_store *store, const udpa_resource *seen)
{
    return udpai_resource_signature(seen) ? &store->signed_floors : &store->floors;
}

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
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++)
        if (entry->more->floors.items[i] == floor)
            udpai_vector_remove_unordered(&entry->more->floors, i);
    udpai_store_keep_name(entry, floor->seen);
    udpai_list_remove(&floor->in_store);
    udpai_timer_cancel(&floor->expiry);
    floors_of(store, floor->seen)->n--;
    udpa_resource_unref(floor->seen);
    udpai_free(floor);
}

static void
forget_oldest(udpai_store *store, udpai_floors *floors)
{
    udpai_floor *oldest = UDPAI_LIST_ENTRY(floors->list.next, udpai_floor, in_store);
    udpai_store_entry *freed = oldest->entry;
    udpai_store_forget(store, oldest);
    udpai_store_mark_dirty(store, freed);
}

void
udpai_store_forget_all(udpai_store *store)
{
    while (store->floors.n)
        forget_oldest(store, &store->floors);
    while (store->signed_floors.n)
        forget_oldest(store, &store->signed_floors);
}

static udpai_floor *
find_floor(const udpai_store_entry *entry, const udpa_resource *resource)
{
    bool is_signed = udpai_resource_signature(resource) != NULL;
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++) {
        const udpa_resource *seen = entry->more->floors.items[i]->seen;
        if (udpai_store_comparable(seen, resource) &&
            (udpai_resource_signature(seen) != NULL) == is_signed)
            return entry->more->floors.items[i];
    }
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
    parts.value = NULL;
    parts.small = (udpai_str){0};
    parts.n_aliases = 0;
    parts.constraints = (udpai_str){0};
    return udpai_resource_make(&stripped, &parts) == UDPA_OK ? stripped : NULL;
}

static udpai_floor *
make_floor(udpai_store *store, udpai_store_entry *entry, const udpa_resource *gone)
{
    udpai_floor *floor = udpai_alloc(sizeof(*floor));
    udpa_resource *seen = strip(gone);
    udpai_store_more *more = udpai_store_more_of(entry);
    if (!floor || !seen || !more || !udpai_vector_push(&more->floors, floor)) {
        udpai_free(floor);
        udpa_resource_unref(seen);
        return NULL;
    }
    floor->entry = entry;
    floor->seen = seen;
    udpai_list_init(&floor->in_store);
    udpai_timer_init(&floor->expiry, on_expiry);
    floors_of(store, seen)->n++;
    return floor;
}

static uint64_t
remember_ms(const udpai_store *store, const udpa_resource *gone)
{
    uint64_t ms = store->remember ? store->remember(store->remember_userdata, gone) : 0;
    return ms > store->options.remember_ms ? ms : store->options.remember_ms;
}

/* What is remembered longer already stays so. */
static uint64_t
later(const udpai_store *store, const udpai_floor *floor, uint64_t ms)
{
    uint64_t due_ms = store->wheel->now_ms + ms;
    bool is_longer = udpai_timer_is_set(&floor->expiry) && floor->expiry.due_ms > due_ms;
    return is_longer ? floor->expiry.due_ms : due_ms;
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
    udpai_floors *floors = floors_of(store, floor->seen);
    udpai_list_remove(&floor->in_store);
    udpai_list_append(&floors->list, &floor->in_store);
    udpai_timer_set(store->wheel, &floor->expiry, later(store, floor, remember_ms(store, gone)));
    while (floors->n > store->options.remember_max)
        forget_oldest(store, floors);
}
