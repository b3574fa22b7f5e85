/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of udpa.load.v1.LoadReporting, which set how often load is reported of which clusters:
 * those that this node has, for what follows them on the loop. What cannot be followed is refused,
 * so that its publisher gets the error. */
#ifndef UDPAI_LOAD_RULES_H
#define UDPAI_LOAD_RULES_H

#include "endpoint/service.h"
#include "reports/load_policy.h"

typedef struct udpai_load_rules udpai_load_rules;

typedef struct udpai_load_rules_options {
    udpai_node *node;
    udpai_load_setting otherwise;
    udpai_reach reach;               /* UDPAI_REACH_NOBODY: they are looked at, and not asked for */
    void (*changed)(void *userdata); /* NULL: nothing follows them */
    void *userdata;
} udpai_load_rules_options;

udpa_err udpai_load_rules_new(udpai_load_rules **ret_rules,
                              const udpai_load_rules_options *options);
/* Before the node. */
void udpai_load_rules_free(udpai_load_rules *rules);
const udpai_load_policy *udpai_load_rules_policy(const udpai_load_rules *rules);
/* As a service, which frees them. */
udpai_service *udpai_load_rules_service(udpai_load_rules *rules);

#endif
