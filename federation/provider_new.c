/* SPDX-License-Identifier: Apache-2.0 */
/* Making ConfigProviders: those that are configured, and those of types that are asked for. */
#include "federation/demand.h"
#include "federation/named.h"

#include "base/alloc.h"
#include "federation/sources.h"
#include "model/client_type.h"

/* Below what one stream of a source may subscribe to (1024): a client that asks for ever other
 * types must not make others lose theirs. */
#define ANY_TYPES_MAX 1000

udpai_str
udpai_provider_key(const void *item)
{
    return udpai_bytes_view(((const udpai_provider *)item)->type);
}

void
udpai_provider_free(udpai_provider *provider)
{
    if (!provider)
        return;
    udpai_timer_cancel(&provider->unused);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        udpa_bytes_unref(provider->descriptors.items[i].prefix);
    udpai_vector_done(&provider->descriptors);
    for (size_t i = 0; i < provider->per_clients.n; i++)
        udpa_bytes_unref(provider->per_clients.items[i].prefix);
    udpai_vector_done(&provider->per_clients);
    udpai_timer_cancel(&provider->patience);
    for (size_t i = 0; i < provider->leaving.n; i++)
        udpa_bytes_unref(provider->leaving.items[i].prefix);
    udpai_vector_done(&provider->leaving);
    udpa_bytes_unref(provider->type);
    udpa_bytes_unref(provider->name);
    udpai_free(provider);
}

static udpai_provider *provider_of(udpai_providers *providers, udpai_str type_url);

/* Is anything left of its type that came from its sources? */
static bool
holds_anything(const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (udpai_origin_has(provider->owner->context->store,
                             udpai_source_origin(provider->descriptors.items[i].source),
                             udpai_bytes_view(provider->type)))
            return true;
    return provider->leaving.n > 0;
}

static void
give_up(udpai_provider *provider)
{
    udpai_providers *providers = provider->owner;
    udpai_str type_url = udpai_bytes_view(provider->type);
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        udpai_provider_set_in_use(providers->context, udpai_source_origin(descriptor->source),
                                  type_url, false);
        udpai_scope_give_up(descriptor->scope);
    }
    udpai_map_remove(&providers->by_type, type_url);
    providers->n_any_types--;
    udpai_provider_free(provider);
    udpai_context_touch(providers->context);
}

void
udpai_provider_await_use(udpai_provider *provider)
{
    const udpai_providers *providers = provider->owner;
    udpai_timer_set(providers->context->wheel, &provider->unused,
                    udpai_context_now(providers->context) +
                        providers->context->timing.interest_linger_ms);
}

static void
ask_for_type(void *providers, udpai_str type_url)
{
    (void)provider_of(providers, type_url);
}

/* The type has had no subscription for a while. What there is of it stays: it may be asked for
 * again, when its sources cannot be. */
static void
on_unused(udpai_timer *timer)
{
    udpai_provider *provider = UDPAI_CONTAINER_OF(timer, udpai_provider, unused);
    udpai_providers *providers = provider->owner;
    if (holds_anything(provider)) {
        udpai_provider_await_use(provider);
        return;
    }
    give_up(provider);
    if (providers->n_any_types ==
        ANY_TYPES_MAX - 1) /* another type may have waited for the place */
        udpai_demand_visit_types(providers->demand, ask_for_type, providers);
}

udpa_err
udpai_provider_add(udpai_provider *provider, const udpai_descriptor *descriptor, udpai_str prefix)
{
    udpai_descriptor fresh = *descriptor;
    udpa_err err = udpa_bytes_new(&fresh.prefix, prefix.data, prefix.len);
    if (err != UDPA_OK)
        return err;
    bool added = udpai_source_is_template(fresh.source)
                     ? udpai_vector_push(&provider->per_clients, fresh)
                     : udpai_vector_push(&provider->descriptors, fresh);
    if (!added)
        udpa_bytes_unref(fresh.prefix);
    return added ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
add_descriptor(udpai_providers *providers,
               udpai_provider *provider,
               const udpai_descriptor_config *config,
               udpa_error **ret_error)
{
    const udpai_source *found = NULL;
    udpa_err err = udpai_sources_find(providers->sources, config->source,
                                      UDPAI_AWAITED_BY_CONFIGURATION, &found, ret_error);
    udpai_source *source = udpai_sources_get(providers->sources, config->source);
    if (err != UDPA_OK)
        return err;
    if (!source)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a provider of type '%.*s' names the ConfigSource '%.*s', which does not "
                          "exist",
                          (int)udpa_bytes_size(provider->type),
                          (const char *)udpa_bytes_data(provider->type), (int)config->source.len,
                          config->source.data);
    bool is_template = udpai_source_is_template(source);
    if (is_template && udpa_bytes_size(provider->type) == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the ConfigSource '%.*s' is asked for each group of clients by itself: "
                          "the provider must name the types",
                          UDPAI_SHOWN(config->source));
    if (is_template)
        udpai_demand_count_places(providers->demand);
    const udpai_descriptor descriptor = {
        .of_groups = is_template ? ++providers->last_of_groups : 0,
        .source = source,
        .continuation = config->continuation,
        .on_demand = config->on_demand,
        .position = (unsigned)(provider->descriptors.n + provider->per_clients.n),
    };
    return udpai_fail_code(ret_error, udpai_provider_add(provider, &descriptor, config->prefix));
}

/* Those that leave are looked at with all providers. */
static void
on_patience_end(udpai_timer *timer)
{
    udpai_context_touch(UDPAI_CONTAINER_OF(timer, udpai_provider, patience)->owner->context);
}

udpai_provider *
udpai_provider_new(udpai_providers *providers, udpai_str type_url)
{
    udpai_provider *provider = udpai_alloc(sizeof(*provider));
    if (!provider)
        return NULL;
    provider->owner = providers;
    udpai_timer_init(&provider->unused, on_unused);
    udpai_timer_init(&provider->patience, on_patience_end);
    if (udpa_bytes_new(&provider->type, type_url.data, type_url.len) == UDPA_OK)
        return provider;
    udpai_provider_free(provider);
    return NULL;
}

udpa_err
udpai_provider_make(udpai_providers *providers,
                    udpai_str type_url,
                    const udpai_provider_config *config,
                    udpai_provider **ret_provider,
                    udpa_error **ret_error)
{
    udpai_provider *provider = udpai_provider_new(providers, type_url);
    udpa_err err = udpai_fail_code(ret_error, provider ? UDPA_OK : UDPA_ERR_NOMEM);
    for (size_t i = 0; i < config->n_descriptors && err == UDPA_OK; i++)
        err = add_descriptor(providers, provider, &config->descriptors[i], ret_error);
    if (err != UDPA_OK)
        udpai_provider_free(provider);
    else
        *ret_provider = provider;
    return err;
}

udpa_err
udpai_provider_activate(udpai_map *by_type, udpai_provider *provider)
{
    udpai_providers *providers = provider->owner;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        udpai_source *source = descriptor->source;
        descriptor->scope =
            udpai_scope_new(source, udpai_bytes_view(provider->type),
                            udpai_bytes_view(descriptor->prefix), descriptor->on_demand);
        if (!descriptor->scope)
            return UDPA_ERR_NOMEM;
        descriptor->scope->is_known = udpai_source_has_been_read(source);
        udpai_source_take_order(source, descriptor->position);
    }
    if (!udpai_map_add(by_type, provider))
        return UDPA_ERR_NOMEM;
    udpai_context_touch(providers->context);
    return UDPA_OK;
}

static udpa_err
add_type(udpai_providers *providers,
         udpai_str type_url,
         const udpai_provider_config *config,
         udpa_error **ret_error)
{
    if (udpai_map_get(&providers->by_type, type_url))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for type '%.*s'",
                          (int)type_url.len, type_url.data);
    udpai_provider *provider = NULL;
    udpa_err err = udpai_provider_make(providers, type_url, config, &provider, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_fail_code(ret_error, udpai_provider_activate(&providers->by_type, provider));
    if (err != UDPA_OK)
        udpai_provider_free(provider);
    return err;
}

/* ---- types that are asked for ---- */

/* The template, as its configuration. */
udpa_err
udpai_providers_configure_types(udpai_providers *providers,
                                const udpai_node_config *config,
                                udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_providers && err == UDPA_OK; i++) {
        const udpai_provider_config *provider = &config->providers[i];
        for (size_t k = 0; k < provider->n_types && err == UDPA_OK; k++)
            err = add_type(providers, provider->types[k], provider, ret_error);
        if (provider->n_types == 0 && err == UDPA_OK)
            err = providers->any_type
                      ? udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for every other type")
                      : udpai_provider_make(providers, (udpai_str){"", 0}, provider,
                                            &providers->any_type, ret_error);
    }
    return err;
}

udpa_err
udpai_provider_make_of_any(udpai_providers *providers,
                           udpai_str type_url,
                           const udpai_provider *template,
                           udpai_provider **ret_provider,
                           udpa_error **ret_error)
{
    UDPAI_VECTOR(udpai_descriptor_config) descriptors = {0};
    if (!udpai_vector_reserve(&descriptors, template->descriptors.n))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < template->descriptors.n; i++) {
        const udpai_descriptor *from = &template->descriptors.items[i];
        descriptors.items[descriptors.n++] = (udpai_descriptor_config){
            udpai_source_name(from->source),
            udpai_bytes_view(from->prefix),
            from->continuation,
            from->on_demand,
        };
    }
    const udpai_provider_config config = {
        .descriptors = descriptors.items,
        .n_descriptors = descriptors.n,
    };
    udpa_err err = udpai_provider_make(providers, type_url, &config, ret_provider, ret_error);
    udpai_vector_done(&descriptors);
    if (err == UDPA_OK)
        (*ret_provider)->is_of_any = true;
    return err;
}

static udpa_err
add_type_of_any(udpai_providers *providers, udpai_str type_url)
{
    udpai_provider *provider = NULL;
    udpa_err err =
        udpai_provider_make_of_any(providers, type_url, providers->any_type, &provider, NULL);
    if (err == UDPA_OK)
        err = udpai_provider_activate(&providers->by_type, provider);
    if (err != UDPA_OK)
        udpai_provider_free(provider);
    return err;
}

static bool
has_room_for_type(udpai_providers *providers, udpai_str type_url)
{
    unsigned n_suppressed;
    if (providers->n_any_types < ANY_TYPES_MAX)
        return true;
    if (udpai_log_allow(&providers->any_types_log, udpai_context_now(providers->context),
                        &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "federation",
                  "sources are asked for %d types, which is the limit: type %.*s is not subscribed "
                  "to (%u more not shown)",
                  ANY_TYPES_MAX, (int)type_url.len, type_url.data, n_suppressed);
    return false;
}

void
udpai_provider_take_interest(udpai_provider *provider, udpai_str text, bool subscribed)
{
    provider->n_subscribed += subscribed ? 1 : (size_t)-1;
    udpai_timer_cancel(&provider->unused);
    if (provider->is_of_any && provider->n_subscribed == 0)
        udpai_provider_await_use(provider);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        udpai_scope_interest(provider->descriptors.items[i].scope, text, subscribed);
    udpai_context_touch(provider->owner->context);
}

static void
replay(void *provider, udpai_str text)
{
    udpai_provider_take_interest(provider, text, true);
}

/* A type that was not asked for yet gets the provider of all others, and all subscriptions to it.
 */
static udpai_provider *
provider_of(udpai_providers *providers, udpai_str type_url)
{
    udpai_provider *provider = udpai_map_get(&providers->by_type, type_url);
    if (provider || !providers->any_type || !has_room_for_type(providers, type_url) ||
        add_type_of_any(providers, type_url) != UDPA_OK)
        return provider;
    provider = udpai_map_get(&providers->by_type, type_url);
    providers->n_any_types++;
    udpai_provider_await_use(provider);
    udpai_demand_visit(providers->demand, type_url, replay, provider);
    return provider;
}

void
udpai_providers_expect(udpai_providers *providers, udpai_str type_url)
{
    (void)provider_of(providers, type_url);
}

void
udpai_provider_restore_use(udpai_provider *provider, const udpai_source *source)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->source != source)
            continue;
        descriptor->is_eligible = true;
        (void)udpai_origin_set_eligible(provider->owner->context->store,
                                        udpai_source_origin(source),
                                        udpai_bytes_view(provider->type), true);
    }
}

void
udpai_providers_restore_use(udpai_providers *providers,
                            const udpai_source *source,
                            udpai_str type_url)
{
    udpai_provider *provider = provider_of(providers, type_url);
    if (provider)
        udpai_provider_restore_use(provider, source);
}

void
udpai_providers_look_up(const udpai_providers *providers, udpai_str type_url, udpai_str name)
{
    const udpai_provider *provider = udpai_map_get(&providers->by_type, type_url);
    for (size_t i = 0; provider && i < provider->descriptors.n; i++)
        udpai_scope_look_up(provider->descriptors.items[i].scope, name);
}
