/* SPDX-License-Identifier: Apache-2.0 */
/* Has a node go by its runtime: what of switches.h becomes another is told to whoever goes by it,
 * in this process and in the workers. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_SWITCHING_H
#define UDPAI_DAEMON_SWITCHING_H

#include "daemon/directories.h"
#include "daemon/switches.h"
#include "daemon/workers.h"

/* Borrowed until the end. */
typedef struct udpai_switching_env {
    const udpai_plan *plan;
    udpa_endpoint *endpoint;
    udpai_workers *workers; /* NULL: none */
    atomic_int *validation; /* udpai_policy.mode */
} udpai_switching_env;

typedef struct udpai_switching udpai_switching;

/* NULL without memory. */
udpai_switching *udpai_switching_new(const udpai_switching_env *env);
udpai_switching *udpai_switching_free(udpai_switching *switching);
/* The runtime is this now; a reference is taken. What is wrong in it is told in the log, once. */
void udpai_switching_follow(udpai_switching *switching, udpai_runtime_snapshot *snapshot);
/* These are there now; borrowed until the end. */
void udpai_switching_take_directories(udpai_switching *switching, udpai_directories *directories);
/* Other rules hold from now on, in a dry run or not, as they say, or in their place the runtime.
 * UDPA_ERR_NOMEM: those before still do. */
udpa_err udpai_switching_set_acl(udpai_switching *switching, udpai_acl *acl);
bool udpai_switching_is_dry_run(const udpai_switching *switching);

#endif
