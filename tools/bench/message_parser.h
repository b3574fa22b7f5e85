/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a protobuf message as its bytes arrive, in pieces of any size, and keeps short fields
 * only: a response of a megabyte costs no memory. Pure. */
#ifndef UDPAI_BENCH_MESSAGE_PARSER_H
#define UDPAI_BENCH_MESSAGE_PARSER_H

#include "base/proto.h"

#define UDPAI_PARSER_DEPTH 6
#define UDPAI_PARSER_ROOM 255 /* of a field that is kept; what is longer is cut off */

/* The numbers of the fields on the path to one, outermost first. None is above 15: fields with
 * higher numbers are skipped, without a call. */
#define UDPAI_PATH1(a) (UINT32_C(a))
#define UDPAI_PATH2(a, b) (UINT32_C(a) << 4 | (b))
#define UDPAI_PATH3(a, b, c) (UDPAI_PATH2(a, b) << 4 | (c))
#define UDPAI_PATH4(a, b, c, d) (UDPAI_PATH3(a, b, c) << 4 | (d))
#define UDPAI_PATH5(a, b, c, d, e) (UDPAI_PATH4(a, b, c, d) << 4 | (e))

typedef enum udpai_parser_action {
    UDPAI_PARSER_SKIP,
    UDPAI_PARSER_ENTER, /* it is a message, and its fields are read */
    UDPAI_PARSER_KEEP,  /* its bytes, or its number */
} udpai_parser_action;

typedef struct udpai_parser_events {
    /* What is to be done with the field at this path, which has just begun. Only bytes can be
     * entered. */
    udpai_parser_action (*begin)(void *userdata, uint32_t path, udpai_wire_type type);
    /* A field to keep; of a number @p bytes are empty. */
    void (*kept)(void *userdata, uint32_t path, udpai_str bytes, uint64_t number);
    /* A message that was entered is over. */
    void (*left)(void *userdata, uint32_t path);
} udpai_parser_events;

typedef struct udpai_parser {
    uint64_t number;                    /* of the varint that is read, so far */
    uint32_t left[UDPAI_PARSER_DEPTH];  /* bytes of each message that was entered */
    uint32_t paths[UDPAI_PARSER_DEPTH]; /* the outermost has none */
    uint32_t path, value_left;
    uint8_t depth, state, shift, action, n_kept, wire_type;
    bool is_broken;
    char kept[UDPAI_PARSER_ROOM];
} udpai_parser;

/* A message of @p size bytes begins. */
void udpai_parser_begin(udpai_parser *parser, uint32_t size);
/* More of it, at most what there is. False, now and ever after: it is no message of protobuf, or
 * what is to be entered lies too deep. */
bool udpai_parser_read(udpai_parser *parser,
                       udpai_str bytes,
                       const udpai_parser_events *events,
                       void *userdata);

#endif
