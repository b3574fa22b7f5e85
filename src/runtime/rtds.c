/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rtds.h"

#include "base/proto.h"

enum { /* field numbers of envoy/service/runtime/v3/rtds.proto */
    RUNTIME_LAYER = 2,
};

/* A message that occurs twice in another is one, merged: the later keys win. */
static udpa_err
fill(udpai_runtime_layer *layer, udpai_str message, udpa_error **ret_error)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (!err && udpai_proto_next(&reader, &field))
        if (field.number == RUNTIME_LAYER && field.type == UDPAI_WIRE_BYTES)
            err = udpai_runtime_layer_put_struct(layer, field.bytes, ret_error);
    return reader.failed ? udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                                      "it is no envoy.service.runtime.v3.Runtime")
                         : err;
}

udpa_err
udpai_runtime_layer_of_rtds(udpai_runtime_layer **ret_layer,
                            udpai_str name,
                            udpai_str message,
                            udpa_error **ret_error)
{
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(name);
    if (!layer)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = fill(layer, message, ret_error);
    if (err)
        return err;
    *ret_layer = UDPAI_TAKE(layer);
    return UDPA_OK;
}
