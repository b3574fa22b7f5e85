/* SPDX-License-Identifier: Apache-2.0 */
/* A proposal that takes more than one transaction: its intent, a lock for each of its records, and
 * one key that commits them all (locks.h). What fails before that was not done. */
#include "replica/replicator_internal.h"

#include <inttypes.h>
#include <stdio.h>

/* Transactions of one set under way at a time. */
#define AT_ONCE 8

static void write_locks(udpai_proposed *one);

static void
draw_id(udpai_proposed *one)
{
    const udpai_replicator_env *env = &one->owner->env;
    uint64_t high = env->random(env->userdata), low = env->random(env->userdata);
    snprintf(one->set_id, sizeof(one->set_id), "%016" PRIx64 "%016" PRIx64, high, low);
}

/* The set was not committed, whatever became of the last transaction: its locks go. */
static void
give_up(udpai_proposed *one)
{
    udpai_replicated_outcome how =
        one->how == UDPAI_REPLICATED_UNKNOWN ? UDPAI_REPLICATED_NOT_DONE : one->how;
    udpai_replicator_finish_set(one->owner, one->set_id);
    udpai_proposed_end(one, how, one->why);
}

static void
note_failure(udpai_proposed *one, udpai_replicated_outcome how, const udpa_error *why)
{
    if (one->has_failed)
        return;
    one->has_failed = true;
    one->how = how;
    one->why = udpa_error_ref((udpa_error *)(uintptr_t)why);
}

static bool
submit(udpai_proposed *one, udpai_replica_transaction *transaction, udpai_transaction_done_fn done)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    one->n_under_way++;
    if (udpai_transaction_submit(transaction, &env, &one->owner->under_way, done, one))
        return true;
    one->n_under_way--;
    note_failure(one, UDPAI_REPLICATED_NOT_DONE, NULL);
    return false;
}

/* ---- the end of it ---- */

static void
on_committed(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_proposed *one = transaction->userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_replicated_outcome how = udpai_proposed_outcome_of(result->outcome);
    if (how == UDPAI_REPLICATED_LOST) { /* others have given it up */
        how = UDPAI_REPLICATED_NOT_DONE;
        error =
            udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                           "this large change set made no progress for too long, or its replica "
                           "lost its lease, and was given up: publish it again");
    }
    if (how != UDPAI_REPLICATED_UNKNOWN)
        udpai_replicator_finish_set(one->owner, one->set_id);
    udpai_proposed_end(one, how, error ? error : result->error);
}

/* The intent, as it is in etcd. */
static udpai_str
compare_intent(const udpai_proposed *one, udpai_replica_transaction *transaction)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    udpai_str key =
        udpai_transaction_key(transaction, &env, UDPAI_INTENT, udpai_str_from(one->set_id));
    int64_t mod_revision = udpai_replicator_mod_revision(one->owner, key);
    udpai_transaction_compare(transaction, key, mod_revision ? mod_revision : -1);
    return key;
}

/* Its replica may have lost its place since the set was begun. */
static bool
may_commit(udpai_proposed *one, udpai_replica_transaction *transaction)
{
    if (udpai_proposed_compare_place(one, transaction) == UDPA_OK)
        return true;
    note_failure(one, UDPAI_REPLICATED_LOST, NULL);
    return false;
}

static void
commit(udpai_proposed *one)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(one->order);
    if (transaction && !may_commit(one, transaction))
        transaction = udpai_replica_transaction_free(transaction);
    if (transaction) {
        udpai_str intent = compare_intent(one, transaction);
        udpai_transaction_delete(transaction, intent);
        udpai_transaction_put(
            transaction,
            udpai_transaction_key(transaction, &env, UDPAI_COMMIT, udpai_str_from(one->set_id)),
            one->owner->replica);
    }
    if (!transaction || !submit(one, transaction, on_committed)) {
        note_failure(one, UDPAI_REPLICATED_NOT_DONE, NULL);
        give_up(one);
    }
}

/* ---- locks ---- */

static void
on_locked(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_proposed *one = transaction->userdata;
    one->n_under_way--;
    if (result->outcome != UDPAI_PROPOSAL_COMMITTED)
        note_failure(one, udpai_proposed_outcome_of(result->outcome), result->error);
    write_locks(one);
}

/* As many as fit. */
static void
write_some(udpai_proposed *one)
{
    uint32_t lane = one->order + (uint32_t)(one->next / 32);
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(lane);
    udpa_err err = transaction ? UDPA_OK : UDPA_ERR_NOMEM;
    if (transaction)
        compare_intent(one, transaction);
    while (err == UDPA_OK && one->next < one->changes.n) {
        err = udpai_proposed_add(one, transaction, &one->changes.items[one->next]);
        one->next += err == UDPA_OK;
    }
    bool is_good = err == UDPA_OK || err == UDPA_ERR_LIMIT;
    if (is_good && transaction->ops.n) {
        (void)submit(one, transaction, on_locked);
        return;
    }
    udpai_replica_transaction_free(transaction);
    if (!is_good)
        note_failure(
            one, err == UDPA_ERR_ABORTED ? UDPAI_REPLICATED_LOST : UDPAI_REPLICATED_NOT_DONE, NULL);
}

static void
write_locks(udpai_proposed *one)
{
    while (!one->has_failed && one->next < one->changes.n && one->n_under_way < AT_ONCE)
        write_some(one);
    if (one->n_under_way)
        return;
    if (one->has_failed)
        give_up(one);
    else
        commit(one);
}

/* ---- its beginning ---- */

static void
on_intended(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_proposed *one = transaction->userdata;
    one->n_under_way--;
    if (result->outcome != UDPAI_PROPOSAL_COMMITTED)
        note_failure(one, udpai_proposed_outcome_of(result->outcome), result->error);
    write_locks(one);
}

void
udpai_proposed_begin_large(udpai_proposed *one)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(one->order);
    draw_id(one);
    if (transaction) {
        udpai_str key =
            udpai_transaction_key(transaction, &env, UDPAI_INTENT, udpai_str_from(one->set_id));
        udpai_transaction_compare(transaction, key, 0);
        udpai_transaction_put(transaction, key, one->owner->replica);
    }
    if (!transaction || !submit(one, transaction, on_intended)) {
        note_failure(one, UDPAI_REPLICATED_NOT_DONE, NULL);
        give_up(one);
    }
}
