/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are decided, and made when the durable engine has kept them.
 *
 * What one publication does is staged as a whole, then handed to the engine, then applied. Until
 * then the store has nothing of it but the room that it takes. What the engine does not keep, such
 * as client resources, is made at once, and so is everything without a staging. The caller must see
 * to it that no two stagings are about one name of one type at a time; what else happens to the
 * name meanwhile is respected. Owned by the store's thread. */
#ifndef UDPAI_STAGING_H
#define UDPAI_STAGING_H

#include "store/store.h"

typedef struct udpai_staging udpai_staging;

/* NULL without memory. The store must outlive it. */
udpai_staging *udpai_staging_new(udpai_store *store);
/* One that is never applied: it stages everything, also what no engine keeps. */
udpai_staging *udpai_staging_new_trial(udpai_store *store);
/* What was not applied is given up, with the room that it takes. NULL does nothing. Returns NULL.
 */
udpai_staging *udpai_staging_free(udpai_staging *staging);
UDPA_DEFINE_CLEANUP(udpai_staging, udpai_staging_free)
bool udpai_staging_is_empty(const udpai_staging *staging);
/* Something that was to be staged changes nothing, by what the store has now. NULL does nothing. */
void udpai_staging_note_unchanged(udpai_staging *staging);
/* Is something of it, or all, as was noted? */
bool udpai_staging_has_unchanged(const udpai_staging *staging);
/* It takes some of a limit of which less than a tenth is left with it, or not enough if each of so
 * many replicas has as much on its way as this one. To be asked before it is applied. */
bool udpai_staging_is_scarce(const udpai_staging *staging, unsigned n_replicas);

/* ---- deciding; staging NULL: at once ---- */

/* As udpai_store_put(). UDPA_ERR_LIMIT: with what else is staged there is no room. */
udpa_err udpai_staging_put(udpai_staging *staging,
                           udpai_store *store,
                           udpai_origin *origin,
                           udpa_resource *resource,
                           uint64_t deadline_ms,
                           udpa_error **ret_error);
/* As udpai_store_withdraw(), udpai_store_leave(). Without memory the staging cannot be carried out.
 */
void udpai_staging_withdraw(udpai_staging *staging,
                            udpai_store *store,
                            udpai_origin *origin,
                            udpai_str type_url,
                            udpai_str name);
void udpai_staging_leave(udpai_staging *staging,
                         udpai_store *store,
                         udpai_origin *origin,
                         udpai_str type_url,
                         udpai_str name);
void udpai_staging_leave_all(udpai_staging *staging,
                             udpai_store *store,
                             udpai_origin *origin,
                             const udpai_store_scope *scope);
/* As udpai_store_end(). */
udpa_err udpai_staging_end(udpai_staging *staging,
                           udpai_store *store,
                           udpa_resource *removal,
                           udpa_bytes *from_node);

/* ---- what was decided; staging NULL: nothing ---- */

/* Without memory some of it is missing: it cannot be carried out. */
bool udpai_staging_has_failed(const udpai_staging *staging);
/* Will what the origin has of the name be removed? */
bool udpai_staging_takes(udpai_staging *staging,
                         const udpai_origin *origin,
                         udpai_str type_url,
                         udpai_str name);
/* The generation of the name's removal; 0: it is not removed. */
uint64_t
udpai_staging_removal_generation(udpai_staging *staging, udpai_str type_url, udpai_str name);
/* Names that it is about, one after the other; the empty one at the end. Begin with 0. */
udpai_str udpai_staging_next_name(const udpai_staging *staging, size_t *position);

/* ---- carrying out ---- */

/* What the engine is to keep before it is applied, added to the batch; on failure none of it. */
udpa_err udpai_staging_commit(const udpai_staging *staging, udpai_durable_batch *batch);
/* The same of what replicas are to have: also what no engine is to keep. */
udpa_err udpai_staging_propose(const udpai_staging *staging, udpai_durable_batch *batch);
/* The engine has kept it: the store has it from now on. UDPA_ERR_NOMEM: not all, and the next call
 * goes on. */
udpa_err udpai_staging_apply(udpai_staging *staging);

#endif
