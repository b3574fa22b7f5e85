/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/inspection.h"

#include "loop/clock.h"

static bool
needs_check(void *userdata, const udpa_resource *resource)
{
    const udpai_inspection *self = userdata;
    return udpai_policy_applies(&self->policy, udpai_resource_type_url(resource));
}

static udpa_err
inspect(void *userdata, const udpa_resource *resource, udpai_str from, udpa_error **ret_error)
{
    const udpai_inspection *self = userdata;
    const udpai_inspected inspected = {resource, from};
    return udpai_policy_check(&self->policy, &inspected, udpai_wall_us(), ret_error);
}

static void
removed(void *userdata, const udpa_resource *resource)
{
    const udpai_inspection *self = userdata;
    udpai_deprecations_forget(self->deprecations, resource);
}

udpa_err
udpai_inspection_open(udpai_inspection *self,
                      const udpai_plan *plan,
                      udpai_schema *schema,
                      udpai_inspector *inspector,
                      udpa_error **ret_error)
{
    if (!plan->validates)
        return UDPA_OK;
    udpa_err err = udpai_validator_new(&self->validator, schema, ret_error);
    self->policy = plan->policy;
    self->policy.validator = self->validator;
    self->policy.mode = &self->mode;
    *inspector = (udpai_inspector){needs_check, inspect, NULL, self};
    if (err != UDPA_OK || !plan->looks_for_deprecated)
        return err;
    self->deprecations = udpai_deprecations_new();
    self->policy.deprecation = (udpai_policy_deprecation){
        udpai_deprecations_allows, udpai_deprecations_used, self->deprecations};
    inspector->removed = removed;
    return self->deprecations ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

void
udpai_inspection_done(udpai_inspection *self)
{
    udpai_deprecations_free(self->deprecations);
    udpai_validator_unref(self->validator);
}
