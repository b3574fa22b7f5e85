/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigSources of kind xds: what the server takes us for, and which of its services is called. */
#include "daemon/keepalive.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/type.h"
#include "wire/compose.h"
#include "xds/lrs_upstream.h"
#include "xds/upstream.h"

typedef Udpa__Config__V1__XdsSource xds_message;

/* ---- the fields ---- */

static const udpai_field client_fields[] = {
    {.name = "id", UDPAI_PUBLIC},
    {.name = "cluster", UDPAI_PUBLIC},
    {.name = "locality", .of = &udpai_section_locality},
    {.name = "metadata", UDPAI_MAY_BE_SECRET},
};

const udpai_section udpai_section_xds_client = {UDPAI_SECTION(xds_client, client_fields)};

static udpai_xds_variant
stream_of(const xds_message *source)
{
    return source->protocol == UDPA__CONFIG__V1__XDS_SOURCE__PROTOCOL__DELTA
               ? UDPAI_XDS_STREAM_DELTA
               : UDPAI_XDS_STREAM_SOTW;
}

static void
check_service(const udpai_value *value)
{
    UDPAI_AUTO_FREE char *type = udpai_type_url_complete(value->text);
    if (!type)
        value->diagnostics->has_failed = true;
    else if (!udpai_xds_has_service(udpai_str_from(type), stream_of(value->in)))
        udpai_value_error(value, "",
                          "xDS has no service for type '%s' in this protocol: leave it out, to "
                          "call the aggregated one",
                          type);
}

static void
check_load_reporting(const udpai_value *value)
{
    const xds_message *source = value->in;
    if (source->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        udpai_value_error(value, "",
                          "is for sources that are asked once for all clients: leave "
                          "'audience' out, or name the server in another source for it");
}

static const udpai_section report_load = {.descriptor = &udpa__config__v1__report_load__descriptor};

static const udpai_field fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_DIALLED},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "authority", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "namespace", UDPAI_PUBLIC, .word = udpai_namespace_check, .is_namespace = true},
    {.name = "protocol"},
    {.name = "type", UDPAI_PUBLIC, .word = udpai_type_check, .check = check_service},
    {.name = "client", .of = &udpai_section_xds_client},
    {.name = "audience"},
    {.name = "load_reporting", .of = &report_load, .check = check_load_reporting},
    {.name = "keepalive", .of = &udpai_section_keepalive},
};

const udpai_section udpai_section_xds_source = {UDPAI_SECTION(xds_source, fields)};

/* ---- what the server takes us for ---- */

static udpa_err
encode_metadata(udpai_plan *plan, const Google__Protobuf__Struct *metadata, udpai_str *ret_bytes)
{
    size_t size = metadata ? google__protobuf__struct__get_packed_size(metadata) : 0;
    if (size == 0)
        return UDPA_OK;
    uint8_t *bytes = udpai_plan_own(plan, udpai_alloc(size));
    if (!bytes)
        return UDPA_ERR_NOMEM;
    *ret_bytes = (udpai_str){(const char *)bytes, google__protobuf__struct__pack(metadata, bytes)};
    return UDPA_OK;
}

static udpa_err
set_client(udpai_plan *plan, const Udpa__Config__V1__XdsClient *client, udpai_node_parts *parts)
{
    if (!client)
        return UDPA_OK;
    if (*client->id)
        parts->id = udpai_str_from(client->id);
    if (*client->cluster)
        parts->cluster = udpai_str_from(client->cluster);
    udpai_plan_locality(client->locality, parts);
    return encode_metadata(plan, client->metadata, &parts->metadata);
}

/* What this node understands of what an xDS server sends. */
static const udpai_str features[] = {
    {"xds.config.resource-in-sotw", sizeof("xds.config.resource-in-sotw") - 1},
    {"xds.config.supports-resource-ttl", sizeof("xds.config.supports-resource-ttl") - 1},
    /* So a state that lacks what is not known yet is not sent to us. */
    {UDPAI_FEATURE_NODE, sizeof(UDPAI_FEATURE_NODE) - 1},
};

/* The same of what a server of LRS sends. */
static const udpai_str load_features[] = {
    {UDPAI_LRS_FEATURE_ALL, sizeof(UDPAI_LRS_FEATURE_ALL) - 1},
};

/* What others see of our extensions is not for an xDS server. */
static udpa_err
encode_node(udpai_plan *plan,
            const Udpa__Config__V1__XdsClient *client,
            udpai_node_parts *parts,
            udpa_bytes **ret_node)
{
    udpa_err err = set_client(plan, client, parts);
    udpai_node_info *info = NULL;
    if (err == UDPA_OK)
        err = udpai_node_info_new(&info, parts);
    if (err != UDPA_OK)
        return err;
    *ret_node = udpai_node_encode(info);
    udpai_node_info_unref(info);
    return *ret_node ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_plan_client(udpai_plan *plan,
                  const Udpa__Config__V1__XdsClient *client,
                  udpa_bytes **ret_node)
{
    udpai_node_parts parts = *udpai_node_info_parts(plan->settings.info);
    parts.metadata = (udpai_str){0};
    parts.features = features;
    parts.n_features = UDPAI_ARRAY_LEN(features);
    return encode_node(plan, client, &parts, ret_node);
}

static udpa_err
make_upstream(udpai_plan *plan, const xds_message *from, const char *type, udpai_upstream **ret)
{
    udpa_bytes *node = NULL;
    udpa_err err = udpai_plan_client(plan, from->client, &node);
    if (err != UDPA_OK)
        return err;
    err = udpai_upstream_new(
        ret,
        &(udpai_upstream_options){
            .is_delta = from->protocol == UDPA__CONFIG__V1__XDS_SOURCE__PROTOCOL__DELTA,
            .type_url = udpai_str_from(type),
            .name_space = udpai_str_from(*from->namespace_ ? from->namespace_ : plan->name_space),
            .authority = udpai_str_from(from->authority),
            .node = udpai_bytes_view(node),
            .max_held = (size_t)plan->settings.node.store.max_resources_per_namespace,
        });
    udpa_bytes_unref(node);
    return err;
}

/* ---- in the stead of clients ---- */

/* A client's features for our extensions and for the protocol decide how it may be answered; but it
 * is this node that is answered. */
static bool
is_of_protocol(udpai_str feature)
{
    return udpai_str_starts(feature, UDPAI_STR("udpa.")) ||
           udpai_str_starts(feature, UDPAI_STR("xds.config."));
}

/* The client's own Node, but for what is this node's part: to understand the server. */
static udpa_bytes *
encode_client(const udpai_node_info *client)
{
    udpai_node_parts parts = *udpai_node_info_parts(client);
    size_t n = 0;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    udpai_str *all = udpai_alloc_array(parts.n_features + UDPAI_ARRAY_LEN(features), sizeof(*all));
    if (!all)
        return NULL;
    for (size_t i = 0; i < parts.n_features; i++)
        if (!is_of_protocol(parts.features[i]))
            all[n++] = parts.features[i];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(features); i++)
        all[n++] = features[i];
    parts.features = all;
    parts.n_features = n;
    udpa_err err = udpai_node_info_new(&info, &parts);
    udpai_free(all);
    return err == UDPA_OK ? udpai_node_encode(info) : NULL;
}

/* NULL without memory. */
static udpai_polled_server *
poll_as(const udpai_polled_server *configured, udpai_str node)
{
    udpai_polling_options options = *udpai_polled_server_options(configured);
    options.node = node;
    return udpai_polled_server_new(&options);
}

void *
udpai_plan_target_for_clients(void *target, udpai_str name_space, const udpai_node_info *client)
{
    udpai_upstream_options options =
        *udpai_upstream_settings(udpai_grpc_target_method(target)->context);
    const udpai_polled_server *configured = udpai_grpc_target_server(target);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = client ? encode_client(client) : NULL;
    udpai_upstream *upstream = NULL;
    if (client && !node)
        return NULL;
    options.name_space = name_space;
    if (node)
        options.node = udpai_bytes_view(node);
    udpai_polled_server *server = configured ? poll_as(configured, options.node) : NULL;
    bool made = (server || !configured) && udpai_upstream_new(&upstream, &options) == UDPA_OK;
    if (made)
        return udpai_grpc_target_with(target, upstream, server);
    udpai_polled_server_free(server);
    return NULL;
}

/* ---- the whole ---- */

/* The method of the service; reports which types have none. */
static udpa_err
find_method(udpai_plan *plan,
            const xds_message *from,
            const char *type,
            const char **ret_path,
            udpa_error **ret_error)
{
    const udpai_xds_method *method =
        udpai_xds_method_find(&plan->xds, udpai_str_from(type), stream_of(from));
    if (!method)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "xDS has no service for type '%s' in this protocol: leave 'type' out, "
                          "to call the aggregated one",
                          type);
    *ret_path = method->path;
    return UDPA_OK;
}

udpa_err
udpai_plan_xds_source(udpai_plan *plan,
                      const xds_message *from,
                      udpai_source_config *source,
                      udpa_error **ret_error)
{
    const char *type = *from->type ? udpai_plan_own(plan, udpai_type_url_complete(from->type)) : "";
    udpai_upstream *upstream = NULL;
    const char *path = NULL;
    udpa_err err = type ? find_method(plan, from, type, &path, ret_error) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = make_upstream(plan, from, type, &upstream);
    if (err != UDPA_OK)
        return err;
    source->kind = UDPAI_SOURCE_XDS;
    source->address = udpai_str_from(from->address);
    if (from->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        source->target_for = udpai_plan_target_for_clients;
    const udpai_grpc_target_options how = {
        .method = {path, udpai_upstream_session_new, upstream},
        .release_context = udpai_upstream_drop,
        .keepalive = udpai_keepalive_of(from->keepalive, UDPAI_KEEPALIVE_OF_XDS),
    };
    return udpai_plan_target(&source->target, from->address, from->tls, &how, ret_error);
}

/* ---- what is reported to it ---- */

static udpa_err
make_load_upstream(udpai_plan *plan,
                   const Udpa__Config__V1__ConfigSource *from,
                   udpai_lrs_upstream **ret_upstream)
{
    udpai_node_parts parts = *udpai_node_info_parts(plan->settings.info);
    parts.metadata = (udpai_str){0};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = NULL;
    parts.features = load_features;
    parts.n_features = UDPAI_ARRAY_LEN(load_features);
    udpa_err err = encode_node(plan, from->xds->client, &parts, &node);
    if (err != UDPA_OK)
        return err;
    const udpai_lrs_upstream_options options = {
        .source = udpai_str_from(from->name),
        .name_space =
            udpai_str_from(*from->xds->namespace_ ? from->xds->namespace_ : plan->name_space),
        .node = udpai_bytes_view(node),
    };
    return udpai_lrs_upstream_new(ret_upstream, &options);
}

udpa_err
udpai_plan_load_upstream(udpai_plan *plan,
                         const Udpa__Config__V1__ConfigSource *from,
                         udpa_error **ret_error)
{
    udpai_load_upstream_config config = {
        .source = udpai_str_from(from->name),
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    udpai_lrs_upstream *upstream = NULL;
    udpa_err err = make_load_upstream(plan, from, &upstream);
    if (err != UDPA_OK)
        return err;
    const udpai_grpc_target_options how = {
        .method = {UDPAI_LRS_PATH, udpai_lrs_upstream_session_new, upstream},
        .release_context = udpai_lrs_upstream_drop,
        .keepalive = udpai_keepalive_of(from->xds->keepalive, UDPAI_KEEPALIVE_OF_XDS),
    };
    err = udpai_plan_target(&config.target, from->xds->address, from->xds->tls, &how, ret_error);
    if (err == UDPA_OK &&
        !(udpai_vector_push(&plan->reported_load,
                            ((udpai_reported_load_server){config.source, upstream})) &&
          udpai_vector_push(&plan->load_upstreams, config))) {
        udpai_grpc_target_drop(config.target);
        err = UDPA_ERR_NOMEM;
    }
    return err == UDPA_OK ? udpai_plan_note_dialled(plan, "load reporting", from->name,
                                                    from->xds->tls, config.target)
                          : err;
}
