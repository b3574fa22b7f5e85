/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit.h"
#include "store/store_internal.h"

#include <assert.h>

#include "base/error.h"
#include "model/name.h"

static udpai_str
type_key(const void *item)
{
    return udpai_store_type_url(item);
}

static udpai_str
origin_key(const void *item)
{
    return udpai_origin_key(item);
}

static udpai_str
namespace_key(const void *item)
{
    return udpai_bytes_view(((const udpai_namespace_use *)item)->name);
}

udpa_err
udpai_store_new(udpai_store **ret_store, udpai_wheel *wheel, const udpai_store_options *options)
{
    udpai_store *store = udpai_alloc(sizeof(*store));
    if (!store)
        return UDPA_ERR_NOMEM;
    store->wheel = wheel;
    store->options = *options;
    udpai_map_init_in(&store->types, type_key, &store->memory);
    udpai_map_init_in(&store->origins, origin_key, &store->memory);
    udpai_map_init_in(&store->namespaces, namespace_key, &store->memory);
    udpai_map_init(&store->choices, udpai_store_choice_key);
    udpai_list_init(&store->marked);
    udpai_list_init(&store->dirty);
    udpai_list_init(&store->waiting);
    udpai_list_init(&store->held_back);
    udpai_list_init(&store->floors.list);
    udpai_list_init(&store->signed_floors.list);
    udpai_list_init(&store->idle);
    *ret_store = store;
    return UDPA_OK;
}

void
udpai_store_set_options(udpai_store *store, const udpai_store_options *options)
{
    store->options = *options;
    udpai_store_note_fills(store);
}

void
udpai_store_set_certain(udpai_store *store, udpai_store_certain_fn certain, void *userdata)
{
    store->certain = certain;
    store->certain_userdata = userdata;
}

uint64_t
udpai_store_memory(const udpai_store *store)
{
    return store->memory.bytes + store->use.bytes;
}

uint64_t
udpai_store_remember_ms(const udpai_store *store)
{
    return store->options.remember_ms;
}

void
udpai_store_set_remember(udpai_store *store, udpai_store_remember_fn remember, void *userdata)
{
    store->remember = remember;
    store->remember_userdata = userdata;
}

void
udpai_store_set_expired(udpai_store *store, udpai_store_expired_fn expired, void *userdata)
{
    store->expired = expired;
    store->expired_userdata = userdata;
}

/* ---- what must be kept ---- */

/* What clients report changes all the time, ends with its ttl, and is published again after a
 * restart.
 */
static bool
is_kept(const udpai_stored *stored)
{
    return stored->origin->durable && !stored->entry->type->is_client;
}

static void
unkeep(udpai_store *store, const udpai_stored *stored)
{
    if (!is_kept(stored) || store->loading)
        return;
    udpai_str text = udpai_store_entry_name(stored->entry);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    if (udpa_bytes_new(&name, text.data, text.len) != UDPA_OK) {
        store->durable_incomplete = true;
        return;
    }
    udpai_store_add_durable(store, &(udpai_durable_op){
                                       .kind = UDPAI_DURABLE_DELETE,
                                       .origin = stored->origin->key,
                                       .type = stored->entry->type->url,
                                       .name = name,
                                       .cause = store->cause,
                                   });
}

udpai_cause
udpai_store_set_cause(udpai_store *store, udpai_cause cause)
{
    udpai_cause before = store->cause;
    store->cause = cause;
    return before;
}

/* Is it renewed here? What has a deadline and no ttl of its own ends with that. */
static bool
is_kept_alive(const udpai_stored *stored)
{
    return stored->origin->keeps_alive && udpa_resource_ttl_ms(stored->resource) != 0;
}

static void
keep(udpai_store *store, const udpai_stored *stored)
{
    if (udpai_resource_do_not_cache(stored->resource)) {
        unkeep(store, stored); /* it may have been kept before that was reported */
        return;
    }
    if (is_kept(stored))
        udpai_store_add_durable(
            store, &(udpai_durable_op){
                       .kind = UDPAI_DURABLE_PUT,
                       .origin = stored->origin->key,
                       .resource = stored->resource,
                       .deadline_ms = is_kept_alive(stored) ? 0 : udpai_stored_deadline(stored),
                   });
}

/* ---- contributions ---- */

/* What was reported and has no contribution any more takes room as long as it stays; to be called
 * while something else is in its namespace, so that it cannot fail. */
static void
settle_reported(udpai_store *store, udpai_store_entry *entry)
{
    bool stays = entry->is_frozen || (!udpai_store_has_any(entry) && udpai_store_must_stay(entry));
    if (entry->is_reported && stays)
        (void)udpai_store_hold_reported(store, entry);
    else
        udpai_store_let_go_reported(store, entry);
}

static void
count_kinds(const udpai_stored *stored, size_t more)
{
    if (stored->resource && udpai_resource_constraints(stored->resource).len)
        stored->origin->n_variants += more;
    if (stored->resource && udpa_resource_n_aliases(stored->resource))
        stored->origin->n_aliased += more;
}

static void
set_overdue(udpai_store *store, udpai_expiry *expiry, bool is_overdue)
{
    store->n_overdue += is_overdue;
    store->n_overdue -= expiry->is_overdue;
    expiry->is_overdue = is_overdue;
}

static void
drop_expiry(udpai_stored *stored)
{
    if (stored->expiry) {
        udpai_timer_cancel(&stored->expiry->timer);
        set_overdue(stored->entry->type->store, stored->expiry, false);
    }
    udpai_free_in(&stored->entry->type->store->memory, stored->expiry, sizeof(*stored->expiry));
    stored->expiry = NULL;
}

/* Its memory is the entry's, or its own. */
static void
leave_entry(udpai_stored *stored)
{
    udpai_store_entry *entry = stored->entry;
    if (stored == &entry->first) {
        entry->first = (udpai_stored){0};
        return;
    }
    for (size_t i = 0; i < entry->more->contributions.n; i++)
        if (entry->more->contributions.items[i] == stored)
            udpai_vector_remove_unordered(&entry->more->contributions, i);
    udpai_free_in(&entry->type->store->memory, stored, sizeof(*stored));
}

static void
take_out(udpai_store *store, udpai_stored *stored)
{
    udpai_store_entry *entry = stored->entry;
    udpai_origin *origin = stored->origin;
    udpa_resource *resource = stored->resource;
    if (udpai_store_effective(entry) == stored)
        entry->is_effective = false;
    udpai_store_mark_dirty(store, entry);
    udpai_store_drop_absence(store, stored, false);
    udpai_list_remove(&stored->in_origin);
    drop_expiry(stored);
    count_kinds(stored, (size_t)-1);
    leave_entry(stored);
    udpai_store_keep_name(entry, resource);
    if (--origin->n_contributions == 0)
        udpai_store_note_idle(store, origin);
    store->n_contributions--;
    settle_reported(store, entry);
    udpai_store_discharge(store, origin, resource);
    udpa_resource_unref(resource);
}

static void
end_stored(udpai_store *store, udpai_stored *stored, bool is_left)
{
    udpai_store_before_end(store, stored);
    udpai_store_drop_absence(store, stored, true);
    unkeep(store, stored);
    udpai_store_remember(store, stored->entry, stored->resource, is_left);
    take_out(store, stored);
}

static void
remove_stored(udpai_store *store, udpai_stored *stored)
{
    end_stored(store, stored, false);
}

static void
leave_stored(udpai_store *store, udpai_stored *stored)
{
    end_stored(store, stored, true);
}

static void
set_deadline(udpai_store *store, udpai_stored *stored, uint64_t deadline_ms)
{
    if (!deadline_ms) {
        drop_expiry(stored);
        return;
    }
    uint64_t due_ms = deadline_ms;
    if (is_kept_alive(stored)) {
        /* At whole multiples: all that have the same ttl are renewed in one turn. */
        uint64_t half_ms = udpa_resource_ttl_ms(stored->resource) / 2;
        half_ms = half_ms ? half_ms : 1;
        due_ms = (store->wheel->now_ms / half_ms + 1) * half_ms;
    }
    stored->expiry->deadline_ms = deadline_ms;
    set_overdue(store, stored->expiry, false);
    udpai_timer_set(store->wheel, &stored->expiry->timer, due_ms);
}

static void
stay_longer(udpai_store *store, udpai_stored *stored)
{
    uint64_t now = store->wheel->now_ms, deadline_ms = stored->expiry->deadline_ms;
    set_overdue(store, stored->expiry, true);
    bool is_first = now < deadline_ms + UDPAI_EXPIRED_AGAIN_MS && now >= deadline_ms;
    if (!is_first && deadline_ms < now + UDPAI_EXPIRED_LONGER_MS / 2) {
        stored->expiry->deadline_ms = now + UDPAI_EXPIRED_LONGER_MS;
        udpai_store_mark_dirty(store, stored->entry);
    }
    udpai_timer_set(store->wheel, &stored->expiry->timer, now + UDPAI_EXPIRED_AGAIN_MS);
}

static void
on_expiry(udpai_timer *timer)
{
    udpai_stored *stored = UDPAI_CONTAINER_OF(timer, udpai_expiry, timer)->stored;
    udpai_store *store = stored->entry->type->store;
    bool is_over = !is_kept_alive(stored);
    if (is_over && store->expired &&
        store->expired(store->expired_userdata, stored->origin, stored->resource)) {
        stay_longer(store, stored);
        return;
    }
    if (is_over) {
        udpai_cause before = udpai_store_set_cause(store, UDPAI_CAUSE_TTL);
        remove_stored(store, stored);
        (void)udpai_store_set_cause(store, before);
        return;
    }
    set_deadline(store, stored, store->wheel->now_ms + udpa_resource_ttl_ms(stored->resource));
    udpai_store_mark_dirty(store, stored->entry);
}

static udpai_stored *
room_for_stored(udpai_store_entry *entry)
{
    if (!entry->first.origin)
        return &entry->first;
    udpai_store_more *more = udpai_store_more_of(entry);
    udpai_memory *memory = &entry->type->store->memory;
    udpai_stored *stored = more ? udpai_alloc_in(memory, sizeof(*stored)) : NULL;
    if (stored && udpai_vector_push_in(memory, &more->contributions, stored))
        return stored;
    udpai_free_in(memory, stored, sizeof(*stored));
    return NULL;
}

static udpai_stored *
add_stored(udpai_store *store, udpai_origin *origin, udpai_store_entry *entry)
{
    udpai_stored *stored = room_for_stored(entry);
    if (!stored)
        return NULL;
    stored->entry = entry;
    stored->origin = origin;
    udpai_list_init(&stored->in_origin);
    udpai_list_append(&origin->contributions, &stored->in_origin);
    origin->n_contributions++;
    store->n_contributions++;
    return stored;
}

/* The origin's contribution, which may be there already, with all the memory that it needs; NULL
 * without, and nothing has changed. */
static udpai_stored *
get_stored(udpai_store *store, udpai_origin *origin, udpai_store_entry *entry, bool expires)
{
    udpai_stored *stored = udpai_store_entry_of_origin(entry, origin);
    udpai_expiry *expiry = NULL;
    if (expires && !(stored && stored->expiry)) {
        expiry =
            udpai_store_more_of(entry) ? udpai_alloc_in(&store->memory, sizeof(*expiry)) : NULL;
        if (!expiry)
            return NULL;
        udpai_timer_init(&expiry->timer, on_expiry);
    }
    if (!stored)
        stored = add_stored(store, origin, entry);
    if (!stored) {
        udpai_free_in(&store->memory, expiry, sizeof(*expiry));
    } else if (expiry) {
        expiry->stored = stored;
        stored->expiry = expiry;
    }
    return stored;
}

/* The contribution before may have the highest generation of all: if the new one is no successor of
 * it, it is remembered like what was removed. */
static void
replace_resource(udpai_store *store, udpai_stored *stored, udpa_resource *resource)
{
    udpa_resource *before = stored->resource;
    count_kinds(stored, (size_t)-1);
    stored->resource = udpa_resource_ref(resource);
    count_kinds(stored, 1);
    udpai_store_charge(store, stored->origin, resource);
    if (before)
        udpai_store_discharge(store, stored->origin, before);
    if (before && !udpai_store_comparable(before, resource))
        udpai_store_remember(store, stored->entry, before, false);
    udpa_resource_unref(before);
}

udpa_err
udpai_store_put(udpai_store *store,
                udpai_origin *origin,
                udpa_resource *resource,
                uint64_t deadline_ms,
                udpa_error **ret_error)
{
    udpai_store_entry *entry = udpai_store_make_entry(store, resource);
    if (!entry)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_stored *stored = udpai_store_entry_of_origin(entry, origin);
    if (stored)
        udpai_store_drop_absence(store, stored, true);
    if (stored && udpai_store_is_outdated(stored, resource))
        return UDPA_OK;
    udpa_err err = udpai_store_make_room(store, entry, origin, resource, ret_error);
    if (err == UDPA_OK && origin->rank != UDPAI_ORIGIN_PUBLISHER)
        udpai_store_before_change(store, entry, resource);
    if (err == UDPA_OK && !(stored = get_stored(store, origin, entry, deadline_ms != 0))) {
        udpai_store_close_account(store, resource);
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (err != UDPA_OK) {
        udpai_store_release_entry(store, entry); /* if it was made for this */
        return err;
    }
    replace_resource(store, stored, resource);
    settle_reported(store, entry);
    set_deadline(store, stored, deadline_ms);
    if (store->applying != UDPAI_APPLYING_KEPT)
        keep(store, stored);
    udpai_store_note_kept_out(store, stored);
    udpai_store_mark_dirty(store, entry);
    return UDPA_OK;
}

udpa_err
udpai_store_put_replicated(udpai_store *store,
                           udpai_origin *origin,
                           udpa_resource *resource,
                           uint64_t deadline_ms)
{
    store->applying = UDPAI_APPLYING_ANEW;
    udpa_err err = udpai_store_put(store, origin, resource, deadline_ms, NULL);
    store->applying = UDPAI_APPLYING_NONE;
    udpai_store_entry *entry = udpai_store_find_entry(store, udpai_resource_type_url(resource),
                                                      udpai_resource_name(resource));
    if (err == UDPA_OK && entry)
        udpai_store_forget_newer(store, entry, resource);
    return err;
}

typedef void (*end_fn)(udpai_store *store, udpai_stored *stored);

static void
end_one(udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str name, end_fn end)
{
    udpai_stored *stored = udpai_store_find_stored(store, origin, type_url, name);
    if (stored)
        end(store, stored);
}

void
udpai_store_withdraw(udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str name)
{
    end_one(store, origin, type_url, name, remove_stored);
}

void
udpai_store_leave(udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str name)
{
    end_one(store, origin, type_url, name, leave_stored);
}

static bool
is_in_scope(const udpai_stored *stored, const udpai_store_scope *scope)
{
    return (scope->type_url.len == 0 ||
            udpai_str_eq(udpai_store_type_url(stored->entry->type), scope->type_url)) &&
           udpai_prefix_covers(scope->prefix, udpai_store_entry_name(stored->entry)) &&
           !(scope->keep && scope->keep(scope->userdata, stored->resource));
}

static void
end_scope(udpai_store *store, udpai_origin *origin, const udpai_store_scope *scope, end_fn end)
{
    UDPAI_LIST_FOREACH_SAFE (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if (is_in_scope(stored, scope))
            end(store, stored);
    }
}

void
udpai_store_withdraw_all(udpai_store *store,
                         udpai_origin *origin,
                         udpai_str type_url,
                         udpai_str prefix,
                         udpai_store_keep_fn keep_fn,
                         void *userdata)
{
    const udpai_store_scope scope = {type_url, prefix, keep_fn, userdata};
    end_scope(store, origin, &scope, remove_stored);
}

void
udpai_store_leave_all(udpai_store *store, udpai_origin *origin, const udpai_store_scope *scope)
{
    end_scope(store, origin, scope, leave_stored);
}

void
udpai_store_drop_adopted(udpai_store *store, udpai_origin *origin)
{
    UDPAI_LIST_FOREACH_SAFE (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if (udpai_store_is_spent(stored))
            remove_stored(store, stored);
    }
}

static udpai_stored *
find_ended(const udpai_store_entry *entry, const udpai_floor *floor)
{
    size_t at = 0;
    udpai_stored *stored;
    while ((stored = udpai_store_next(entry, &at)))
        if (udpai_floor_ends(floor, stored->resource))
            return stored;
    return NULL;
}

/* What it ends keeps it as long as it is there. */
static void
end_by(udpai_store *store, const udpai_store_entry *entry, udpai_floor *floor)
{
    udpai_stored *stored;
    udpai_cause before = store->cause;
    if (before == UDPAI_CAUSE_OTHER)
        store->cause = UDPAI_CAUSE_REMOVAL;
    while ((stored = find_ended(entry, floor)))
        remove_stored(store, stored);
    store->cause = before;
    udpai_floor_make_room(store, floor);
}

static udpa_err
end_all(udpai_store *store, udpa_resource *removal, udpa_bytes *from_node, udpa_bytes *shared_key)
{
    udpai_store_entry *entry = udpai_store_make_entry(store, removal);
    if (!entry)
        return UDPA_ERR_NOMEM;
    udpai_floor *floor = udpai_store_remember_removal(store, entry, removal, from_node, shared_key);
    if (floor)
        end_by(store, entry, floor);
    udpai_store_mark_dirty(store, entry); /* it goes with the next changes, if it is not needed */
    return floor || store->options.remember_max == 0 ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_store_end(udpai_store *store, udpa_resource *removal, udpa_bytes *from_node)
{
    return end_all(store, removal, from_node, NULL);
}

udpa_err
udpai_store_end_replicated(udpai_store *store, udpa_resource *removal)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = udpai_store_removal_key(removal);
    return key ? end_all(store, removal, NULL, key) : UDPA_ERR_NOMEM;
}

/* The table moves while it is emptied, so the contributions are gone through. */
void
udpai_store_end_absences(udpai_store *store,
                         udpai_origin *origin,
                         udpai_str type_url,
                         udpai_absence absence,
                         udpai_absence_end end)
{
    if (origin->absences.n == 0)
        return;
    UDPAI_LIST_FOREACH_SAFE (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if ((type_url.len && !udpai_str_eq(udpai_store_type_url(stored->entry->type), type_url)) ||
            udpai_store_absence_of(stored) != absence)
            continue;
        if (end == UDPAI_ABSENCE_HOLD)
            (void)udpai_store_set_absent(
                store, stored, UDPAI_ABSENCE_HELD); /* which it is already, in another way */
        else if (end == UDPAI_ABSENCE_FORGET)
            udpai_store_drop_absence(store, stored, true);
        else if (end == UDPAI_ABSENCE_LEAVE)
            leave_stored(store, stored);
        else
            remove_stored(store, stored);
    }
}

/* ---- taking it down ---- */

static void
free_contributions(udpai_store *store)
{
    size_t at = 0;
    udpai_origin *origin;
    while ((origin = udpai_map_next(&store->origins, &at)))
        UDPAI_LIST_FOREACH_SAFE (node, &origin->contributions)
            take_out(store, UDPAI_LIST_ENTRY(node, udpai_stored, in_origin));
}

/* Whatever an entry had was removed, and so all are dirty. */
static void
free_entries(udpai_store *store)
{
    udpai_store_recheck_removals(store);
    UDPAI_LIST_FOREACH_SAFE (node, &store->marked) {
        udpai_store_entry *entry = UDPAI_LIST_ENTRY(node, udpai_store_entry, dirty);
        udpai_store_let_go_reported(store, entry);
        entry->is_reported = false;
        entry->reported_by = udpai_origin_unref(store, entry->reported_by);
        udpai_store_release_entry(store, entry);
    }
}

udpai_store *
udpai_store_free(udpai_store *store)
{
    if (!store)
        return NULL;
    store->certain = NULL; /* what knew may be freed */
    udpai_store_forget_frozen(store);
    free_contributions(store);
    udpai_store_forget_all(store);
    free_entries(store);
    udpai_store_free_origins(store);
    udpai_map_done(&store->types);
    udpai_map_done(&store->namespaces);
    udpai_store_free_choices(store);
    udpai_durable_batch_free(store->durable);
    assert(udpai_store_memory(store) == 0);
    udpai_free(store);
    return NULL;
}
