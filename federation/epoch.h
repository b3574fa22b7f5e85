/* SPDX-License-Identifier: Apache-2.0 */
/* Which store this node has, for the files of this folder. */
#ifndef UDPAI_EPOCH_H
#define UDPAI_EPOCH_H

#include "federation/node_internal.h"

/* What the durable engine says of itself. */
udpa_err udpai_epoch_restore(udpai_node *node, const udpai_durable_op *op);
/* A node without an engine has a store that was empty just now. */
void udpai_epoch_start(udpai_node *node);
/* This batch is safe, and all before it. */
void udpai_epoch_committed(udpai_node *node, uint64_t ticket);

#endif
