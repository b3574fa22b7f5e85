/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy.h"

#include <pthread.h>

#include "base/log.h"
#include "model/type_url.h"

udpai_policy_mode
udpai_policy_mode_of(const udpai_policy *policy)
{
    return policy->mode
               ? (udpai_policy_mode)atomic_load_explicit(policy->mode, memory_order_relaxed)
               : UDPAI_POLICY_REFUSE;
}

static const udpai_validation *
find(const udpai_policy *policy, udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < policy->n_types; i++)
        if (udpai_str_eq(udpai_type_url_name(policy->types[i].type_url), name))
            return &policy->types[i].validation;
    return &policy->others;
}

bool
udpai_policy_applies(const udpai_policy *policy, udpai_str type_url)
{
    const udpai_validation *validation = find(policy, type_url);
    if (udpai_policy_mode_of(policy) == UDPAI_POLICY_OFF)
        return false;
    return validation->checks || validation->refuse_unknown_types;
}

/* Peers can provoke it. */
static void
warn(const udpa_resource *resource, const udpa_error *error, int64_t now_us)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static udpai_log_limit limit;
    unsigned n_left_out = 0;
    pthread_mutex_lock(&mutex);
    bool is_logged = udpai_log_allow(&limit, (uint64_t)now_us / 1000, &n_left_out);
    pthread_mutex_unlock(&mutex);
    if (is_logged)
        udpai_log_about(UDPA_LOG_WARNING, "validation",
                        UDPAI_ABOUT({UDPAI_LOG_TYPE, udpai_resource_type_url(resource)},
                                    {UDPAI_LOG_NAME, udpai_resource_name(resource)},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "accepted although invalid: '%s': %s (%u more not shown)",
                        udpa_resource_name(resource), udpa_error_message(error), n_left_out);
}

struct listener {
    const udpai_policy_deprecation *to;
    const udpai_inspected *inspected;
};

static bool
allows(void *userdata, const udpai_deprecated *feature)
{
    const struct listener *self = userdata;
    return self->to->allows(self->to->userdata, feature);
}

static void
used(void *userdata, const udpai_deprecated *feature)
{
    const struct listener *self = userdata;
    self->to->used(self->to->userdata, self->inspected, feature);
}

udpa_err
udpai_policy_check(const udpai_policy *policy,
                   const udpai_inspected *inspected,
                   int64_t now_us,
                   udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpa_resource *resource = inspected->resource;
    const udpai_policy_deprecation *deprecation = &policy->deprecation;
    struct listener listener = {deprecation, inspected};
    udpai_policy_mode mode = udpai_policy_mode_of(policy);
    udpai_validation validation = *find(policy, udpai_resource_type_url(resource));
    validation.now_us = now_us;
    validation.deprecation = (udpai_deprecation){
        .allows = deprecation->allows ? allows : NULL,
        .used = deprecation->used ? used : NULL,
        .userdata = &listener,
    };
    udpa_err err = udpai_validate_first(policy->validator, udpai_resource_value_type(resource),
                                        udpai_resource_value(resource), &validation, &error);
    if (err == UDPA_OK || mode == UDPAI_POLICY_OFF)
        return UDPA_OK;
    if (mode == UDPAI_POLICY_WARN && err != UDPA_ERR_NOMEM) {
        warn(resource, error, now_us);
        return UDPA_OK;
    }
    return udpai_fail(ret_error, err, "'%s': %s", udpa_resource_name(resource),
                      udpa_error_message(error));
}
