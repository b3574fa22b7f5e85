/* SPDX-License-Identifier: Apache-2.0 */
/* What the durable engine has kept, at the start: contributions and facts, each under the origin it
 * had. What belongs to nothing that is configured is forgotten. And what another process of this
 * node keeps, while this one still has clients. */
#include "federation/absence.h"
#include "federation/adoption.h"
#include "federation/clients.h"
#include "federation/directories.h"
#include "federation/epoch.h"
#include "federation/freezes.h"
#include "federation/lapse.h"
#include "federation/node_internal.h"
#include "federation/position_fact.h"
#include "federation/provider.h"
#include "federation/publishers.h"
#include "federation/replica.h"
#include "federation/shares.h"
#include "federation/source.h"
#include "store/audit.h"
#include "store/freeze.h"

/* NULL: none is configured now. */
static udpa_err
source_of_origin(udpai_node *node, udpai_str key, udpai_source **ret_source)
{
    udpai_str name;
    *ret_source = NULL;
    if (!udpai_source_name_of_key(key, &name))
        return UDPA_OK;
    *ret_source = udpai_sources_get(node->parts.sources, name);
    if (*ret_source)
        return UDPA_OK;
    udpa_err err = udpai_clients_restore(node->parts.groups, name, ret_source);
    if (err != UDPA_OK || *ret_source)
        return err;
    const udpai_source *awaited;
    err = udpai_sources_find(node->parts.sources, name, UDPAI_AWAITED_BY_CONTENTS, &awaited, NULL);
    *ret_source = udpai_sources_get(node->parts.sources, name);
    return err;
}

/* The directory that an origin's key names, if it will be read. */
static udpai_expected *
expected_of_origin(const udpai_node *node, udpai_str key)
{
    udpai_str head = UDPAI_STR("path:");
    if (!udpai_str_starts(key, head))
        return NULL;
    return udpai_directory_find(udpai_sources_directories(node->parts.sources),
                                (udpai_str){key.data + head.len, key.len - head.len});
}

/* What belongs to a ConfigSource or directory that is configured no more is left out, and is
 * forgotten when the node starts. */
static udpa_err
leave_out(udpai_node *node, udpa_bytes *key)
{
    for (size_t i = 0; i < node->forgotten.n; i++)
        if (udpai_str_eq(udpai_bytes_view(node->forgotten.items[i]), udpai_bytes_view(key)))
            return UDPA_OK;
    if (!udpai_vector_push(&node->forgotten, key))
        return UDPA_ERR_NOMEM;
    udpa_bytes_ref(key);
    return UDPA_OK;
}

static void
restore_mark(udpai_node *node, const udpai_source *source, udpai_str type_url, udpai_str prefix)
{
    udpai_providers_expect(node->parts.providers, type_url);
    udpai_source_restore_mark(source, type_url, prefix);
}

static void
restore_use(udpai_node *node, udpai_source *source, udpai_str type_url)
{
    if (udpai_source_is_of_clients(source))
        udpai_clients_restore_use(source, type_url);
    else
        udpai_providers_restore_use(node->parts.providers, source, type_url);
}

static udpa_err
restore_fact(udpai_node *node, const udpai_durable_op *op)
{
    udpai_str key = udpai_bytes_view(op->origin);
    udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    udpai_expected *expected = expected_of_origin(node, key);
    udpai_source *source;
    udpa_err err = source_of_origin(node, key, &source);
    if (err != UDPA_OK)
        return err; /* which is no reason to forget it */
    if (expected || op->kind == UDPAI_DURABLE_USE)
        udpai_shares_restore_read(node->parts.shares, key);
    if (expected)
        expected->is_known = true;
    else if (!source)
        return leave_out(node, op->origin);
    else if (op->kind == UDPAI_DURABLE_MARK)
        restore_mark(node, source, type_url, udpai_bytes_view(op->name));
    else
        restore_use(node, source, type_url);
    return UDPA_OK;
}

/* ---- what has ended while the node was down ---- */

static bool
is_over(const udpai_node *node, const udpai_durable_op *op)
{
    bool is_of_set = node->replica && udpai_publisher_is_key(udpai_bytes_view(op->origin));
    return op->expires_us && !is_of_set && op->expires_us <= udpai_context_wall_us(&node->context);
}

/* It goes when all is loaded. A PUT, or a DELETE. */
static udpa_err
note_over(udpai_node *node, const udpai_durable_op *op)
{
    udpai_str text = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *name = NULL;
    if (!node->over)
        node->over = udpai_durable_batch_new();
    if (!node->over || udpa_bytes_new(&name, text.data, text.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(
        node->over, &(udpai_durable_op){
                        .kind = UDPAI_DURABLE_DELETE,
                        .origin = op->origin,
                        .type = op->resource ? udpai_resource_type(op->resource) : op->type,
                        .name = name,
                        .cause = UDPAI_CAUSE_TTL,
                    });
}

/* As if its time came now. What could not be loaded, the engine deletes. */
static void
end_over(udpai_store *store, const udpai_durable_op *op)
{
    const udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    udpai_str name = udpai_bytes_view(op->name);
    udpai_origin *origin = udpai_store_find_origin(store, udpai_bytes_view(op->origin));
    udpai_contribution held;
    if (origin && udpai_store_get(store, origin, type_url, name, &held))
        udpai_store_withdraw(store, origin, type_url, name);
    else
        udpai_store_note_op(store, op);
}

static void
end_all_over(udpai_node *node)
{
    udpai_store *store = node->context.store;
    udpai_cause before = udpai_store_set_cause(store, UDPAI_CAUSE_TTL);
    for (size_t i = 0; node->over && i < node->over->ops.n; i++)
        end_over(store, &node->over->ops.items[i]);
    (void)udpai_store_set_cause(store, before);
    node->over = udpai_durable_batch_free(node->over);
}

void
udpai_restore_end(udpai_node *node)
{
    end_all_over(node);
    udpai_durable_batch *batch = node->forgotten.n ? udpai_durable_batch_new() : NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < node->forgotten.n; i++) {
        const udpai_durable_op op = {
            .kind = UDPAI_DURABLE_FORGET_ORIGIN,
            .origin = node->forgotten.items[i],
        };
        if (batch && err == UDPA_OK)
            err = udpai_durable_batch_add(batch, &op);
        udpa_bytes_unref(node->forgotten.items[i]);
    }
    udpai_vector_done(&node->forgotten);
    if (batch && err == UDPA_OK && node->context.env.commit)
        node->context.env.commit(node->context.env.userdata, batch, ++node->last_ticket);
    else
        udpai_durable_batch_free(batch); /* without memory: at the next start */
}

/* What this node keeps alive itself begins anew; and what a replica has of publishers, since the
 * times in it are by clocks of others, and its end is committed. */
static uint64_t
deadline_of(const udpai_node *node, const udpai_durable_op *op, const udpai_origin *origin)
{
    uint64_t now = udpai_context_now(&node->context), ttl_ms = udpa_resource_ttl_ms(op->resource);
    int64_t left_us = op->expires_us - udpai_context_wall_us(&node->context);
    bool is_of_set = node->replica && udpai_publisher_is_key(udpai_origin_key(origin));
    if (ttl_ms && (udpai_origin_keeps_alive(origin) || is_of_set))
        return now + ttl_ms;
    return op->expires_us && left_us > 0 ? now + (uint64_t)left_us / 1000 + 1 : 0;
}

/* What was kept in a state directory that is another instance's now, or in one of none. */
static udpa_err
stamp_anew(const udpai_node *node, udpa_resource *kept, udpa_resource **ret_resource)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(kept, &room);
    udpai_hop *last = parts.n_hops ? &room.hops[parts.n_hops - 1] : NULL;
    udpai_str instance = udpai_bytes_view(node->context.instance);
    if (!last || !udpai_str_eq(last->node_id, udpai_bytes_view(node->context.id)) ||
        udpai_str_eq(last->instance, instance)) {
        *ret_resource = udpa_resource_ref(kept);
        return UDPA_OK;
    }
    last->instance = instance;
    parts.hop_path = NULL;
    return udpai_resource_make(ret_resource, &parts);
}

static udpa_err
restore_contribution(udpai_node *node, const udpai_durable_op *op)
{
    udpai_str key = udpai_bytes_view(op->origin);
    bool is_memory = udpai_store_is_removal_key(key) || udpai_store_is_seen_key(key);
    bool goes = is_over(node, op);
    if (goes && note_over(node, op) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    if (goes && is_memory)
        return UDPA_OK;
    if (udpai_store_is_removal_key(key) && node->replica && !op->expires_us)
        return udpai_store_end_replicated(node->context.store, op->resource);
    if (udpai_store_is_removal_key(key))
        return udpai_store_end(node->context.store, op->resource, NULL);
    if (udpai_store_is_seen_key(key))
        return udpai_store_recall(node->context.store, op->resource);
    if (udpai_store_is_frozen_key(key))
        return udpai_store_restore_frozen(node->context.store, key, op->resource);
    if (udpai_freezes_is_key(key))
        return udpai_freezes_take(node->parts.freezes, op);
    const udpai_expected *expected = expected_of_origin(node, key);
    udpai_str name;
    bool of_source = udpai_source_name_of_key(key, &name);
    bool of_files = udpai_str_starts(key, UDPAI_STR("path:"));
    udpai_source *source;
    udpa_err err = source_of_origin(node, key, &source);
    if (err != UDPA_OK)
        return err;
    if ((of_source && !source) || (of_files && !expected))
        return leave_out(node, op->origin);
    bool was_adopted = udpai_str_eq(key, UDPAI_STR(UDPAI_ORIGIN_KEY_ADOPTED));
    udpai_origin *origin =
        of_files      ? udpai_directory_origin(udpai_sources_directories(node->parts.sources),
                                               udpai_bytes_view(expected->root))
        : was_adopted ? udpai_recovery_origin(node->parts.receiver)
                      : udpai_store_origin(node->context.store, key);
    if (!origin)
        return UDPA_ERR_NOMEM;
    udpai_origin_set_durable(origin, true);
    if (!of_source)
        udpai_lapse_note(node->parts.lapse, op->resource);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    err = stamp_anew(node, op->resource, &resource);
    return err == UDPA_OK ? udpai_store_put(node->context.store, origin, resource,
                                            deadline_of(node, op, origin), NULL)
                          : err;
}

/* What it held it holds: its contribution was loaded before. */
static udpa_err
restore_hold(udpai_node *node, const udpai_durable_op *op)
{
    const udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    udpai_origin *origin =
        udpai_store_find_origin(node->context.store, udpai_bytes_view(op->origin));
    return origin ? udpai_store_set_absence(node->context.store, origin, type_url,
                                            udpai_bytes_view(op->name), UDPAI_ABSENCE_HELD)
                  : UDPA_OK;
}

static udpa_err
restore_seen(udpai_node *node, const udpai_durable_op *op)
{
    const udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    udpai_source *source;
    if (udpai_lapse_restore(node->parts.lapse, op) ||
        (node->replica && udpai_replica_restore(node->replica, op)))
        return UDPA_OK;
    if (udpai_position_fact_is(
            op)) /* it was a replica, and a later one must not go on from there */
        return leave_out(node, op->origin);
    udpa_err err = source_of_origin(node, udpai_bytes_view(op->origin), &source);
    if (err != UDPA_OK || !source)
        return err;
    udpai_providers_expect(node->parts.providers, type_url);
    return udpai_absence_restore_seen(source, op);
}

udpa_err
udpai_node_restore(udpai_node *node, const udpai_durable_op *op)
{
    udpa_err err = UDPA_OK;
    udpai_store_set_loading(node->context.store, true);
    if (op->kind == UDPAI_DURABLE_EPOCH)
        err = udpai_epoch_restore(node->parts.epoch, op);
    else if (op->kind == UDPAI_DURABLE_PUT)
        err = restore_contribution(node, op);
    else if (op->kind == UDPAI_DURABLE_DELETE && is_over(node, op))
        err = note_over(node, op);
    else if (op->kind == UDPAI_DURABLE_MARK || op->kind == UDPAI_DURABLE_USE)
        err = restore_fact(node, op);
    else if (op->kind == UDPAI_DURABLE_HOLD)
        err = restore_hold(node, op);
    else if (op->kind == UDPAI_DURABLE_SEEN)
        err = restore_seen(node, op);
    udpai_store_set_loading(node->context.store, false);
    udpai_context_touch(&node->context);
    return err;
}

static void
follow_removal(udpai_node *node, const udpai_durable_op *op)
{
    const udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    udpai_origin *origin =
        udpai_store_find_origin(node->context.store, udpai_bytes_view(op->origin));
    if (!origin)
        return;
    udpai_store_set_loading(node->context.store, true);
    udpai_store_withdraw(node->context.store, origin, type_url, udpai_bytes_view(op->name));
    udpai_store_set_loading(node->context.store, false);
    udpai_context_touch(&node->context);
}

/* What has ended by now was ended by the other process, too, whose DELETE follows. */
udpa_err
udpai_node_follow(udpai_node *node, const udpai_durable_op *op)
{
    if (op->kind == UDPAI_DURABLE_PUT && !is_over(node, op))
        return udpai_node_restore(node, op);
    if (op->kind == UDPAI_DURABLE_DELETE)
        follow_removal(node, op);
    return UDPA_OK;
}
