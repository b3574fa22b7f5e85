/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigSources of kind rest: servers of xDS that are polled. */
#include "daemon/certificates.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "transport/http/curl_client.h"
#include "transport/http/json_codec.h"
#include "xds/upstream.h"

typedef Udpa__Config__V1__RestSource rest_message;

#define SHORTEST_MS 100
#define LONGEST_MS 3600000

static const udpai_field fields[] = {
    {.name = "address",
     UDPAI_PUBLIC,
     UDPAI_REQUIRED,
     .word = udpai_http_address_check,
     .check = udpai_check_polled},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "authority", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "namespace", UDPAI_PUBLIC, .word = udpai_namespace_check, .is_namespace = true},
    {.name = "refresh_delay", .min = SHORTEST_MS, .max = LONGEST_MS, .bounds = "1 h"},
    {.name = "request_timeout", .min = SHORTEST_MS, .max = LONGEST_MS, .bounds = "1 h"},
    {.name = "client", .of = &udpai_section_xds_client},
    {.name = "audience"},
};

const udpai_section udpai_section_rest_source = {UDPAI_SECTION(rest_source, fields)};

/* What the session and the polling need, until the target has them. */
typedef struct parts {
    udpai_upstream *upstream;
    udpai_polled_server *server;
    udpai_http_client *client;
} parts;

static void
parts_done(parts *self)
{
    udpai_upstream_free(self->upstream);
    udpai_polled_server_free(self->server);
    if (self->client)
        self->client->ops->free(self->client);
}

static udpa_err
make_protocol(udpai_plan *plan, const rest_message *from, parts *to)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = NULL;
    udpa_err err = udpai_plan_client(plan, from->client, &node);
    if (err != UDPA_OK)
        return err;
    to->server = udpai_polled_server_new(&(udpai_polling_options){
        .node = udpai_bytes_view(node),
        .refresh_ms = udpai_duration_ms(from->refresh_delay),
        .timeout_ms = udpai_duration_ms(from->request_timeout),
    });
    if (!to->server)
        return UDPA_ERR_NOMEM;
    return udpai_upstream_new(
        &to->upstream,
        &(udpai_upstream_options){
            .is_rest = true,
            .type_url = {"", 0},
            .name_space = udpai_str_from(*from->namespace_ ? from->namespace_ : plan->name_space),
            .authority = udpai_str_from(from->authority),
            .node = udpai_bytes_view(node),
            .max_held = (size_t)plan->settings.node.store.max_resources_per_namespace,
        });
}

static udpa_err
make_client(const udpai_plan *plan, const rest_message *from, parts *to, udpa_error **ret_error)
{
    const Udpa__Config__V1__ClientTls *tls = from->tls;
    udpai_tls_files files = {0};
    udpa_err err = tls ? udpai_certificates_read_client(tls, &files, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    const udpai_curl_client_options options = {
        .address = from->address,
        .tls = tls ? &files : NULL,
        .server_name = tls ? tls->server_name : NULL,
        .codec = udpai_json_codec_of(plan->schema),
    };
    err = udpai_curl_client_new(&to->client, &options, ret_error);
    udpai_tls_files_done(&files);
    return err;
}

udpa_err
udpai_plan_polled_target(udpai_plan *plan,
                         const rest_message *from,
                         udpai_grpc_target **ret_target,
                         udpai_http_client **ret_client,
                         udpa_error **ret_error)
{
    parts made = {0};
    udpa_err err = make_protocol(plan, from, &made);
    if (err == UDPA_OK)
        err = make_client(plan, from, &made, ret_error);
    if (err != UDPA_OK) {
        parts_done(&made);
        return err;
    }
    const udpai_grpc_target_options how = {
        .address = from->address,
        .method = {"", udpai_upstream_session_new, made.upstream},
        .release_context = udpai_upstream_drop,
        .client = made.client,
        .server = made.server,
    };
    *ret_client = made.client;
    return udpai_grpc_target_new(ret_target, &how, ret_error);
}

udpa_err
udpai_plan_polled_source(udpai_plan *plan,
                         const rest_message *from,
                         udpai_source_config *source,
                         udpa_error **ret_error)
{
    udpai_grpc_target *target = NULL;
    udpai_http_client *client = NULL;
    source->kind = UDPAI_SOURCE_REST;
    if (!udpai_vector_reserve(&plan->dialled, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    source->address = udpai_str_from(from->address);
    if (from->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        source->target_for = udpai_plan_target_for_clients;
    udpa_err err = udpai_plan_polled_target(plan, from, &target, &client, ret_error);
    source->target = target;
    if (err == UDPA_OK && from->tls)
        plan->dialled.items[plan->dialled.n++] =
            (udpai_plan_dialled){"source", source->name.data, from->tls, target, client};
    return err;
}
