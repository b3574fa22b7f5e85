/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of udpa.status.v1 that sessions of all protocols write. */
#ifndef UDPAI_STATUS_H
#define UDPAI_STATUS_H

#include "base/proto.h"
#include "session/hub.h"
#include "session/refused.h"

/* What a session knows of a subscription beside what the fan-out knows. */
typedef struct udpai_subscription_facts {
    uint64_t n_resources, n_removals, n_acknowledged, n_refused;
    udpai_str version_sent, version_acknowledged;
    const udpa_error *last_error;
    const udpai_refusals *refusals; /* of its type; NULL: none */
    uint64_t n_hidden;              /* of the last response: left out for a namesake */
    uint64_t n_unanswered;          /* responses */
    int64_t unanswered_us, acknowledged_us, refused_us; /* since when, and when last; 0: never */
    const udpa_error *held;                             /* what it waits for; NULL: nothing */
} udpai_subscription_facts;

/* The fields of a SessionStatus but its subscriptions, and what one protocol alone has. */
void udpai_status_put_session(udpai_proto_writer *writer,
                              const udpai_session *session,
                              const udpai_node_info *peer,
                              uint64_t n_received);
/* One subscription as a field of it. */
void udpai_status_put_subscription(udpai_proto_writer *writer,
                                   udpai_subscription *subscription,
                                   const udpai_subscription_facts *facts);

#endif
