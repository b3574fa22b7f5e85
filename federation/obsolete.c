/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/obsolete.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "federation/places.h"

struct udpai_obsolete {
    udpai_context *context;
    UDPAI_VECTOR(udpai_durable_op) ops;
};

static bool
add(udpai_obsolete *obsolete, udpai_str origin, const udpa_resource *resource)
{
    udpai_str name = udpai_resource_name(resource);
    udpai_durable_op op = {.kind = UDPAI_DURABLE_DELETE};
    if (udpa_bytes_new(&op.origin, origin.data, origin.len) == UDPA_OK &&
        udpa_bytes_new(&op.name, name.data, name.len) == UDPA_OK &&
        udpai_vector_push(&obsolete->ops, op)) {
        obsolete->ops.items[obsolete->ops.n - 1].type =
            udpa_bytes_ref(udpai_resource_type(resource));
        return true;
    }
    udpai_durable_op_done(&op);
    return false;
}

/* Without memory the store calls again. */
static void
removal_is_forgettable(void *userdata, const udpa_bytes *key, const udpa_resource *removal)
{
    udpai_obsolete *obsolete = userdata;
    if (add(obsolete, udpai_bytes_view(key), removal))
        udpai_context_touch(obsolete->context);
}

udpa_err
udpai_obsolete_new(udpai_obsolete **ret_obsolete, udpai_context *context)
{
    udpai_obsolete *obsolete = udpai_alloc(sizeof(*obsolete));
    if (!obsolete)
        return UDPA_ERR_NOMEM;
    obsolete->context = context;
    udpai_store_set_forgettable(context->store, removal_is_forgettable, obsolete);
    *ret_obsolete = obsolete;
    return UDPA_OK;
}

void
udpai_obsolete_free(udpai_obsolete *obsolete)
{
    if (!obsolete)
        return;
    udpai_store_set_forgettable(obsolete->context->store, NULL, NULL);
    for (size_t i = 0; i < obsolete->ops.n; i++)
        udpai_durable_op_done(&obsolete->ops.items[i]);
    udpai_vector_done(&obsolete->ops);
    udpai_free(obsolete);
}

udpa_err
udpai_obsolete_add(udpai_obsolete *obsolete, const udpai_contribution *ended)
{
    return add(obsolete, udpai_origin_key(ended->origin), ended->resource) ? UDPA_OK
                                                                           : UDPA_ERR_NOMEM;
}

size_t
udpai_obsolete_n(const udpai_obsolete *obsolete)
{
    return obsolete->ops.n;
}

static bool
is_held(const udpai_obsolete *obsolete, const udpai_durable_op *op)
{
    udpai_contribution held;
    udpai_store *store = obsolete->context->store;
    const udpai_place place = udpai_place_of(op);
    const udpai_origin *origin = udpai_store_find_origin(store, place.origin);
    return origin && udpai_store_get(store, origin, place.type_url, place.name, &held);
}

void
udpai_obsolete_drop_held(udpai_obsolete *obsolete, size_t n_before)
{
    size_t n_left = n_before;
    for (size_t i = n_before; i < obsolete->ops.n; i++) {
        udpai_durable_op op = obsolete->ops.items[i];
        if (is_held(obsolete, &op))
            udpai_durable_op_done(&op);
        else
            obsolete->ops.items[n_left++] = op;
    }
    obsolete->ops.n = n_left;
}

static bool
is_same_place(const udpai_durable_op *a, const udpai_durable_op *b)
{
    return udpai_str_eq(udpai_bytes_view(a->origin), udpai_bytes_view(b->origin)) &&
           udpai_str_eq(udpai_bytes_view(a->type), udpai_bytes_view(b->type)) &&
           udpai_str_eq(udpai_bytes_view(a->name), udpai_bytes_view(b->name));
}

void
udpai_obsolete_deleted(udpai_obsolete *obsolete, const udpai_durable_op *deleted)
{
    for (size_t i = obsolete->ops.n; i-- > 0;) {
        if (!is_same_place(&obsolete->ops.items[i], deleted))
            continue;
        udpai_durable_op_done(&obsolete->ops.items[i]);
        udpai_vector_remove_unordered(&obsolete->ops, i);
    }
}

bool
udpai_obsolete_next(udpai_obsolete *obsolete, udpai_durable_op *ret_op)
{
    while (obsolete->ops.n) {
        udpai_durable_op op = obsolete->ops.items[--obsolete->ops.n];
        if (!is_held(obsolete, &op)) {
            *ret_op = op;
            return true;
        }
        udpai_durable_op_done(&op);
    }
    return false;
}
