/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers are read field by field: a binary file's may hold anything. */
#include "codec/resource_entry.h"

#include "base/proto.h"
#include "codec/encoder.h"
#include "model/type_url.h"

#define NANOS_PER_MS 1000000
#define US_PER_S 1000000

/* udpa.service.discovery.v1.Resource */
enum {
    UDPA_NAME = 1,
    UDPA_VERSION = 2,
    UDPA_RESOURCE = 3,
    UDPA_TTL = 4,
    UDPA_ORIGIN_INFO = 5,
    UDPA_ALIASES = 6,
    UDPA_DELIVERY = 7,
    UDPA_HOPS = 8,
    UDPA_DO_NOT_CACHE = 9,
    UDPA_CONSTRAINTS = 10,
    UDPA_REDIRECTED_TYPE = 11,
    PROVENANCE_AUTHORITY = 1,
    PROVENANCE_SIGNATURE = 2,
    PROVENANCE_GENERATION = 3,
    SIGNATURE_ALGORITHM = 1,
    SIGNATURE_KEY_ID = 2,
    SIGNATURE_NOT_BEFORE = 3,
    SIGNATURE_NOT_AFTER = 4,
    SIGNATURE_VALUE = 5,
    DELIVERY_LAZY = 1
};

/* envoy.service.discovery.v3.Resource */
enum {
    ENVOY_RESOURCE = 2,
    ENVOY_NAME = 3,
    ENVOY_ALIASES = 4,
    ENVOY_TTL = 6,
    ENVOY_CACHE_CONTROL = 7,
    CACHE_CONTROL_DO_NOT_CACHE = 1
};

/* What a wrapper's fields are read with. */
struct wrapper {
    udpai_resource_entry *entry;
    const udpai_place *place;
    udpa_error **ret_error;
    udpai_str any; /* the payload */
    bool has_any;
};

typedef udpa_err (*wrapper_field_fn)(struct wrapper *wrapper, const udpai_proto_field *field);

static udpa_err
fail(const struct wrapper *wrapper, const char *reason)
{
    return udpai_fail_at(wrapper->ret_error, UDPA_ERR_INVAL, wrapper->place, "%s", reason);
}

static udpa_err
read_fields(struct wrapper *wrapper, udpai_str message, wrapper_field_fn read)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        err = read(wrapper, &field);
    if (err == UDPA_OK && reader.failed)
        err = udpai_fail_at(wrapper->ret_error, UDPA_ERR_MALFORMED, wrapper->place,
                            "these bytes are no protobuf message");
    return err;
}

static bool
is_bytes(const udpai_proto_field *field, uint32_t number)
{
    return field->number == number && field->type == UDPAI_WIRE_BYTES;
}

static bool
is_varint(const udpai_proto_field *field, uint32_t number)
{
    return field->number == number && field->type == UDPAI_WIRE_VARINT;
}

static udpa_err
set_any(struct wrapper *wrapper, udpai_str any)
{
    if (wrapper->has_any)
        return fail(wrapper, "there are two payloads");
    wrapper->has_any = true;
    wrapper->any = any;
    return UDPA_OK;
}

static udpa_err
add_alias(struct wrapper *wrapper, udpai_str alias)
{
    return udpai_vector_push(&wrapper->entry->aliases, alias)
               ? UDPA_OK
               : udpai_fail_code(wrapper->ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
set_ttl(struct wrapper *wrapper, udpai_str duration)
{
    int64_t seconds = 0, nanos = 0;
    udpai_proto_reader reader = udpai_proto_read(duration);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (is_varint(&field, 1))
            seconds = (int64_t)field.value;
        else if (is_varint(&field, 2))
            nanos = (int32_t)field.value;
    }
    bool positive = seconds > 0 || (seconds == 0 && nanos > 0);
    if (reader.failed || !positive || nanos < 0 || nanos > 999999999)
        return fail(wrapper, "ttl must be a duration above 0; leave it out for none");
    if ((uint64_t)seconds > UDPAI_TTL_MAX_MS / 1000)
        return fail(wrapper, "ttl is longer than ten years");
    /* what is left of a millisecond still counts */
    wrapper->entry->ttl_ms =
        (uint64_t)seconds * 1000 + ((uint64_t)nanos + NANOS_PER_MS - 1) / NANOS_PER_MS;
    return UDPA_OK;
}

static udpa_err
read_time(struct wrapper *wrapper, udpai_str timestamp, int64_t *ret_us)
{
    const int64_t limit = INT64_MAX / US_PER_S - 1;
    int64_t seconds = 0, nanos = 0;
    udpai_proto_reader reader = udpai_proto_read(timestamp);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (is_varint(&field, 1))
            seconds = (int64_t)field.value;
        else if (is_varint(&field, 2))
            nanos = (int32_t)field.value;
    }
    if (reader.failed || seconds > limit || seconds < -limit || nanos < 0 || nanos > 999999999)
        return fail(wrapper, "a time of the signature is none");
    *ret_us = seconds * US_PER_S + nanos / 1000;
    return UDPA_OK;
}

static udpa_err
read_signature_field(struct wrapper *wrapper, const udpai_proto_field *field)
{
    udpai_signature *signature = &wrapper->entry->signature;
    if (is_varint(field, SIGNATURE_ALGORITHM))
        signature->algorithm = (uint32_t)field->value;
    else if (is_bytes(field, SIGNATURE_KEY_ID))
        signature->key_id = field->bytes;
    else if (is_bytes(field, SIGNATURE_NOT_BEFORE))
        return read_time(wrapper, field->bytes, &signature->not_before_us);
    else if (is_bytes(field, SIGNATURE_NOT_AFTER))
        return read_time(wrapper, field->bytes, &signature->not_after_us);
    else if (is_bytes(field, SIGNATURE_VALUE))
        signature->value = field->bytes;
    return UDPA_OK;
}

static udpa_err
read_provenance_field(struct wrapper *wrapper, const udpai_proto_field *field)
{
    if (is_bytes(field, PROVENANCE_AUTHORITY))
        wrapper->entry->authority = field->bytes;
    else if (is_bytes(field, PROVENANCE_SIGNATURE))
        return read_fields(wrapper, field->bytes, read_signature_field);
    else if (is_varint(field, PROVENANCE_GENERATION))
        wrapper->entry->generation = field->value;
    return UDPA_OK;
}

/* A generation belongs to a signature: any other is given by the node that takes the resource in.
 */
static udpa_err
check_provenance(struct wrapper *wrapper)
{
    udpai_resource_entry *entry = wrapper->entry;
    bool is_signed = entry->signature.algorithm != 0;
    if (is_signed && entry->generation == 0)
        return fail(wrapper, "a signature is of a generation, and there is none: sign it again "
                             "with 'udpactl sign'");
    if (is_signed || entry->kind == UDPAI_FILE_RESTORED)
        return UDPA_OK;
    if (entry->generation && entry->kind == UDPAI_FILE_WRITTEN)
        return fail(wrapper, "of origin_info a file can give the authority, and the generation "
                             "only with a signature");
    entry->generation = 0;
    return UDPA_OK;
}

static udpa_err
read_udpa_field(struct wrapper *wrapper, const udpai_proto_field *field)
{
    if (is_bytes(field, UDPA_NAME))
        wrapper->entry->name = field->bytes;
    else if (is_bytes(field, UDPA_VERSION))
        wrapper->entry->version = field->bytes;
    else if (is_bytes(field, UDPA_RESOURCE))
        return set_any(wrapper, field->bytes);
    else if (is_bytes(field, UDPA_TTL))
        return set_ttl(wrapper, field->bytes);
    else if (is_bytes(field, UDPA_ORIGIN_INFO))
        return read_fields(wrapper, field->bytes, read_provenance_field);
    else if (is_bytes(field, UDPA_ALIASES))
        return add_alias(wrapper, field->bytes);
    else if (is_varint(field, UDPA_DELIVERY))
        wrapper->entry->lazy = field->value == DELIVERY_LAZY;
    else if (is_varint(field, UDPA_DO_NOT_CACHE))
        wrapper->entry->do_not_cache = field->value != 0;
    else if (is_bytes(field, UDPA_CONSTRAINTS))
        wrapper->entry->constraints = field->bytes;
    else if (is_bytes(field, UDPA_REDIRECTED_TYPE))
        wrapper->entry->redirected_type = field->bytes;
    else if (field->number == UDPA_HOPS && wrapper->entry->kind == UDPAI_FILE_WRITTEN)
        return fail(wrapper, "hops cannot be given in a file");
    return UDPA_OK;
}

static udpa_err
read_cache_control_field(struct wrapper *wrapper, const udpai_proto_field *field)
{
    if (is_varint(field, CACHE_CONTROL_DO_NOT_CACHE))
        wrapper->entry->do_not_cache = field->value != 0;
    return UDPA_OK;
}

static udpa_err
read_envoy_field(struct wrapper *wrapper, const udpai_proto_field *field)
{
    if (is_bytes(field, ENVOY_RESOURCE))
        return set_any(wrapper, field->bytes);
    if (is_bytes(field, ENVOY_TTL))
        return set_ttl(wrapper, field->bytes);
    if (is_bytes(field, ENVOY_ALIASES))
        return add_alias(wrapper, field->bytes);
    if (is_bytes(field, ENVOY_CACHE_CONTROL))
        return read_fields(wrapper, field->bytes, read_cache_control_field);
    if (is_bytes(field, ENVOY_NAME))
        wrapper->entry->name = field->bytes;
    return UDPA_OK;
}

static udpa_err
fail_without_name(const udpai_type *type, const udpai_place *place, udpa_error **ret_error)
{
    return udpai_fail_at(ret_error, UDPA_ERR_INVAL, place,
                         "%s has no name here: give it one, or wrap it in {name: …, resource: …}",
                         udpai_type_name(type));
}

/* The field of a payload that names the resource. */
static bool
find_name_field(const udpai_type *type, udpai_field *ret_field)
{
    static const char *const names[] = {"name", "cluster_name"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if (udpai_type_field(type, udpai_str_from(names[i]), ret_field) &&
            ret_field->kind == UDPAI_KIND_STRING && !ret_field->repeated && !ret_field->map)
            return true;
    return false;
}

static udpa_err
name_from_payload(udpai_resource_entry *entry,
                  const udpai_schema *schema,
                  const udpai_place *place,
                  udpa_error **ret_error)
{
    const udpai_type *type = udpai_schema_find(schema, entry->type_url);
    if (!type)
        return udpai_fail_unknown_type(schema, place, entry->type_url, ret_error);
    udpai_field name_field;
    if (!find_name_field(type, &name_field))
        return fail_without_name(type, place, ret_error);
    udpai_proto_reader reader = udpai_proto_read(entry->value);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (is_bytes(&field, name_field.number))
            entry->name = field.bytes;
    if (reader.failed)
        return udpai_fail_at(ret_error, UDPA_ERR_MALFORMED, place, "these bytes are no valid %s",
                             udpai_type_name(type));
    return entry->name.len ? UDPA_OK : fail_without_name(type, place, ret_error);
}

static udpa_err
finish(udpai_resource_entry *entry,
       const udpai_schema *schema,
       udpai_str any,
       const udpai_place *place,
       udpa_error **ret_error)
{
    if (!udpai_any_parse(any, &entry->type_url, &entry->value))
        return udpai_fail_at(ret_error, UDPA_ERR_MALFORMED, place, "malformed Any");
    if (entry->type_url.len == 0)
        return udpai_fail_at(ret_error, UDPA_ERR_INVAL, place,
                             "there is no payload: 'resource' must be a message with '@type'");
    return entry->name.len ? UDPA_OK : name_from_payload(entry, schema, place, ret_error);
}

udpa_err
udpai_resource_entry_from_udpa(udpai_resource_entry *entry,
                               const udpai_schema *schema,
                               udpai_str message,
                               const udpai_place *place,
                               udpa_error **ret_error)
{
    struct wrapper wrapper = {.entry = entry, .place = place, .ret_error = ret_error};
    udpa_err err = read_fields(&wrapper, message, read_udpa_field);
    if (err == UDPA_OK)
        err = check_provenance(&wrapper);
    return err == UDPA_OK ? finish(entry, schema, wrapper.any, place, ret_error) : err;
}

udpa_err
udpai_resource_entry_from_any(udpai_resource_entry *entry,
                              const udpai_schema *schema,
                              udpai_str any,
                              const udpai_place *place,
                              udpa_error **ret_error)
{
    struct wrapper wrapper = {.entry = entry, .place = place, .ret_error = ret_error};
    udpai_str type_url, value;
    if (!udpai_any_parse(any, &type_url, &value))
        return udpai_fail_at(ret_error, UDPA_ERR_MALFORMED, place, "malformed Any");
    udpai_str type = udpai_type_url_name(type_url);
    if (udpai_str_eq(type, UDPAI_STR(UDPAI_TYPE_UDPA_RESOURCE)))
        return udpai_resource_entry_from_udpa(entry, schema, value, place, ret_error);
    if (!udpai_str_eq(type, UDPAI_STR(UDPAI_TYPE_ENVOY_RESOURCE)))
        return finish(entry, schema, any, place, ret_error);
    udpa_err err = read_fields(&wrapper, value, read_envoy_field);
    return err == UDPA_OK ? finish(entry, schema, wrapper.any, place, ret_error) : err;
}

udpai_str
udpai_resource_entry_type(const udpai_resource_entry *entry)
{
    return entry->redirected_type.len ? entry->redirected_type : entry->type_url;
}

void
udpai_resource_entry_done(udpai_resource_entry *entry)
{
    udpai_vector_done(&entry->aliases);
}
