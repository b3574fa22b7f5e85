/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of resources, and what is read of them. */
#include <stdio.h>

#include "base/proto.h"
#include "tools/conform/kind.h"

#define MARK "conform-v"
#define MARK_MAX 32
#define PORT 9 /* of endpoints and listeners: discard */

/* A message within another: the same function counts it and writes it. */
typedef void (*put_fn)(udpai_proto_writer *writer, const char *name, udpai_str mark);

static void
put_message(
    udpai_proto_writer *writer, uint32_t number, put_fn put, const char *name, udpai_str mark)
{
    udpai_proto_writer size = {0};
    put(&size, name, mark);
    udpai_proto_put_head(writer, number, size.size);
    put(writer, name, mark);
}

static void
put_name(udpai_proto_writer *writer, const char *name)
{
    udpai_proto_put_bytes(writer, 1, udpai_str_from(name));
}

static void
put_nothing(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    (void)writer, (void)name, (void)mark;
}

static void
put_source(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        ADS = 3,
        RESOURCE_API_VERSION = 6,
        V3 = 2
    };

    put_message(writer, ADS, put_nothing, name, mark);
    udpai_proto_put_varint(writer, RESOURCE_API_VERSION, V3);
}

static void
put_eds_config(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_source, name, mark);
}

static void
put_second(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    (void)name, (void)mark;
    udpai_proto_put_varint(writer, 1, 1);
}

static void
put_cluster(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        TYPE = 2,
        EDS_CONFIG = 3,
        CONNECT_TIMEOUT = 4,
        ALT_STAT_NAME = 28,
        EDS = 3
    };

    put_name(writer, name);
    udpai_proto_put_varint(writer, TYPE, EDS);
    put_message(writer, EDS_CONFIG, put_eds_config, name, mark);
    put_message(writer, CONNECT_TIMEOUT, put_second, name, mark);
    udpai_proto_put_bytes(writer, ALT_STAT_NAME, mark);
}

static void
put_socket(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        ADDRESS = 2,
        PORT_VALUE = 3
    };

    (void)name, (void)mark;
    udpai_proto_put_bytes(writer, ADDRESS, UDPAI_STR("127.0.0.1"));
    udpai_proto_put_varint(writer, PORT_VALUE, PORT);
}

static void
put_address(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_socket, name, mark);
}

static void
put_endpoint(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_address, name, mark);
}

static void
put_lb_endpoint(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_endpoint, name, mark);
}

static void
put_place(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        SUB_ZONE = 3
    };

    (void)name;
    udpai_proto_put_bytes(writer, SUB_ZONE, mark);
}

static void
put_locality(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        LOCALITY = 1,
        LB_ENDPOINTS = 2,
        WEIGHT = 3
    };

    put_message(writer, LOCALITY, put_place, name, mark);
    put_message(writer, LB_ENDPOINTS, put_lb_endpoint, name, mark);
    put_message(writer, WEIGHT, put_second, name, mark);
}

static void
put_assignment(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_name(writer, name);
    put_message(writer, 2, put_locality, name, mark);
}

static void
put_listener(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        ADDRESS = 2,
        STAT_PREFIX = 28
    };

    put_name(writer, name);
    put_message(writer, ADDRESS, put_address, name, mark);
    udpai_proto_put_bytes(writer, STAT_PREFIX, mark);
}

static void
put_host(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    (void)name;
    udpai_proto_put_bytes(writer, 1, mark);
    udpai_proto_put_bytes(writer, 2, UDPAI_STR("*"));
}

static void
put_routes(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_name(writer, name);
    put_message(writer, 2, put_host, name, mark);
}

static void
put_inline(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        INLINE_STRING = 3
    };

    (void)name;
    udpai_proto_put_bytes(writer, INLINE_STRING, mark);
}

static void
put_generic(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_inline, name, mark);
}

static void
put_secret(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        GENERIC_SECRET = 5
    };

    put_name(writer, name);
    put_message(writer, GENERIC_SECRET, put_generic, name, mark);
}

static void
put_entry(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    udpai_proto_put_bytes(writer, 1, UDPAI_STR("variant"));
    put_message(writer, 2, put_inline, name, mark); /* Value.string_value is 3, too */
}

static void
put_layer(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_entry, name, mark);
}

static void
put_runtime(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_name(writer, name);
    put_message(writer, 2, put_layer, name, mark);
}

static void
put_fragment(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    (void)name;
    udpai_proto_put_bytes(writer, 1, mark);
}

static void
put_key(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_fragment, name, mark);
}

static void
put_scope(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        ROUTE_CONFIGURATION_NAME = 2,
        KEY = 3
    };

    put_name(writer, name);
    udpai_proto_put_bytes(writer, ROUTE_CONFIGURATION_NAME, udpai_str_from(name));
    put_message(writer, KEY, put_key, name, mark);
}

static void
put_any_string(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    udpai_proto_put_bytes(writer, 1, UDPAI_STR("type.googleapis.com/google.protobuf.StringValue"));
    put_message(writer, 2, put_fragment, name, mark); /* StringValue.value is 1, too */
}

static void
put_extension(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_name(writer, name);
    put_message(writer, 2, put_any_string, name, mark);
}

static void
put_virtual_host(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_name(writer, name);
    udpai_proto_put_bytes(writer, 2, mark); /* a domain: the point at its end is of DNS, too */
}

static void
put_marked_endpoint(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        HOSTNAME = 3
    };

    put_endpoint(writer, name, mark);
    udpai_proto_put_bytes(writer, HOSTNAME, mark);
}

static void
put_member(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_marked_endpoint, name, mark);
}

static void
put_any_listener(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    udpai_proto_put_bytes(writer, 1, udpai_kind_url(UDPAI_LISTENER));
    put_message(writer, 2, put_listener, name, mark);
}

static void
put_inline_entry(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    enum {
        NAME = 1,
        VERSION = 2,
        RESOURCE = 3
    };

    udpai_proto_put_bytes(writer, NAME, UDPAI_STR("inline"));
    udpai_proto_put_bytes(writer, VERSION, mark);
    put_message(writer, RESOURCE, put_any_listener, name, mark);
}

static void
put_collection_entry(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 2, put_inline_entry, name, mark);
}

static void
put_list(udpai_proto_writer *writer, const char *name, udpai_str mark)
{
    put_message(writer, 1, put_collection_entry, name, mark);
}

udpa_bytes *
udpai_kind_payload(udpai_kind kind, const char *name, unsigned variant)
{
    static const put_fn puts[] = {
        [UDPAI_CLUSTER] = put_cluster,   [UDPAI_ENDPOINTS] = put_assignment,
        [UDPAI_LISTENER] = put_listener, [UDPAI_ROUTES] = put_routes,
        [UDPAI_SECRET] = put_secret,     [UDPAI_RUNTIME] = put_runtime,
        [UDPAI_SCOPE] = put_scope,       [UDPAI_EXTENSION] = put_extension,
        [UDPAI_HOST] = put_virtual_host, [UDPAI_MEMBER] = put_member,
        [UDPAI_LIST] = put_list,
    };
    char text[MARK_MAX];
    udpai_str mark = {text, (size_t)snprintf(text, sizeof(text), MARK "%u.", variant)};
    udpai_proto_writer writer = {0};
    puts[kind](&writer, name, mark);
    uint8_t *room;
    udpa_bytes *payload = udpai_bytes_make(writer.size, &room);
    if (!payload)
        return NULL;
    writer = (udpai_proto_writer){room, 0};
    puts[kind](&writer, name, mark);
    return payload;
}

/* The point behind the number is what shows that all its digits are there. */
unsigned
udpai_kind_variant(udpai_str payload)
{
    const char *end = payload.len ? payload.data + payload.len : NULL;
    const char *at = payload.len ? memmem(payload.data, payload.len, MARK, strlen(MARK)) : NULL;
    unsigned variant = 0;
    if (!at)
        return 0;
    for (at += strlen(MARK); at < end && *at >= '0' && *at <= '9' && variant < 100000000; at++)
        variant = variant * 10 + (unsigned)(*at - '0');
    return at < end && *at == '.' ? variant : 0;
}

udpai_str
udpai_kind_name(udpai_kind kind, udpai_str payload)
{
    if (udpai_kind_is(kind, UDPAI_NAMED_BY_URL))
        return (udpai_str){0};
    udpai_proto_reader reader = udpai_proto_read(payload);
    udpai_proto_field field;
    udpai_str name = {0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    return reader.failed ? (udpai_str){0} : name;
}
