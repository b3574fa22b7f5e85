/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dynamic_check.h"

#include <inttypes.h>

#include "model/name.h"

#define SOURCES "dynamic_sources"
#define SOURCES_MAX 1024
#define COLLECTIONS "orca_collections"
#define BACKENDS_MAX 10000

typedef Udpa__Config__V1__Bootstrap bootstrap_message;

/* What sections have in common by which resources of others tell this node whom to dial. */
struct section {
    const char *name;
    const char *whose; /* "whose resources …?" */
    char **authorities;
    size_t n_authorities;
    char **namespaces;
    size_t n_namespaces;
    Udpa__Config__V1__Credential **credentials;
    size_t n_credentials;
};

static const char *
path_of(char path[UDPAI_FIELD_PATH_MAX], const struct section *section, const char *field)
{
    return udpai_path_field(path, section->name, field);
}

static const char *
item_of(char path[UDPAI_FIELD_PATH_MAX],
        const struct section *section,
        const char *field,
        size_t index)
{
    char list[UDPAI_FIELD_PATH_MAX];
    return udpai_path_item(path, path_of(list, section, field), index);
}

static void
check_whose(const struct section *section, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    if (section->n_authorities == 0)
        udpai_diagnostics_error(diagnostics, path_of(path, section, "authorities"),
                                "is required: whose resources %s? \"*\" is everybody's",
                                section->whose);
    for (size_t i = 0; i < section->n_authorities; i++)
        if (!*section->authorities[i])
            udpai_diagnostics_error(diagnostics, item_of(path, section, "authorities", i),
                                    "is empty");
    for (size_t i = 0; i < section->n_namespaces; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        item_of(path, section, "namespaces", i);
        if (!*section->namespaces[i])
            udpai_diagnostics_error(diagnostics, path,
                                    "is empty: leave 'namespaces' out if all are meant");
        else if (udpai_prefix_check(udpai_str_from(section->namespaces[i]), &error) != UDPA_OK)
            udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
    }
}

static void
check_files(const Udpa__Config__V1__ClientTls *tls,
            const char *owner,
            udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX], room[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(path, owner, "tls");
    if (!tls) {
        udpai_diagnostics_error(diagnostics, path, "is required");
        return;
    }
    if (!*tls->ca_file)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "ca_file"),
                                "is required");
    if ((*tls->certificate_file != 0) != (*tls->private_key_file != 0))
        udpai_diagnostics_error(
            diagnostics,
            udpai_path_field(room, path,
                             *tls->certificate_file ? "certificate_file" : "private_key_file"),
            "certificate_file and private_key_file come together: the other one is missing");
}

static void
check_credentials(const struct section *section, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX], room[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < section->n_credentials; i++) {
        const Udpa__Config__V1__Credential *credential = section->credentials[i];
        item_of(path, section, "credentials", i);
        if (!*credential->name)
            udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "name"),
                                    "is required");
        for (size_t k = 0; k < i && *credential->name; k++)
            if (strcmp(section->credentials[k]->name, credential->name) == 0)
                udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "name"),
                                        "'%s' is the name of another credential already",
                                        credential->name);
        check_files(credential->tls, path, diagnostics);
    }
}

/* One of the file has tls of its own. */
static void
check_source(const Udpa__Config__V1__ConfigSource *source,
             const char *owner,
             udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    if (*source->credential)
        udpai_diagnostics_error(diagnostics, udpai_path_field(path, owner, "credential"),
                                "is for ConfigSources that are resources: write 'tls' here");
}

static void
check_sources(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        check_source(all->config_sources[i],
                     udpai_path_item(path, "static_resources.config_sources", i), diagnostics);
    for (size_t i = 0; i < message->n_providers; i++)
        for (size_t k = 0; k < message->providers[i]->n_config_descriptors; k++) {
            const Udpa__Config__V1__ConfigDescriptor *descriptor =
                message->providers[i]->config_descriptors[k];
            if (descriptor->source_case !=
                UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE)
                continue;
            udpai_path_field(path, udpai_path_item(path, "providers", i), "config_descriptors");
            udpai_path_field(path, udpai_path_item(path, path, k), "config_source");
            check_source(descriptor->config_source, path, diagnostics);
        }
}

static void
check_dynamic(const Udpa__Config__V1__DynamicSources *from, udpai_diagnostics *diagnostics)
{
    const struct section section = {
        SOURCES,          "shall become sources", from->authorities, from->n_authorities,
        from->namespaces, from->n_namespaces,     from->credentials, from->n_credentials,
    };

    check_whose(&section, diagnostics);
    check_credentials(&section, diagnostics);
    if (from->max > SOURCES_MAX)
        udpai_diagnostics_error(diagnostics, SOURCES ".max", "%" PRIu32 " is too many: at most %d",
                                from->max, SOURCES_MAX);
}

static void
check_collections(const Udpa__Config__V1__OrcaCollections *from, udpai_diagnostics *diagnostics)
{
    const struct section section = {
        COLLECTIONS,      "shall name backends to ask", from->authorities, from->n_authorities,
        from->namespaces, from->n_namespaces,           from->credentials, from->n_credentials,
    };

    check_whose(&section, diagnostics);
    check_credentials(&section, diagnostics);
    if (from->max_backends > BACKENDS_MAX)
        udpai_diagnostics_error(diagnostics, COLLECTIONS ".max_backends",
                                "%" PRIu32 " are too many: at most %d", from->max_backends,
                                BACKENDS_MAX);
}

void
udpai_dynamic_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    check_sources(message, diagnostics);
    if (message->dynamic_sources)
        check_dynamic(message->dynamic_sources, diagnostics);
    if (message->orca_collections)
        check_collections(message->orca_collections, diagnostics);
}
