/* SPDX-License-Identifier: Apache-2.0 */
/* The publish that begins a stream: one resource, the sender's Node, without a receipt. */
#include "wire/compose.h"

#include "base/alloc.h"

static void
put_locality(udpai_proto_writer *writer, const udpai_node_parts *node)
{
    udpai_proto_put_bytes_opt(writer, 1, node->region);
    udpai_proto_put_bytes_opt(writer, 2, node->zone);
    udpai_proto_put_bytes_opt(writer, 3, node->sub_zone);
}

static void
put_node(udpai_proto_writer *writer, const void *what)
{
    const udpai_node_parts *node = what;
    udpai_proto_put_bytes_opt(writer, 1, node->id);
    udpai_proto_put_bytes_opt(writer, 2, node->cluster);
    udpai_proto_put_bytes_opt(writer, 3, node->metadata);
    udpai_proto_writer locality = {0};
    put_locality(&locality, node);
    if (locality.size) {
        udpai_proto_put_head(writer, 4, locality.size);
        put_locality(writer, node);
    }
    udpai_proto_put_bytes_opt(writer, 6, node->user_agent_name);
    udpai_proto_put_bytes_opt(writer, 7, node->user_agent_version);
    for (size_t i = 0; i < node->n_features; i++)
        udpai_proto_put_bytes(writer, 10, node->features[i]);
    udpai_proto_put_raw(writer, node->parameters);
}

udpa_bytes *
udpai_node_encode(const udpai_node_info *info)
{
    return udpai_proto_encode(put_node, udpai_node_info_parts(info));
}

udpa_bytes *
udpai_node_compose(const udpai_node_info *info)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_node_encode(info);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any =
        value ? udpai_any_make(UDPAI_STR(UDPAI_TYPE_NODE), udpai_bytes_view(value)) : NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    const udpai_resource_parts parts = {.name = udpai_node_info_parts(info)->id, .any = any};
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        return NULL;
    const udpai_publish_item item = {resource, {0}};
    return udpai_publish_compose_whole(&(udpai_publish_plan){.items = &item, .n_items = 1}, 0);
}
