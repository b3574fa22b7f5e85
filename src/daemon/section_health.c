/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'health' of the bootstrap file: what becomes of verdicts, and which checks are
 * computed. */
#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "reports/health_plan.h"

#define INTERVAL_MIN_MS 100
#define REDUNDANCY 1

typedef Udpa__Config__V1__Health health_message;
typedef Udpa__Config__V1__ComputedChecks checks_message;

/* ---- what they may be ---- */

static bool
is_same_namespace(const char *a, const char *b)
{
    size_t len = strcspn(a, "/");
    return len && len == strcspn(b, "/") && memcmp(a, b, len) == 0;
}

/* Reported once, of the first. */
static void
check_namespace(const udpai_value *value)
{
    checks_message *const *all = value->bootstrap->health->checks;
    for (size_t i = 0; all[i] != value->in; i++)
        if (is_same_namespace(value->text, all[i]->namespace_)) {
            udpai_value_error(value, "",
                              "health.checks[%zu] is about this namespace already, and a checker "
                              "is given its share once",
                              i);
            return;
        }
}

static const udpai_field checks_fields[] = {
    {.name = "namespace",
     UDPAI_PUBLIC,
     .none = "is required: which clusters are checked, by which checkers?",
     .word = udpai_prefix_check_word,
     .is_namespace = true,
     .check = check_namespace},
    {.name = "redundancy", .max = UDPAI_HEALTH_REDUNDANCY_MAX, .bounds = "are too many"},
    {.name = "interval",
     .min = INTERVAL_MIN_MS,
     .max = UDPAI_HEALTH_INTERVAL_MAX_MS,
     .bounds = "a day"},
};

static const udpai_section computed_checks = {UDPAI_SECTION(computed_checks, checks_fields)};

static const udpai_field fields[] = {
    {.name = "policy"},
    {.name = "checks", .of = &computed_checks},
};

static void
check_health(const udpai_value *value)
{
    const char *absent = udpai_hds_absent();
    if (absent)
        udpai_value_error(value, "", "%s", absent);
}

const udpai_section udpai_section_health = {UDPAI_SECTION(health, fields), .check = check_health};

/* ---- what becomes of them ---- */

static udpai_health_policy
policy_of(const health_message *health)
{
    switch (health->policy) {
    case UDPA__CONFIG__V1__HEALTH__POLICY__MAJORITY:
        return UDPAI_HEALTH_MAJORITY;
    case UDPA__CONFIG__V1__HEALTH__POLICY__ANY:
        return UDPAI_HEALTH_ANY;
    default:
        return UDPAI_HEALTH_NONE;
    }
}

udpa_err
udpai_use_health(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const health_message *health = plan->bootstrap.message->health;
    if (!health)
        return UDPA_OK;
    plan->settings.node.health = policy_of(health);
    udpai_check_rule *rules =
        udpai_plan_own(plan, udpai_alloc_array(health->n_checks + 1, sizeof(*rules)));
    if (!rules)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < health->n_checks; i++) {
        const checks_message *checks = health->checks[i];
        rules[i] = (udpai_check_rule){
            .prefix = udpai_str_from(checks->namespace_),
            .redundancy = checks->redundancy ? checks->redundancy : REDUNDANCY,
            .interval_ms =
                checks->interval ? udpai_duration_ms(checks->interval) : UDPAI_HEALTH_INTERVAL_MS,
        };
    }
    plan->settings.check_rules = rules;
    plan->settings.n_check_rules = health->n_checks;
    return UDPA_OK;
}
