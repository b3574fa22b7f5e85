/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_sweep.h"

#include "base/vector.h"
#include "federation/places.h"
#include "federation/publishers.h"
#include "model/client_type.h"

/* References. */
struct forgotten {
    udpa_bytes *key;
    udpa_resource *removal;
};

struct sweep {
    udpai_store *store;
    const udpai_shares *shares;
    udpai_places *there;
    size_t n; /* that it has */
    UDPAI_VECTOR(udpa_resource *) gone;
    UDPAI_VECTOR(struct forgotten) forgotten;
    bool has_failed;
};

static bool
look(void *userdata, const udpai_contribution *held)
{
    struct sweep *sweep = userdata;
    const udpai_place place = {
        .origin = udpai_origin_key(held->origin),
        .type_url = udpai_resource_type_url(held->resource),
        .name = udpai_resource_name(held->resource),
    };
    udpa_err err = udpai_places_find(sweep->there, &place);
    sweep->has_failed |= err == UDPA_ERR_NOMEM;
    if (err == UDPA_ERR_NOT_FOUND)
        sweep->has_failed |= !udpai_vector_push(&sweep->gone, held->resource);
    if (err == UDPA_ERR_NOT_FOUND && !sweep->has_failed)
        udpa_resource_ref(held->resource);
    return !sweep->has_failed;
}

/* Else this node has it by itself. */
static bool
is_all_in_etcd(const struct sweep *sweep, udpai_str key)
{
    const udpai_share *share = udpai_shares_find(sweep->shares, key);
    return share ? share->is_marked : udpai_publisher_is_key(key);
}

/* Also of shares of which not all may be in etcd: what is held of a list is counted so. */
static void
count(void *userdata, udpai_origin *origin)
{
    struct sweep *sweep = userdata;
    udpai_str key = udpai_origin_key(origin);
    if (udpai_publisher_is_key(key) || udpai_shares_find(sweep->shares, key))
        sweep->n += udpai_origin_n_contributions(origin);
}

static void
sweep_origin(void *userdata, udpai_origin *origin)
{
    struct sweep *sweep = userdata;
    udpai_store *store = sweep->store;
    if (sweep->has_failed || !is_all_in_etcd(sweep, udpai_origin_key(origin)))
        return;
    sweep->gone.n = 0;
    udpai_store_visit_origin(store, origin, (udpai_str){0}, look, sweep);
    for (size_t i = 0; i < sweep->gone.n; i++) {
        udpa_resource *gone = sweep->gone.items[i];
        if (!udpai_type_is_client(udpai_resource_type_url(gone)))
            udpai_store_withdraw(store, origin, udpai_resource_type_url(gone),
                                 udpai_resource_name(gone));
        udpa_resource_unref(gone);
    }
}

/* ---- removals ---- */

static bool
look_at_removal(void *userdata,
                udpa_resource *removal,
                uint64_t deadline_ms,
                udpa_bytes *shared_key)
{
    struct sweep *sweep = userdata;
    (void)deadline_ms;
    if (!shared_key)
        return true;
    const udpai_place place = {
        .origin = udpai_bytes_view(shared_key),
        .type_url = udpai_resource_type_url(removal),
        .name = udpai_resource_name(removal),
    };
    const struct forgotten forgotten = {shared_key, removal};
    udpa_err err = udpai_places_find(sweep->there, &place);
    if (err == UDPA_ERR_NOT_FOUND && udpai_vector_push(&sweep->forgotten, forgotten)) {
        udpa_bytes_ref(shared_key);
        udpa_resource_ref(removal);
    } else if (err != UDPA_OK) {
        sweep->has_failed = true;
    }
    return !sweep->has_failed;
}

/* What all replicas have forgotten meanwhile. */
static void
sweep_removals(struct sweep *sweep)
{
    udpai_store_visit_removals(sweep->store, look_at_removal, sweep);
    for (size_t i = 0; i < sweep->forgotten.n; i++) {
        struct forgotten *one = &sweep->forgotten.items[i];
        udpai_store_forget_removal(sweep->store, udpai_bytes_view(one->key),
                                   udpai_resource_type_url(one->removal),
                                   udpai_resource_name(one->removal));
        udpa_bytes_unref(one->key);
        udpa_resource_unref(one->removal);
    }
    udpai_vector_done(&sweep->forgotten);
}

udpa_err
udpai_replica_end_others(udpai_store *store,
                         const udpai_shares *shares,
                         udpai_places *there,
                         size_t n_held)
{
    struct sweep sweep = {.store = store, .shares = shares, .there = there};
    udpai_store_visit_origins(store, count, &sweep);
    if (sweep.n != n_held)
        udpai_store_visit_origins(store, sweep_origin, &sweep);
    if (!sweep.has_failed)
        sweep_removals(&sweep);
    udpai_vector_done(&sweep.gone);
    return sweep.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
}
