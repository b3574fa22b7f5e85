/* SPDX-License-Identifier: Apache-2.0 */
/* How often, and how finely, load is to be reported of which clusters: what resources of
 * udpa.load.v1.LoadReporting set, and a default where there is none. Belongs to one thread. */
#ifndef UDPAI_LOAD_POLICY_H
#define UDPAI_LOAD_POLICY_H

#include "base/vector.h"
#include "model/resource.h"
#include "wire/arena.h"

#define UDPAI_TYPE_LOAD_REPORTING "type.googleapis.com/udpa.load.v1.LoadReporting"
#define UDPAI_LOAD_INTERVAL_MIN_MS 100
#define UDPAI_LOAD_INTERVAL_MAX_MS ((uint64_t)3600 * 1000)
/* Of one node; what comes besides is left out. */
#define UDPAI_LOAD_RULES_MAX 1000

typedef struct udpai_load_setting {
    uint64_t interval_ms;
    bool per_endpoint;
} udpai_load_setting;

typedef struct udpai_load_rule {
    udpa_resource *resource;
    udpai_str prefix; /* owned */
    udpai_load_setting setting;
} udpai_load_rule;

typedef struct udpai_load_policy {
    udpai_load_setting otherwise;
    UDPAI_VECTOR(udpai_load_rule) rules;
    udpai_arena arena;
} udpai_load_policy;

void udpai_load_policy_init(udpai_load_policy *policy, udpai_load_setting otherwise);
void udpai_load_policy_done(udpai_load_policy *policy);

/* Is it one that can be followed? Its prefix must lie in the namespace of its name, so that the
 * rules on names hold for it; its interval must be from 100 ms to an hour, none is the default's.
 */
udpa_err udpai_load_rule_check(udpai_load_policy *policy,
                               const udpa_resource *resource,
                               udpa_error **ret_error);
/* It is there, in the place of one of the same name. What is wrong changes nothing. */
udpa_err
udpai_load_policy_set(udpai_load_policy *policy, udpa_resource *resource, udpa_error **ret_error);
void udpai_load_policy_remove(udpai_load_policy *policy, udpai_str name);
void udpai_load_policy_clear(udpai_load_policy *policy);

/* Of a cluster, or of those that a prefix covers where nothing else is set: the rule of the most
 * specific prefix that covers it; of two alike, that of the lower name. */
udpai_load_setting udpai_load_policy_find(const udpai_load_policy *policy, udpai_str name);
/* The setting that serves all subscriptions below a prefix: the shortest interval, and single
 * endpoints if any has them. */
udpai_load_setting udpai_load_policy_finest(const udpai_load_policy *policy, udpai_str prefix);
/* Makes one finer by another. */
void udpai_load_setting_refine(udpai_load_setting *setting, udpai_load_setting by);

#endif
