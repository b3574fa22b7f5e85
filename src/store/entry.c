/* SPDX-License-Identifier: Apache-2.0 */
/* The table of types and names. */
#include "store/store_internal.h"

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
    type = udpai_alloc(sizeof(*type));
    if (!type)
        return NULL;
    type->store = store;
    type->url = udpa_bytes_ref(udpai_resource_type(resource));
    udpai_map_init(&type->entries, entry_key);
    if (!udpai_map_add(&store->types, type)) {
        udpa_bytes_unref(type->url);
        udpai_free(type);
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
    udpai_free(type);
}

udpai_store_entry *
udpai_store_make_entry(udpai_store *store, const udpa_resource *resource)
{
    udpai_store_type *type = make_type(store, resource);
    if (!type)
        return NULL;
    udpai_str name = udpai_resource_name(resource);
    udpai_store_entry *entry = udpai_map_get(&type->entries, name);
    if (entry)
        return entry;
    entry = udpai_alloc(sizeof(*entry));
    if (entry && udpa_bytes_new(&entry->name_holder, name.data, name.len) == UDPA_OK) {
        entry->type = type;
        udpai_list_init(&entry->dirty);
        if (udpai_map_add(&type->entries, entry))
            return entry;
        udpa_bytes_unref(entry->name_holder);
    }
    udpai_free(entry);
    drop_type_if_empty(store, type);
    return NULL;
}

void
udpai_store_release_entry(udpai_store *store, udpai_store_entry *entry)
{
    if (entry->contributions.n || entry->floors.n || entry->told)
        return;
    udpai_store_type *type = entry->type;
    udpai_map_remove(&type->entries, udpai_store_entry_name(entry));
    udpai_list_remove(&entry->dirty);
    udpai_vector_done(&entry->contributions);
    udpai_vector_done(&entry->floors);
    udpa_bytes_unref(entry->told_node);
    udpa_bytes_unref(entry->name_holder);
    udpai_free(entry);
    drop_type_if_empty(store, type);
}

void
udpai_store_mark_dirty(udpai_store *store, udpai_store_entry *entry)
{
    udpai_list_remove(&entry->dirty);
    udpai_list_append(&store->dirty, &entry->dirty);
}

udpai_stored *
udpai_store_entry_of_origin(const udpai_store_entry *entry, const udpai_origin *origin)
{
    for (size_t i = 0; i < entry->contributions.n; i++)
        if (entry->contributions.items[i]->origin == origin)
            return entry->contributions.items[i];
    return NULL;
}
