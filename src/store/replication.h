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
    UDPAI_REPLICATED_BARRIER, /* with this ticket: all that was committed before was reported */
} udpai_replicated_kind;

typedef enum udpai_replicated_outcome {
    UDPAI_REPLICATED_COMMITTED,
    UDPAI_REPLICATED_LOST,     /* another replica has changed something of it first */
    UDPAI_REPLICATED_REJECTED, /* and would be again */
    UDPAI_REPLICATED_NOT_DONE, /* etcd is away, or full */
    UDPAI_REPLICATED_UNKNOWN,  /* it may have been committed */
} udpai_replicated_outcome;

/* Something that is reported to the node. */
typedef struct udpai_replicated {
    udpai_list node;
    udpai_replicated_kind kind;
    /* CHANGE: what all replicas have from now on, PUT and DELETE, and the position with it. */
    udpai_durable_batch *batch;
    bool is_all; /* what it does not have is not there */
    /* OUTCOME: of what was proposed with this ticket. What it has changed was reported before. */
    uint64_t ticket; /* also of a BARRIER */
    udpai_replicated_outcome outcome;
    udpai_replication_state state; /* STATE */
    udpa_error *error;             /* OUTCOME, STATE: why; NULL: nothing is amiss */
} udpai_replicated;

udpai_replicated *udpai_replicated_new(udpai_replicated_kind kind);
/* NULL does nothing. Returns NULL. */
udpai_replicated *udpai_replicated_free(udpai_replicated *event);
UDPA_DEFINE_CLEANUP(udpai_replicated, udpai_replicated_free)

typedef struct udpai_replication udpai_replication;

typedef struct udpai_replication_ops {
    /* Begins to report, from what the node has: what was reported to it with this position, by
     * whatever process; none: everything is reported. */
    udpa_err (*start)(udpai_replication *replication, udpai_durable_position has);
    /* Takes the batch; its position is that at which it was decided. An OUTCOME follows. */
    void (*propose)(udpai_replication *replication, udpai_durable_batch *batch, uint64_t ticket);
    /* A BARRIER follows, in 1 s at the latest; at once, if it is known that etcd is away. */
    void (*barrier)(udpai_replication *replication, uint64_t ticket);
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
