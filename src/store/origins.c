/* SPDX-License-Identifier: Apache-2.0 */
/* The origins of a store: found, made, kept while they are used, and ranked. */
#include "store/store_internal.h"

static udpai_origin *
free_origin(udpai_store *store, udpai_origin *origin)
{
    for (size_t i = 0; i < origin->eligibilities.n; i++)
        udpa_bytes_unref(origin->eligibilities.items[i].type);
    udpai_vector_done(&origin->eligibilities);
    udpai_store_free_absences(origin);
    udpai_list_remove(&origin->idle);
    udpa_bytes_unref(origin->node_id);
    udpai_identity_unref(origin->identity);
    udpa_bytes_unref(origin->key);
    udpai_free_in(&store->memory, origin, sizeof(*origin));
    return NULL;
}

udpai_origin *
udpai_store_find_origin(udpai_store *store, udpai_str key)
{
    return udpai_map_get(&store->origins, key);
}

udpai_origin *
udpai_store_origin(udpai_store *store, udpai_str key)
{
    udpai_origin *origin = udpai_store_find_origin(store, key);
    if (origin)
        return origin;
    origin = udpai_alloc_in(&store->memory, sizeof(*origin));
    if (!origin)
        return NULL;
    origin->rank = UDPAI_ORIGIN_PUBLISHER;
    udpai_list_init(&origin->contributions);
    udpai_list_init(&origin->idle);
    udpai_store_init_absences(origin);
    if (udpa_bytes_new(&origin->key, key.data, key.len) != UDPA_OK ||
        !udpai_map_add(&store->origins, origin))
        return free_origin(store, origin);
    udpai_store_note_idle(store, origin);
    return origin;
}

static void
drop_if_unused(udpai_store *store, udpai_origin *origin)
{
    if (origin->rank != UDPAI_ORIGIN_PUBLISHER || origin->refs ||
        !udpai_list_empty(&origin->contributions))
        return;
    udpai_map_remove(&store->origins, udpai_origin_key(origin));
    free_origin(store, origin);
}

udpai_origin *
udpai_origin_ref(udpai_origin *origin)
{
    origin->refs++;
    return origin;
}

udpai_origin *
udpai_origin_unref(udpai_store *store, udpai_origin *origin)
{
    if (origin && --origin->refs == 0)
        drop_if_unused(store, origin);
    return NULL;
}

void
udpai_store_visit_origins(const udpai_store *store, udpai_store_origin_fn visit, void *userdata)
{
    size_t at = 0;
    udpai_origin *origin;
    while ((origin = udpai_map_next(&store->origins, &at)))
        visit(userdata, origin);
}

void
udpai_store_note_idle(udpai_store *store, udpai_origin *origin)
{
    udpai_list_remove(&origin->idle);
    udpai_list_append(&store->idle, &origin->idle);
}

void
udpai_store_drop_idle(udpai_store *store)
{
    udpai_list *node;
    while ((node = udpai_list_pop(&store->idle)))
        drop_if_unused(store, UDPAI_LIST_ENTRY(node, udpai_origin, idle));
}

void
udpai_store_free_origins(udpai_store *store)
{
    size_t at = 0;
    udpai_origin *origin;
    while ((origin = udpai_map_next(&store->origins, &at)))
        free_origin(store, origin);
    udpai_map_done(&store->origins);
}

void
udpai_origin_set_rank(udpai_store *store,
                      udpai_origin *origin,
                      udpai_origin_class rank,
                      unsigned order)
{
    if (origin->rank == rank && origin->order == order)
        return;
    udpai_store_change_rank(store, origin, rank);
    origin->order = order;
    udpai_store_note_idle(store, origin); /* it may have become one of those that go */
    udpai_store_mark_origin_dirty(store, origin, (udpai_str){0});
}
