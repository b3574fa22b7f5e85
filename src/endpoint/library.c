/* SPDX-License-Identifier: Apache-2.0 */
/* The public endpoint: a DPLB that takes resources on demand from its sources, by its providers,
 * and keeps nothing beyond its life. */
#include <udpa/endpoint.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "endpoint/endpoint_internal.h"
#include "endpoint/exposure.h"
#include "endpoint/local_acks.h"
#include "endpoint/orca.h"
#include "endpoint/polled.h"
#include "endpoint/providers.h"
#include "loop/clock.h"
#include "model/name.h"
#include "session/udpa.h"
#include "transport/grpc/listener.h"
#include "wire/compose.h"
#include "xds/upstream.h"

#define SOURCES_MAX 64
#define TEXT_MAX 512

struct plan {
    const udpa_endpoint_options *options;
    udpai_source_config sources[SOURCES_MAX];
    udpai_provider_plan providers;
    udpai_server_tls *listen_tls;
    udpai_service *orca; /* NULL: it does not listen */
    udpai_service *acks; /* NULL: it does not report what it has */
    udpai_grpc_method methods[UDPAI_ORCA_METHODS + UDPAI_OWN_STATUS_METHODS];
};

/* ---- checking ---- */

static udpa_err
check_text(const char *text, const char *what, bool is_required, udpa_error **ret_error)
{
    if (!text || !*text)
        return is_required ? udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is required", what)
                           : UDPA_OK;
    if (strlen(text) > TEXT_MAX || !udpai_utf8_valid(udpai_str_from(text)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is longer than %d bytes, or not UTF-8",
                          what, TEXT_MAX);
    return UDPA_OK;
}

static udpa_err
check_options(const udpa_endpoint_options *options, udpa_error **ret_error)
{
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_endpoint_options: struct_size is %zu: begin with "
                          "UDPA_ENDPOINT_OPTIONS_INIT",
                          options->struct_size);
    if (options->n_sources > SOURCES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu sources are more than the %d there may be", options->n_sources,
                          SOURCES_MAX);

    const struct {
        const char *text, *what;
        bool is_required;
    } texts[] = {
        {options->node_id, "node_id", true},    {options->cluster, "cluster", false},
        {options->region, "region", false},     {options->zone, "zone", false},
        {options->sub_zone, "sub_zone", false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpa_err err = check_text(texts[i].text, texts[i].what, texts[i].is_required, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    return UDPA_OK;
}

/* Of a server of xDS, by whatever transport. */
static udpa_err
check_names(const udpa_source *source,
            const char *authority,
            const char *name_space,
            udpa_error **ret_error)
{
    if (!source->address)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': xDS servers are dialled: it needs an address",
                          source->name);
    udpa_err err = check_text(authority, "an xDS server's authority", true, ret_error);
    if (err == UDPA_OK)
        err = check_text(name_space, "an xDS server's name_space", true, ret_error);
    if (err == UDPA_OK)
        err = udpai_prefix_check(udpai_str_from(name_space), ret_error);
    if (err == UDPA_OK && strchr(name_space, '/'))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "an xDS server's name_space '%s' is a prefix: all its names are in one "
                         "namespace, such as com.acme",
                         name_space);
    return err;
}

static udpa_err
check_rest(const udpa_source *source, udpa_error **ret_error)
{
    udpa_err err = udpai_rest_server_check(source, ret_error);
    return err == UDPA_OK
               ? check_names(source, source->rest->authority, source->rest->name_space, ret_error)
               : err;
}

static udpa_err
check_xds(const udpa_source *source, udpa_error **ret_error)
{
    const udpa_xds_server *xds = source->xds;
    if (source->rest)
        return check_rest(source, ret_error);
    if (!xds)
        return UDPA_OK;
    if (xds->struct_size < sizeof(*xds))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': udpa_xds_server: struct_size is %zu: begin with "
                          "UDPA_XDS_SERVER_INIT",
                          source->name, xds->struct_size);
    return check_names(source, xds->authority, xds->name_space, ret_error);
}

static udpa_err
check_source(const udpa_endpoint_options *options, size_t index, udpa_error **ret_error)
{
    const udpa_source *source = &options->sources[index];
    if (source->struct_size < sizeof(*source))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source %zu: struct_size is %zu: begin with UDPA_SOURCE_INIT", index,
                          source->struct_size);
    udpa_err err = check_text(source->name, "a source's name", true, ret_error);
    for (size_t i = 0; i < index && err == UDPA_OK; i++)
        if (strcmp(options->sources[i].name, source->name) == 0)
            err =
                udpai_fail(ret_error, UDPA_ERR_INVAL, "two sources are called '%s'", source->name);
    if (err != UDPA_OK)
        return err;
    bool dials = source->address != NULL, listens = source->peer != NULL;
    if (dials == listens)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s' needs either an address to dial, or the name of the peer "
                          "that dials",
                          source->name);
    if (listens && !options->listen_address)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s' dials, but there is no listen_address", source->name);
    return check_xds(source, ret_error);
}

/* ---- our identity ---- */

static udpa_err
make_info(const udpa_endpoint_options *options, udpai_node_info **ret_info)
{
    const udpai_str features[] = {
        UDPAI_STR(UDPAI_FEATURE_EXTENSIONS),
        UDPAI_STR(UDPAI_FEATURE_CLIENT),
        options->secrets == UDPA_SECRETS_COPIED ? UDPAI_STR(UDPAI_FEATURE_SECRETS)
                                                : UDPAI_STR(UDPAI_FEATURE_REDACTED),
    };
    const udpai_node_parts parts = {
        .id = udpai_str_from(options->node_id),
        .cluster = udpai_str_from(options->cluster),
        .region = udpai_str_from(options->region),
        .zone = udpai_str_from(options->zone),
        .sub_zone = udpai_str_from(options->sub_zone),
        .user_agent_name = UDPAI_STR("libudpa"),
        .features = features,
        .n_features = UDPAI_ARRAY_LEN(features) - (options->secrets == UDPA_SECRETS_USED),
    };
    return udpai_node_info_new(ret_info, &parts);
}

/* ---- sources ---- */

static udpa_err
read_tls(const udpa_tls *tls, udpai_tls_files *ret_files, udpa_error **ret_error)
{
    if (tls->struct_size < sizeof(*tls))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_tls: struct_size is %zu: begin with UDPA_TLS_INIT",
                          tls->struct_size);
    const udpai_tls_paths paths = {
        .certificate = tls->certificate_file,
        .private_key = tls->private_key_file,
        .authorities = tls->ca_file,
    };
    return udpai_tls_files_read(ret_files, &paths, udpai_wall_us() / 1000000, ret_error);
}

/* The session of an xDS server, by gRPC or by REST. */
static udpa_err
make_upstream(const udpa_source *source, udpai_str node, udpai_grpc_target_options *options)
{
    const udpa_xds_server *xds = source->xds;
    const udpa_rest_server *rest = source->rest;
    udpai_upstream *upstream = NULL;
    const udpai_upstream_options upstream_options = {
        .is_delta = xds && !xds->is_state_of_the_world,
        .is_rest = rest != NULL,
        .name_space = udpai_str_from(xds ? xds->name_space : rest->name_space),
        .authority = udpai_str_from(xds ? xds->authority : rest->authority),
        .node = node,
    };
    udpa_err err = udpai_upstream_new(&upstream, &upstream_options);
    options->method = (udpai_grpc_method){
        upstream_options.is_delta ? UDPAI_UPSTREAM_DELTA_PATH : UDPAI_UPSTREAM_SOTW_PATH,
        udpai_upstream_session_new,
        upstream,
        false,
    };
    options->release_context = udpai_upstream_drop;
    return err;
}

/* The protocol on the stream. */
static udpa_err
choose_method(const struct plan *plan,
              const udpa_source *source,
              udpai_grpc_target_options *options,
              udpa_error **ret_error)
{
    options->method = (udpai_grpc_method){UDPAI_UDPA_PATH, udpai_udpa_session_new, NULL, false};
    if (!source->xds && !source->rest)
        return UDPA_OK;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    udpa_err err = make_info(plan->options, &info);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = err == UDPA_OK ? udpai_node_encode(info) : NULL;
    if (!node)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (source->rest)
        err = udpai_rest_server_make(source, options->tls, udpai_bytes_view(node), options,
                                     ret_error);
    if (err == UDPA_OK)
        err = make_upstream(source, udpai_bytes_view(node), options);
    if (err != UDPA_OK) {
        udpai_polled_server_free(options->server);
        if (options->client)
            options->client->ops->free(options->client);
    }
    return udpai_fail_code(ret_error, err);
}

static udpa_err
make_target(const struct plan *plan,
            const udpa_source *source,
            void **ret_target,
            udpa_error **ret_error)
{
    udpai_tls_files files = {0};
    udpa_err err = source->tls ? read_tls(source->tls, &files, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    udpai_grpc_target_options options = {
        .address = source->address,
        .tls = source->tls ? &files : NULL,
        .server_name = source->tls ? source->tls->server_name : NULL,
    };
    err = choose_method(plan, source, &options, ret_error);
    if (err != UDPA_OK) {
        udpai_tls_files_done(&files);
        return err;
    }
    udpai_grpc_target *target = NULL;
    err = udpai_grpc_target_new(&target, &options, ret_error);
    udpai_tls_files_done(&files);
    *ret_target = target;
    return err;
}

static udpa_err
plan_source(struct plan *plan, size_t index, udpa_error **ret_error)
{
    const udpa_source *source = &plan->options->sources[index];
    udpai_source_config *config = &plan->sources[index];
    *config = (udpai_source_config){
        .name = udpai_str_from(source->name),
        .kind = source->rest      ? UDPAI_SOURCE_REST
                : source->xds     ? UDPAI_SOURCE_XDS
                : source->address ? UDPAI_SOURCE_UDPA
                                  : UDPAI_SOURCE_UDPA_LISTEN,
        .peer = udpai_str_from(source->peer),
        .address = udpai_str_from(source->address),
        .starts_anywhere = source->starts_anywhere,
        .stays_connected = !source->only_when_needed,
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    udpa_err err = udpai_provider_plan_standby(&plan->providers, source, config, ret_error);
    return err == UDPA_OK && source->address ? make_target(plan, source, &config->target, ret_error)
                                             : err;
}

static udpa_err
plan_sources(struct plan *plan, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->options->n_sources && err == UDPA_OK; i++) {
        err = check_source(plan->options, i, ret_error);
        if (err == UDPA_OK)
            err = plan_source(plan, i, ret_error);
    }
    return err == UDPA_OK ? udpai_provider_plan_make(&plan->providers, plan->options, ret_error)
                          : err;
}

static void
plan_done(struct plan *plan)
{
    for (size_t i = 0; i < SOURCES_MAX; i++)
        udpai_grpc_target_unref(plan->sources[i].target);
    udpai_provider_plan_done(&plan->providers);
    udpai_server_tls_unref(plan->listen_tls);
    udpai_service_free(plan->orca);
    udpai_service_free(plan->acks);
}

/* ---- listening ---- */

static udpa_err
plan_listener(struct plan *plan, udpa_error **ret_error)
{
    const udpa_endpoint_options *options = plan->options;
    if (!options->listen_address && options->answers_client_status)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "answers_client_status: no client can ask an endpoint that does not "
                          "listen: give it a listen_address");
    if (!options->listen_address)
        return UDPA_OK;
    plan->orca = udpai_orca_board_new();
    if (!plan->orca)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_orca_board_methods(plan->orca, plan->methods);
    if (options->answers_client_status) {
        plan->acks = udpai_local_acks_new();
        if (!plan->acks)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        udpai_local_acks_methods(plan->acks, plan->methods + UDPAI_ORCA_METHODS);
    }
    if (!options->listen_tls)
        return udpai_exposure_check(options->listen_address, ret_error);
    udpai_tls_files files = {0};
    udpa_err err = read_tls(options->listen_tls, &files, ret_error);
    if (err == UDPA_OK)
        err = udpai_server_tls_new(&plan->listen_tls, &files, false, ret_error);
    udpai_tls_files_done(&files);
    return err;
}

/* ---- making ---- */

static udpa_err
make(udpa_endpoint **ret_endpoint, uv_loop_t *loop, struct plan *plan, udpa_error **ret_error)
{
    const udpa_endpoint_options *options = plan->options;
    udpai_endpoint_settings settings;
    udpai_endpoint_settings_init(&settings);
    settings.node.id = settings.node.authority = udpai_str_from(options->node_id);
    settings.node.is_endpoint = true;
    settings.node.peers_are_anonymous = !plan->listen_tls;
    settings.node.sources = plan->sources;
    settings.node.n_sources = options->n_sources;
    settings.node.providers = plan->providers.providers.items;
    settings.node.n_providers = plan->providers.providers.n;
    settings.node.named = plan->providers.named.items;
    settings.node.n_named = plan->providers.named.n;
    settings.methods = plan->methods;
    settings.n_methods =
        (plan->orca ? UDPAI_ORCA_METHODS : 0) + (plan->acks ? UDPAI_OWN_STATUS_METHODS : 0);
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    udpa_err err = make_info(options, &info);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    settings.info = info;
    err = udpai_endpoint_new(ret_endpoint, loop, &settings, ret_error);
    if (err != UDPA_OK)
        return err;
    if (plan->acks)
        udpai_local_acks_attach(plan->acks, *ret_endpoint);
    udpai_endpoint_put_service(*ret_endpoint, UDPAI_PLACE_ORCA_BOARD, UDPAI_TAKE(plan->orca));
    udpai_endpoint_put_service(*ret_endpoint, UDPAI_PLACE_LOCAL_ACKS, UDPAI_TAKE(plan->acks));
    return UDPA_OK;
}

static udpa_err
begin(udpa_endpoint *endpoint, const struct plan *plan, udpa_error **ret_error)
{
    if (plan->options->listen_address) {
        const udpai_listen_options options = {
            .address = plan->options->listen_address,
            .tls = plan->listen_tls,
        };
        udpa_err err = udpai_stream_thread_listen(udpai_endpoint_streams(endpoint), &options,
                                                  &endpoint->listener, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    udpai_endpoint_start(endpoint);
    return UDPA_OK;
}

udpa_err
udpa_endpoint_new(udpa_endpoint **ret_endpoint,
                  uv_loop_t *loop,
                  const udpa_endpoint_options *options,
                  udpa_error **ret_error)
{
    struct plan plan = {.options = options};
    udpa_endpoint *endpoint = NULL;
    udpa_err err = check_options(options, ret_error);
    if (err == UDPA_OK)
        err = plan_sources(&plan, ret_error);
    if (err == UDPA_OK)
        err = plan_listener(&plan, ret_error);
    if (err == UDPA_OK)
        err = make(&endpoint, loop, &plan, ret_error);
    if (err == UDPA_OK)
        err = begin(endpoint, &plan, ret_error);
    plan_done(&plan);
    if (err == UDPA_OK)
        *ret_endpoint = endpoint;
    else if (endpoint)
        udpa_endpoint_close(endpoint, NULL, NULL);
    return udpai_fail_code(ret_error, err);
}

const udpa_error *
udpa_endpoint_source_error(const udpa_endpoint *endpoint, const char *source)
{
    return udpai_node_source_error(endpoint->node, udpai_str_from(source));
}

const char *
udpa_endpoint_source_server(const udpa_endpoint *endpoint, const char *source)
{
    return udpai_node_source_server(endpoint->node, udpai_str_from(source));
}

int
udpa_endpoint_port(const udpa_endpoint *endpoint)
{
    return endpoint->listener ? udpai_listener_port(endpoint->listener) : 0;
}
