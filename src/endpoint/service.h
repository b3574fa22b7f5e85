/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint does besides holding resources, in services behind one table of functions: each
 * looks at reports before the node does, is notified of what concerns several of them, and takes
 * its turn. services.h has them in their order, services_make.c makes those that there are, and
 * host.h is all that they may know of their endpoint. On the loop. */
#ifndef UDPAI_ENDPOINT_SERVICE_H
#define UDPAI_ENDPOINT_SERVICE_H

#include "federation/node.h"

typedef struct udpai_service udpai_service;

typedef enum udpai_service_event_kind {
    UDPAI_SERVICE_STARTED,  /* the node has what was kept */
    UDPAI_SERVICE_ACL,      /* other rules of access are in force */
    UDPAI_SERVICE_CHANGES,  /* effective resources change */
    UDPAI_SERVICE_DEMAND,   /* what is asked of this node's client resources */
    UDPAI_SERVICE_AUDIENCE, /* load goes to other nodes than before */
    UDPAI_SERVICE_RECEIPT,  /* of a publication of this node */
    UDPAI_SERVICE_LEAVING,  /* nobody is dialled and reported to any more, or again */
} udpai_service_event_kind;

/* Everything borrowed. */
typedef struct udpai_service_event {
    udpai_service_event_kind kind;
    udpai_acl *acl;                  /* ACL; NULL: none */
    const udpai_change_set *changes; /* CHANGES */
    udpai_str type_url, text;        /* DEMAND, as in udpai_node_env */
    bool is_subscribed, is_leaving;
    uint64_t ticket; /* RECEIPT, as in udpai_node_env */
    const udpai_publication *publication;
    const udpa_error *error;
} udpai_service_event;

/* NULL: it has nothing to do then; free() is required. */
typedef struct udpai_service_ops {
    /* True: it has taken the report, which neither later services nor the node see. */
    bool (*on_report)(udpai_service *service, udpai_report *report);
    void (*on_event)(udpai_service *service, const udpai_service_event *event);
    /* In each turn of the loop, before the node sends what has changed. */
    void (*run)(udpai_service *service);
    /* The endpoint will be closed: passes on at once what waits. True: something was, or will be.
     */
    bool (*flush)(udpai_service *service);
    /* Is something of it on another thread, so that it cannot be freed? */
    bool (*is_busy)(const udpai_service *service);
    /* Nothing is received any more. All services and the node are still there. */
    void (*end)(udpai_service *service);
    /* Services before it, and the node, are still there. */
    void (*free)(udpai_service *service);
} udpai_service_ops;

/* The first member of each service. */
struct udpai_service {
    const udpai_service_ops *ops;
};

/* NULL is a service that does nothing, here and below. */
bool udpai_service_report(udpai_service *service, udpai_report *report);
void udpai_service_notify(udpai_service *service, const udpai_service_event *event);
/* DEMAND, the event that units are tested with. */
void
udpai_service_demand(udpai_service *service, udpai_str type_url, udpai_str text, bool subscribed);
udpai_service *udpai_service_free(udpai_service *service);

#endif
