/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/left_out.h"

#include "base/utf8.h"
#include "model/type_url.h"
#include "xds/render_internal.h"

enum { /* field numbers of the public types */
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
    PAYLOAD_NAME = 1,
    RESOURCE_NAME = 3, /* of Resource */
};

static udpai_str
name_of(udpai_str any)
{
    udpai_str type = udpai_type_url_name(udpai_proto_last_bytes(any, ANY_TYPE_URL));
    bool is_wrapped = udpai_str_eq(type, UDPAI_STR("envoy.service.discovery.v3.Resource"));
    udpai_str name = udpai_proto_last_bytes(udpai_proto_last_bytes(any, ANY_VALUE),
                                            is_wrapped ? RESOURCE_NAME : PAYLOAD_NAME);
    return udpai_utf8_valid(name) ? name : UDPAI_STR("");
}

void
udpai_xds_put_left_out(udpai_proto_writer *writer, udpai_str resource, udpai_str reason)
{
    udpai_xds_put_error(writer, &(udpai_xds_missing){
                                    .name = name_of(resource),
                                    .why = UDPA_ERR_INTERNAL,
                                    .reason = reason,
                                });
}
