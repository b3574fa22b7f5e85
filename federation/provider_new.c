/* SPDX-License-Identifier: Apache-2.0 */
/* Making ConfigProviders: those that are configured, and those of types that somebody asks for. */
#include "federation/node_internal.h"

#include "base/alloc.h"

/* Below what one stream of a source may subscribe to (1024): whoever asks for ever other types must
 * not have the others lose theirs. */
#define ANY_TYPES_MAX 1000

static udpai_str
provider_key(const void *item)
{
    return udpai_bytes_view(((const udpai_provider *)item)->type);
}

static void
free_provider(udpai_provider *provider)
{
    if (!provider)
        return;
    udpai_timer_cancel(&provider->unused);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        udpa_bytes_unref(provider->descriptors.items[i].prefix);
    udpai_vector_done(&provider->descriptors);
    udpa_bytes_unref(provider->type);
    udpai_free(provider);
}

void
udpai_providers_free(udpai_node *node)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&node->providers, &at)))
        free_provider(provider);
    udpai_map_done(&node->providers);
    free_provider(node->any_type);
}

static udpai_provider *provider_of(udpai_node *node, udpai_str type_url);

/* Is anything left of its type that came from its sources? */
static bool
holds_anything(const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (udpai_origin_has(provider->node->store, provider->descriptors.items[i].source->origin,
                             udpai_bytes_view(provider->type)))
            return true;
    return false;
}

static void
give_up(udpai_provider *provider)
{
    udpai_node *node = provider->node;
    udpai_str type_url = udpai_bytes_view(provider->type);
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        udpai_provider_set_in_use(node, descriptor->source->origin, type_url, false);
        udpai_scope_give_up(descriptor->scope);
    }
    udpai_map_remove(&node->providers, type_url);
    node->n_any_types--;
    free_provider(provider);
    udpai_node_touch(node);
}

static void
await_use(udpai_provider *provider)
{
    const udpai_node *node = provider->node;
    udpai_timer_set(node->wheel, &provider->unused,
                    udpai_node_now(node) + node->timing.interest_linger_ms);
}

static void
ask_for_type(void *node, udpai_str type_url)
{
    (void)provider_of(node, type_url);
}

/* Nobody has wanted anything of the type for a while. What there is of it stays: it may be asked
 * for again, when its sources cannot be. */
static void
on_unused(udpai_timer *timer)
{
    udpai_provider *provider = UDPAI_CONTAINER_OF(timer, udpai_provider, unused);
    udpai_node *node = provider->node;
    if (holds_anything(provider)) {
        await_use(provider);
        return;
    }
    give_up(provider);
    if (node->n_any_types == ANY_TYPES_MAX - 1) /* another type may have waited for the place */
        udpai_interests_visit_types(node, ask_for_type, node);
}

static udpa_err
add_descriptor(udpai_node *node,
               udpai_provider *provider,
               const udpai_descriptor_config *config,
               udpa_error **ret_error)
{
    udpai_source *source = udpai_map_get(&node->sources, config->source);
    if (!source)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a provider of type '%.*s' names the ConfigSource '%.*s', which does not "
                          "exist",
                          (int)udpa_bytes_size(provider->type),
                          (const char *)udpa_bytes_data(provider->type), (int)config->source.len,
                          config->source.data);
    udpai_descriptor descriptor = {
        .source = source,
        .continuation = config->continuation,
        .on_demand = config->on_demand,
    };
    udpa_err err = udpa_bytes_new(&descriptor.prefix, config->prefix.data, config->prefix.len);
    if (err == UDPA_OK && !udpai_vector_push(&provider->descriptors, descriptor)) {
        udpa_bytes_unref(descriptor.prefix);
        err = UDPA_ERR_NOMEM;
    }
    return udpai_fail_code(ret_error, err);
}

static udpa_err
new_provider(udpai_node *node,
             udpai_str type_url,
             const udpai_provider_config *config,
             udpai_provider **ret_provider,
             udpa_error **ret_error)
{
    udpai_provider *provider = udpai_alloc(sizeof(*provider));
    if (!provider)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    provider->node = node;
    udpai_timer_init(&provider->unused, on_unused);
    udpa_err err =
        udpai_fail_code(ret_error, udpa_bytes_new(&provider->type, type_url.data, type_url.len));
    for (size_t i = 0; i < config->n_descriptors && err == UDPA_OK; i++)
        err = add_descriptor(node, provider, &config->descriptors[i], ret_error);
    if (err != UDPA_OK)
        free_provider(provider);
    else
        *ret_provider = provider;
    return err;
}

/* A directory has all its types in one reading, whoever asks for them when. */
static bool
was_read(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_PATH && udpai_source_is_active(source);
}

/* The scopes of its type, one for each descriptor; from here on its sources are asked. */
static udpa_err
activate(udpai_node *node, udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        descriptor->scope =
            udpai_scope_new(descriptor->source, udpai_bytes_view(provider->type),
                            udpai_bytes_view(descriptor->prefix), descriptor->on_demand);
        if (!descriptor->scope)
            return UDPA_ERR_NOMEM;
        descriptor->scope->is_known = was_read(descriptor->source);
        if (udpai_origin_rank(descriptor->source->origin) == UDPAI_ORIGIN_SOURCE &&
            descriptor->source->order == 0)
            descriptor->source->order = (unsigned)i + 1;
        udpai_origin_set_rank(node->store, descriptor->source->origin, UDPAI_ORIGIN_SOURCE,
                              descriptor->source->order);
    }
    if (!udpai_map_add(&node->providers, provider))
        return UDPA_ERR_NOMEM;
    udpai_node_touch(node);
    return UDPA_OK;
}

static udpa_err
add_type(udpai_node *node,
         udpai_str type_url,
         const udpai_provider_config *config,
         udpa_error **ret_error)
{
    if (udpai_map_get(&node->providers, type_url))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for type '%.*s'",
                          (int)type_url.len, type_url.data);
    udpai_provider *provider = NULL;
    udpa_err err = new_provider(node, type_url, config, &provider, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_fail_code(ret_error, activate(node, provider));
    if (err != UDPA_OK)
        free_provider(provider);
    return err;
}

udpa_err
udpai_providers_new(udpai_node *node, const udpai_node_config *config, udpa_error **ret_error)
{
    udpai_map_init(&node->providers, provider_key);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_providers && err == UDPA_OK; i++) {
        const udpai_provider_config *provider = &config->providers[i];
        for (size_t k = 0; k < provider->n_types && err == UDPA_OK; k++)
            err = add_type(node, provider->types[k], provider, ret_error);
        if (provider->n_types == 0 && err == UDPA_OK)
            err =
                node->any_type
                    ? udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for every other type")
                    : new_provider(node, (udpai_str){"", 0}, provider, &node->any_type, ret_error);
    }
    return err;
}

/* ---- types that somebody asks for ---- */

/* The template, as its configuration. */
static udpa_err
add_type_of_any(udpai_node *node, udpai_str type_url)
{
    const udpai_provider *template = node->any_type;
    UDPAI_VECTOR(udpai_descriptor_config) descriptors = {0};
    if (!udpai_vector_reserve(&descriptors, template->descriptors.n))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < template->descriptors.n; i++) {
        const udpai_descriptor *from = &template->descriptors.items[i];
        descriptors.items[descriptors.n++] = (udpai_descriptor_config){
            udpai_bytes_view(from->source->name),
            udpai_bytes_view(from->prefix),
            from->continuation,
            from->on_demand,
        };
    }
    const udpai_provider_config config = {
        .descriptors = descriptors.items,
        .n_descriptors = descriptors.n,
    };
    udpa_err err = add_type(node, type_url, &config, NULL);
    udpai_vector_done(&descriptors);
    return err;
}

static bool
has_room_for_type(udpai_node *node, udpai_str type_url)
{
    unsigned n_suppressed;
    if (node->n_any_types < ANY_TYPES_MAX)
        return true;
    if (udpai_log_allow(&node->any_types_log, udpai_node_now(node), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "federation",
                  "sources are asked for %d types already, which is the limit: %.*s is not asked "
                  "for, and nothing is said of it (%u more not shown)",
                  ANY_TYPES_MAX, (int)type_url.len, type_url.data, n_suppressed);
    return false;
}

static void
take_interest(udpai_provider *provider, udpai_str text, bool wanted)
{
    provider->n_wanted += wanted ? 1 : (size_t)-1;
    udpai_timer_cancel(&provider->unused);
    if (provider->is_of_any && provider->n_wanted == 0)
        await_use(provider);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        udpai_scope_interest(provider->descriptors.items[i].scope, text, wanted);
    udpai_node_touch(provider->node);
}

static void
replay(void *provider, udpai_str text)
{
    take_interest(provider, text, true);
}

/* A type that nobody has asked for yet gets the provider of all others, and all that is wanted of
 * it. */
static udpai_provider *
provider_of(udpai_node *node, udpai_str type_url)
{
    udpai_provider *provider = udpai_map_get(&node->providers, type_url);
    if (provider || !node->any_type || !has_room_for_type(node, type_url) ||
        add_type_of_any(node, type_url) != UDPA_OK)
        return provider;
    provider = udpai_map_get(&node->providers, type_url);
    provider->is_of_any = true;
    node->n_any_types++;
    await_use(provider);
    udpai_interests_visit(node, type_url, replay, provider);
    return provider;
}

void
udpai_providers_expect(udpai_node *node, udpai_str type_url)
{
    (void)provider_of(node, type_url);
}

void
udpai_providers_restore_use(udpai_node *node, const udpai_source *source, udpai_str type_url)
{
    const udpai_provider *provider = provider_of(node, type_url);
    for (size_t i = 0; provider && i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->source != source)
            continue;
        descriptor->is_eligible = true;
        (void)udpai_origin_set_eligible(node->store, source->origin, type_url, true);
    }
}

void
udpai_providers_interest(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_provider *provider = udpai_map_get(&node->providers, type_url);
    if (provider)
        take_interest(provider, text, wanted);
    else if (wanted)
        (void)provider_of(node, type_url); /* takes it with all others */
}
