/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/audit.h"

#include "federation/publishers.h"
#include "model/secret_type.h"

udpa_err
udpai_audit_note(const udpai_context *context,
                 udpai_durable_batch *batch,
                 const udpai_audit_record *record)
{
    udpai_audit_record whole = *record;
    whole.node = udpai_bytes_view(context->reporter_id);
    return context->has_audit ? udpai_audit_add(batch, &whole, udpai_context_wall_us(context))
                              : UDPA_OK;
}

/* A type is kept with a NUL behind it. */
static udpai_str
type_of(const udpai_durable_op *op)
{
    udpai_str type = op->type ? udpai_bytes_view(op->type) : (udpai_str){0};
    return op->resource ? udpai_resource_type_url(op->resource)
                        : (udpai_str){type.data, type.len ? type.len - 1 : 0};
}

static udpai_str
name_of(const udpai_durable_op *op)
{
    return op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
}

static bool
is_of_same_name(const udpai_durable_op *a, const udpai_durable_op *b)
{
    return udpai_str_eq(name_of(a), name_of(b)) && udpai_str_eq(type_of(a), type_of(b));
}

/* ---- what publishers change ---- */

/* The version of a secret may be a hash of it. */
static udpai_audit_record
record_of(const udpai_durable_op *op, const udpai_audit_record *by, bool is_removal)
{
    udpai_audit_record record = *by;
    record.action = is_removal ? UDPAI_STR("remove") : UDPAI_STR("publish");
    record.type_url = type_of(op);
    record.name = name_of(op);
    if (op->resource && !is_removal && !udpai_type_is_secret(record.type_url))
        record.version = udpai_resource_version(op->resource);
    if (op->resource)
        record.generation = udpa_resource_generation(op->resource);
    return record;
}

/* A removal that its authority has stated ends what publishers have of the name: that is one record
 * of it. */
static bool
is_part_of(const udpai_durable_op *removal, const udpai_durable_op *op)
{
    return removal && op->kind == UDPAI_DURABLE_DELETE && is_of_same_name(removal, op);
}

udpa_err
udpai_audit_changes(const udpai_context *context,
                    udpai_durable_batch *batch,
                    size_t from,
                    const udpai_audit_record *by,
                    udpai_audit_rule_fn rule,
                    void *userdata)
{
    size_t n = context->has_audit ? batch->ops.n : from, last = SIZE_MAX;
    udpa_err err = UDPA_OK;
    for (size_t i = from; i < n && err == UDPA_OK; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        const udpai_durable_op *removal = last == SIZE_MAX ? NULL : &batch->ops.items[last];
        bool is_removal = udpai_store_is_removal_key(udpai_bytes_view(op->origin));
        bool is_of_publisher = is_removal || udpai_publisher_is_key(udpai_bytes_view(op->origin));
        if (!is_of_publisher || op->is_same || is_part_of(removal, op))
            continue;
        if (is_removal)
            last = i;
        udpai_audit_record record =
            record_of(op, by, is_removal || op->kind == UDPAI_DURABLE_DELETE);
        if (rule)
            record.rule =
                rule(userdata, UDPAI_ACL_PUBLISH, &record,
                     op->resource ? udpai_resource_authority(op->resource) : (udpai_str){0});
        err = udpai_audit_note(context, batch, &record);
    }
    return err;
}

/* ---- what the node ends ---- */

udpa_err
udpai_audit_ended(const udpai_context *context, udpai_durable_batch *batch)
{
    size_t n = context->has_audit ? batch->ops.n : 0;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        const char *reason =
            op->kind == UDPAI_DURABLE_DELETE ? udpai_audit_reason(op->cause) : NULL;
        if (!reason || !udpai_publisher_is_key(udpai_bytes_view(op->origin)))
            continue;
        err = udpai_audit_note(context, batch,
                               &(udpai_audit_record){
                                   .action = UDPAI_STR("end"),
                                   .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                                   .is_proven = true,
                                   .type_url = type_of(op),
                                   .name = name_of(op),
                                   .reason = udpai_str_from(reason),
                               });
    }
    if (err != UDPA_OK)
        udpai_durable_batch_cut(batch, n);
    return err;
}
