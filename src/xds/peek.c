/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/peek.h"

#include "base/proto.h"
#include "base/utf8.h"
#include "model/types.h"

enum {        /* field numbers of the public types */
    NAME = 1, /* of a Cluster, and of an SdsSecretConfig */
    CLUSTER_TYPE = 2,
    CLUSTER_EDS_CONFIG = 3,
    CLUSTER_CUSTOM_TYPE = 38, /* in one oneof with CLUSTER_TYPE */
    EDS_CONFIG_SOURCE = 1,
    EDS_SERVICE_NAME = 2,
    SOURCE_PATH = 1, /* in one oneof with the next ones */
    SOURCE_API = 2,
    SOURCE_ADS = 3,
    SOURCE_SELF = 5,
    SOURCE_PATH_CONFIG = 8,
    DISCOVERY_TYPE_EDS = 3, /* the value, of an enum */
    CLUSTER_TRANSPORT_SOCKET = 24,
    CLUSTER_TRANSPORT_SOCKET_MATCHES = 43,
    MATCH_TRANSPORT_SOCKET = 3,
    SOCKET_TYPED_CONFIG = 3,
    TLS_COMMON = 1,
    COMMON_CERTIFICATE_SECRETS = 6,
    COMMON_VALIDATION_SECRET = 7,
    COMMON_COMBINED_VALIDATION = 8,
    COMBINED_VALIDATION_SECRET = 2,
    SECRET_CONFIG_SOURCE = 2,
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
    SCOPED_ROUTES_LIST = 4,
    SCOPED_ROUTES_RDS = 5, /* in one oneof with the list */
    SCOPED_LIST_SCOPES = 1,
    SCOPE_ROUTE_CONFIG_NAME = 2,
};

#define HTTP_CONNECTION_MANAGER                                                                    \
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

#define UPSTREAM_TLS_CONTEXT "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"

/* Of a field that is given more than once, the last one counts. */
bool
udpai_xds_peek_name(udpai_str type_url, udpai_str payload, udpai_str *ret_name)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    if (!type || !type->name_field)
        return false;
    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(payload);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == type->name_field && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    if (reader.failed || name.len == 0 || !udpai_utf8_valid(name))
        return false;
    *ret_name = name;
    return true;
}

static bool
read_source(udpai_str source, bool *is_elsewhere)
{
    udpai_proto_reader reader = udpai_proto_read(source);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        else if (field.number == SOURCE_PATH || field.number == SOURCE_PATH_CONFIG)
            *is_elsewhere = true;
        else if (field.number == SOURCE_API || field.number == SOURCE_ADS ||
                 field.number == SOURCE_SELF)
            *is_elsewhere = false;
    return !reader.failed;
}

/* Pieces of one message merge, so the last service_name of any of them counts. */
static bool
read_eds_config(udpai_str config, udpai_str *service_name, bool *is_elsewhere)
{
    udpai_proto_reader reader = udpai_proto_read(config);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        else if (field.number == EDS_SERVICE_NAME)
            *service_name = field.bytes;
        else if (field.number == EDS_CONFIG_SOURCE && !read_source(field.bytes, is_elsewhere))
            return false;
    return !reader.failed;
}

bool
udpai_xds_peek_endpoints_name(udpai_str cluster, udpai_str *ret_name)
{
    udpai_xds_eds eds;
    bool is_eds = udpai_xds_peek_eds(cluster, &eds);
    if (is_eds)
        *ret_name = eds.name;
    return is_eds;
}

bool
udpai_xds_peek_eds(udpai_str cluster, udpai_xds_eds *ret_eds)
{
    udpai_str name = {0}, service_name = {0};
    bool is_elsewhere = false;
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
            is_good = read_eds_config(field.bytes, &service_name, &is_elsewhere);
    }
    if (!is_good || reader.failed || !is_eds)
        return false;
    udpai_str found = service_name.len ? service_name : name;
    if (found.len == 0 || !udpai_utf8_valid(found))
        return false;
    *ret_eds = (udpai_xds_eds){found, is_elsewhere};
    return true;
}

/* ---- along a path ---- */

typedef struct name_visitor {
    udpai_xds_name_fn visit;
    void *userdata;
    bool for_scoped; /* not names, but those that SRDS brings */
} name_visitor;

/* What is packed, if it is of this type; else empty. */
static udpai_str
unpack(udpai_str any, const char *type_name)
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
    bool is_good =
        !reader.failed && udpai_str_eq(udpai_type_url_name(type_url), udpai_str_from(type_name));
    return is_good ? value : (udpai_str){0};
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

/* Calls back with the last occurrence of a field that has a name. */
static void
visit_text(udpai_str message, uint32_t number, const name_visitor *visitor)
{
    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    if (!reader.failed && name.len && udpai_utf8_valid(name))
        visitor->visit(visitor->userdata, name);
}

/* Which member of a oneof of messages, with numbers that end with 0, counts: the last one. 0: none.
 */
static uint32_t
read_oneof(udpai_str message, const uint32_t *numbers, udpai_str *ret_member)
{
    uint32_t number = 0;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        for (size_t i = 0; numbers[i] && field.type == UDPAI_WIRE_BYTES; i++)
            if (field.number == numbers[i]) {
                number = field.number;
                *ret_member = field.bytes;
            }
    return reader.failed ? 0 : number;
}

/* ---- routes ---- */

static void
visit_scope(udpai_str scope, const name_visitor *visitor)
{
    visit_text(scope, SCOPE_ROUTE_CONFIG_NAME, visitor);
}

static void
visit_scoped_routes(udpai_str scoped, const name_visitor *visitor)
{
    static const uint32_t oneof[] = {SCOPED_ROUTES_LIST, SCOPED_ROUTES_RDS, 0};
    udpai_str member = {0};
    uint32_t number = read_oneof(scoped, oneof, &member);
    if (number == SCOPED_ROUTES_RDS && visitor->for_scoped)
        visitor->visit(visitor->userdata, (udpai_str){0});
    else if (number == SCOPED_ROUTES_LIST && !visitor->for_scoped)
        visit_field(member, SCOPED_LIST_SCOPES, visit_scope, visitor);
}

static void
visit_http(udpai_str manager, const name_visitor *visitor)
{
    static const uint32_t oneof[] = {HTTP_RDS, HTTP_ROUTE_CONFIG, HTTP_SCOPED_ROUTES, 0};
    udpai_str member = {0};
    uint32_t number = read_oneof(manager, oneof, &member);
    if (number == HTTP_SCOPED_ROUTES)
        visit_scoped_routes(member, visitor);
    else if (number == HTTP_RDS && !visitor->for_scoped)
        visit_text(member, RDS_ROUTE_CONFIG_NAME, visitor);
}

static void
visit_any(udpai_str any, const name_visitor *visitor)
{
    visit_http(unpack(any, HTTP_CONNECTION_MANAGER), visitor);
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
    visit_text(config, COLLECTION_NAME, visitor);
}

static void
visit_locality(udpai_str locality, const name_visitor *visitor)
{
    visit_field(locality, LOCALITY_COLLECTION, visit_collection, visitor);
}

void
udpai_xds_peek_collections(udpai_str assignment, udpai_xds_name_fn visit, void *userdata)
{
    const name_visitor visitor = {.visit = visit, .userdata = userdata};
    visit_field(assignment, ASSIGNMENT_LOCALITIES, visit_locality, &visitor);
}

static void
visit_listener(udpai_str listener, const name_visitor *visitor)
{
    visit_field(listener, LISTENER_FILTER_CHAINS, visit_chain, visitor);
    visit_field(listener, LISTENER_DEFAULT_FILTER_CHAIN, visit_chain, visitor);
    visit_field(listener, LISTENER_API_LISTENER, visit_api_listener, visitor);
}

void
udpai_xds_peek_routes(udpai_str listener, udpai_xds_name_fn visit, void *userdata)
{
    visit_listener(listener, &(name_visitor){.visit = visit, .userdata = userdata});
}

static void
note_scoped(void *userdata, udpai_str name)
{
    (void)name;
    *(bool *)userdata = true;
}

bool
udpai_xds_peek_is_scoped(udpai_str listener)
{
    bool is_scoped = false;
    visit_listener(listener, &(name_visitor){note_scoped, &is_scoped, .for_scoped = true});
    return is_scoped;
}

void
udpai_xds_peek_scope(udpai_str scope, udpai_xds_name_fn visit, void *userdata)
{
    visit_scope(scope, &(name_visitor){.visit = visit, .userdata = userdata});
}

/* ---- secrets ---- */

/* Without a source it is one of the client's own. */
static void
visit_secret(udpai_str config, const name_visitor *visitor)
{
    udpai_str name = {0};
    bool has_source = false, is_elsewhere = false, is_good = true;
    udpai_proto_reader reader = udpai_proto_read(config);
    udpai_proto_field field;
    while (is_good && udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == NAME)
            name = field.bytes;
        has_source |= field.number == SECRET_CONFIG_SOURCE;
        if (field.number == SECRET_CONFIG_SOURCE)
            is_good = read_source(field.bytes, &is_elsewhere);
    }
    if (is_good && !reader.failed && has_source && !is_elsewhere && name.len &&
        udpai_utf8_valid(name))
        visitor->visit(visitor->userdata, name);
}

static void
visit_combined(udpai_str combined, const name_visitor *visitor)
{
    visit_field(combined, COMBINED_VALIDATION_SECRET, visit_secret, visitor);
}

static void
visit_common(udpai_str common, const name_visitor *visitor)
{
    visit_field(common, COMMON_CERTIFICATE_SECRETS, visit_secret, visitor);
    visit_field(common, COMMON_VALIDATION_SECRET, visit_secret, visitor);
    visit_field(common, COMMON_COMBINED_VALIDATION, visit_combined, visitor);
}

static void
visit_tls(udpai_str any, const name_visitor *visitor)
{
    visit_field(unpack(any, UPSTREAM_TLS_CONTEXT), TLS_COMMON, visit_common, visitor);
}

static void
visit_socket(udpai_str socket, const name_visitor *visitor)
{
    visit_field(socket, SOCKET_TYPED_CONFIG, visit_tls, visitor);
}

static void
visit_match(udpai_str match, const name_visitor *visitor)
{
    visit_field(match, MATCH_TRANSPORT_SOCKET, visit_socket, visitor);
}

void
udpai_xds_peek_secrets(udpai_str cluster, udpai_xds_name_fn visit, void *userdata)
{
    const name_visitor visitor = {.visit = visit, .userdata = userdata};
    visit_field(cluster, CLUSTER_TRANSPORT_SOCKET, visit_socket, &visitor);
    visit_field(cluster, CLUSTER_TRANSPORT_SOCKET_MATCHES, visit_match, &visitor);
}
