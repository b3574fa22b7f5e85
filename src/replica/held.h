/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica does while its mirror holds: it compares what it has with what etcd has, and with
 * what the other replicas have that hold; the one that has most writes back what etcd lacks, unless
 * they disagree, or somebody else serves from that etcd already; then all accept it. Else an
 * operator decides. Owned by the thread of its replicator.
 *
 * Source: docs/design/replicas.md */
#ifndef UDPAI_REPLICA_HELD_H
#define UDPAI_REPLICA_HELD_H

#include "base/wheel.h"
#include "etcd/mirror.h"
#include "replica/record.h"
#include "replica/unread.h"
#include "store/replication.h"

/* So long the replicas that hold must have been the same ones, with the same, before one of them
 * writes. */
#define UDPAI_HELD_GRACE_MS 10000
#define UDPAI_HELD_LOOK_MS 2000
#define UDPAI_HELD_RETRY_MS 500
#define UDPAI_HELD_LEASE_S 10
#define UDPAI_HELD_KEEP_MS 3000

typedef struct udpai_held udpai_held;

typedef struct udpai_held_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    udpai_mirror *mirror;
    const udpai_unread *unread;
    /* Takes the event: a HOLD. */
    void (*report)(void *userdata, udpai_replicated *event);
    void *userdata;
} udpai_held_env;

/* Does nothing before udpai_held_begin(). @p prefix: with a '/' at its end. */
udpa_err udpai_held_new(udpai_held **ret_held,
                        const udpai_held_env *env,
                        udpai_str prefix,
                        udpai_str replica,
                        const udpai_record_seals *seals);
/* NULL does nothing. Returns NULL. Before the mirror. */
udpai_held *udpai_held_free(udpai_held *held);

/* The mirror holds from now on, or does not any more; also from inside its callbacks. */
void udpai_held_begin(udpai_held *held);
void udpai_held_end(udpai_held *held);

/* Other keys of secrets are there: what the node has is asked for, and compared, once more. */
void udpai_held_begin_again(udpai_held *held);

/* What the node has; taken. It was asked for by a HOLD. */
void udpai_held_take(udpai_held *held, udpai_holdings *holdings);
/* What an operator has decided. */
void udpai_held_answer(udpai_held *held, udpai_hold_answer answer);

#endif
