/* SPDX-License-Identifier: Apache-2.0 */
/* Which store this node has, for the files of this folder. */
#ifndef UDPAI_EPOCH_H
#define UDPAI_EPOCH_H

#include "federation/context.h"

typedef struct udpai_epoch udpai_epoch;

udpa_err udpai_epoch_new(udpai_epoch **ret_epoch, udpai_context *context);
/* NULL does nothing. */
void udpai_epoch_free(udpai_epoch *epoch);
/* What the durable engine has kept of it. */
udpa_err udpai_epoch_restore(udpai_epoch *epoch, const udpai_durable_op *op);
/* A node without an engine has a store that was empty just now. */
void udpai_epoch_start(udpai_epoch *epoch);
/* A batch goes to the engine. */
void udpai_epoch_commits(udpai_epoch *epoch, const udpai_durable_batch *batch, uint64_t ticket);
/* This batch, and all before it, is safe, or it has failed. */
void udpai_epoch_committed(udpai_epoch *epoch, uint64_t ticket, udpa_err result);
/* With replicas: of all of them this is the epoch, and the number of a commit is the revision at
 * which it was; it has been applied. @p is_loud: it changed what others may be sent. */
udpa_err udpai_epoch_set(udpai_epoch *epoch, udpai_str set_id);
udpai_str udpai_epoch_name(const udpai_epoch *epoch);
void udpai_epoch_reached(udpai_epoch *epoch, uint64_t revision, bool is_loud);

/* What this node does not have is removed: each node that has it as a source learns it as soon as
 * it is kept. The id is the node's, so that it is not confirmed to the wrong node. */
udpa_err udpai_epoch_accept(udpai_epoch *epoch, udpai_str id, udpa_error **ret_error);

#endif
