/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/http/json_codec.h"

#include "base/alloc.h"
#include "codec/convert.h"

udpa_err
udpai_json_of_bytes(
    void *schema, const char *type, udpai_str bytes, udpa_bytes **ret_json, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = udpai_convert_from_binary(schema, udpai_str_from(type), bytes, UDPAI_FORMAT_JSON,
                                             &text, ret_error);
    if (err == UDPA_OK)
        err = udpa_bytes_new(ret_json, text, strlen(text));
    return udpai_fail_code(ret_error, err);
}

/* Nothing is left out: a resource with a field that is not known here would be another resource. A
 * reader of this can load newer descriptors. */
udpa_err
udpai_bytes_of_json(
    void *schema, const char *type, udpai_str json, udpa_bytes **ret_bytes, udpa_error **ret_error)
{
    const udpai_source source = {
        .name = "body",
        .text = json,
        .format = UDPAI_FORMAT_JSON,
        .max_size = json.len + 1,
    };
    return udpai_convert_to_binary(schema, udpai_str_from(type), &source, ret_bytes, ret_error);
}

static void
release(void *schema)
{
    udpai_schema_unref(schema);
}

udpai_json_codec
udpai_json_codec_of(udpai_schema *schema)
{
    return (udpai_json_codec){
        .to_json = udpai_json_of_bytes,
        .to_bytes = udpai_bytes_of_json,
        .release = release,
        .userdata = udpai_schema_ref(schema),
    };
}
