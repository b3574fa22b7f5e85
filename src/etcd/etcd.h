/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica asks of etcd, and what etcd answers: the part of its API that is used, without a
 * transport. One over gRPC is transport/etcd/client.h.
 *
 * All functions belong to the thread of the engine behind them, which calls back on it, and never
 * from inside a function that was called. Requests are encoded before a function returns: what they
 * refer to may go then. What a callback is given lasts until it returns.
 *
 * Source: the API reference of etcd v3, https://etcd.io/docs/v3.6/learning/api/ */
#ifndef UDPAI_ETCD_H
#define UDPAI_ETCD_H

#include "base/error.h"
#include "base/util.h"

/* What etcd takes at a time, unless it is configured otherwise. */
#define UDPAI_ETCD_TXN_OPS_MAX 128     /* of compares, and of each branch */
#define UDPAI_ETCD_REQUEST_MAX 1572864 /* bytes */

/* ---- what etcd has ---- */

/* Which cluster and member has answered, and where its state stood then. */
typedef struct udpai_etcd_header {
    uint64_t cluster_id, member_id, raft_term;
    int64_t revision;
} udpai_etcd_header;

typedef struct udpai_etcd_kv {
    udpai_str key, value;
    int64_t create_revision, mod_revision;
    int64_t version; /* writes since it was created */
    int64_t lease;   /* 0: none */
} udpai_etcd_kv;

typedef struct udpai_etcd_event {
    bool is_delete; /* of kv, only key and mod_revision are set then */
    udpai_etcd_kv kv;
} udpai_etcd_event;

/* ---- what is asked ---- */

typedef struct udpai_etcd_range {
    udpai_str key;
    udpai_str end;        /* the first key behind it; empty: this key alone */
    int64_t revision;     /* 0: the present one */
    int64_t limit;        /* keys; 0: all */
    bool is_serializable; /* as the member has it, which may be old; needs no quorum */
    bool keys_only;
} udpai_etcd_range;

typedef enum udpai_etcd_compare_kind {
    UDPAI_ETCD_COMPARE_MOD_REVISION,    /* 0: there is no such key */
    UDPAI_ETCD_COMPARE_CREATE_REVISION, /* the same */
} udpai_etcd_compare_kind;

/* The key has exactly this revision. */
typedef struct udpai_etcd_compare {
    udpai_etcd_compare_kind kind;
    udpai_str key;
    int64_t revision;
} udpai_etcd_compare;

typedef enum udpai_etcd_op_kind {
    UDPAI_ETCD_OP_PUT,
    UDPAI_ETCD_OP_DELETE,
    UDPAI_ETCD_OP_RANGE,
} udpai_etcd_op_kind;

typedef struct udpai_etcd_op {
    udpai_etcd_op_kind kind;
    udpai_str key;
    udpai_str value; /* PUT */
    udpai_str end;   /* DELETE, RANGE: as in a range */
    int64_t lease;   /* PUT; 0: none */
    bool keys_only;  /* RANGE */
} udpai_etcd_op;

/* If all compares hold, the first ops are carried out, else the others; at one revision. */
typedef struct udpai_etcd_txn {
    const udpai_etcd_compare *compares;
    const udpai_etcd_op *ops, *else_ops;
    size_t n_compares, n_ops, n_else_ops;
} udpai_etcd_txn;

/* ---- what is answered ---- */

typedef enum udpai_etcd_outcome {
    UDPAI_ETCD_DONE,
    UDPAI_ETCD_REJECTED, /* it was not done, and will not be if it is asked again as it is */
    UDPAI_ETCD_NOT_DONE, /* it was not done; it may be another time */
    UDPAI_ETCD_UNKNOWN,  /* it may have been done, or may still be */
} udpai_etcd_outcome;

typedef struct udpai_etcd_status {
    udpai_str version;
    int64_t size_bytes, used_bytes; /* of the database */
    int64_t quota_bytes;            /* 0: it does not say */
    uint64_t leader;                /* 0: it has none */
    bool is_learner;
    bool has_no_space, is_corrupt; /* its alarms */
} udpai_etcd_status;

typedef struct udpai_etcd_result {
    udpai_etcd_outcome outcome;
    const udpa_error *error;  /* with the member's address; NULL: DONE */
    bool is_compacted;        /* REJECTED: the revision that was asked for is gone … */
    bool is_future;           /* … or is still to come */
    udpai_etcd_header header; /* of DONE alone, as all that follows */
    bool succeeded;           /* of a transaction: the compares held */
    bool has_more;            /* of a range: than the limit */
    const udpai_etcd_kv *kvs; /* of a range, or of all ranges of a transaction */
    size_t n_kvs;
    int64_t lease, ttl_s; /* of a lease */
    udpai_etcd_status status;
} udpai_etcd_result;

/* ---- asking ---- */

/* One request under way, owned by the caller; it may be used again once `done` was called. */
typedef struct udpai_etcd_call {
    void (*done)(struct udpai_etcd_call *call, const udpai_etcd_result *result);
    void *engine; /* what works on it; NULL: nothing does */
    /* Of a transaction: done twice it is as good as once, so it is tried as a read is. */
    bool is_repeatable;
    /* With each member; 0: as long as it may take. One that has not answered after a shorter time
     * is not given up: another one is asked next. */
    uint64_t timeout_ms;
} udpai_etcd_call;

/* The changes of keys, in the order of their revisions. Owned by the caller. */
typedef struct udpai_etcd_watch {
    /* All changes from the start revision on will come; the cluster was at header->revision. */
    void (*created)(struct udpai_etcd_watch *watch, const udpai_etcd_header *header);
    /* Without events: nothing else has changed up to header->revision, if the member is no liar.
     * @p is_part: events of the same revisions may follow. */
    void (*changed)(struct udpai_etcd_watch *watch,
                    const udpai_etcd_header *header,
                    const udpai_etcd_event *events,
                    size_t n_events,
                    bool is_part);
    /* It is over; not called after udpai_etcd_ops.unwatch. @p compact_revision: what it began with
     * was compacted away, up to there; else 0. */
    void (*ended)(struct udpai_etcd_watch *watch, int64_t compact_revision, const udpa_error *why);
    void *engine;
} udpai_etcd_watch;

typedef struct udpai_etcd udpai_etcd;

/* UDPA_ERR_NOMEM, UDPA_ERR_CLOSED: nothing has begun. A read is tried with several members, a
 * write only until one of them may have it. */
typedef struct udpai_etcd_ops {
    udpa_err (*range)(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_range *range);
    udpa_err (*txn)(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_txn *txn);
    udpa_err (*lease_grant)(udpai_etcd *etcd, udpai_etcd_call *call, int64_t ttl_s);
    /* Once; a lease that has ended has a ttl of 0 in the result. */
    udpa_err (*lease_keep_alive)(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease);
    udpa_err (*lease_revoke)(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease);
    /* Of the member that is asked at present. */
    udpa_err (*status)(udpai_etcd *etcd, udpai_etcd_call *call);
    /* `done` will not be called. What was asked may be done all the same. */
    void (*cancel)(udpai_etcd *etcd, udpai_etcd_call *call);
    /* From @p revision on, of the keys from @p key to before @p end. After one has ended, or was
     * unwatched, the next is asked of another member. */
    udpa_err (*watch)(
        udpai_etcd *etcd, udpai_etcd_watch *watch, udpai_str key, udpai_str end, int64_t revision);
    /* Asks how far it is: `changed` without events, or with those that it lacked. */
    void (*ask_progress)(udpai_etcd *etcd, udpai_etcd_watch *watch);
    void (*unwatch)(udpai_etcd *etcd, udpai_etcd_watch *watch);
} udpai_etcd_ops;

struct udpai_etcd {
    const udpai_etcd_ops *ops;
};

#endif
