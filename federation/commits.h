/* SPDX-License-Identifier: Apache-2.0 */
/* Publications on their way to the durable engine. Nothing of one is effective before the engine
 * has kept it, and what cannot be kept never is.
 *
 * A publication of a peer that is no source is checked when it is received, and what it changes is
 * staged (store/staging.h). With the next flush all that is staged is handed to the engine, and
 * applied when it is kept. Meanwhile others wait that are about the same names, or replace the
 * whole state of the same origin; those of one origin keep their order. Sources are not concerned:
 * what they have is kept as it is by them, and here as a copy. */
#ifndef UDPAI_FEDERATION_COMMITS_H
#define UDPAI_FEDERATION_COMMITS_H

#include "federation/parts.h"
#include "federation/peers.h"
#include "federation/pending_publication.h"
#include "federation/shares.h"
#include "store/replication.h"
#include "store/staging.h"

typedef struct udpai_commits udpai_commits;

udpa_err udpai_commits_new(udpai_commits **ret_commits, const udpai_parts *parts);
/* Before the parts. NULL does nothing. */
void udpai_commits_free(udpai_commits *commits);

/* Takes in what a peer publishes, now or in its turn; the answer is given in any case, but for what
 * replicas drop with the end of its stream. */
void
udpai_commits_take(udpai_commits *commits, udpai_peer *peer, udpai_pending_publication *pending);
/* Something is still on its way that comes before the end of this peer: it must wait, and the
 * report with it, which is consumed then. Else false. Replicas drop what the peer has published and
 * what is not decided yet. */
bool udpai_commits_hold_end(udpai_commits *commits, const udpai_peer *peer, udpai_report *report);
/* An end that need not wait any more; NULL: none. */
udpai_report *udpai_commits_next_end(udpai_commits *commits);

/* Adds what is staged, and not handed over, to the batch with this ticket. */
bool udpai_commits_has_staged(const udpai_commits *commits);
void udpai_commits_hand_over(udpai_commits *commits, udpai_durable_batch *batch, uint64_t ticket);
/* The engine has kept this batch and all before it, or has failed to. What it has kept is applied
 * by the next udpai_commits_go_on(). */
void udpai_commits_committed(udpai_commits *commits, uint64_t ticket, udpa_err result);
/* Applies what was kept, and takes in what has waited for that. Without memory it stops, and the
 * next call goes on. */
void udpai_commits_go_on(udpai_commits *commits);

/* ---- with replicas (docs/design/replicas.md) ---- */

/* Proposes what is staged, each publication by itself, in the place of
 * udpai_commits_hand_over(). */
void udpai_commits_propose(udpai_commits *commits);
/* An OUTCOME: what was committed is applied by now, as what others propose. What was lost is
 * decided again, by what there is now. */
void udpai_commits_proposed(udpai_commits *commits, const udpai_replicated *event);
/* As the janitor: proposes that this contribution go; nothing, if something about its name is under
 * way. */
void udpai_commits_propose_end(udpai_commits *commits,
                               udpai_origin *origin,
                               udpai_str type_url,
                               udpai_str name);
/* The same: proposes that the origin have this resource, in the place of what it has. */
void udpai_commits_propose_put(udpai_commits *commits,
                               udpai_origin *origin,
                               udpa_resource *resource,
                               uint64_t deadline_ms);
/* As the janitor: proposes that etcd have this no more; the store has it no more. The outcome is
 * nobody's concern: what is lost was written anew. */
void udpai_commits_propose_delete(udpai_commits *commits, const udpai_durable_op *op);
/* The same of several; takes them. */
void udpai_commits_propose_batch(udpai_commits *commits, udpai_durable_batch *batch);

/* As the elected replica: proposes what is staged of this, with its mark, if it writes one. Takes
 * the staging. False: something about its names is under way, or there is no memory. */
bool
udpai_commits_propose_share(udpai_commits *commits, udpai_share *share, udpai_staging *staging);

/* The rules have changed: what was checked by the old ones is reviewed when it is applied. True
 * once after that. */
void udpai_commits_note_rules(udpai_commits *commits);
bool udpai_commits_take_review(udpai_commits *commits);

#endif
