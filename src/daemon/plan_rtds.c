/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the runtime that come by RTDS: which resources the node follows for itself, and whom it
 * asks for those that shall come from one source alone. */
#include "daemon/plan_internal.h"
#include "daemon/rtds_check.h"
#include "runtime/layers.h"
#include "runtime/rtds.h"

typedef Udpa__Config__V1__RuntimeRtdsLayer rtds_message;

static bool
is_named(const udpai_plan *plan, udpai_str name)
{
    for (size_t i = 0; i < plan->named.n; i++)
        if (udpai_str_eq(plan->named.items[i].name, name))
            return true;
    return false;
}

/* Nobody else is asked for it. Two layers may have the same resource. */
static udpa_err
add_provider(udpai_plan *plan, const char *name, const char *source)
{
    if (!*source || is_named(plan, udpai_str_from(name)))
        return UDPA_OK;
    udpai_descriptor_config *descriptor =
        udpai_plan_own(plan, udpai_alloc_array(1, sizeof(*descriptor)));
    if (!descriptor)
        return UDPA_ERR_NOMEM;
    *descriptor = (udpai_descriptor_config){
        .source = udpai_str_from(source),
        .on_demand = true,
    };
    const udpai_named_config named = {
        .type_url = UDPAI_STR(UDPAI_TYPE_RUNTIME),
        .name = udpai_str_from(name),
        .descriptors = descriptor,
        .n_descriptors = 1,
        .at_once = true,
    };
    return udpai_vector_push(&plan->named, named) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
add(udpai_plan *plan, size_t index, const rtds_message *layer)
{
    const udpai_plan_rtds rtds = {
        .index = index,
        .name = udpai_plan_own(
            plan, udpai_rtds_full_name(plan->bootstrap.message, layer, plan->name_space)),
    };
    if (!rtds.name || !udpai_vector_push(&plan->rtds, rtds))
        return UDPA_ERR_NOMEM;
    return add_provider(plan, rtds.name, layer->rtds_config);
}

udpa_err
udpai_plan_rtds_make(udpai_plan *plan)
{
    const Udpa__Config__V1__Runtime *runtime = plan->bootstrap.message->runtime;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; runtime && i < runtime->n_layers && err == UDPA_OK; i++)
        if (runtime->layers[i]->layer_case == UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_RTDS_LAYER)
            err = add(plan, i, runtime->layers[i]->rtds_layer);
    plan->settings.node.named = plan->named.items;
    plan->settings.node.n_named = plan->named.n;
    return err;
}
