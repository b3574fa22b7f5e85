/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/recovery_check.h"

#include "base/strbuf.h"
#include "daemon/option_rules.h"
#include "model/client_type.h"

typedef Udpa__Config__V1__ConfigSource source_message;

#define NEITHER "can neither stand in for a node, nor take anything over"

struct check {
    const Udpa__Config__V1__Bootstrap *message;
    udpai_diagnostics *diagnostics;
};

static void
check_word(const struct check *check,
           const char *path,
           const char *word,
           udpa_err (*check_it)(const char *word, udpa_error **ret_error))
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (check_it(word, &error) != UDPA_OK)
        udpai_diagnostics_error(check->diagnostics, path, "%s", udpa_error_message(error));
}

static void
check_types(const struct check *check, const char *owner, char *const *types, size_t n_types)
{
    char list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(list, owner, "types");
    if (n_types == 0)
        udpai_diagnostics_error(check->diagnostics, owner, "needs types: which may be changed?");
    for (size_t i = 0; i < n_types; i++)
        check_word(check, udpai_path_item(path, list, i), types[i], udpai_type_check);
}

static bool
asks(const Udpa__Config__V1__Provider *provider, const char *source)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++) {
        const Udpa__Config__V1__ConfigDescriptor *at = provider->config_descriptors[i];
        if (at->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME &&
            strcmp(at->resource_name, source) == 0)
            return true;
    }
    return false;
}

static bool
has_type(const Udpa__Config__V1__Provider *provider, const char *type)
{
    for (size_t i = 0; i < provider->n_types; i++)
        if (strcmp(udpai_type_without_prefix(provider->types[i]),
                   udpai_type_without_prefix(type)) == 0)
            return true;
    return provider->n_types == 0;
}

/* What a provider takes from it counts anyway. */
static void
check_not_provided(const struct check *check,
                   const char *path,
                   const char *source,
                   const char *type)
{
    for (size_t i = 0; i < check->message->n_providers; i++) {
        const Udpa__Config__V1__Provider *provider = check->message->providers[i];
        if (asks(provider, source) && has_type(provider, type))
            udpai_diagnostics_error(check->diagnostics, path,
                                    "providers[%zu] takes '%s' from this source already: its word "
                                    "counts there, and there is nothing to take over",
                                    i, udpai_type_without_prefix(type));
    }
}

static void
check_recover(const struct check *check, const char *path, const source_message *source)
{
    const Udpa__Config__V1__Recover *recover = source->recover;
    char owner[UDPAI_FIELD_PATH_MAX], list[UDPAI_FIELD_PATH_MAX], at[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(owner, path, "recover");
    check_types(check, owner, recover->types, recover->n_types);
    udpai_path_field(list, owner, "types");
    for (size_t i = 0; i < recover->n_types; i++)
        check_not_provided(check, udpai_path_item(at, list, i), source->name, recover->types[i]);
    udpai_path_field(list, owner, "namespaces");
    for (size_t i = 0; i < recover->n_namespaces; i++)
        check_word(check, udpai_path_item(at, list, i), recover->namespaces[i],
                   udpai_namespace_check);
}

static void
check_kind(const struct check *check,
           const char *path,
           const char *field,
           const source_message *source,
           const char *why)
{
    char room[UDPAI_FIELD_PATH_MAX];
    if (source->kind_case != UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA &&
        source->kind_case != UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN)
        udpai_diagnostics_error(check->diagnostics, udpai_path_field(room, path, field),
                                "is for sources of kind udpa and udpa_listen alone: others %s",
                                why);
}

static void
say_no_report(const struct check *check, const char *path, const char *type)
{
    udpai_strbuf all = {0};
    for (size_t i = 0; udpai_client_type_at(i); i++) {
        udpai_strbuf_puts(&all, i ? ", " : "");
        udpai_strbuf_puts(&all, udpai_client_type_at(i));
    }
    udpai_diagnostics_error(check->diagnostics, path,
                            "'%s' is no type that clients report, which flow to the source: %s",
                            udpai_type_without_prefix(type), all.data ? all.data : "");
    udpai_strbuf_done(&all);
}

static void
check_standby(const struct check *check, const char *path, const source_message *source)
{
    char list[UDPAI_FIELD_PATH_MAX], at[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(list, path, "standby");
    check_kind(check, path, "standby", source, "cannot be told what clients report");
    for (size_t i = 0; i < source->n_standby; i++) {
        const char *type = source->standby[i];
        udpai_path_item(at, list, i);
        if (*type && !udpai_type_is_client(udpai_str_from(type)))
            say_no_report(check, at, type);
        else
            check_word(check, at, type, udpai_type_check);
    }
}

static void
check_source(const struct check *check, const char *path, const source_message *source)
{
    char room[UDPAI_FIELD_PATH_MAX];
    if (source->recover) {
        check_kind(check, path, "recover", source, NEITHER);
        check_recover(check, path, source);
    }
    if (source->stand_in) {
        check_kind(check, path, "stand_in", source, NEITHER);
        check_types(check, udpai_path_field(room, path, "stand_in"), source->stand_in->types,
                    source->stand_in->n_types);
    }
    if (source->n_standby)
        check_standby(check, path, source);
    check_word(check, udpai_path_field(room, path, "max_withdrawal"), source->max_withdrawal,
               udpai_percentage_check);
}

void
udpai_recovery_check_sources(const Udpa__Config__V1__Bootstrap *message,
                             udpai_diagnostics *diagnostics)
{
    const struct check check = {message, diagnostics};
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    char provider[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        check_source(&check, udpai_path_item(path, "static_resources.config_sources", i),
                     all->config_sources[i]);
    for (size_t i = 0; i < message->n_providers; i++) {
        const Udpa__Config__V1__Provider *from = message->providers[i];
        udpai_path_item(provider, "providers", i);
        udpai_path_field(provider, provider, "config_descriptors");
        for (size_t k = 0; k < from->n_config_descriptors; k++)
            if (from->config_descriptors[k]->source_case ==
                UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE) {
                udpai_path_item(path, provider, k);
                check_source(&check, udpai_path_field(path, path, "config_source"),
                             from->config_descriptors[k]->config_source);
            }
    }
}
