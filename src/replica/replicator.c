/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/replicator_internal.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "replica/hold_keys.h"
#include "replica/set.h"

/* ---- work that waits ---- */

static void
on_work(udpai_timer *timer)
{
    udpai_replicator *replicator = UDPAI_CONTAINER_OF(timer, udpai_replicator, work);
    udpai_replicator_look_at_keys(replicator);
    udpai_reseal_go_on(replicator);
    udpai_proposed_go_on(replicator);
    udpai_replicator_finish_sets(replicator);
}

/* ---- records ---- */

static void
log_malformed(udpai_replicator *replicator, udpai_str key, udpa_err err, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&replicator->malformed_log, replicator->env.wheel->now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA,
                        UDPAI_ABOUT({UDPAI_LOG_NAME, key}, {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "ignored in etcd: %s, key %.*s (%u more not shown)",
                        error ? udpa_error_message(error) : udpa_err_text(err), UDPAI_SHOWN(key),
                        n_suppressed);
}

/* One that cannot be read is as if it were not there, on all replicas that cannot read it. */
udpa_err
udpai_replicator_add_record(udpai_replicator *replicator,
                            udpai_str key,
                            const udpai_str *value,
                            udpai_durable_batch *batch)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_durable_op op = {0};
    udpa_err err = udpai_record_read(&replicator->reader, key, value, &op, &error);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM) {
        log_malformed(replicator, key, err, error);
        err = value ? udpai_record_read(&replicator->reader, key, NULL, &op, NULL) : err;
        if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
            return UDPA_OK;
    }
    if (err == UDPA_OK)
        err = udpai_durable_batch_add(batch, &op);
    udpai_durable_op_done(&op);
    return err;
}

/* One that cannot be decrypted stays as it is here. */
static udpa_err
add_record(udpai_replicator *replicator,
           udpai_str key,
           const udpai_str *value,
           udpai_durable_batch *batch)
{
    bool is_locked;
    if (udpai_replica_audit_is_key(key))
        return udpai_replicator_add_audit(replicator, key, value, batch);
    udpa_err err = udpai_replicator_note_locked(replicator, key, value, &is_locked);
    return err != UDPA_OK || is_locked ? err
                                       : udpai_replicator_add_record(replicator, key, value, batch);
}

static udpa_err
add_lock(udpai_replicator *replicator, const udpai_lock *lock, udpai_durable_batch *batch)
{
    udpai_str value = lock->value ? udpai_bytes_view(lock->value) : (udpai_str){0};
    return add_record(replicator, udpai_bytes_view(lock->record), lock->value ? &value : NULL,
                      batch);
}

/* ---- changes ---- */

static udpai_str
behind_prefix(const udpai_replicator *replicator, const udpai_etcd_event *event)
{
    size_t before = udpa_bytes_size(replicator->prefix);
    return (udpai_str){event->kv.key.data + before, event->kv.key.len - before};
}

/* Of another one than was known, whatever it is: the last one counts. */
static void
take_back(udpai_replicator *replicator, const udpai_etcd_event *event)
{
    udpai_back back;
    replicator->base = 0;
    if (!event->is_delete && udpai_back_read(event->kv.value, &back))
        replicator->base = back.base;
}

static void on_state(void *userdata, udpai_mirror_state state, const udpa_error *why);

/* A newer version writes it when all replicas know its format; this one was away then. */
static void
take_set(udpai_replicator *replicator, const udpai_etcd_event *event)
{
    uint64_t format;
    bool was_foreign = replicator->is_foreign;
    replicator->is_foreign =
        !event->is_delete && !udpai_set_has_own_format(event->kv.value, &format);
    udpai_members_set_foreign(replicator->members, replicator->is_foreign);
    if (!replicator->is_foreign || was_foreign)
        return;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        format ? udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                                "the replica set has format %" PRIu64
                                ", and this udpad has %d: update it",
                                format, UDPAI_SET_FORMAT)
               : udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                                "the key 'set' below store.prefix was overwritten: does something "
                                "else use that prefix? Write the key as it was, and restart udpad");
    on_state(replicator, UDPAI_MIRROR_BEHIND, why);
}

/* What is no record. What becomes of a lock is seen once all of the change is. */
static udpa_err
take_other(udpai_replicator *replicator, const udpai_etcd_event *event)
{
    udpai_str key = behind_prefix(replicator, event);
    udpai_lock *lock;
    udpai_lock_set *set;
    if (udpai_str_eq(key, UDPAI_STR(UDPAI_SET_KEY)))
        take_set(replicator, event);
    if (udpai_str_eq(key, UDPAI_STR(UDPAI_BACK_KEY)))
        take_back(replicator, event);
    if (udpai_members_is_key(key))
        udpai_members_take(replicator->members, key, event->is_delete ? NULL : &event->kv);
    if (udpai_rebalance_is_key(key) && !event->is_delete)
        udpai_rebalance_take(replicator->rebalance, event->kv.value,
                             !replicator->has_listed || replicator->is_other);
    if (!udpai_locks_is_key(key))
        return UDPA_OK;
    udpa_err err = udpai_locks_take(&replicator->locks, key,
                                    event->is_delete ? NULL : &event->kv.value, &lock, &set);
    if (err == UDPA_ERR_MALFORMED)
        log_malformed(replicator, key, err, NULL);
    if (lock && lock->set->due_ms) /* it makes progress */
        lock->set->due_ms = 0;
    udpai_replicator_work_at(replicator, replicator->env.wheel->now_ms);
    return err == UDPA_ERR_MALFORMED ? UDPA_OK : err;
}

static udpa_err
add_set(udpai_replicator *replicator, const udpai_lock_set *set, udpai_durable_batch *batch)
{
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH (at, &set->locks)
        if (err == UDPA_OK)
            err = add_lock(replicator, UDPAI_LIST_ENTRY(at, udpai_lock, in_set), batch);
    return err;
}

/* Of changes that were missed nothing tells that a committed lock was finished, and its record,
 * which was not there before, deleted since. */
static udpa_err
add_missed(udpai_replicator *replicator,
           const udpai_etcd_event *lock,
           udpai_str record,
           udpai_durable_batch *batch)
{
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(replicator->prefix));
    udpai_strbuf_str(&key, record);
    bool is_new = udpai_replicator_mod_revision(replicator, lock->kv.key) == 0;
    bool is_known = is_new || udpai_mirror_knows(replicator->mirror, udpai_strbuf_view(&key));
    udpa_err err = udpai_strbuf_failed(&key) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_strbuf_done(&key);
    return err != UDPA_OK || is_known ? err : add_record(replicator, record, NULL, batch);
}

/* By what is there now: a lock of a committed set counts in the place of its record. */
static udpa_err
add_event(udpai_replicator *replicator, const udpai_etcd_event *event, udpai_durable_batch *batch)
{
    udpai_str key = behind_prefix(replicator, event);
    bool is_lock = udpai_locks_is_key(key);
    const udpai_str behind = is_lock ? (udpai_str){key.data + 2, key.len - 2} : key;
    if (is_lock && key.data[0] == 'x' && !event->is_delete) {
        const udpai_lock_set *set = udpai_locks_find_set(&replicator->locks, behind);
        return set ? add_set(replicator, set, batch) : UDPA_OK;
    }
    if (is_lock ? key.data[0] != 'p' : !udpai_replicator_is_record(key))
        return UDPA_OK;
    const udpai_lock *lock = udpai_locks_find(&replicator->locks, behind);
    if (lock && lock->set->is_committed)
        return add_lock(replicator, lock, batch);
    if (is_lock)
        return add_missed(replicator, event, behind, batch);
    size_t before = batch->ops.n;
    udpa_err err = add_record(replicator, key, event->is_delete ? NULL : &event->kv.value, batch);
    int64_t known = udpai_replicator_mod_revision(replicator, event->kv.key);
    for (size_t i = before; i < batch->ops.n; i++)
        batch->ops.items[i].is_known = known == event->kv.mod_revision;
    return err;
}

static udpa_err
read_change(udpai_replicator *replicator,
            const udpai_mirror_change *change,
            udpai_durable_batch *batch)
{
    udpa_err err = UDPA_OK;
    if (change->is_all) {
        replicator->base = 0;
        udpai_locks_clear(&replicator->locks);
        udpai_unread_end_all(&replicator->unread);
        udpai_members_clear(replicator->members);
    }
    for (size_t i = 0; i < change->n_events && err == UDPA_OK; i++)
        err = take_other(replicator, &change->events[i]);
    for (size_t i = 0; i < change->n_events && err == UDPA_OK; i++)
        err = add_event(replicator, &change->events[i], batch);
    return err;
}

static udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    udpai_replicator *replicator = userdata;
    UDPA_AUTO(udpai_replicated_free)
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_CHANGE);
    if (!event || !(event->batch = udpai_durable_batch_new()))
        return UDPA_ERR_NOMEM;
    udpa_err err = read_change(replicator, change, event->batch);
    if (replicator->is_foreign) /* what it means is not known; all is read again after the update */
        return UDPA_OK;
    bool is_empty = event->batch->ops.n == 0 && !change->is_all && !replicator->is_other &&
                    !replicator->unread.has_grown;
    if (err != UDPA_OK)
        return err;
    if (!is_empty)
        replicator->last_revision = change->position.revision;
    err = is_empty ? UDPA_OK : udpai_replicator_note_proof(replicator, change, &event->proof);
    if (err != UDPA_OK)
        return err;
    err = udpai_replicator_before_change(replicator, change->is_all);
    if (err != UDPA_OK)
        return err;
    udpai_members_go_on(replicator->members, replicator->last_revision);
    if (is_empty)
        return UDPA_OK;
    event->batch->position = (udpai_durable_position){
        .cluster_id = change->position.cluster_id,
        .revision = change->position.revision,
    };
    event->is_all = change->is_all || replicator->is_other;
    event->is_other = replicator->is_other;
    replicator->is_other = false;
    event->base = replicator->base;
    replicator->has_listed = true;
    replicator->env.report(replicator->env.userdata, UDPAI_TAKE(event));
    udpai_replicator_after_change(replicator);
    return UDPA_OK;
}

/* ---- the state ---- */

/* Once, whatever the reason is next. */
static void
log_state(udpai_replicator *replicator, udpai_mirror_state state, const udpa_error *why)
{
    const char *text = why ? udpa_error_message(why) : "no reason is known";
    bool says_nothing = state == UDPAI_MIRROR_LISTING && !why;
    if (replicator->logged_state == (int)state || says_nothing)
        return;
    replicator->logged_state = (int)state;
    if (state == UDPAI_MIRROR_CURRENT)
        udpai_log(UDPA_LOG_INFO, UDPAI_LOG_REPLICA, "current with etcd");
    else if (state == UDPAI_MIRROR_LISTING)
        udpai_log_about(
            UDPA_LOG_WARNING, UDPAI_LOG_REPLICA, UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(why)}),
            "etcd is unavailable, and was not read yet, so publications are rejected; what the "
            "state directory has, if anything, is served: %s",
            text);
    else if (state == UDPAI_MIRROR_BEHIND)
        udpai_log_about(
            UDPA_LOG_WARNING, UDPAI_LOG_REPLICA, UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(why)}),
            "etcd is unavailable, so publications are rejected; what this node has is served "
            "as before: %s",
            text);
    else
        udpai_log_about(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA,
                        UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(why)}),
                        "etcd has another state than before, so nothing is taken from it, and "
                        "publications are rejected; what this node has is served as before: %s",
                        text);
}

static void
note_state(udpai_replicator *replicator, udpai_mirror_state state, const udpa_error *why)
{
    replicator->is_current = state == UDPAI_MIRROR_CURRENT;
    if (replicator->is_current)
        replicator->not_current_ms = 0;
    else if (!replicator->not_current_ms)
        replicator->not_current_ms = replicator->env.wheel->now_ms;
    if (!why && !replicator->is_current)
        return;
    udpa_error_unref(replicator->why);
    replicator->why = udpa_error_ref((udpa_error *)(uintptr_t)why);
}

static void
report_state(const udpai_replicator *replicator, udpai_mirror_state state, const udpa_error *why)
{
    static const udpai_replication_state states[] = {
        [UDPAI_MIRROR_LISTING] = UDPAI_REPLICATION_STARTING,
        [UDPAI_MIRROR_CURRENT] = UDPAI_REPLICATION_CURRENT,
        [UDPAI_MIRROR_BEHIND] = UDPAI_REPLICATION_BEHIND,
        [UDPAI_MIRROR_HELD] = UDPAI_REPLICATION_HELD,
    };
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_STATE);
    if (!event)
        return;
    event->revision = udpai_mirror_seen(replicator->mirror);
    event->state = states[state];
    event->is_uncertain = replicator->is_uncertain;
    event->error = udpa_error_ref((udpa_error *)(uintptr_t)why);
    replicator->env.report(replicator->env.userdata, event);
}

/* ---- is it certain that it has all? ---- */

/* What it has missed comes revision by revision, when its watch lives again. */
static void
become_certain(udpai_replicator *replicator)
{
    udpai_barrier_wait_end(&replicator->certain);
    if (replicator->is_current && replicator->is_uncertain)
        udpai_barrier_wait(replicator->barrier, &replicator->certain);
}

/* Any other state than this one says enough. */
static void
set_uncertain(udpai_replicator *replicator, bool is_uncertain)
{
    bool has_changed = replicator->is_uncertain != is_uncertain;
    replicator->is_uncertain = is_uncertain;
    if (has_changed && replicator->is_current)
        report_state(replicator, UDPAI_MIRROR_CURRENT, NULL);
}

/* If it is not current, the barrier is late, or another state follows. */
static void
on_certain(udpai_barrier_waiter *waiter, bool is_current)
{
    udpai_replicator *replicator = UDPAI_CONTAINER_OF(waiter, udpai_replicator, certain);
    if (is_current && replicator->is_current)
        set_uncertain(replicator, false);
}

static void
log_late(udpai_replicator *replicator)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&replicator->late_log, replicator->env.wheel->now_ms, &n_suppressed))
        udpai_log(
            UDPA_LOG_WARNING, UDPAI_LOG_REPLICA,
            "etcd has not confirmed for %d ms that this replica has all that is committed: new "
            "streams are not kept waiting any more (%u more not shown)",
            UDPAI_BARRIER_PATIENCE_MS, n_suppressed);
}

static void
on_late(void *userdata, bool is_late)
{
    if (!is_late) {
        become_certain(userdata);
        return;
    }
    log_late(userdata);
    set_uncertain(userdata, true);
}

/* ---- its changes ---- */

/* Without memory it is reported with the next change of it. */
static void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *why)
{
    udpai_replicator *replicator = userdata;
    if (replicator->is_foreign && state == UDPAI_MIRROR_CURRENT)
        return;
    bool was_held = replicator->is_held;
    log_state(replicator, state, why);
    note_state(replicator, state, why);
    /* One that goes on with what it had is current at once. */
    replicator->is_held = state == UDPAI_MIRROR_HELD;
    replicator->is_other |= was_held && state == UDPAI_MIRROR_LISTING;
    if (replicator->is_held) {
        udpai_rebalance_stop(replicator->rebalance);
        udpai_held_begin(replicator->held);
    } else {
        udpai_held_end(replicator->held);
    }
    replicator->is_uncertain |= !replicator->is_current;
    report_state(replicator, state, why);
    become_certain(replicator);
}

/* ---- barriers ---- */

typedef struct waiting {
    udpai_list node;
    udpai_barrier_waiter waiter;
    udpai_replicator *owner;
    udpai_replicated *event;
} waiting;

static void
on_passed(udpai_barrier_waiter *waiter, bool is_current)
{
    waiting *one = UDPAI_CONTAINER_OF(waiter, waiting, waiter);
    const udpai_replicator_env *env = &one->owner->env;
    udpai_list_remove(&one->node);
    one->event->is_current = is_current;
    env->report(env->userdata, one->event);
    udpai_free(one);
}

/* While etcd is known to be away, and without memory, nobody waits. */
void
udpai_replicator_barrier(udpai_replicator *replicator, udpai_replicated *event)
{
    waiting *one = udpai_replicator_is_away(replicator) ? NULL : udpai_alloc(sizeof(*one));
    if (!one) {
        replicator->env.report(replicator->env.userdata, event);
        return;
    }
    one->owner = replicator;
    one->event = event;
    one->waiter.passed = on_passed;
    udpai_list_init(&one->node);
    udpai_list_append(&replicator->waiting, &one->node);
    udpai_barrier_wait(replicator->barrier, &one->waiter);
}

static void
free_waiting(udpai_replicator *replicator)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&replicator->waiting))) {
        waiting *one = UDPAI_LIST_ENTRY(at, waiting, node);
        udpai_replicated_free(one->event);
        udpai_free(one);
    }
}

/* ---- on request ---- */

void
udpai_replicator_list_again(udpai_replicator *replicator)
{
    udpai_mirror_list_again(replicator->mirror);
}

void
udpai_replicator_set_config(udpai_replicator *replicator, udpai_str config)
{
    udpai_members_set_config(replicator->members, config);
}

void
udpai_replicator_set_files(udpai_replicator *replicator, udpai_str files)
{
    udpai_members_set_files(replicator->members, files);
}

/* ---- an etcd with another state ---- */

void
udpai_replicator_hold(udpai_replicator *replicator, udpai_holdings *holdings)
{
    udpai_held_take(replicator->held, holdings);
}

void
udpai_replicator_answer_hold(udpai_replicator *replicator, udpai_hold_answer answer)
{
    udpai_held_answer(replicator->held, answer);
}

/* ---- streams ---- */

void
udpai_replicator_set_streams(udpai_replicator *replicator, uint64_t n)
{
    udpai_members_set_streams(replicator->members, n);
}

void
udpai_replicator_rebalance(udpai_replicator *replicator, uint64_t over_ms)
{
    if (!replicator->is_held)
        udpai_rebalance_ask(replicator->rebalance, over_ms);
}

/* ---- its life ---- */

/* Of this replica alone. */
static udpa_bytes *
own_key(const udpai_replicator *replicator, const char *head, const char *tail)
{
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(replicator->prefix));
    udpai_strbuf_puts(&key, head);
    udpai_strbuf_str(&key, udpai_bytes_view(replicator->replica));
    udpai_strbuf_puts(&key, tail);
    return udpai_bytes_of(&key);
}

static udpa_err
make_proposals(udpai_replicator *replicator)
{
    const udpai_proposals_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .mirror = replicator->mirror,
        .random = replicator->env.random,
        .userdata = replicator->env.userdata,
    };
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *lanes = own_key(replicator, UDPAI_LANE, "/");
    return lanes ? udpai_proposals_new(&replicator->proposals, &env, udpai_bytes_view(lanes))
                 : UDPA_ERR_NOMEM;
}

static udpa_err
make_barrier(udpai_replicator *replicator)
{
    const udpai_barrier_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .mirror = replicator->mirror,
        .late_changed = on_late,
        .userdata = replicator,
    };
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = own_key(replicator, UDPAI_TICK, "");
    return key ? udpai_barrier_new(&replicator->barrier, &env, udpai_bytes_view(key))
               : UDPA_ERR_NOMEM;
}

static udpa_err
make_members(udpai_replicator *replicator, const udpai_replicator_config *config)
{
    const udpai_members_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .mirror = replicator->mirror,
        .report = replicator->env.report,
        .userdata = replicator->env.userdata,
        .random = replicator->env.random,
    };
    return udpai_members_new(&replicator->members, &env, config->prefix, &config->own);
}

static uint64_t
random_number(void *userdata)
{
    const udpai_replicator *replicator = userdata;
    return replicator->env.random(replicator->env.userdata);
}

static udpa_err
make_held(udpai_replicator *replicator)
{
    const udpai_held_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .mirror = replicator->mirror,
        .unread = &replicator->unread,
        .report = replicator->env.report,
        .userdata = replicator->env.userdata,
    };
    return udpai_held_new(&replicator->held, &env, udpai_bytes_view(replicator->prefix),
                          udpai_bytes_view(replicator->replica), &replicator->seals);
}

static udpa_err
make_rebalance(udpai_replicator *replicator)
{
    const udpai_rebalance_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .random = replicator->env.random,
        .report = replicator->env.report,
        .userdata = replicator->env.userdata,
    };
    return udpai_rebalance_new(&replicator->rebalance, &env, udpai_bytes_view(replicator->prefix));
}

static void
begin_alarms(udpai_replicator *replicator)
{
    const udpai_alarms_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .report = replicator->env.report,
        .userdata = replicator->env.userdata,
    };
    udpai_alarms_begin(&replicator->alarms, &env);
}

static udpa_err
make(udpai_replicator *replicator, const udpai_replicator_config *config)
{
    const udpai_mirror_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .random = random_number,
        .is_kept = udpai_replicator_is_kept,
        .changed = on_changed,
        .state_changed = on_state,
        .userdata = replicator,
    };
    const udpai_mirror_position has = {config->has.cluster_id, config->has.revision};
    udpa_err err = udpa_bytes_new(&replicator->prefix, config->prefix.data, config->prefix.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&replicator->replica, config->own.id.data, config->own.id.len);
    if (err == UDPA_OK)
        err = udpai_mirror_new(&replicator->mirror, &env, config->prefix, has);
    if (err == UDPA_OK && config->proof.key)
        err = udpai_mirror_set_proof(replicator->mirror, udpai_bytes_view(config->proof.key),
                                     config->proof.revision);
    if (err == UDPA_OK)
        err = make_proposals(replicator);
    if (err == UDPA_OK)
        err = make_barrier(replicator);
    if (err == UDPA_OK)
        err = make_held(replicator);
    if (err == UDPA_OK)
        err = make_rebalance(replicator);
    return err == UDPA_OK ? make_members(replicator, config) : err;
}

udpa_err
udpai_replicator_new(udpai_replicator **ret_replicator,
                     const udpai_replicator_env *env,
                     const udpai_replicator_config *config)
{
    udpai_replicator *replicator = udpai_alloc(sizeof(*replicator));
    if (!replicator)
        return UDPA_ERR_NOMEM;
    replicator->env = *env;
    replicator->seals = config->seals;
    replicator->logged_state = -1;
    replicator->not_current_ms = env->wheel->now_ms;
    udpai_list_init(&replicator->proposed);
    udpai_list_init(&replicator->under_way);
    udpai_list_init(&replicator->waiting);
    udpai_locks_init(&replicator->locks);
    udpai_unread_init(&replicator->unread);
    udpai_timer_init(&replicator->work, on_work);
    replicator->is_uncertain = true;
    replicator->certain.passed = on_certain;
    udpai_record_reader_init(&replicator->reader, &replicator->seals);
    udpa_err err = make(replicator, config);
    if (err != UDPA_OK) {
        udpai_replicator_free(replicator);
        return err;
    }
    begin_alarms(replicator);
    *ret_replicator = replicator;
    return UDPA_OK;
}

udpai_replicator *
udpai_replicator_free(udpai_replicator *replicator)
{
    if (!replicator)
        return NULL;
    udpai_timer_cancel(&replicator->work);
    udpai_held_free(replicator->held);
    udpai_reseal_free(replicator->reseal);
    udpai_members_free(replicator->members);
    udpai_rebalance_free(replicator->rebalance);
    udpai_alarms_end(&replicator->alarms);
    udpai_barrier_free(replicator->barrier);
    free_waiting(replicator);
    udpai_proposals_free(replicator->proposals);
    udpai_replicator_free_proposed(replicator);
    udpai_locks_done(&replicator->locks);
    udpai_unread_done(&replicator->unread);
    udpai_mirror_free(replicator->mirror);
    udpai_record_reader_done(&replicator->reader);
    udpa_bytes_unref(replicator->prefix);
    udpa_bytes_unref(replicator->replica);
    udpa_error_unref(replicator->why);
    udpai_free(replicator);
    return NULL;
}
