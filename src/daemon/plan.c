/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/certificates.h"
#include "daemon/keepalive.h"
#include "daemon/plan_delivery.h"
#include "daemon/plan_internal.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "daemon/health.h"
#include "daemon/option_rules.h"
#include "daemon/timing.h"
#include "endpoint/type.h"
#include "loop/clock.h"
#include "session/udpa.h"

#define DEFAULT_ADDRESS "127.0.0.1:18000"
#define DEFAULT_NAMESPACE "local"

/* ---- small helpers ---- */

static const char *
first_of(const char *a, const char *b, const char *c)
{
    return a && *a ? a : b && *b ? b : c;
}

#define SET_IF(field, value)                                                                       \
    do {                                                                                           \
        if (value)                                                                                 \
            (field) = (value);                                                                     \
    } while (0)

/* ---- who we are ---- */

static udpa_err
plan_node(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Node *node = plan->bootstrap.message->node;
    if (gethostname(plan->host, sizeof(plan->host) - 1) != 0 || !*plan->host)
        snprintf(plan->host, sizeof(plan->host), "udpad");
    const char *id = first_of(options->node_id, node ? node->id : NULL, plan->host);
    plan->settings.node.id = udpai_str_from(id);
    plan->settings.node.authority = udpai_str_from(first_of(node ? node->authority : NULL, id, id));
    static const udpai_str features[] = {
        {UDPAI_FEATURE_EXTENSIONS, sizeof(UDPAI_FEATURE_EXTENSIONS) - 1},
        {UDPAI_FEATURE_NODE, sizeof(UDPAI_FEATURE_NODE) - 1},
        {UDPAI_FEATURE_CLIENT, sizeof(UDPAI_FEATURE_CLIENT) - 1},
    };
    udpai_node_parts parts = {
        .id = plan->settings.node.id,
        .user_agent_name = UDPAI_STR("udpad"),
        .user_agent_version = udpai_str_from(plan->settings.version),
        .features = features,
        .n_features = UDPAI_ARRAY_LEN(features),
    };
    if (node)
        parts.cluster = udpai_str_from(node->cluster);
    if (node && node->locality) {
        parts.region = udpai_str_from(node->locality->region);
        parts.zone = udpai_str_from(node->locality->zone);
        parts.sub_zone = udpai_str_from(node->locality->sub_zone);
    }
    return udpai_node_info_new(&plan->settings.info, &parts);
}

static const char *
default_namespace(const udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Node *node = plan->bootstrap.message->node;
    return first_of(options->name_space, node ? node->namespace_ : NULL, DEFAULT_NAMESPACE);
}

static void
plan_xds_namespace(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Shim *shim = plan->bootstrap.message->shim;
    const char *name_space = plan->name_space;
    if (!options->name_space)
        name_space = first_of(shim ? shim->default_namespace : NULL, name_space, name_space);
    plan->xds_namespace = udpai_str_from(name_space);
}

/* ---- where we listen ---- */

/* Where a source dials us, it is found hung as soon as one that we dial. */
static udpai_keepalive
keepalive_of_sockets(const Udpa__Config__V1__Bootstrap *message)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (all->config_sources[i]->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN)
            return UDPAI_KEEPALIVE_OF_NODES;
    return (udpai_keepalive){0};
}

static udpa_err
plan_sockets(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    const udpai_keepalive otherwise = keepalive_of_sockets(message);
    plan->settings.node.peers_are_anonymous = true;
    if (options->listen || message->n_sockets == 0) {
        const udpai_plan_socket socket = {
            .address = first_of(options->listen, NULL, DEFAULT_ADDRESS),
            .keepalive = otherwise,
        };
        return udpai_vector_push(&plan->sockets, socket) ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    for (size_t i = 0; i < message->n_sockets; i++) {
        const Udpa__Config__V1__Socket *from = message->sockets[i];
        const udpai_plan_socket socket = {
            .address = from->address,
            .tls = from->tls,
            .insecure = from->insecure,
            .max_message_bytes = from->max_message_bytes,
            .keepalive = udpai_keepalive_of(from->keepalive, otherwise),
        };
        if (!udpai_vector_push(&plan->sockets, socket))
            return UDPA_ERR_NOMEM;
        plan->settings.node.peers_are_anonymous &= !socket.tls;
    }
    return UDPA_OK;
}

udpai_listen_options
udpai_plan_listen_options(const udpai_plan_socket *socket,
                          const char *address,
                          udpai_server_tls *tls)
{
    return (udpai_listen_options){
        .address = address,
        .tls = tls,
        .max_message_bytes = socket->max_message_bytes,
        .keepalive = socket->keepalive,
    };
}

/* ---- where resources come from ---- */

static udpa_err
make_udpa_target(void **ret_target,
                 const char *address,
                 const Udpa__Config__V1__ClientTls *tls,
                 const Udpa__Config__V1__Keepalive *keepalive,
                 udpa_error **ret_error)
{
    const udpai_grpc_target_options how = {
        .method = {UDPAI_UDPA_PATH, udpai_udpa_session_new, NULL},
        .keepalive = udpai_keepalive_of(keepalive, UDPAI_KEEPALIVE_OF_NODES),
    };
    return udpai_plan_target(ret_target, address, tls, &how, ret_error);
}

static udpa_err
add_directory(udpai_plan *plan, const udpai_plan_directory *directory)
{
    return udpai_vector_push(&plan->directories, *directory) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Those of kind rest are noted where they are made. */
static const Udpa__Config__V1__ClientTls *
tls_of(const Udpa__Config__V1__ConfigSource *from)
{
    if (from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA)
        return from->udpa->tls;
    return from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS ? from->xds->tls : NULL;
}

static udpa_err
set_kind(udpai_plan *plan,
         const Udpa__Config__V1__ConfigSource *from,
         udpai_source_config *source,
         udpa_error **ret_error)
{
    switch (from->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
        source->kind = UDPAI_SOURCE_UDPA;
        source->address = udpai_str_from(from->udpa->address);
        return make_udpa_target(&source->target, from->udpa->address, from->udpa->tls,
                                from->udpa->keepalive, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN:
        source->kind = UDPAI_SOURCE_UDPA_LISTEN;
        source->peer = udpai_str_from(from->udpa_listen->peer);
        return UDPA_OK;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS:
        return udpai_plan_xds_source(plan, from->xds, source, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST:
        return udpai_plan_polled_source(plan, from->rest, source, ret_error);
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_RUNTIME_TREE:
        source->kind = UDPAI_SOURCE_PATH;
        source->kind_name = "runtime_tree";
        source->address = udpai_str_from(from->runtime_tree->symlink_root);
        return add_directory(plan, &(udpai_plan_directory){
                                       .path = from->runtime_tree->symlink_root,
                                       .name_space = udpai_str_from(from->runtime_tree->namespace_),
                                       .authority = udpai_str_from(from->runtime_tree->authority),
                                       .source = source->name,
                                       .tree = from->runtime_tree,
                                   });
    default:
        source->kind = UDPAI_SOURCE_PATH;
        source->address = udpai_str_from(from->path->path);
        return add_directory(plan, &(udpai_plan_directory){
                                       .path = from->path->path,
                                       .authority = udpai_str_from(from->path->authority),
                                       .source = source->name,
                                   });
    }
}

static udpa_err
plan_standing_in(udpai_plan *plan,
                 const Udpa__Config__V1__ConfigSource *from,
                 udpai_source_config *source)
{
    const Udpa__Config__V1__Recover *recover = from->recover;
    const Udpa__Config__V1__StandIn *stand_in = from->stand_in;
    udpa_err err = UDPA_OK;
    if (recover) {
        udpai_str *prefixes =
            udpai_plan_own(plan, udpai_alloc_array(recover->n_namespaces + 1, sizeof(*prefixes)));
        if (!prefixes)
            return UDPA_ERR_NOMEM;
        for (size_t i = 0; i < recover->n_namespaces; i++)
            prefixes[i] = udpai_str_from(recover->namespaces[i]);
        source->recover.prefixes = prefixes;
        source->recover.n_prefixes = recover->n_namespaces;
        source->recover.n_types = recover->n_types;
        err = udpai_plan_types(plan, recover->types, recover->n_types, &source->recover.types);
    }
    if (stand_in && err == UDPA_OK) {
        source->n_stands_in = stand_in->n_types;
        err = udpai_plan_types(plan, stand_in->types, stand_in->n_types, &source->stands_in);
    }
    source->n_standby = from->n_standby;
    source->max_withdrawal = udpai_percentage(from->max_withdrawal);
    return err == UDPA_OK && from->n_standby
               ? udpai_plan_types(plan, from->standby, from->n_standby, &source->standby)
               : err;
}

static udpa_err
add_source(udpai_plan *plan, const Udpa__Config__V1__ConfigSource *from, udpa_error **ret_error)
{
    udpai_source_config source = {
        .name = udpai_str_from(from->name),
        .ref_target = udpai_grpc_target_hold,
        .release_target = udpai_grpc_target_drop,
    };
    udpa_err err = set_kind(plan, from, &source, ret_error);
    if (err == UDPA_OK)
        err = plan_standing_in(plan, from, &source);
    if (err == UDPA_OK && !udpai_vector_push(&plan->sources, source)) {
        udpai_grpc_target_drop(source.target);
        err = UDPA_ERR_NOMEM;
    }
    if (err == UDPA_OK)
        err = udpai_plan_note_dialled(plan, "source", from->name, tls_of(from), source.target);
    bool is_told =
        from->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS && from->xds->load_reporting;
    return err == UDPA_OK && is_told ? udpai_plan_load_upstream(plan, from, ret_error) : err;
}

static udpa_err
plan_descriptors(udpai_plan *plan,
                 const Udpa__Config__V1__Provider *from,
                 udpai_provider_config *provider,
                 udpa_error **ret_error)
{
    udpai_descriptor_config *descriptors = udpai_plan_own(
        plan, udpai_alloc_array(from->n_config_descriptors + 1, sizeof(*descriptors)));
    udpa_err err = descriptors ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->n_config_descriptors && err == UDPA_OK; i++) {
        const Udpa__Config__V1__ConfigDescriptor *descriptor = from->config_descriptors[i];
        bool is_inline =
            descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE;
        if (is_inline)
            err = add_source(plan, descriptor->config_source, ret_error);
        descriptors[i] = (udpai_descriptor_config){
            .source = udpai_str_from(is_inline ? descriptor->config_source->name
                                               : descriptor->resource_name),
            .prefix = udpai_str_from(descriptor->namespace_),
            .continuation = (udpai_continuation)descriptor->continuation,
            .on_demand = descriptor->mode == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND,
        };
    }
    provider->descriptors = descriptors;
    provider->n_descriptors = from->n_config_descriptors;
    return err;
}

static udpa_err
plan_providers(udpai_plan *plan, udpa_error **ret_error)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_providers && err == UDPA_OK; i++) {
        const Udpa__Config__V1__Provider *from = message->providers[i];
        udpai_provider_config provider = {.n_types = from->n_types};
        err = udpai_plan_types(plan, from->types, from->n_types, &provider.types);
        if (err == UDPA_OK)
            err = plan_descriptors(plan, from, &provider, ret_error);
        if (err == UDPA_OK && !udpai_vector_push(&plan->providers, provider))
            err = UDPA_ERR_NOMEM;
    }
    return err;
}

static udpa_err
plan_dials(udpai_plan *plan, udpa_error **ret_error)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_dial && err == UDPA_OK; i++) {
        const Udpa__Config__V1__Dial *from = message->dial[i];
        udpai_dial_config dial = {
            .name = udpai_str_from(from->name),
            .ref_target = udpai_grpc_target_hold,
            .release_target = udpai_grpc_target_drop,
        };
        err = make_udpa_target(&dial.target, from->address, from->tls, from->keepalive, ret_error);
        if (err == UDPA_OK && !udpai_vector_push(&plan->dials, dial)) {
            udpai_grpc_target_drop(dial.target);
            err = UDPA_ERR_NOMEM;
        }
        if (err == UDPA_OK)
            err = udpai_plan_note_dialled(plan, "dial", from->name, from->tls, dial.target);
    }
    return err;
}

static udpa_err
plan_sources(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__StaticResources *all = plan->bootstrap.message->static_resources;
    const char *name_space = plan->name_space;
    udpa_err err = UDPA_OK;
    if (options->resources)
        err = add_directory(plan, &(udpai_plan_directory){.path = options->resources});
    for (size_t i = 0; all && i < all->n_directories && err == UDPA_OK; i++)
        err = add_directory(
            plan, &(udpai_plan_directory){
                      .path = all->directories[i]->path,
                      .name_space = udpai_str_from(all->directories[i]->namespace_),
                      .authority = udpai_str_from(all->directories[i]->authority),
                      .max_withdrawal = udpai_percentage(all->directories[i]->max_withdrawal),
                  });
    for (size_t i = 0; all && i < all->n_config_sources && err == UDPA_OK; i++)
        err = add_source(plan, all->config_sources[i], ret_error);
    if (err == UDPA_OK)
        err = plan_providers(plan, ret_error);
    if (err == UDPA_OK)
        err = plan_dials(plan, ret_error);
    for (size_t i = 0; i < plan->directories.n; i++)
        if (plan->directories.items[i].name_space.len == 0)
            plan->directories.items[i].name_space = udpai_str_from(name_space);
    return err;
}

/* ---- the rest ---- */

static void
plan_store(udpai_plan *plan, const udpai_options *options)
{
    const Udpa__Config__V1__Store *store = plan->bootstrap.message->store;
    bool in_memory = store && store->in_memory && !options->state;
    if (in_memory)
        return;
    plan->state_directory =
        first_of(options->state, store ? store->directory : NULL, UDPAI_DEFAULT_STATE);
    plan->is_restored = options->is_restored;
    plan->is_forced = options->is_forced;
    if (!store)
        return;
    plan->key_file = *store->key_file ? store->key_file : NULL;
    plan->secret_types = (const char *const *)store->secret_types;
    plan->n_secret_types = store->n_secret_types;
}

void
udpai_plan_raise_held(udpai_fanout_options *fanout, size_t n)
{
    if (n <= fanout->max_held)
        return;
    fanout->max_held_bytes = fanout->max_held_bytes / fanout->max_held * n;
    fanout->max_held = n;
}

static void
plan_limits(udpai_plan *plan)
{
    const Udpa__Config__V1__Limits *limits = plan->bootstrap.message->limits;
    udpai_endpoint_settings *settings = &plan->settings;
    if (!limits)
        return;
    settings->limits.max_streams = limits->max_streams;
    settings->limits.max_streams_per_identity = limits->max_streams_per_identity;
    settings->limits.max_message_bytes = limits->max_message_bytes_from_clients;
    settings->limits.max_source_message_bytes = limits->max_message_bytes_from_sources;
    SET_IF(settings->fanout.max_names, limits->max_names_per_stream);
    SET_IF(settings->fanout.max_views, limits->max_views);
    SET_IF(settings->fanout.max_views_per_owner, limits->max_views_per_identity);
    SET_IF(plan->xds.groups.max, limits->max_client_groups);
    SET_IF(plan->xds.groups.max_of_identity, limits->max_client_groups_per_identity);
    if (limits->max_client_groups) /* as many again may linger */
        settings->node.max_clients = 2 * (size_t)limits->max_client_groups;
    udpai_store_options *store = &settings->node.store;
    SET_IF(store->max_resources_per_namespace, limits->max_resources_per_namespace);
    SET_IF(store->max_bytes_per_namespace, limits->max_bytes_per_namespace);
    SET_IF(store->max_resources_per_publisher, limits->max_resources_per_publisher);
    SET_IF(store->max_bytes_per_publisher, limits->max_bytes_per_publisher);
    SET_IF(store->max_publishers_per_name, limits->max_publishers_per_name);
    SET_IF(store->max_withdrawal, udpai_percentage(limits->max_withdrawal));
    SET_IF(store->max_resources, limits->max_resources);
    SET_IF(store->max_bytes, limits->max_bytes);
    udpai_plan_raise_held(&settings->fanout, store->max_resources_per_namespace);
}

udpa_err
udpai_plan_log_level(const char *word, udpa_log_level *ret_level, udpa_error **ret_error)
{
    for (udpa_log_level level = UDPA_LOG_DEBUG; level <= UDPA_LOG_ERROR; level++) {
        if (strcasecmp(word, udpa_log_level_name(level)) == 0) {
            *ret_level = level;
            return UDPA_OK;
        }
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%s' must be debug, info, warning or error",
                      word);
}

static udpa_err
plan_log(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    static const udpa_log_level levels[] = {UDPA_LOG_INFO, UDPA_LOG_DEBUG, UDPA_LOG_WARNING,
                                            UDPA_LOG_ERROR};
    const Udpa__Config__V1__Log *log = plan->bootstrap.message->log;
    plan->log_level = UDPA_LOG_INFO;
    if (log && (size_t)log->level < UDPAI_ARRAY_LEN(levels))
        plan->log_level = levels[log->level];
    return options->log_level
               ? udpai_plan_log_level(options->log_level, &plan->log_level, ret_error)
               : UDPA_OK;
}

static udpa_err
plan_delegation(udpai_plan *plan)
{
    const Udpa__Config__V1__Delegation *from = plan->bootstrap.message->delegation;
    udpai_delegation_config *to = &plan->settings.node.delegation;
    if (!from)
        return UDPA_OK;
    to->n_authorities = from->n_authorities;
    to->n_prefixes = from->n_namespaces;
    udpa_err err = udpai_plan_words(plan, from->authorities, from->n_authorities, &to->authorities);
    return err == UDPA_OK
               ? udpai_plan_words(plan, from->namespaces, from->n_namespaces, &to->prefixes)
               : err;
}

/* Which there are, and who is not shown what single ones say. */
static udpa_err
plan_client_types(udpai_plan *plan)
{
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    const Udpa__Config__V1__LoadReporting *from = message->load_reporting;
    plan->n_client_types = message->n_client_types;
    udpa_err err =
        udpai_plan_types(plan, message->client_types, message->n_client_types, &plan->client_types);
    if (err != UDPA_OK || !from)
        return err;
    udpai_str *prefixes =
        udpai_plan_own(plan, udpai_alloc_array(from->n_aggregated + 1, sizeof(*prefixes)));
    for (size_t i = 0; prefixes && i < from->n_aggregated; i++)
        prefixes[i] = udpai_str_from(strcmp(from->aggregated[i], "*") ? from->aggregated[i] : "");
    plan->settings.aggregated = prefixes;
    plan->settings.n_aggregated = from->n_aggregated;
    return prefixes ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_plan_make(udpai_plan *plan,
                udpai_bootstrap *bootstrap,
                const udpai_options *options,
                udpa_error **ret_error)
{
    plan->bootstrap = *bootstrap;
    bootstrap->message = NULL;
    udpai_endpoint_settings_init(&plan->settings);
    plan_limits(plan);
    plan->settings.n_workers = plan->bootstrap.message->workers;
    if (plan->settings.n_workers) /* all that serve share it */
        plan->settings.limits.max_unfinished_bytes =
            UDPAI_MAX_UNFINISHED_BYTES / plan->settings.n_workers;
    udpai_timing_set(&plan->settings, plan->bootstrap.message->timing);
    plan_store(plan, options);
    udpa_err err = plan_log(plan, options, ret_error);
    if (err == UDPA_OK)
        err = plan_node(plan, options);
    plan->name_space = default_namespace(plan, options);
    plan_xds_namespace(plan, options);
    if (err == UDPA_OK)
        err = udpai_plan_xds(plan);
    if (err == UDPA_OK)
        err = udpai_plan_sinks_make(plan, ret_error);
    if (err == UDPA_OK)
        err = udpai_plan_validation(plan);
    if (err == UDPA_OK)
        err = udpai_plan_writers(plan, ret_error);
    if (err == UDPA_OK)
        err = plan_sockets(plan, options);
    if (err == UDPA_OK)
        err = udpai_plan_rest(plan, options);
    if (err == UDPA_OK)
        err = udpai_plan_acl(plan);
    if (err == UDPA_OK)
        err = udpai_plan_signatures(plan, ret_error);
    if (err == UDPA_OK)
        err = plan_sources(plan, options, ret_error);
    if (err == UDPA_OK)
        err = plan_delegation(plan);
    if (err == UDPA_OK)
        err = udpai_plan_delivery_make(plan);
    if (err == UDPA_OK)
        err = udpai_plan_orca(plan);
    if (err == UDPA_OK)
        err = udpai_plan_health(plan);
    if (err == UDPA_OK)
        err = udpai_plan_rtds_make(plan);
    udpai_node_config *node = &plan->settings.node;
    node->sources = plan->sources.items;
    node->n_sources = plan->sources.n;
    node->providers = plan->providers.items;
    node->n_providers = plan->providers.n;
    node->dials = plan->dials.items;
    node->n_dials = plan->dials.n;
    node->is_durable = plan->state_directory != NULL;
    node->is_restored = plan->is_restored;
    if (err == UDPA_OK)
        err = plan_client_types(plan);
    plan->settings.load_upstreams = plan->load_upstreams.items;
    plan->settings.n_load_upstreams = plan->load_upstreams.n;
    plan->settings.serves_status = true;
    plan->settings.name_space = plan->name_space;
    plan->settings.load_interval_ms = plan->lrs.interval_ms;
    return udpai_fail_code(ret_error, err);
}

void
udpai_plan_done(udpai_plan *plan)
{
    udpai_plan_delivery_done(plan);
    udpai_plan_sinks_done(plan);
    for (size_t i = 0; i < plan->sources.n; i++)
        udpai_grpc_target_drop(plan->sources.items[i].target);
    for (size_t i = 0; i < plan->dials.n; i++)
        udpai_grpc_target_drop(plan->dials.items[i].target);
    for (size_t i = 0; i < plan->load_upstreams.n; i++)
        udpai_grpc_target_drop(plan->load_upstreams.items[i].target);
    for (size_t i = 0; i < plan->writers.n; i++)
        udpai_node_info_unref(plan->writers.items[i].client);
    for (size_t i = 0; i < plan->owned.n; i++)
        udpai_free(plan->owned.items[i]);
    udpai_node_info_unref(plan->settings.info);
    udpai_acl_unref(plan->settings.node.acl);
    udpai_keyring_unref(plan->settings.node.keyring);
    udpai_vector_done(&plan->sockets);
    udpai_vector_done(&plan->http_sockets);
    udpai_vector_done(&plan->directories);
    udpai_vector_done(&plan->writers);
    udpai_vector_done(&plan->sources);
    udpai_vector_done(&plan->load_upstreams);
    udpai_vector_done(&plan->load_told);
    udpai_vector_done(&plan->dialled);
    udpai_vector_done(&plan->providers);
    udpai_vector_done(&plan->named);
    udpai_vector_done(&plan->rtds);
    udpai_vector_done(&plan->dials);
    udpai_vector_done(&plan->owned);
    udpai_bootstrap_done(&plan->bootstrap);
}
