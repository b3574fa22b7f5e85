/* SPDX-License-Identifier: Apache-2.0 */
/* The services of xDS v3, and the one type that each of them is for. */
#include <assert.h>
#include <stdio.h>

#include "xds/peek.h"
#include "xds/xds_internal.h"

#define TYPE(url)                                                                                  \
    {                                                                                              \
        url, sizeof(url) - 1                                                                       \
    }
#define ENVOY_TYPE(name) TYPE(UDPAI_XDS_TYPE_PREFIX "envoy." name)

/* Whole states cannot say what these are asked for: a piece of another resource. */
enum {
    DELTA_ONLY = 1 << UDPAI_XDS_STREAM_DELTA,
    STREAMS = DELTA_ONLY | 1 << UDPAI_XDS_STREAM_SOTW,
    ALL = STREAMS | 1 << UDPAI_XDS_FETCH,
};

static const struct service {
    udpai_str type_url;
    const char *package, *name, *what;
    unsigned variants;
    const char *rest; /* what its path ends with; NULL: it cannot be polled */
} services[] = {
    {{0}, "discovery", "Aggregated", "AggregatedResources", STREAMS, NULL},
    {TYPE(UDPAI_XDS_TYPE_LISTENER), "listener", "Listener", "Listeners", ALL, "listeners"},
    {TYPE(UDPAI_XDS_TYPE_ROUTES), "route", "Route", "Routes", ALL, "routes"},
    {ENVOY_TYPE("config.route.v3.ScopedRouteConfiguration"), "route", "ScopedRoutes",
     "ScopedRoutes", ALL, "scoped-routes"},
    {TYPE(UDPAI_XDS_TYPE_VIRTUAL_HOST), "route", "VirtualHost", "VirtualHosts", DELTA_ONLY, NULL},
    {TYPE(UDPAI_XDS_TYPE_CLUSTER), "cluster", "Cluster", "Clusters", ALL, "clusters"},
    {TYPE(UDPAI_XDS_TYPE_ENDPOINTS), "endpoint", "Endpoint", "Endpoints", ALL, "endpoints"},
    {ENVOY_TYPE("config.endpoint.v3.LbEndpoint"), "endpoint", "LocalityEndpoint",
     "LocalityEndpoints", DELTA_ONLY, NULL},
    {ENVOY_TYPE("extensions.transport_sockets.tls.v3.Secret"), "secret", "Secret", "Secrets", ALL,
     "secrets"},
    {ENVOY_TYPE("service.runtime.v3.Runtime"), "runtime", "Runtime", "Runtime", ALL, "runtime"},
    {ENVOY_TYPE("config.core.v3.TypedExtensionConfig"), "extension", "ExtensionConfig",
     "ExtensionConfigs", ALL, "extension_configs"},
};

static const struct variant {
    const char *verb;
    const udpai_xds_protocol *protocol;
} variants[] = {
    [UDPAI_XDS_STREAM_SOTW] = {"Stream", &udpai_xds_sotw},
    [UDPAI_XDS_STREAM_DELTA] = {"Delta", &udpai_xds_delta},
    [UDPAI_XDS_FETCH] = {"Fetch", &udpai_xds_fetch},
    [UDPAI_XDS_POLL] = {NULL, &udpai_xds_poll},
};

static void
fill(udpai_xds_method *method,
     udpai_xds_shim *shim,
     const struct service *service,
     udpai_xds_variant variant)
{
    int len;
    method->variant = variant;
    method->type_url = service->type_url;
    method->shim = shim;
    if (variant == UDPAI_XDS_POLL)
        len = snprintf(method->path, sizeof(method->path), "/v3/discovery:%s", service->rest);
    else
        len = snprintf(method->path, sizeof(method->path),
                       "/envoy.service.%s.v3.%sDiscoveryService/%s%s", service->package,
                       service->name, variants[variant].verb, service->what);
    assert(len > 0 && (size_t)len < sizeof(method->path));
    (void)len;
}

bool
udpai_xds_has_service(udpai_str type_url, udpai_xds_variant variant)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(services); i++)
        if (udpai_str_eq(services[i].type_url, type_url))
            return services[i].variants & 1U << variant;
    return false;
}

/* The service of the type that has this index among those of REST; NULL: there are not so many. */
static const struct service *
rest_service(size_t index)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(services); i++)
        if (services[i].rest && index-- == 0)
            return &services[i];
    return NULL;
}

size_t
udpai_xds_rest_index(udpai_str type_url)
{
    const struct service *service;
    size_t index = 0;
    while ((service = rest_service(index)) && !udpai_str_eq(service->type_url, type_url))
        index++;
    return index;
}

udpai_str
udpai_xds_rest_type(size_t index)
{
    return rest_service(index)->type_url;
}

void
udpai_xds_rest_path(size_t index, char *room, size_t size)
{
    snprintf(room, size, "/v3/discovery:%s", rest_service(index)->rest);
}

static void
fill_polls(udpai_xds_shim *shim)
{
    size_t n = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(services); i++) {
        if (!services[i].rest)
            continue;
        assert(n < UDPAI_XDS_POLLS);
        fill(&shim->polls[n++], shim, &services[i], UDPAI_XDS_POLL);
    }
    assert(n == UDPAI_XDS_POLLS);
}

/* Methods of one service stand together. */
void
udpai_xds_shim_init(udpai_xds_shim *shim)
{
    size_t n = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(services); i++)
        for (size_t variant = 0; variant < UDPAI_XDS_POLL; variant++)
            if (services[i].variants & 1U << variant) {
                assert(n < UDPAI_XDS_METHODS);
                fill(&shim->methods[n++], shim, &services[i], (udpai_xds_variant)variant);
            }
    assert(n == UDPAI_XDS_METHODS);
    fill_polls(shim);
    udpai_xds_groups_init(&shim->groups);
    udpai_xds_kins_init(&shim->kins);
    for (size_t i = 0; i < shim->n_audiences; i++)
        udpai_xds_audience_init(&shim->audiences[i]);
}

udpai_xds_method *
udpai_xds_method_find(udpai_xds_shim *shim, udpai_str type_url, udpai_xds_variant variant)
{
    udpai_xds_method *methods = variant == UDPAI_XDS_POLL ? shim->polls : shim->methods;
    size_t n = variant == UDPAI_XDS_POLL ? UDPAI_XDS_POLLS : UDPAI_XDS_METHODS;
    for (size_t i = 0; i < n; i++)
        if (methods[i].variant == variant && udpai_str_eq(methods[i].type_url, type_url))
            return &methods[i];
    return NULL;
}

udpa_err
udpai_xds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    const udpai_xds_method *method = info->context;
    return udpai_xds_begin(ret_session, hub, info, variants[method->variant].protocol);
}
