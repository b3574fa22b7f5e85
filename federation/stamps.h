/* SPDX-License-Identifier: Apache-2.0 */
/* Generations that replicas have given to what each of them reads by itself: files, and what xDS
 * servers have. The first one to see a content stamps it for all, so that the same content is as
 * new on each of them, and an older checkout is not the newest one. If two see it at once the
 * higher generation counts: none goes down. What is secret is not named by its content, and gets a
 * generation of each replica.
 *
 * Source: docs/design/replicas.md, "What each replica reads by itself" */
#ifndef UDPAI_FEDERATION_STAMPS_H
#define UDPAI_FEDERATION_STAMPS_H

#include "federation/context.h"

/* Of one name. With more, the janitor deletes those with the lowest generations. */
#define UDPAI_STAMPS_PER_NAME 8
/* Of one proposal. */
#define UDPAI_STAMPS_BATCH 30
/* What has not come back by then is proposed again. */
#define UDPAI_STAMPS_AGAIN_MS 5000

typedef struct udpai_stamps udpai_stamps;

udpa_err udpai_stamps_new(udpai_stamps **ret_stamps, udpai_context *context);
/* NULL does nothing. */
void udpai_stamps_free(udpai_stamps *stamps);

/* ---- what the set has ---- */

/* Is this the origin of a record that is a stamp, and no contribution? */
bool udpai_stamps_is_key(udpai_str origin);
/* A PUT or DELETE of one. UDPA_ERR_NOMEM */
udpa_err udpai_stamps_take(udpai_stamps *stamps, const udpai_durable_op *op);
/* Adds PUTs of all that the set has, as far as it is known. UDPA_ERR_NOMEM */
udpa_err udpai_stamps_copy(const udpai_stamps *stamps, udpai_durable_batch *batch);
/* All are reported again. */
void udpai_stamps_clear(udpai_stamps *stamps);
/* 0: none, that is also: it is not known yet, or this node is about to write another one. */
uint64_t udpai_stamps_of(const udpai_stamps *stamps, const udpa_resource *resource);
/* A name of which a stamp has changed since the last call; views, good until the next one. */
bool udpai_stamps_next_changed(udpai_stamps *stamps, udpai_str *ret_type_url, udpai_str *ret_name);

/* ---- what this node reads ---- */

/* The generation of a content that was read. @p candidate: what this node gives it, if nobody has
 * stamped it, or only earlier than @p before, the generation of what it replaces here or of its
 * removal: 0: of nothing. That is then proposed to the set. */
uint64_t udpai_stamps_choose(udpai_stamps *stamps,
                             const udpa_resource *resource,
                             uint64_t before,
                             uint64_t candidate);

/* PUTs to be proposed now, and DELETEs that the janitor is to propose; the caller's. NULL: none. */
udpai_durable_batch *udpai_stamps_next_proposal(udpai_stamps *stamps);
udpai_durable_batch *udpai_stamps_next_deletion(udpai_stamps *stamps);

#endif
