/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/node_decode.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "wire/message.h"

#define NODE_METADATA 3
#define NODE_PARAMETERS 12
#define FEATURES_MAX 256

/* What nests without bound our Node does not know; it is among the unknown fields, behind its
 * length. */
static bool
is_field(const ProtobufCMessageUnknownField *field, uint32_t number, udpai_str *ret_bytes)
{
    if (field->tag != number || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    size_t skip = 0;
    while (skip < field->len && field->data[skip] & 0x80)
        skip++;
    *ret_bytes = (udpai_str){(const char *)field->data + skip + 1, field->len - skip - 1};
    return true;
}

static udpai_str
find_metadata(const ProtobufCMessage *node)
{
    udpai_str metadata = {0};
    for (unsigned i = 0; i < node->n_unknown_fields; i++)
        is_field(&node->unknown_fields[i], NODE_METADATA, &metadata);
    return metadata;
}

/* Entries of the map, one behind the other. */
static void
put_parameters(udpai_proto_writer *writer, const ProtobufCMessage *node)
{
    udpai_str entry;
    for (unsigned i = 0; i < node->n_unknown_fields; i++)
        if (is_field(&node->unknown_fields[i], NODE_PARAMETERS, &entry))
            udpai_proto_put_bytes(writer, NODE_PARAMETERS, entry);
}

/* *ret_room: to be freed. */
static udpa_err
copy_parameters(const ProtobufCMessage *node, uint8_t **ret_room, udpai_str *ret_parameters)
{
    udpai_proto_writer writer = {0};
    put_parameters(&writer, node);
    if (writer.size == 0)
        return UDPA_OK;
    size_t size = writer.size;
    *ret_room = udpai_alloc(size);
    if (!*ret_room)
        return UDPA_ERR_NOMEM;
    writer = (udpai_proto_writer){*ret_room, 0};
    put_parameters(&writer, node);
    *ret_parameters = (udpai_str){(const char *)*ret_room, size};
    return UDPA_OK;
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
    UDPAI_AUTO_FREE uint8_t *room = NULL;
    udpa_err err = copy_parameters(&message->base, &room, &parts.parameters);
    return err == UDPA_OK ? udpai_node_info_new(ret_info, &parts) : err;
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
