/* SPDX-License-Identifier: Apache-2.0 */
/* Composing responses, for the files render*.c, and left_out.c. */
#ifndef UDPAI_XDS_RENDER_INTERNAL_H
#define UDPAI_XDS_RENDER_INTERNAL_H

#include "base/proto.h"
#include "xds/audience.h"
#include "xds/names.h"

/* From this size on, a payload is not copied into a response: the bytes of the resource go out
 * themselves, so that many responses with the same resource need no memory for it. */
#define UDPAI_XDS_SHARED_MIN ((size_t)2048)

/* Where a response is put: stretches of bytes, and between them payloads that are shared. It is put
 * twice, first to count, then to write. */
typedef struct udpai_xds_sink {
    udpai_proto_writer writer; /* of the present stretch */
    UDPAI_VECTOR(size_t) sizes;
    udpai_body *body; /* NULL: counting */
    udpa_bytes *stretch;
    size_t n_stretches;
    bool failed;
} udpai_xds_sink;

/* Puts an Any as a field. */
void udpai_xds_put_any(udpai_xds_sink *sink, uint32_t number, const udpa_resource *resource);

/* A resource in a response. */
typedef struct udpai_xds_entry {
    const udpai_send_item *item;
    udpai_str name;        /* as the client knows it */
    udpai_str constraints; /* of a variant, if the client is sent them */
    bool is_called_so;     /* it is its own name, not only what the payload has */
    bool is_spelled;       /* in the client's own way: other names do not go with it */
    bool has_payload;
    bool is_hidden; /* left out: a namesake goes before it */
    size_t size;    /* of its Resource message, in delta */
} udpai_xds_entry;

/* A response of either protocol. */
typedef struct udpai_xds_response {
    const udpai_xds_renderer *renderer;
    udpai_str version, type_url;
    const udpai_xds_entry *entries;
    size_t n_entries;
    const udpai_str *removed; /* as the client knows them */
    size_t n_removed;
    const udpai_lost_variant *lost; /* variants, as the client knows them */
    size_t n_lost;
    const udpai_str *missing; /* the same, of those that are sent as a Resource */
    size_t n_missing;
    const udpai_xds_missing *errors; /* sent in resource_errors */
    size_t n_errors;
} udpai_xds_response;

/* The Resource message. `with_aliases`: as delta shows it. */
size_t udpai_xds_resource_size(const udpai_xds_audience *audience,
                               const udpai_xds_entry *entry,
                               bool with_aliases);
void udpai_xds_put_resource(udpai_xds_sink *sink,
                            const udpai_xds_audience *audience,
                            const udpai_xds_entry *entry,
                            bool with_aliases);
/* A ResourceName. */
void udpai_xds_put_variant(udpai_proto_writer *writer,
                           uint32_t number,
                           udpai_str name,
                           udpai_str constraints);
/* The constraints of a resource that the client is sent; empty: it has none, or the client knows it
 * by the name. */
udpai_str udpai_xds_visible_constraints(const udpai_send_item *item);
/* A Resource that means that there is none of this name. */
void udpai_xds_put_missing(udpai_xds_sink *sink, uint32_t number, udpai_str name);
/* The contents of a ResourceError. */
void udpai_xds_put_error(udpai_proto_writer *writer, const udpai_xds_missing *missing);
void
udpai_xds_put_errors(udpai_xds_sink *sink, uint32_t number, const udpai_xds_response *response);
void udpai_xds_put_control_plane(udpai_xds_sink *sink,
                                 uint32_t number,
                                 const udpai_xds_audience *audience);

/* Adds to the body what `put` puts. */
typedef void (*udpai_xds_put_fn)(udpai_xds_sink *sink, const udpai_xds_response *response);
udpa_err
udpai_xds_compose_parts(udpai_body *body, udpai_xds_put_fn put, const udpai_xds_response *response);

/* Notes the version of a state in the body, and returns a view of it; empty without memory. */
udpai_str udpai_xds_note_version(udpai_body *body, udpai_set_hash hash);

static inline const udpai_xds_renderer *
udpai_xds_renderer_of(const udpai_renderer *renderer)
{
    return UDPAI_CONTAINER_OF(renderer, const udpai_xds_renderer, renderer);
}

/* render_delta.c, render_sotw.c: fill in the functions of a renderer. */
void udpai_xds_renderer_init_delta(udpai_renderer *renderer);
void udpai_xds_renderer_init_sotw(udpai_renderer *renderer);

#endif
