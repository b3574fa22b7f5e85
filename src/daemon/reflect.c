/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reflect.h"

size_t
udpai_reflect_width(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

const void *
udpai_reflect_place(const ProtobufCMessage *message, unsigned offset)
{
    return (const uint8_t *)message + offset;
}

bool
udpai_reflect_is_of_another(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
           *(const uint32_t *)udpai_reflect_place(message, field->quantifier_offset) != field->id;
}

static bool
is_there(const ProtobufCFieldDescriptor *field, const void *place)
{
    static const char zeroes[sizeof(ProtobufCBinaryData)];
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return udpai_str_from(*(const char *const *)place).len > 0;
    return memcmp(place, zeroes, udpai_reflect_width(field)) != 0;
}

size_t
udpai_reflect_count(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)udpai_reflect_place(message, field->quantifier_offset);
    return !udpai_reflect_is_of_another(message, field) &&
           is_there(field, udpai_reflect_place(message, field->offset));
}

const void *
udpai_reflect_value(const ProtobufCMessage *message,
                    const ProtobufCFieldDescriptor *field,
                    size_t index)
{
    const void *place = udpai_reflect_place(message, field->offset);
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return place;
    return *(const uint8_t *const *)place + index * udpai_reflect_width(field);
}
