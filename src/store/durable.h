/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine that keeps contributions beyond the life of the process is asked to do, and the
 * interface such an engine has. Engines live elsewhere (src/storage); the store makes the work. */
#ifndef UDPAI_DURABLE_H
#define UDPAI_DURABLE_H

#include "base/vector.h"
#include "model/resource.h"

typedef enum udpai_durable_kind {
    UDPAI_DURABLE_PUT,           /* a contribution, replacing that of the same key */
    UDPAI_DURABLE_DELETE,        /* a contribution */
    UDPAI_DURABLE_MARK,          /* a fact about an origin: it has said all of (type, prefix) */
    UDPAI_DURABLE_UNMARK,        /* not any more */
    UDPAI_DURABLE_USE,           /* another: what it has of the type counts */
    UDPAI_DURABLE_DISUSE,        /* not any more */
    UDPAI_DURABLE_FORGET_ORIGIN, /* everything of an origin */
} udpai_durable_kind;

typedef struct udpai_durable_op {
    udpai_durable_kind kind;
    udpa_bytes *origin;      /* its key */
    udpa_resource *resource; /* PUT; the engine encodes it */
    udpa_bytes *type;        /* all but PUT and FORGET_ORIGIN: type URL with a NUL */
    udpa_bytes *name;        /* DELETE: the name; MARK, UNMARK: the prefix */
    uint64_t
        deadline_ms;    /* PUT: by the node's clock, which says nothing after a restart; 0: never */
    int64_t expires_us; /* PUT: the same since 1970; the node fills it in for the engine */
} udpai_durable_op;

/* Committed as a whole or not at all. Owned by one side at a time. */
typedef struct udpai_durable_batch {
    UDPAI_VECTOR(udpai_durable_op) ops;
} udpai_durable_batch;

udpai_durable_batch *udpai_durable_batch_new(void);
udpai_durable_batch *udpai_durable_batch_free(udpai_durable_batch *batch);
UDPA_DEFINE_CLEANUP(udpai_durable_batch, udpai_durable_batch_free)
/* Takes references of its own. */
udpa_err udpai_durable_batch_add(udpai_durable_batch *batch, const udpai_durable_op *op);

/* Receives what was kept, at start: PUT, MARK and USE ops, borrowed. An error ends the loading. */
typedef udpa_err (*udpai_durable_load_fn)(void *userdata, const udpai_durable_op *op);
/* Tells that a batch, and all before it, is safe or has failed; on the engine's thread. */
typedef void (*udpai_durable_done_fn)(void *userdata, uint64_t ticket, udpa_err result);

typedef struct udpai_durable_engine udpai_durable_engine;

typedef struct udpai_durable_ops {
    /* Calls back for everything kept; on the caller's thread, before the first commit. */
    udpa_err (*load)(udpai_durable_engine *engine,
                     udpai_durable_load_fn fn,
                     void *userdata,
                     udpa_error **ret_error);
    /* Begins to commit; consumes the batch; `done` is called once with this ticket. */
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
