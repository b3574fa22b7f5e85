/* SPDX-License-Identifier: Apache-2.0 */
/* Another state of etcd was accepted, which may be older than what a replica has. */
#ifndef UDPAI_FEDERATION_REPLICA_ACCEPT_H
#define UDPAI_FEDERATION_REPLICA_ACCEPT_H

#include "federation/context.h"
#include "federation/shares.h"

/* Before a batch is applied that is all there is: forgets what is newer here, and would keep it
 * out. What is the same stays as it is. UDPA_ERR_NOMEM: it may be called again. */
udpa_err udpai_replica_forget_newer(const udpai_context *context,
                                    const udpai_shares *shares,
                                    const udpai_durable_batch *batch);

#endif
