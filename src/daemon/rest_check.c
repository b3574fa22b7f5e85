/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/rest_check.h"

#include "base/alloc.h"
#include "daemon/option_rules.h"
#include "daemon/provider_check.h"
#include "endpoint/type.h"
#include "xds/shim.h"

#define SHORTEST_REFRESH_MS 100
#define SHORTEST_TIMEOUT_MS 100
#define LONGEST_MS ((int64_t)3600 * 1000)

typedef Udpa__Config__V1__ConfigSource source_message;

/* ---- times ---- */

static void
check_time(const Google__Protobuf__Duration *time,
           int64_t shortest_ms,
           const char *path,
           const char *field,
           udpai_diagnostics *diagnostics)
{
    char room[UDPAI_FIELD_PATH_MAX];
    if (!time)
        return;
    bool is_sane = time->seconds >= 0 && time->nanos >= 0 && time->seconds <= LONGEST_MS / 1000;
    int64_t ms = is_sane ? time->seconds * 1000 + time->nanos / 1000000 : -1;
    if (ms < shortest_ms || ms > LONGEST_MS)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, field),
                                "must lie between %g s and 1 h", (double)shortest_ms / 1000);
}

void
udpai_rest_check_times(const Udpa__Config__V1__RestSource *source,
                       const char *path,
                       udpai_diagnostics *diagnostics)
{
    check_time(source->refresh_delay, SHORTEST_REFRESH_MS, path, "refresh_delay", diagnostics);
    check_time(source->request_timeout, SHORTEST_TIMEOUT_MS, path, "request_timeout", diagnostics);
}

/* ---- types ---- */

/* The first of kind rest; NULL: there is none. */
static const source_message *
find_polled(const Udpa__Config__V1__Bootstrap *message, const Udpa__Config__V1__Provider *provider)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++) {
        const source_message *source =
            udpai_source_of_descriptor(message, provider->config_descriptors[i]);
        if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
            return source;
    }
    return NULL;
}

static void
check_type(const char *type, const char *path, const source_message *source, udpai_diagnostics *to)
{
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(type);
    if (!type_url)
        to->has_failed = true;
    else if (udpai_xds_rest_index(udpai_str_from(type_url)) == UDPAI_XDS_POLLS &&
             udpai_type_check(type, NULL) == UDPA_OK)
        udpai_diagnostics_error(
            to, path,
            "REST has no path for type '%s', and '%s' is a ConfigSource of kind "
            "rest: give this type a provider without it",
            type, source->name);
}

void
udpai_rest_check_types(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    for (size_t i = 0; i < message->n_providers; i++) {
        const Udpa__Config__V1__Provider *provider = message->providers[i];
        const source_message *source = find_polled(message, provider);
        char list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
        udpai_path_field(list, udpai_path_item(list, "providers", i), "types");
        for (size_t k = 0; source && k < provider->n_types; k++)
            check_type(provider->types[k], udpai_path_item(path, list, k), source, diagnostics);
    }
}
