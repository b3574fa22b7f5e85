/* SPDX-License-Identifier: Apache-2.0 */
/* Names of which other sources count than of the rest of their type. */
#include "store/store_internal.h"

typedef struct store_choice {
    udpai_list in_name;
    udpa_bytes *type;
    size_t n;
    udpai_origin *origins[];
} store_choice;

/* Of each type that has this name. */
typedef struct chosen_name {
    udpai_list choices; /* never empty, but while the first one is made */
    udpa_bytes *name;
} chosen_name;

udpai_str
udpai_store_choice_key(const void *item)
{
    return udpai_bytes_view(((const chosen_name *)item)->name);
}

static store_choice *
find_in(const chosen_name *of, udpai_str type_url)
{
    UDPAI_LIST_FOREACH (at, &of->choices) {
        store_choice *choice = UDPAI_LIST_ENTRY(at, store_choice, in_name);
        if (udpai_str_eq(udpai_bytes_view(choice->type), type_url))
            return choice;
    }
    return NULL;
}

static store_choice *
find(const udpai_store *store, udpai_str type_url, udpai_str name)
{
    const chosen_name *of = udpai_map_get(&store->choices, name);
    return of ? find_in(of, type_url) : NULL;
}

/* NULL: what holds for the type holds for it. */
static const store_choice *
choice_for(const udpai_store_entry *entry, const udpai_origin *origin)
{
    const udpai_store *store = entry->type->store;
    return store->choices.n && origin->rank == UDPAI_ORIGIN_SOURCE
               ? find(store, udpai_store_type_url(entry->type), udpai_store_entry_name(entry))
               : NULL;
}

/* choice->n: it was not chosen. */
static size_t
place_in(const store_choice *choice, const udpai_origin *origin)
{
    size_t i = 0;
    while (i < choice->n && choice->origins[i] != origin)
        i++;
    return i;
}

bool
udpai_store_counts(const udpai_store_entry *entry, const udpai_origin *origin)
{
    const store_choice *choice = choice_for(entry, origin);
    return choice ? place_in(choice, origin) < choice->n
                  : udpai_origin_is_eligible(origin, udpai_store_type_url(entry->type));
}

unsigned
udpai_store_order(const udpai_store_entry *entry, const udpai_origin *origin)
{
    const store_choice *choice = choice_for(entry, origin);
    return choice ? (unsigned)place_in(choice, origin) : origin->order;
}

static void
mark_dirty(udpai_store *store, udpai_str type_url, udpai_str name)
{
    udpai_store_entry *entry = udpai_store_find_entry(store, type_url, name);
    if (entry)
        udpai_store_mark_dirty(store, entry);
}

static void
free_choice(store_choice *choice)
{
    udpai_list_remove(&choice->in_name);
    udpa_bytes_unref(choice->type);
    udpai_free(choice);
}

static void
free_name(chosen_name *of)
{
    udpa_bytes_unref(of->name);
    udpai_free(of);
}

static store_choice *
new_choice(udpai_str type_url, udpai_origin *const *origins, size_t n)
{
    store_choice *choice = udpai_alloc(sizeof(*choice) + n * sizeof(choice->origins[0]));
    if (!choice)
        return NULL;
    udpai_list_init(&choice->in_name);
    choice->n = n;
    for (size_t i = 0; i < n; i++)
        choice->origins[i] = origins[i];
    if (udpa_bytes_new(&choice->type, type_url.data, type_url.len) == UDPA_OK)
        return choice;
    free_choice(choice);
    return NULL;
}

static bool
is_same(const store_choice *choice, udpai_origin *const *origins, size_t n)
{
    return choice && choice->n == n &&
           (n == 0 || memcmp(choice->origins, origins, n * sizeof(origins[0])) == 0);
}

static chosen_name *
make_name(udpai_store *store, udpai_str name)
{
    chosen_name *of = udpai_map_get(&store->choices, name);
    if (of)
        return of;
    of = udpai_alloc(sizeof(*of));
    if (!of)
        return NULL;
    udpai_list_init(&of->choices);
    if (udpa_bytes_new(&of->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&store->choices, of))
        return of;
    free_name(of);
    return NULL;
}

udpa_err
udpai_store_choose(
    udpai_store *store, udpai_str type_url, udpai_str name, udpai_origin *const *origins, size_t n)
{
    store_choice *before = find(store, type_url, name);
    if (is_same(before, origins, n))
        return UDPA_OK;
    store_choice *choice = new_choice(type_url, origins, n);
    chosen_name *of = choice ? make_name(store, name) : NULL;
    if (!of) {
        if (choice)
            free_choice(choice);
        return UDPA_ERR_NOMEM;
    }
    udpai_list_append(&of->choices, &choice->in_name);
    if (before)
        free_choice(before);
    mark_dirty(store, type_url, name);
    return UDPA_OK;
}

void
udpai_store_choose_no_more(udpai_store *store, udpai_str type_url, udpai_str name)
{
    store_choice *choice = find(store, type_url, name);
    if (!choice)
        return;
    free_choice(choice);
    chosen_name *of = udpai_map_get(&store->choices, name);
    if (udpai_list_empty(&of->choices)) {
        udpai_map_remove(&store->choices, name);
        free_name(of);
    }
    mark_dirty(store, type_url, name);
}

void
udpai_store_free_choices(udpai_store *store)
{
    size_t at = 0;
    chosen_name *of;
    while ((of = udpai_map_next(&store->choices, &at))) {
        while (!udpai_list_empty(&of->choices))
            free_choice(UDPAI_LIST_ENTRY(of->choices.next, store_choice, in_name));
        free_name(of);
    }
    udpai_map_done(&store->choices);
}
