/* SPDX-License-Identifier: Apache-2.0 */
/* What the process itself subscribes to and publishes by an endpoint (udpa/subscribe.h,
 * udpa/publish.h). On the loop. */
#ifndef UDPAI_ENDPOINT_LOCAL_H
#define UDPAI_ENDPOINT_LOCAL_H

#include "endpoint/host.h"

/* ---- subscriber.c ---- */

/* Each turn it frees those that were ended. */
udpa_err udpai_subscriptions_new(udpai_service **ret_subscriptions, udpa_endpoint *endpoint);

/* ---- publisher.c ---- */

/* Each turn it publishes what waited for a stream, or for others to be receipted; at the end it
 * reports that no receipt comes any more. */
udpa_err udpai_publications_new(udpai_service **ret_publications, udpa_endpoint *endpoint);

#endif
