/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mirror_check.h"

#include <string.h>

#include "daemon/source_names.h"
#include "model/types.h"

/* One of which servers mostly send what is named; NULL: not one, or another prefix. */
static const udpai_type_info *
find_named(const char *type_url)
{
    udpai_str name = udpai_str_from(udpai_type_without_prefix(type_url));
    const udpai_type_info *type = udpai_type_find(name);
    bool is_named = type && type->package && !type->is_whole && udpai_str_eq(type->name, name);
    return is_named ? type : NULL;
}

static void
check_type(const udpai_value *value,
           const char *descriptor,
           const char *type_url,
           const Udpa__Config__V1__ConfigSource *source)
{
    const udpai_type_info *type = find_named(type_url);
    bool is_rest = source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST;
    bool is_alone = !is_rest && *source->xds->type;
    if (!type || (type->named_by && !is_alone) || (!type->rest && is_rest))
        return;
    if (type->named_by)
        udpai_value_warn(value, descriptor,
                         "mirrors '%s' from a service of that type alone, where no %s name its "
                         "resources: unless the server sends them unasked, nothing is received. "
                         "Set mode: ON_DEMAND, or use the aggregated service",
                         type->name.data, type->named_by);
    else
        udpai_value_warn(value, descriptor,
                         "mirrors '%s', of which most xDS servers send only what is asked for by "
                         "name, and a mirror knows no names: then nothing is received. Set mode: "
                         "ON_DEMAND, in a provider of its own",
                         type->name.data);
}

void
udpai_mirror_check(const udpai_value *value)
{
    const Udpa__Config__V1__Provider *provider = value->message;
    char at[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < provider->n_config_descriptors; i++) {
        const Udpa__Config__V1__ConfigDescriptor *descriptor = provider->config_descriptors[i];
        const Udpa__Config__V1__ConfigSource *source =
            udpai_source_of_descriptor(value->bootstrap, descriptor);
        bool is_xds = source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS;
        bool is_rest = source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST;
        if (descriptor->mode != UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__MIRROR ||
            !(is_xds || is_rest))
            continue;
        udpai_path_item(at, "config_descriptors", i);
        for (size_t k = 0; k < provider->n_types; k++)
            check_type(value, at, provider->types[k], source);
        if (provider->n_types == 0)
            udpai_value_warn(
                value, at,
                "mirrors each type that a client or node here subscribes to; of Secret, Runtime "
                "and others that nothing names to a mirror most xDS servers send only what is "
                "asked for by name: give those a provider with mode: ON_DEMAND");
    }
}
