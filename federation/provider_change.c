/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/provider_change.h"

#include <limits.h>

#include "base/alloc.h"
#include "federation/demand.h"
#include "federation/provider_internal.h"

/* A descriptor that goes on in another one. */
typedef struct join {
    udpai_provider *to;
    size_t index;
    const udpai_descriptor *from;
} join;

struct udpai_providers_next {
    udpai_providers *providers;
    UDPAI_VECTOR(udpai_provider *) made; /* those of the configuration first, in its order */
    udpai_map by_type;
    udpai_provider *any_type;
    UDPAI_VECTOR(join) joins;
};

static udpai_provider *
former_of(const udpai_providers_next *next, const udpai_provider *made)
{
    return udpai_map_get(&next->providers->by_type, udpai_bytes_view(made->type));
}

/* ---- making them ---- */

/* Takes the provider. */
static udpa_err
add(udpai_providers_next *next, udpai_provider *made)
{
    if (!udpai_vector_reserve(&next->made, 1) || !udpai_map_add(&next->by_type, made)) {
        udpai_provider_free(made);
        return UDPA_ERR_NOMEM;
    }
    next->made.items[next->made.n++] = made;
    return UDPA_OK;
}

static udpa_err
add_type(udpai_providers_next *next,
         udpai_str type_url,
         const udpai_provider_config *config,
         udpa_error **ret_error)
{
    udpai_provider *made = NULL;
    if (udpai_map_get(&next->by_type, type_url))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for type '%.*s'",
                          UDPAI_SHOWN(type_url));
    udpa_err err = udpai_provider_make(next->providers, type_url, config, &made, ret_error);
    return err == UDPA_OK ? udpai_fail_code(ret_error, add(next, made)) : err;
}

static udpa_err
add_configured(udpai_providers_next *next,
               const udpai_provider_config *config,
               udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_types && err == UDPA_OK; i++)
        err = add_type(next, config->types[i], config, ret_error);
    if (config->n_types || err != UDPA_OK)
        return err;
    if (next->any_type)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two providers for every other type");
    return udpai_provider_make(next->providers, (udpai_str){"", 0}, config, &next->any_type,
                               ret_error);
}

/* Without one of its own the type has that of all others, or none but what leaves. */
static udpa_err
add_former(udpai_providers_next *next, const udpai_provider *former, udpa_error **ret_error)
{
    udpai_provider *made = NULL;
    udpai_str type_url = udpai_bytes_view(former->type);
    if (udpai_map_get(&next->by_type, type_url))
        return UDPA_OK;
    if (next->any_type) {
        udpa_err err =
            udpai_provider_make_of_any(next->providers, type_url, next->any_type, &made, ret_error);
        return err == UDPA_OK ? udpai_fail_code(ret_error, add(next, made)) : err;
    }
    made = udpai_provider_new(next->providers, type_url);
    if (made)
        made->ends = true;
    return udpai_fail_code(ret_error, made ? add(next, made) : UDPA_ERR_NOMEM);
}

/* ---- what goes on ---- */

static bool
is_joined(const udpai_providers_next *next, const udpai_descriptor *from)
{
    for (size_t i = 0; i < next->joins.n; i++)
        if (next->joins.items[i].from == from)
            return true;
    return false;
}

static bool
is_of(const udpai_descriptor *a, const udpai_descriptor *b)
{
    return a->source == b->source &&
           udpai_str_eq(udpai_bytes_view(a->prefix), udpai_bytes_view(b->prefix));
}

static const udpai_descriptor *
find_same(const udpai_providers_next *next,
          const udpai_descriptor *among,
          size_t n,
          const udpai_descriptor *like)
{
    for (size_t i = 0; i < n; i++)
        if (is_of(&among[i], like) && among[i].on_demand == like->on_demand && among[i].scope &&
            !is_joined(next, &among[i]))
            return &among[i];
    return NULL;
}

static udpa_err
join_descriptor(udpai_providers_next *next, udpai_provider *made, size_t index)
{
    const udpai_provider *former = former_of(next, made);
    udpai_descriptor *self = &made->descriptors.items[index];
    join found = {made, index, NULL};
    if (former)
        found.from = find_same(next, former->descriptors.items, former->descriptors.n, self);
    if (former && !found.from)
        found.from = find_same(next, former->leaving.items, former->leaving.n, self);
    if (found.from)
        return udpai_vector_push(&next->joins, found) ? UDPA_OK : UDPA_ERR_NOMEM;
    self->scope = udpai_scope_new(self->source, udpai_bytes_view(made->type),
                                  udpai_bytes_view(self->prefix), self->on_demand);
    return self->scope ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Providers of client groups were made after these, and know them by their numbers. */
static void
keep_numbers(udpai_provider *made, const udpai_provider *former)
{
    for (size_t i = 0; i < made->per_clients.n; i++)
        for (size_t k = 0; k < former->per_clients.n; k++)
            if (is_of(&made->per_clients.items[i], &former->per_clients.items[k]))
                made->per_clients.items[i].of_groups = former->per_clients.items[k].of_groups;
}

static udpa_err
join_provider(udpai_providers_next *next, udpai_provider *made)
{
    const udpai_provider *former = former_of(next, made);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < made->descriptors.n && err == UDPA_OK; i++)
        err = join_descriptor(next, made, i);
    if (err == UDPA_OK && former) {
        keep_numbers(made, former);
        if (!udpai_vector_reserve(&made->leaving, former->descriptors.n + former->leaving.n))
            err = UDPA_ERR_NOMEM;
    }
    return err;
}

static udpa_err
prepare(udpai_providers_next *next, const udpai_node_config *config, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    const udpai_provider *former;
    for (size_t i = 0; i < config->n_providers && err == UDPA_OK; i++)
        err = add_configured(next, &config->providers[i], ret_error);
    while (err == UDPA_OK && (former = udpai_map_next(&next->providers->by_type, &at)))
        err = add_former(next, former, ret_error);
    for (size_t i = 0; i < next->made.n && err == UDPA_OK; i++)
        err = udpai_fail_code(ret_error, join_provider(next, next->made.items[i]));
    return err;
}

udpa_err
udpai_providers_prepare(udpai_providers_next **ret_next,
                        udpai_providers *providers,
                        const udpai_node_config *config,
                        udpa_error **ret_error)
{
    udpai_providers_next *next = udpai_alloc(sizeof(*next));
    if (!next)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    next->providers = providers;
    udpai_map_init(&next->by_type, udpai_provider_key);
    udpa_err err = prepare(next, config, ret_error);
    if (err == UDPA_OK)
        *ret_next = next;
    else
        udpai_providers_leave(next);
    return err;
}

static void
next_free(udpai_providers_next *next)
{
    udpai_vector_done(&next->made);
    udpai_vector_done(&next->joins);
    udpai_map_done(&next->by_type);
    udpai_free(next);
}

static void
free_made(udpai_provider *made)
{
    for (size_t i = 0; i < made->descriptors.n; i++)
        if (made->descriptors.items[i].scope)
            udpai_scope_free(made->descriptors.items[i].scope);
    udpai_provider_free(made);
}

void
udpai_providers_leave(udpai_providers_next *next)
{
    if (!next)
        return;
    for (size_t i = 0; i < next->made.n; i++)
        free_made(next->made.items[i]);
    udpai_provider_free(next->any_type);
    next_free(next);
}

/* ---- what would go ---- */

static bool
covers(const udpai_descriptor *descriptor, udpai_str name)
{
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), name);
}

static bool
is_brought(const udpai_provider *made, const udpai_source *source, udpai_str name)
{
    for (size_t i = 0; made && i < made->descriptors.n; i++)
        if (made->descriptors.items[i].source == source &&
            covers(&made->descriptors.items[i], name))
            return true;
    return false;
}

struct counting {
    const udpai_providers_next *next;
    const udpai_provider *made, *former;
    const udpai_descriptor *leaving;
    udpai_str name;
    bool stays;
    size_t n;
};

/* By whom it stays: a source that the type has then, or one that is none. */
static bool
look_for_another(void *userdata, const udpai_contribution *contribution)
{
    struct counting *self = userdata;
    const udpai_source *source =
        udpai_sources_of_origin(self->next->providers->sources, contribution->origin);
    self->stays =
        !contribution->superseded && (!source || is_brought(self->made, source, self->name));
    return !self->stays;
}

/* Was it counted with an earlier one of the same source? */
static bool
is_counted(const struct counting *self)
{
    for (const udpai_descriptor *at = self->former->descriptors.items; at < self->leaving; at++)
        if (at->source == self->leaving->source && covers(at, self->name) &&
            !is_joined(self->next, at))
            return true;
    return false;
}

static bool
count_one(void *userdata, const udpai_contribution *contribution)
{
    struct counting *self = userdata;
    const udpai_providers *providers = self->next->providers;
    self->name = udpai_resource_name(contribution->resource);
    self->stays = false;
    if (!contribution->effective || !covers(self->leaving, self->name) || is_counted(self))
        return true;
    udpai_store_visit_name(providers->context->store, udpai_bytes_view(self->former->type),
                           self->name, look_for_another, self);
    self->n += !self->stays;
    return true;
}

size_t
udpai_providers_n_withdrawn(const udpai_providers_next *next)
{
    struct counting counting = {.next = next};
    size_t at = 0;
    while ((counting.former = udpai_map_next(&next->providers->by_type, &at))) {
        udpai_str type_url = udpai_bytes_view(counting.former->type);
        counting.made = udpai_map_get(&next->by_type, type_url);
        for (size_t i = 0; i < counting.former->descriptors.n; i++) {
            counting.leaving = &counting.former->descriptors.items[i];
            if (!is_joined(next, counting.leaving))
                udpai_store_visit_origin(next->providers->context->store,
                                         udpai_source_origin(counting.leaving->source), type_url,
                                         count_one, &counting);
        }
    }
    return counting.n;
}

/* ---- letting go ---- */

/* Nothing is asked by it any more; what came by it stays. */
static void
end_scope(udpai_scope *scope)
{
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at)))
        udpai_source_request_end(request);
    udpai_scope_give_up(scope);
}

static bool
is_brought_otherwise(void *source, const udpa_resource *resource)
{
    return udpai_source_covers(source, udpai_resource_type_url(resource),
                               udpai_resource_name(resource)) &&
           udpai_source_still_brings(source, resource, NULL);
}

/* The contents of a directory are there anyhow. */
static void
drop(const udpai_provider *provider, udpai_descriptor *leaving)
{
    udpai_context *context = provider->owner->context;
    udpai_source *source = leaving->source;
    udpai_str type_url = udpai_bytes_view(provider->type);
    udpai_provider_set_in_use(context, udpai_source_origin(source), type_url,
                              udpai_provider_has_eligible(provider, source));
    if (leaving->scope)
        end_scope(leaving->scope);
    if (!udpai_source_is_path(source))
        udpai_store_withdraw_all(context->store, udpai_source_origin(source), type_url,
                                 udpai_bytes_view(leaving->prefix), is_brought_otherwise, source);
    udpa_bytes_unref(leaving->prefix);
}

static bool
is_due(const udpai_provider *provider, const udpai_descriptor *leaving)
{
    return leaving->leaves_ms <= udpai_context_now(provider->owner->context) ||
           udpai_source_is_void(leaving->source);
}

static void
wait_for_next(udpai_provider *provider)
{
    uint64_t next_ms = UDPAI_WHEEL_NEVER;
    udpai_timer_cancel(&provider->patience);
    for (size_t i = 0; i < provider->leaving.n; i++)
        if (provider->leaving.items[i].leaves_ms < next_ms)
            next_ms = provider->leaving.items[i].leaves_ms;
    if (provider->leaving.n)
        udpai_timer_set(provider->owner->context->wheel, &provider->patience, next_ms);
}

static void
let_go(udpai_provider *provider)
{
    size_t n = 0;
    for (size_t i = 0; i < provider->leaving.n; i++) {
        udpai_descriptor *leaving = &provider->leaving.items[i];
        if (is_due(provider, leaving)) {
            leaving->is_eligible = false;
            drop(provider, leaving);
        } else {
            provider->leaving.items[n++] = *leaving;
        }
    }
    provider->leaving.n = n;
    wait_for_next(provider);
}

/* The table must not change while it is iterated: one at a time. */
static udpai_provider *
find_ended(const udpai_providers *providers)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&providers->by_type, &at)))
        if (provider->ends && provider->leaving.n == 0)
            return provider;
    return NULL;
}

void
udpai_providers_let_go(udpai_providers *providers)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&providers->by_type, &at)))
        if (provider->leaving.n)
            let_go(provider);
    while ((provider = find_ended(providers))) {
        udpai_map_remove(&providers->by_type, udpai_bytes_view(provider->type));
        udpai_provider_free(provider);
    }
}

/* ---- taking them ---- */

static void
take_joined(udpai_providers_next *next)
{
    for (size_t i = 0; i < next->joins.n; i++) {
        const join *at = &next->joins.items[i];
        udpai_descriptor *to = &at->to->descriptors.items[at->index];
        to->scope = at->from->scope;
        to->is_eligible = at->from->is_eligible;
    }
}

/* A scope of the same prefix would be one with it for the peer: it ends first. */
static void
begin_to_leave(udpai_provider *made, udpai_descriptor *from)
{
    const udpai_context *context = made->owner->context;
    udpai_descriptor leaving = *from;
    from->prefix = NULL;
    if (!leaving.leaves_ms)
        leaving.leaves_ms = udpai_context_now(context) + context->timing.interest_linger_ms;
    for (size_t i = 0; i < made->descriptors.n && leaving.scope; i++)
        if (is_of(&made->descriptors.items[i], &leaving)) {
            made->descriptors.items[i].is_eligible |= leaving.is_eligible;
            end_scope(UDPAI_TAKE(leaving.scope));
        }
    made->leaving.items[made->leaving.n++] = leaving;
}

static void
take_leaving(const udpai_providers_next *next, udpai_provider *made, udpai_provider *former)
{
    for (size_t i = 0; i < former->descriptors.n; i++)
        if (!is_joined(next, &former->descriptors.items[i]))
            begin_to_leave(made, &former->descriptors.items[i]);
    for (size_t i = 0; i < former->leaving.n; i++)
        if (!is_joined(next, &former->leaving.items[i]))
            begin_to_leave(made, &former->leaving.items[i]);
    wait_for_next(made);
}

static bool
is_new(const udpai_providers_next *next, const udpai_provider *made, size_t index)
{
    for (size_t i = 0; i < next->joins.n; i++)
        if (next->joins.items[i].to == made && next->joins.items[i].index == index)
            return false;
    return true;
}

static void
replay_to_scope(void *scope, udpai_str text)
{
    udpai_scope_interest(scope, text, true);
}

static void
replay(void *provider, udpai_str text)
{
    udpai_provider_take_interest(provider, text, true);
}

/* What is subscribed to is asked of those that are new. */
static void
take_demand(const udpai_providers_next *next, udpai_provider *made, const udpai_provider *former)
{
    const udpai_demand *demand = next->providers->demand;
    udpai_str type_url = udpai_bytes_view(made->type);
    for (size_t i = 0; i < made->descriptors.n; i++) {
        udpai_descriptor *descriptor = &made->descriptors.items[i];
        if (!is_new(next, made, i))
            continue;
        descriptor->scope->is_known = udpai_source_has_been_read(descriptor->source);
        if (former)
            udpai_demand_visit(demand, type_url, replay_to_scope, descriptor->scope);
    }
    if (!former)
        udpai_demand_visit(demand, type_url, replay, made);
    else
        made->n_subscribed = former->n_subscribed;
    if (made->is_of_any && made->n_subscribed == 0)
        udpai_provider_await_use(made);
}

static bool
is_named(const udpai_providers_next *next, const udpai_source *source)
{
    for (size_t i = 0; i < next->made.n; i++)
        for (size_t k = 0; k < next->made.items[i]->descriptors.n; k++)
            if (next->made.items[i]->descriptors.items[k].source == source)
                return true;
    return false;
}

/* As at a start; those that leave are behind all others. */
static void
order_sources(const udpai_providers_next *next)
{
    for (size_t i = 0; i < next->made.n; i++)
        for (size_t k = 0; k < next->made.items[i]->descriptors.n; k++)
            udpai_source_forget_order(next->made.items[i]->descriptors.items[k].source);
    for (size_t i = 0; i < next->made.n; i++) {
        const udpai_provider *made = next->made.items[i];
        for (size_t k = 0; k < made->descriptors.n; k++)
            udpai_source_take_order(made->descriptors.items[k].source,
                                    made->descriptors.items[k].position);
        for (size_t k = 0; k < made->leaving.n; k++)
            if (!is_named(next, made->leaving.items[k].source))
                udpai_source_put_last(made->leaving.items[k].source);
    }
}

static void
ask_for_type(void *providers, udpai_str type_url)
{
    udpai_providers_expect(providers, type_url);
}

/* The former ones are in the map of what was prepared from here on. */
static void
exchange(udpai_providers_next *next)
{
    udpai_providers *providers = next->providers;
    udpai_map former = providers->by_type;
    providers->by_type = next->by_type;
    next->by_type = former;
    udpai_provider_free(providers->any_type);
    providers->any_type = UDPAI_TAKE(next->any_type);
    providers->n_any_types = 0;
    for (size_t i = 0; i < next->made.n; i++)
        providers->n_any_types += next->made.items[i]->is_of_any;
}

void
udpai_providers_take(udpai_providers_next *next)
{
    udpai_providers *providers = next->providers;
    size_t at = 0;
    udpai_provider *former;
    take_joined(next);
    for (size_t i = 0; i < next->made.n; i++) {
        former = former_of(next, next->made.items[i]);
        if (former)
            take_leaving(next, next->made.items[i], former);
        take_demand(next, next->made.items[i], former);
    }
    order_sources(next);
    exchange(next);
    while ((former = udpai_map_next(&next->by_type, &at)))
        udpai_provider_free(former);
    if (providers->any_type)
        udpai_demand_visit_types(providers->demand, ask_for_type, providers);
    udpai_context_touch(providers->context);
    next_free(next);
}
