/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/source_names.h"

#include <string.h>

typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__StaticResources static_message;

const source_message *
udpai_source_find(const static_message *all, const char *name)
{
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, name) == 0)
            return all->config_sources[i];
    return NULL;
}

const char *
udpai_source_suggest(const static_message *all, const char *name, char hint[UDPAI_CHOICE_TEXT])
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(name));
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        udpai_suggest_offer(&suggestion, all->config_sources[i]->name);
    return udpai_suggestion_or_list(&suggestion, hint);
}

const source_message *
udpai_source_inline(const descriptor_message *descriptor)
{
    return descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE
               ? descriptor->config_source
               : NULL;
}

const source_message *
udpai_source_of_descriptor(const Udpa__Config__V1__Bootstrap *message,
                           const descriptor_message *descriptor)
{
    if (descriptor->source_case != UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME)
        return udpai_source_inline(descriptor);
    return udpai_source_find(message->static_resources, descriptor->resource_name);
}

/* ---- servers of xDS ---- */

static bool
is_of_kind(const source_message *source, Udpa__Config__V1__ConfigSource__KindCase kind)
{
    return source && source->kind_case == kind;
}

#define IS_XDS(source) is_of_kind(source, UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
#define IS_REST(source) is_of_kind(source, UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)

Udpa__Config__V1__XdsSource__Audience
udpai_source_audience(const source_message *source)
{
    return IS_XDS(source)    ? source->xds->audience
           : IS_REST(source) ? source->rest->audience
                             : UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED;
}

bool
udpai_source_is_per_client(const source_message *source)
{
    return udpai_source_audience(source) != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED;
}

const char *
udpai_source_namespace(const source_message *source)
{
    return IS_XDS(source)    ? source->xds->namespace_
           : IS_REST(source) ? source->rest->namespace_
                             : "";
}

const char *
udpai_source_authority(const source_message *source)
{
    return IS_XDS(source) ? source->xds->authority : IS_REST(source) ? source->rest->authority : "";
}
