/* SPDX-License-Identifier: Apache-2.0 */
/* The time of which a store that was restored from a backup has no record: from the last commit in
 * the backup to the start of this process. What this node stamped then is lost. */
#ifndef UDPAI_FEDERATION_LAPSE_H
#define UDPAI_FEDERATION_LAPSE_H

#include "federation/context.h"

typedef struct udpai_lapse udpai_lapse;

udpa_err udpai_lapse_new(udpai_lapse **ret_lapse, udpai_context *context);
/* NULL does nothing. */
void udpai_lapse_free(udpai_lapse *lapse);

/* Adds the present time to a commit of a node that recovers: up to it the store has a record. */
void udpai_lapse_commit(const udpai_lapse *lapse, udpai_durable_batch *batch);
/* False: the fact is not one that udpai_lapse_commit() has added. */
bool udpai_lapse_restore(udpai_lapse *lapse, const udpai_durable_op *op);
/* The store has a contribution that this node stamped, so it has a record up to then. */
void udpai_lapse_note(udpai_lapse *lapse, const udpa_resource *kept);
/* The node has started: here the lapse ends. */
void udpai_lapse_start(udpai_lapse *lapse);
/* Did this node stamp it within the lapse? False, too, once removals of that time may have been
 * forgotten. */
bool udpai_lapse_covers(const udpai_lapse *lapse, const udpa_resource *own);

#endif
