/* SPDX-License-Identifier: Apache-2.0 */
/* What the durable engine is to do: a batch, and what the store puts into it. */
#include "store/audit.h"
#include "store/store_internal.h"

udpai_durable_batch *
udpai_durable_batch_new(void)
{
    udpai_durable_batch *batch = udpai_alloc(sizeof(*batch));
    if (batch)
        udpai_list_init(&batch->node);
    return batch;
}

void
udpai_durable_op_done(udpai_durable_op *op)
{
    udpa_bytes_unref(op->origin);
    udpa_resource_unref(op->resource);
    udpa_bytes_unref(op->type);
    udpa_bytes_unref(op->name);
    udpai_identity_unref(op->identity);
    *op = (udpai_durable_op){0};
}

void
udpai_durable_batch_cut(udpai_durable_batch *batch, size_t n)
{
    while (batch->ops.n > n)
        udpai_durable_op_done(&batch->ops.items[--batch->ops.n]);
}

void
udpai_durable_batch_clear(udpai_durable_batch *batch)
{
    udpai_durable_batch_cut(batch, 0);
    udpai_vector_done(&batch->ops);
}

udpai_durable_batch *
udpai_durable_batch_free(udpai_durable_batch *batch)
{
    if (!batch)
        return NULL;
    udpai_durable_batch_clear(batch);
    udpai_free(batch);
    return NULL;
}

udpa_err
udpai_durable_batch_add(udpai_durable_batch *batch, const udpai_durable_op *op)
{
    if (!udpai_vector_push(&batch->ops, *op))
        return UDPA_ERR_NOMEM;
    udpa_bytes_ref(op->origin);
    udpa_resource_ref(op->resource);
    udpa_bytes_ref(op->type);
    udpa_bytes_ref(op->name);
    udpai_identity_ref(op->identity);
    return UDPA_OK;
}

/* ---- of a store ---- */

void
udpai_store_add_durable(udpai_store *store, const udpai_durable_op *op)
{
    if (store->loading)
        return;
    if (!store->durable)
        store->durable = udpai_durable_batch_new();
    if (!store->durable || udpai_durable_batch_add(store->durable, op) != UDPA_OK)
        store->durable_incomplete = true;
}

static udpa_err
note(udpai_store *store, udpai_durable_op op, udpai_str type_url, udpai_str name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(type_url), *own = NULL;
    if (!type || udpa_bytes_new(&own, name.data, name.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    op.type = type;
    op.name = own;
    udpai_store_add_durable(store, &op);
    return UDPA_OK;
}

udpa_err
udpai_store_note(udpai_store *store,
                 udpai_durable_kind kind,
                 udpai_origin *origin,
                 udpai_str type_url,
                 udpai_str prefix)
{
    return note(store, (udpai_durable_op){.kind = kind, .origin = origin->key}, type_url, prefix);
}

udpa_err
udpai_store_note_seen(
    udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str epoch, uint64_t number)
{
    const udpai_durable_op op = {
        .kind = UDPAI_DURABLE_SEEN,
        .origin = origin->key,
        .number = number,
    };
    return note(store, op, type_url, epoch);
}

void
udpai_store_note_epoch(udpai_store *store, udpa_bytes *name)
{
    udpai_store_add_durable(store, &(udpai_durable_op){
                                       .kind = UDPAI_DURABLE_EPOCH,
                                       .name = name,
                                       .is_whole = true,
                                   });
}

void
udpai_store_note_op(udpai_store *store, const udpai_durable_op *op)
{
    udpai_store_add_durable(store, op);
}

bool
udpai_store_forget_origin(udpai_store *store, udpai_origin *origin)
{
    const udpai_durable_op op = {.kind = UDPAI_DURABLE_FORGET_ORIGIN, .origin = origin->key};
    if (!origin->durable)
        return true;
    if (!store->durable && !(store->durable = udpai_durable_batch_new()))
        return false;
    if (udpai_durable_batch_add(store->durable, &op) != UDPA_OK)
        return false;
    origin->durable = false;
    return true;
}

udpai_durable_batch *
udpai_store_durable(udpai_store *store)
{
    return store->durable;
}

udpa_err
udpai_store_take_durable(udpai_store *store, udpai_durable_batch **ret_batch)
{
    udpa_err err = store->durable_incomplete ? UDPA_ERR_NOMEM : UDPA_OK;
    store->durable_incomplete = false;
    *ret_batch = UDPAI_TAKE(store->durable);
    return err;
}

void
udpai_store_set_loading(udpai_store *store, bool loading)
{
    store->loading = loading;
}
