/* SPDX-License-Identifier: Apache-2.0 */
/* Which store this node has, for the files of this folder. */
#ifndef UDPAI_EPOCH_H
#define UDPAI_EPOCH_H

#include "base/wheel.h"
#include "federation/node.h"

typedef struct udpai_epoch {
    udpa_bytes *name;  /* the store's lineage (model/lineage.h); NULL: not known yet */
    uint64_t n_before; /* commits of processes before this one */
    /* Batches that changed what others may be told, by their numbers: the first one that streams
     * are to be told of when it is done, and the last. */
    uint64_t n_loud, n_last_loud;
    uint64_t n_told;  /* that far streams were told by an order of its own … */
    uint64_t told_ms; /* … then; not more often than once a second */
    udpai_timer later;
    bool is_whole;        /* somebody has said that what it began with is all there is to be */
    udpa_bytes *next;     /* the epoch that begins when … */
    uint64_t next_ticket; /* … this batch is safe; 0: it was not handed over yet */
} udpai_epoch;

void udpai_epoch_init(udpai_node *node);
void udpai_epoch_done(udpai_node *node);
/* What the durable engine says of itself. */
udpa_err udpai_epoch_restore(udpai_node *node, const udpai_durable_op *op);
/* A node without an engine has a store that was empty just now. */
void udpai_epoch_start(udpai_node *node);
/* A batch goes to the engine. */
void udpai_epoch_commits(udpai_node *node, const udpai_durable_batch *batch, uint64_t ticket);
/* This batch, and all before it, is safe, or it has failed. */
void udpai_epoch_committed(udpai_node *node, uint64_t ticket, udpa_err result);

#endif
