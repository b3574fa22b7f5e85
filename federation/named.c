/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of single names. Their descriptors are walked as those of a type are; what differs is
 * that a source is asked for a name, one scope of it for all such names of a type, and that the
 * store gets the active sources of the name. */
#include "federation/named.h"

#include "base/alloc.h"

/* ---- demand ---- */

static void
take_interest(udpai_named *named, bool subscribed)
{
    named->provider->n_subscribed += subscribed ? 1 : (size_t)-1;
    udpai_context_touch(named->provider->owner->context);
}

void
udpai_named_interest(udpai_providers *providers,
                     udpai_str type_url,
                     udpai_str text,
                     bool subscribed)
{
    const udpai_str prefix = {text.data + 1, text.len - 1};
    size_t at = 0;
    udpai_named *named;
    if (udpai_named_table_size(providers->named_table) == 0)
        return;
    if (text.data[0] != '*') {
        named = udpai_named_find(providers->named_table, type_url, text);
        if (named)
            take_interest(named, subscribed);
        return;
    }
    while ((named = udpai_named_table_next(providers->named_table, &at)))
        if (udpai_str_eq(udpai_named_type(named), type_url) &&
            udpai_prefix_covers(prefix, udpai_named_name(named)))
            take_interest(named, subscribed);
}

static bool
is_subscribed(const udpai_named *named, const udpai_descriptor *descriptor)
{
    return named->provider->n_subscribed || !descriptor->on_demand;
}

static bool
has_demand(const udpai_named *named)
{
    const udpai_provider *provider = named->provider;
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (is_subscribed(named, &provider->descriptors.items[i]))
            return true;
    return provider->n_subscribed != 0;
}

/* ---- active sources ---- */

static bool
holds(const udpai_named *named, const udpai_descriptor *descriptor)
{
    udpai_contribution held;
    return udpai_store_get(named->provider->owner->context->store,
                           udpai_source_origin(descriptor->source), udpai_named_type(named),
                           udpai_named_name(named), &held);
}

/* Has a source of its own sent an answer for it? */
static bool
has_answer(const udpai_named *named)
{
    const udpai_provider *provider = named->provider;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_eligible &&
            (udpai_descriptor_is_complete(descriptor) || holds(named, descriptor)))
            return true;
    }
    return false;
}

struct search {
    udpai_str type_url;
    bool is_found;
};

static bool
search_contribution(void *userdata, const udpai_contribution *contribution)
{
    struct search *search = userdata;
    search->is_found = udpai_origin_is_eligible(contribution->origin, search->type_url) &&
                       !contribution->superseded;
    return !search->is_found;
}

/* Is there something that is effective, or would be, without this provider? */
static bool
type_holds(const udpai_named *named)
{
    struct search search = {udpai_named_type(named), false};
    udpai_store_visit_name(named->provider->owner->context->store, search.type_url,
                           udpai_named_name(named), search_contribution, &search);
    return search.is_found;
}

/* Has what those that leave were waiting for, come about? */
static bool
may_leave(const udpai_named *named)
{
    if (!has_demand(named))
        return true;
    if (named->provider->descriptors.n)
        return has_answer(named);
    return type_holds(named) ||
           udpai_providers_know(named->provider->owner, udpai_named_type(named),
                                udpai_named_name(named));
}

static void
choose(udpai_named *named)
{
    udpai_provider *provider = named->provider;
    size_t n = 0;
    UDPAI_AUTO_FREE udpai_origin **origins =
        udpai_alloc_array(provider->descriptors.n + named->leaving.n + 1, sizeof(origins[0]));
    for (size_t i = 0; origins && i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].is_eligible)
            origins[n++] = udpai_source_origin(provider->descriptors.items[i].source);
    for (size_t i = 0; origins && i < named->leaving.n; i++)
        if (named->leaving.items[i].is_eligible)
            origins[n++] = udpai_source_origin(named->leaving.items[i].source);
    if (!origins || udpai_store_choose(provider->owner->context->store, udpai_named_type(named),
                                       udpai_named_name(named), origins, n) != UDPA_OK)
        udpai_context_touch(
            provider->owner->context); /* without memory: again with the next flush */
}

static void
come_into_force(udpai_named *named)
{
    if (!named->is_in_force)
        named->is_in_force =
            named->at_once || !type_holds(named) || has_answer(named) || !has_demand(named);
    if (named->is_in_force)
        choose(named);
}

/* ---- what is asked ---- */

static void
ask(udpai_named *named, udpai_descriptor *descriptor)
{
    udpai_scope *scope = descriptor->scope;
    bool subscribed = is_subscribed(named, descriptor);
    if (subscribed != descriptor->is_subscribed) {
        udpai_scope_interest(scope, udpai_named_name(named), subscribed);
        descriptor->is_subscribed = subscribed;
    }
    udpai_source_request *request = udpai_scope_request(scope, udpai_named_name(named), false);
    if (request)
        request->is_paused = !descriptor->is_reached;
    else if (subscribed) { /* without memory: again with the next flush */
        descriptor->is_subscribed = false;
        udpai_context_touch(named->provider->owner->context);
    }
    scope->is_requested |= request && descriptor->is_reached; /* also while it lingers */
}

static void
evaluate(udpai_named *named)
{
    udpai_provider *provider = named->provider;
    udpai_provider_walk(provider);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        ask(named, &provider->descriptors.items[i]);
    for (size_t i = 0; i < named->leaving.n; i++)
        named->leaving.items[i].scope->is_requested |= named->leaving.items[i].is_subscribed;
    if (named->leaving.n)
        udpai_named_drop_leaving(named, may_leave(named)
                                            ? UDPAI_WHEEL_NEVER
                                            : udpai_context_now(provider->owner->context));
    come_into_force(named);
}

/* ---- the whole ---- */

static bool
has_ended(const udpai_named *named)
{
    return named->provider->descriptors.n == 0 && named->leaving.n == 0;
}

static void
remove_named(udpai_providers *providers, udpai_named *named)
{
    udpai_named_table_remove(providers->named_table, named);
    udpai_store_choose_no_more(providers->context->store, udpai_named_type(named),
                               udpai_named_name(named));
    udpai_named_free(named);
}

/* The table must not change while it is iterated: one at a time. */
static udpai_named *
find_ended(const udpai_providers *providers)
{
    size_t at = 0;
    udpai_named *named;
    while ((named = udpai_named_table_next(providers->named_table, &at)))
        if (has_ended(named))
            return named;
    return NULL;
}

static void
clear_requested(udpai_providers *providers)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next(providers->sources, &at)))
        for (udpai_scope *scope = NULL; (scope = udpai_source_next_scope(source, scope));)
            if (scope->is_named)
                scope->is_requested = false;
}

void
udpai_named_evaluate(udpai_providers *providers)
{
    size_t at = 0, n_ended = 0;
    udpai_named *named;
    if (udpai_named_table_size(providers->named_table) == 0 && !udpai_sync_names(providers->sync))
        return;
    clear_requested(providers);
    providers->named_are_waiting = false;
    while ((named = udpai_named_table_next(providers->named_table, &at))) {
        evaluate(named);
        n_ended += has_ended(named);
        providers->named_are_waiting |= !named->is_in_force || named->leaving.n;
    }
    while (n_ended && (named = find_ended(providers)))
        remove_named(providers, named);
    udpai_named_note_settled(providers);
}
