/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of generations: when a contribution goes, what it had reached is remembered for a while,
 * so that an older one which a slower path still brings does not appear in its place. */
#include "store/store_internal.h"

#include "model/removal.h"

/* So many floors are looked at to make room for one. */
#define FORGET_TRIES 16

static udpai_floors *
floors_of(udpai_store *store, const udpa_resource *seen)
{
    return udpai_resource_signature(seen) ? &store->signed_floors : &store->floors;
}

static bool
keeps_out(const udpai_floor *floor)
{
    size_t at = 0;
    const udpai_stored *stored;
    while ((stored = udpai_store_next(floor->entry, &at)))
        if (udpai_floor_outlives(floor, stored->resource))
            return true;
    return false;
}

/* Is it a removal, and is there anything that would come back without it? */
bool
udpai_floor_is_needed(const udpai_floor *floor)
{
    size_t at = 0;
    const udpai_stored *stored;
    while ((stored = udpai_store_next(floor->entry, &at)))
        if (udpai_floor_ends(floor, stored->resource))
            return true;
    return false;
}

static void
set_timer(const udpai_store *store, udpai_floor *floor)
{
    udpai_timer_set(store->wheel, &floor->expiry,
                    store->wheel->now_ms + store->options.remember_ms);
}

void
udpai_floor_renew(udpai_store *store, udpai_floor *floor)
{
    set_timer(store, floor);
    udpai_store_keep_removal(store, floor);
}

void
udpai_floor_set_forgettable(udpai_store *store, udpai_floor *floor, bool is_forgettable)
{
    udpai_floors *floors = floors_of(store, floor->seen);
    floors->n_forgettable += (size_t)is_forgettable - (size_t)floor->is_forgettable;
    floor->is_forgettable = is_forgettable;
}

static void
may_be_forgotten(udpai_store *store, udpai_floor *floor)
{
    udpai_floor_set_forgettable(store, floor, true);
    if (store->forgettable)
        store->forgettable(store->forgettable_userdata, floor->shared_key, floor->seen);
}

static void
on_expiry(udpai_timer *timer)
{
    udpai_floor *floor = UDPAI_CONTAINER_OF(timer, udpai_floor, expiry);
    udpai_store *store = floor->entry->type->store;
    udpai_store_entry *entry = floor->entry;
    if (udpai_floor_is_needed(floor)) {
        udpai_floor_renew(store, floor);
        return;
    }
    if (floor->shared_key) { /* this may not be who can do it, or may fail to */
        set_timer(store, floor);
        may_be_forgotten(store, floor);
        return;
    }
    udpai_store_unkeep_removal(store, floor);
    udpai_store_unkeep_seen(store, floor);
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
    udpai_floor_set_forgettable(store, floor, false);
    floors_of(store, floor->seen)->n--;
    udpa_resource_unref(floor->seen);
    udpa_bytes_unref(floor->from_node);
    udpa_bytes_unref(floor->shared_key);
    udpai_free_in(&store->memory, floor, sizeof(*floor));
}

static void
forget_oldest(udpai_store *store, udpai_floors *floors)
{
    udpai_floor *oldest = UDPAI_LIST_ENTRY(floors->list.next, udpai_floor, in_store);
    udpai_store_entry *freed = oldest->entry;
    udpai_store_forget(store, oldest);
    udpai_store_mark_dirty(store, freed);
}

/* Those that keep something from coming back are passed over, as far as that takes no long search:
 * there are no more of them than contributions. So are those of all replicas, which forget them
 * soon. */
static void
bound_floors(udpai_store *store, udpai_floors *floors)
{
    size_t max = store->options.remember_max;
    for (int i = 0; i < FORGET_TRIES && floors->n - floors->n_forgettable > max; i++) {
        udpai_floor *oldest = UDPAI_LIST_ENTRY(floors->list.next, udpai_floor, in_store);
        bool is_needed = oldest->is_in_use || udpai_floor_is_needed(oldest);
        if (is_needed || oldest->shared_key) {
            udpai_list_remove(&oldest->in_store);
            udpai_list_append(&floors->list, &oldest->in_store);
            if (!is_needed && !oldest->is_forgettable)
                may_be_forgotten(store, oldest);
        } else {
            udpai_store_unkeep_removal(store, oldest);
            udpai_store_unkeep_seen(store, oldest);
            forget_oldest(store, floors);
        }
    }
}

void
udpai_floor_make_room(udpai_store *store, udpai_floor *floor)
{
    floor->is_in_use = true;
    bound_floors(store, floors_of(store, floor->seen));
    floor->is_in_use = false;
}

void
udpai_store_forget_newer(udpai_store *store, udpai_store_entry *entry, const udpa_resource *let_in)
{
    for (size_t i = udpai_store_n_floors(entry); i-- > 0;) {
        udpai_floor *floor = entry->more->floors.items[i];
        if (floor->is_removal || !udpai_floor_outlives(floor, let_in))
            continue;
        udpai_store_unkeep_seen(store, floor);
        udpai_store_forget(store, floor);
    }
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

bool
udpai_store_remembers(const udpai_store *store, udpai_str type_url, const udpa_resource *resource)
{
    const udpai_store_entry *entry =
        udpai_store_find_entry(store, type_url, udpai_resource_name(resource));
    for (size_t i = 0; entry && i < udpai_store_n_floors(entry); i++) {
        const udpai_floor *floor = entry->more->floors.items[i];
        if (floor->generation >= udpa_resource_generation(resource) &&
            udpai_store_comparable(floor->seen, resource))
            return true;
    }
    return false;
}

static udpai_floor *
make_floor(udpai_store *store, udpai_store_entry *entry, const udpa_resource *removed)
{
    udpai_floor *floor = udpai_alloc_in(&store->memory, sizeof(*floor));
    udpa_resource *seen = udpai_removal_of(removed, udpa_resource_generation(removed));
    udpai_store_more *more = udpai_store_more_of(entry);
    if (!floor || !seen || !more || !udpai_vector_push_in(&store->memory, &more->floors, floor)) {
        udpai_free_in(&store->memory, floor, sizeof(*floor));
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

uint64_t
udpai_store_time_to_remember(const udpai_store *store, const udpa_resource *removed)
{
    uint64_t ms = store->remember ? store->remember(store->remember_userdata, removed) : 0;
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

static void
remember(udpai_store *store, udpai_floor *floor, const udpa_resource *removed)
{
    if (floor->generation < udpa_resource_generation(removed))
        floor->generation = udpa_resource_generation(removed);
    floor->is_left = false;
    udpai_floors *floors = floors_of(store, floor->seen);
    udpai_list_remove(&floor->in_store);
    udpai_list_append(&floors->list, &floor->in_store);
    udpai_timer_set(store->wheel, &floor->expiry,
                    later(store, floor, udpai_store_time_to_remember(store, removed)));
}

static udpai_floor *
get_floor(udpai_store *store, udpai_store_entry *entry, const udpa_resource *removed)
{
    if (udpa_resource_generation(removed) == 0 || store->options.remember_max == 0)
        return NULL;
    udpai_floor *floor = find_floor(entry, removed);
    return floor ? floor : make_floor(store, entry, removed);
}

/* What was left alone need not be kept: something older may then count, and no removal of it is
 * reported. Of a removal more is kept. */
static void
keep_if_needed(udpai_store *store, udpai_floor *floor)
{
    if (!floor->is_removal && !floor->is_left && keeps_out(floor))
        udpai_store_keep_seen(store, floor);
}

void
udpai_store_note_kept_out(udpai_store *store, const udpai_stored *stored)
{
    for (size_t i = 0; i < udpai_store_n_floors(stored->entry); i++) {
        udpai_floor *floor = stored->entry->more->floors.items[i];
        if (!floor->is_kept && udpai_floor_outlives(floor, stored->resource))
            keep_if_needed(store, floor);
    }
}

udpa_err
udpai_store_recall(udpai_store *store, udpa_resource *seen)
{
    udpai_store_entry *entry = udpai_store_make_entry(store, seen);
    if (!entry)
        return UDPA_ERR_NOMEM;
    udpai_floor *floor = get_floor(store, entry, seen);
    if (floor) {
        remember(store, floor, seen);
        floor->is_kept = true;
    }
    udpai_store_mark_dirty(store, entry);
    return floor || store->options.remember_max == 0 ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Without memory nothing is remembered: an old generation may then show for a while, which the next
 * publication of its source corrects. */
void
udpai_store_remember(udpai_store *store,
                     udpai_store_entry *entry,
                     udpa_resource *removed,
                     bool is_left)
{
    udpai_floor *floor = get_floor(store, entry, removed);
    if (!floor)
        return;
    remember(store, floor, removed);
    floor->is_left = is_left && !floor->is_removal;
    keep_if_needed(store, floor);
    bound_floors(store, floors_of(store, floor->seen));
}

/* It does not end here by itself any more. */
static void
share(udpai_store *store, udpai_floor *floor, udpa_bytes *key)
{
    bool is_same = floor->shared_key &&
                   udpai_str_eq(udpai_bytes_view(floor->shared_key), udpai_bytes_view(key));
    if (floor->shared_key && !is_same)
        may_be_forgotten(store, floor);
    udpa_bytes_ref(key);
    udpa_bytes_unref(floor->shared_key);
    floor->shared_key = key;
    udpai_floor_set_forgettable(store, floor, false);
}

udpai_floor *
udpai_store_remember_removal(udpai_store *store,
                             udpai_store_entry *entry,
                             udpa_resource *removal,
                             udpa_bytes *from_node,
                             udpa_bytes *shared_key)
{
    udpai_floor *floor = get_floor(store, entry, removal);
    if (!floor)
        return NULL;
    bool is_newer = !floor->is_removal ||
                    udpa_resource_generation(removal) > udpa_resource_generation(floor->seen);
    bool was_shared = floor->shared_key != NULL;
    if (shared_key)
        share(store, floor, shared_key);
    if (is_newer) {
        udpai_store_unkeep_seen(store, floor);
        udpa_resource_ref(removal);
        udpa_resource_unref(floor->seen);
        floor->seen = removal;
        floor->is_removal = floor->is_unsent = true;
        udpa_bytes_ref(from_node);
        udpa_bytes_unref(floor->from_node);
        floor->from_node = from_node;
        remember(store, floor, removal);
    }
    if (is_newer || (shared_key && !was_shared))
        udpai_store_keep_removal(store, floor);
    return floor;
}
