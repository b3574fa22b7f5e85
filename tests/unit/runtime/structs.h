/* SPDX-License-Identifier: Apache-2.0 */
/* Writes google.protobuf.Struct, field by field, also such as nobody should. */
#ifndef UDPAI_TESTS_RUNTIME_STRUCTS_H
#define UDPAI_TESTS_RUNTIME_STRUCTS_H

#include "base/proto.h"
#include "base/strbuf.h"

static inline void
bytes_field(udpai_strbuf *to, uint32_t number, udpai_str bytes)
{
    udpai_proto_writer writer = {udpai_strbuf_extend(to, udpai_proto_bytes_size(number, bytes.len)),
                                 0};
    udpai_proto_put_bytes(&writer, number, bytes);
}

/* A field of a struct, the Value of which is given; consumes that. */
static inline void
field(udpai_strbuf *to, const char *key, udpai_strbuf *value)
{
    udpai_strbuf entry = {0};
    bytes_field(&entry, 1, udpai_str_from(key));
    bytes_field(&entry, 2, udpai_strbuf_view(value));
    bytes_field(to, 1, udpai_strbuf_view(&entry));
    udpai_strbuf_done(&entry);
    udpai_strbuf_done(value);
}

static inline void
number(udpai_strbuf *to, const char *key, double value)
{
    uint64_t bits;
    udpai_strbuf body = {0};
    memcpy(&bits, &value, sizeof(bits));
    udpai_proto_writer writer = {udpai_strbuf_extend(&body, 9), 0};
    udpai_proto_put_fixed64(&writer, 2, bits);
    field(to, key, &body);
}

static inline void
varint(udpai_strbuf *to, const char *key, uint32_t kind, uint64_t value)
{
    udpai_strbuf body = {0};
    udpai_proto_writer writer = {udpai_strbuf_extend(&body, 2), 0};
    udpai_proto_put_varint(&writer, kind, value);
    field(to, key, &body);
}

/* A string (3), struct (5) or list (6). */
static inline void
bytes(udpai_strbuf *to, const char *key, uint32_t kind, udpai_str value)
{
    udpai_strbuf body = {0};
    bytes_field(&body, kind, value);
    field(to, key, &body);
}

#endif
