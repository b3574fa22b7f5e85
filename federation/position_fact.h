/* SPDX-License-Identifier: Apache-2.0 */
/* Up to where the store has what replicas have committed, as one fact that is kept with it. */
#ifndef UDPAI_FEDERATION_POSITION_FACT_H
#define UDPAI_FEDERATION_POSITION_FACT_H

#include "store/replication.h"

typedef struct udpai_position_fact {
    udpai_durable_position position;
    uint64_t base;   /* from which revisions count, as numbers of commits */
    bool is_partial; /* there was more: it could not be decrypted, or the node's rules hid it */
    udpai_replication_proof proof;
} udpai_position_fact;

/* Adds it to a commit. */
udpa_err udpai_position_fact_add(udpai_durable_batch *batch, const udpai_position_fact *fact);
bool udpai_position_fact_is(const udpai_durable_op *op);
/* False: it is another fact. The key of the proof is the caller's; without memory there is no
 * proof. */
bool udpai_position_fact_read(const udpai_durable_op *op, udpai_position_fact *ret_fact);

#endif
