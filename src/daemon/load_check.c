/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/load_check.h"

#include "base/alloc.h"
#include "daemon/option_rules.h"
#include "endpoint/type.h"
#include "model/client_type.h"
#include "model/name.h"
#include "model/type_url.h"
#include "xds/lrs.h"
#include "xds/shim.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__LoadReporting reporting_message;

static void
check_interval(const reporting_message *reporting, udpai_diagnostics *diagnostics)
{
    const Google__Protobuf__Duration *interval = reporting->interval;
    const int64_t max_s = UDPAI_LRS_INTERVAL_MAX_MS / 1000;
    if (!interval)
        return;
    bool is_sane = interval->seconds >= 0 && interval->nanos >= 0 && interval->seconds <= max_s;
    int64_t ms = is_sane ? interval->seconds * 1000 + interval->nanos / 1000000 : -1;
    if (ms < UDPAI_LRS_INTERVAL_MIN_MS || ms > (int64_t)UDPAI_LRS_INTERVAL_MAX_MS)
        udpai_diagnostics_error(diagnostics, "load_reporting.interval",
                                "must lie between %g s and 1 h",
                                (double)UDPAI_LRS_INTERVAL_MIN_MS / 1000);
}

static void
check_aggregated(const reporting_message *reporting, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < reporting->n_aggregated; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        const char *prefix = reporting->aggregated[i];
        udpai_path_item(path, "load_reporting.aggregated", i);
        if (!*prefix)
            udpai_diagnostics_error(diagnostics, path, "is empty: \"*\" is all");
        else if (strcmp(prefix, "*") != 0 &&
                 udpai_prefix_check(udpai_str_from(prefix), &error) != UDPA_OK)
            udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
    }
}

/* ---- further types ---- */

static bool
has_provider(const bootstrap_message *message, udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < message->n_providers; i++)
        for (size_t k = 0; k < message->providers[i]->n_types; k++)
            if (udpai_str_eq(udpai_type_url_name(udpai_str_from(message->providers[i]->types[k])),
                             name))
                return true;
    return false;
}

static void
check_type(const bootstrap_message *message,
           const char *type_url,
           const char *path,
           udpai_diagnostics *diagnostics)
{
    udpai_str type = udpai_str_from(type_url);
    if (udpai_xds_has_service(type, UDPAI_XDS_STREAM_DELTA) ||
        udpai_xds_has_service(type, UDPAI_XDS_STREAM_SOTW))
        udpai_diagnostics_error(diagnostics, path, "'%s' is configuration, which flows down",
                                type_url);
    else if (has_provider(message, type))
        udpai_diagnostics_error(diagnostics, path,
                                "'%s' has a provider, but clients bring it, and no source does",
                                type_url);
}

static void
check_types(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < message->n_client_types; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(message->client_types[i]);
        udpai_path_item(path, "client_types", i);
        if (!type_url)
            diagnostics->has_failed = true;
        else if (!*message->client_types[i])
            udpai_diagnostics_error(diagnostics, path, "is empty");
        else if (udpai_type_check(message->client_types[i], &error) != UDPA_OK)
            udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
        else
            check_type(message, type_url, path, diagnostics);
    }
    if (message->n_client_types > UDPAI_CLIENT_TYPES_MAX)
        udpai_diagnostics_error(diagnostics, "client_types", "%zu are too many: at most %d",
                                message->n_client_types, UDPAI_CLIENT_TYPES_MAX);
}

void
udpai_load_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    if (message->load_reporting) {
        check_interval(message->load_reporting, diagnostics);
        check_aggregated(message->load_reporting, diagnostics);
    }
    check_types(message, diagnostics);
}
