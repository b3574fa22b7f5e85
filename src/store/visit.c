/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into the store. */
#include "store/store_internal.h"

#include <stdlib.h>

#include "model/name.h"

static udpai_contribution
describe(const udpai_stored *stored)
{
    return (udpai_contribution){
        .origin = stored->origin,
        .resource = stored->resource,
        .deadline_ms = udpai_stored_deadline(stored),
        .eligible = udpai_store_counts(stored->entry, stored->origin),
        .superseded = udpai_store_is_superseded(stored),
        .effective = udpai_store_effective(stored->entry) == stored,
        .absence = udpai_store_absence_of(stored),
    };
}

bool
udpai_store_get(const udpai_store *store,
                const udpai_origin *origin,
                udpai_str type_url,
                udpai_str name,
                udpai_contribution *ret_contribution)
{
    const udpai_stored *stored = udpai_store_find_stored(store, origin, type_url, name);
    if (stored)
        *ret_contribution = describe(stored);
    return stored != NULL;
}

bool
udpai_store_is_outlived(const udpai_store *store, const udpa_resource *resource)
{
    const udpai_store_entry *entry = udpai_store_find_entry(
        store, udpai_resource_type_url(resource), udpai_resource_name(resource));
    return entry && udpai_store_outlives(entry, resource);
}

/* Whichever is less: what there is of the type, or what the origin has. */
bool
udpai_origin_has(const udpai_store *store, const udpai_origin *origin, udpai_str type_url)
{
    const udpai_store_type *type = udpai_store_find_type(store, type_url);
    if (!type)
        return false;
    if (type->entries.n > origin->n_contributions) {
        UDPAI_LIST_FOREACH (node, &origin->contributions)
            if (UDPAI_LIST_ENTRY(node, udpai_stored, in_origin)->entry->type == type)
                return true;
        return false;
    }
    size_t at = 0;
    const udpai_store_entry *entry;
    while ((entry = udpai_map_next(&type->entries, &at)))
        if (udpai_store_entry_of_origin(entry, origin))
            return true;
    return false;
}

size_t
udpai_store_n_variants(const udpai_origin *origin)
{
    return origin->n_variants;
}

size_t
udpai_store_n_aliased(const udpai_origin *origin)
{
    return origin->n_aliased;
}

void
udpai_store_visit_origin(const udpai_store *store,
                         const udpai_origin *origin,
                         udpai_str type_url,
                         udpai_store_visit_fn visit,
                         void *userdata)
{
    (void)store;
    UDPAI_LIST_FOREACH (node, &origin->contributions) {
        const udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if (type_url.len && !udpai_str_eq(udpai_store_type_url(stored->entry->type), type_url))
            continue;
        udpai_contribution contribution = describe(stored);
        if (!visit(userdata, &contribution))
            return;
    }
}

struct origin_visit {
    udpai_store_visit_fn visit;
    void *userdata;
    bool goes_on;
};

static bool
visit_one(void *userdata, const udpai_contribution *contribution)
{
    struct origin_visit *of = userdata;
    of->goes_on = of->visit(of->userdata, contribution);
    return of->goes_on;
}

void
udpai_store_visit_all(const udpai_store *store, udpai_store_visit_fn visit, void *userdata)
{
    struct origin_visit of = {visit, userdata, true};
    size_t at = 0;
    const udpai_origin *origin;
    while (of.goes_on && (origin = udpai_map_next(&store->origins, &at)))
        udpai_store_visit_origin(store, origin, (udpai_str){0}, visit_one, &of);
}

static int
compare_stored(const void *a, const void *b)
{
    const udpai_stored *x = *(udpai_stored *const *)a, *y = *(udpai_stored *const *)b;
    const udpai_stored *effective = udpai_store_effective(x->entry);
    bool x_counts = effective == x, y_counts = effective == y;
    return x_counts != y_counts ? y_counts - x_counts : udpai_store_compare(x, y);
}

void
udpai_store_visit_name(const udpai_store *store,
                       udpai_str type_url,
                       udpai_str name,
                       udpai_store_visit_fn visit,
                       void *userdata)
{
    udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    const udpai_stored *first = entry && entry->first.origin ? &entry->first : NULL;
    size_t n = entry && entry->more ? entry->more->contributions.n : 0;
    udpai_stored **others = n ? entry->more->contributions.items : NULL;
    if (n > 1)
        qsort(others, n, sizeof(udpai_stored *), compare_stored);
    for (size_t i = 0; i < n || first;) {
        bool is_first = first && (i == n || compare_stored(&first, &others[i]) < 0);
        udpai_contribution contribution = describe(is_first ? first : others[i++]);
        if (!visit(userdata, &contribution))
            return;
        first = is_first ? NULL : first;
    }
}

static bool
visit_type(const udpai_store_type *type,
           udpai_str prefix,
           udpai_store_visit_fn visit,
           void *userdata)
{
    size_t at = 0;
    const udpai_store_entry *entry;
    while ((entry = udpai_map_next(&type->entries, &at))) {
        const udpai_stored *effective = udpai_store_effective(entry);
        if (!effective || !udpai_prefix_covers(prefix, udpai_store_entry_name(entry)))
            continue;
        udpai_contribution contribution = describe(effective);
        if (!visit(userdata, &contribution))
            return false;
    }
    return true;
}

void
udpai_store_visit_effective(const udpai_store *store,
                            udpai_str type_url,
                            udpai_str prefix,
                            udpai_store_visit_fn visit,
                            void *userdata)
{
    size_t at = 0;
    const udpai_store_type *type;
    while ((type = udpai_map_next(&store->types, &at))) {
        if (type_url.len && !udpai_str_eq(udpai_store_type_url(type), type_url))
            continue;
        if (!visit_type(type, prefix, visit, userdata))
            return;
    }
}

void
udpai_store_visit_reported(const udpai_store *store,
                           udpai_str type_url,
                           udpai_store_reported_fn visit,
                           void *userdata)
{
    const udpai_store_type *type = udpai_store_find_type(store, type_url);
    size_t at = 0;
    const udpai_store_entry *entry;
    while (type && (entry = udpai_map_next(&type->entries, &at)))
        if (entry->is_reported && !visit(userdata, entry->reported))
            return;
}

uint64_t
udpai_store_highest_generation(const udpai_store *store, udpai_str type_url, udpai_str name)
{
    const udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    uint64_t highest = 0;
    size_t at = 0;
    const udpai_stored *stored;
    while (entry && (stored = udpai_store_next(entry, &at))) {
        uint64_t generation = udpa_resource_generation(stored->resource);
        highest = generation > highest ? generation : highest;
    }
    for (size_t i = 0; entry && i < udpai_store_n_floors(entry); i++)
        if (entry->more->floors.items[i]->generation > highest)
            highest = entry->more->floors.items[i]->generation;
    return highest;
}

size_t
udpai_store_n_overdue(const udpai_store *store)
{
    return store->n_overdue;
}

size_t
udpai_store_n_contributions(const udpai_store *store)
{
    return store->n_contributions;
}

void
udpai_store_visit_types(const udpai_store *store, udpai_store_type_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_store_type *type;
    while ((type = udpai_map_next(&store->types, &at)))
        if (!visit(userdata, udpai_store_type_url(type), type->n_effective))
            return;
}
