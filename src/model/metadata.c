/* SPDX-License-Identifier: Apache-2.0 */
#include "model/metadata.h"

enum { /* field numbers of Struct, its entries, and ListValue */
    STRUCT_FIELDS = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    LIST_VALUES = 1,
};

/* Of a field that is given more than once, the last one counts. */
bool
udpai_metadata_find(udpai_str structure, udpai_str key, udpai_str *ret_value)
{
    bool found = false;
    udpai_proto_reader reader = udpai_proto_read(structure);
    udpai_proto_field field, part;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number != STRUCT_FIELDS || field.type != UDPAI_WIRE_BYTES)
            continue;
        udpai_str name = {0}, value = {0};
        udpai_proto_reader entry = udpai_proto_read(field.bytes);
        while (udpai_proto_next(&entry, &part)) {
            if (part.number == ENTRY_KEY && part.type == UDPAI_WIRE_BYTES)
                name = part.bytes;
            else if (part.number == ENTRY_VALUE && part.type == UDPAI_WIRE_BYTES)
                value = part.bytes;
        }
        if (entry.failed || !udpai_str_eq(name, key))
            continue;
        *ret_value = value;
        found = true;
    }
    return found && !reader.failed;
}

/* Its last field counts. */
bool
udpai_metadata_read(udpai_str value, udpai_proto_field *ret_field)
{
    bool any = false;
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        *ret_field = field;
        any = true;
    }
    return any && !reader.failed;
}

bool
udpai_metadata_next(udpai_proto_reader *list, udpai_proto_field *ret_field)
{
    udpai_proto_field field;
    while (udpai_proto_next(list, &field))
        if (field.number == LIST_VALUES && field.type == UDPAI_WIRE_BYTES &&
            udpai_metadata_read(field.bytes, ret_field))
            return true;
    return false;
}

void
udpai_metadata_put_string(udpai_proto_writer *struct_writer, udpai_str key, udpai_str value)
{
    const size_t value_size = udpai_proto_bytes_size(UDPAI_VALUE_STRING, value.len);
    udpai_proto_put_head(struct_writer, STRUCT_FIELDS,
                         udpai_proto_bytes_size(ENTRY_KEY, key.len) +
                             udpai_proto_bytes_size(ENTRY_VALUE, value_size));
    udpai_proto_put_bytes(struct_writer, ENTRY_KEY, key);
    udpai_proto_put_head(struct_writer, ENTRY_VALUE, value_size);
    udpai_proto_put_bytes(struct_writer, UDPAI_VALUE_STRING, value);
}
