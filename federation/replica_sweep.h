/* SPDX-License-Identifier: Apache-2.0 */
/* All that replicas have was read anew: what a node has of publishers and of shares, and is not
 * there, ends. Of a share without a mark nothing does: nobody knows what is missing of it. */
#ifndef UDPAI_FEDERATION_REPLICA_SWEEP_H
#define UDPAI_FEDERATION_REPLICA_SWEEP_H

#include "federation/context.h"
#include "federation/places.h"
#include "federation/shares.h"

/* Ends what the store has of the replicas and is not there. @p n_held: so many of what
 * is there the store has. UDPA_ERR_NOMEM: some may have ended. */
udpa_err udpai_replica_end_others(udpai_store *store,
                                  const udpai_shares *shares,
                                  udpai_places *there,
                                  size_t n_held);

#endif
