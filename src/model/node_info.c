/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node_info.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "model/metadata.h"
#include "model/replica_id.h"

struct udpai_node_info {
    atomic_uint refs;
    udpai_node_parts parts;
    size_t size;
    _Alignas(udpai_str) char text[]; /* the feature table, then all text, each piece with a NUL */
};

/* The plain texts of a Node, so that copying them is one loop. */
static udpai_str *
text_field(udpai_node_parts *parts, size_t index)
{
    udpai_str *const fields[] = {
        &parts->id,         &parts->cluster,         &parts->region,   &parts->zone,
        &parts->sub_zone,   &parts->user_agent_name, &parts->metadata, &parts->user_agent_version,
        &parts->parameters,
    };
    return index < UDPAI_ARRAY_LEN(fields) ? fields[index] : NULL;
}

udpa_err
udpai_node_info_new(udpai_node_info **ret_info, const udpai_node_parts *parts)
{
    udpai_node_parts copy = *parts;
    size_t size = sizeof(udpai_node_info) + parts->n_features * sizeof(udpai_str);
    udpai_str *field;
    for (size_t i = 0; (field = text_field(&copy, i)); i++)
        size += field->len + 1;
    for (size_t i = 0; i < parts->n_features; i++)
        size += parts->features[i].len + 1;
    udpai_node_info *info = udpai_alloc(size);
    if (!info)
        return UDPA_ERR_NOMEM;
    atomic_init(&info->refs, 1);
    info->size = size;
    udpai_str *features = (udpai_str *)(void *)info->text;
    char *at = (char *)(features + parts->n_features);
    for (size_t i = 0; (field = text_field(&copy, i)); i++)
        *field = udpai_str_put_terminated(&at, *field);
    for (size_t i = 0; i < parts->n_features; i++)
        features[i] = udpai_str_put_terminated(&at, parts->features[i]);
    copy.features = features;
    info->parts = copy;
    *ret_info = info;
    return UDPA_OK;
}

udpai_node_info *
udpai_node_info_ref(udpai_node_info *info)
{
    if (info)
        atomic_fetch_add_explicit(&info->refs, 1, memory_order_relaxed);
    return info;
}

udpai_node_info *
udpai_node_info_unref(udpai_node_info *info)
{
    if (info && atomic_fetch_sub_explicit(&info->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(info);
    return NULL;
}

size_t
udpai_node_info_size(const udpai_node_info *info)
{
    return info ? info->size : 0;
}

const udpai_node_parts *
udpai_node_info_parts(const udpai_node_info *info)
{
    return &info->parts;
}

bool
udpai_node_info_equal(const udpai_node_info *a, const udpai_node_info *b)
{
    udpai_node_parts one = a->parts, two = b->parts;
    const udpai_str *field;
    for (size_t i = 0; (field = text_field(&one, i)); i++)
        if (!udpai_str_eq(*field, *text_field(&two, i)))
            return false;
    if (one.n_features != two.n_features)
        return false;
    for (size_t i = 0; i < one.n_features; i++)
        if (!udpai_str_eq(one.features[i], two.features[i]))
            return false;
    return true;
}

/* Dynamic parameters may come and go. */
bool
udpai_node_info_is_as_full(const udpai_node_info *info, const udpai_node_info *other)
{
    udpai_node_parts mine = info->parts, others = other->parts;
    const udpai_str *field;
    for (size_t i = 0; (field = text_field(&mine, i)); i++)
        if (field != &mine.parameters && field->len == 0 && text_field(&others, i)->len)
            return false;
    return mine.n_features > 0 || others.n_features == 0;
}

bool
udpai_node_info_has_feature(const udpai_node_info *info, const char *feature)
{
    udpai_str searched = udpai_str_from(feature);
    for (size_t i = 0; i < info->parts.n_features; i++)
        if (udpai_str_eq(info->parts.features[i], searched))
            return true;
    return false;
}

udpai_str
udpai_node_info_metadata(const udpai_node_info *info, const char *key)
{
    udpai_str value;
    udpai_proto_field field;
    if (udpai_metadata_find(info->parts.metadata, udpai_str_from(key), &value) &&
        udpai_metadata_read(value, &field) &&
        udpai_metadata_is(&field, UDPAI_VALUE_STRING, UDPAI_WIRE_BYTES))
        return field.bytes;
    return (udpai_str){0};
}

udpai_str
udpai_node_info_instance(const udpai_node_info *info)
{
    udpai_str instance = udpai_node_info_metadata(info, UDPAI_NODE_KEY_INSTANCE);
    return instance.len ? instance : info->parts.id;
}

udpai_str
udpai_node_info_replica(const udpai_node_info *info)
{
    udpai_str replica = udpai_node_info_metadata(info, UDPAI_NODE_KEY_REPLICA);
    return udpai_replica_id_is_of(replica, info->parts.id) ? replica : (udpai_str){0};
}

udpai_str
udpai_node_info_reporter(const udpai_node_info *info)
{
    udpai_str replica = udpai_node_info_replica(info);
    return replica.len ? replica : info->parts.id;
}

udpa_err
udpai_node_info_with_metadata(udpai_node_info **ret_info,
                              const udpai_node_info *info,
                              const udpai_node_metadata *metadata,
                              size_t n_metadata)
{
    udpai_node_parts parts = info->parts;
    udpai_proto_writer writer = {.size = parts.metadata.len};
    for (size_t i = 0; i < n_metadata; i++)
        udpai_metadata_put_string(&writer, udpai_str_from(metadata[i].key), metadata[i].value);
    UDPAI_AUTO_FREE uint8_t *room = udpai_alloc(writer.size + 1);
    if (!room)
        return UDPA_ERR_NOMEM;
    writer = (udpai_proto_writer){.at = room};
    udpai_proto_put_raw(&writer, parts.metadata);
    for (size_t i = 0; i < n_metadata; i++)
        udpai_metadata_put_string(&writer, udpai_str_from(metadata[i].key), metadata[i].value);
    parts.metadata = (udpai_str){(const char *)room, writer.size};
    return udpai_node_info_new(ret_info, &parts);
}

bool
udpai_node_info_epoch(const udpai_node_info *info, udpai_str *ret_epoch, uint64_t *ret_commit)
{
    udpai_str epoch = udpai_node_info_metadata(info, UDPAI_NODE_KEY_EPOCH);
    bool has_epoch =
        epoch.len > 0 && epoch.len <= UDPAI_EPOCH_MAX &&
        udpai_str_number(udpai_node_info_metadata(info, UDPAI_NODE_KEY_COMMIT), ret_commit);
    if (has_epoch)
        *ret_epoch = epoch;
    return has_epoch;
}

bool
udpai_node_info_is_whole(const udpai_node_info *info)
{
    return udpai_str_eq(udpai_node_info_metadata(info, UDPAI_NODE_KEY_WHOLE), UDPAI_STR("true"));
}
