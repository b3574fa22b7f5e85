/* SPDX-License-Identifier: Apache-2.0 */
/* The request of CSDS: decoded, and which clients it matches. */
#include "envoy/service/status/v3/csds.pb-c.h"
#include "wire/node_decode.h"
#include "wire/scan.h"
#include "xds/csds_internal.h"

typedef Envoy__Service__Status__V3__ClientStatusRequest request_message;

void
udpai_csds_request_init(udpai_csds_request *request)
{
    *request = (udpai_csds_request){0};
    udpai_arena_init(&request->arena);
}

void
udpai_csds_request_done(udpai_csds_request *request)
{
    udpai_node_matchers_done(&request->matchers);
    request->node = udpai_node_info_unref(request->node);
    udpai_arena_done(&request->arena);
}

static udpa_err
take_node(udpai_csds_request *request, const request_message *from, udpa_error **ret_error)
{
    udpa_err err = from->node ? udpai_node_info_from_message(from->node, &request->node) : UDPA_OK;
    if (err != UDPA_OK || !request->node ||
        udpai_node_info_parts(request->node)->id.len <= UDPAI_AUTHORITY_MAX)
        return udpai_fail_code(ret_error, err);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "the id of the Node is longer than %d bytes",
                      UDPAI_AUTHORITY_MAX);
}

udpa_err
udpai_csds_request_decode(udpai_csds_request *request,
                          udpai_str bytes,
                          const udpai_regex_ops *regex,
                          udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type =
        &envoy__service__status__v3__client_status_request__descriptor;
    if (bytes.len > UDPAI_CSDS_REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the request has %zu bytes, and at most %zu are taken", bytes.len,
                          UDPAI_CSDS_REQUEST_MAX);
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    const request_message *message = (const request_message *)protobuf_c_message_unpack(
        type, &request->arena.allocator, bytes.len, (const uint8_t *)bytes.data);
    if (!message)
        return udpai_fail_code(ret_error,
                               request->arena.failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED);
    request->excludes_contents = message->exclude_resource_contents;
    err = take_node(request, message, ret_error);
    if (err != UDPA_OK)
        return err;
    return udpai_node_matchers_init(&request->matchers, message->node_matchers,
                                    message->n_node_matchers, regex, ret_error);
}
