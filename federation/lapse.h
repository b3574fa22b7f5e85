/* SPDX-License-Identifier: Apache-2.0 */
/* What this node has said and its store does not know of, because it was restored from a backup.
 * For the files of this folder. */
#ifndef UDPAI_FEDERATION_LAPSE_H
#define UDPAI_FEDERATION_LAPSE_H

#include "federation/context.h"

typedef struct udpai_lapse udpai_lapse;

udpa_err udpai_lapse_new(udpai_lapse **ret_lapse, udpai_context *context);
/* NULL does nothing. */
void udpai_lapse_free(udpai_lapse *lapse);

/* Goes with each commit of a node that recovers: how far its store has come. */
void udpai_lapse_commit(const udpai_lapse *lapse, udpai_durable_batch *batch);
/* That is what was kept; true: it was. */
bool udpai_lapse_restore(udpai_lapse *lapse, const udpai_durable_op *op);
/* A contribution of this node's own was kept. */
void udpai_lapse_note(udpai_lapse *lapse, const udpa_resource *kept);
void udpai_lapse_start(udpai_lapse *lapse);
/* Did this node stamp it when what its store has now was not written yet, in an earlier process? */
bool udpai_lapse_covers(const udpai_lapse *lapse, const udpa_resource *own);

#endif
