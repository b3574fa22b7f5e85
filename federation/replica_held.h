/* SPDX-License-Identifier: Apache-2.0 */
/* What this node has of what all its replicas have, to be compared with an etcd that has another
 * state than before. */
#ifndef UDPAI_FEDERATION_REPLICA_HELD_H
#define UDPAI_FEDERATION_REPLICA_HELD_H

#include "federation/context.h"
#include "federation/freezes.h"
#include "federation/problems.h"
#include "federation/shares.h"
#include "federation/stamps.h"

typedef struct udpai_replica_parts {
    const udpai_context *context;
    const udpai_stamps *stamps;
    const udpai_freezes *freezes;
    const udpai_shares *shares;
} udpai_replica_parts;

/* Of a HOLD. False: it asks for what the node has, which is handed over, but for what its rules
 * hide; without memory nothing: it is asked for again. @p is_partial: it has not all that there
 * was. */
bool udpai_replica_hold_is_news(const udpai_replica_parts *parts,
                                udpai_str set_id,
                                bool is_partial,
                                const udpai_replicated *event);
/* What would be lost of that, and what will happen. Without memory nothing. */
void udpai_replica_visit_hold(const udpai_hold *hold, udpai_problem_fn visit, void *userdata);

#endif
