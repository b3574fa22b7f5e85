/* SPDX-License-Identifier: Apache-2.0 */
/* What a client has of a resource: held or not, sent, acknowledged, rejected, and what is waited
 * for. Every view of that (CSDS, udpactl clients, clients --tree, status, wait) asks here, so that
 * all agree. Made when it is asked for, of the places in the sequence and of the answers that the
 * session has noted; nothing is kept. */
#ifndef UDPAI_CLIENT_STATE_H
#define UDPAI_CLIENT_STATE_H

#include "session/acknowledgement.h"
#include "session/refused.h"

typedef struct udpai_client_state {
    udpai_acknowledgement status; /* how far it is, since when, and why */
    udpai_str version;            /* that it was sent, or is to be: a view of the resource or the
                                   * room; empty: there is none */
    char room[UDPAI_CONTENT_HASH_HEX];
} udpai_client_state;

/* Of one of the session's subscriptions and what that takes. The session's protocol must have
 * ack_status. */
void udpai_client_state_of(const udpai_session *session,
                           const udpai_resource_ack *ack,
                           udpai_client_state *ret_state);

/* What a subscription takes, and its client rejects or has in doubt now: not what it rejected
 * before and was corrected, removed, or is not asked for any more. */
typedef struct udpai_client_rejected {
    size_t n;
    udpai_refused items[UDPAI_REFUSED_KEPT]; /* views of the session's refusals, and of `rooms` */
    udpai_client_state rooms[UDPAI_REFUSED_KEPT];
} udpai_client_rejected;

/* The first ones. Where the session has not noted them by name, so many resources are looked at. */
#define UDPAI_CLIENT_STATE_LOOKS_MAX 1024

void udpai_client_state_rejected(udpai_subscription *subscription,
                                 const udpai_refusals *refusals,
                                 udpai_client_rejected *ret_rejected);

/* The client has acknowledged something. If there is nothing now of what it was sent since the
 * first of its refusals but what it has acknowledged, they are forgotten: else what lies between an
 * old one and a new one would be in doubt. Looked at once a second, for it costs. */
void udpai_client_state_settle(udpai_subscription *subscription,
                               udpai_refusals *refusals,
                               int64_t now_us);

#endif
