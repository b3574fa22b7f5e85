/* SPDX-License-Identifier: Apache-2.0 */
#include "model/types.h"

#define URL(text)                                                                                  \
    .url = {text, sizeof(text) - 1},                                                               \
    .name = {UDPAI_TYPE_NAME(text), sizeof(text) - sizeof(UDPAI_TYPE_PREFIX)}
#define WORDS(word_, discovery_word_) .word = (word_), .discovery_word = (discovery_word_)
#define SERVICE(package_, service_, what_)                                                         \
    .package = (package_), .service = (service_), .what = (what_)

/* In the order in which services are listed. */
static const udpai_type_info types[] = {
    {URL(UDPAI_TYPE_LISTENER), WORDS("listener", "lds"), .rank = 5,
     SERVICE("listener", "Listener", "Listeners"), .rest = "listeners", .name_field = 1,
     .is_whole = true, .waits_for_clusters = true},
    {URL(UDPAI_TYPE_ROUTES), WORDS("route", "rds"), .rank = 7, SERVICE("route", "Route", "Routes"),
     .rest = "routes", .named_by = "listeners and scopes", .name_field = 1,
     .waits_for_clusters = true},
    {URL(UDPAI_TYPE_SCOPES), WORDS("scopedroute", "srds"), .rank = 6,
     SERVICE("route", "ScopedRoutes", "ScopedRoutes"), .rest = "scoped-routes", .name_field = 1,
     .is_whole = true, .waits_for_clusters = true},
    {URL(UDPAI_TYPE_VIRTUAL_HOST), WORDS("virtualhost", "vhds"), .rank = 8,
     SERVICE("route", "VirtualHost", "VirtualHosts"), .waits_for_clusters = true},
    {URL(UDPAI_TYPE_CLUSTER), WORDS("cluster", "cds"), .rank = 0,
     SERVICE("cluster", "Cluster", "Clusters"), .rest = "clusters", .name_field = 1,
     .is_whole = true},
    {URL(UDPAI_TYPE_ENDPOINTS), WORDS("endpoint", "eds"), .rank = 1,
     SERVICE("endpoint", "Endpoint", "Endpoints"), .rest = "endpoints", .named_by = "clusters",
     .name_field = 1, .is_leaf = true},
    {URL(UDPAI_TYPE_MEMBER), .rank = 2,
     SERVICE("endpoint", "LocalityEndpoint", "LocalityEndpoints")},
    {URL(UDPAI_TYPE_SECRET), WORDS("secret", "sds"), .rank = 3,
     SERVICE("secret", "Secret", "Secrets"), .rest = "secrets", .name_field = 1, .is_leaf = true,
     .is_secret = true},
    {URL(UDPAI_TYPE_RUNTIME), WORDS("runtime", "rtds"), .rank = 9,
     SERVICE("runtime", "Runtime", "Runtime"), .rest = "runtime", .name_field = 1, .is_leaf = true},
    {URL(UDPAI_TYPE_EXTENSION), WORDS("extension", "ecds"), .rank = 4,
     SERVICE("extension", "ExtensionConfig", "ExtensionConfigs"), .rest = "extension_configs",
     .name_field = 1},

    {URL(UDPAI_TYPE_CLIENT_LOAD), .is_client = true, .is_of_cluster = true},
    {URL(UDPAI_TYPE_SHARED_CLIENT_LOAD), .is_client = true, .is_of_cluster = true},
    {URL(UDPAI_TYPE_CLUSTER_LOAD), .is_client = true, .is_of_cluster = true},
    {URL(UDPAI_TYPE_ORCA_REPORT), .is_client = true, .is_of_others = true},
    {URL(UDPAI_TYPE_ENDPOINT_HEALTH), .is_client = true, .is_of_cluster = true},
    {URL(UDPAI_TYPE_CHECKER), .is_client = true},
    {URL(UDPAI_TYPE_RESOURCE_STATE), .is_client = true},
    {URL(UDPAI_TYPE_CLIENT_STATUS), .is_client = true},

    {URL(UDPAI_TYPE_EVENT), .word = "event"},
    {URL(UDPAI_TYPE_NODE_STATUS), .word = "node"},
    {URL(UDPAI_TYPE_SOURCE_STATUS), .word = "source"},
    {URL(UDPAI_TYPE_REPLICA_STATUS), .word = "replica"},
    {URL(UDPAI_TYPE_SESSION_STATUS), .word = "session"},
};

const udpai_type_info *
udpai_type_at(size_t index)
{
    return index < UDPAI_ARRAY_LEN(types) ? &types[index] : NULL;
}

const udpai_type_info *
udpai_type_find(udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (udpai_str_eq(types[i].name, name))
            return &types[i];
    return NULL;
}

const udpai_type_info *
udpai_type_of_url(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && udpai_str_eq(type->url, type_url) ? type : NULL;
}

unsigned
udpai_type_rank(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && type->package ? type->rank : UDPAI_TYPES_SERVED;
}

bool
udpai_type_is_whole(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && type->is_whole;
}

bool
udpai_type_is_leaf(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && type->is_leaf;
}
