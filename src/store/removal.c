/* SPDX-License-Identifier: Apache-2.0 */
/* Removals: with a generation, by which an authority states that what it had of a name is removed.
 * One ends what is older on whatever path it came, and remains as a floor, so that a peer that was
 * away and still has it does not bring it back. */
#include "store/store_internal.h"

#include "base/strbuf.h"
#include "model/removal.h"

static const char removal_key[] = "said:", seen_key[] = "seen:";

udpai_floor *
udpai_store_find_removal(const udpai_store_entry *entry, const udpai_stored *now)
{
    const udpa_resource *reported = udpai_store_reported(entry);
    udpai_floor *found = NULL;
    for (size_t i = 0; i < udpai_store_n_floors(entry); i++) {
        udpai_floor *floor = entry->more->floors.items[i];
        if (!floor->is_removal || (now && udpai_store_comparable(floor->seen, now->resource)))
            continue;
        if (reported && udpai_floor_ends(floor, reported))
            return floor;
        if (floor->is_unsent)
            found = floor;
    }
    return found;
}

uint64_t
udpai_store_removal_generation(const udpai_store *store, const udpa_resource *resource)
{
    const udpai_store_entry *entry = udpai_store_find_entry(
        store, udpai_resource_type_url(resource), udpai_resource_name(resource));
    uint64_t highest = 0;
    for (size_t i = 0; entry && i < udpai_store_n_floors(entry); i++) {
        const udpai_floor *floor = entry->more->floors.items[i];
        if (floor->is_removal && udpai_store_comparable(floor->seen, resource) &&
            udpa_resource_generation(floor->seen) > highest)
            highest = udpa_resource_generation(floor->seen);
    }
    return highest;
}

static bool
visit_list(const udpai_list *list, udpai_store_removal_fn visit, void *userdata)
{
    UDPAI_LIST_FOREACH (at, list) {
        const udpai_floor *floor = UDPAI_LIST_ENTRY(at, udpai_floor, in_store);
        bool is_own = floor->is_removal && !floor->from_node && !floor->entry->type->is_client;
        if (is_own && !visit(userdata, floor->seen, floor->expiry.due_ms, floor->shared_key))
            return false;
    }
    return true;
}

void
udpai_store_visit_removals(const udpai_store *store, udpai_store_removal_fn visit, void *userdata)
{
    if (visit_list(&store->floors.list, visit, userdata))
        (void)visit_list(&store->signed_floors.list, visit, userdata);
}

void
udpai_store_forget_name(udpai_store *store, udpai_str type_url, udpai_str name)
{
    udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    for (size_t i = entry ? udpai_store_n_floors(entry) : 0; i-- > 0;) {
        udpai_floor *floor = entry->more->floors.items[i];
        udpai_store_unkeep_removal(store, floor);
        udpai_store_unkeep_seen(store, floor);
        udpai_store_forget(store, floor);
    }
    if (entry)
        udpai_store_mark_dirty(store, entry);
}

/* ---- keeping them ---- */

void
udpai_store_set_keeps_removals(udpai_store *store, bool keeps)
{
    store->keeps_removals = keeps;
}

bool
udpai_store_is_removal_key(udpai_str origin_key)
{
    return udpai_str_starts(origin_key, udpai_str_from(removal_key));
}

void
udpai_store_set_forgettable(udpai_store *store, udpai_store_forgettable_fn notify, void *userdata)
{
    store->forgettable = notify;
    store->forgettable_userdata = userdata;
}

bool
udpai_store_is_seen_key(udpai_str origin_key)
{
    return udpai_str_starts(origin_key, udpai_str_from(seen_key));
}

static bool
is_same(const udpa_bytes *a, const udpa_bytes *b)
{
    return udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b));
}

/* One for each set of generations that compare, so that of a name there may be several. */
static udpa_bytes *
key_of(const char *kind, const udpa_resource *seen)
{
    udpai_hop hop = {0};
    if (udpa_resource_n_hops(seen))
        hop = udpai_resource_hop(seen, 0);
    udpai_str authority = udpai_resource_authority(seen);
    udpai_strbuf key = {0};
    udpai_strbuf_printf(&key, "%s%d:%zu:%zu:", kind, udpai_resource_signature(seen) != NULL,
                        authority.len, hop.node_id.len);
    udpai_strbuf_str(&key, authority);
    udpai_strbuf_str(&key, hop.node_id);
    udpai_strbuf_str(&key, hop.authority);
    return udpai_bytes_of(&key);
}

/* What came by another path since, replicas do not have: it ends here by itself. */
static void
forget_removal(udpai_store *store, udpai_floor *floor)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(removal_key, floor->seen);
    bool is_theirs = key && is_same(key, floor->shared_key);
    udpa_bytes_unref(floor->shared_key);
    floor->shared_key = NULL;
    udpai_floor_set_forgettable(store, floor, false);
    if (!is_theirs || udpai_floor_is_needed(floor)) {
        udpai_floor_renew(store, floor);
        return;
    }
    udpai_store_unkeep_removal(store, floor);
    udpai_store_unkeep_seen(store, floor);
    udpai_store_forget(store, floor);
}

void
udpai_store_forget_removal(udpai_store *store, udpai_str key, udpai_str type_url, udpai_str name)
{
    udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    for (size_t i = entry ? udpai_store_n_floors(entry) : 0; i-- > 0;) {
        udpai_floor *floor = entry->more->floors.items[i];
        if (floor->shared_key && udpai_str_eq(udpai_bytes_view(floor->shared_key), key))
            forget_removal(store, floor);
    }
    if (entry)
        udpai_store_mark_dirty(store, entry);
}

udpa_bytes *
udpai_store_removal_key(const udpa_resource *resource)
{
    return key_of(removal_key, resource);
}

static bool
may_be_kept(const udpai_store *store, const udpai_floor *floor)
{
    return store->keeps_removals && !store->loading && !floor->entry->type->is_client;
}

static void
keep(udpai_store *store, const udpai_floor *floor, const char *kind, udpa_resource *seen)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = seen ? key_of(kind, seen) : NULL;
    if (!key) {
        store->durable_incomplete = true;
        return;
    }
    bool ends_here = !floor->shared_key || !is_same(floor->shared_key, key);
    udpai_store_add_durable(store, &(udpai_durable_op){
                                       .kind = UDPAI_DURABLE_PUT,
                                       .origin = key,
                                       .resource = seen,
                                       .deadline_ms = ends_here ? floor->expiry.due_ms : 0,
                                   });
}

udpa_err
udpai_store_add_removal(const udpai_store *store,
                        udpa_resource *removal,
                        udpai_durable_batch *batch)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(removal_key, removal);
    uint64_t due_ms = store->wheel->now_ms + udpai_store_time_to_remember(store, removal);
    if (!key)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_PUT,
                                              .origin = key,
                                              .resource = removal,
                                              .deadline_ms = due_ms,
                                          });
}

/* Without memory it stays until it ends. */
static void
unkeep(udpai_store *store, const udpai_floor *floor, const char *kind)
{
    udpai_str text = udpai_resource_name(floor->seen);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(kind, floor->seen), *name = NULL;
    if (key && udpa_bytes_new(&name, text.data, text.len) == UDPA_OK)
        udpai_store_add_durable(store, &(udpai_durable_op){
                                           .kind = UDPAI_DURABLE_DELETE,
                                           .origin = key,
                                           .type = floor->entry->type->url,
                                           .name = name,
                                       });
}

void
udpai_store_keep_removal(udpai_store *store, const udpai_floor *floor)
{
    if (floor->is_removal && may_be_kept(store, floor))
        keep(store, floor, removal_key, floor->seen);
}

void
udpai_store_unkeep_removal(udpai_store *store, const udpai_floor *floor)
{
    if (floor->is_removal && may_be_kept(store, floor))
        unkeep(store, floor, removal_key);
}

void
udpai_store_keep_seen(udpai_store *store, udpai_floor *floor)
{
    if (!may_be_kept(store, floor))
        return;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *seen = udpai_removal_of(floor->seen, floor->generation);
    keep(store, floor, seen_key, seen);
    floor->is_kept = true;
}

void
udpai_store_unkeep_seen(udpai_store *store, udpai_floor *floor)
{
    if (floor->is_kept && may_be_kept(store, floor))
        unkeep(store, floor, seen_key);
    floor->is_kept = false;
}
