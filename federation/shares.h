/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and sources of which one replica writes the contents for all: the elected one, which
 * is the janitor. What each of them has of such an origin came from etcd; what it has read by
 * itself waits here, until it is the elected one.
 *
 * That etcd has all of an origin is a record of its own, the mark, which is committed with the
 * first whole reading.
 *
 * Source: docs/design/replicas.md, "What one replica reads for all" */
#ifndef UDPAI_FEDERATION_SHARES_H
#define UDPAI_FEDERATION_SHARES_H

#include "federation/context.h"
#include "federation/problems.h"
#include "federation/reading.h"

/* What was not committed is compared again after this, and so is what others have changed. */
#define UDPAI_SHARES_AGAIN_MS 1000
/* The same of what cannot be committed, unless it is read anew. */
#define UDPAI_SHARES_LATER_MS 60000

typedef struct udpai_shares udpai_shares;

typedef struct udpai_share {
    udpa_bytes *root, *source; /* as of udpai_directory; no root: a source with a stream */
    udpa_bytes *mark_key;      /* of the origin of its mark */
    udpai_origin *origin;
    udpai_reading *reading; /* what was read here, and counts here; NULL: nothing yet */
    /* As etcd has it: all was read once; and of a PATH source, the last reading has found errors.
     */
    bool is_marked, is_failing;
    bool was_read;                  /* before a restart, as far as that is known */
    bool has_news;                  /* one of these has changed */
    bool is_new;                    /* the reading was not compared yet */
    bool accepts;                   /* what it leaves out may go, however much it is */
    bool is_proposed;               /* there is no outcome yet … */
    bool next_failing, writes_mark; /* … of that */
    bool was_accepted;              /* by what was proposed */
    /* What rules or keys have rejected since it was read, sorted: it goes, however much it is. So
     * many of it were proposed. */
    UDPAI_VECTOR(udpa_resource *) rejections;
    size_t n_proposed_rejections;
    bool is_elected;      /* this was logged last */
    udpa_error *rejected; /* why etcd does not take it; NULL: it does */
    uint64_t due_ms; /* reading and etcd are to be compared then; UINT64_MAX: they need not be */
} udpai_share;

udpa_err udpai_shares_new(udpai_shares **ret_shares, udpai_context *context);
/* NULL does nothing. */
void udpai_shares_free(udpai_shares *shares);

/* Of this origin, which stays. */
udpa_err
udpai_shares_add(udpai_shares *shares, udpai_origin *origin, udpai_str root, udpai_str source);
/* By the key of an origin. NULL: it is no share; also if @p shares is NULL. */
udpai_share *udpai_shares_find(const udpai_shares *shares, udpai_str origin);
/* What was read of this directory is a share. NULL: it is none. */
udpai_share *udpai_shares_of(const udpai_shares *shares, const udpai_directory *directory);
/* Each of them, from *at = 0 on; NULL behind the last. */
udpai_share *udpai_shares_next(const udpai_shares *shares, size_t *at);

/* Before a restart all of this directory had been read, or this source was effective. */
void udpai_shares_restore_read(const udpai_shares *shares, udpai_str origin);

/* ---- what was read here ---- */

/* Copies it. UDPA_ERR_NOMEM: what was read before stays. */
udpa_err
udpai_shares_read(udpai_shares *shares, udpai_share *share, const udpai_directory *directory);
/* What the reading leaves out may go, however much it is; nothing is held any more. */
void udpai_shares_accept(udpai_shares *shares, udpai_share *share);
/* What was rejected is gone. */
void udpai_shares_end_rejections(udpai_share *share);
/* Another replica is the elected one: what was held and accepted here is for that one to decide. */
void udpai_shares_resign(udpai_shares *shares, udpai_share *share);
/* What was read does not count any more. */
void udpai_shares_forget_reading(udpai_shares *shares, udpai_share *share);
/* As logs have it, such as "directory /etc/udpa". */
#define UDPAI_SHARE_TEXT "%s %.*s"
#define UDPAI_SHARE_SHOWN(share) udpai_share_kind(share), UDPAI_SHOWN(udpai_share_name(share))
const char *udpai_share_kind(const udpai_share *share);
/* The part that is logged for. */
const char *udpai_share_part(const udpai_share *share);
udpai_str udpai_share_name(const udpai_share *share);
/* It is to be compared with etcd then, if not before. */
void udpai_shares_compare_at(udpai_shares *shares, udpai_share *share, uint64_t time_ms);
/* What was proposed has its outcome: is it committed, or what else? */
void udpai_shares_proposed(udpai_shares *shares, udpai_share *share, const udpai_replicated *event);

/* A line for each that cannot be committed. */
void
udpai_shares_visit_problems(const udpai_shares *shares, udpai_problem_fn visit, void *userdata);

/* ---- marks ---- */

/* Is this the origin of a record that is a mark, of whatever origin? */
bool udpai_shares_is_mark_key(udpai_str origin);
/* A PUT or DELETE of one. False: it is of no share. *ret_is_first: there was none. */
bool udpai_shares_take_mark(udpai_shares *shares, const udpai_durable_op *op, bool *ret_is_first);
/* Those of a batch that is all there is. */
void udpai_shares_take_marks(udpai_shares *shares, const udpai_durable_batch *all);
/* The mark, if there is one, as far as this replica knows. */
udpa_err udpai_shares_copy_mark(const udpai_share *share, udpai_durable_batch *batch);
/* What a proposal of the share's adds: its mark, if it writes one. */
udpa_err udpai_shares_add_mark(const udpai_share *share, udpai_durable_batch *batch);

#endif
