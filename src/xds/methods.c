/* SPDX-License-Identifier: Apache-2.0 */
/* The services of xDS v3: the aggregated one, and one for each type. */
#include <assert.h>
#include <stdio.h>

#include "model/types.h"
#include "xds/xds_internal.h"

static const udpai_type_info aggregated = {
    .package = "discovery", .service = "Aggregated", .what = "AggregatedResources"};

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
     udpai_xds_server *server,
     const udpai_type_info *type,
     udpai_xds_variant variant)
{
    int len;
    method->variant = variant;
    method->type_url = type->url;
    method->server = server;
    if (variant == UDPAI_XDS_POLL)
        len = snprintf(method->path, sizeof(method->path), "/v3/discovery:%s", type->rest);
    else
        len = snprintf(method->path, sizeof(method->path),
                       "/envoy.service.%s.v3.%sDiscoveryService/%s%s", type->package, type->service,
                       variants[variant].verb, type->what);
    assert(len > 0 && (size_t)len < sizeof(method->path));
    (void)len;
}

static bool
has_variant(const udpai_type_info *type, udpai_xds_variant variant)
{
    return variant == UDPAI_XDS_STREAM_DELTA ||
           (variant == UDPAI_XDS_STREAM_SOTW && (type->rest || type == &aggregated)) ||
           (variant == UDPAI_XDS_FETCH && type->rest);
}

bool
udpai_xds_has_service(udpai_str type_url, udpai_xds_variant variant)
{
    const udpai_type_info *type = type_url.len ? udpai_type_of_url(type_url) : &aggregated;
    return type && type->package && has_variant(type, variant);
}

/* The type that has this index among those of REST; NULL: there are not so many. */
static const udpai_type_info *
rest_type(size_t index)
{
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++)
        if (type->rest && index-- == 0)
            return type;
    return NULL;
}

size_t
udpai_xds_rest_index(udpai_str type_url)
{
    const udpai_type_info *type;
    size_t index = 0;
    while ((type = rest_type(index)) && !udpai_str_eq(type->url, type_url))
        index++;
    return index;
}

udpai_str
udpai_xds_rest_type(size_t index)
{
    return rest_type(index)->url;
}

void
udpai_xds_rest_path(size_t index, char *room, size_t size)
{
    snprintf(room, size, "/v3/discovery:%s", rest_type(index)->rest);
}

static size_t
fill_service(udpai_xds_server *server, size_t n, const udpai_type_info *type)
{
    for (size_t variant = 0; variant < UDPAI_XDS_POLL; variant++)
        if (has_variant(type, (udpai_xds_variant)variant)) {
            assert(n < UDPAI_XDS_METHODS);
            fill(&server->methods[n++], server, type, (udpai_xds_variant)variant);
        }
    return n;
}

/* Methods of one service are adjacent. */
void
udpai_xds_server_init(udpai_xds_server *server)
{
    size_t n = fill_service(server, 0, &aggregated);
    for (size_t i = 0; i < UDPAI_TYPES_SERVED; i++)
        n = fill_service(server, n, udpai_type_at(i));
    assert(n == UDPAI_XDS_METHODS);
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++)
        fill(&server->polls[i], server, rest_type(i), UDPAI_XDS_POLL);
    udpai_xds_groups_init(&server->groups);
    udpai_xds_siblings_init(&server->siblings_by_client);
    for (size_t i = 0; i < server->n_audiences; i++)
        udpai_xds_audience_init(&server->audiences[i]);
}

udpai_xds_method *
udpai_xds_method_find(udpai_xds_server *server, udpai_str type_url, udpai_xds_variant variant)
{
    udpai_xds_method *methods = variant == UDPAI_XDS_POLL ? server->polls : server->methods;
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
