/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a proposal: what it changes is read, and goes as one transaction, or as more; it
 * waits while others have locks on the same records. */
#include "replica/replicator_internal.h"

#include "base/alloc.h"
#include "model/digest.h"
#include "store/store.h"

/* So long a proposal waits for locks of others. */
#define WAIT_MS 15000

static void
fail(udpai_proposed *one, udpa_err err, udpa_error *why)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = why;
    udpai_proposed_end(one,
                       err == UDPA_ERR_ABORTED  ? UDPAI_REPLICATED_LOST
                       : err == UDPA_ERR_NOMEM  ? UDPAI_REPLICATED_NOT_DONE
                       : err == UDPA_ERR_CLOSED ? UDPAI_REPLICATED_NOT_DONE
                                                : UDPAI_REPLICATED_REJECTED,
                       error);
}

/* ---- what it changes ---- */

static udpa_err
key_of(const udpai_record_place *place, udpa_bytes **ret_key, udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpa_err err = udpai_record_put_key(&text, place, ret_error);
    if (err != UDPA_OK) {
        udpai_strbuf_done(&text);
        return err;
    }
    *ret_key = udpai_bytes_of(&text);
    return *ret_key ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* A removal of the same name that another replica commits first would end what is put. */
static udpa_err
removal_of(const udpa_resource *resource, udpa_bytes **ret_key, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = udpai_store_removal_key(resource);
    if (!origin)
        return UDPA_ERR_NOMEM;
    const udpai_record_place place = {
        .origin = udpai_bytes_view(origin),
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
    };
    return key_of(&place, ret_key, ret_error);
}

static udpa_err
read_op(udpai_proposed *one, const udpai_durable_op *op, udpa_error **ret_error)
{
    const udpai_replicator *owner = one->owner;
    const udpai_record_place place = udpai_record_place_of(op);
    if (!udpai_vector_push(&one->changes, (udpai_record_change){0}))
        return UDPA_ERR_NOMEM;
    udpai_record_change *change = &one->changes.items[one->changes.n - 1];
    udpa_err err = key_of(&place, &change->record, ret_error);
    if (err == UDPA_OK && op->kind == UDPAI_DURABLE_PUT)
        err = udpai_record_value(op, udpai_bytes_view(owner->replica), &owner->seals,
                                 &change->value, ret_error);
    if (err == UDPA_OK && op->kind == UDPAI_DURABLE_PUT &&
        !udpai_store_is_removal_key(udpai_bytes_view(op->origin)))
        err = removal_of(op->resource, &change->removal, ret_error);
    return err;
}

/* Those of one publisher keep theirs. */
static uint32_t
order_of(const udpai_durable_batch *batch)
{
    udpai_str origin = {0};
    for (size_t i = 0; i < batch->ops.n; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        if (op->kind != UDPAI_DURABLE_AUDIT)
            origin = udpai_bytes_view(op->origin);
        if (origin.len && !udpai_store_is_removal_key(origin))
            break;
    }
    return origin.len ? (uint32_t)udpai_digest(UDPAI_STR(""), origin) : 0;
}

static udpa_err
read_audit(udpai_proposed *one, const udpai_durable_batch *batch)
{
    const udpai_replicator_env *env = &one->owner->env;
    size_t at = 0;
    udpa_err err;
    udpa_bytes *key, *value;
    while ((err = udpai_replica_audit_next(batch, &at, env->random(env->userdata), &key, &value)) ==
               UDPA_OK &&
           key) {
        const udpai_record_change change = {.record = key, .value = value, .is_audit = true};
        if (udpai_vector_push(&one->changes, change))
            continue;
        udpa_bytes_unref(key);
        udpa_bytes_unref(value);
        return UDPA_ERR_NOMEM;
    }
    return err;
}

static udpa_err
read_batch(udpai_proposed *one, const udpai_durable_batch *batch, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    one->order = order_of(batch);
    one->position = batch->position;
    one->is_janitors = batch->is_janitors;
    one->place = batch->place;
    one->place_created = udpai_members_place_created(one->owner->members, batch->place);
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++)
        if (batch->ops.items[i].kind != UDPAI_DURABLE_AUDIT)
            err = read_op(one, &batch->ops.items[i], ret_error);
    return err == UDPA_OK ? read_audit(one, batch) : err;
}

/* ---- as one transaction ---- */

static void
on_done(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_proposed *one = transaction->userdata;
    udpai_replicator *replicator = one->owner;
    udpai_replicated_outcome outcome = udpai_proposed_outcome_of(result->outcome);
    udpai_proposed_end(one, outcome, result->error);
    if (outcome != UDPAI_REPLICATED_COMMITTED && outcome != UDPAI_REPLICATED_LOST)
        udpai_alarms_ask_soon(&replicator->alarms);
}

static bool
is_locked(const udpai_proposed *one)
{
    const udpai_locks *locks = &one->owner->locks;
    for (size_t i = 0; i < one->changes.n; i++) {
        const udpai_record_change *change = &one->changes.items[i];
        if (udpai_locks_find(locks, udpai_bytes_view(change->record)) ||
            (change->removal && udpai_locks_find(locks, udpai_bytes_view(change->removal))))
            return true;
    }
    return false;
}

static void
on_up_to_date(udpai_barrier_waiter *waiter, bool is_current)
{
    udpai_proposed *one = UDPAI_CONTAINER_OF(waiter, udpai_proposed, up_to_date);
    if (is_current)
        udpai_proposed_end(one, UDPAI_REPLICATED_LOST, NULL);
    else
        fail(one, UDPA_ERR_CLOSED, udpa_error_ref(one->owner->why));
}

/* As far as this replica knows. What another one has a receipt for may not have arrived here, so it
 * is decided again by that. Nor has the loop received yet that the place has gone, in which it was
 * decided. */
static void
bring_up_to_date(udpai_proposed *one)
{
    one->up_to_date.passed = on_up_to_date;
    udpai_barrier_wait(one->owner->barrier, &one->up_to_date);
}

static void
submit(udpai_proposed *one, udpai_replica_transaction *transaction)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    bool is_empty = transaction->ops.n == 0 && !transaction->has_failed;
    if (is_empty) {
        udpai_replica_transaction_free(transaction);
        bring_up_to_date(one);
    } else if (!udpai_transaction_submit(transaction, &env, &one->owner->under_way, on_done, one)) {
        fail(one, UDPA_ERR_NOMEM, NULL);
    }
}

/* What was to be changed is gone already. */
static bool
says_nothing(const udpai_proposed *one, const udpai_replica_transaction *transaction, size_t i)
{
    return one->changes.items[i].is_audit && !one->changes.items[0].is_audit &&
           transaction->ops.n == 0;
}

static void
begin(udpai_proposed *one)
{
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(one->order);
    udpa_err err = transaction ? udpai_proposed_compare_place(one, transaction) : UDPA_ERR_NOMEM;
    bool is_displaced = err == UDPA_ERR_ABORTED && !one->is_janitors;
    for (size_t i = 0; i < one->changes.n && err == UDPA_OK; i++)
        if (!says_nothing(one, transaction, i))
            err = udpai_proposed_add(one, transaction, &one->changes.items[i]);
    if (err == UDPA_OK) {
        submit(one, transaction);
        return;
    }
    udpai_replica_transaction_free(transaction);
    if (is_displaced)
        bring_up_to_date(one);
    else if (err == UDPA_ERR_LIMIT)
        udpai_proposed_begin_large(one);
    else
        fail(one, err, NULL);
}

/* ---- waiting ---- */

static udpa_error *
find_locked(const udpai_proposed *one)
{
    udpa_error *error = NULL;
    for (size_t i = 0; i < one->changes.n && !error; i++)
        error = udpai_replicator_locked_error(one->owner,
                                              udpai_bytes_view(one->changes.items[i].record));
    return error;
}

static void
begin_or_wait(udpai_proposed *one)
{
    udpa_error *locked;
    uint64_t now = one->owner->env.wheel->now_ms;
    one->waits = is_locked(one);
    if (udpai_replicator_is_away(one->owner))
        fail(one, UDPA_ERR_CLOSED, udpa_error_ref(one->owner->why));
    else if ((locked = find_locked(one)))
        fail(one, UDPA_ERR_UNAVAILABLE, locked);
    else if (!one->waits)
        begin(one);
    else if (now - one->since_ms > WAIT_MS)
        fail(one, UDPA_ERR_CLOSED,
             udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                            "a large change set of another replica about the same resources is "
                            "not finished yet: publish it again"));
    else
        udpai_replicator_work_at(one->owner, one->since_ms + WAIT_MS + 1);
}

void
udpai_proposed_go_on(udpai_replicator *replicator)
{
    UDPAI_LIST_FOREACH_SAFE (at, &replicator->proposed) {
        udpai_proposed *one = UDPAI_LIST_ENTRY(at, udpai_proposed, node);
        if (one->waits)
            begin_or_wait(one);
    }
}

/* ---- its beginning ---- */

/* Before something was listed, nothing is known that could be compared. */
static bool
knows(const udpai_replicator *replicator, udpai_durable_position position)
{
    return udpai_mirror_get_position(replicator->mirror).cluster_id == position.cluster_id &&
           position.cluster_id && replicator->has_listed;
}

static void
refuse(udpai_replicator *replicator, udpai_replicated *outcome)
{
    outcome->outcome = UDPAI_REPLICATED_NOT_DONE;
    outcome->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                    "this node has not received the state of its replica set from "
                                    "etcd yet: publish it again");
    replicator->env.report(replicator->env.userdata, outcome);
}

void
udpai_replicator_propose(udpai_replicator *replicator,
                         udpai_durable_batch *batch,
                         udpai_replicated *outcome)
{
    udpa_error *error = NULL;
    udpai_proposed *one = udpai_alloc(sizeof(*one));
    if (!one || !knows(replicator, batch->position)) {
        udpai_free(one);
        udpai_durable_batch_free(batch);
        refuse(replicator, outcome);
        return;
    }
    one->owner = replicator;
    one->outcome = outcome;
    one->since_ms = replicator->env.wheel->now_ms;
    udpai_list_init(&one->node);
    udpai_list_append(&replicator->proposed, &one->node);
    udpa_err err = read_batch(one, batch, &error);
    udpai_durable_batch_free(batch);
    if (err == UDPA_OK)
        begin_or_wait(one);
    else
        fail(one, err, error);
}
