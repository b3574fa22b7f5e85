/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/left_out.h"

#include "base/error.h"
#include "base/utf8.h"
#include "model/type_url.h"

enum { /* field numbers of the public types */
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
    PAYLOAD_NAME = 1,
    RESOURCE_NAME = 3, /* of Resource */
    NAME_NAME = 1,     /* of ResourceName */
    ERROR_NAME = 1,
    ERROR_DETAIL = 2,
    STATUS_CODE = 1,
    STATUS_MESSAGE = 2,
};

/* The last such field before what cannot be read. */
static udpai_str
find(udpai_str message, uint32_t number)
{
    udpai_str found = {0};
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            found = field.bytes;
    return found;
}

static udpai_str
name_of(udpai_str any)
{
    udpai_str type = udpai_type_url_name(find(any, ANY_TYPE_URL));
    bool is_wrapped = udpai_str_eq(type, UDPAI_STR("envoy.service.discovery.v3.Resource"));
    udpai_str name = find(find(any, ANY_VALUE), is_wrapped ? RESOURCE_NAME : PAYLOAD_NAME);
    return udpai_utf8_valid(name) ? name : UDPAI_STR("");
}

void
udpai_xds_put_left_out(udpai_proto_writer *writer, udpai_str resource, udpai_str reason)
{
    udpai_str name = name_of(resource);
    uint64_t code = (uint64_t)udpa_err_to_grpc(UDPA_ERR_INTERNAL);
    udpai_proto_writer status = {0};
    udpai_proto_put_varint(&status, STATUS_CODE, code);
    udpai_proto_put_bytes(&status, STATUS_MESSAGE, reason);
    udpai_proto_put_head(writer, ERROR_NAME, udpai_proto_bytes_size(NAME_NAME, name.len));
    udpai_proto_put_bytes(writer, NAME_NAME, name);
    udpai_proto_put_head(writer, ERROR_DETAIL, status.size);
    udpai_proto_put_varint(writer, STATUS_CODE, code);
    udpai_proto_put_bytes(writer, STATUS_MESSAGE, reason);
}
