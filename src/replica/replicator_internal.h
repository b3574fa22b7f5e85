/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a replicator, for its files. */
#ifndef UDPAI_REPLICATOR_INTERNAL_H
#define UDPAI_REPLICATOR_INTERNAL_H

#include "base/log.h"
#include "etcd/barrier.h"
#include "replica/alarms.h"
#include "replica/audit.h"
#include "replica/held.h"
#include "replica/locks.h"
#include "replica/members.h"
#include "replica/rebalance.h"
#include "replica/replicator.h"
#include "replica/transaction.h"
#include "replica/unread.h"

#define UDPAI_LOG_REPLICA "replicas"

#define UDPAI_INTENT "i/"
#define UDPAI_LOCK "p/"
#define UDPAI_COMMIT "x/"
#define UDPAI_LANE "lane/"
#define UDPAI_TICK "tick/"

struct udpai_replicator {
    udpai_replicator_env env;
    udpa_bytes *prefix, *replica;
    udpai_record_seals seals;
    udpai_record_reader reader;
    udpai_mirror *mirror;
    udpai_proposals *proposals;
    udpai_barrier *barrier;
    udpai_list waiting; /* for the barrier */
    udpai_members *members;
    udpai_rebalance *rebalance;
    udpai_alarms alarms;
    udpai_held *held;
    bool is_foreign;       /* the set has a format that this version does not know */
    bool is_other;         /* another state of etcd was accepted, and not reported yet */
    uint64_t base;         /* what was written back last: numbers of commits count from there */
    int64_t last_revision; /* at which a record has changed */
    udpai_locks locks;
    udpai_unread unread;
    bool must_retry;      /* what cannot be decrypted, with other keys */
    uint64_t keys_due_ms; /* it is to be reported; 0: it is not */
    size_t n_unread_reported;
    struct udpai_reseal *reseal; /* NULL: none is under way */
    udpai_list proposed;         /* udpai_proposed, without an outcome */
    udpai_list under_way;        /* transactions */
    udpai_timer work;            /* what waits for others may go on */
    udpai_log_limit malformed_log, late_log;
    uint64_t audit_due_ms;   /* then it is looked for records of the audit that are old */
    int logged_state;        /* -1: none */
    uint64_t not_current_ms; /* since then; 0: it is current */
    udpa_error *why;         /* it is not */
    bool is_current, is_held, has_listed;
    /* No barrier has passed since it is current: what it has missed comes revision by revision. Or
     * one did not in time. */
    bool is_uncertain;
    udpai_barrier_waiter certain; /* … until this one passes */
};

/* So long something is proposed all the same: an election is shorter. */
#define UDPAI_AWAY_MS 3000

/* Then nothing is attempted: who publishes has the answer at once. */
static inline bool
udpai_replicator_is_away(const udpai_replicator *replicator)
{
    return replicator->is_foreign ||
           (replicator->not_current_ms &&
            replicator->env.wheel->now_ms - replicator->not_current_ms > UDPAI_AWAY_MS);
}

static inline udpai_transaction_env
udpai_replicator_transactions(const udpai_replicator *replicator)
{
    return (udpai_transaction_env){
        .mirror = replicator->mirror,
        .proposals = replicator->proposals,
        .prefix = udpai_bytes_view(replicator->prefix),
    };
}

/* Of a key of the transaction's. */
static inline int64_t
udpai_replicator_mod_revision(const udpai_replicator *replicator, udpai_str key)
{
    return udpai_mirror_mod_revision(replicator->mirror, key);
}

/* What waits may go on not later than then. */
static inline void
udpai_replicator_work_at(udpai_replicator *replicator, uint64_t time_ms)
{
    if (!udpai_timer_is_set(&replicator->work) || replicator->work.due_ms > time_ms)
        udpai_timer_set(replicator->env.wheel, &replicator->work, time_ms);
}

/* ---- proposed.c ---- */

/* What a proposal does to one record. */
typedef struct udpai_record_change {
    udpa_bytes *record;  /* key, without the prefix */
    udpa_bytes *value;   /* NULL: it is deleted */
    udpa_bytes *removal; /* record of the removal that would end it; NULL: it is no contribution */
    bool is_audit;       /* it only says what the others are, which are before it */
} udpai_record_change;

typedef struct udpai_proposed {
    udpai_list node;
    udpai_replicator *owner;
    udpai_replicated *outcome;       /* to be reported */
    udpai_barrier_waiter up_to_date; /* of one that changes nothing */
    udpai_durable_position position;
    uint32_t order;
    uint64_t since_ms;
    bool waits;            /* for locks of others to go */
    bool is_janitors;      /* it is lost if this replica is not the janitor … */
    unsigned place;        /* … or has not this place any more; 0: it may have any */
    int64_t place_created; /* 0: it had not, when this was proposed */
    UDPAI_VECTOR(udpai_record_change) changes;
    /* Of one that is too large for a transaction; the id is empty before. */
    char set_id[UDPAI_LOCK_SET_LEN + 1];
    size_t next; /* change that gets a lock */
    size_t n_under_way;
    bool has_failed; /* and how, and why: */
    udpai_replicated_outcome how;
    udpa_error *why;
} udpai_proposed;

/* Adds a change to the transaction, as a lock of the set or at once. UDPA_ERR_ABORTED: its record
 * was changed since it was decided. UDPA_ERR_LIMIT: it does not fit, and nothing was added. */
udpa_err udpai_proposed_add(const udpai_proposed *one,
                            udpai_replica_transaction *transaction,
                            const udpai_record_change *change);
/* It is committed only while this replica is what it must be: the janitor, or in its place.
 * UDPA_ERR_ABORTED: it is not. */
udpa_err udpai_proposed_compare_place(const udpai_proposed *one,
                                      udpai_replica_transaction *transaction);
/* Reports, and frees it. */
void udpai_proposed_end(udpai_proposed *one, udpai_replicated_outcome how, const udpa_error *why);
udpai_replicated_outcome udpai_proposed_outcome_of(udpai_proposal_outcome outcome);
void udpai_replicator_free_proposed(udpai_replicator *replicator);

/* ---- replicator.c ---- */

/* What leads to this record, from its value; a value that is damaged is as if there were none. */
udpa_err udpai_replicator_add_record(udpai_replicator *replicator,
                                     udpai_str key,
                                     const udpai_str *value,
                                     udpai_durable_batch *batch);

/* ---- proof.c ---- */

/* For the mirror: nobody deletes this key. */
bool udpai_replicator_is_kept(void *userdata, udpai_str key);
/* By what key an etcd can be known again that has had this change; none: by that of before.
 * UDPA_ERR_NOMEM */
udpa_err udpai_replicator_note_proof(const udpai_replicator *replicator,
                                     const udpai_mirror_change *change,
                                     udpai_replication_proof *proof);

/* ---- locked.c ---- */

/* Notes a record that cannot be decrypted; false, and UDPA_OK: this one can. */
udpa_err udpai_replicator_note_locked(udpai_replicator *replicator,
                                      udpai_str key,
                                      const udpai_str *value,
                                      bool *ret_is_locked);
/* Before a change with new ones is reported, and behind one that ends some. UDPA_ERR_NOMEM: the
 * change must not be reported. */
udpa_err udpai_replicator_before_change(udpai_replicator *replicator, bool is_all);
void udpai_replicator_after_change(udpai_replicator *replicator);
/* Work that was put off. */
void udpai_replicator_look_at_keys(udpai_replicator *replicator);
/* Why it cannot be proposed to change this; NULL: it can. */
udpa_error *udpai_replicator_locked_error(const udpai_replicator *replicator, udpai_str record);

/* ---- reseal.c ---- */

/* NULL does nothing. */
void udpai_reseal_free(struct udpai_reseal *reseal);
/* It may go on. */
void udpai_reseal_go_on(udpai_replicator *replicator);

/* ---- propose.c ---- */

/* Those that wait for locks go on, if these are gone. */
void udpai_proposed_go_on(udpai_replicator *replicator);

/* ---- large.c ---- */

/* It takes more than one transaction. */
void udpai_proposed_begin_large(udpai_proposed *one);

/* ---- audited.c ---- */

/* What is in etcd for what all replicas are to have: contributions, removals, the audit. */
static inline bool
udpai_replicator_is_record(udpai_str key)
{
    return udpai_record_is_key(key) || udpai_replica_audit_is_key(key);
}

/* Records of this key; NULL: it has gone, as it was old, and that is all. */
udpa_err udpai_replicator_add_audit(udpai_replicator *replicator,
                                    udpai_str key,
                                    const udpai_str *value,
                                    udpai_durable_batch *batch);

/* Now and then, as the janitor of the set: deletes records of the audit that are old. */
void udpai_replicator_prune_audit(udpai_replicator *replicator);

/* ---- finish.c ---- */

/* Sets that are committed or given up, and whose locks are still there. */
void udpai_replicator_finish_sets(udpai_replicator *replicator);
/* This set is to be finished at once. */
void udpai_replicator_finish_set(udpai_replicator *replicator, const char *set_id);

#endif
