/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap_check.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "daemon/acl_check.h"
#include "daemon/clients_check.h"
#include "daemon/dynamic_check.h"
#include "daemon/health.h"
#include "daemon/keepalive.h"
#include "daemon/load_check.h"
#include "daemon/mirror_check.h"
#include "daemon/option_rules.h"
#include "daemon/provider_check.h"
#include "daemon/recovery_check.h"
#include "daemon/rest_check.h"
#include "daemon/rtds_check.h"
#include "daemon/runtime_plan.h"
#include "daemon/self_check.h"
#include "daemon/signatures_check.h"
#include "daemon/sinks_check.h"
#include "daemon/sockets_check.h"
#include "daemon/source_names.h"
#include "daemon/timing.h"
#include "daemon/tree_check.h"
#include "endpoint/type.h"
#include "model/name.h"
#include "session/worker_pool.h"
#include "transport/grpc/stream_thread.h"
#include "transport/http/asker.h"
#include "xds/client_registry.h"
#include "xds/csds.h"
#include "xds/shim.h"

#define PATH_MAX_LEN UDPAI_FIELD_PATH_MAX
#define MESSAGE_BYTES_MIN 4096

struct check {
    const Udpa__Config__V1__Bootstrap *message;
    udpai_diagnostics *diagnostics;
    UDPAI_VECTOR(const char *) sources; /* names of those that were looked at */
};

/* ---- pieces that stand in several places ---- */

static void
require(struct check *check, const char *path, const char *field, const char *text)
{
    udpai_diagnostics_require(check->diagnostics, path, field, text && *text);
}

/* What may be said there, if something is. */
static void
check_word(struct check *check,
           const char *path,
           const char *field,
           const char *word,
           udpa_err (*check_it)(const char *word, udpa_error **ret_error))
{
    char room[PATH_MAX_LEN];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (*word && check_it(word, &error) != UDPA_OK)
        udpai_diagnostics_error(check->diagnostics, udpai_path_field(room, path, field), "%s",
                                udpa_error_message(error));
}

static udpa_err
check_prefix(const char *prefix, udpa_error **ret_error)
{
    return udpai_prefix_check(udpai_str_from(prefix), ret_error);
}

static void
check_dialled(struct check *check, const char *path, const char *address)
{
    require(check, path, "address", address);
    check_word(check, path, "address", address, udpai_dial_address_check);
}

static void
check_pair(struct check *check, const char *path, const char *certificate, const char *key)
{
    char room[PATH_MAX_LEN];
    if ((*certificate != 0) != (*key != 0))
        udpai_diagnostics_error(
            check->diagnostics,
            udpai_path_field(room, path, *certificate ? "certificate_file" : "private_key_file"),
            "certificate_file and private_key_file come together: the other one is missing");
}

static void
check_client_tls(struct check *check, const char *path, const Udpa__Config__V1__ClientTls *tls)
{
    char room[PATH_MAX_LEN];
    if (!tls)
        return;
    udpai_path_field(room, path, "tls");
    require(check, room, "ca_file", tls->ca_file);
    check_pair(check, room, tls->certificate_file, tls->private_key_file);
}

/* ---- sections ---- */

static void
check_source_name(struct check *check, const char *path, const char *name)
{
    require(check, path, "name", name);
    for (size_t i = 0; *name && i < check->sources.n; i++)
        if (strcmp(check->sources.items[i], name) == 0)
            udpai_diagnostics_error(check->diagnostics, path,
                                    "'%s' is the name of another ConfigSource already", name);
    if (!udpai_vector_push(&check->sources, name))
        check->diagnostics->has_failed = true;
}

static void
check_xds_service(struct check *check, const char *path, const Udpa__Config__V1__XdsSource *source)
{
    char room[PATH_MAX_LEN];
    bool is_delta = source->protocol == UDPA__CONFIG__V1__XDS_SOURCE__PROTOCOL__DELTA;
    char *type = udpai_type_url_complete(source->type);
    if (!type)
        check->diagnostics->has_failed = true;
    else if (!udpai_xds_has_service(udpai_str_from(type),
                                    is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW))
        udpai_diagnostics_error(
            check->diagnostics, udpai_path_field(room, path, "type"),
            "xDS has no service for type '%s' in this protocol: leave it out, to "
            "call the aggregated one",
            type);
    udpai_free(type);
}

static void
check_xds_source(struct check *check, const char *path, const Udpa__Config__V1__XdsSource *source)
{
    check_dialled(check, path, source->address);
    check_client_tls(check, path, source->tls);
    require(check, path, "authority", source->authority);
    check_word(check, path, "namespace", source->namespace_, udpai_namespace_check);
    check_word(check, path, "type", source->type, udpai_type_check);
    if (*source->type)
        check_xds_service(check, path, source);
    udpai_keepalive_check(source->keepalive, path, check->diagnostics);
    char room[PATH_MAX_LEN];
    if (source->load_reporting &&
        source->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        udpai_diagnostics_error(check->diagnostics, udpai_path_field(room, path, "load_reporting"),
                                "is for sources that are asked once for all clients: leave "
                                "'audience' out, or name the server in another source for it");
}

static void
check_rest_source(struct check *check, const char *path, const Udpa__Config__V1__RestSource *source)
{
    require(check, path, "address", source->address);
    check_word(check, path, "address", source->address, udpai_http_address_check);
    check_client_tls(check, path, source->tls);
    require(check, path, "authority", source->authority);
    check_word(check, path, "namespace", source->namespace_, udpai_namespace_check);
    udpai_rest_check_times(source, path, check->diagnostics);
}

static void
check_source(struct check *check, const char *path, const Udpa__Config__V1__ConfigSource *source)
{
    char room[PATH_MAX_LEN];
    check_source_name(check, path, source->name);
    switch (source->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
        udpai_path_field(room, path, "udpa");
        check_dialled(check, room, source->udpa->address);
        check_client_tls(check, room, source->udpa->tls);
        udpai_keepalive_check(source->udpa->keepalive, room, check->diagnostics);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN:
        require(check, udpai_path_field(room, path, "udpa_listen"), "peer",
                source->udpa_listen->peer);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH:
        require(check, udpai_path_field(room, path, "path"), "path", source->path->path);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS:
        check_xds_source(check, udpai_path_field(room, path, "xds"), source->xds);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST:
        check_rest_source(check, udpai_path_field(room, path, "rest"), source->rest);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_RUNTIME_TREE:
        udpai_tree_check(check->message, source->runtime_tree,
                         udpai_path_field(room, path, "runtime_tree"), check->diagnostics);
        break;
    default:
        udpai_diagnostics_error(check->diagnostics, path,
                                "needs one of udpa, udpa_listen, path, xds, rest, runtime_tree");
        break;
    }
}

static void
check_static(struct check *check)
{
    const Udpa__Config__V1__StaticResources *all = check->message->static_resources;
    char path[PATH_MAX_LEN];
    for (size_t i = 0; all && i < all->n_config_sources; i++) {
        udpai_path_item(path, "static_resources.config_sources", i);
        check_source(check, path, all->config_sources[i]);
    }
    for (size_t i = 0; all && i < all->n_directories; i++) {
        udpai_path_item(path, "static_resources.directories", i);
        require(check, path, "path", all->directories[i]->path);
        check_word(check, path, "namespace", all->directories[i]->namespace_,
                   udpai_namespace_check);
        check_word(check, path, "max_withdrawal", all->directories[i]->max_withdrawal,
                   udpai_percentage_check);
    }
}

/* With dynamic_sources one may come later. */
static void
check_is_there(struct check *check, const char *path, const char *name)
{
    char room[PATH_MAX_LEN], hint[UDPAI_CHOICE_TEXT];
    udpai_path_field(room, path, "resource_name");
    if (udpai_static_source_is_there(check->message->static_resources, name) ||
        udpai_diagnostics_is_unread(check->diagnostics, "static_resources"))
        return;
    if (check->message->dynamic_sources)
        udpai_diagnostics_warn(
            check->diagnostics, room,
            "there is no ConfigSource '%s' in static_resources.config_sources: "
            "until a resource brings it, nothing comes from it%s",
            name, udpai_static_source_suggest(check->message->static_resources, name, hint));
    else
        udpai_diagnostics_error(
            check->diagnostics, room,
            "there is no ConfigSource '%s' in static_resources.config_sources%s", name,
            udpai_static_source_suggest(check->message->static_resources, name, hint));
}

static void
check_descriptor(struct check *check,
                 const char *path,
                 const Udpa__Config__V1__ConfigDescriptor *descriptor)
{
    char room[PATH_MAX_LEN];
    check_word(check, path, "namespace", descriptor->namespace_, udpai_namespace_check);
    if (descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME) {
        check_is_there(check, path, descriptor->resource_name);
    } else if (descriptor->source_case ==
               UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE) {
        check_source(check, udpai_path_field(room, path, "config_source"),
                     descriptor->config_source);
    } else {
        udpai_diagnostics_error(check->diagnostics, path,
                                "needs one of resource_name, config_source");
    }
}

static void
check_is_first(struct check *check, size_t provider, size_t type, const char *path)
{
    Udpa__Config__V1__Provider *const *all = check->message->providers;
    const char *name = udpai_type_without_prefix(all[provider]->types[type]);
    for (size_t p = 0; p <= provider; p++)
        for (size_t k = 0; k < (p == provider ? type : all[p]->n_types); k++)
            if (strcmp(udpai_type_without_prefix(all[p]->types[k]), name) == 0)
                udpai_diagnostics_error(check->diagnostics, path,
                                        "type '%s' has a provider already: providers[%zu]", name,
                                        p);
}

static void
check_types(struct check *check, size_t index, const char *provider_path)
{
    const Udpa__Config__V1__Provider *provider = check->message->providers[index];
    char list[PATH_MAX_LEN], path[PATH_MAX_LEN];
    udpai_path_field(list, provider_path, "types");
    for (size_t i = 0; i < provider->n_types; i++) {
        udpai_path_item(path, list, i);
        check_word(check, path, "", provider->types[i], udpai_type_check);
        check_is_first(check, index, i, path);
        require(check, path, "", provider->types[i]);
    }
}

static bool
mirrors(const Udpa__Config__V1__Provider *provider)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++)
        if (provider->config_descriptors[i]->mode ==
            UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__MIRROR)
            return true;
    return false;
}

static void
check_providers(struct check *check)
{
    size_t n_for_all = 0;
    for (size_t i = 0; i < check->message->n_providers; i++) {
        const Udpa__Config__V1__Provider *provider = check->message->providers[i];
        char path[PATH_MAX_LEN], list[PATH_MAX_LEN], at[PATH_MAX_LEN];
        udpai_path_item(path, "providers", i);
        if (provider->n_types == 0 && n_for_all++ > 0)
            udpai_diagnostics_error(
                check->diagnostics, path,
                "only one provider may stand for all types: name the types of this one");
        else if (provider->n_types == 0 && mirrors(provider))
            udpai_diagnostics_warn(
                check->diagnostics, path,
                "names no types, so it has each from when somebody here first "
                "asks for it: to mirror everything from the start, list the types");
        if (provider->n_config_descriptors == 0)
            udpai_diagnostics_error(
                check->diagnostics, path,
                "has no config_descriptors: where shall its resources come from?");
        check_types(check, i, path);
        udpai_mirror_check(check->message, provider, path, check->diagnostics);
        udpai_path_field(list, path, "config_descriptors");
        for (size_t k = 0; k < provider->n_config_descriptors; k++)
            check_descriptor(check, udpai_path_item(at, list, k), provider->config_descriptors[k]);
    }
}

/* ---- the rest ---- */

static void
check_dials(struct check *check)
{
    for (size_t i = 0; i < check->message->n_dial; i++) {
        const Udpa__Config__V1__Dial *dial = check->message->dial[i];
        char path[PATH_MAX_LEN];
        udpai_path_item(path, "dial", i);
        require(check, path, "name", dial->name);
        check_dialled(check, path, dial->address);
        check_client_tls(check, path, dial->tls);
        udpai_keepalive_check(dial->keepalive, path, check->diagnostics);
    }
}

static void
check_forwards(struct check *check)
{
    for (size_t i = 0; i < check->message->n_sinks; i++) {
        const Udpa__Config__V1__SinkForward *forward = check->message->sinks[i]->forward;
        char path[PATH_MAX_LEN], room[PATH_MAX_LEN];
        if (!forward)
            continue;
        udpai_path_item(path, "sinks", i);
        udpai_path_field(room, path, "forward");
        check_dialled(check, room, forward->address);
        check_client_tls(check, room, forward->tls);
    }
}

static void
check_type_list(struct check *check, const char *list, char *const *types, size_t n_types)
{
    char path[PATH_MAX_LEN];
    for (size_t i = 0; i < n_types; i++) {
        udpai_path_item(path, list, i);
        check_word(check, path, "", types[i], udpai_type_check);
        require(check, path, "", types[i]);
    }
}

/* What xDS clients are shown. */
static void
check_shown(struct check *check,
            const char *owner_path,
            const char *default_namespace,
            char *const *namespaces,
            size_t n_namespaces)
{
    char list[PATH_MAX_LEN], path[PATH_MAX_LEN];
    check_word(check, owner_path, "default_namespace", default_namespace, udpai_namespace_check);
    udpai_path_field(list, owner_path, "namespaces");
    for (size_t i = 0; i < n_namespaces; i++)
        check_word(check, udpai_path_item(path, list, i), "", namespaces[i], check_prefix);
}

static void
check_names(struct check *check)
{
    const Udpa__Config__V1__Node *node = check->message->node;
    const Udpa__Config__V1__Shim *shim = check->message->shim;
    if (node) {
        check_word(check, "node", "id", node->id, udpai_node_id_check);
        check_word(check, "node", "namespace", node->namespace_, udpai_namespace_check);
    }
    if (!shim)
        return;
    check_shown(check, "shim", shim->default_namespace, shim->namespaces, shim->n_namespaces);
    check_type_list(check, "shim.explicit_wildcard_types", shim->explicit_wildcard_types,
                    shim->n_explicit_wildcard_types);
}

static void
check_words(struct check *check,
            const char *match_path,
            const char *field,
            char *const *words,
            size_t n_words)
{
    char list[PATH_MAX_LEN], path[PATH_MAX_LEN];
    udpai_path_field(list, match_path, field);
    for (size_t i = 0; i < n_words; i++)
        require(check, udpai_path_item(path, list, i), "", words[i]);
}

static void
check_match(struct check *check, const char *path, const Udpa__Config__V1__ClientMatch *match)
{
    char list[PATH_MAX_LEN], at[PATH_MAX_LEN];
    check_words(check, path, "identities", match->identities, match->n_identities);
    check_words(check, path, "node_ids", match->node_ids, match->n_node_ids);
    check_words(check, path, "clusters", match->clusters, match->n_clusters);
    check_words(check, path, "client_features", match->client_features, match->n_client_features);
    udpai_path_field(list, path, "metadata");
    for (size_t i = 0; i < match->n_metadata; i++)
        if (match->metadata[i]->n_path == 0)
            require(check, udpai_path_item(at, list, i), "path", "");
    udpai_path_field(list, path, "dynamic_parameters");
    for (size_t i = 0; i < match->n_dynamic_parameters; i++)
        require(check, udpai_path_item(at, list, i), "key", match->dynamic_parameters[i]->key);
}

static bool
matches_everybody(const Udpa__Config__V1__Audience *audience)
{
    const Udpa__Config__V1__ClientMatch *match = audience->match;
    return !match || (match->n_identities == 0 && match->n_node_ids == 0 &&
                      match->n_clusters == 0 && !match->locality && match->n_metadata == 0 &&
                      match->n_client_features == 0 && match->n_dynamic_parameters == 0);
}

static void
check_audiences(struct check *check)
{
    const Udpa__Config__V1__Bootstrap *message = check->message;
    char path[PATH_MAX_LEN], at[PATH_MAX_LEN];
    for (size_t i = 0; i < message->n_audiences; i++) {
        const Udpa__Config__V1__Audience *audience = message->audiences[i];
        udpai_path_item(path, "audiences", i);
        require(check, path, "name", audience->name);
        check_shown(check, path, audience->default_namespace, audience->namespaces,
                    audience->n_namespaces);
        if (audience->match)
            check_match(check, udpai_path_field(at, path, "match"), audience->match);
        if (i > 0 && matches_everybody(message->audiences[i - 1]))
            udpai_diagnostics_error(check->diagnostics, path,
                                    "nobody comes so far: every client belongs to the audience "
                                    "before it, which has no match");
    }
    if (message->n_audiences && message->shim && message->shim->n_namespaces)
        udpai_diagnostics_error(check->diagnostics, "shim.namespaces",
                                "has no effect beside audiences, each of which says its own");
    if (message->n_audiences && message->shim && message->shim->resource_errors)
        udpai_diagnostics_error(check->diagnostics, "shim.resource_errors",
                                "has no effect beside audiences, each of which says its own");
}

static void
check_validation(struct check *check)
{
    const Udpa__Config__V1__Validation *validation = check->message->validation;
    char path[PATH_MAX_LEN], list[PATH_MAX_LEN];
    for (size_t i = 0; validation && i < validation->n_types; i++) {
        const Udpa__Config__V1__TypeValidation *of = validation->types[i];
        udpai_path_item(path, "validation.types", i);
        udpai_path_field(list, path, "types");
        check_type_list(check, list, of->types, of->n_types);
        if (of->n_types == 0)
            require(check, path, "types", "");
    }
}

/* Payloads of secrets are never written unencrypted. */
static bool
is_secret(const struct check *check, const char *type)
{
    const Udpa__Config__V1__Store *store = check->message->store;
    for (size_t i = 0; store && i < store->n_secret_types; i++)
        if (strcmp(udpai_type_without_prefix(store->secret_types[i]),
                   udpai_type_without_prefix(type)) == 0)
            return true;
    return strcmp(udpai_type_without_prefix(type), UDPAI_TYPE_NAME(UDPAI_TYPE_SECRET)) == 0;
}

static void
check_written_type(struct check *check, const char *list, char *const *types, size_t index)
{
    char path[PATH_MAX_LEN];
    udpai_path_item(path, list, index);
    if (is_secret(check, types[index]))
        udpai_diagnostics_error(check->diagnostics, path,
                                "secrets are not written into files, which are not encrypted");
    for (size_t i = 0; i < index; i++)
        if (strcmp(udpai_type_without_prefix(types[i]), udpai_type_without_prefix(types[index])) ==
            0)
            udpai_diagnostics_error(check->diagnostics, path, "'%s' is in the list before",
                                    udpai_type_without_prefix(types[index]));
}

/* But for slashes at the end. */
static bool
is_same_path(const char *one, const char *other)
{
    udpai_str a = udpai_str_from(one), b = udpai_str_from(other);
    while (a.len > 1 && a.data[a.len - 1] == '/')
        a.len--;
    while (b.len > 1 && b.data[b.len - 1] == '/')
        b.len--;
    return a.len > 0 && udpai_str_eq(a, b);
}

/* What is written where resources are read would be read as resources, and written again. */
static void
check_not_read(struct check *check, const char *path, const char *directory)
{
    const Udpa__Config__V1__StaticResources *all = check->message->static_resources;
    for (size_t i = 0; all && i < all->n_directories; i++)
        if (is_same_path(all->directories[i]->path, directory))
            udpai_diagnostics_error(check->diagnostics, path,
                                    "static_resources.directories[%zu] reads this directory: "
                                    "write into another one",
                                    i);
    for (size_t i = 0; all && i < all->n_config_sources; i++) {
        const Udpa__Config__V1__ConfigSource *source = all->config_sources[i];
        if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH &&
            is_same_path(source->path->path, directory))
            udpai_diagnostics_error(check->diagnostics, path,
                                    "static_resources.config_sources[%zu] reads this directory: "
                                    "write into another one",
                                    i);
    }
}

static void
check_write_files(struct check *check)
{
    const Udpa__Config__V1__Bootstrap *message = check->message;
    char path[PATH_MAX_LEN], list[PATH_MAX_LEN];
    for (size_t i = 0; i < message->n_write_files; i++) {
        const Udpa__Config__V1__WriteFiles *files = message->write_files[i];
        udpai_path_item(path, "write_files", i);
        require(check, path, "directory", files->directory);
        for (size_t k = 0; k < i; k++)
            if (is_same_path(message->write_files[k]->directory, files->directory))
                udpai_diagnostics_error(check->diagnostics, path,
                                        "write_files[%zu] has the same directory", k);
        check_not_read(check, path, files->directory);
        udpai_path_field(list, path, "types");
        check_type_list(check, list, files->types, files->n_types);
        for (size_t k = 0; k < files->n_types; k++)
            check_written_type(check, list, files->types, k);
    }
}

static void
check_authorities(struct check *check)
{
    const Udpa__Config__V1__Bootstrap *message = check->message;
    char path[PATH_MAX_LEN];
    for (size_t i = 0; i < message->n_authorities; i++) {
        const Udpa__Config__V1__Authority *authority = message->authorities[i];
        udpai_path_item(path, "authorities", i);
        require(check, path, "namespace", authority->namespace_);
        check_word(check, path, "namespace", authority->namespace_, check_prefix);
        for (size_t k = 0; k < i; k++)
            if (strcmp(message->authorities[k]->name, authority->name) == 0)
                udpai_diagnostics_error(check->diagnostics, path,
                                        "the authority '%s' is there already: it stands for one "
                                        "namespace",
                                        authority->name);
    }
}

static void
check_store(struct check *check)
{
    const Udpa__Config__V1__Store *store = check->message->store;
    if (store && store->in_memory && (*store->directory || *store->key_file))
        udpai_diagnostics_error(check->diagnostics, "store.in_memory",
                                "nothing is kept, so directory and key_file have no meaning");
    if (store)
        check_type_list(check, "store.secret_types", store->secret_types, store->n_secret_types);
}

/* 0 is the default. */
static void
check_message_size(struct check *check, const char *field, uint32_t size)
{
    char path[PATH_MAX_LEN];
    if (size && size < MESSAGE_BYTES_MIN)
        udpai_diagnostics_error(check->diagnostics, udpai_path_field(path, "limits", field),
                                "%" PRIu32 " is too small: hardly a message could come in; it must "
                                "be at least %d",
                                size, MESSAGE_BYTES_MIN);
}

static void
check_duration(const struct check *check,
               const char *path,
               const Google__Protobuf__Duration *duration,
               uint64_t min_ms,
               uint64_t max_ms)
{
    if (!duration)
        return;
    bool is_sane = duration->seconds >= 0 && duration->nanos >= 0 &&
                   duration->seconds <= (int64_t)(max_ms / 1000);
    uint64_t ms = is_sane ? (uint64_t)duration->seconds * 1000 + (uint64_t)duration->nanos / 1000000
                          : UINT64_MAX;
    if (ms < min_ms || ms > max_ms)
        udpai_diagnostics_error(check->diagnostics, path, "must lie between %g s and %g s",
                                (double)min_ms / 1000, (double)max_ms / 1000);
}

static void
check_client_status(const struct check *check)
{
    const Udpa__Config__V1__ClientStatus *status = check->message->client_status;
    if (!status)
        return;
    check_duration(check, "client_status.ttl", status->ttl, UDPAI_CENSUS_TTL_MIN_MS,
                   UDPAI_CENSUS_TTL_MAX_MS);
    check_duration(check, "client_status.wait", status->wait, 0, UDPAI_CSDS_WAIT_MAX_MS);
}

static void
check_shim(const struct check *check)
{
    const Udpa__Config__V1__Shim *shim = check->message->shim;
    if (!shim)
        return;
    check_duration(check, "shim.warm_timeout", shim->warm_timeout, 0,
                   UDPAI_XDS_WARM_TIMEOUT_MAX_MS);
    check_duration(check, "shim.absent_route_delay", shim->absent_route_delay, 0,
                   UDPAI_XDS_ABSENT_ROUTE_DELAY_MAX_MS);
}

void
udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    struct check check = {.message = message, .diagnostics = diagnostics};
    const Udpa__Config__V1__Limits *limits = message->limits;
    udpai_sockets_check(message, diagnostics);
    check_static(&check);
    check_providers(&check);
    udpai_provider_check(message, diagnostics);
    udpai_self_check(message, diagnostics);
    udpai_delegation_check(message, diagnostics);
    udpai_dynamic_check(message, diagnostics);
    udpai_rest_check_types(message, diagnostics);
    check_dials(&check);
    check_names(&check);
    check_audiences(&check);
    udpai_clients_check(message, diagnostics);
    udpai_recovery_check_sources(message, diagnostics);
    udpai_acl_check(message, diagnostics);
    udpai_signatures_check(message, diagnostics);
    check_authorities(&check);
    check_store(&check);
    check_validation(&check);
    check_write_files(&check);
    udpai_sinks_check(message, diagnostics);
    check_forwards(&check);
    if (limits) {
        check_message_size(&check, "max_message_bytes_from_clients",
                           limits->max_message_bytes_from_clients);
        check_message_size(&check, "max_message_bytes_from_sources",
                           limits->max_message_bytes_from_sources);
        check_word(&check, "limits", "max_withdrawal", limits->max_withdrawal,
                   udpai_percentage_check);
    }
    if (message->workers >= UDPAI_WORKER_POOL_MAX)
        udpai_diagnostics_error(diagnostics, "workers", "%" PRIu32 " are too many: at most %d",
                                message->workers, UDPAI_WORKER_POOL_MAX - 1);
    udpai_load_check(message, diagnostics);
    udpai_health_check(message->health, diagnostics);
    check_client_status(&check);
    check_shim(&check);
    udpai_runtime_check(message, diagnostics);
    udpai_rtds_check(message, diagnostics);
    udpai_timing_check(message->timing, diagnostics);
    udpai_vector_done(&check.sources);
}
