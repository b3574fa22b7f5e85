/* SPDX-License-Identifier: Apache-2.0 */
/* A Node's metadata, or any google.protobuf.Struct, read where it is asked for and never unpacked:
 * it nests as deep as it likes. What is malformed is not there. */
#ifndef UDPAI_METADATA_H
#define UDPAI_METADATA_H

#include "base/proto.h"

enum { /* field numbers of Value, which decide what it is */
    UDPAI_VALUE_NULL = 1,
    UDPAI_VALUE_NUMBER = 2,
    UDPAI_VALUE_STRING = 3,
    UDPAI_VALUE_BOOL = 4,
    UDPAI_VALUE_STRUCT = 5,
    UDPAI_VALUE_LIST = 6,
};

/* The value of this key in a Struct, as bytes; false: it is not there. */
bool udpai_metadata_find(udpai_str structure, udpai_str key, udpai_str *ret_value);
/* What a Value holds; false: nothing. */
bool udpai_metadata_read(udpai_str value, udpai_proto_field *ret_field);
/* The Values of a ListValue, one at a time: begin with udpai_proto_read(list). False: the end, or
 * it is malformed (then list->failed). */
bool udpai_metadata_next(udpai_proto_reader *list, udpai_proto_field *ret_field);

/* One more entry of a Struct. */
void udpai_metadata_put_string(udpai_proto_writer *struct_writer, udpai_str key, udpai_str value);

static inline bool
udpai_metadata_is(const udpai_proto_field *value, uint32_t kind, udpai_wire_type type)
{
    return value->number == kind && value->type == type;
}

#endif
