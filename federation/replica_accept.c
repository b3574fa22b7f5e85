/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_accept.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "base/vector.h"
#include "federation/places.h"
#include "federation/publishers.h"

struct removals {
    udpai_places kept; /* those that the batch has, too */
    UDPAI_VECTOR(udpa_resource *) gone;
    bool has_failed;
};

/* With its generation, in the place of an origin. NULL without memory. */
static udpa_bytes *
key_of(udpa_resource *removal)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = udpai_store_removal_key(removal);
    udpai_strbuf text = {.failed = !key};
    udpai_strbuf_printf(&text, "%" PRIu64 ":", udpa_resource_generation(removal));
    udpai_strbuf_str(&text, key ? udpai_bytes_view(key) : (udpai_str){0});
    return udpai_bytes_of(&text);
}

static udpai_place
place_of(const udpa_bytes *key, const udpa_resource *removal)
{
    return (udpai_place){
        .origin = udpai_bytes_view(key),
        .type_url = udpai_resource_type_url(removal),
        .name = udpai_resource_name(removal),
    };
}

static void
keep(struct removals *removals, udpa_resource *removal)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(removal);
    const udpai_place place = key ? place_of(key, removal) : (udpai_place){0};
    removals->has_failed |= !key || !udpai_places_add(&removals->kept, &place);
}

static bool
look(void *userdata, udpa_resource *removal, uint64_t deadline_ms, udpa_bytes *shared_key)
{
    struct removals *removals = userdata;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(removal);
    const udpai_place place = key ? place_of(key, removal) : (udpai_place){0};
    udpa_err err = key ? udpai_places_find(&removals->kept, &place) : UDPA_ERR_NOMEM;
    (void)deadline_ms;
    (void)shared_key;
    if (err == UDPA_OK)
        return true;
    removals->has_failed |=
        err != UDPA_ERR_NOT_FOUND || !udpai_vector_push(&removals->gone, removal);
    if (!removals->has_failed)
        udpa_resource_ref(removal);
    return !removals->has_failed;
}

/* What is known of a name, and is not so there, is known no more. */
static udpa_err
forget_removals(udpai_store *store, const udpai_durable_batch *batch)
{
    struct removals removals = {0};
    udpai_places_init(&removals.kept);
    for (size_t i = 0; i < batch->ops.n && !removals.has_failed; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        if (op->kind == UDPAI_DURABLE_PUT &&
            udpai_store_is_removal_key(udpai_bytes_view(op->origin)))
            keep(&removals, op->resource);
    }
    if (!removals.has_failed)
        udpai_store_visit_removals(store, look, &removals);
    for (size_t i = 0; i < removals.gone.n; i++) {
        udpa_resource *gone = removals.gone.items[i];
        if (!removals.has_failed)
            udpai_store_forget_name(store, udpai_resource_type_url(gone),
                                    udpai_resource_name(gone));
        udpa_resource_unref(gone);
    }
    udpai_places_done(&removals.kept);
    udpai_vector_done(&removals.gone);
    return removals.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* A generation that was seen keeps older ones out, also after what had it has gone. */
static void
make_way(udpai_store *store, const udpai_durable_op *op)
{
    udpai_str type_url = udpai_resource_type_url(op->resource);
    udpai_str name = udpai_resource_name(op->resource);
    udpai_origin *origin = udpai_store_find_origin(store, udpai_bytes_view(op->origin));
    udpai_contribution held;
    bool is_held = origin && udpai_store_get(store, origin, type_url, name, &held);
    if (is_held && udpai_resource_is_same(held.resource, op->resource) &&
        udpa_resource_generation(held.resource) == udpa_resource_generation(op->resource))
        return;
    if (is_held)
        udpai_store_withdraw(store, origin, type_url, name);
    udpai_store_forget_name(store, type_url, name);
}

udpa_err
udpai_replica_forget_newer(const udpai_context *context,
                           const udpai_shares *shares,
                           const udpai_durable_batch *batch)
{
    udpa_err err = forget_removals(context->store, batch);
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        udpai_str key = udpai_bytes_view(op->origin);
        if (op->kind == UDPAI_DURABLE_PUT &&
            (udpai_publisher_is_key(key) || udpai_shares_find(shares, key)))
            make_way(context->store, op);
    }
    return err;
}
