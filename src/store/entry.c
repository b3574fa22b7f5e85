/* SPDX-License-Identifier: Apache-2.0 */
/* The table of types and names. */
#include "store/store_internal.h"

#include "model/client_type.h"

/* What the entry has its name from; NULL: nothing has it. */
static const udpa_resource *
named_resource(const udpai_store_entry *entry)
{
    const udpai_store_more *more = entry->more;
    if (entry->first.resource || entry->reported)
        return entry->first.resource ? entry->first.resource : entry->reported;
    if (more && more->contributions.n)
        return more->contributions.items[0]->resource;
    return more && more->floors.n ? more->floors.items[0]->seen : NULL;
}

udpai_str
udpai_store_entry_name(const udpai_store_entry *entry)
{
    return udpai_resource_name(named_resource(entry));
}

void
udpai_store_keep_name(udpai_store_entry *entry, udpa_resource *removed)
{
    if (!named_resource(entry))
        entry->reported = udpa_resource_ref(removed);
}

void
udpai_store_drop_name(udpai_store_entry *entry)
{
    if (entry->is_reported)
        return;
    udpa_resource *kept = UDPAI_TAKE(entry->reported);
    if (kept)
        udpai_store_keep_name(entry, kept);
    udpa_resource_unref(kept);
}

static udpai_str
entry_key(const void *item)
{
    return udpai_store_entry_name(item);
}

udpai_store_type *
udpai_store_find_type(const udpai_store *store, udpai_str type_url)
{
    return udpai_map_get(&store->types, type_url);
}

udpai_store_entry *
udpai_store_find_entry(const udpai_store *store, udpai_str type_url, udpai_str name)
{
    udpai_store_type *type = udpai_store_find_type(store, type_url);
    return type ? udpai_map_get(&type->entries, name) : NULL;
}

static udpai_store_type *
make_type(udpai_store *store, const udpa_resource *resource)
{
    udpai_store_type *type = udpai_store_find_type(store, udpai_resource_type_url(resource));
    if (type)
        return type;
    type = udpai_alloc_in(&store->memory, sizeof(*type));
    if (!type)
        return NULL;
    type->store = store;
    type->url = udpa_bytes_ref(udpai_resource_type(resource));
    type->is_client = udpai_type_is_client(udpai_resource_type_url(resource));
    udpai_map_init_in(&type->entries, entry_key, &store->memory);
    if (!udpai_map_add(&store->types, type)) {
        udpa_bytes_unref(type->url);
        udpai_free_in(&store->memory, type, sizeof(*type));
        return NULL;
    }
    return type;
}

static void
drop_type_if_empty(udpai_store *store, udpai_store_type *type)
{
    if (type->entries.n)
        return;
    udpai_map_remove(&store->types, udpai_store_type_url(type));
    udpai_map_done(&type->entries);
    udpa_bytes_unref(type->url);
    udpai_free_in(&store->memory, type, sizeof(*type));
}

udpai_store_entry *
udpai_store_make_entry(udpai_store *store, udpa_resource *resource)
{
    udpai_store_type *type = make_type(store, resource);
    if (!type)
        return NULL;
    udpai_store_entry *entry = udpai_map_get(&type->entries, udpai_resource_name(resource));
    if (entry)
        return entry;
    entry = udpai_alloc_in(&store->memory, sizeof(*entry));
    if (entry) {
        entry->type = type;
        entry->reported = udpa_resource_ref(resource);
        udpai_list_init(&entry->dirty);
        if (udpai_map_add(&type->entries, entry))
            return entry;
        udpa_resource_unref(entry->reported);
    }
    udpai_free_in(&store->memory, entry, sizeof(*entry));
    drop_type_if_empty(store, type);
    return NULL;
}

static void
free_more(udpai_store *store, udpai_store_more *more)
{
    if (!more)
        return;
    udpai_vector_done_in(&store->memory, &more->contributions);
    udpai_vector_done_in(&store->memory, &more->floors);
    udpa_resource_unref(more->restored);
    udpai_free_in(&store->memory, more, sizeof(*more));
}

void
udpai_store_release_entry(udpai_store *store, udpai_store_entry *entry)
{
    size_t at = 0;
    if (udpai_store_next(entry, &at) || udpai_store_n_floors(entry) || entry->is_reported ||
        entry->is_frozen)
        return;
    udpai_store_type *type = entry->type;
    udpai_map_remove(&type->entries, udpai_store_entry_name(entry));
    udpai_list_remove(&entry->dirty);
    udpa_resource_unref(entry->reported);
    free_more(store, entry->more);
    udpai_free_in(&store->memory, entry, sizeof(*entry));
    drop_type_if_empty(store, type);
}

void
udpai_store_mark_dirty(udpai_store *store, udpai_store_entry *entry)
{
    udpai_list_remove(&entry->dirty);
    udpai_list_append(&store->marked, &entry->dirty);
}

udpai_stored *
udpai_store_entry_of_origin(const udpai_store_entry *entry, const udpai_origin *origin)
{
    size_t at = 0;
    udpai_stored *stored;
    while ((stored = udpai_store_next(entry, &at)))
        if (stored->origin == origin)
            return stored;
    return NULL;
}

udpai_stored *
udpai_store_find_stored(const udpai_store *store,
                        const udpai_origin *origin,
                        udpai_str type_url,
                        udpai_str name)
{
    const udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    return entry ? udpai_store_entry_of_origin(entry, origin) : NULL;
}

udpai_stored *
udpai_store_next(const udpai_store_entry *entry, size_t *position)
{
    const udpai_store_more *more = entry->more;
    size_t at = (*position)++;
    if (at == 0 && entry->first.origin)
        return (udpai_stored *)(uintptr_t)&entry->first;
    if (at == 0)
        at = (*position)++;
    return more && at <= more->contributions.n ? more->contributions.items[at - 1] : NULL;
}

udpai_stored *
udpai_store_effective(const udpai_store_entry *entry)
{
    udpai_stored *stored =
        entry->is_effective ? udpai_store_entry_of_origin(entry, entry->reported_by) : NULL;
    bool waits = stored && entry->is_frozen && stored->resource != entry->reported;
    return waits ? NULL : stored;
}

udpa_resource *
udpai_store_reported(const udpai_store_entry *entry)
{
    return entry->is_reported ? entry->reported : NULL;
}

udpai_store_more *
udpai_store_more_of(udpai_store_entry *entry)
{
    if (!entry->more)
        entry->more = udpai_alloc_in(&entry->type->store->memory, sizeof(*entry->more));
    return entry->more;
}
