/* SPDX-License-Identifier: Apache-2.0 */
/* All ConfigProviders of a node: made, configured, and after every change what they have the node
 * ask of its sources. */
#include "federation/named.h"

#include "base/alloc.h"
#include "federation/provider_change.h"
#include "model/client_type.h"

udpa_err
udpai_providers_new(udpai_providers **ret_providers, const udpai_parts *parts)
{
    udpai_providers *providers = udpai_alloc(sizeof(*providers));
    if (!providers)
        return UDPA_ERR_NOMEM;
    providers->context = parts->context;
    providers->demand = parts->demand;
    providers->sync = parts->sync;
    providers->sources = parts->sources;
    providers->directories = udpai_sources_directories(parts->sources);
    providers->named_table = udpai_sources_named_table(parts->sources);
    udpai_map_init(&providers->by_type, udpai_provider_key);
    *ret_providers = providers;
    return UDPA_OK;
}

void
udpai_providers_free(udpai_providers *providers)
{
    size_t at = 0;
    udpai_provider *provider;
    if (!providers)
        return;
    while ((provider = udpai_map_next(&providers->by_type, &at)))
        udpai_provider_free(provider);
    udpai_map_done(&providers->by_type);
    udpai_provider_free(providers->any_type);
    udpai_named_free_all(providers);
    udpai_free(providers);
}

/* ---- what is configured ---- */

static bool
asks(const udpai_provider *provider, const udpai_source *source)
{
    for (size_t i = 0; provider && i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].source == source)
            return true;
    return false;
}

static udpa_err
check_source(const udpai_providers *providers, const udpai_source *source, udpa_error **ret_error)
{
    size_t at = 0;
    const udpai_scope *scope;
    while ((scope = udpai_source_next_recovered(source, &at))) {
        udpai_str type = udpai_bytes_view(scope->type);
        const udpai_provider *provider = udpai_map_get(&providers->by_type, type);
        if (asks(provider ? provider : providers->any_type, source))
            return udpai_fail(
                ret_error, UDPA_ERR_INVAL,
                "the ConfigSource '%.*s' is in a provider of type '%.*s', and so its contributions "
                "are effective anyway: take the type out of its recover, or the source out of the "
                "provider",
                UDPAI_SHOWN(udpai_source_name(source)), UDPAI_SHOWN(type));
    }
    return UDPA_OK;
}

static udpa_err
check_recovery(const udpai_providers *providers, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    const udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(providers->sources, source))) {
        if (err == UDPA_OK)
            err = check_source(providers, source, ret_error);
    }
    return err;
}

udpa_err
udpai_providers_configure(udpai_providers *providers,
                          const udpai_node_config *config,
                          udpa_error **ret_error)
{
    udpa_err err = udpai_providers_configure_types(providers, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_named_configure(providers, config, ret_error);
    if (err == UDPA_OK)
        err = check_recovery(providers, ret_error);
    return err;
}

/* ---- demand ---- */

void
udpai_providers_interest(udpai_providers *providers,
                         udpai_str type_url,
                         udpai_str text,
                         bool subscribed)
{
    udpai_provider *provider = udpai_map_get(&providers->by_type, type_url);
    if (provider)
        udpai_provider_take_interest(provider, text, subscribed);
    else if (subscribed && (providers->context->is_endpoint || !udpai_type_is_client(type_url)))
        udpai_providers_expect(providers, type_url); /* takes it with all others */
    udpai_named_interest(providers, type_url, text, subscribed);
}

bool
udpai_providers_named_are_waiting(const udpai_providers *providers)
{
    return providers->named_are_waiting;
}

/* ---- after every change ---- */

void
udpai_providers_evaluate_map(udpai_map *providers)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(providers, &at)))
        udpai_provider_evaluate(provider);
}

void
udpai_providers_evaluate(udpai_providers *providers)
{
    udpai_source *source = NULL;
    udpai_providers_let_go(providers);
    udpai_providers_evaluate_map(&providers->by_type);
    udpai_named_evaluate(providers);
    while ((source = udpai_sources_next_own(providers->sources, source)))
        udpai_source_evaluate(source, true);
}
