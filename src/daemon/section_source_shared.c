/* SPDX-License-Identifier: Apache-2.0 */
/* The field 'replicas' of ConfigSources that have a stream, or are polled: one replica is connected
 * to them for all (readers.h). */
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "daemon/source_names.h"

typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Provider provider_message;

#define LOCAL UDPA__CONFIG__V1__CONFIG_SOURCE__REPLICAS__LOCAL
#define SHARED UDPA__CONFIG__V1__CONFIG_SOURCE__REPLICAS__SHARED
#define WITH_ENDPOINTS UDPA__CONFIG__V1__CONFIG_SOURCE__REPLICAS__SHARED_WITH_ENDPOINTS
#define ENDPOINTS "envoy.config.endpoint.v3."

/* ---- the source ---- */

static void
check_kind(const udpai_value *value, const source_message *source)
{
    switch (source->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS:
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST:
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND__NOT_SET:
        return;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH:
        udpai_value_error(value, "", "write it in 'path'");
        return;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_RUNTIME_TREE:
        udpai_value_error(value, "", "write it in 'runtime_tree'");
        return;
    default:
        udpai_value_error(value, "",
                          "is for sources that this node dials: of kind udpa, xds or rest");
    }
}

void
udpai_check_source_replicas(const udpai_value *value)
{
    const source_message *source = value->in;
    if (value->number > WITH_ENDPOINTS)
        udpai_value_error(value, "", "is not known: write LOCAL, SHARED or SHARED_WITH_ENDPOINTS");
    if (value->number == LOCAL || value->number > WITH_ENDPOINTS)
        return;
    udpai_check_has_replicas(value);
    check_kind(value, source);
    if (udpai_source_is_per_client(source))
        udpai_value_error(
            value, "", "is not possible with an audience: each replica asks for its own clients");
    if (source->n_standby)
        udpai_value_error(value, "",
                          "is not possible with standby: the others have no stream to report by");
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS &&
        source->xds->load_reporting)
        udpai_value_error(value, "",
                          "is not possible with xds.load_reporting: each replica reports the load "
                          "of its own clients");
}

/* ---- the providers that name it ---- */

static bool
is_endpoints(const char *type)
{
    return strncmp(udpai_type_without_prefix(type), ENDPOINTS, strlen(ENDPOINTS)) == 0;
}

static void
check_types(const udpai_value *value, const source_message *source, const provider_message *from)
{
    if (from->n_types == 0)
        udpai_value_error(value, "",
                          "one replica is connected to its source for all, before clients "
                          "subscribe: list the types in 'types' of the provider");
    for (size_t i = 0; i < from->n_types && source->replicas == SHARED; i++)
        if (is_endpoints(from->types[i]))
            udpai_value_error(
                value, "",
                "takes '%s' from '%s', which is SHARED: give endpoints a source of their own, that "
                "each replica asks, or write 'replicas: SHARED_WITH_ENDPOINTS'; then each change "
                "of them is a write to etcd",
                udpai_type_without_prefix(from->types[i]), source->name);
}

void
udpai_check_shared_source(const udpai_value *value)
{
    const descriptor_message *descriptor = value->message;
    const source_message *source = udpai_source_of_descriptor(value->bootstrap, descriptor);
    if (!source || source->replicas == LOCAL)
        return;
    check_types(value, source, value->in);
    if (descriptor->mode == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND)
        udpai_value_error(value, "mode",
                          "ON_DEMAND is not possible with a source that one replica is connected "
                          "to for all, before clients subscribe");
}

/* ---- use ---- */

static const char *
kind_name_of(udpai_source_kind kind)
{
    return kind == UDPAI_SOURCE_XDS ? "xds" : kind == UDPAI_SOURCE_REST ? "rest" : "udpa";
}

udpa_err
udpai_plan_shared_source(udpai_plan *plan, const source_message *from, udpai_source_config *source)
{
    udpai_source_config read = *source;
    if (from->replicas == LOCAL)
        return UDPA_OK;
    read.max_withdrawal = 100; /* the node looks after that … */
    read.passes_doubts = true; /* … and after this */
    if (!udpai_vector_push(&plan->read_sources, read))
        return UDPA_ERR_NOMEM;
    source->kind_name = kind_name_of(source->kind);
    source->kind = UDPAI_SOURCE_PATH;
    source->target = NULL;
    return UDPA_OK;
}
