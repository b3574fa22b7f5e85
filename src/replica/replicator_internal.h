/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a replicator, for its files. */
#ifndef UDPAI_REPLICATOR_INTERNAL_H
#define UDPAI_REPLICATOR_INTERNAL_H

#include "base/log.h"
#include "etcd/proposals.h"
#include "replica/replicator.h"

#define UDPAI_LOG_REPLICA "replicas"

struct udpai_replicator {
    udpai_replicator_env env;
    udpa_bytes *prefix, *replica;
    udpai_record_seals seals;
    udpai_record_reader reader;
    udpai_mirror *mirror;
    udpai_proposals *proposals;
    udpai_list proposed; /* without an outcome */
    udpai_log_limit malformed_log;
};

/* ---- proposed.c ---- */

void udpai_replicator_free_proposed(udpai_replicator *replicator);

#endif
