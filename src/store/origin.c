/* SPDX-License-Identifier: Apache-2.0 */
/* Origins of contributions: found, made, kept while they are used, and ordered by precedence. */
#include "store/store_internal.h"

static udpai_origin *
free_origin(udpai_origin *origin)
{
    for (size_t i = 0; i < origin->eligibilities.n; i++)
        udpa_bytes_unref(origin->eligibilities.items[i].type);
    udpai_vector_done(&origin->eligibilities);
    udpai_store_free_absences(origin);
    udpai_list_remove(&origin->idle);
    udpa_bytes_unref(origin->node_id);
    udpai_identity_unref(origin->identity);
    udpa_bytes_unref(origin->key);
    udpai_free(origin);
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
    origin = udpai_alloc(sizeof(*origin));
    if (!origin)
        return NULL;
    origin->rank = UDPAI_ORIGIN_PUBLISHER;
    udpai_list_init(&origin->contributions);
    udpai_list_init(&origin->idle);
    udpai_store_init_absences(origin);
    if (udpa_bytes_new(&origin->key, key.data, key.len) != UDPA_OK ||
        !udpai_map_add(&store->origins, origin))
        return free_origin(origin);
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
    free_origin(origin);
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
udpai_origin_set_identity(udpai_origin *origin, udpai_identity *identity)
{
    udpai_identity_ref(identity);
    udpai_identity_unref(origin->identity);
    origin->identity = identity;
}

udpa_bytes *
udpai_origin_node(const udpai_origin *origin)
{
    return origin->node_id;
}

const udpai_identity *
udpai_origin_identity(const udpai_origin *origin)
{
    return origin->identity;
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
        free_origin(origin);
    udpai_map_done(&store->origins);
}

udpai_str
udpai_origin_key(const udpai_origin *origin)
{
    return udpai_bytes_view(origin->key);
}

udpai_origin_class
udpai_origin_rank(const udpai_origin *origin)
{
    return origin->rank;
}

void
udpai_origin_set_durable(udpai_origin *origin, bool durable)
{
    origin->durable = durable;
}

void
udpai_origin_set_keeps_alive(udpai_origin *origin, bool keeps_alive)
{
    origin->keeps_alive = keeps_alive;
}

bool
udpai_origin_keeps_alive(const udpai_origin *origin)
{
    return origin->keeps_alive;
}

bool
udpai_origin_is_durable(const udpai_origin *origin)
{
    return origin->durable;
}

/* Everything the origin contributes to must be looked at again. */
static void
mark_contributions_dirty(udpai_store *store, udpai_origin *origin, udpai_str type_url)
{
    UDPAI_LIST_FOREACH (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if (type_url.len == 0 || udpai_str_eq(udpai_store_type_url(stored->entry->type), type_url))
            udpai_store_mark_dirty(store, stored->entry);
    }
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
    mark_contributions_dirty(store, origin, (udpai_str){0});
}

void
udpai_origin_set_node(udpai_store *store, udpai_origin *origin, udpa_bytes *node_id)
{
    bool same = node_id == origin->node_id ||
                (node_id && origin->node_id &&
                 udpai_str_eq(udpai_bytes_view(node_id), udpai_bytes_view(origin->node_id)));
    if (same)
        return;
    udpa_bytes_unref(origin->node_id);
    origin->node_id = udpa_bytes_ref(node_id);
    origin->n_node_changes++;
    mark_contributions_dirty(store, origin, (udpai_str){0});
}

static udpai_eligibility *
find_eligibility(const udpai_origin *origin, udpai_str type_url)
{
    for (size_t i = 0; i < origin->eligibilities.n; i++)
        if (udpai_str_eq(udpai_bytes_view(origin->eligibilities.items[i].type), type_url))
            return &origin->eligibilities.items[i];
    return NULL;
}

bool
udpai_origin_is_eligible(const udpai_origin *origin, udpai_str type_url)
{
    const udpai_eligibility *said = find_eligibility(origin, type_url);
    return said ? said->eligible : origin->rank != UDPAI_ORIGIN_SOURCE;
}

udpa_err
udpai_origin_set_eligible(udpai_store *store,
                          udpai_origin *origin,
                          udpai_str type_url,
                          bool eligible)
{
    udpai_eligibility *said = find_eligibility(origin, type_url);
    if (!said) {
        udpai_eligibility fresh = {NULL, !eligible};
        udpa_err err = udpa_bytes_new(&fresh.type, type_url.data, type_url.len);
        if (err != UDPA_OK)
            return err;
        if (!udpai_vector_push(&origin->eligibilities, fresh)) {
            udpa_bytes_unref(fresh.type);
            return UDPA_ERR_NOMEM;
        }
        said = &origin->eligibilities.items[origin->eligibilities.n - 1];
    }
    if (said->eligible != eligible) {
        said->eligible = eligible;
        mark_contributions_dirty(store, origin, type_url);
    }
    return UDPA_OK;
}
