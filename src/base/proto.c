/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include "base/bytes.h"

#define FIELD_NUMBER_MAX ((1u << 29) - 1)

static bool
read_long_varint(udpai_proto_reader *reader, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        if (shift == 63 && byte > 1)
            return false; /* more than 64 bits */
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* Nearly all are one byte: tags, and the lengths of names. */
static inline bool
read_varint(udpai_proto_reader *reader, uint64_t *ret_value)
{
    if (reader->at == reader->end || *reader->at & 0x80)
        return read_long_varint(reader, ret_value);
    *ret_value = *reader->at++;
    return true;
}

static bool
read_fixed(udpai_proto_reader *reader, size_t size, uint64_t *ret_value)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += size;
    *ret_value = value;
    return true;
}

static bool
read_bytes(udpai_proto_reader *reader, udpai_str *ret_bytes)
{
    uint64_t len;
    if (!read_varint(reader, &len) || len > (uint64_t)(reader->end - reader->at))
        return false;
    *ret_bytes = (udpai_str){(const char *)reader->at, (size_t)len};
    reader->at += len;
    return true;
}

static bool
read_value(udpai_proto_reader *reader, udpai_proto_field *field)
{
    switch (field->type) {
    case UDPAI_WIRE_VARINT:
        return read_varint(reader, &field->value);
    case UDPAI_WIRE_FIXED64:
        return read_fixed(reader, 8, &field->value);
    case UDPAI_WIRE_FIXED32:
        return read_fixed(reader, 4, &field->value);
    case UDPAI_WIRE_BYTES:
        return read_bytes(reader, &field->bytes);
    case UDPAI_WIRE_GROUP_START:
    case UDPAI_WIRE_GROUP_END:
        break;
    }
    return false;
}

bool
udpai_proto_next(udpai_proto_reader *reader, udpai_proto_field *ret_field)
{
    if (reader->failed || reader->at == reader->end)
        return false;
    uint64_t tag;
    udpai_proto_field field = {0};
    if (read_varint(reader, &tag) && tag >> 3 >= 1 && tag >> 3 <= FIELD_NUMBER_MAX) {
        field.number = (uint32_t)(tag >> 3);
        field.type = (udpai_wire_type)(tag & 7);
        if (read_value(reader, &field)) {
            *ret_field = field;
            return true;
        }
    }
    reader->failed = true;
    return false;
}

udpai_str
udpai_proto_last_bytes(udpai_str message, uint32_t number)
{
    udpai_str found = {"", 0};
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            found = field.bytes;
    return found;
}

bool
udpai_proto_take_number(udpai_proto_reader *reader, uint64_t *ret_value)
{
    if (!reader->failed && read_varint(reader, ret_value))
        return true;
    reader->failed = true;
    return false;
}

bool
udpai_proto_take_bytes(udpai_proto_reader *reader, udpai_str *ret_bytes)
{
    if (!reader->failed && read_bytes(reader, ret_bytes))
        return true;
    reader->failed = true;
    return false;
}

static size_t
varint_size(uint64_t value)
{
    return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static void
put_varint(udpai_proto_writer *writer, uint64_t value)
{
    if (!writer->at) {
        writer->size += varint_size(value);
        return;
    }
    uint8_t *start = writer->at;
    for (; value >= 0x80; value >>= 7)
        *writer->at++ = (uint8_t)(value | 0x80);
    *writer->at++ = (uint8_t)value;
    writer->size += (size_t)(writer->at - start);
}

static void
put_tag(udpai_proto_writer *writer, uint32_t number, udpai_wire_type type)
{
    put_varint(writer, (uint64_t)number << 3 | type);
}

void
udpai_proto_put_varint(udpai_proto_writer *writer, uint32_t number, uint64_t value)
{
    put_tag(writer, number, UDPAI_WIRE_VARINT);
    put_varint(writer, value);
}

void
udpai_proto_put_fixed64(udpai_proto_writer *writer, uint32_t number, uint64_t value)
{
    put_tag(writer, number, UDPAI_WIRE_FIXED64);
    for (int i = 0; writer->at && i < 8; i++)
        *writer->at++ = (uint8_t)(value >> (8 * i));
    writer->size += 8;
}

void
udpai_proto_put_head(udpai_proto_writer *writer, uint32_t number, size_t len)
{
    put_tag(writer, number, UDPAI_WIRE_BYTES);
    put_varint(writer, len);
}

void
udpai_proto_put_raw(udpai_proto_writer *writer, udpai_str bytes)
{
    if (writer->at && bytes.len) {
        memcpy(writer->at, bytes.data, bytes.len);
        writer->at += bytes.len;
    }
    writer->size += bytes.len;
}

void
udpai_proto_put_bytes(udpai_proto_writer *writer, uint32_t number, udpai_str bytes)
{
    udpai_proto_put_head(writer, number, bytes.len);
    udpai_proto_put_raw(writer, bytes);
}

void
udpai_proto_put_bare_number(udpai_proto_writer *writer, uint64_t value)
{
    put_varint(writer, value);
}

void
udpai_proto_put_bare_bytes(udpai_proto_writer *writer, udpai_str bytes)
{
    put_varint(writer, bytes.len);
    udpai_proto_put_raw(writer, bytes);
}

void
udpai_proto_put_varint_opt(udpai_proto_writer *writer, uint32_t number, uint64_t value)
{
    if (value)
        udpai_proto_put_varint(writer, number, value);
}

void
udpai_proto_put_bytes_opt(udpai_proto_writer *writer, uint32_t number, udpai_str bytes)
{
    if (bytes.len)
        udpai_proto_put_bytes(writer, number, bytes);
}

size_t
udpai_proto_bytes_size(uint32_t number, size_t len)
{
    return varint_size((uint64_t)number << 3) + varint_size(len) + len;
}

udpa_bytes *
udpai_proto_encode(udpai_proto_put_fn put, const void *what)
{
    udpai_proto_writer writer = {0};
    put(&writer, what);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){room, 0};
        put(&writer, what);
    }
    return bytes;
}
