/* SPDX-License-Identifier: Apache-2.0 */
/* All contributions to one name, described as udpa.status.v1.OriginsStatus. */
#include "base/error.h"
#include "base/strbuf.h"
#include "federation/freezes.h"
#include "federation/held.h"
#include "federation/node_internal.h"
#include "federation/provider.h"
#include "session/status.h"
#include "store/freeze.h"

struct description {
    const udpai_node *node;
    udpai_str type_url, name;
    const udpa_error *frozen; /* NULL: no change of it waits */
    udpai_proto_writer *writer;
};

static void
put_hold(udpai_proto_writer *writer, const udpai_node *node, const udpai_contribution *contribution)
{
    const char *why = udpai_held_why(node->parts.sources, contribution->origin,
                                     udpai_resource_type_url(contribution->resource));
    udpai_proto_put_varint(writer, 12, true);
    if (why)
        udpai_proto_put_bytes(writer, 13, udpai_str_from(why));
}

static void
put_stop(udpai_proto_writer *writer, const udpai_node *node, const udpai_contribution *contribution)
{
    static const char *const continuations[] = {
        [UDPAI_STOP_ON_SUCCESS] = "STOP_ON_SUCCESS",
        [UDPAI_STOP_ON_FAILURE] = "STOP_ON_FAILURE",
        [UDPAI_CONTINUE] = "CONTINUE",
    };
    const udpai_source *source = udpai_sources_of_origin(node->parts.sources, contribution->origin);
    udpai_provider_stop stop;
    if (!source ||
        !udpai_providers_find_stop(node->parts.providers, contribution->resource, source, &stop))
        return;
    udpai_proto_put_bytes(writer, 14, stop.source);
    udpai_proto_put_bytes(writer, 15, udpai_str_from(continuations[stop.continuation]));
}

static void
put_contribution(udpai_proto_writer *writer,
                 const udpai_node *node,
                 const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    udpai_proto_put_bytes(writer, 1, udpai_origin_key(contribution->origin));
    udpai_proto_put_bytes_opt(writer, 2, udpai_resource_authority(resource));
    udpai_proto_put_bytes_opt(writer, 3, udpai_resource_version(resource));
    udpai_proto_put_varint_opt(writer, 4, udpa_resource_generation(resource));
    udpai_proto_put_varint_opt(writer, 5, contribution->effective);
    udpai_proto_put_varint_opt(writer, 6, contribution->eligible);
    udpai_proto_put_varint_opt(writer, 7, contribution->superseded);
    udpai_proto_put_varint_opt(writer, 8, udpai_resource_signature(resource) != NULL);
    if (contribution->deadline_ms > udpai_context_now(&node->context))
        udpai_proto_put_varint_opt(writer, 9,
                                   contribution->deadline_ms - udpai_context_now(&node->context));
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++)
        udpai_proto_put_bytes(writer, 10, udpai_resource_hop(resource, i).node_id);
    udpai_proto_put_varint_opt(writer, 11, udpai_resource_value(resource).len);
    if (contribution->absence == UDPAI_ABSENCE_HELD)
        put_hold(writer, node, contribution);
    if (!contribution->eligible)
        put_stop(writer, node, contribution);
}

static bool
put_each(void *userdata, const udpai_contribution *contribution)
{
    struct description *description = userdata;
    udpai_proto_writer size = {0};
    put_contribution(&size, description->node, contribution);
    udpai_proto_put_head(description->writer, 3, size.size);
    put_contribution(description->writer, description->node, contribution);
    return true;
}

static void
put_origins(udpai_proto_writer *writer, const void *what)
{
    struct description description = *(const struct description *)what;
    description.writer = writer;
    udpai_proto_put_bytes(writer, 1, description.type_url);
    udpai_proto_put_bytes(writer, 2, description.name);
    udpai_store_visit_name(description.node->context.store, description.type_url, description.name,
                           put_each, &description);
    if (description.frozen)
        udpai_proto_put_bytes(writer, 4, udpai_str_from(udpa_error_message(description.frozen)));
}

udpa_bytes *
udpai_node_describe_origins(const udpai_node *node, udpai_str type_name, udpai_str name)
{
    udpai_strbuf type_url = {0};
    udpai_strbuf_puts(&type_url, "type.googleapis.com/");
    udpai_strbuf_str(&type_url, type_name);
    UDPA_AUTO(udpa_error_unref) udpa_error *frozen = NULL;
    const udpai_str url = udpai_strbuf_view(&type_url);
    if (udpai_store_waits(node->context.store, url, name))
        (void)udpai_freezes_check(node->parts.freezes, url, name, &frozen);
    const struct description description = {node, url, name, frozen, NULL};
    udpa_bytes *status =
        udpai_strbuf_failed(&type_url) ? NULL : udpai_proto_encode(put_origins, &description);
    udpai_strbuf_done(&type_url);
    return status;
}
