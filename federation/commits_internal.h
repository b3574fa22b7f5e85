/* SPDX-License-Identifier: Apache-2.0 */
/* Publications on their way, for the files commits*.c. */
#ifndef UDPAI_FEDERATION_COMMITS_INTERNAL_H
#define UDPAI_FEDERATION_COMMITS_INTERNAL_H

#include "base/map.h"
#include "federation/commits.h"
#include "federation/receiver.h"
#include "federation/refreshes.h"
#include "store/staging.h"

/* A publication that is staged, or something that this node does itself. */
typedef struct udpai_transaction {
    udpai_list node; /* in `staged` or `sent` */
    struct udpai_commit_queue *queue;
    udpai_pending_publication *pending; /* NULL: nobody has published it */
    udpai_staging *staging;
    struct udpai_share *share;       /* what one replica reads for all; NULL: it is none */
    uint64_t ticket;                 /* 0: it is not handed over */
    udpai_durable_position position; /* at which it was decided */
    udpai_refresh_list refreshes;    /* what of it has a ttl */
    unsigned n_lost;                 /* so often replicas were first */
    unsigned place;                  /* that this one had when it was decided */
    bool is_kept;                    /* and is to be applied */
    bool is_janitors;                /* this node does it as the janitor of its set */
    bool is_void;       /* it waits to be decided once more: here, some of it changes nothing */
    bool is_scarce;     /* with it, little is left of a limit: it is alone on its way */
    bool is_state;      /* it replaces the whole state of its origin */
    bool has_old_rules; /* the rules have changed since it was checked */
} udpai_transaction;

/* Of one origin: what is staged, and what comes after it. */
typedef struct udpai_commit_queue {
    udpai_origin *origin;      /* a reference */
    udpai_list waiting;        /* turns */
    udpai_list node;           /* in `waiting` of all, while there are any */
    size_t n_staged, n_states; /* the latter of those that replace the whole state */
    size_t n_void;             /* and of those that wait to be decided once more */
} udpai_commit_queue;

struct udpai_commits {
    udpai_context *context;
    udpai_peers *peers;
    udpai_receiver *receiver;
    const struct udpai_providers *providers;
    struct udpai_shares *shares; /* NULL: there are no replicas */
    udpai_map queues, names;
    udpai_list waiting;      /* queues in which transactions wait */
    udpai_list staged, sent; /* transactions; those that are sent by rising ticket */
    udpai_list ends;         /* turns that are ends, and have come */
    bool has_ended;          /* a transaction has failed: others may have their turn */
    bool must_review;        /* something was applied that was checked by other rules */
    size_t n_scarce;         /* transactions */
    uint64_t last_proposed;  /* ticket, of what went to the replicas */
};

/* ---- commits.c ---- */

/* Its origin's; made if need be. NULL without memory. */
udpai_commit_queue *udpai_commit_queue_get(udpai_commits *commits, udpai_origin *origin);
/* Has the stream ended, and that is to be taken in only behind what it has published? */
bool udpai_commit_queue_has_end(const udpai_commit_queue *queue, uint64_t session);
/* If nothing is in it, it goes. */
void udpai_commit_queue_release(udpai_commits *commits, udpai_commit_queue *queue);
/* NULL without memory. */
udpai_transaction *udpai_transaction_new(udpai_commit_queue *of,
                                         udpai_pending_publication *pending);
/* Checks its publication, and stages what that changes. False: it changes nothing that is kept, or
 * it was rejected, and has its answer in its turn: the transaction is at its end. */
bool udpai_transaction_decide(udpai_commits *commits, udpai_transaction *begun, udpai_peer *peer);
/* What it has staged, which is something, waits to be handed over. False: without memory it is not
 * staged. */
bool udpai_transaction_stage(udpai_commits *commits, udpai_transaction *begun);
/* What it has staged is given up; it may decide again. */
void udpai_transaction_unstage(udpai_commits *commits, udpai_transaction *staged);
/* Frees it, with what it has staged, and did not apply; and its queue, if that is empty. */
void udpai_transaction_end(udpai_commits *commits, udpai_transaction *ended);
/* Are others about this name? */
bool udpai_commits_have_name(const udpai_commits *commits, udpai_str name);

/* ---- commits_audit.c ---- */

/* Adds records of what it changes to its ops, which begin there. */
udpa_err udpai_transaction_audit(const udpai_commits *commits,
                                 const udpai_transaction *one,
                                 udpai_durable_batch *batch,
                                 size_t from);

#endif
