/* SPDX-License-Identifier: Apache-2.0 */
/* What responses of both protocols have in common. */
#include "xds/render_internal.h"

#include "base/alloc.h"
#include "fanout/fanout.h"
#include "wire/entry.h"

enum { /* field numbers of Resource, CacheControl, ControlPlane */
    RESOURCE_VERSION = 1,
    RESOURCE_PAYLOAD = 2,
    RESOURCE_NAME = 3,
    RESOURCE_ALIASES = 4,
    RESOURCE_TTL = 6,
    RESOURCE_CACHE_CONTROL = 7,
    RESOURCE_RESOURCE_NAME = 8,
    CACHE_CONTROL_DO_NOT_CACHE = 1,
    CONTROL_PLANE_IDENTIFIER = 1,
    ERROR_RESOURCE_NAME = 1, /* of ResourceError, ResourceName, Status */
    ERROR_DETAIL = 2,
    NAME_NAME = 1,
    NAME_CONSTRAINTS = 2,
};

/* ---- the sink ---- */

static void
begin_stretch(udpai_xds_sink *sink)
{
    sink->writer = (udpai_proto_writer){0};
    if (!sink->body || sink->failed)
        return;
    uint8_t *room;
    sink->stretch = udpai_bytes_make(sink->sizes.items[sink->n_stretches++], &room);
    sink->writer.at = sink->stretch ? room : NULL;
    sink->failed = !sink->stretch;
}

static void
end_stretch(udpai_xds_sink *sink)
{
    if (sink->failed)
        return;
    if (!sink->body)
        sink->failed = !udpai_vector_push(&sink->sizes, sink->writer.size);
    else
        sink->failed = !udpai_body_add_part(sink->body, UDPAI_TAKE(sink->stretch));
}

void
udpai_xds_put_any(udpai_xds_sink *sink, uint32_t number, const udpa_resource *resource)
{
    udpa_bytes *body = udpai_resource_any_shared(resource);
    if (!body || udpa_bytes_size(body) < UDPAI_XDS_SHARED_MIN) {
        udpai_resource_put_any(&sink->writer, number, resource);
        return;
    }
    udpai_any_room room;
    udpai_str head = udpai_resource_any_head(resource, &room);
    udpai_proto_put_head(&sink->writer, number, head.len + udpa_bytes_size(body));
    udpai_proto_put_raw(&sink->writer, head);
    end_stretch(sink);
    if (sink->body && !sink->failed)
        sink->failed = !udpai_body_add_payload(sink->body, udpa_bytes_ref(body));
    begin_stretch(sink);
}

udpa_err
udpai_xds_compose_parts(udpai_body *body, udpai_xds_put_fn put, const udpai_xds_response *response)
{
    udpai_xds_sink sink = {0};
    begin_stretch(&sink);
    put(&sink, response);
    end_stretch(&sink);
    if (!sink.failed) {
        sink.body = body;
        begin_stretch(&sink);
        put(&sink, response);
        end_stretch(&sink);
    }
    udpai_vector_done(&sink.sizes);
    return sink.failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- pieces ---- */

static void
put_aliases(udpai_proto_writer *writer,
            const udpai_xds_audience *audience,
            const udpa_resource *resource)
{
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias;
        if (udpai_xds_name_to_client(audience, udpai_resource_alias(resource, i), &alias))
            udpai_proto_put_bytes(writer, RESOURCE_ALIASES, alias);
    }
}

static void
put_name(udpai_proto_writer *writer, udpai_str name, udpai_str constraints)
{
    udpai_proto_put_bytes(writer, NAME_NAME, name);
    udpai_proto_put_bytes_opt(writer, NAME_CONSTRAINTS, constraints);
}

void
udpai_xds_put_variant(udpai_proto_writer *writer,
                      uint32_t number,
                      udpai_str name,
                      udpai_str constraints)
{
    udpai_proto_writer size = {0};
    put_name(&size, name, constraints);
    udpai_proto_put_head(writer, number, size.size);
    put_name(writer, name, constraints);
}

udpai_str
udpai_xds_visible_constraints(const udpai_send_item *item)
{
    return udpai_subscription_distinguishes_variants(item->subscription)
               ? udpai_resource_constraints(item->resource)
               : (udpai_str){0};
}

/* The alias of a variant is what it is called. */
static bool
has_other_names(const udpa_resource *resource)
{
    return udpai_resource_constraints(resource).len == 0;
}

/* Everything but the payload. */
static void
put_fields(udpai_proto_writer *writer,
           const udpai_xds_audience *audience,
           const udpai_xds_entry *entry,
           bool with_aliases)
{
    const udpa_resource *resource = entry->item->resource;
    char version[UDPAI_CONTENT_HASH_HEX] = "";
    if (writer->at)
        udpai_resource_content_hex(resource, version);
    udpai_proto_put_bytes(writer, RESOURCE_VERSION, (udpai_str){version, sizeof(version)});
    if (entry->constraints.len)
        udpai_xds_put_variant(writer, RESOURCE_RESOURCE_NAME, entry->name, entry->constraints);
    else
        udpai_proto_put_bytes(writer, RESOURCE_NAME, entry->name);
    if (with_aliases && entry->has_payload && has_other_names(resource))
        put_aliases(writer, audience, resource);
    if (entry->item->ttl_ms)
        udpai_duration_put(writer, RESOURCE_TTL, entry->item->ttl_ms);
    if (udpai_resource_do_not_cache(resource)) {
        udpai_proto_writer size = {0};
        udpai_proto_put_varint(&size, CACHE_CONTROL_DO_NOT_CACHE, 1);
        udpai_proto_put_head(writer, RESOURCE_CACHE_CONTROL, size.size);
        udpai_proto_put_varint(writer, CACHE_CONTROL_DO_NOT_CACHE, 1);
    }
}

size_t
udpai_xds_resource_size(const udpai_xds_audience *audience,
                        const udpai_xds_entry *entry,
                        bool with_aliases)
{
    udpai_proto_writer size = {0};
    put_fields(&size, audience, entry, with_aliases);
    if (entry->has_payload)
        size.size += udpai_proto_bytes_size(RESOURCE_PAYLOAD,
                                            udpai_resource_any_size(entry->item->resource));
    return size.size;
}

void
udpai_xds_put_resource(udpai_xds_sink *sink,
                       const udpai_xds_audience *audience,
                       const udpai_xds_entry *entry,
                       bool with_aliases)
{
    put_fields(&sink->writer, audience, entry, with_aliases);
    if (entry->has_payload)
        udpai_xds_put_any(sink, RESOURCE_PAYLOAD, entry->item->resource);
}

void
udpai_xds_put_missing(udpai_xds_sink *sink, uint32_t number, udpai_str name)
{
    udpai_proto_put_head(&sink->writer, number,
                         udpai_proto_bytes_size(RESOURCE_NAME, name.len) +
                             udpai_proto_bytes_size(RESOURCE_ALIASES, name.len));
    udpai_proto_put_bytes(&sink->writer, RESOURCE_NAME, name);
    udpai_proto_put_bytes(&sink->writer, RESOURCE_ALIASES, name);
}

void
udpai_xds_put_error(udpai_proto_writer *writer, const udpai_xds_missing *missing)
{
    udpai_xds_put_variant(writer, ERROR_RESOURCE_NAME, missing->name, missing->constraints);
    udpai_rpc_status_put(writer, ERROR_DETAIL, udpa_err_to_grpc(missing->why), missing->reason);
}

void
udpai_xds_put_errors(udpai_xds_sink *sink, uint32_t number, const udpai_xds_response *response)
{
    for (size_t i = 0; i < response->n_errors; i++) {
        udpai_proto_writer size = {0};
        udpai_xds_put_error(&size, &response->errors[i]);
        udpai_proto_put_head(&sink->writer, number, size.size);
        udpai_xds_put_error(&sink->writer, &response->errors[i]);
    }
}

void
udpai_xds_put_control_plane(udpai_xds_sink *sink,
                            uint32_t number,
                            const udpai_xds_audience *audience)
{
    udpai_str identifier = audience->control_plane;
    if (identifier.len == 0)
        return;
    udpai_proto_put_head(&sink->writer, number,
                         udpai_proto_bytes_size(CONTROL_PLANE_IDENTIFIER, identifier.len));
    udpai_proto_put_bytes(&sink->writer, CONTROL_PLANE_IDENTIFIER, identifier);
}

udpai_str
udpai_xds_note_version(udpai_body *body, udpai_set_hash hash)
{
    char *version = udpai_alloc(UDPAI_CONTENT_HASH_HEX);
    if (!version)
        return (udpai_str){0};
    udpai_content_hash_hex((udpai_content_hash){hash.high, hash.low}, version);
    body->version = (udpai_str){version, UDPAI_CONTENT_HASH_HEX};
    return body->version;
}
