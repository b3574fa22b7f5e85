/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of single names: making one, giving it other sources, and its end. */
#include "base/alloc.h"
#include "federation/demand.h"
#include "federation/named.h"
#include "federation/sources.h"

/* Each is looked at when anything has changed. */
#define NAMED_MAX 4096

/* ---- scopes ---- */

static udpai_scope *
take_scope(udpai_source *source, udpai_str type_url)
{
    udpai_scope *scope = NULL;
    while ((scope = udpai_source_next_scope(source, scope)))
        if (scope->is_named && udpai_str_eq(udpai_bytes_view(scope->type), type_url)) {
            scope->n_users++;
            return scope;
        }
    scope = udpai_scope_new(source, type_url, (udpai_str){"", 0}, true);
    if (!scope)
        return NULL;
    scope->is_named = true;
    scope->n_users = 1;
    scope->is_known = udpai_source_has_been_read(source);
    return scope;
}

static void
leave_scope(udpai_scope *scope)
{
    if (--scope->n_users == 0)
        udpai_scope_give_up(scope);
}

/* What came by it goes. */
static void
drop(udpai_descriptor *descriptor)
{
    if (descriptor->is_subscribed)
        udpai_scope_end_name(descriptor->scope, udpai_bytes_view(descriptor->prefix));
    leave_scope(descriptor->scope);
    udpa_bytes_unref(descriptor->prefix);
}

/* ---- descriptors ---- */

static udpa_err
check_descriptor(udpai_providers *providers,
                 const udpai_named_config *config,
                 size_t index,
                 udpa_error **ret_error)
{
    const udpai_descriptor_config *self = &config->descriptors[index];
    const udpai_source *source = NULL;
    udpa_err err = udpai_sources_find(providers->sources, self->source, UDPAI_AWAITED_BY_RESOURCE,
                                      &source, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!source)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the provider of '%.*s' names the ConfigSource '%.*s', which this node "
                          "does not have",
                          UDPAI_SHOWN(config->name), UDPAI_SHOWN(self->source));
    if (udpai_source_is_template(source))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "the provider of '%.*s' names the ConfigSource '%.*s', which is asked for "
            "each group of clients by itself: it cannot be asked for one name",
            UDPAI_SHOWN(config->name), UDPAI_SHOWN(self->source));
    if (!udpai_prefix_covers(self->prefix, config->name))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "the provider of '%.*s' takes from '%.*s' the namespace '%.*s', which the "
            "name does not lie in",
            UDPAI_SHOWN(config->name), UDPAI_SHOWN(self->source), UDPAI_SHOWN(self->prefix));
    for (size_t i = 0; i < index; i++)
        if (udpai_str_eq(config->descriptors[i].source, self->source))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "the provider of '%.*s' names the ConfigSource '%.*s' twice",
                              UDPAI_SHOWN(config->name), UDPAI_SHOWN(self->source));
    return UDPA_OK;
}

static udpa_err
check(udpai_providers *providers, const udpai_named_config *config, udpa_error **ret_error)
{
    udpa_err err = udpai_name_check(config->name, ret_error);
    if (err == UDPA_OK && config->type_url.len > UDPAI_TYPE_URL_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "the provider of '%.*s': its type is too long",
                         UDPAI_SHOWN(config->name));
    if (err == UDPA_OK && config->n_descriptors == 0)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "the provider of '%.*s' has no config_descriptors: name its sources",
                         UDPAI_SHOWN(config->name));
    for (size_t i = 0; i < config->n_descriptors && err == UDPA_OK; i++)
        err = check_descriptor(providers, config, i, ret_error);
    return err;
}

static udpa_err
add_descriptor(udpai_provider *provider, const udpai_descriptor_config *config)
{
    udpai_source *source = udpai_sources_get(provider->owner->sources, config->source);
    const udpai_descriptor descriptor = {
        .source = source,
        .continuation = config->continuation,
        .on_demand = config->on_demand,
        .scope = take_scope(source, udpai_bytes_view(provider->type)),
        .position = (unsigned)provider->descriptors.n,
    };
    if (!descriptor.scope)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_provider_add(provider, &descriptor, udpai_bytes_view(provider->name));
    if (err != UDPA_OK) {
        leave_scope(descriptor.scope);
        return err;
    }
    udpai_source_take_order(source, descriptor.position);
    return UDPA_OK;
}

static void
free_provider(udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++)
        drop(&provider->descriptors.items[i]);
    provider->descriptors.n = 0;
    udpai_provider_free(provider);
}

/* Nothing is asked yet. */
static udpai_provider *
make_provider(udpai_providers *providers, const udpai_named_config *config)
{
    udpai_provider *provider = udpai_provider_new(providers, config->type_url);
    if (!provider)
        return NULL;
    udpa_err err = udpa_bytes_new(&provider->name, config->name.data, config->name.len);
    for (size_t i = 0; i < config->n_descriptors && err == UDPA_OK; i++)
        err = add_descriptor(provider, &config->descriptors[i]);
    if (err == UDPA_OK)
        return provider;
    free_provider(provider);
    return NULL;
}

/* ---- making and ending ---- */

static void
on_patience_end(udpai_timer *timer)
{
    udpai_named *named = UDPAI_CONTAINER_OF(timer, udpai_named, patience);
    udpai_context_touch(named->provider->owner->context);
}

void
udpai_named_drop_leaving(udpai_named *named, uint64_t due_ms)
{
    size_t n = 0;
    uint64_t next_ms = UDPAI_WHEEL_NEVER;
    udpai_timer_cancel(&named->patience);
    for (size_t i = 0; i < named->leaving.n; i++) {
        udpai_descriptor *leaving = &named->leaving.items[i];
        if (leaving->leaves_ms <= due_ms) {
            drop(leaving);
            continue;
        }
        if (leaving->leaves_ms < next_ms)
            next_ms = leaving->leaves_ms;
        named->leaving.items[n++] = *leaving;
    }
    named->leaving.n = n;
    if (n)
        udpai_timer_set(named->provider->owner->context->wheel, &named->patience, next_ms);
}

/* Nothing is sent or taken back. */
static void
free_alone(udpai_named *named)
{
    for (size_t i = 0; i < named->leaving.n; i++)
        udpa_bytes_unref(named->leaving.items[i].prefix);
    udpai_vector_done(&named->leaving);
    udpai_timer_cancel(&named->patience);
    udpai_provider_free(named->provider);
    udpa_bytes_unref(named->key);
    udpai_free(named);
}

void
udpai_named_free(udpai_named *named)
{
    udpai_named_drop_leaving(named, UDPAI_WHEEL_NEVER);
    for (size_t i = 0; i < named->provider->descriptors.n; i++)
        drop(&named->provider->descriptors.items[i]);
    named->provider->descriptors.n = 0;
    free_alone(named);
}

/* With the node, and so with its sources. */
void
udpai_named_free_all(udpai_providers *providers)
{
    size_t at = 0;
    udpai_named *named;
    while ((named = udpai_named_table_next(providers->named_table, &at)))
        free_alone(named);
}

static void
count_text(void *provider, udpai_str text)
{
    (void)text;
    ((udpai_provider *)provider)->n_subscribed++;
}

static udpa_err
make_named(udpai_providers *providers, udpai_provider *provider, bool at_once)
{
    char room[UDPAI_NAMED_KEY_MAX];
    udpai_str type_url = udpai_bytes_view(provider->type);
    udpai_str name = udpai_bytes_view(provider->name);
    udpai_str key = udpai_type_key(room, type_url, name);
    udpai_named *named = udpai_alloc(sizeof(*named));
    if (!named)
        return UDPA_ERR_NOMEM;
    named->at_once = at_once;
    udpai_timer_init(&named->patience, on_patience_end);
    if (udpa_bytes_new(&named->key, key.data, key.len) != UDPA_OK ||
        !udpai_named_table_add(providers->named_table, named)) {
        free_alone(named);
        return UDPA_ERR_NOMEM;
    }
    named->provider = provider;
    udpai_demand_visit_name(providers->demand, type_url, name, count_text, provider);
    return UDPA_OK;
}

static udpai_descriptor *
find_descriptor(const udpai_provider *provider, const udpai_source *source)
{
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].source == source)
            return &provider->descriptors.items[i];
    return NULL;
}

/* It goes on under the new provider, or leaves. There is room for it. */
static void
hand_over(udpai_named *named, udpai_provider *to, udpai_descriptor *from)
{
    const udpai_providers *providers = to->owner;
    udpai_descriptor *same = find_descriptor(to, from->source);
    if (!same) {
        if (!from->leaves_ms)
            from->leaves_ms = udpai_context_now(providers->context) +
                              providers->context->timing.interest_linger_ms;
        named->leaving.items[named->leaving.n++] = *from;
        return;
    }
    same->is_eligible = from->is_eligible;
    same->is_subscribed = from->is_subscribed;
    leave_scope(from->scope);
    udpa_bytes_unref(from->prefix);
}

/* Takes the provider: its sources replace the former ones. */
static udpa_err
replace_provider(udpai_named *named, udpai_provider *to)
{
    udpai_provider *before = named->provider;
    size_t n_leaving = named->leaving.n;
    if (!udpai_vector_reserve(&named->leaving, before->descriptors.n))
        return UDPA_ERR_NOMEM;
    named->leaving.n = 0; /* one that had left may come back */
    for (size_t i = 0; i < n_leaving; i++) {
        udpai_descriptor leaving = named->leaving.items[i];
        hand_over(named, to, &leaving);
    }
    for (size_t i = 0; i < before->descriptors.n; i++)
        hand_over(named, to, &before->descriptors.items[i]);
    before->descriptors.n = 0;
    to->n_subscribed = before->n_subscribed;
    free_provider(before);
    named->provider = to;
    return UDPA_OK;
}

static udpa_err
check_room(const udpai_providers *providers, const udpai_named *there, udpa_error **ret_error)
{
    if (there || udpai_named_table_size(providers->named_table) < NAMED_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%d names have providers of their own already, which is the limit",
                      NAMED_MAX);
}

udpa_err
udpai_named_set(udpai_providers *providers,
                const udpai_named_config *config,
                udpa_error **ret_error)
{
    udpai_named *there = udpai_named_find(providers->named_table, config->type_url, config->name);
    udpa_err err = check(providers, config, ret_error);
    if (err == UDPA_OK)
        err = check_room(providers, there, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_provider *provider = make_provider(providers, config);
    err = !provider ? UDPA_ERR_NOMEM
          : there   ? replace_provider(there, provider)
                    : make_named(providers, provider, config->at_once);
    if (err != UDPA_OK && provider)
        free_provider(provider);
    udpai_context_touch(providers->context);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
add_named(udpai_providers *providers, const udpai_named_config *config, udpa_error **ret_error)
{
    if (!udpai_named_find(providers->named_table, config->type_url, config->name))
        return udpai_named_set(providers, config, ret_error);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for '%.*s' of type '%.*s'",
                      UDPAI_SHOWN(config->name), UDPAI_SHOWN(config->type_url));
}

udpa_err
udpai_named_configure(udpai_providers *providers,
                      const udpai_node_config *config,
                      udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_named && err == UDPA_OK; i++)
        err = add_named(providers, &config->named[i], ret_error);
    return err;
}

/* Without memory it ends at once. */
void
udpai_named_end(udpai_providers *providers, udpai_str type_url, udpai_str name)
{
    udpai_named *named = udpai_named_find(providers->named_table, type_url, name);
    if (!named)
        return;
    udpai_provider *nobody =
        make_provider(providers, &(udpai_named_config){.type_url = udpai_named_type(named),
                                                       .name = udpai_named_name(named)});
    if (!nobody || replace_provider(named, nobody) != UDPA_OK) {
        if (nobody)
            free_provider(nobody);
        for (size_t i = 0; i < named->provider->descriptors.n; i++)
            drop(&named->provider->descriptors.items[i]);
        named->provider->descriptors.n = 0;
        udpai_named_drop_leaving(named, UDPAI_WHEEL_NEVER);
    }
    udpai_context_touch(providers->context);
}
