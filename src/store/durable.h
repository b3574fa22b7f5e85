/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine that keeps contributions beyond the life of the process is asked to do, and the
 * interface such an engine has. Engines live elsewhere (src/storage); the store makes the work. */
#ifndef UDPAI_DURABLE_H
#define UDPAI_DURABLE_H

#include "base/list.h"
#include "base/vector.h"
#include "model/identity.h"
#include "model/node_info.h"
#include "model/resource.h"

typedef enum udpai_durable_kind {
    UDPAI_DURABLE_PUT,           /* a contribution, replacing that of the same key */
    UDPAI_DURABLE_DELETE,        /* a contribution */
    UDPAI_DURABLE_MARK,          /* a fact about an origin: it has completed (type, prefix) */
    UDPAI_DURABLE_UNMARK,        /* not any more */
    UDPAI_DURABLE_USE,           /* another: what it has of the type counts */
    UDPAI_DURABLE_DISUSE,        /* not any more */
    UDPAI_DURABLE_HOLD,          /* of a contribution: its origin does not name it any more … */
    UDPAI_DURABLE_RELEASE,       /* … but does again, or it was removed */
    UDPAI_DURABLE_SEEN,          /* of an origin: the epoch that it had when it completed a type */
    UDPAI_DURABLE_FORGET_ORIGIN, /* everything of an origin */
    UDPAI_DURABLE_EPOCH,         /* loading, and first: which store this is; else: from now on */
    UDPAI_DURABLE_AUDIT,         /* a record of what is changed (store/audit.h); it is not loaded */
} udpai_durable_kind;

/* Why a contribution goes. */
typedef enum udpai_cause {
    UDPAI_CAUSE_OTHER,
    UDPAI_CAUSE_STATED, /* its publisher or an operator has said so, which has a record by itself */
    UDPAI_CAUSE_TTL,
    UDPAI_CAUSE_RULES,
    UDPAI_CAUSE_SIGNATURE,
    UDPAI_CAUSE_REVOKED, /* the certificate of its publisher */
    UDPAI_CAUSE_REMOVAL, /* its authority has removed it, somewhere else */
} udpai_cause;

typedef struct udpai_durable_op {
    udpai_durable_kind kind;
    /* Its key; EPOCH: none; AUDIT: of the replicas of a node, where it is in etcd, else NULL. */
    udpa_bytes *origin;
    udpa_resource *resource; /* PUT; the engine encodes it */
    udpa_bytes *type;        /* all but PUT, FORGET_ORIGIN, EPOCH and AUDIT: type URL with a NUL */
    /* DELETE, HOLD, RELEASE: the name; MARK, UNMARK: the prefix; SEEN, EPOCH: the epoch; AUDIT: the
     * record. */
    udpa_bytes *name;
    /* SEEN, EPOCH: of the last commit; not written of EPOCH. AUDIT: when, in us since 1970. */
    uint64_t number;
    bool is_whole;        /* EPOCH: what it began with is all that was meant to be */
    uint64_t deadline_ms; /* PUT: by the node's clock, which is void after a restart; 0: never */
    int64_t expires_us;   /* PUT: the same since 1970; the node fills it in for the engine. A DELETE
                             that is loaded: the same */
    bool is_known;        /* PUT, reported by replicas: this record was reported before as it is */
    bool is_same;         /* PUT: it only renews what is there */
    udpai_cause cause;    /* DELETE */
    udpai_identity *identity; /* PUT, of the replicas of a node: its publisher's; NULL: not known */
} udpai_durable_op;

/* Up to where a store has what its replicas have committed (store/replication.h). */
typedef struct udpai_durable_position {
    uint64_t cluster_id; /* of etcd; 0: nothing of any */
    int64_t revision;
} udpai_durable_position;

/* Committed as a whole or not at all. Owned by one side at a time: it goes to the engine, and comes
 * back with the result, so that nothing must be allocated to report it. */
typedef struct udpai_durable_batch {
    UDPAI_VECTOR(udpai_durable_op) ops;
    udpai_list node; /* for its owner */
    uint64_t ticket;
    udpa_err result;
    uint64_t begun_ns;               /* for its owner: when it was handed to the engine */
    udpai_durable_position position; /* among replicas alone */
    bool is_janitors; /* among replicas: only while the one that proposes it is their janitor … */
    unsigned place;   /* … or has this place still; 0: it has none */
} udpai_durable_batch;

udpai_durable_batch *udpai_durable_batch_new(void);
udpai_durable_batch *udpai_durable_batch_free(udpai_durable_batch *batch);
UDPA_DEFINE_CLEANUP(udpai_durable_batch, udpai_durable_batch_free)
/* Gives back the references that it has; it is empty then. */
void udpai_durable_op_done(udpai_durable_op *op);
/* Drops all ops but the first @p n. */
void udpai_durable_batch_cut(udpai_durable_batch *batch, size_t n);
/* Without ops, and the memory for them. */
void udpai_durable_batch_clear(udpai_durable_batch *batch);
/* Takes references of its own. */
udpa_err udpai_durable_batch_add(udpai_durable_batch *batch, const udpai_durable_op *op);

/* Receives what was kept, at start: EPOCH, PUT, MARK, USE, SEEN and HOLD ops, borrowed; of a
 * contribution with an end that cannot be read, a DELETE with that end. What has ended meanwhile is
 * among them. An error ends the loading.
 *
 * A store has an epoch, which it was given at random when it was empty, and counts its commits: a
 * peer that has seen both knows by them whether what it meets is that store, and no older copy of
 * it. The number of a commit is that of the last one before the process began and its ticket. */
typedef udpa_err (*udpai_durable_load_fn)(void *userdata, const udpai_durable_op *op);
/* A batch is safe, or has failed, by its result; all before it have come. The batch has no ops any
 * more, and is consumed. On the engine's thread. */
typedef void (*udpai_durable_done_fn)(void *userdata, udpai_durable_batch *batch);

typedef struct udpai_durable_engine udpai_durable_engine;

typedef struct udpai_durable_ops {
    /* Calls back for everything kept; on the caller's thread, before the first commit. */
    udpa_err (*load)(udpai_durable_engine *engine,
                     udpai_durable_load_fn fn,
                     void *userdata,
                     udpa_error **ret_error);
    /* Begins to commit; takes the batch; `done` is called once with it, which has this ticket then.
     * Tickets ascend. */
    void (*commit)(udpai_durable_engine *engine, udpai_durable_batch *batch, uint64_t ticket);
    /* Commits what was begun, then frees the engine. */
    void (*close)(udpai_durable_engine *engine);
} udpai_durable_ops;

struct udpai_durable_engine {
    const udpai_durable_ops *ops;
    udpai_durable_done_fn done;
    void *userdata;
};

#endif
