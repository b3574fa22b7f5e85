/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/descriptors.h"

#include "codec/suggest.h"
#include "daemon/files.h"
#include "daemon/option_rules.h"
#include "model/type_url.h"

/* ---- loading ---- */

/* Named by the option, or, if that is NULL, at the path. True: it is loaded. */
static bool
load_one(udpai_schema *schema,
         const char *file,
         const char *path,
         const char *option,
         udpai_diagnostics *diagnostics)
{
    char room[UDPAI_WHERE_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_schema_add_file(schema, file, &error) == UDPA_OK)
        return true;
    const char *text = udpa_error_message(error), *where = udpai_files_where(room, file);
    if (option)
        udpai_diagnostics_option(diagnostics, "%s: %s%s", option, text, where);
    else
        udpai_diagnostics_error(diagnostics, path, "%s%s", text, where);
    return false;
}

/* True: types other than our own are known. */
static bool
load(udpai_schema *schema,
     const Udpa__Config__V1__Bootstrap *message,
     const udpai_options *options,
     udpai_diagnostics *diagnostics)
{
    char file[PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    if (options->descriptors)
        return load_one(schema, options->descriptors, NULL, "--descriptors", diagnostics);
    if (message->n_descriptor_sets == 0)
        return udpai_schema_default_file(file) &&
               load_one(schema, file, NULL, "the default of --descriptors", diagnostics);
    bool all = true;
    for (size_t i = 0; i < message->n_descriptor_sets; i++)
        all &= load_one(schema, message->descriptor_sets[i],
                        udpai_path_item(path, "descriptor_sets", i), NULL, diagnostics);
    return all;
}

/* ---- types ---- */

/* Without descriptors of others only these are all known. */
static bool
is_our_own(udpai_str type)
{
    return udpai_str_starts(type, UDPAI_STR("google.protobuf.")) ||
           udpai_str_starts(type, UDPAI_STR("udpa."));
}

static void
check_type(const udpai_schema *schema,
           const char *type,
           const char *path,
           udpai_diagnostics *diagnostics)
{
    char hint[UDPAI_SUGGESTION_TEXT];
    udpai_str name = udpai_type_url_name(udpai_str_from(type));
    if (udpai_schema_has(schema, name) || udpai_type_check(type, NULL) != UDPA_OK)
        return;
    udpai_suggestion suggestion = udpai_suggest(name);
    for (size_t i = 0; i < udpai_schema_n_types(schema); i++)
        udpai_suggest_offer(&suggestion, udpai_schema_type_name(schema, i));
    udpai_diagnostics_warn(diagnostics, path, "type '%s' is in no descriptor set that is loaded%s",
                           UDPAI_QUOTE(name), udpai_suggestion_text(&suggestion, hint));
}

static void
check_types(const udpai_schema *schema,
            char *const *types,
            size_t n_types,
            bool all_are_known,
            const char *list,
            udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < n_types; i++)
        if (all_are_known || is_our_own(udpai_type_url_name(udpai_str_from(types[i]))))
            check_type(schema, types[i], udpai_path_item(path, list, i), diagnostics);
}

void
udpai_descriptors_load(udpai_schema *schema,
                       const Udpa__Config__V1__Bootstrap *message,
                       const udpai_options *options,
                       udpai_diagnostics *diagnostics)
{
    bool all = load(schema, message, options, diagnostics);
    for (size_t i = 0; i < message->n_providers; i++) {
        const Udpa__Config__V1__Provider *provider = message->providers[i];
        char list[UDPAI_FIELD_PATH_MAX];
        udpai_path_field(list, udpai_path_item(list, "providers", i), "types");
        check_types(schema, provider->types, provider->n_types, all, list, diagnostics);
    }
    if (message->store)
        check_types(schema, message->store->secret_types, message->store->n_secret_types, all,
                    "store.secret_types", diagnostics);
}
