/* SPDX-License-Identifier: Apache-2.0 */
/* What checkers report of the endpoints of a cluster (udpa.health.v1.EndpointHealth), merged into
 * the ClusterLoadAssignment of the cluster's name as it is sent to subscribers. The store does not
 * know of that: its changes are looked through on their way. Belongs to the loop. */
#ifndef UDPAI_HEALTH_OVERLAY_H
#define UDPAI_HEALTH_OVERLAY_H

#include "reports/health.h"
#include "store/store.h"

typedef struct udpai_health_overlay udpai_health_overlay;

typedef struct udpai_health_overlay_config {
    udpai_health_policy policy; /* not NONE */
    udpai_str authority;        /* of what is sent instead; outlives it, as do the next two */
    udpai_store *store;
    udpai_wheel *wheel;
} udpai_health_overlay_config;

udpa_err udpai_health_overlay_new(udpai_health_overlay **ret_verdicts,
                                  const udpai_health_overlay_config *config);
udpai_health_overlay *udpai_health_overlay_free(udpai_health_overlay *overlay);

/* Is there something to send, though the store has nothing new? It may come with time. */
bool udpai_health_overlay_have_changes(const udpai_health_overlay *overlay);
/* Makes of the changes of the store (NULL: none) those that are sent; *ret_set NULL: none. After
 * UDPA_ERR_NOMEM the next call must be with the same set: nothing of it may be sent before. */
udpa_err udpai_health_overlay_apply(udpai_health_overlay *overlay,
                                    udpai_change_set *from,
                                    int64_t wall_us,
                                    udpai_change_set **ret_set);
/* The store's resource as it was sent, with the health of endpoints; borrowed. */
udpa_resource *udpai_health_overlay_of(const udpai_health_overlay *overlay,
                                       udpa_resource *resource);

#endif
