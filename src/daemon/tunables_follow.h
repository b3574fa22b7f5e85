/* SPDX-License-Identifier: Apache-2.0 */
/* Has a node use its runtime: what of tunables.h changes is given to all that use it, in this
 * process and in the workers. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_TUNABLES_FOLLOW_H
#define UDPAI_DAEMON_TUNABLES_FOLLOW_H

#include "daemon/directories.h"
#include "daemon/readers.h"
#include "daemon/tunables.h"
#include "daemon/workers.h"

/* Borrowed until the end. */
typedef struct udpai_tunables_follower_env {
    const udpai_plan *plan;
    udpai_xds_groups *groups; /* those in use, whatever the plan */
    udpa_endpoint *endpoint;
    udpai_workers *workers; /* NULL: none */
    atomic_int *validation; /* udpai_policy.mode */
} udpai_tunables_follower_env;

typedef struct udpai_tunables_follower udpai_tunables_follower;

/* NULL without memory. */
udpai_tunables_follower *udpai_tunables_follower_new(const udpai_tunables_follower_env *env);
udpai_tunables_follower *udpai_tunables_follower_free(udpai_tunables_follower *follower);
/* The runtime is this now; a reference is taken. What is wrong in it is logged, once. */
void udpai_tunables_follower_follow(udpai_tunables_follower *follower,
                                    udpai_runtime_snapshot *snapshot);
/* These are there now, and go by what is in effect; borrowed until the end. */
udpa_err udpai_tunables_follower_take(udpai_tunables_follower *follower,
                                      udpai_directories *directories,
                                      udpai_readers *readers);
/* The bootstrap file was read again: its plan is this one from now on, borrowed like the first, and
 * values of the runtime take the place of its values. @p has_other_rules: those before are to be
 * looked at anew. UDPA_ERR_NOMEM: all is as before. */
udpa_err udpai_tunables_follower_take_plan(udpai_tunables_follower *follower,
                                           const udpai_plan *plan,
                                           bool has_other_rules);
bool udpai_tunables_follower_is_dry_run(const udpai_tunables_follower *follower);

#endif
