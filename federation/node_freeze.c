/* SPDX-License-Identifier: Apache-2.0 */
/* Freezes of a node: of all its replicas, or kept by itself. */
#include "federation/commits.h"
#include "federation/freeze.h"
#include "federation/node_internal.h"

static udpa_err
check_is_current(const udpai_context *context, udpa_error **ret_error)
{
    return context->is_current
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                            "this replica is not current with etcd, so it can neither freeze nor "
                            "thaw: ask another one");
}

/* Takes the batch, which has one op. */
static udpa_err
carry_out(udpai_node *node, udpai_durable_batch *batch)
{
    udpai_durable_op *op = &batch->ops.items[0];
    if (udpai_context_is_replicated(&node->context)) {
        udpai_commits_propose_batch(node->commits, batch);
        return UDPA_OK;
    }
    udpa_err err = udpai_freezes_take(node->parts.freezes, op);
    if (err == UDPA_OK)
        udpai_store_note_op(node->context.store, op);
    udpai_durable_batch_free(batch);
    return err;
}

/* @p freeze: NULL: that of the prefix ends. */
static udpa_err
change(udpai_node *node, const udpai_freeze *freeze, udpai_str prefix, udpa_error **ret_error)
{
    bool is_replicated = udpai_context_is_replicated(&node->context);
    udpa_err err = is_replicated ? check_is_current(&node->context, ret_error) : UDPA_OK;
    UDPA_AUTO(udpai_durable_batch_free)
    udpai_durable_batch *batch = err == UDPA_OK ? udpai_durable_batch_new() : NULL;
    if (err != UDPA_OK)
        return err;
    if (!batch)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    err = freeze ? udpai_freezes_begin(node->parts.freezes, freeze, batch, ret_error)
                 : udpai_freezes_end(node->parts.freezes, prefix, batch, ret_error);
    if (err != UDPA_OK)
        return err;
    return udpai_fail_code(ret_error, carry_out(node, UDPAI_TAKE(batch)));
}

udpa_err
udpai_node_freeze(udpai_node *node, const udpai_freeze *freeze, udpa_error **ret_error)
{
    udpai_freeze now = *freeze;
    now.since_us = udpai_context_wall_us(&node->context);
    return change(node, &now, now.prefix, ret_error);
}

udpa_err
udpai_node_thaw(udpai_node *node, udpai_str prefix, udpa_error **ret_error)
{
    return change(node, NULL, prefix, ret_error);
}

void
udpai_node_visit_freezes(const udpai_node *node, udpai_freeze_fn visit, void *userdata)
{
    size_t at = 0;
    udpai_freeze freeze;
    while (udpai_freezes_next(node->parts.freezes, &at, &freeze))
        visit(userdata, &freeze);
}

void
udpai_node_visit_waiting(const udpai_node *node, udpai_frozen_fn visit, void *userdata)
{
    udpai_store_visit_frozen(node->context.store, visit, userdata);
}

size_t
udpai_node_n_waiting(const udpai_node *node)
{
    return udpai_store_n_frozen(node->context.store);
}
