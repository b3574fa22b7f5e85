/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/clients_check.h"

#include "model/name.h"
#include "xds/group.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;

typedef struct asked_source {
    Udpa__Config__V1__XdsSource__Audience audience;
    const char *name_space;
} asked_source;

#define SHARED UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED

struct check {
    const bootstrap_message *message;
    udpai_diagnostics *diagnostics;
};

/* ---- name spaces with words in braces ---- */

static void
check_template(const struct check *check, const char *owner, const char *name_space)
{
    char path[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_str text = udpai_str_from(name_space);
    if (udpai_xds_template_is(text) && udpai_xds_template_check(text, &error) != UDPA_OK)
        udpai_diagnostics_error(check->diagnostics,
                                udpai_path_field(path, owner, "default_namespace"), "%s",
                                udpa_error_message(error));
}

/* There they would be taken as they stand, and no client's name space lies below. */
static void
check_no_words(const struct check *check, const char *path, const char *name_space)
{
    const char *brace = strchr(name_space, '{');
    if (!brace)
        return;
    size_t len = (size_t)(brace - name_space);
    while (len && name_space[len - 1] != '/')
        len--;
    udpai_diagnostics_error(check->diagnostics, path,
                            "'%s': words in braces stand in the default_namespace of audiences "
                            "alone: write what is before them here, '%.*s'",
                            name_space, len ? (int)len - 1 : 0, name_space);
}

static void
check_shown(const struct check *check, const char *owner, char *const *namespaces, size_t n)
{
    char list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(list, owner, "namespaces");
    for (size_t i = 0; i < n; i++)
        check_no_words(check, udpai_path_item(path, list, i), namespaces[i]);
}

static void
check_templates(const struct check *check)
{
    char path[UDPAI_FIELD_PATH_MAX];
    const Udpa__Config__V1__Shim *shim = check->message->shim;
    if (shim) {
        check_template(check, "shim", shim->default_namespace);
        check_shown(check, "shim", shim->namespaces, shim->n_namespaces);
    }
    for (size_t i = 0; i < check->message->n_audiences; i++) {
        const Udpa__Config__V1__Audience *audience = check->message->audiences[i];
        udpai_path_item(path, "audiences", i);
        check_template(check, path, audience->default_namespace);
        check_shown(check, path, audience->namespaces, audience->n_namespaces);
    }
}

/* The next name space with words in it that the descriptor's source is asked for; NULL: none. */
static const char *
next_template(const struct check *check, const descriptor_message *descriptor, size_t *at)
{
    const bootstrap_message *message = check->message;
    for (; *at <= message->n_audiences; ++*at) {
        const char *text = *at < message->n_audiences ? message->audiences[*at]->default_namespace
                           : message->shim            ? message->shim->default_namespace
                                                      : "";
        if (udpai_xds_template_is(udpai_str_from(text)) &&
            udpai_prefix_covers(udpai_str_from(descriptor->namespace_), udpai_str_from(text))) {
            ++*at;
            return text;
        }
    }
    return NULL;
}

/* ---- sources ---- */

static bool
is_one_clients(const char *template)
{
    udpai_str text = udpai_str_from(template);
    return udpai_xds_template_has(text, UDPAI_STR("node_id")) ||
           udpai_xds_template_has(text, UDPAI_STR("identity"));
}

static void
check_audience_of(const struct check *check,
                  const char *path,
                  const descriptor_message *descriptor,
                  asked_source source)
{
    bool per_client = source.audience == UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__PER_CLIENT;
    size_t at = 0, n = 0;
    const char *template;
    while ((template = next_template(check, descriptor, &at))) {
        n++;
        if (per_client && !is_one_clients(template))
            udpai_diagnostics_error(
                check->diagnostics, path,
                "its source is PER_CLIENT, but several clients may share '%s': put {node_id} or "
                "{identity} into it, or make the source PER_GROUP",
                template);
    }
    if (n == 0)
        udpai_diagnostics_error(
            check->diagnostics, path,
            "its source is asked for each group of clients by itself, but there is none below "
            "'%s': give an audience a default_namespace such as %s/{node_id}",
            descriptor->namespace_,
            *descriptor->namespace_ ? descriptor->namespace_ : "com.acme/clients");
}

/* What it says of clients; SHARED for kinds that say nothing. */
static asked_source
asked_of(const Udpa__Config__V1__ConfigSource *source)
{
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        return (asked_source){source->xds->audience, source->xds->namespace_};
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
        return (asked_source){source->rest->audience, source->rest->namespace_};
    return (asked_source){SHARED, ""};
}

/* The source of a descriptor. */
static asked_source
find_source(const struct check *check, const descriptor_message *descriptor)
{
    const Udpa__Config__V1__StaticResources *all = check->message->static_resources;
    if (descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE)
        return asked_of(descriptor->config_source);
    if (descriptor->source_case != UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME)
        return (asked_source){SHARED, ""};
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, descriptor->resource_name) == 0)
            return asked_of(all->config_sources[i]);
    return (asked_source){SHARED, ""};
}

/* What is made for a group is named after the source and the name space, and found again by that.
 */
static void
check_name(const struct check *check, const Udpa__Config__V1__StaticResources *all, size_t index)
{
    char path[UDPAI_FIELD_PATH_MAX], room[UDPAI_FIELD_PATH_MAX];
    udpai_str name = udpai_str_from(all->config_sources[index]->name);
    for (size_t i = 0; i < all->n_config_sources; i++) {
        udpai_str other = udpai_str_from(all->config_sources[i]->name);
        if (asked_of(all->config_sources[i]).audience != SHARED && other.len &&
            name.len > other.len && udpai_str_starts(name, other) && name.data[other.len] == '/')
            udpai_diagnostics_error(
                check->diagnostics,
                udpai_path_field(
                    path, udpai_path_item(room, "static_resources.config_sources", index), "name"),
                "'%.*s' may be the name of what '%.*s' is asked for a group of clients by: begin "
                "it with something else than '%.*s/'",
                UDPAI_SHOWN(name), UDPAI_SHOWN(other), UDPAI_SHOWN(other));
    }
}

static void
check_descriptor(const struct check *check,
                 const char *path,
                 const Udpa__Config__V1__Provider *provider,
                 const descriptor_message *descriptor)
{
    char field[UDPAI_FIELD_PATH_MAX];
    asked_source source = find_source(check, descriptor);
    check_no_words(check, udpai_path_field(field, path, "namespace"), descriptor->namespace_);
    if (source.audience == SHARED || strchr(descriptor->namespace_, '{'))
        return;
    if (provider->n_types == 0)
        udpai_diagnostics_error(check->diagnostics, path,
                                "its source is asked for each group of clients by itself: say in "
                                "'types' of the provider for which types");
    if (*source.name_space)
        udpai_diagnostics_warn(
            check->diagnostics, path,
            "the 'namespace' of its source has no effect: what it says to a group "
            "of clients lies in the name space of the group");
    check_audience_of(check, path, descriptor, source);
}

void
udpai_clients_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const struct check check = {message, diagnostics};
    char provider[UDPAI_FIELD_PATH_MAX], list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    check_templates(&check);
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        check_name(&check, all, i);
    for (size_t i = 0; i < message->n_providers; i++) {
        udpai_path_item(provider, "providers", i);
        udpai_path_field(list, provider, "config_descriptors");
        for (size_t k = 0; k < message->providers[i]->n_config_descriptors; k++)
            check_descriptor(&check, udpai_path_item(path, list, k), message->providers[i],
                             message->providers[i]->config_descriptors[k]);
    }
}
