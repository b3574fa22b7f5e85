/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/entry.h"

enum { /* field numbers of Resource */
    NAME = 1,
    VERSION = 2,
    RESOURCE = 3,
    TTL = 4,
    ORIGIN_INFO = 5,
    ALIASES = 6,
    DELIVERY = 7,
    HOPS = 8,
    DO_NOT_CACHE = 9,
    CONSTRAINTS = 10,
    REDIRECTED_TYPE = 11,
};

void
udpai_duration_put(udpai_proto_writer *writer, uint32_t number, uint64_t ms)
{
    udpai_proto_writer size = {0};
    uint64_t seconds = ms / 1000, nanos = ms % 1000 * 1000000;
    udpai_proto_put_varint_opt(&size, 1, seconds);
    udpai_proto_put_varint_opt(&size, 2, nanos);
    udpai_proto_put_head(writer, number, size.size);
    udpai_proto_put_varint_opt(writer, 1, seconds);
    udpai_proto_put_varint_opt(writer, 2, nanos);
}

void
udpai_rpc_status_put(udpai_proto_writer *writer, uint32_t number, int32_t code, udpai_str text)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_varint_opt(&size, 1, (uint64_t)(int64_t)code);
    udpai_proto_put_bytes_opt(&size, 2, text);
    udpai_proto_put_head(writer, number, size.size);
    udpai_proto_put_varint_opt(writer, 1, (uint64_t)(int64_t)code);
    udpai_proto_put_bytes_opt(writer, 2, text);
}

void
udpai_timestamp_put(udpai_proto_writer *writer, uint32_t number, int64_t time_us)
{
    int64_t seconds = time_us / 1000000, micros = time_us % 1000000;
    if (micros < 0) { /* nanos count forward, also before 1970 */
        micros += 1000000;
        seconds--;
    }
    udpai_proto_writer size = {0};
    udpai_proto_put_varint_opt(&size, 1, (uint64_t)seconds);
    udpai_proto_put_varint_opt(&size, 2, (uint64_t)micros * 1000);
    udpai_proto_put_head(writer, number, size.size);
    udpai_proto_put_varint_opt(writer, 1, (uint64_t)seconds);
    udpai_proto_put_varint_opt(writer, 2, (uint64_t)micros * 1000);
}

static void
put_signature(udpai_proto_writer *writer, const udpai_signature *signature)
{
    udpai_proto_put_varint_opt(writer, 1, signature->algorithm);
    udpai_proto_put_bytes_opt(writer, 2, signature->key_id);
    udpai_timestamp_put(writer, 3, signature->not_before_us);
    udpai_timestamp_put(writer, 4, signature->not_after_us);
    udpai_proto_put_bytes_opt(writer, 5, signature->value);
}

void
udpai_signature_put_field(udpai_proto_writer *writer,
                          uint32_t number,
                          const udpai_signature *signature)
{
    udpai_proto_writer size = {0};
    if (signature)
        put_signature(&size, signature);
    udpai_proto_put_head(writer, number, size.size);
    if (signature)
        put_signature(writer, signature);
}

static void
put_provenance(udpai_proto_writer *writer, const udpa_resource *resource, bool extended)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    udpai_proto_put_bytes_opt(writer, 1, udpai_resource_authority(resource));
    if (!extended)
        return;
    if (signature)
        udpai_signature_put_field(writer, 2, signature);
    udpai_proto_put_varint_opt(writer, 3, udpa_resource_generation(resource));
}

static void
put_hop(udpai_proto_writer *writer, const udpai_hop *hop)
{
    udpai_proto_put_bytes_opt(writer, 1, hop->node_id);
    udpai_proto_put_bytes_opt(writer, 2, hop->authority);
    udpai_timestamp_put(writer, 3, hop->time_us);
    udpai_proto_put_bytes_opt(writer, 4, hop->instance);
}

void
udpai_hop_put_field(udpai_proto_writer *writer, uint32_t number, const udpai_hop *hop)
{
    udpai_proto_writer size = {0};
    put_hop(&size, hop);
    udpai_proto_put_head(writer, number, size.size);
    put_hop(writer, hop);
}

static void
put_hops(udpai_proto_writer *writer, const udpa_resource *resource)
{
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++) {
        udpai_hop hop = udpai_resource_hop(resource, i);
        udpai_hop_put_field(writer, HOPS, &hop);
    }
}

static void
put_type(udpai_proto_writer *writer, const udpa_resource *resource)
{
    udpai_str type_url = udpai_resource_type_url(resource);
    udpai_proto_put_head(writer, RESOURCE, udpai_proto_bytes_size(1, type_url.len));
    udpai_proto_put_bytes(writer, 1, type_url);
}

/* A peer with just the public protocol is sent a refresh as the type and no value. */
static void
put_payload(udpai_proto_writer *writer, const udpa_resource *resource, udpai_entry_form form)
{
    if (form.refresh ? !form.extended : form.redacted)
        put_type(writer, resource);
    else if (!form.refresh)
        udpai_resource_put_any(writer, RESOURCE, resource);
}

void
udpai_entry_put(udpai_proto_writer *writer, const udpa_resource *resource, udpai_entry_form form)
{
    udpai_proto_put_bytes_opt(writer, NAME, udpai_resource_name(resource));
    udpai_proto_put_bytes_opt(writer, VERSION, udpai_resource_version(resource));
    put_payload(writer, resource, form);
    if (form.ttl_ms)
        udpai_duration_put(writer, TTL, form.ttl_ms);
    udpai_proto_writer size = {0};
    put_provenance(&size, resource, form.extended);
    if (size.size) {
        udpai_proto_put_head(writer, ORIGIN_INFO, size.size);
        put_provenance(writer, resource, form.extended);
    }
    if (!form.extended)
        return;
    for (size_t i = 0; !form.refresh && i < udpa_resource_n_aliases(resource); i++)
        udpai_proto_put_bytes(writer, ALIASES, udpai_resource_alias(resource, i));
    udpai_proto_put_varint_opt(writer, DELIVERY, udpai_resource_is_lazy(resource));
    put_hops(writer, resource);
    udpai_proto_put_varint_opt(writer, DO_NOT_CACHE, udpai_resource_do_not_cache(resource));
    if (!form.refresh)
        udpai_proto_put_bytes_opt(writer, CONSTRAINTS, udpai_resource_constraints(resource));
    if (!form.refresh && udpai_resource_is_redirect(resource))
        udpai_proto_put_bytes(writer, REDIRECTED_TYPE, udpai_resource_type_url(resource));
}

void
udpai_entry_put_field(udpai_proto_writer *writer,
                      uint32_t number,
                      const udpa_resource *resource,
                      udpai_entry_form form)
{
    udpai_proto_writer size = {0};
    udpai_entry_put(&size, resource, form);
    udpai_proto_put_head(writer, number, size.size);
    udpai_entry_put(writer, resource, form);
}

udpa_bytes *
udpai_entry_encode(const udpa_resource *resource, uint64_t ttl_ms)
{
    const udpai_entry_form form = {.extended = true, .ttl_ms = ttl_ms};
    udpai_proto_writer writer = {0};
    udpai_entry_put(&writer, resource, form);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){room, 0};
        udpai_entry_put(&writer, resource, form);
    }
    return bytes;
}
