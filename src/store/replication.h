/* SPDX-License-Identifier: Apache-2.0 */
/* How the store of a node is kept the same as those of its replicas: what a node proposes, what is
 * reported to it, and the interface of what is between them. That lives elsewhere
 * (src/transport/etcd); the store has nothing of a publisher that did not come by it.
 *
 * Source: docs/design/replicas.md */
#ifndef UDPAI_REPLICATION_H
#define UDPAI_REPLICATION_H

#include "base/error.h"
#include "store/durable.h"

typedef enum udpai_replication_state {
    UDPAI_REPLICATION_STARTING, /* nothing has been received yet, or all is received again */
    UDPAI_REPLICATION_CURRENT,
    UDPAI_REPLICATION_BEHIND, /* etcd does not answer: changes may be missing */
    UDPAI_REPLICATION_HELD,   /* etcd has an older or another state: nothing is taken from it */
} udpai_replication_state;

typedef enum udpai_replicated_kind {
    UDPAI_REPLICATED_CHANGE,
    UDPAI_REPLICATED_OUTCOME,
    UDPAI_REPLICATED_STATE,
    UDPAI_REPLICATED_MEMBERS,
    UDPAI_REPLICATED_HOLD,
    UDPAI_REPLICATED_BARRIER, /* with this ticket: all that was committed before was reported, … */
    UDPAI_REPLICATED_REBALANCE, /* streams are to be shared evenly: each replica receives it */
    UDPAI_REPLICATED_ETCD,      /* how large its database is, and what is amiss with it */
    UDPAI_REPLICATED_KEYS,      /* what there is that cannot be decrypted here, for lack of keys */
} udpai_replicated_kind;

typedef enum udpai_replicated_outcome {
    UDPAI_REPLICATED_COMMITTED,
    UDPAI_REPLICATED_LOST,     /* another replica has changed something of it first */
    UDPAI_REPLICATED_REJECTED, /* and would be again */
    UDPAI_REPLICATED_NOT_DONE, /* etcd is away, or full */
    UDPAI_REPLICATED_UNKNOWN,  /* it may have been committed */
} udpai_replicated_outcome;

/* So many replicas may be in one set. */
#define UDPAI_REPLICAS_MAX 7
/* Bytes of udpai_replica_member.files. */
#define UDPAI_REPLICA_FILES_MAX 4096

/* What a replica says of itself to the others. */
typedef struct udpai_replica_description {
    udpai_str id, version, address;
    udpai_str config;     /* digest of what must be the same for all */
    udpai_str advertised; /* HOST:PORT, where the others reach it; empty: nowhere */
    udpai_str keys;  /* ids of the keys that it has, with a space between them; the first seals */
    udpai_str files; /* as udpai_replica_member.files */
} udpai_replica_description;

/* One of the set. */
typedef struct udpai_replica_member {
    udpa_bytes *id, *version, *address, *config, *advertised; /* references */
    udpa_bytes *keys;                                         /* as above */
    udpa_bytes *missing; /* ids of keys that it lacks; empty: none */
    /* What it has read of directories: for each a line of 16 hexadecimal digits, a space and the
     * path; empty: it does not state that. */
    udpa_bytes *files;
    int64_t revision;   /* of the last change that it has */
    uint64_t n_streams; /* of clients, as it has stated last … */
    bool has_streams;   /* … if it states that at all */
    int64_t written;    /* the revision at which it has */
    unsigned place;     /* 1 to UDPAI_REPLICAS_MAX */
    bool is_own;
} udpai_replica_member;

typedef enum udpai_membership {
    UDPAI_MEMBERSHIP_UNKNOWN,
    UDPAI_MEMBERSHIP_JOINED,
    UDPAI_MEMBERSHIP_FULL, /* all places are taken by others that live */
} udpai_membership;

/* ---- an etcd that has another state than before ---- */

#define UDPAI_HOLD_NAMES_MAX 20

/* What the state of that etcd lacks, compared with that of a replica. */
typedef struct udpai_hold_difference {
    size_t n_missing;  /* not there */
    size_t n_older;    /* of a lower generation there */
    size_t n_newer;    /* of a higher one there: they stay */
    size_t n_other;    /* of the same one, and yet another content */
    size_t n_returned; /* there alone, and no removal is known: they come back */
    size_t n_locked;   /* there, and cannot be decrypted here: they stay */
} udpai_hold_difference;

/* While a replica holds. */
typedef struct udpai_hold {
    bool needs_holdings; /* the node is to hand over what it has, and nothing else is set */
    bool is_listed;      /* the difference is known */
    udpai_hold_difference difference;
    udpa_bytes *names[UDPAI_HOLD_NAMES_MAX]; /* of what would be lost: missing and older; some */
    size_t n_names;
    int64_t revision; /* of that etcd; 0: it has not answered */
    udpa_bytes *next; /* what will happen, or is to be done; for people */
} udpai_hold;

/* What a node has that all replicas have. */
typedef struct udpai_holdings {
    udpai_durable_batch *batch; /* PUTs, each of another place; with its position */
    uint64_t number;            /* of the last commit that the node has applied */
    bool is_partial;            /* it had not all: it lacks keys, or its rules hide something */
    udpa_bytes *set_id, *node_id;
} udpai_holdings;

typedef enum udpai_hold_answer {
    UDPAI_HOLD_ACCEPT, /* what that etcd has is right */
    UDPAI_HOLD_PUSH,   /* what this replica has is */
} udpai_hold_answer;

/* How a node is one of its replicas. */
typedef struct udpai_replica_status {
    udpai_replication_state state;
    int64_t since_us;      /* that state; since 1970; 0: nothing was reported yet */
    const udpa_error *why; /* it is not current; NULL: nothing is amiss */
    const udpai_replica_member *members;
    size_t n_members;
    udpai_membership membership;
    size_t n_hidden;        /* contributions that its rules, or keys of signatures, do not allow */
    uint64_t n_given_up;    /* barriers so far: their streams were served without them */
    size_t n_overdue;       /* and such as stay, though their time is over */
    int64_t revision;       /* of etcd, as it is known here; 0: not at all */
    const udpai_hold *hold; /* NULL: it does not hold */
    uint64_t n_rebalances;  /* that were asked for so far, anywhere in the set */
    uint64_t over_ms;       /* the time that the last one is to take */
    const udpa_error *locked; /* what cannot be decrypted, and by which keys; NULL: nothing */
    size_t n_locked;          /* resources */
    size_t
        n_files_waiting; /* directories that were read, and wait until most have read the same … */
    size_t n_files_differing; /* … and those that are not the same on all replicas for a while */
    bool has_listed;          /* all that there is, in this process */
    int64_t size_bytes, quota_bytes; /* of the database of etcd; 0: it is not known */
    udpa_error *alarm; /* what is amiss with it, as it has stated last; NULL: nothing; owned */
} udpai_replica_status;

/* A key of etcd, and a revision at which it was written: an etcd that has it so has the history of
 * which the store has the outcome. */
typedef struct udpai_replication_proof {
    udpa_bytes *key; /* NULL: there is none */
    int64_t revision;
} udpai_replication_proof;

/* Something that is reported to the node. */
typedef struct udpai_replicated {
    udpai_list node;
    udpai_replicated_kind kind;
    /* CHANGE: what all replicas have from now on, PUT and DELETE, and the position with it.
     * KEYS: all that cannot be decrypted, as DELETEs, though it is there: what the node has of it,
     * it keeps. A change that brings such is reported behind this, one that ends such before. */
    udpai_durable_batch *batch;
    bool is_all;   /* what it does not have is not there */
    bool is_other; /* and what is newer than it is void: another state of etcd was accepted */
    uint64_t base; /* the revision counts from there: that makes the number of the commit */
    udpai_replication_proof proof; /* of it; a reference */
    /* OUTCOME: of what was proposed with this ticket. What it has changed was reported before. */
    uint64_t ticket; /* also of a BARRIER */
    bool is_current; /* BARRIER: … or that was not to be known in time, and this is false */
    udpai_replicated_outcome outcome;
    udpai_replication_state state; /* STATE */
    int64_t revision;              /* STATE: of etcd, if it is known */
    /* STATE: since it is current no barrier has passed, or the last one did not in time: something
     * that was committed may be missing. */
    bool is_uncertain;
    udpai_hold *hold;                                 /* HOLD */
    udpai_replica_member members[UDPAI_REPLICAS_MAX]; /* MEMBERS */
    size_t n_members;
    udpai_membership membership;
    uint64_t over_ms;                /* REBALANCE: the time that it is to take */
    int64_t size_bytes, quota_bytes; /* ETCD: of the database; of the latter 0: it is not known */
    udpa_error *error;               /* OUTCOME, STATE, KEYS, ETCD: why; NULL: nothing is amiss */
} udpai_replicated;

void udpai_replica_member_done(udpai_replica_member *member);
/* With references of its own. */
void udpai_replica_member_copy(udpai_replica_member *copy, const udpai_replica_member *member);

/* NULL without memory. */
udpai_hold *udpai_hold_new(void);
/* NULL does nothing. Returns NULL. */
udpai_hold *udpai_hold_free(udpai_hold *hold);
udpai_holdings *udpai_holdings_free(udpai_holdings *holdings);
UDPA_DEFINE_CLEANUP(udpai_holdings, udpai_holdings_free)

/* This replica, and the first one by their places, which is the janitor; NULL: it is not among
 * them, or there are none. */
const udpai_replica_member *udpai_replica_status_own(const udpai_replica_status *status);
const udpai_replica_member *udpai_replica_status_first(const udpai_replica_status *status);
/* Notes an ETCD, and frees it. */
void udpai_replica_status_take_etcd(udpai_replica_status *status, udpai_replicated *event);
/* Notes a REBALANCE, and frees it. */
void udpai_replica_status_take_rebalance(udpai_replica_status *status, udpai_replicated *event);

udpai_replicated *udpai_replicated_new(udpai_replicated_kind kind);
/* NULL does nothing. Returns NULL. */
udpai_replicated *udpai_replicated_free(udpai_replicated *event);
UDPA_DEFINE_CLEANUP(udpai_replicated, udpai_replicated_free)

typedef struct udpai_replication udpai_replication;

typedef struct udpai_replication_ops {
    /* Begins to report, from what the node has: what was reported to it with this position, by
     * whatever process, and the proof of it; none: everything is reported. */
    udpa_err (*start)(udpai_replication *replication,
                      udpai_durable_position has,
                      const udpai_replication_proof *proof);
    /* Takes the batch; its position is that at which it was decided. An OUTCOME follows. */
    void (*propose)(udpai_replication *replication, udpai_durable_batch *batch, uint64_t ticket);
    /* A BARRIER follows, in 1 s at the latest; at once, if it is known that etcd is away. */
    void (*barrier)(udpai_replication *replication, uint64_t ticket);
    /* All is reported again, as one CHANGE, once etcd answers. */
    void (*list_again)(udpai_replication *replication);
    /* Of a replica that holds: what its node has; takes it. */
    void (*hold)(udpai_replication *replication, udpai_holdings *holdings);
    /* How the hold is to end; of one that does not hold: nothing. UDPA_ERR_NOMEM */
    udpa_err (*answer_hold)(udpai_replication *replication, udpai_hold_answer answer);
    /* States to the others how many streams of clients this replica has; before long, and if it is
     * worth a write. NULL: it does not. */
    void (*set_streams)(udpai_replication *replication, uint64_t n);
    /* Asks all replicas for a REBALANCE. NULL: it does not. */
    void (*rebalance)(udpai_replication *replication, uint64_t over_ms);
    /* States to the others what this replica has read: udpai_replica_member.files. NULL: it does
     * not. */
    void (*set_files)(udpai_replication *replication, udpai_str files);
    /* Nothing is reported any more; frees it. */
    void (*close)(udpai_replication *replication);
} udpai_replication_ops;

struct udpai_replication {
    const udpai_replication_ops *ops;
    /* Takes what is reported; on a thread of the replication. */
    void (*report)(void *userdata, udpai_replicated *event);
    void *userdata;
};

#endif
