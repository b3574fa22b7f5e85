/* SPDX-License-Identifier: Apache-2.0 */
/* What checkers say of the endpoints of a cluster (udpa.health.v1.EndpointHealth), merged into the
 * ClusterLoadAssignment of the cluster's name as it is told to everybody. The store knows nothing
 * of that: what it has to tell is looked through on its way. Belongs to the loop. */
#ifndef UDPAI_VERDICTS_H
#define UDPAI_VERDICTS_H

#include "reports/health.h"
#include "store/store.h"

typedef struct udpai_verdicts udpai_verdicts;

typedef struct udpai_verdicts_config {
    udpai_health_policy policy; /* not NONE */
    udpai_str authority;        /* of what is told instead; outlives it, as do the next two */
    udpai_store *store;
    udpai_wheel *wheel;
} udpai_verdicts_config;

udpa_err udpai_verdicts_new(udpai_verdicts **ret_verdicts, const udpai_verdicts_config *config);
udpai_verdicts *udpai_verdicts_free(udpai_verdicts *verdicts);

/* Is there something to tell, though the store has nothing new? It may come with time. */
bool udpai_verdicts_have_news(const udpai_verdicts *verdicts);
/* Makes of what the store has to tell (NULL: nothing) what is told; *ret_set NULL: nothing. After
 * UDPA_ERR_NOMEM the next call must be with the same set: nothing of it may be told before. */
udpa_err udpai_verdicts_apply(udpai_verdicts *verdicts,
                              udpai_change_set *from,
                              int64_t wall_us,
                              udpai_change_set **ret_set);
/* What the store has told, as it was told; borrowed. */
udpa_resource *udpai_verdicts_told(const udpai_verdicts *verdicts, udpa_resource *resource);

#endif
