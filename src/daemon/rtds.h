/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the runtime that come by RTDS: the node subscribes to their resources, like any
 * subscriber in the process, and puts in what they have. A layer is not there until its resource
 * has come, and nothing waits for it. What may not be is rejected, so that its sender is notified,
 * and the layer stays as it was. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_RTDS_H
#define UDPAI_DAEMON_RTDS_H

#include <uv.h>

#include "daemon/plan.h"
#include "runtime/layers.h"

typedef struct udpai_daemon_rtds udpai_daemon_rtds;

/* All borrowed until it is closed. */
typedef struct udpai_daemon_rtds_env {
    uv_loop_t *loop;
    udpai_node *node; /* to be flushed, as after any call */
    udpai_runtime *runtime;
    const udpai_plan_rtds *layers;
    size_t n_layers;
} udpai_daemon_rtds_env;

/* Without such layers: NULL. To be closed, whatever comes. */
udpa_err udpai_daemon_rtds_open(udpai_daemon_rtds **ret_rtds,
                                const udpai_daemon_rtds_env *env,
                                udpa_error **ret_error);
/* NULL is closed already. What was borrowed is let go of at once; the rest goes when the loop has
 * let go of it. */
void udpai_daemon_rtds_close(udpai_daemon_rtds *rtds);

#endif
