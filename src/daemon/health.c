/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/health.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "model/name.h"
#include "reports/health_plan.h"

#define INTERVAL_MIN_MS 100
#define REDUNDANCY 1
#define CHECKS "health.checks"

typedef Udpa__Config__V1__Health health_message;
typedef Udpa__Config__V1__ComputedChecks checks_message;

/* ---- what they may be ---- */

/* Negative if it makes no sense. */
static int64_t
interval_ms(const checks_message *checks)
{
    const Google__Protobuf__Duration *interval = checks->interval;
    if (!interval)
        return UDPAI_HEALTH_INTERVAL_MS;
    bool is_sane = interval->seconds >= 0 && interval->nanos >= 0 &&
                   interval->seconds <= (int64_t)UDPAI_HEALTH_INTERVAL_MAX_MS / 1000;
    return is_sane ? interval->seconds * 1000 + interval->nanos / 1000000 : -1;
}

static bool
is_same_namespace(const char *a, const char *b)
{
    size_t len = strcspn(a, "/");
    return len && len == strcspn(b, "/") && memcmp(a, b, len) == 0;
}

static void
check_namespace(const health_message *health, size_t index, const char *path, udpai_diagnostics *to)
{
    const char *text = health->checks[index]->namespace_;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!*text)
        udpai_diagnostics_error(to, path, "is required: whose clusters are checked, by whom?");
    else if (udpai_prefix_check(udpai_str_from(text), &error) != UDPA_OK)
        udpai_diagnostics_error(to, path, "%s", udpa_error_message(error));
    for (size_t i = 0; i < index && *text; i++)
        if (is_same_namespace(text, health->checks[i]->namespace_)) {
            udpai_diagnostics_error(to, path,
                                    CHECKS "[%zu] is about this namespace already, and a checker "
                                           "is given its share once",
                                    i);
            return;
        }
}

void
udpai_health_check(const health_message *health, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX], room[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; health && i < health->n_checks; i++) {
        const checks_message *checks = health->checks[i];
        int64_t ms = interval_ms(checks);
        udpai_path_item(path, CHECKS, i);
        check_namespace(health, i, udpai_path_field(room, path, "namespace"), diagnostics);
        if (checks->redundancy > UDPAI_HEALTH_REDUNDANCY_MAX)
            udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "redundancy"),
                                    "%" PRIu32 " are too many: at most %d", checks->redundancy,
                                    UDPAI_HEALTH_REDUNDANCY_MAX);
        if (ms < INTERVAL_MIN_MS || ms > (int64_t)UDPAI_HEALTH_INTERVAL_MAX_MS)
            udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "interval"),
                                    "must lie between %g s and a day",
                                    (double)INTERVAL_MIN_MS / 1000);
    }
}

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
udpai_plan_health(udpai_plan *plan)
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
            .interval_ms = (uint64_t)interval_ms(checks),
        };
    }
    plan->settings.check_rules = rules;
    plan->settings.n_check_rules = health->n_checks;
    return UDPA_OK;
}
