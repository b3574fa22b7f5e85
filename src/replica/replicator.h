/* SPDX-License-Identifier: Apache-2.0 */
/* One replica's end of what it shares with the others: its proposals become transactions of etcd,
 * and what etcd has committed, whoever proposed it, becomes changes for the node. Owned by the
 * thread of its etcd, with no I/O of its own.
 *
 * Source: docs/design/replicas.md */
#ifndef UDPAI_REPLICATOR_H
#define UDPAI_REPLICATOR_H

#include "base/wheel.h"
#include "etcd/etcd.h"
#include "replica/record.h"
#include "store/replication.h"

typedef struct udpai_replicator udpai_replicator;

/* Of the secrets of the set, that are sealed with the first key one by one. */
typedef struct udpai_reseal_progress {
    bool is_running;
    size_t n_secrets; /* that were looked at */
    size_t n_sealed;  /* that had another key, and have the first one now */
    size_t n_lost;    /* that somebody else has changed meanwhile: looked at again */
    size_t n_left;    /* that cannot be decrypted */
    char error[240];  /* why it has ended before its end; empty: it has not */
} udpai_reseal_progress;

typedef struct udpai_replicator_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    uint64_t (*random)(void *userdata);
    /* Takes the event. */
    void (*report)(void *userdata, udpai_replicated *event);
    /* NULL: nobody looks. */
    void (*resealing)(void *userdata, const udpai_reseal_progress *progress);
    void *userdata;
} udpai_replicator_env;

/* All copied, but what `seals` refers to. */
typedef struct udpai_replicator_config {
    udpai_str prefix; /* of all that the set has in etcd, with a '/' at its end */
    /* Which one this is: no two have the same id; and what else the others are told. */
    udpai_replica_description own;
    udpai_record_seals seals;      /* is_secret is required */
    udpai_replication_proof proof; /* of what it has; borrowed */
    udpai_durable_position has;    /* what was reported before, by another one */
} udpai_replicator_config;

udpa_err udpai_replicator_new(udpai_replicator **ret_replicator,
                              const udpai_replicator_env *env,
                              const udpai_replicator_config *config);
/* What is proposed and has no outcome gets none. NULL does nothing. Returns NULL. */
udpai_replicator *udpai_replicator_free(udpai_replicator *replicator);

/* Takes the batch: PUTs and DELETEs, each of another place, with the position at which they were
 * decided. What another replica has changed since makes it lose: of what it is about, and, for a
 * PUT, the removal of the same name. @p outcome: is filled in and reported, so that nothing must be
 * allocated for that. */
void udpai_replicator_propose(udpai_replicator *replicator,
                              udpai_durable_batch *batch,
                              udpai_replicated *outcome);

/* Reports all again, as one CHANGE; once etcd answers. */
void udpai_replicator_list_again(udpai_replicator *replicator);
/* Of this replica, for the others: udpai_replica_description.config. */
void udpai_replicator_set_config(udpai_replicator *replicator, udpai_str config);
/* And udpai_replica_description.files. */
void udpai_replicator_set_files(udpai_replicator *replicator, udpai_str files);
/* After the keys of `seals` have changed: what could not be decrypted is tried again. @p key_ids:
 * for the other replicas. */
void udpai_replicator_set_keys(udpai_replicator *replicator, udpai_str key_ids);

/* Seals what another key than the first one has sealed, for all replicas, by transactions that
 * compare each record: what it is for others stays as it is. Does nothing while it is under way. */
void udpai_replicator_reseal(udpai_replicator *replicator);

/* Reports the event when all that was committed before this call was reported (etcd/barrier.h). */
void udpai_replicator_barrier(udpai_replicator *replicator, udpai_replicated *event);

/* Of one that holds (replica/held.h): what its node has, taken; and what an operator decides. */
void udpai_replicator_hold(udpai_replicator *replicator, udpai_holdings *holdings);
void udpai_replicator_answer_hold(udpai_replicator *replicator, udpai_hold_answer answer);

/* So many streams of clients this replica has: it states that to the others. */
void udpai_replicator_set_streams(udpai_replicator *replicator, uint64_t n);
/* Asks all replicas to share their streams evenly, in this time. */
void udpai_replicator_rebalance(udpai_replicator *replicator, uint64_t over_ms);

#endif
