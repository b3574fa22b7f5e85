/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an Any. They are forwarded as they came; those of the usual form follow from the
 * type URL and the value, and need not be kept as well. */
#include "model/resource.h"

#include "base/proto.h"

enum {
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2
};

void
udpai_any_put(udpai_proto_writer *writer, udpai_str type_url, udpai_str value)
{
    udpai_proto_put_bytes_opt(writer, ANY_TYPE_URL, type_url);
    udpai_proto_put_bytes_opt(writer, ANY_VALUE, value);
}

size_t
udpai_any_size(udpai_str type_url, udpai_str value)
{
    udpai_proto_writer size = {0};
    udpai_any_put(&size, type_url, value);
    return size.size;
}

udpai_str
udpai_any_head(udpai_any_room *room, udpai_str type_url, size_t value_size)
{
    udpai_proto_writer writer = {room->bytes, 0};
    udpai_proto_put_bytes_opt(&writer, ANY_TYPE_URL, type_url);
    if (value_size)
        udpai_proto_put_head(&writer, ANY_VALUE, value_size);
    return (udpai_str){(const char *)room->bytes, writer.size};
}

udpa_bytes *
udpai_any_make(udpai_str type_url, udpai_str value)
{
    uint8_t *room;
    udpa_bytes *any = udpai_bytes_make(udpai_any_size(type_url, value), &room);
    if (any) {
        udpai_proto_writer writer = {room, 0};
        udpai_any_put(&writer, type_url, value);
    }
    return any;
}

bool
udpai_any_parse(udpai_str any, udpai_str *ret_type_url, udpai_str *ret_value)
{
    udpai_str found[ANY_VALUE + 1] = {{0}};
    bool seen[ANY_VALUE + 1] = {false};
    udpai_proto_reader reader = udpai_proto_read(any);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number != ANY_TYPE_URL && field.number != ANY_VALUE)
            continue; /* kept with the bytes, meaningless to us */
        if (field.type != UDPAI_WIRE_BYTES || seen[field.number])
            return false;
        seen[field.number] = true;
        found[field.number] = field.bytes;
    }
    *ret_type_url = found[ANY_TYPE_URL];
    *ret_value = found[ANY_VALUE];
    return !reader.failed;
}

/* Are the bytes those that udpai_any_make() makes? */
static bool
is_usual(udpai_str any, udpai_str type_url, udpai_str value)
{
    udpai_any_room room;
    if (type_url.len > UDPAI_TYPE_URL_MAX)
        return false;
    udpai_str head = udpai_any_head(&room, type_url, value.len);
    return any.len == head.len + value.len && udpai_str_eq(head, (udpai_str){any.data, head.len});
}

static udpai_str
type_of(const udpai_resource_parts *parts)
{
    return (udpai_str){udpa_bytes_data(parts->type), udpa_bytes_size(parts->type) - 1};
}

/* Of a redirect the type is not that of the Any; and what has no value is left alone, because it
 * may be a refresh. */
static bool
can_be_bare(const udpai_resource_parts *parts, udpai_str any, udpai_str *ret_value)
{
    udpai_str type_url;
    return parts->type && !parts->redirected_type.len &&
           udpai_any_parse(any, &type_url, ret_value) && ret_value->len &&
           udpai_str_eq(type_url, type_of(parts)) && is_usual(any, type_url, *ret_value);
}

udpa_err
udpai_resource_parts_set_any(udpai_resource_parts *parts, udpai_str any, udpa_bytes **ret_bytes)
{
    udpai_str value;
    bool is_bare = can_be_bare(parts, any, &value);
    if (is_bare && value.len <= UDPAI_SMALL_MAX) {
        parts->any = parts->value = *ret_bytes = NULL;
        parts->small = value;
        return UDPA_OK;
    }
    udpai_str kept = is_bare ? value : any;
    udpa_err err = udpa_bytes_new(ret_bytes, kept.data, kept.len);
    if (err != UDPA_OK)
        return err;
    parts->any = is_bare ? NULL : *ret_bytes;
    parts->value = is_bare ? *ret_bytes : NULL;
    parts->small = (udpai_str){0};
    return UDPA_OK;
}

bool
udpai_resource_parts_read_any(const udpai_resource_parts *parts,
                              udpai_str *ret_type_url,
                              udpai_str *ret_value)
{
    if (!parts->value && !parts->small.len)
        return udpai_any_parse(udpai_bytes_view(parts->any), ret_type_url, ret_value);
    *ret_type_url = type_of(parts);
    *ret_value = parts->small.len ? parts->small : udpai_bytes_view(parts->value);
    return true;
}
