/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources of providers count for a name now. */
#include "federation/digest.h"
#include "federation/named.h"

static bool
covers(const udpai_descriptor *descriptor, udpai_str name)
{
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), name);
}

static const udpai_provider *
provider_of(const udpai_providers *providers, udpai_str type_url, udpai_str name)
{
    const udpai_named *named = udpai_named_find(providers->named_table, type_url, name);
    return named ? named->provider : udpai_map_get(&providers->by_type, type_url);
}

udpa_err
udpai_providers_visit_active(const udpai_providers *providers,
                             udpai_str type_url,
                             udpai_str name,
                             udpai_active_fn visit,
                             void *userdata)
{
    const udpai_provider *provider = provider_of(providers, type_url, name);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; provider && i < provider->descriptors.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_reached && covers(descriptor, name) &&
            udpai_descriptor_counts(provider, i))
            err = visit(userdata, descriptor->source);
    }
    return err;
}

static bool
ends_walk(const udpai_descriptor *descriptor)
{
    bool is_active = udpai_source_is_active(descriptor->source);
    if (descriptor->continuation == UDPAI_CONTINUE)
        return false;
    return (!is_active && !udpai_source_is_decided(descriptor->source)) ||
           is_active == (descriptor->continuation == UDPAI_STOP_ON_SUCCESS);
}

/* The template is asked for nothing itself, so it was not walked. */
udpa_err
udpai_providers_visit_active_of_any(const udpai_providers *providers,
                                    udpai_str name,
                                    udpai_active_fn visit,
                                    void *userdata)
{
    const udpai_provider *any = providers->any_type;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; any && i < any->descriptors.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &any->descriptors.items[i];
        if (udpai_source_is_active(descriptor->source) && covers(descriptor, name))
            err = visit(userdata, descriptor->source);
        if (ends_walk(descriptor))
            break;
    }
    return err;
}

bool
udpai_providers_find_stop(const udpai_providers *providers,
                          const udpa_resource *resource,
                          const udpai_source *source,
                          udpai_provider_stop *ret_stop)
{
    const udpai_provider *provider =
        provider_of(providers, udpai_resource_type_url(resource), udpai_resource_name(resource));
    const udpai_descriptor *last = NULL; /* that was reached */
    for (size_t i = 0; provider && i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_reached)
            last = descriptor;
        else if (last && descriptor->source == source) {
            *ret_stop = (udpai_provider_stop){udpai_source_name(last->source), last->continuation};
            return true;
        }
    }
    return false;
}

/* ---- when it changes ---- */

static void
mix_provider(uint64_t *digest, const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        bool counts = descriptor->is_reached && udpai_descriptor_counts(provider, i);
        udpai_digest_mix(digest, udpai_source_link(descriptor->source) << 2 |
                                     (uint64_t)counts << 1 | (uint64_t)descriptor->is_eligible);
    }
}

uint64_t
udpai_providers_digest(const udpai_providers *providers)
{
    uint64_t digest = UDPAI_DIGEST_BEGIN;
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&providers->by_type, &at)))
        mix_provider(&digest, provider);
    at = 0;
    const udpai_named *named;
    while ((named = udpai_named_table_next(providers->named_table, &at))) {
        mix_provider(&digest, named->provider);
        for (size_t i = 0; i < named->leaving.n; i++)
            udpai_digest_mix(&digest, named->leaving.items[i].is_eligible);
    }
    return digest;
}
