/* SPDX-License-Identifier: Apache-2.0 */
/* The node that takes over what changed in its bootstrap file. */
#ifndef UDPAI_RELOAD_TARGET_H
#define UDPAI_RELOAD_TARGET_H

#include "daemon/tunables_follow.h"

/* Borrowed. */
typedef struct udpai_reload_target {
    udpa_endpoint *endpoint;
    const udpai_plan *plan;
    const char *config_file;
    udpai_tunables_follower *follower;
    udpai_readers *readers; /* NULL: none */
} udpai_reload_target;

#endif
