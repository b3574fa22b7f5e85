/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of subscribers in the process, for local.c and pending_publication.c. */
#ifndef UDPAI_LOCAL_INTERNAL_H
#define UDPAI_LOCAL_INTERNAL_H

#include "base/vector.h"
#include "federation/local.h"
#include "federation/pending_publication.h"

struct udpai_local {
    udpai_context *context;
    struct udpai_interest *interest;
    const struct udpai_sync *sync;
    udpai_health_overlay *overlay; /* NULL: what checkers report changes nothing */
    udpai_list subscriptions;
    udpai_list updates; /* udpai_local_update: deferred ones */
    /* Publications that are applied and wait for answers. A flush looks at the first of these lists
     * alone: */
    udpai_list undelivered; /* subscribers in the process have not seen their effects */
    udpai_list unsafe;      /* the durable engine has not kept them, by rising ticket */
    udpai_list unanswered;  /* only answers of subscribers are to come */
};

struct udpai_local_subscription {
    udpai_list node;
    udpai_local *owner;
    udpa_bytes *type;
    udpa_bytes *prefix;
    UDPAI_VECTOR(udpa_bytes *) names;
    udpai_local_ops ops;
    udpai_reach reach;
    bool is_new;      /* has not seen what is there already */
    bool is_complete; /* was notified of that */
};

struct udpai_local_update {
    udpai_local *owner;
    UDPAI_VECTOR(udpai_local_change) changes;
    size_t n_refused;
    UDPAI_VECTOR(udpai_pending_publication *)
    publications; /* that wait for the answer; while it is deferred */
    udpai_list in_node;
    bool is_deferred;
    bool is_being_notified, is_done; /* it may be answered during its callback */
    void *holder;
};

#endif
