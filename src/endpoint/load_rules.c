/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/load_rules.h"

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"

struct udpai_load_rules {
    udpai_service service;
    udpai_load_rules_options options;
    udpai_load_policy policy;
    udpai_local_subscription *subscription;
    udpai_log_limit log;
};

/* Where nothing follows them, none need be kept. */
static udpa_err
take(udpai_load_rules *self, const udpai_local_change *change, udpa_error **ret_error)
{
    if (!self->options.changed)
        return change->is_removed
                   ? UDPA_OK
                   : udpai_load_rule_check(&self->policy, change->resource, ret_error);
    if (!change->is_removed)
        return udpai_load_policy_set(&self->policy, change->resource, ret_error);
    udpai_load_policy_remove(&self->policy, udpai_resource_name(change->resource));
    return UDPA_OK;
}

static void
log_ignored(udpai_load_rules *self, const udpa_resource *resource, const udpa_error *error)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (udpai_log_allow(&self->log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "load",
                        UDPAI_ABOUT({UDPAI_LOG_TYPE, udpai_resource_type_url(resource)},
                                    {UDPAI_LOG_NAME, udpai_resource_name(resource)},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "ignored resource '%s': %s%s", udpa_resource_name(resource),
                        error ? udpa_error_message(error) : "out of memory",
                        udpai_log_more(more, n_suppressed));
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    udpai_load_rules *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        udpa_error *error = NULL;
        if (take(self, change, &error) == UDPA_OK)
            continue;
        log_ignored(self, change->resource, error);
        udpai_local_update_refuse(update, i, error);
    }
    if (self->options.changed)
        self->options.changed(self->options.userdata);
}

static void
free_service(udpai_service *service)
{
    udpai_load_rules_free(UDPAI_CONTAINER_OF(service, udpai_load_rules, service));
}

udpai_service *
udpai_load_rules_service(udpai_load_rules *self)
{
    return &self->service;
}

udpa_err
udpai_load_rules_new(udpai_load_rules **ret_rules, const udpai_load_rules_options *options)
{
    static const udpai_service_ops service_ops = {.free = free_service};
    udpai_load_rules *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &service_ops;
    self->options = *options;
    udpai_load_policy_init(&self->policy, options->otherwise);
    const udpai_local_ops ops = {.update = on_update, .userdata = self};
    const udpai_selection all = {
        .type_url = UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING),
        .reach = options->reach,
    };
    udpa_err err = udpai_node_subscribe(options->node, &all, &ops, &self->subscription);
    if (err == UDPA_OK)
        *ret_rules = self;
    else
        udpai_load_rules_free(self);
    return err;
}

void
udpai_load_rules_free(udpai_load_rules *self)
{
    if (!self)
        return;
    if (self->subscription)
        udpai_node_unsubscribe(self->options.node, self->subscription);
    udpai_load_policy_done(&self->policy);
    udpai_free(self);
}

const udpai_load_policy *
udpai_load_rules_policy(const udpai_load_rules *self)
{
    return &self->policy;
}
