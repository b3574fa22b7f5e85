/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the runtime that come by RTDS, of the section 'runtime': which resources the node
 * follows for itself, and which source is asked for those that come from one alone. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "daemon/source_names.h"
#include "model/name.h"
#include "runtime/layers.h"
#include "runtime/rtds.h"

/* What replaces the node's namespace, of which only the form is looked at, if the file does not
 * have it: the command line may. */
#define ANY_NAMESPACE "local"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__RuntimeRtdsLayer rtds_message;

/* ---- names and sources ---- */

static const source_message *
source_of(const bootstrap_message *message, const rtds_message *layer)
{
    return *layer->rtds_config ? udpai_source_find(message->static_resources, layer->rtds_config)
                               : NULL;
}

/* With its namespace: if it has none, that of its source, and if that has none, this one. To be
 * freed with udpai_free(); NULL without memory. */
static char *
full_name(const bootstrap_message *message, const rtds_message *layer, const char *name_space)
{
    const char *own = udpai_source_namespace(source_of(message, layer));
    udpai_strbuf name = {0};
    if (!strchr(layer->name, '/'))
        udpai_strbuf_printf(&name, "%s/", *own ? own : name_space);
    udpai_strbuf_puts(&name, layer->name);
    return udpai_strbuf_take(&name);
}

/* ---- one layer ---- */

/* A server of one service alone, which is another one. */
static bool
is_of_another_type(const source_message *source)
{
    return source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS && *source->xds->type &&
           strcmp(udpai_type_without_prefix(source->xds->type),
                  udpai_type_without_prefix(UDPAI_TYPE_RUNTIME)) != 0;
}

static void
check_there(const udpai_value *value)
{
    const Udpa__Config__V1__StaticResources *all = value->bootstrap->static_resources;
    char hint[UDPAI_CHOICE_TEXT];
    udpai_source_suggest(all, value->text, hint);
    if (udpai_diagnostics_is_unread(value->diagnostics, "static_resources"))
        return;
    if (value->bootstrap->dynamic_sources)
        udpai_value_warn(value, "",
                         "there is no ConfigSource '%s' in static_resources.config_sources: "
                         "until a resource defines it, the layer is not there%s",
                         value->text, hint);
    else
        udpai_value_error(
            value, "",
            "there is no ConfigSource '%s' in static_resources.config_sources: add it there, or "
            "leave rtds_config out, to ask the sources of the providers%s",
            value->text, hint);
}

static void
check_source(const udpai_value *value)
{
    const source_message *source = source_of(value->bootstrap, value->in);
    if (!source)
        check_there(value);
    else if (udpai_source_is_per_client(source))
        udpai_value_error(value, "",
                          "'%s' is asked for each group of clients by itself: name the server "
                          "in another ConfigSource, without 'audience', for the layer",
                          source->name);
    else if (is_of_another_type(source))
        udpai_value_error(value, "",
                          "'%s' is asked for the type %s alone: name the server in another "
                          "ConfigSource, without 'type', for the layer",
                          source->name, udpai_type_without_prefix(source->xds->type));
}

static const udpai_field fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "rtds_config", UDPAI_PUBLIC, .check = check_source},
};

const udpai_section udpai_section_rtds_layer = {UDPAI_SECTION(runtime_rtds_layer, fields)};

/* ---- names ---- */

/* NULL: it is of another kind, or there is no memory. */
static char *
name_of(const udpai_value *value, size_t index)
{
    const Udpa__Config__V1__RuntimeLayer *layer = value->bootstrap->runtime->layers[index];
    const Udpa__Config__V1__Node *node = value->bootstrap->node;
    if (layer->layer_case != UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_RTDS_LAYER)
        return NULL;
    char *name = full_name(value->bootstrap, layer->rtds_layer,
                           node && *node->namespace_ ? node->namespace_ : ANY_NAMESPACE);
    value->diagnostics->has_failed |= !name;
    return name;
}

static void
check_name(const udpai_value *value, const rtds_message *layer, const char *name)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const char *own = udpai_source_namespace(source_of(value->bootstrap, layer));
    if (udpai_name_check(udpai_str_from(name), &error) != UDPA_OK)
        udpai_value_error(value, "rtds_layer.name", "%s", udpa_error_message(error));
    else if (*own && !udpai_prefix_covers(udpai_str_from(own), udpai_str_from(name)))
        udpai_value_error(value, "rtds_layer.name",
                          "'%s' cannot be had from '%s', all names of which are in '%s': write "
                          "'%s/…'",
                          name, layer->rtds_config, own, own);
}

/* One resource comes from one place. */
static void
check_before(const udpai_value *value, const rtds_message *layer, const char *name, size_t before)
{
    UDPAI_AUTO_FREE char *other = name_of(value, before);
    if (!other || strcmp(name, other) != 0)
        return;
    const rtds_message *other_layer = value->bootstrap->runtime->layers[before]->rtds_layer;
    if (strcmp(layer->rtds_config, other_layer->rtds_config) != 0)
        udpai_value_error(value, "rtds_layer.rtds_config",
                          "runtime.layers[%zu] has '%s' from another source: a resource has one "
                          "source, so write the same in both",
                          before, name);
}

void
udpai_check_rtds(const udpai_value *value)
{
    const Udpa__Config__V1__RuntimeLayer *layer = value->message;
    UDPAI_AUTO_FREE char *name = name_of(value, value->index);
    if (!name)
        return;
    if (*layer->rtds_layer->name)
        check_name(value, layer->rtds_layer, name);
    for (size_t k = 0; k < value->index; k++)
        check_before(value, layer->rtds_layer, name, k);
}

/* ---- use ---- */

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
        .name = udpai_plan_own(plan, full_name(plan->bootstrap.message, layer, plan->name_space)),
    };
    if (!rtds.name || !udpai_vector_push(&plan->rtds, rtds))
        return UDPA_ERR_NOMEM;
    return add_provider(plan, rtds.name, layer->rtds_config);
}

udpa_err
udpai_use_runtime(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
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
