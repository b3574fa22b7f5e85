/* SPDX-License-Identifier: Apache-2.0 */
/* The providers of an application, as those of a node. */
#ifndef UDPAI_ENDPOINT_PROVIDERS_H
#define UDPAI_ENDPOINT_PROVIDERS_H

#include <udpa/endpoint.h>

#include "base/vector.h"
#include "federation/node.h"

/* Texts are the application's, but for what is owned. */
typedef struct udpai_provider_plan {
    UDPAI_VECTOR(udpai_provider_config) providers;
    UDPAI_VECTOR(udpai_named_config) named;
    UDPAI_VECTOR(void *) owned;
} udpai_provider_plan;

/* The types that a source is standby for. To be followed by udpai_provider_plan_done() in any case.
 */
udpa_err udpai_provider_plan_standby(udpai_provider_plan *plan,
                                     const udpa_source *from,
                                     udpai_source_config *source,
                                     udpa_error **ret_error);
/* Of none, one for every type: all sources in their order. To be followed by
 * udpai_provider_plan_done() in any case. */
udpa_err udpai_provider_plan_make(udpai_provider_plan *plan,
                                  const udpa_endpoint_options *options,
                                  udpa_error **ret_error);
void udpai_provider_plan_done(udpai_provider_plan *plan);

#endif
