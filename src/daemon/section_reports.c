/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'load_reporting', 'client_types' and 'client_status' of the bootstrap file: what
 * clients report, and what is reported of them. */
#include "base/alloc.h"
#include "codec/regex.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/type.h"
#include "model/client_type.h"
#include "model/name.h"
#include "xds/client_registry.h"
#include "xds/lrs.h"
#include "xds/server.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;

/* ---- load ---- */

static udpa_err
check_aggregated(const char *prefix, udpa_error **ret_error)
{
    return strcmp(prefix, "*") ? udpai_prefix_check_word(prefix, ret_error) : UDPA_OK;
}

static const udpai_field load_fields[] = {
    {.name = "interval",
     .min = UDPAI_LRS_INTERVAL_MIN_MS,
     .max = UDPAI_LRS_INTERVAL_MAX_MS,
     .bounds = "1 h",
     UDPAI_TO(lrs.interval_ms),
     .otherwise = UDPAI_LRS_INTERVAL_MS},
    {.name = "per_endpoint", UDPAI_TO(lrs.per_endpoint)},
    {.name = "aggregated",
     UDPAI_PUBLIC,
     .empty = "is empty: \"*\" is all",
     .word = check_aggregated},
};

const udpai_section udpai_section_load = {UDPAI_SECTION(load_reporting, load_fields)};

udpa_err
udpai_use_load(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__LoadReporting *from = plan->bootstrap.message->load_reporting;
    plan->lrs.server = &plan->xds;
    plan->lrs.gather_ms = UDPAI_LRS_GATHER_MS;
    plan->settings.load_interval_ms = plan->lrs.interval_ms;
    if (!from)
        return UDPA_OK;
    udpai_str *prefixes =
        udpai_plan_own(plan, udpai_alloc_array(from->n_aggregated + 1, sizeof(*prefixes)));
    for (size_t i = 0; prefixes && i < from->n_aggregated; i++)
        prefixes[i] = udpai_str_from(strcmp(from->aggregated[i], "*") ? from->aggregated[i] : "");
    plan->settings.aggregated = prefixes;
    plan->settings.n_aggregated = from->n_aggregated;
    return prefixes ? UDPA_OK : UDPA_ERR_NOMEM;
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

void
udpai_check_client_type(const udpai_value *value)
{
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(value->text);
    udpai_str type = udpai_str_from(type_url ? type_url : "");
    if (!type_url)
        value->diagnostics->has_failed = true;
    else if (udpai_type_check(value->text, NULL) != UDPA_OK)
        return; /* which was reported */
    else if (udpai_xds_has_service(type, UDPAI_XDS_STREAM_DELTA) ||
             udpai_xds_has_service(type, UDPAI_XDS_STREAM_SOTW))
        udpai_value_error(value, "", "'%s' is configuration, which flows down", type_url);
    else if (has_provider(value->bootstrap, type))
        udpai_value_error(
            value, "", "'%s' has a provider, but clients bring it, and no source does", type_url);
}

udpa_err
udpai_use_client_types(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    plan->n_client_types = message->n_client_types;
    return udpai_plan_types(plan, message->client_types, message->n_client_types,
                            &plan->client_types);
}

/* ---- client status ---- */

static const udpai_field status_fields[] = {
    {.name = "whole_tree", UDPAI_TO(csds.asks_tree)},
    {.name = "ttl",
     .min = UDPAI_CENSUS_TTL_MIN_MS,
     .max = UDPAI_CENSUS_TTL_MAX_MS,
     UDPAI_TO(settings.client_ttl_ms),
     .otherwise = UDPAI_CENSUS_TTL_MS},
    {.name = "wait",
     .max = UDPAI_CSDS_WAIT_MAX_MS,
     UDPAI_TO(csds.wait_ms),
     .otherwise = UDPAI_CSDS_WAIT_MS},
};

const udpai_section udpai_section_client_status = {UDPAI_SECTION(client_status, status_fields)};

/* Secrets of the store, which are not written in the clear, are not sent, either. */
udpa_err
udpai_use_client_status(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    plan->csds.regex = &udpai_re2;
    plan->csds.has_workers = plan->settings.n_workers > 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plan->csds_methods); i++)
        plan->csds_methods[i] = (udpai_csds_method){&plan->csds, .is_fetch = i == 1};
    return UDPA_OK;
}
