/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap_check.h"

#include "daemon/timing.h"
#include "endpoint/exposure.h"
#include "endpoint/type.h"
#include "model/name.h"

#define PATH_MAX_LEN UDPAI_FIELD_PATH_MAX

struct check {
    const Udpa__Config__V1__Bootstrap *message;
    udpai_findings *findings;
};

/* ---- pieces that stand in several places ---- */

static void
require(struct check *check, const char *path, const char *field, const char *text)
{
    char room[PATH_MAX_LEN];
    if (!text || !*text)
        udpai_findings_mistake(check->findings, udpai_path_field(room, path, field), "is required");
}

static void
check_prefix(struct check *check, const char *path, const char *field, const char *prefix)
{
    char room[PATH_MAX_LEN];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (prefix && *prefix && udpai_prefix_check(udpai_str_from(prefix), &error) != UDPA_OK)
        udpai_findings_mistake(check->findings, udpai_path_field(room, path, field), "%s",
                               udpa_error_message(error));
}

static void
check_pair(struct check *check, const char *path, const char *certificate, const char *key)
{
    char room[PATH_MAX_LEN];
    if ((*certificate != 0) != (*key != 0))
        udpai_findings_mistake(
            check->findings,
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
check_sockets(struct check *check)
{
    for (size_t i = 0; i < check->message->n_sockets; i++) {
        const Udpa__Config__V1__Socket *socket = check->message->sockets[i];
        char path[PATH_MAX_LEN], room[PATH_MAX_LEN];
        udpai_path_item(path, "sockets", i);
        require(check, path, "address", socket->address);
        if (*socket->address && !socket->insecure && !udpai_exposure_is_loopback(socket->address))
            udpai_findings_mistake(
                check->findings, udpai_path_field(room, path, "address"),
                "'%s' is beyond loopback, where every peer may publish and subscribe to "
                "everything: listen on 127.0.0.1, or say 'insecure: true'",
                socket->address);
        if (!socket->tls)
            continue;
        udpai_path_field(room, path, "tls");
        require(check, room, "certificate_file", socket->tls->certificate_file);
        require(check, room, "private_key_file", socket->tls->private_key_file);
    }
}

static void
check_source(struct check *check, const char *path, const Udpa__Config__V1__ConfigSource *source)
{
    char room[PATH_MAX_LEN];
    require(check, path, "name", source->name);
    switch (source->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
        udpai_path_field(room, path, "udpa");
        require(check, room, "address", source->udpa->address);
        check_client_tls(check, room, source->udpa->tls);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN:
        require(check, udpai_path_field(room, path, "udpa_listen"), "peer",
                source->udpa_listen->peer);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH:
        require(check, udpai_path_field(room, path, "path"), "path", source->path->path);
        break;
    default:
        udpai_findings_mistake(check->findings, path, "needs one of udpa, udpa_listen, path");
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
        for (size_t k = 0; k < i; k++)
            if (strcmp(all->config_sources[k]->name, all->config_sources[i]->name) == 0)
                udpai_findings_mistake(check->findings, path,
                                       "'%s' is the name of another ConfigSource already",
                                       all->config_sources[i]->name);
    }
    for (size_t i = 0; all && i < all->n_directories; i++) {
        udpai_path_item(path, "static_resources.directories", i);
        require(check, path, "path", all->directories[i]->path);
        check_prefix(check, path, "namespace", all->directories[i]->namespace_);
    }
}

static bool
is_static_source(const struct check *check, const char *name)
{
    const Udpa__Config__V1__StaticResources *all = check->message->static_resources;
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, name) == 0)
            return true;
    return false;
}

static void
check_descriptor(struct check *check,
                 const char *path,
                 const Udpa__Config__V1__ConfigDescriptor *descriptor)
{
    char room[PATH_MAX_LEN];
    check_prefix(check, path, "namespace", descriptor->namespace_);
    if (descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME) {
        if (!is_static_source(check, descriptor->resource_name) &&
            !udpai_findings_is_unread(check->findings, "static_resources"))
            udpai_findings_mistake(
                check->findings, udpai_path_field(room, path, "resource_name"),
                "there is no ConfigSource '%s' in static_resources.config_sources",
                descriptor->resource_name);
    } else if (descriptor->source_case ==
               UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE) {
        check_source(check, udpai_path_field(room, path, "config_source"),
                     descriptor->config_source);
    } else {
        udpai_findings_mistake(check->findings, path, "needs one of resource_name, config_source");
    }
}

static void
check_types(struct check *check, size_t index)
{
    const Udpa__Config__V1__Provider *provider = check->message->providers[index];
    char list[PATH_MAX_LEN], path[PATH_MAX_LEN];
    udpai_path_field(list, udpai_path_item(path, "providers", index), "types");
    for (size_t i = 0; i < provider->n_types; i++) {
        for (size_t p = 0; p <= index; p++) {
            const Udpa__Config__V1__Provider *other = check->message->providers[p];
            for (size_t k = 0; k < (p == index ? i : other->n_types); k++)
                if (strcmp(other->types[k], provider->types[i]) == 0)
                    udpai_findings_mistake(check->findings, udpai_path_item(path, list, i),
                                           "type '%s' has a provider already: providers[%zu]",
                                           provider->types[i], p);
        }
    }
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
            udpai_findings_mistake(
                check->findings, path,
                "only one provider may stand for all types: name the types of this one");
        if (provider->n_config_descriptors == 0)
            udpai_findings_mistake(
                check->findings, path,
                "has no config_descriptors: where shall its resources come from?");
        check_types(check, i);
        udpai_path_field(list, path, "config_descriptors");
        for (size_t k = 0; k < provider->n_config_descriptors; k++)
            check_descriptor(check, udpai_path_item(at, list, k), provider->config_descriptors[k]);
    }
}

static void
check_rest(struct check *check)
{
    const Udpa__Config__V1__Bootstrap *message = check->message;
    char path[PATH_MAX_LEN];
    for (size_t i = 0; i < message->n_dial; i++) {
        udpai_path_item(path, "dial", i);
        require(check, path, "name", message->dial[i]->name);
        require(check, path, "address", message->dial[i]->address);
        check_client_tls(check, path, message->dial[i]->tls);
    }
    if (message->node)
        check_prefix(check, "node", "namespace", message->node->namespace_);
    if (message->shim) {
        check_prefix(check, "shim", "default_namespace", message->shim->default_namespace);
        for (size_t i = 0; i < message->shim->n_namespaces; i++)
            check_prefix(check, udpai_path_item(path, "shim.namespaces", i), "",
                         message->shim->namespaces[i]);
    }
    if (message->store && message->store->in_memory &&
        (*message->store->directory || *message->store->key_file))
        udpai_findings_mistake(check->findings, "store.in_memory",
                               "nothing is kept, so directory and key_file have no meaning");
}

void
udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message, udpai_findings *findings)
{
    struct check check = {message, findings};
    check_sockets(&check);
    check_static(&check);
    check_providers(&check);
    check_rest(&check);
    udpai_timing_check(message->timing, findings);
}
