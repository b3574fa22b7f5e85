/* SPDX-License-Identifier: Apache-2.0 */
/* The end of change sets with locks: what is committed is written to its records, what was given up
 * goes. Who has proposed a set does it at once; if that replica is gone, so does another one, after
 * a time without progress. Whoever does it compares, so that nothing is done twice. */
#include "replica/replicator_internal.h"

#include "base/alloc.h"

#define PATIENCE_MS 5000
#define SPREAD_MS 2000
#define AGAIN_MS 500
#define AT_ONCE 4

/* ---- its transactions ---- */

static void
try_again(udpai_replicator *replicator, udpai_lock_set *set)
{
    set->due_ms = replicator->env.wheel->now_ms + AGAIN_MS;
    udpai_replicator_work_at(replicator, set->due_ms);
}

/* What is left of it then was not finished by any. */
static void
end_transaction(udpai_lock_set *set)
{
    set->n_under_way -= set->n_under_way > 0;
    if (set->n_under_way)
        return;
    UDPAI_LIST_FOREACH (at, &set->locks)
        UDPAI_LIST_ENTRY(at, udpai_lock, in_set)->is_being_finished = false;
}

static void
on_done(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_replicator *replicator = transaction->userdata;
    uint64_t now = replicator->env.wheel->now_ms;
    udpai_lock_set *set =
        udpai_locks_find_set(&replicator->locks, udpai_str_from(transaction->set_id));
    if (!set)
        return;
    end_transaction(set);
    if (result->outcome != UDPAI_PROPOSAL_COMMITTED)
        try_again(replicator, set);
    udpai_replicator_work_at(replicator, set->due_ms > now ? set->due_ms : now);
}

static bool
submit(udpai_replicator *replicator, udpai_lock_set *set, udpai_replica_transaction *transaction)
{
    const udpai_transaction_env env = udpai_replicator_transactions(replicator);
    memcpy(transaction->set_id, set->id, sizeof(set->id));
    set->n_under_way++;
    if (udpai_transaction_submit(transaction, &env, &replicator->under_way, on_done, replicator))
        return true;
    end_transaction(set);
    try_again(replicator, set);
    return false;
}

/* The key as it is now goes. */
static void
drop_key(udpai_replicator *replicator,
         udpai_replica_transaction *transaction,
         const char *head,
         udpai_str name)
{
    const udpai_transaction_env env = udpai_replicator_transactions(replicator);
    udpai_str key = udpai_transaction_key(transaction, &env, head, name);
    udpai_transaction_compare(transaction, key, udpai_replicator_mod_revision(replicator, key));
    udpai_transaction_delete(transaction, key);
}

static void
drop_mark(udpai_replicator *replicator, udpai_lock_set *set, const char *head)
{
    if (set->n_under_way)
        return;
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(0);
    if (!transaction) {
        try_again(replicator, set);
        return;
    }
    drop_key(replicator, transaction, head, udpai_str_from(set->id));
    (void)submit(replicator, set, transaction);
}

/* ---- locks ---- */

/* While its lock is there nobody else writes the record. */
static void
write_record(udpai_replicator *replicator,
             udpai_replica_transaction *transaction,
             const udpai_lock *lock)
{
    const udpai_transaction_env env = udpai_replicator_transactions(replicator);
    udpai_str key = udpai_transaction_key(transaction, &env, "", udpai_bytes_view(lock->record));
    if (lock->value)
        udpai_transaction_put(transaction, key, lock->value);
    else if (udpai_replicator_mod_revision(replicator, key))
        udpai_transaction_delete(transaction, key);
}

static bool
add_lock(udpai_replicator *replicator, udpai_replica_transaction *transaction, udpai_lock *lock)
{
    size_t bytes = 2 * udpa_bytes_size(lock->record);
    bytes += lock->value ? udpa_bytes_size(lock->value) : 0;
    if (!udpai_transaction_fits(transaction, 1, 2, bytes))
        return false;
    if (lock->set->is_committed)
        write_record(replicator, transaction, lock);
    drop_key(replicator, transaction, UDPAI_LOCK, udpai_bytes_view(lock->record));
    lock->is_being_finished = true;
    return true;
}

/* False: all of its locks are under way, or there are none, or no memory: then again later. */
static bool
finish_some(udpai_replicator *replicator, udpai_lock_set *set, uint32_t lane)
{
    udpai_replica_transaction *transaction = NULL;
    UDPAI_LIST_FOREACH (at, &set->locks) {
        udpai_lock *lock = UDPAI_LIST_ENTRY(at, udpai_lock, in_set);
        if (lock->is_being_finished)
            continue;
        if (!transaction && !(transaction = udpai_replica_transaction_new(lane))) {
            try_again(replicator, set);
            return false;
        }
        if (!add_lock(replicator, transaction, lock))
            break;
    }
    return transaction && submit(replicator, set, transaction);
}

/* ---- sets ---- */

static bool
is_own(const udpai_replicator *replicator, const udpai_lock_set *set)
{
    UDPAI_LIST_FOREACH (at, &replicator->proposed) {
        const udpai_proposed *one = UDPAI_LIST_ENTRY(at, udpai_proposed, node);
        if (strcmp(one->set_id, set->id) == 0)
            return true;
    }
    return false;
}

static void
finish(udpai_replicator *replicator, udpai_lock_set *set)
{
    if (set->has_intent && !set->is_committed) {
        drop_mark(replicator, set, UDPAI_INTENT);
        return;
    }
    uint32_t lane = (uint32_t)set->n;
    while (set->n_under_way < AT_ONCE && finish_some(replicator, set, lane++))
        continue;
    if (set->n == 0 && set->is_committed)
        drop_mark(replicator, set, UDPAI_COMMIT);
}

void
udpai_replicator_finish_sets(udpai_replicator *replicator)
{
    uint64_t now = replicator->env.wheel->now_ms;
    UDPAI_LIST_FOREACH_SAFE (at, &replicator->locks.sets) {
        udpai_lock_set *set = UDPAI_LIST_ENTRY(at, udpai_lock_set, node);
        if (is_own(replicator, set))
            continue;
        if (set->due_ms == 0)
            set->due_ms =
                now + PATIENCE_MS + replicator->env.random(replicator->env.userdata) % SPREAD_MS;
        if (set->due_ms <= now && replicator->is_current)
            finish(replicator, set);
        else
            udpai_replicator_work_at(replicator,
                                     replicator->is_current ? set->due_ms : now + AGAIN_MS);
    }
}

void
udpai_replicator_finish_set(udpai_replicator *replicator, const char *set_id)
{
    udpai_lock_set *set = udpai_locks_find_set(&replicator->locks, udpai_str_from(set_id));
    if (set)
        set->due_ms = replicator->env.wheel->now_ms;
    udpai_replicator_work_at(replicator, replicator->env.wheel->now_ms);
}
