/* SPDX-License-Identifier: Apache-2.0 */
/* All that replicas have was read anew: what a node has of publishers and of shares, and is not
 * there, ends. Of a share without a mark nothing does: nobody knows what is missing of it. */
#ifndef UDPAI_FEDERATION_REPLICA_SWEEP_H
#define UDPAI_FEDERATION_REPLICA_SWEEP_H

#include "federation/context.h"
#include "federation/shares.h"

/* @p batch: what is there, as PUTs. @p locked: what is there as well, but cannot be decrypted;
 * NULL: nothing. UDPA_ERR_NOMEM: some may have ended. */
udpa_err udpai_replica_end_others(const udpai_context *context,
                                  const udpai_shares *shares,
                                  const udpai_durable_batch *batch,
                                  const udpai_durable_batch *locked);

#endif
