/* SPDX-License-Identifier: Apache-2.0 */
/* From what is dirty to what is reported: the effective contribution of each entry is chosen anew
 * and compared with what was reported last. */
#include "store/store_internal.h"

uint64_t
udpai_store_reported_deadline(const udpai_store_entry *entry)
{
    return entry->more ? entry->more->reported_deadline_ms : 0;
}

/* Must a holder of the old one be sent all of the new one? A refresh cannot express that a ttl was
 * removed, nor anything of aliases. */
static bool
needs_payload(const udpai_store_entry *entry, const udpa_resource *now, uint64_t deadline_ms)
{
    const udpa_resource *reported = entry->reported;
    if (!udpai_resource_same_payload(reported, now) ||
        !udpai_str_eq(udpai_resource_authority(reported), udpai_resource_authority(now)))
        return true;
    if (udpai_store_reported_deadline(entry) && !deadline_ms)
        return true;
    return udpai_resource_is_lazy(reported) != udpai_resource_is_lazy(now) ||
           udpai_resource_do_not_cache(reported) != udpai_resource_do_not_cache(now) ||
           !udpai_resource_same_aliases(reported, now);
}

static bool
same_node(const udpa_bytes *a, const udpa_bytes *b)
{
    return a == b || (a && b && udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
}

/* Is the origin of what was reported, or is now to be, still at the node that was reported with it?
 */
static bool
is_node_reported(const udpai_store_entry *entry, const udpai_origin *now)
{
    return entry->reported_node_changes == entry->reported_by->n_node_changes &&
           same_node(entry->reported_by->node_id, now->node_id);
}

/* A removal with a generation is reported also where nothing of it was here, or where something of
 * another authority is: others may have what it ends. */
static void
add_removal(const udpai_store_entry *entry, const udpai_floor *floor, udpai_change *change)
{
    change->removal = floor->seen;
    if (change->kind != UDPAI_CHANGE_REMOVE)
        return;
    if (!entry->is_reported)
        change->resource = floor->seen;
    change->from_node = floor->from_node;
}

/* False: nothing to report. */
static bool
describe(const udpai_store_entry *entry, const udpai_stored *now, udpai_change *change)
{
    if (!now) {
        *change = (udpai_change){.kind = UDPAI_CHANGE_REMOVE, .resource = entry->reported};
        return entry->is_reported;
    }
    uint64_t deadline_ms = udpai_stored_deadline(now);
    *change = (udpai_change){
        .kind = UDPAI_CHANGE_SET,
        .resource = now->resource,
        .deadline_ms = deadline_ms,
        .from_node = now->origin->node_id,
    };
    if (entry->is_reported && !udpai_resource_same_aliases(entry->reported, now->resource))
        change->before = entry->reported;
    if (!entry->is_reported || needs_payload(entry, now->resource, deadline_ms))
        return true;
    change->kind = UDPAI_CHANGE_REFRESH;
    return deadline_ms != udpai_store_reported_deadline(entry) ||
           !udpai_resource_same_origin_info(entry->reported, now->resource) ||
           !is_node_reported(entry, now->origin);
}

bool
udpai_store_would_change(const udpai_store_entry *entry, const udpai_stored *now)
{
    udpai_change change;
    if (!now)
        return entry->is_reported && !udpai_store_must_stay(entry);
    return describe(entry, now, &change) && change.kind == UDPAI_CHANGE_SET;
}

static void
note_reported(udpai_store_entry *entry, const udpai_change *change)
{
    bool is_removed = change->kind == UDPAI_CHANGE_REMOVE;
    if (is_removed && !entry->is_reported)
        return;
    if (is_removed || !entry->is_reported)
        entry->type->n_effective += is_removed ? (size_t)-1 : 1;
    udpa_resource *resource = udpa_resource_ref(change->resource);
    udpa_resource_unref(entry->reported);
    entry->reported = resource; /* of what was removed, the name */
    entry->is_reported = !is_removed;
    if (entry->more) /* it was made for the deadline, if there is one */
        entry->more->reported_deadline_ms = change->deadline_ms;
}

/* Does another source still have something older of the same authority, while there is no removal
 * of this? Then it is, and this is the newest that is known of it. */
static bool
is_left(const udpai_store_entry *entry, const udpai_floor *floor)
{
    size_t at = 0;
    const udpai_stored *other;
    bool is_reported = floor->is_left &&
                       floor->generation == udpa_resource_generation(entry->reported) &&
                       udpai_store_comparable(floor->seen, entry->reported);
    while (is_reported && (other = udpai_store_next(entry, &at)))
        if (other->origin->rank == UDPAI_ORIGIN_SOURCE &&
            udpai_store_counts(entry, other->origin) &&
            udpai_floor_outlives(floor, other->resource))
            return true;
    return false;
}

/* A source that has not spoken yet may have it. */
bool
udpai_store_must_stay(const udpai_store_entry *entry)
{
    const udpai_store *store = entry->type->store;
    if (!entry->is_reported)
        return false;
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++)
        if (is_left(entry, entry->more->floors.items[i]))
            return true;
    if (!store->certain)
        return false;
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++)
        if (udpai_floor_ends(entry->more->floors.items[i], entry->reported))
            return false;
    return !store->certain(store->certain_userdata, entry->reported);
}

static void
notify_moved(const udpai_store *store, const udpai_store_entry *entry)
{
    if (store->moved)
        store->moved(store->moved_userdata, udpai_store_type_url(entry->type),
                     udpai_store_entry_name(entry));
}

/* What was effective, if it is still here, goes on keeping older generations out. */
static udpa_err
hold_back(udpai_store *store, udpai_store_entry *entry)
{
    udpa_err err = udpai_store_hold_reported(store, entry);
    udpai_list_append(err == UDPA_OK ? &store->held_back : &store->dirty, &entry->dirty);
    if (err == UDPA_OK)
        notify_moved(store, entry);
    return err;
}

static void
note_origin(udpai_store *store, udpai_store_entry *entry, udpai_origin *origin)
{
    udpai_origin *reported_by = origin ? udpai_origin_ref(origin) : NULL;
    udpai_origin_unref(store, entry->reported_by);
    entry->reported_by = reported_by;
    entry->reported_node_changes = origin ? origin->n_node_changes : 0;
    entry->is_effective = origin != NULL;
}

/* Also while it stays though its origin does not count: then another one may be the first that
 * does.
 */
static bool
has_other_origin(const udpai_store_entry *entry, const udpai_stored *now)
{
    if (!now || !entry->is_effective || entry->reported_by != now->origin)
        return now || entry->reported_by;
    return !udpai_store_counts(entry, now->origin);
}

/* What stays: after a restart what was kept of it, and what would end, without an end. */
static udpa_err
report_frozen(udpai_store *store, udpai_store_entry *entry, udpai_change_set *set)
{
    udpai_store_more *more = entry->more;
    udpa_resource *restored = more ? more->restored : NULL;
    udpai_origin *origin = restored ? udpai_store_frozen_origin(store) : entry->reported_by;
    if (!origin)
        return UDPA_ERR_NOMEM;
    const udpai_change change = {
        .kind = UDPAI_CHANGE_SET,
        .resource = restored ? restored : entry->reported,
        .from_node = origin->node_id,
    };
    udpa_err err = udpai_change_set_add(set, &change);
    if (err != UDPA_OK)
        return err;
    note_reported(entry, &change);
    if (restored)
        note_origin(store, entry, origin);
    if (restored)
        more->restored = udpa_resource_unref(restored);
    udpai_list_remove(&entry->dirty);
    udpai_list_append(&store->marked, &entry->dirty);
    return UDPA_OK;
}

static udpa_err
report(udpai_store *store, udpai_store_entry *entry, udpai_change_set *set)
{
    udpai_change change;
    udpai_stored *now = udpai_store_select(entry);
    if (entry->is_frozen)
        return report_frozen(store, entry, set);
    udpai_list_remove(&entry->dirty);
    if (!now && udpai_store_must_stay(entry))
        return hold_back(store, entry);
    bool is_change = describe(entry, now, &change);
    udpai_floor *removal = udpai_store_find_removal(entry, now);
    if (removal)
        add_removal(entry, removal, &change);
    is_change = is_change || removal;
    bool has_moved = has_other_origin(entry, now);
    udpa_err err = is_change ? udpai_change_set_add(set, &change) : UDPA_OK;
    if (err != UDPA_OK) {
        udpai_list_prepend(&store->dirty, &entry->dirty);
        return err;
    }
    udpai_store_let_go_reported(store, entry);
    if (removal)
        removal->is_unsent = false;
    if (is_change)
        note_reported(entry, &change);
    note_origin(store, entry, now ? now->origin : NULL);
    if (has_moved)
        notify_moved(store, entry);
    udpai_store_drop_name(entry);
    return UDPA_OK;
}

void
udpai_store_recheck_removals(udpai_store *store)
{
    udpai_list_splice(&store->marked, &store->held_back);
}

void
udpai_store_set_moved(udpai_store *store, udpai_store_moved_fn moved, void *userdata)
{
    store->moved = moved;
    store->moved_userdata = userdata;
}

bool
udpai_store_has_changes(const udpai_store *store)
{
    return !udpai_list_empty(&store->dirty) || !udpai_list_empty(&store->marked);
}

/* Without memory the entries that were not reported stay dirty: the next call reports them. */
udpa_err
udpai_store_take_changes(udpai_store *store, udpai_change_set **ret_set)
{
    *ret_set = NULL;
    udpai_store_drop_idle(store);
    udpai_store_hold_frozen(store);
    if (udpai_list_empty(&store->dirty)) {
        store->has_reported = true;
        return UDPA_OK;
    }
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = udpai_change_set_new();
    udpa_err err = set ? UDPA_OK : UDPA_ERR_NOMEM;
    while (err == UDPA_OK && !udpai_list_empty(&store->dirty)) {
        udpai_store_entry *entry = UDPAI_LIST_ENTRY(store->dirty.next, udpai_store_entry, dirty);
        err = report(store, entry, set);
        if (err == UDPA_OK && !udpai_list_linked(&entry->dirty))
            udpai_store_release_entry(store, entry);
    }
    store->has_reported |= udpai_list_empty(&store->dirty);
    if (set && udpai_change_set_size(set))
        *ret_set = UDPAI_TAKE(set);
    return *ret_set ? UDPA_OK : err;
}
