/* SPDX-License-Identifier: Apache-2.0 */
/* Looked up in the serialised set as it is: it is small and constant, and it is a person that asks.
 */
#include "transport/grpc/descriptors.h"

#include "base/proto.h"
#include "proto/own_descriptors.h"

/* Kinds of things that have names, by the message of descriptor.proto that describes them. */
typedef enum kind {
    FILE_KIND,
    MESSAGE_KIND,
    ENUM_KIND,
    SERVICE_KIND,
    LEAF_KIND, /* nothing is in it */
    KINDS,
} kind;

/* By field number: what a thing of this kind has in it; FILE_KIND: nothing with a name. */
#define FIELDS 9
static const kind inside[KINDS][FIELDS] = {
    [FILE_KIND] = {[4] = MESSAGE_KIND, [5] = ENUM_KIND, [6] = SERVICE_KIND, [7] = LEAF_KIND},
    [MESSAGE_KIND] =
        {[2] = LEAF_KIND, [3] = MESSAGE_KIND, [4] = ENUM_KIND, [6] = LEAF_KIND, [8] = LEAF_KIND},
    [ENUM_KIND] = {[2] = LEAF_KIND},
    [SERVICE_KIND] = {[2] = LEAF_KIND},
};

static udpai_str
text_field(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            return field.bytes;
    return (udpai_str){0};
}

/* The thing of this name in another; false: there is none. */
static bool
find_child(udpai_str *thing, kind *of_kind, udpai_str name)
{
    udpai_proto_reader reader = udpai_proto_read(*thing);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number >= FIELDS || field.type != UDPAI_WIRE_BYTES)
            continue;
        kind found = inside[*of_kind][field.number];
        if (found != FILE_KIND && udpai_str_eq(text_field(field.bytes, 1), name)) {
            *thing = field.bytes;
            *of_kind = found;
            return true;
        }
    }
    return false;
}

/* Cuts the first label off. */
static udpai_str
next_label(udpai_str *path)
{
    const char *dot = memchr(path->data, '.', path->len);
    udpai_str label = {path->data, dot ? (size_t)(dot - path->data) : path->len};
    *path = dot ? (udpai_str){dot + 1, path->len - label.len - 1} : (udpai_str){0};
    return label;
}

static bool
defines(udpai_str file, udpai_str symbol)
{
    udpai_str package = text_field(file, 2);
    if (package.len) {
        if (!udpai_str_starts(symbol, package) || symbol.len <= package.len ||
            symbol.data[package.len] != '.')
            return false;
        symbol.data += package.len + 1;
        symbol.len -= package.len + 1;
    }
    kind of_kind = FILE_KIND;
    if (symbol.len == 0 || symbol.data[symbol.len - 1] == '.')
        return false;
    while (symbol.len > 0)
        if (!find_child(&file, &of_kind, next_label(&symbol)))
            return false;
    return true;
}

static udpai_proto_reader
read_set(void)
{
    return udpai_proto_read(
        (udpai_str){(const char *)udpai_own_descriptors, udpai_own_descriptors_size});
}

udpai_str
udpai_descriptors_file(udpai_str name)
{
    udpai_proto_reader reader = read_set();
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && udpai_str_eq(text_field(field.bytes, 1), name))
            return field.bytes;
    return (udpai_str){0};
}

udpai_str
udpai_descriptors_file_of(udpai_str symbol)
{
    udpai_proto_reader reader = read_set();
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && defines(field.bytes, symbol))
            return field.bytes;
    return (udpai_str){0};
}
