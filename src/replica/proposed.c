/* SPDX-License-Identifier: Apache-2.0 */
/* What a node proposes: the changes of its records in transactions, and its end. */
#include "replica/replicator_internal.h"

#include "base/alloc.h"

/* ---- its end ---- */

static void
free_proposed(udpai_proposed *one)
{
    for (size_t i = 0; i < one->changes.n; i++) {
        udpa_bytes_unref(one->changes.items[i].record);
        udpa_bytes_unref(one->changes.items[i].value);
        udpa_bytes_unref(one->changes.items[i].removal);
    }
    udpai_vector_done(&one->changes);
    udpai_replicated_free(one->outcome);
    udpa_error_unref(one->why);
    udpai_list_remove(&one->node);
    udpai_free(one);
}

void
udpai_replicator_free_proposed(udpai_replicator *replicator)
{
    udpai_transactions_free(&replicator->under_way);
    UDPAI_LIST_FOREACH_SAFE (at, &replicator->proposed)
        free_proposed(UDPAI_LIST_ENTRY(at, udpai_proposed, node));
}

/* For who has published it. NULL: nothing is to be added, or no memory. */
static udpa_error *
explain(udpai_replicated_outcome how, const udpa_error *why)
{
    if (how == UDPAI_REPLICATED_NOT_DONE)
        return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                              "not committed, and nothing has changed: publish it again later: %s",
                              why ? udpa_error_message(why) : "it has not answered");
    return udpa_error_ref((udpa_error *)(uintptr_t)why);
}

void
udpai_proposed_end(udpai_proposed *one, udpai_replicated_outcome how, const udpa_error *why)
{
    const udpai_replicator_env *env = &one->owner->env;
    udpai_replicated *outcome = UDPAI_TAKE(one->outcome);
    outcome->outcome = how;
    outcome->error = explain(how, why);
    free_proposed(one);
    env->report(env->userdata, outcome);
}

udpai_replicated_outcome
udpai_proposed_outcome_of(udpai_proposal_outcome outcome)
{
    static const udpai_replicated_outcome outcomes[] = {
        [UDPAI_PROPOSAL_COMMITTED] = UDPAI_REPLICATED_COMMITTED,
        [UDPAI_PROPOSAL_LOST] = UDPAI_REPLICATED_LOST,
        [UDPAI_PROPOSAL_REJECTED] = UDPAI_REPLICATED_REJECTED,
        [UDPAI_PROPOSAL_NOT_DONE] = UDPAI_REPLICATED_NOT_DONE,
        [UDPAI_PROPOSAL_UNKNOWN] = UDPAI_REPLICATED_UNKNOWN,
    };
    return outcomes[outcome];
}

/* ---- as a transaction ---- */

/* The key is as it was when this was decided. What has gone since is no obstacle: a put is then as
 * if it had come after that. */
static udpa_err
compare(const udpai_proposed *one, udpai_replica_transaction *transaction, udpai_str key)
{
    int64_t mod_revision = udpai_replicator_mod_revision(one->owner, key);
    if (mod_revision > one->position.revision)
        return UDPA_ERR_ABORTED;
    udpai_transaction_compare(transaction, key, mod_revision);
    return UDPA_OK;
}

/* Its place goes with its lease: then another one is the janitor, or gives the same generations,
 * and this one is late. */
udpa_err
udpai_proposed_compare_place(const udpai_proposed *one, udpai_replica_transaction *transaction)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    char key[3] = "m/";
    unsigned place = one->place;
    int64_t created = one->place_created;
    if (!one->is_janitors && !place)
        return UDPA_OK;
    if (one->is_janitors ? !udpai_members_is_janitor(one->owner->members, &place, &created)
                         : !created)
        return UDPA_ERR_ABORTED;
    key[2] = (char)('0' + place);
    udpai_transaction_compare_created(
        transaction, udpai_transaction_key(transaction, &env, "", (udpai_str){key, sizeof(key)}),
        created);
    return UDPA_OK;
}

static size_t
size_of(const udpai_record_change *change)
{
    return udpa_bytes_size(change->record) + (change->value ? udpa_bytes_size(change->value) : 0);
}

static void
add_op(const udpai_proposed *one,
       udpai_replica_transaction *transaction,
       const udpai_record_change *change,
       udpai_str key,
       udpai_str lock)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    if (one->set_id[0])
        value = udpai_lock_value(one->set_id, change->value);
    if (one->set_id[0] && value)
        udpai_transaction_put(transaction, lock, value);
    else if (one->set_id[0])
        transaction->has_failed = true;
    else if (change->value)
        udpai_transaction_put(transaction, key, change->value);
    else
        udpai_transaction_delete(transaction, key);
}

/* Two large sets do not see each other's removals here: what comes out ended is deleted by whoever
 * applies it. */
static udpa_err
compare_removal(const udpai_proposed *one,
                udpai_replica_transaction *transaction,
                udpai_str removal)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    if (!one->set_id[0])
        udpai_transaction_compare(transaction,
                                  udpai_transaction_key(transaction, &env, UDPAI_LOCK, removal), 0);
    return compare(one, transaction, udpai_transaction_key(transaction, &env, "", removal));
}

udpa_err
udpai_proposed_add(const udpai_proposed *one,
                   udpai_replica_transaction *transaction,
                   const udpai_record_change *change)
{
    const udpai_transaction_env env = udpai_replicator_transactions(one->owner);
    udpai_str record = udpai_bytes_view(change->record);
    if (!udpai_transaction_fits(transaction, 4, 1, size_of(change)))
        return UDPA_ERR_LIMIT;
    udpai_str key = udpai_transaction_key(transaction, &env, "", record);
    if (!change->value && udpai_replicator_mod_revision(one->owner, key) == 0)
        return UDPA_OK; /* what is not there need not be deleted */
    udpai_str lock = udpai_transaction_key(transaction, &env, UDPAI_LOCK, record);
    udpa_err err = compare(one, transaction, key);
    if (err == UDPA_OK)
        udpai_transaction_compare(transaction, lock, 0);
    if (err == UDPA_OK && change->removal)
        err = compare_removal(one, transaction, udpai_bytes_view(change->removal));
    if (err == UDPA_OK)
        add_op(one, transaction, change, key, lock);
    return err;
}
