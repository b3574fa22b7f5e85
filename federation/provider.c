/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigProviders: which sources are asked, whose word counts, and what is still unknown. All three
 * follow from the state of the sources and are computed anew after every change. */
#include "federation/node_internal.h"

#include "base/alloc.h"
#include "model/name.h"

static udpai_str
provider_key(const void *item)
{
    return udpai_bytes_view(((const udpai_provider *)item)->type);
}

static bool
overlap(const udpai_descriptor *a, const udpai_descriptor *b)
{
    udpai_str x = udpai_bytes_view(a->prefix), y = udpai_bytes_view(b->prefix);
    return udpai_prefix_covers(x, y) || udpai_prefix_covers(y, x);
}

/* ---- what a source's state means ---- */

static bool
is_complete(const udpai_descriptor *descriptor)
{
    const udpai_scope *scope = descriptor->scope;
    if (descriptor->source->kind == UDPAI_SOURCE_PATH)
        return scope->is_known;
    return scope->on_demand ? scope->is_asked && udpai_list_empty(&scope->asked)
                            : scope->is_complete;
}

/* It was replaced, and what replaced it is still in use: it must earn its place back. */
static bool
is_returning(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (self->is_eligible || self->continuation != UDPAI_STOP_ON_SUCCESS)
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_eligible && overlap(self, later))
            return true;
    }
    return false;
}

static bool
is_steady(const udpai_source *source)
{
    return udpai_node_now(source->node) >=
           source->active_since_ms + source->node->timing.hand_back_delay_ms;
}

/* Does it count as a success, for the descriptors behind it? */
static bool
counts(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *descriptor = &provider->descriptors.items[index];
    const udpai_source *source = descriptor->source;
    if (!udpai_source_is_active(source) || source->is_hung)
        return false;
    return !is_returning(provider, index) || (is_complete(descriptor) && is_steady(source));
}

static bool
is_undecided(const udpai_source *source)
{
    return !source->is_decided && !udpai_source_is_active(source);
}

/* ---- who is asked ---- */

static void
reach(udpai_provider *provider)
{
    bool going = true, succeeded = false;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        descriptor->is_reached = going;
        descriptor->is_cut_off = !going && succeeded;
        if (!going || descriptor->continuation == UDPAI_CONTINUE)
            continue;
        bool success = counts(provider, i);
        if (is_undecided(descriptor->source))
            going = false;
        else if (success == (descriptor->continuation == UDPAI_STOP_ON_SUCCESS)) {
            going = false;
            succeeded = success;
        }
    }
}

/* ---- whose word counts ---- */

/* Something else is in use in its place: it counts only once it is whole. */
static bool
must_be_complete(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (is_returning(provider, index))
        return true;
    for (size_t i = 0; i < index; i++) {
        const udpai_descriptor *before = &provider->descriptors.items[i];
        if (before->continuation == UDPAI_STOP_ON_SUCCESS && before->is_eligible &&
            overlap(before, self) && !counts(provider, i) &&
            udpai_origin_has(before->source->origin, udpai_bytes_view(provider->type)))
            return true;
    }
    return false;
}

/* A lost source stays until one that stands in for it is whole. */
static bool
is_replaced(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (!self->is_reached)
        return self->is_cut_off;
    if (self->continuation != UDPAI_STOP_ON_SUCCESS || counts(provider, index))
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_reached && later->is_eligible && is_complete(later) &&
            udpai_prefix_covers(udpai_bytes_view(later->prefix), udpai_bytes_view(self->prefix)))
            return true;
    }
    return false;
}

static void
choose_eligible(udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_reached && !descriptor->is_eligible &&
            (!must_be_complete(provider, i) || is_complete(descriptor)))
            descriptor->is_eligible = true;
    }
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].is_eligible && is_replaced(provider, i))
            provider->descriptors.items[i].is_eligible = false;
}

/* Kept, so that after a restart the same source counts as before it. Without memory it is not; what
 * counts then is found out anew. */
static void
set_in_use(udpai_node *node, udpai_origin *origin, udpai_str type_url, bool in_use)
{
    if (udpai_origin_is_eligible(origin, type_url) == in_use)
        return;
    (void)udpai_origin_set_eligible(node->store, origin, type_url, in_use);
    if (node->is_durable)
        (void)udpai_store_note(node->store, in_use ? UDPAI_DURABLE_USE : UDPAI_DURABLE_DISUSE,
                               origin, type_url, (udpai_str){0});
}

/* One source may stand in several descriptors of a type; it counts if it does in one. */
static void
tell_store(udpai_node *node, const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        bool eligible = false;
        for (size_t k = 0; k < provider->descriptors.n; k++)
            eligible |= provider->descriptors.items[k].source == descriptor->source &&
                        provider->descriptors.items[k].is_eligible;
        set_in_use(node, descriptor->source->origin, udpai_bytes_view(provider->type), eligible);
    }
}

static void
evaluate(udpai_node *node, udpai_provider *provider)
{
    reach(provider);
    choose_eligible(provider);
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        descriptor->scope->wanted = descriptor->is_reached;
    }
    tell_store(node, provider);
}

static bool
is_wanted(const udpai_source *source)
{
    UDPAI_LIST_FOREACH (node, &source->scopes)
        if (UDPAI_LIST_ENTRY(node, udpai_scope, in_source)->wanted)
            return true;
    return !source->serves_us;
}

void
udpai_providers_evaluate(udpai_node *node)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&node->providers, &at)))
        evaluate(node, provider);
    at = 0;
    udpai_source *source;
    while ((source = udpai_map_next(&node->links, &at))) {
        udpai_source_reach(source, is_wanted(source));
        UDPAI_LIST_FOREACH (scope, &source->scopes)
            udpai_scope_sync(UDPAI_LIST_ENTRY(scope, udpai_scope, in_source));
    }
}

/* ---- what is unknown ---- */

static bool
is_ruled_out(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (!self->is_reached) /* unless it counted before a restart, and is not read again yet */
        return !(self->source->kind == UDPAI_SOURCE_PATH && self->is_eligible);
    /* Only behind STOP_ON_SUCCESS does a later one stand in; elsewhere they complete each other. */
    if (self->continuation != UDPAI_STOP_ON_SUCCESS || counts(provider, index))
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_reached && later->is_eligible &&
            (later->on_demand ? is_complete(later) : later->scope->is_known) &&
            udpai_prefix_covers(udpai_bytes_view(later->prefix), udpai_bytes_view(self->prefix)))
            return true;
    }
    return false;
}

/* Collects facts for a snapshot; the tables are freed with done(). */
struct facts {
    UDPAI_VECTOR(udpai_unsettled) missing;
    UDPAI_VECTOR(udpai_str *) wishes;
    UDPAI_VECTOR(udpai_str) types;
    bool failed;
};

static void
facts_done(struct facts *facts)
{
    for (size_t i = 0; i < facts->wishes.n; i++)
        udpai_free(facts->wishes.items[i]);
    udpai_vector_done(&facts->wishes);
    udpai_vector_done(&facts->missing);
    udpai_vector_done(&facts->types);
}

/* What of a scope on demand was answered, or was not. */
static const udpai_str *
list_wishes(struct facts *facts, const udpai_scope *scope, bool answered, size_t *ret_n)
{
    udpai_str *list = udpai_alloc_array(scope->wishes.n, sizeof(*list));
    if (!list || !udpai_vector_push(&facts->wishes, list)) {
        udpai_free(list);
        facts->failed = true;
        return NULL;
    }
    size_t at = 0;
    const udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        if (wish->is_known == answered)
            list[(*ret_n)++] = udpai_wish_subject(wish);
    return list;
}

static void
add_missing(struct facts *facts, const udpai_node *node, const udpai_descriptor *descriptor)
{
    const udpai_source *source = descriptor->source;
    const udpai_peer *peer = udpai_peer_find(node, source->session);
    udpai_unsettled missing = {
        .type_url = udpai_bytes_view(descriptor->scope->type),
        .prefix = udpai_bytes_view(descriptor->prefix),
        .source = udpai_bytes_view(source->name),
        .may_wait_for_us = udpai_source_is_active(source) && peer && peer->is_extended,
    };
    if (missing.may_wait_for_us)
        missing.since_ms = source->active_since_ms;
    if (peer && peer->info)
        missing.peer_node = udpai_node_info_parts(peer->info)->id;
    if (descriptor->on_demand) {
        missing.on_demand = true;
        missing.answered = list_wishes(facts, descriptor->scope, true, &missing.n_answered);
        missing.asked = list_wishes(facts, descriptor->scope, false, &missing.n_asked);
    }
    if (!udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

static void
add_provider(struct facts *facts, const udpai_node *node, const udpai_provider *provider)
{
    if (!udpai_vector_push(&facts->types, udpai_bytes_view(provider->type)))
        facts->failed = true;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (!(descriptor->scope->is_known && !descriptor->on_demand) && !is_ruled_out(provider, i))
            add_missing(facts, node, descriptor);
    }
}

udpai_settled *
udpai_providers_settled(const udpai_node *node)
{
    struct facts facts = {0};
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&node->providers, &at)))
        add_provider(&facts, node, provider);
    for (size_t i = 0; i < node->expected_files.n; i++) {
        const udpai_expected *expected = &node->expected_files.items[i];
        const udpai_unsettled missing = {.source = udpai_bytes_view(expected->root)};
        if (!expected->is_known && !udpai_vector_push(&facts.missing, missing))
            facts.failed = true;
    }
    for (size_t i = 0; i < node->expected_own.n; i++) {
        const udpai_unsettled missing = {
            .type_url = udpai_bytes_view(node->expected_own.items[i]),
            .prefix = UDPAI_STR(UDPAI_NODE_NAMESPACE),
            .source = udpai_bytes_view(node->id),
        };
        if (!udpai_vector_push(&facts.missing, missing))
            facts.failed = true;
    }
    const udpai_settled_facts all = {
        .missing = facts.missing.items,
        .n_missing = facts.missing.n,
        .asks_for_status = node->is_endpoint,
        .only_known_types = node->any_type != NULL,
        .known_types = facts.types.items,
        .n_known_types = facts.types.n,
    };
    udpai_settled *settled = facts.failed ? NULL : udpai_settled_new(&all);
    facts_done(&facts);
    return settled;
}

/* ---- making them ---- */

static void
free_provider(udpai_provider *provider)
{
    if (!provider)
        return;
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

/* ---- interest ---- */

/* A type that nobody has asked for yet gets the provider of all others. */
static udpai_provider *
provider_of(udpai_node *node, udpai_str type_url)
{
    udpai_provider *provider = udpai_map_get(&node->providers, type_url);
    if (provider || !node->any_type)
        return provider;
    UDPAI_VECTOR(udpai_descriptor_config) descriptors = {0};
    const udpai_provider *template = node->any_type;
    if (udpai_vector_reserve(&descriptors, template->descriptors.n)) {
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
        if (add_type(node, type_url, &config, NULL) == UDPA_OK)
            provider = udpai_map_get(&node->providers, type_url);
    }
    udpai_vector_done(&descriptors);
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
    udpai_provider *provider = provider_of(node, type_url);
    for (size_t i = 0; provider && i < provider->descriptors.n; i++)
        udpai_scope_interest(provider->descriptors.items[i].scope, text, wanted);
    udpai_node_touch(node);
}
