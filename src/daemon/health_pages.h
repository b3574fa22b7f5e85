/* SPDX-License-Identifier: Apache-2.0 */
/* The pages about the health of a node, for load balancers and supervisors: /livez and /readyz. */
#ifndef UDPAI_HEALTH_PAGES_H
#define UDPAI_HEALTH_PAGES_H

#include "daemon/liveness.h"
#include "daemon/readiness.h"
#include "transport/http/http.h"

typedef struct udpai_health_pages {
    const udpai_liveness *liveness;
    udpai_readiness *readiness;
} udpai_health_pages;

/* Any thread. */
void udpai_livez_page(const udpai_health_pages *pages, udpai_http_reading *reading);
/* "?verbose": with reasons, which are not for strangers. */
bool udpai_readyz_is_verbose(const udpai_http_reading *reading);
/* The loop's thread. */
void udpai_readyz_page(const udpai_health_pages *pages, udpai_http_reading *reading);

#endif
