/* SPDX-License-Identifier: Apache-2.0 */
/* Up to where the store has what replicas have committed, as one fact that is kept with it. */
#ifndef UDPAI_FEDERATION_POSITION_FACT_H
#define UDPAI_FEDERATION_POSITION_FACT_H

#include "store/replication.h"

/* Adds it to a commit. */
udpa_err udpai_position_fact_add(udpai_durable_batch *batch,
                                 udpai_durable_position position,
                                 const udpai_replication_proof *proof);
/* False: it is another fact. The proof's key is replaced; without memory there is no proof. */
bool udpai_position_fact_read(const udpai_durable_op *op,
                              udpai_durable_position *ret_position,
                              udpai_replication_proof *proof);

#endif
