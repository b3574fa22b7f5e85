/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a protobuf message as its bytes come, in pieces of any size, and keeps nothing of it but
 * short fields: a response of a megabyte costs no memory. Pure. */
#ifndef UDPAI_BENCH_CUTTER_H
#define UDPAI_BENCH_CUTTER_H

#include "base/proto.h"

#define UDPAI_CUTTER_DEPTH 6
#define UDPAI_CUTTER_ROOM 255 /* of a field that is kept; what is longer is cut off */

/* The numbers of the fields on the way to one, outermost first. None is above 15: fields with
 * higher numbers are passed over, and nobody is asked about them. */
#define UDPAI_PATH1(a) (UINT32_C(a))
#define UDPAI_PATH2(a, b) (UINT32_C(a) << 4 | (b))
#define UDPAI_PATH3(a, b, c) (UDPAI_PATH2(a, b) << 4 | (c))
#define UDPAI_PATH4(a, b, c, d) (UDPAI_PATH3(a, b, c) << 4 | (d))
#define UDPAI_PATH5(a, b, c, d, e) (UDPAI_PATH4(a, b, c, d) << 4 | (e))

typedef enum udpai_cutter_wish {
    UDPAI_CUTTER_SKIP,
    UDPAI_CUTTER_ENTER, /* it is a message, and its fields are wanted */
    UDPAI_CUTTER_KEEP,  /* its bytes, or its number */
} udpai_cutter_wish;

typedef struct udpai_cutter_events {
    /* What is to be done with the field at this path, which has just begun. Only bytes can be
     * entered. */
    udpai_cutter_wish (*begin)(void *userdata, uint32_t path, udpai_wire_type type);
    /* A field that was wanted to be kept; of a number @p bytes are empty. */
    void (*kept)(void *userdata, uint32_t path, udpai_str bytes, uint64_t number);
    /* A message that was entered is over. */
    void (*left)(void *userdata, uint32_t path);
} udpai_cutter_events;

typedef struct udpai_cutter {
    uint64_t number;                    /* of the varint that is read, so far */
    uint32_t left[UDPAI_CUTTER_DEPTH];  /* bytes of each message that was entered */
    uint32_t paths[UDPAI_CUTTER_DEPTH]; /* the outermost has none */
    uint32_t path, value_left;
    uint8_t depth, state, shift, wish, n_kept, wire_type;
    bool is_broken;
    char kept[UDPAI_CUTTER_ROOM];
} udpai_cutter;

/* A message of @p size bytes begins. */
void udpai_cutter_begin(udpai_cutter *cutter, uint32_t size);
/* More of it, at most what there is. False, now and ever after: it is no message of protobuf, or
 * what is to be entered lies too deep. */
bool udpai_cutter_take(udpai_cutter *cutter,
                       udpai_str bytes,
                       const udpai_cutter_events *events,
                       void *userdata);

#endif
