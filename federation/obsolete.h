/* SPDX-License-Identifier: Apache-2.0 */
/* What is in etcd and need not be there any more: contributions that a removal has ended of which
 * their replica did not know, and removals that were remembered long enough. The janitor deletes
 * them; what is deleted is forgotten by all replicas alike, with that change. */
#ifndef UDPAI_FEDERATION_OBSOLETE_H
#define UDPAI_FEDERATION_OBSOLETE_H

#include "federation/context.h"

typedef struct udpai_obsolete udpai_obsolete;

/* From now on the store tells it which removals may be forgotten. */
udpa_err udpai_obsolete_new(udpai_obsolete **ret_obsolete, udpai_context *context);
/* After the store has been used last. NULL does nothing. */
void udpai_obsolete_free(udpai_obsolete *obsolete);

/* It has ended, and goes from the store, or is gone. */
udpa_err udpai_obsolete_add(udpai_obsolete *obsolete, const udpai_contribution *ended);
size_t udpai_obsolete_n(const udpai_obsolete *obsolete);
/* Of those added since there were so many: what the store still has is not obsolete. */
void udpai_obsolete_drop_held(udpai_obsolete *obsolete, size_t n_before);
/* Somebody has done it. */
void udpai_obsolete_deleted(udpai_obsolete *obsolete, const udpai_durable_op *deleted);
/* A DELETE with references, the caller's, of what was not put anew. False: there is none. */
bool udpai_obsolete_next(udpai_obsolete *obsolete, udpai_durable_op *ret_op);

#endif
