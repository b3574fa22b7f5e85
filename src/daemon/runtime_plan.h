/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime that a bootstrap file means, in the form that the rest takes. */
#ifndef UDPAI_DAEMON_RUNTIME_PLAN_H
#define UDPAI_DAEMON_RUNTIME_PLAN_H

#include "runtime/loader.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

typedef struct udpai_runtime_plan {
    udpai_runtime_layer_options layers[UDPAI_RUNTIME_LAYERS_MAX];
    size_t n_layers;
    udpai_runtime_disk disks[UDPAI_RUNTIME_LAYERS_MAX];
    size_t n_disks;
    udpai_runtime_load loads[UDPAI_RUNTIME_LAYERS_MAX]; /* of the static ones */
    size_t n_loads;
} udpai_runtime_plan;

/* All of it is borrowed from the message, but the loads, which are the caller's; there are none
 * after a failure. UDPA_ERR_INVAL, UDPA_ERR_LIMIT: a static layer that may not be, or too many of
 * them. */
udpa_err udpai_runtime_plan_make(udpai_runtime_plan *plan,
                                 const Udpa__Config__V1__Runtime *message,
                                 udpa_error **ret_error);
void udpai_runtime_plan_done(udpai_runtime_plan *plan);

#endif
