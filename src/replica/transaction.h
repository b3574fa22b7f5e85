/* SPDX-License-Identifier: Apache-2.0 */
/* A proposal to etcd while it is put together, and until it has its outcome; for the files of this
 * folder. */
#ifndef UDPAI_REPLICA_TRANSACTION_H
#define UDPAI_REPLICA_TRANSACTION_H

#include "base/vector.h"
#include "etcd/proposals.h"
#include "replica/locks.h"

/* In values and keys of operations. Below what a proposal may have, for each may be larger. */
#define UDPAI_TRANSACTION_BYTES ((size_t)768 * 1024)

typedef struct udpai_transaction_env {
    udpai_mirror *mirror;
    udpai_proposals *proposals;
    udpai_str prefix; /* of all keys */
} udpai_transaction_env;

typedef struct udpai_replica_transaction udpai_replica_transaction;
/* With its outcome; it is freed after this. */
typedef void (*udpai_transaction_done_fn)(udpai_replica_transaction *transaction,
                                          const udpai_proposal_result *result);

struct udpai_replica_transaction {
    udpai_list node; /* in the owner's list of those under way */
    udpai_proposal proposal;
    UDPAI_VECTOR(udpai_etcd_compare) compares;
    UDPAI_VECTOR(udpai_etcd_op) ops;
    UDPAI_VECTOR(udpa_bytes *) texts; /* what both refer to */
    size_t bytes;
    bool has_failed; /* without memory */
    udpai_transaction_done_fn done;
    void *userdata;
    char set_id[UDPAI_LOCK_SET_LEN + 1]; /* for its owner */
};

/* NULL without memory. */
udpai_replica_transaction *udpai_replica_transaction_new(uint32_t order);
/* One that is not submitted. NULL does nothing. Returns NULL. */
udpai_replica_transaction *udpai_replica_transaction_free(udpai_replica_transaction *transaction);

/* The key with the prefix and this head before it, as long as the transaction is; empty: it has
 * failed. */
udpai_str udpai_transaction_key(udpai_replica_transaction *transaction,
                                const udpai_transaction_env *env,
                                const char *head,
                                udpai_str key);
void udpai_transaction_compare(udpai_replica_transaction *transaction,
                               udpai_str key,
                               int64_t mod_revision);
/* The key is still the one that was created then. */
void udpai_transaction_compare_created(udpai_replica_transaction *transaction,
                                       udpai_str key,
                                       int64_t create_revision);
/* Takes a reference. */
void
udpai_transaction_put(udpai_replica_transaction *transaction, udpai_str key, udpa_bytes *value);
void udpai_transaction_delete(udpai_replica_transaction *transaction, udpai_str key);
/* Has it room for so many more? */
bool udpai_transaction_fits(const udpai_replica_transaction *transaction,
                            size_t n_compares,
                            size_t n_ops,
                            size_t bytes);
/* Takes it; its owner's list has it until it is done, which is later. False: it has failed, and is
 * freed. */
bool udpai_transaction_submit(udpai_replica_transaction *transaction,
                              const udpai_transaction_env *env,
                              udpai_list *under_way,
                              udpai_transaction_done_fn done,
                              void *userdata);
/* Of proposals that are gone. */
void udpai_transactions_free(udpai_list *under_way);

#endif
