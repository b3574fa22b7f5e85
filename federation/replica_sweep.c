/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_sweep.h"

#include "base/vector.h"
#include "federation/places.h"
#include "federation/publishers.h"
#include "model/client_type.h"

struct sweep {
    udpai_store *store;
    const udpai_shares *shares;
    udpai_places put; /* of those that are */
    UDPAI_VECTOR(udpa_resource *) gone;
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
    udpa_err err = udpai_places_find(&sweep->put, &place);
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

udpa_err
udpai_replica_end_others(const udpai_context *context,
                         const udpai_shares *shares,
                         const udpai_durable_batch *batch,
                         const udpai_durable_batch *locked)
{
    struct sweep sweep = {.store = context->store, .shares = shares};
    udpai_places_init(&sweep.put);
    for (size_t i = 0; i < batch->ops.n && !sweep.has_failed; i++) {
        const udpai_place place = udpai_place_of(&batch->ops.items[i]);
        if (batch->ops.items[i].kind == UDPAI_DURABLE_PUT)
            sweep.has_failed = !udpai_places_add(&sweep.put, &place);
    }
    for (size_t i = 0; locked && i < locked->ops.n && !sweep.has_failed; i++) {
        const udpai_place place = udpai_place_of(&locked->ops.items[i]);
        sweep.has_failed = !udpai_places_add(&sweep.put, &place);
    }
    if (!sweep.has_failed)
        udpai_store_visit_origins(context->store, sweep_origin, &sweep);
    udpai_places_done(&sweep.put);
    udpai_vector_done(&sweep.gone);
    return sweep.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
}
