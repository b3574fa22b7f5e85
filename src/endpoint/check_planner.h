/* SPDX-License-Identifier: Apache-2.0 */
/* What checkers are to check, computed of the clusters of a namespace and their endpoints, and
 * divided over the checkers that are there (docs/design/health.md). Each is given its share as the
 * resource <namespace>/computed/<its id>, which this node publishes itself. On the loop. */
#ifndef UDPAI_CHECK_PLANNER_H
#define UDPAI_CHECK_PLANNER_H

#include "endpoint/service.h"

typedef struct udpai_check_rule {
    udpai_str prefix;  /* of the clusters: a namespace, or more; no other rule has that namespace */
    size_t redundancy; /* 1 … UDPAI_HEALTH_REDUNDANCY_MAX */
    uint64_t interval_ms; /* of what checkers report */
} udpai_check_rule;

typedef struct udpai_check_planner_options {
    udpai_node *node;
    udpai_wheel *wheel;
    const udpai_check_rule *rules;
    size_t n_rules;
} udpai_check_planner_options;

/* Copies the rules. */
udpa_err udpai_check_planner_new(udpai_service **ret_planner,
                                 const udpai_check_planner_options *options);

#endif
