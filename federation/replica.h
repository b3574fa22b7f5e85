/* SPDX-License-Identifier: Apache-2.0 */
/* This node as one of several replicas: what they have committed is applied here, in the order in
 * which it was, and this node's own publications with it. */
#ifndef UDPAI_FEDERATION_REPLICA_H
#define UDPAI_FEDERATION_REPLICA_H

#include "federation/parts.h"
#include "federation/problems.h"
#include "store/replication.h"

typedef struct udpai_replica udpai_replica;

udpa_err udpai_replica_new(udpai_replica **ret_replica, const udpai_parts *parts);
/* NULL does nothing. */
void udpai_replica_free(udpai_replica *replica);

/* ---- what is kept of it ---- */

/* There is something for udpai_replica_commit(), though the store may have nothing for it. */
bool udpai_replica_has_moved(const udpai_replica *replica);
/* Adds to a commit up to where the store has what was committed, if that is not kept yet. */
void udpai_replica_commit(udpai_replica *replica, udpai_durable_batch *batch);
/* False: the fact is not one that udpai_replica_commit() has added. */
bool udpai_replica_restore(udpai_replica *replica, const udpai_durable_op *op);

/* ---- what is reported ---- */

/* Takes it. */
void udpai_replica_take(udpai_replica *replica, udpai_replicated *event);
/* Applies changes. The next event that is none, when all before it are applied; the caller's. NULL:
 * there is none. Without memory a change stays, and the next call goes on. */
udpai_replicated *udpai_replica_next(udpai_replica *replica);
/* Of the janitor: what is to be deleted in etcd (federation/obsolete.h), a DELETE with references,
 * the caller's. False: there is none. */
bool udpai_replica_next_obsolete(udpai_replica *replica, udpai_durable_op *ret_op);

/* ---- what one of them does for all (federation/janitor.h) ---- */

bool udpai_replica_is_janitor(const udpai_replica *replica);
/* What is to be proposed: DELETEs of what the rules of all replicas hide, the caller's. NULL:
 * nothing, or nothing more. */
udpai_durable_batch *udpai_replica_next_removals(udpai_replica *replica);

/* As reported last. */
udpai_replication_state udpai_replica_state(const udpai_replica *replica);
/* Of its position; borrowed. */
const udpai_replication_proof *udpai_replica_proof(const udpai_replica *replica);
const udpai_replica_status *udpai_replica_get_status(udpai_replica *replica);
/* What is amiss, for people. */
void
udpai_replica_visit_problems(const udpai_replica *replica, udpai_problem_fn visit, void *userdata);

#endif
