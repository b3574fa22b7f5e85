/* SPDX-License-Identifier: Apache-2.0 */
/* Siblings: the streams of one client, which are those of one connection and node id. Envoy has one
 * for all types, or one for each. What one of them has brought, others wait for: a listener, a
 * scope, a route or a virtual host for the clusters that the client still warms (hold.h); and what
 * was removed, for what may refer to it. Belongs to the stream thread. */
#ifndef UDPAI_XDS_SIBLINGS_H
#define UDPAI_XDS_SIBLINGS_H

#include "fanout/fanout.h"

typedef struct udpai_xds udpai_xds;
typedef struct udpai_xds_type udpai_xds_type;
typedef struct udpai_xds_siblings udpai_xds_siblings;

/* What a type is to the others. */
typedef enum udpai_xds_role {
    UDPAI_XDS_BESIDE,
    UDPAI_XDS_CLUSTERS,
    UDPAI_XDS_ENDPOINTS, /* which clusters need to be warm … */
    UDPAI_XDS_SECRETS,   /* … and these */
    UDPAI_XDS_WAITS,     /* for clusters */
} udpai_xds_role;

udpai_xds_role udpai_xds_role_of(udpai_str type_url);

/* The stream belongs to a client: once it has sent its Node. */
udpa_err udpai_xds_siblings_join(udpai_xds *xds);
void udpai_xds_siblings_leave(udpai_xds *xds);

/* For the fan-out: up to where may this be sent now? */
uint64_t udpai_xds_may_add(udpai_subscriber *subscriber, udpai_subscription *subscription);

/* What may refer to what was removed, on other streams of the client. Its stream is asked again
 * when that changes. */
typedef struct udpai_xds_references {
    uint64_t unsent; /* what is not sent begins here, in the sequence; UINT64_MAX: all was */
    uint64_t held;   /* the same of what waits for clusters, or by push.debounce */
    bool is_unanswered;
} udpai_xds_references;

udpai_xds_references udpai_xds_siblings_references(udpai_xds *xds,
                                                   udpai_subscription *subscription);

/* The next response has this. */
void udpai_xds_siblings_sent(udpai_xds *xds, const udpai_delivery *delivery);
void udpai_xds_siblings_answered(udpai_xds *xds, udpai_xds_type *type, uint64_t nonce);
/* Something was sent, answered or asked for: streams that wait may go on. */
void udpai_xds_siblings_moved(udpai_xds *xds);

/* "held: waits for cluster X", if there is something of this type that waits; borrowed; else NULL.
 */
const udpa_error *udpai_xds_held(udpai_subscription *subscription);

#endif
