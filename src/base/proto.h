/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format at its lowest level: fields in, fields out. Bounded, never recursive,
 * knows no schema. */
#ifndef UDPAI_PROTO_H
#define UDPAI_PROTO_H

#include <udpa/bytes.h>

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
    const uint8_t *start = (const uint8_t *)(message.data ? message.data : "");
    return (udpai_proto_reader){start, start + message.len, false};
}

/* The next field; false at the end and at what is malformed (then reader->failed). */
bool udpai_proto_next(udpai_proto_reader *reader, udpai_proto_field *ret_field);
/* Of the last length-delimited field of this number, before what is malformed; a view, empty if
 * there is none. */
udpai_str udpai_proto_last_bytes(udpai_str message, uint32_t number);

/* A value without a tag, in messages with fields in a fixed order. False, and the reader has
 * failed: it is not there. */
bool udpai_proto_take_number(udpai_proto_reader *reader, uint64_t *ret_value);
bool udpai_proto_take_bytes(udpai_proto_reader *reader, udpai_str *ret_bytes);

/* Writes fields one behind the other; without a place to write to (at == NULL) it only counts. So
 * one function both sizes a message and writes it: run it once to count, make room, run it again.
 */
typedef struct udpai_proto_writer {
    uint8_t *at;
    size_t size; /* bytes written or counted */
} udpai_proto_writer;

/* Puts the fields of what it is about, the same each time. */
typedef void (*udpai_proto_put_fn)(udpai_proto_writer *writer, const void *what);

/* Counts, makes room, writes; NULL without memory. */
udpa_bytes *udpai_proto_encode(udpai_proto_put_fn put, const void *what);

void udpai_proto_put_varint(udpai_proto_writer *writer, uint32_t number, uint64_t value);
void udpai_proto_put_fixed64(udpai_proto_writer *writer, uint32_t number, uint64_t value);
void udpai_proto_put_bytes(udpai_proto_writer *writer, uint32_t number, udpai_str bytes);
/* Tag and length of a length-delimited field; its contents are put next. */
void udpai_proto_put_head(udpai_proto_writer *writer, uint32_t number, size_t len);
/* Bytes as they are: fields that were written before. */
void udpai_proto_put_raw(udpai_proto_writer *writer, udpai_str bytes);

/* Without a tag: a varint; bytes behind their length. */
void udpai_proto_put_bare_number(udpai_proto_writer *writer, uint64_t value);
void udpai_proto_put_bare_bytes(udpai_proto_writer *writer, udpai_str bytes);

/* The same, but nothing for what proto3 leaves out: zero, empty. */
void udpai_proto_put_varint_opt(udpai_proto_writer *writer, uint32_t number, uint64_t value);
void udpai_proto_put_bytes_opt(udpai_proto_writer *writer, uint32_t number, udpai_str bytes);

/* Size of a length-delimited field of len bytes, tag and length included. */
size_t udpai_proto_bytes_size(uint32_t number, size_t len);

#endif
