/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/peek.h"

#include "base/proto.h"
#include "base/utf8.h"
#include "model/type_url.h"

enum { /* field numbers of the public types */
    NAME =
        1, /* of every type that has a name; in ClusterLoadAssignment it is called cluster_name */
    CLUSTER_TYPE = 2,
    CLUSTER_EDS_CONFIG = 3,
    CLUSTER_CUSTOM_TYPE = 38, /* in one oneof with CLUSTER_TYPE */
    EDS_SERVICE_NAME = 2,
    DISCOVERY_TYPE_EDS = 3, /* the value, of an enum */
    ASSIGNMENT_LOCALITIES = 2,
    LOCALITY_COLLECTION = 8,
    COLLECTION_NAME = 2,
    LISTENER_FILTER_CHAINS = 3,
    LISTENER_API_LISTENER = 19,
    LISTENER_DEFAULT_FILTER_CHAIN = 25,
    API_LISTENER_ANY = 1,
    FILTER_CHAIN_FILTERS = 3,
    FILTER_TYPED_CONFIG = 4,
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
    HTTP_RDS = 3,
    HTTP_ROUTE_CONFIG = 4,
    HTTP_SCOPED_ROUTES = 31, /* in one oneof with the two above */
    RDS_ROUTE_CONFIG_NAME = 2,
};

#define HTTP_CONNECTION_MANAGER                                                                    \
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

bool
udpai_xds_type_is_whole(udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    return udpai_str_eq(name, UDPAI_STR("envoy.config.cluster.v3.Cluster")) ||
           udpai_str_eq(name, UDPAI_STR("envoy.config.listener.v3.Listener")) ||
           udpai_str_eq(name, UDPAI_STR("envoy.config.route.v3.ScopedRouteConfiguration"));
}

static bool
has_name(udpai_str type_url)
{
    static const char *const named[] = {
        "envoy.config.cluster.v3.Cluster",
        "envoy.config.endpoint.v3.ClusterLoadAssignment",
        "envoy.config.listener.v3.Listener",
        "envoy.config.route.v3.RouteConfiguration",
        "envoy.config.route.v3.ScopedRouteConfiguration",
        "envoy.extensions.transport_sockets.tls.v3.Secret",
        "envoy.config.core.v3.TypedExtensionConfig",
        "envoy.service.runtime.v3.Runtime",
    };
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(named); i++)
        if (udpai_str_eq(name, udpai_str_from(named[i])))
            return true;
    return false;
}

/* Of a field that is given more than once, the last one counts. */
bool
udpai_xds_peek_name(udpai_str type_url, udpai_str payload, udpai_str *ret_name)
{
    if (!has_name(type_url))
        return false;
    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(payload);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == NAME && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    if (reader.failed || name.len == 0 || !udpai_utf8_valid(name))
        return false;
    *ret_name = name;
    return true;
}

/* Pieces of one message merge, so the last service_name of any of them counts. */
static bool
read_eds_config(udpai_str config, udpai_str *service_name)
{
    udpai_proto_reader reader = udpai_proto_read(config);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == EDS_SERVICE_NAME && field.type == UDPAI_WIRE_BYTES)
            *service_name = field.bytes;
    return !reader.failed;
}

bool
udpai_xds_peek_endpoints_name(udpai_str cluster, udpai_str *ret_name)
{
    udpai_str name = {0}, service_name = {0};
    bool is_eds = false, is_good = true;
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (is_good && udpai_proto_next(&reader, &field)) {
        bool is_bytes = field.type == UDPAI_WIRE_BYTES;
        if (field.number == NAME && is_bytes)
            name = field.bytes;
        else if (field.number == CLUSTER_TYPE && field.type == UDPAI_WIRE_VARINT)
            is_eds = field.value == DISCOVERY_TYPE_EDS;
        else if (field.number == CLUSTER_CUSTOM_TYPE && is_bytes)
            is_eds = false;
        else if (field.number == CLUSTER_EDS_CONFIG && is_bytes)
            is_good = read_eds_config(field.bytes, &service_name);
    }
    if (!is_good || reader.failed || !is_eds)
        return false;
    udpai_str found = service_name.len ? service_name : name;
    if (found.len == 0 || !udpai_utf8_valid(found))
        return false;
    *ret_name = found;
    return true;
}

/* ---- routes ---- */

typedef struct name_visitor {
    udpai_xds_name_fn visit;
    void *userdata;
} name_visitor;

static void
visit_http(udpai_str manager, const name_visitor *visitor)
{
    udpai_str rds = {0}, name = {0};
    udpai_proto_reader reader = udpai_proto_read(manager);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == HTTP_RDS)
            rds = field.bytes;
        else if (field.number == HTTP_ROUTE_CONFIG || field.number == HTTP_SCOPED_ROUTES)
            rds = (udpai_str){0};
    }
    if (reader.failed)
        return;
    reader = udpai_proto_read(rds);
    while (udpai_proto_next(&reader, &field))
        if (field.number == RDS_ROUTE_CONFIG_NAME && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    if (!reader.failed && name.len && udpai_utf8_valid(name))
        visitor->visit(visitor->userdata, name);
}

static void
visit_any(udpai_str any, const name_visitor *visitor)
{
    udpai_str type_url = {0}, value = {0};
    udpai_proto_reader reader = udpai_proto_read(any);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == ANY_TYPE_URL && field.type == UDPAI_WIRE_BYTES)
            type_url = field.bytes;
        else if (field.number == ANY_VALUE && field.type == UDPAI_WIRE_BYTES)
            value = field.bytes;
    }
    if (!reader.failed &&
        udpai_str_eq(udpai_type_url_name(type_url), UDPAI_STR(HTTP_CONNECTION_MANAGER)))
        visit_http(value, visitor);
}

typedef void (*visit_fn)(udpai_str message, const name_visitor *visitor);

static bool
is_well_formed(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        ;
    return !reader.failed;
}

/* Has `visit` look at every occurrence of one field; of a message that is malformed, at none. */
static void
visit_field(udpai_str message, uint32_t number, visit_fn visit, const name_visitor *visitor)
{
    if (!is_well_formed(message))
        return;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            visit(field.bytes, visitor);
}

static void
visit_filter(udpai_str filter, const name_visitor *visitor)
{
    visit_field(filter, FILTER_TYPED_CONFIG, visit_any, visitor);
}

static void
visit_chain(udpai_str chain, const name_visitor *visitor)
{
    visit_field(chain, FILTER_CHAIN_FILTERS, visit_filter, visitor);
}

static void
visit_api_listener(udpai_str api_listener, const name_visitor *visitor)
{
    visit_field(api_listener, API_LISTENER_ANY, visit_any, visitor);
}

static void
visit_collection(udpai_str config, const name_visitor *visitor)
{
    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(config);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == COLLECTION_NAME && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    if (!reader.failed && name.len && udpai_utf8_valid(name))
        visitor->visit(visitor->userdata, name);
}

static void
visit_locality(udpai_str locality, const name_visitor *visitor)
{
    visit_field(locality, LOCALITY_COLLECTION, visit_collection, visitor);
}

void
udpai_xds_peek_collections(udpai_str assignment, udpai_xds_name_fn visit, void *userdata)
{
    const name_visitor visitor = {visit, userdata};
    visit_field(assignment, ASSIGNMENT_LOCALITIES, visit_locality, &visitor);
}

void
udpai_xds_peek_routes(udpai_str listener, udpai_xds_name_fn visit, void *userdata)
{
    const name_visitor visitor = {visit, userdata};
    visit_field(listener, LISTENER_FILTER_CHAINS, visit_chain, &visitor);
    visit_field(listener, LISTENER_DEFAULT_FILTER_CHAIN, visit_chain, &visitor);
    visit_field(listener, LISTENER_API_LISTENER, visit_api_listener, &visitor);
}
