/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf by hand, so that a test can write what no encoder would. Pieces are put together from
 * the inside out: `W_MESSAGE(3, W_TEXT(1, "a"), W_VARINT(2, 5))`. They live until wire_free_all().
 */
#ifndef UDPAI_TESTS_WIRE_H
#define UDPAI_TESTS_WIRE_H

#include <stdlib.h>

#include "base/proto.h"

struct wire_piece {
    struct wire_piece *next;
    char data[];
};

static struct wire_piece *wire_pieces;

static inline char *
wire_room(size_t size)
{
    struct wire_piece *piece = malloc(sizeof(*piece) + size + 1);
    if (!piece)
        abort();
    piece->next = wire_pieces;
    wire_pieces = piece;
    return piece->data;
}

static inline void
wire_free_all(void)
{
    while (wire_pieces) {
        struct wire_piece *next = wire_pieces->next;
        free(wire_pieces);
        wire_pieces = next;
    }
}

/* Any bytes, one behind the other. */
static inline udpai_str
wire_join(const udpai_str *parts, size_t n)
{
    size_t size = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        size += parts[i].len;
    char *room = wire_room(size);
    for (size_t i = 0; i < n; i++) {
        if (parts[i].len)
            memcpy(room + at, parts[i].data, parts[i].len);
        at += parts[i].len;
    }
    return (udpai_str){room, size};
}

static inline udpai_str
wire_varint(uint32_t number, uint64_t value)
{
    udpai_proto_writer writer = {(uint8_t *)wire_room(16), 0};
    char *start = (char *)writer.at;
    udpai_proto_put_varint(&writer, number, value);
    return (udpai_str){start, writer.size};
}

static inline udpai_str
wire_fixed64(uint32_t number, uint64_t value)
{
    udpai_proto_writer writer = {(uint8_t *)wire_room(16), 0};
    char *start = (char *)writer.at;
    udpai_proto_put_fixed64(&writer, number, value);
    return (udpai_str){start, writer.size};
}

static inline udpai_str
wire_fixed32(uint32_t number, uint32_t value)
{
    udpai_proto_writer writer = {(uint8_t *)wire_room(16), 0};
    uint8_t *start = writer.at;
    udpai_proto_put_varint(&writer, number, 0);
    start[0] |= UDPAI_WIRE_FIXED32;
    memcpy(start + writer.size - 1, &value, 4);
    return (udpai_str){(char *)start, writer.size + 3};
}

static inline udpai_str
wire_bytes(uint32_t number, udpai_str bytes)
{
    udpai_proto_writer writer = {(uint8_t *)wire_room(bytes.len + 16), 0};
    char *start = (char *)writer.at;
    udpai_proto_put_bytes(&writer, number, bytes);
    return (udpai_str){start, writer.size};
}

/* An empty message inside n others. */
static inline udpai_str
wire_nested(uint32_t number, size_t n)
{
    size_t *sizes = malloc((n + 1) * sizeof(*sizes));
    if (!sizes)
        abort();
    sizes[0] = 0;
    for (size_t i = 1; i <= n; i++)
        sizes[i] = udpai_proto_bytes_size(number, sizes[i - 1]);
    udpai_proto_writer writer = {(uint8_t *)wire_room(sizes[n]), 0};
    udpai_str message = {(char *)writer.at, sizes[n]};
    for (size_t i = n; i-- > 0;)
        udpai_proto_put_head(&writer, number, sizes[i]);
    free(sizes);
    return message;
}

#define W_JOIN(...)                                                                                \
    wire_join((const udpai_str[]){{NULL, 0}, __VA_ARGS__},                                         \
              UDPAI_ARRAY_LEN(((const udpai_str[]){{NULL, 0}, __VA_ARGS__})))
#define W_MESSAGE(number, ...) wire_bytes((number), W_JOIN(__VA_ARGS__))
#define W_EMPTY(number) wire_bytes((number), (udpai_str){NULL, 0})
#define W_TEXT(number, text) wire_bytes((number), udpai_str_from(text))
#define W_BYTES(number, literal) wire_bytes((number), UDPAI_STR(literal))
#define W_VARINT(number, value) wire_varint((number), (value))
#define W_FIXED32(number, value) wire_fixed32((number), (value))
#define W_FIXED64(number, value) wire_fixed64((number), (value))
#define W_NOTHING ((udpai_str){NULL, 0})

#endif
