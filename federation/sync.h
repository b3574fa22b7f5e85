/* SPDX-License-Identifier: Apache-2.0 */
/* What is synchronized, as it is sent to streams: the snapshot, what it is made of that changes by
 * itself, and how far the stream side has it. unsettled.c computes the next one. */
#ifndef UDPAI_FEDERATION_SYNC_H
#define UDPAI_FEDERATION_SYNC_H

#include "federation/context.h"
#include "store/durable.h"

typedef struct udpai_sync udpai_sync;

udpa_err udpai_sync_new(udpai_sync **ret_sync);
/* NULL does nothing. */
void udpai_sync_free(udpai_sync *sync);

/* ---- the snapshot ---- */

/* NULL: there was none yet. Borrowed. */
udpai_settled *udpai_sync_settled(const udpai_sync *sync);
/* The next one; its reference is taken; true: it differs from the one before. */
bool udpai_sync_take(udpai_sync *sync, udpai_settled *settled);

/* Has it changed since it was sent, and is the one before applied? */
bool udpai_sync_is_due(const udpai_sync *sync);
void udpai_sync_sent(udpai_sync *sync);
/* Has it changed since it was sent? */
bool udpai_sync_is_unsent(const udpai_sync *sync);
/* The stream side has applied what was sent. */
void udpai_sync_applied(udpai_sync *sync);

/* How many were computed so far. */
uint64_t udpai_sync_n_evaluations(const udpai_sync *sync);
/* Has the stream side one that was computed after so many? */
bool udpai_sync_is_applied_since(const udpai_sync *sync, uint64_t n_evaluations);

/* ---- what it is made of ---- */

/* What the sources of client groups have sent; NULL: there is no group. Borrowed. */
udpai_settled_groups *udpai_sync_groups(const udpai_sync *sync);
/* Takes the reference. */
void udpai_sync_set_groups(udpai_sync *sync, udpai_settled_groups *groups);

/* What is known of names with a provider of their own; NULL: there is none. Borrowed. */
udpai_settled_names *udpai_sync_names(const udpai_sync *sync);
/* Of what they were made; 0: of nothing. */
uint64_t udpai_sync_names_digest(const udpai_sync *sync);
/* Takes the reference. */
void udpai_sync_set_names(udpai_sync *sync, udpai_settled_names *names, uint64_t digest);

/* Types of which the node publishes something itself before long. On failure nothing has changed.
 */
udpa_err udpai_sync_expect_own(udpai_sync *sync, udpai_str type_url);
void udpai_sync_expect_own_no_more(udpai_sync *sync, udpai_str type_url);
/* Each of them, from *at = 0 on; false behind the last. */
bool udpai_sync_next_own(const udpai_sync *sync, size_t *at, udpai_str *ret_type_url);

/* ---- what replicas have that this one cannot decrypt ---- */

/* DELETEs; borrowed until the next call; NULL: nothing. */
void udpai_sync_set_locked(udpai_sync *sync, const udpai_durable_batch *locked);
/* Does this replica lack the key of this resource, by whatever origin? Empty: of any type. */
bool udpai_sync_is_locked(const udpai_sync *sync, udpai_str type_url, udpai_str name);
/* Of which type and prefix nothing negative is known: names, or of too many their types. Begin with
 * 0; false at the end. */
bool udpai_sync_next_locked(const udpai_sync *sync,
                            size_t *at,
                            udpai_str *ret_type_url,
                            udpai_str *ret_prefix);

#endif
