/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers in the process: they receive effective resources, and may reject them. */
#ifndef UDPAI_FEDERATION_LOCAL_H
#define UDPAI_FEDERATION_LOCAL_H

#include "federation/health_overlay.h"
#include "federation/node.h"
#include "federation/parts.h"

typedef struct udpai_local udpai_local;

/* Takes the overlay; NULL: what checkers report changes nothing. */
udpa_err
udpai_local_new(udpai_local **ret_local, const udpai_parts *parts, udpai_health_overlay *overlay);
/* With all subscriptions, and publications that wait for an answer. NULL does nothing. */
void udpai_local_free(udpai_local *local);
udpai_health_overlay *udpai_local_overlay(const udpai_local *local);

udpa_err udpai_local_subscribe(udpai_local *local,
                               const udpai_selection *selection,
                               const udpai_local_ops *ops,
                               udpai_local_subscription **ret_subscription);
void udpai_local_unsubscribe(udpai_local *local, udpai_local_subscription *subscription);

bool udpai_local_has_subscriptions(const udpai_local *local);
void udpai_locals_notify(udpai_local *local, const udpai_change_set *changes);
void udpai_locals_notify_new(udpai_local *local);
/* What is no part of the store, to the subscriptions that select it. */
void udpai_locals_notify_event(udpai_local *local, udpa_resource *event);
void udpai_locals_notify_complete(udpai_local *local);

#endif
