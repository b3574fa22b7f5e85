/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format at its lowest level: fields in, fields out. Bounded, never recursive,
 * knows no schema. */
#ifndef UDPAI_PROTO_H
#define UDPAI_PROTO_H

#include "base/util.h"

typedef enum udpai_wire_type {
    UDPAI_WIRE_VARINT = 0,
    UDPAI_WIRE_FIXED64 = 1,
    UDPAI_WIRE_BYTES = 2,
    UDPAI_WIRE_GROUP_START = 3, /* the reader refuses groups */
    UDPAI_WIRE_GROUP_END = 4,
    UDPAI_WIRE_FIXED32 = 5,
} udpai_wire_type;

typedef struct udpai_proto_field {
    uint32_t number;
    udpai_wire_type type;
    uint64_t value;  /* of VARINT, FIXED64, FIXED32 */
    udpai_str bytes; /* of BYTES: a view */
} udpai_proto_field;

typedef struct udpai_proto_reader {
    const uint8_t *at, *end;
    bool failed; /* set once something was malformed */
} udpai_proto_reader;

static inline udpai_proto_reader
udpai_proto_read(udpai_str message)
{
    const uint8_t *start = (const uint8_t *)message.data;
    return (udpai_proto_reader){start, start + message.len, false};
}

/* The next field; false at the end and at what is malformed (then reader->failed). */
bool udpai_proto_next(udpai_proto_reader *reader, udpai_proto_field *ret_field);

/* Sizes and writing. Writers return the position behind what they wrote; the caller has made sure
 * that there is room. */
size_t udpai_varint_size(uint64_t value);
size_t udpai_proto_tag_size(uint32_t number);
/* A length-delimited field of len bytes, tag and length included. */
size_t udpai_proto_bytes_size(uint32_t number, size_t len);
size_t udpai_proto_varint_size(uint32_t number, uint64_t value);

uint8_t *udpai_varint_put(uint8_t *at, uint64_t value);
/* Tag and length of a length-delimited field whose contents follow. */
uint8_t *udpai_proto_bytes_head_put(uint8_t *at, uint32_t number, size_t len);
uint8_t *udpai_proto_bytes_put(uint8_t *at, uint32_t number, udpai_str bytes);
uint8_t *udpai_proto_varint_put(uint8_t *at, uint32_t number, uint64_t value);
uint8_t *udpai_proto_fixed64_put(uint8_t *at, uint32_t number, uint64_t value);

#endif
