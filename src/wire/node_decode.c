/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/node_decode.h"

#include "base/proto.h"
#include "wire/message.h"

#define NODE_METADATA 3
#define FEATURES_MAX 256

/* Metadata nests without bound, so our Node does not know it; it stands among the unknown fields,
 * behind its length. */
static udpai_str
find_metadata(const ProtobufCMessage *node)
{
    udpai_str metadata = {0};
    for (unsigned i = 0; i < node->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &node->unknown_fields[i];
        if (field->tag != NODE_METADATA || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        size_t skip = 0;
        while (skip < field->len && field->data[skip] & 0x80)
            skip++;
        metadata = (udpai_str){(const char *)field->data + skip + 1, field->len - skip - 1};
    }
    return metadata;
}

udpa_err
udpai_node_info_from_message(const Envoy__Config__Core__V3__Node *message,
                             udpai_node_info **ret_info)
{
    udpai_str features[FEATURES_MAX];
    size_t n_features = udpai_min_size(message->n_client_features, FEATURES_MAX);
    for (size_t i = 0; i < n_features; i++)
        features[i] = udpai_str_from(message->client_features[i]);
    udpai_node_parts parts = {
        .id = udpai_str_from(message->id),
        .cluster = udpai_str_from(message->cluster),
        .user_agent_name = udpai_str_from(message->user_agent_name),
        .features = features,
        .n_features = n_features,
        .metadata = find_metadata(&message->base),
    };
    if (message->user_agent_version_type_case ==
        ENVOY__CONFIG__CORE__V3__NODE__USER_AGENT_VERSION_TYPE_USER_AGENT_VERSION)
        parts.user_agent_version = udpai_str_from(message->user_agent_version);
    if (message->locality) {
        parts.region = udpai_str_from(message->locality->region);
        parts.zone = udpai_str_from(message->locality->zone);
        parts.sub_zone = udpai_str_from(message->locality->sub_zone);
    }
    return udpai_node_info_new(ret_info, &parts);
}

udpa_err
udpai_node_info_decode(udpai_decoder *decoder,
                       udpai_str bytes,
                       udpai_node_info **ret_info,
                       udpa_error **ret_error)
{
    udpa_err err = udpai_scan(&envoy__config__core__v3__node__descriptor, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    Envoy__Config__Core__V3__Node *message = envoy__config__core__v3__node__unpack(
        &decoder->arena.allocator, bytes.len, (const uint8_t *)bytes.data);
    if (message)
        err = udpai_node_info_from_message(message, ret_info);
    else /* see unpack() in message.c */
        err = decoder->arena.failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED;
    return udpai_fail_code(ret_error, err);
}
