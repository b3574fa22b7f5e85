/* SPDX-License-Identifier: Apache-2.0 */
/* The running node: everything the plan names, on one loop, until a signal ends it. */
#ifndef UDPAI_SERVER_H
#define UDPAI_SERVER_H

#include "daemon/options.h"
#include "daemon/plan.h"
#include "daemon/replicas.h"

/* All borrowed. */
typedef struct udpai_server_parts {
    udpai_plan *plan;
    udpai_schema *schema;
    const udpai_options *options;
    udpai_replicas *replicas; /* NULL: it has none */
} udpai_server_parts;

/* Runs until SIGINT or SIGTERM. An error: it could not start. */
udpa_err udpai_server_run(const udpai_server_parts *parts, udpa_error **ret_error);

#endif
