/* SPDX-License-Identifier: Apache-2.0 */
/* One origin of contributions: its key, node and identity, and the types it is eligible for. */
#include "store/store_internal.h"

udpai_str
udpai_origin_key(const udpai_origin *origin)
{
    return udpai_bytes_view(origin->key);
}

size_t
udpai_origin_n_contributions(const udpai_origin *origin)
{
    return origin->n_contributions;
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
udpai_store_mark_origin_dirty(udpai_store *store, udpai_origin *origin, udpai_str type_url)
{
    UDPAI_LIST_FOREACH (node, &origin->contributions) {
        udpai_stored *stored = UDPAI_LIST_ENTRY(node, udpai_stored, in_origin);
        if (type_url.len == 0 || udpai_str_eq(udpai_store_type_url(stored->entry->type), type_url))
            udpai_store_mark_dirty(store, stored->entry);
    }
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
    udpai_store_mark_origin_dirty(store, origin, (udpai_str){0});
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
    const udpai_eligibility *known = find_eligibility(origin, type_url);
    return known ? known->eligible : origin->rank != UDPAI_ORIGIN_SOURCE;
}

udpa_err
udpai_origin_set_eligible(udpai_store *store,
                          udpai_origin *origin,
                          udpai_str type_url,
                          bool eligible)
{
    udpai_eligibility *known = find_eligibility(origin, type_url);
    if (!known) {
        udpai_eligibility fresh = {NULL, !eligible};
        udpa_err err = udpa_bytes_new(&fresh.type, type_url.data, type_url.len);
        if (err != UDPA_OK)
            return err;
        if (!udpai_vector_push(&origin->eligibilities, fresh)) {
            udpa_bytes_unref(fresh.type);
            return UDPA_ERR_NOMEM;
        }
        known = &origin->eligibilities.items[origin->eligibilities.n - 1];
    }
    if (known->eligible != eligible) {
        known->eligible = eligible;
        udpai_store_mark_origin_dirty(store, origin, type_url);
    }
    return UDPA_OK;
}
