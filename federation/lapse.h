/* SPDX-License-Identifier: Apache-2.0 */
/* What this node has said and its store does not know of, because it was restored from a backup.
 * For the files of this folder. */
#ifndef UDPAI_FEDERATION_LAPSE_H
#define UDPAI_FEDERATION_LAPSE_H

#include "federation/node_internal.h"

/* Goes with each commit of a node that recovers: how far its store has come. */
void udpai_lapse_commit(const udpai_node *node, udpai_durable_batch *batch);
/* That is what was kept; true: it was. */
bool udpai_lapse_restore(udpai_node *node, const udpai_durable_op *op);
/* A word of this node's own was kept. */
void udpai_lapse_note(udpai_node *node, const udpa_resource *kept);
void udpai_lapse_start(udpai_node *node);
/* Did this node stamp it when what its store has now was not written yet, in an earlier process? */
bool udpai_lapse_covers(const udpai_node *node, const udpa_resource *own);

#endif
