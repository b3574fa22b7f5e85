/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_policy.h"

#include <stdlib.h>

#include "model/name.h"
#include "udpa/load/v1/load.pb-c.h"
#include "wire/scan.h"

#define NANOS_PER_S 1000000000

typedef Udpa__Load__V1__LoadReporting rule_message;

static udpai_str
name_of(const udpai_load_rule *rule)
{
    return udpai_resource_name(rule->resource);
}

static void
rule_done(udpai_load_rule *rule)
{
    udpa_resource_unref(rule->resource);
    udpai_free((void *)(uintptr_t)rule->prefix.data);
}

void
udpai_load_policy_init(udpai_load_policy *policy, udpai_load_setting otherwise)
{
    *policy = (udpai_load_policy){.otherwise = otherwise};
    udpai_arena_init(&policy->arena);
}

void
udpai_load_policy_clear(udpai_load_policy *policy)
{
    for (size_t i = 0; i < policy->rules.n; i++)
        rule_done(&policy->rules.items[i]);
    udpai_vector_done(&policy->rules);
}

void
udpai_load_policy_done(udpai_load_policy *policy)
{
    udpai_load_policy_clear(policy);
    udpai_arena_done(&policy->arena);
}

/* ---- reading ---- */

static udpa_err
read_interval(const Google__Protobuf__Duration *from,
              uint64_t otherwise_ms,
              uint64_t *ret_ms,
              udpa_error **ret_error)
{
    const int64_t max_s = UDPAI_LOAD_INTERVAL_MAX_MS / 1000;
    *ret_ms = otherwise_ms;
    if (!from)
        return UDPA_OK;
    if (from->seconds >= 0 && from->seconds <= max_s && from->nanos >= 0 &&
        from->nanos < NANOS_PER_S)
        *ret_ms = (uint64_t)from->seconds * 1000 + (uint64_t)from->nanos / 1000000;
    else
        *ret_ms = 0;
    if (*ret_ms >= UDPAI_LOAD_INTERVAL_MIN_MS && *ret_ms <= UDPAI_LOAD_INTERVAL_MAX_MS)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "its interval is %lld s and %d ns: it may be from 100 ms to an hour",
                      (long long)from->seconds, (int)from->nanos);
}

static udpa_err
check_prefix(const udpa_resource *resource, udpai_str prefix, udpa_error **ret_error)
{
    udpai_str name_space = udpai_name_namespace(udpai_resource_name(resource));
    udpa_err err = udpai_prefix_check(prefix, ret_error);
    if (err != UDPA_OK || udpai_prefix_covers(name_space, prefix))
        return err;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "its prefix '%.*s' lies outside '%.*s', the namespace of its name, for which "
                      "alone it applies",
                      UDPAI_SHOWN(prefix), UDPAI_SHOWN(name_space));
}

/* The prefix is in the arena. */
static udpa_err
read_rule(udpai_load_policy *policy,
          const udpa_resource *resource,
          udpai_load_rule *ret_rule,
          udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type = &udpa__load__v1__load_reporting__descriptor;
    udpai_str payload = udpai_resource_value(resource);
    udpai_arena_reset(&policy->arena);
    udpa_err err = udpai_scan(type, payload, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    const rule_message *message = (const rule_message *)protobuf_c_message_unpack(
        type, &policy->arena.allocator, payload.len, (const uint8_t *)payload.data);
    if (!message)
        return udpai_fail_code(ret_error,
                               policy->arena.failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED);
    ret_rule->prefix = udpai_str_from(message->prefix);
    ret_rule->setting.per_endpoint = message->per_endpoint;
    err = check_prefix(resource, ret_rule->prefix, ret_error);
    return err == UDPA_OK ? read_interval(message->interval, policy->otherwise.interval_ms,
                                          &ret_rule->setting.interval_ms, ret_error)
                          : err;
}

udpa_err
udpai_load_rule_check(udpai_load_policy *policy,
                      const udpa_resource *resource,
                      udpa_error **ret_error)
{
    udpai_load_rule rule = {.resource = NULL};
    udpa_err err = read_rule(policy, resource, &rule, ret_error);
    udpai_arena_reset(&policy->arena);
    return err;
}

/* ---- what there is ---- */

static udpai_load_rule *
find_rule(const udpai_load_policy *policy, udpai_str name)
{
    for (size_t i = 0; i < policy->rules.n; i++)
        if (udpai_str_eq(name_of(&policy->rules.items[i]), name))
            return &policy->rules.items[i];
    return NULL;
}

static udpa_err
keep(udpai_load_policy *policy, const udpai_load_rule *made, udpa_error **ret_error)
{
    udpai_load_rule *before = find_rule(policy, name_of(made));
    if (before) {
        rule_done(before);
        *before = *made;
        return UDPA_OK;
    }
    if (policy->rules.n >= UDPAI_LOAD_RULES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "it is one more than the %d of its type that a node follows",
                          UDPAI_LOAD_RULES_MAX);
    return udpai_vector_push(&policy->rules, *made) ? UDPA_OK
                                                    : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_load_policy_set(udpai_load_policy *policy, udpa_resource *resource, udpa_error **ret_error)
{
    udpai_load_rule made = {.resource = NULL};
    udpa_err err = read_rule(policy, resource, &made, ret_error);
    if (err != UDPA_OK)
        return err;
    char *prefix = udpai_strndup(made.prefix.data, made.prefix.len);
    udpai_arena_reset(&policy->arena);
    if (!prefix)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    made.prefix.data = prefix;
    made.resource = udpa_resource_ref(resource);
    err = keep(policy, &made, ret_error);
    if (err != UDPA_OK)
        rule_done(&made);
    return err;
}

void
udpai_load_policy_remove(udpai_load_policy *policy, udpai_str name)
{
    udpai_load_rule *rule = find_rule(policy, name);
    if (!rule)
        return;
    rule_done(rule);
    udpai_vector_remove_unordered(&policy->rules, (size_t)(rule - policy->rules.items));
}

/* ---- what it contains ---- */

static bool
is_nearer(const udpai_load_rule *a, const udpai_load_rule *b)
{
    if (a->prefix.len != b->prefix.len)
        return a->prefix.len > b->prefix.len;
    return udpai_str_cmp(name_of(a), name_of(b)) < 0;
}

udpai_load_setting
udpai_load_policy_find(const udpai_load_policy *policy, udpai_str name)
{
    const udpai_load_rule *nearest = NULL;
    for (size_t i = 0; i < policy->rules.n; i++) {
        const udpai_load_rule *rule = &policy->rules.items[i];
        if (udpai_prefix_covers(rule->prefix, name) && (!nearest || is_nearer(rule, nearest)))
            nearest = rule;
    }
    return nearest ? nearest->setting : policy->otherwise;
}

void
udpai_load_setting_refine(udpai_load_setting *setting, udpai_load_setting by)
{
    if (by.interval_ms < setting->interval_ms)
        setting->interval_ms = by.interval_ms;
    setting->per_endpoint |= by.per_endpoint;
}

udpai_load_setting
udpai_load_policy_finest(const udpai_load_policy *policy, udpai_str prefix)
{
    udpai_load_setting finest = udpai_load_policy_find(policy, prefix);
    for (size_t i = 0; i < policy->rules.n; i++) {
        const udpai_load_rule *rule = &policy->rules.items[i];
        if (rule->prefix.len > prefix.len && udpai_prefix_covers(prefix, rule->prefix))
            udpai_load_setting_refine(&finest, rule->setting);
    }
    return finest;
}
