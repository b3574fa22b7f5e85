/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are asked for each group of clients by itself: a control plane that computes its
 * answer for the Node that asks must be asked in the place of each. A group has sources and
 * providers of its own, made after the configured ones, for its name space alone; so the failure of
 * one client's stream concerns that client alone. */
#include "federation/clients_internal.h"

#include "base/alloc.h"
#include "federation/demand.h"
#include "federation/source_dynamic.h"
#include "federation/sync.h"

/* Between the steps of an end, and without memory for one. */
#define AGAIN_MS 1000

static udpai_str
clients_key(const void *item)
{
    return udpai_bytes_view(((const udpai_clients *)item)->name_space);
}

udpa_err
udpai_groups_new(udpai_groups **ret_groups, const udpai_parts *parts, size_t max_groups)
{
    udpai_groups *groups = udpai_alloc(sizeof(*groups));
    if (!groups)
        return UDPA_ERR_NOMEM;
    groups->context = parts->context;
    groups->sources = parts->sources;
    groups->providers = parts->providers;
    groups->demand = parts->demand;
    groups->sync = parts->sync;
    groups->max = max_groups;
    udpai_map_init(&groups->by_name_space, clients_key);
    udpai_list_init(&groups->dirty);
    udpai_list_init(&groups->unused);
    udpai_client_reports_init(groups);
    *ret_groups = groups;
    return UDPA_OK;
}

void
udpai_groups_set_max(udpai_groups *groups, size_t max_groups)
{
    groups->max = max_groups;
}

/* ---- making a group ---- */

udpai_source *
udpai_clients_source(const udpai_clients *clients, const udpai_source *template)
{
    for (size_t i = 0; i < clients->sources.n; i++)
        if (udpai_source_template(clients->sources.items[i]) == template)
            return clients->sources.items[i];
    return NULL;
}

static udpa_err
add_source(udpai_clients *clients, const udpai_source *template, udpai_source **ret_source)
{
    udpa_err err = udpai_vector_reserve(&clients->sources, 1) ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err =
            udpai_source_new_of_clients(template, clients_key(clients), &clients->mark, ret_source);
    if (err == UDPA_OK)
        clients->sources.items[clients->sources.n++] = *ret_source;
    return err;
}

static udpa_err
add_descriptor(udpai_clients *clients, udpai_provider *provider, const udpai_descriptor *from)
{
    udpai_descriptor descriptor = {
        .source = udpai_clients_source(clients, from->source),
        .continuation = from->continuation,
        .on_demand = from->on_demand,
        .position = from->position,
        .of_groups = from->of_groups,
    };
    udpa_err err = UDPA_OK;
    if (!descriptor.source)
        err = add_source(clients, from->source, &descriptor.source);
    return err == UDPA_OK
               ? udpai_provider_add(provider, &descriptor, udpai_bytes_view(clients->name_space))
               : err;
}

static bool
is_for(const udpai_clients *clients, const udpai_descriptor *descriptor)
{
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), clients_key(clients));
}

static void
replay(void *provider, udpai_str text)
{
    udpai_provider_take_interest(provider, text, true);
}

static udpa_err
add_provider(udpai_clients *clients, const udpai_provider *from)
{
    udpai_str type_url = udpai_bytes_view(from->type);
    udpai_provider *provider = udpai_provider_new(clients->owner->providers, type_url);
    udpa_err err = provider ? UDPA_OK : UDPA_ERR_NOMEM;
    bool by_interest = false;
    for (size_t i = 0; i < from->per_clients.n && err == UDPA_OK; i++) {
        const udpai_descriptor *descriptor = &from->per_clients.items[i];
        if (!is_for(clients, descriptor))
            continue;
        by_interest |= descriptor->on_demand;
        err = add_descriptor(clients, provider, descriptor);
    }
    if (err != UDPA_OK || provider->descriptors.n == 0) {
        udpai_provider_free(provider);
        return err;
    }
    err = udpai_provider_activate(&clients->providers, provider);
    if (err != UDPA_OK)
        udpai_provider_free(provider);
    else if (by_interest)
        udpai_demand_visit_place(clients->owner->demand, type_url, clients_key(clients), replay,
                                 provider);
    return err;
}

/* ---- the end ---- */

/* Nothing of it is kept any more, so nothing is noted. */
static void
end_provider(udpai_provider *provider)
{
    udpai_str type_url = udpai_bytes_view(provider->type);
    for (size_t i = 0; i < provider->descriptors.n; i++)
        (void)udpai_origin_set_eligible(provider->owner->context->store,
                                        udpai_source_origin(provider->descriptors.items[i].source),
                                        type_url, false);
    udpai_provider_free(provider);
}

static void
free_clients(udpai_clients *clients)
{
    udpai_timer_cancel(&clients->unused);
    udpai_clients_meet_done(clients);
    udpai_mark_done(&clients->mark);
    udpai_list_remove(&clients->in_unused);
    udpai_map_done(&clients->providers);
    udpai_vector_done(&clients->sources);
    udpa_bytes_unref(clients->name_space);
    udpai_free(clients);
}

/* False: without memory for it, some stream would go on. */
static bool
disconnect(udpai_clients *clients)
{
    for (size_t i = 0; i < clients->sources.n; i++)
        if (!udpai_source_disconnect(clients->sources.items[i]))
            return false;
    return true;
}

static void
end(udpai_clients *clients)
{
    udpai_groups *groups = clients->owner;
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(&clients->providers, &at)))
        end_provider(provider);
    for (size_t i = 0; i < clients->sources.n; i++)
        udpai_source_end(clients->sources.items[i]);
    udpai_map_remove(&groups->by_name_space, clients_key(clients));
    free_clients(clients);
    udpai_context_touch(groups->context);
}

/* What is kept of it, in one piece: half of it would look as if that were all. False: without
 * memory. */
static bool
forget_kept(udpai_clients *clients)
{
    for (size_t i = 0; i < clients->sources.n; i++)
        if (!udpai_store_forget_origin(clients->owner->context->store,
                                       udpai_source_origin(clients->sources.items[i])))
            return false;
    return true;
}

/* First the stream side learns that the group is unknown, then its resources are removed: a client
 * that comes back in between gets no removal before the group is asked for again. */
static void
on_unused(udpai_timer *timer)
{
    udpai_clients *clients = UDPAI_CONTAINER_OF(timer, udpai_clients, unused);
    udpai_groups *groups = clients->owner;
    bool is_applied =
        clients->is_ending && udpai_sync_is_applied_since(groups->sync, clients->ended_at);
    if (!clients->is_ending) {
        clients->is_ending = udpai_clients_forget_settled(clients);
        clients->ended_at = udpai_sync_n_evaluations(groups->sync);
    }
    if (is_applied && disconnect(clients) && forget_kept(clients))
        end(clients);
    else
        udpai_timer_set(groups->context->wheel, timer,
                        udpai_context_now(groups->context) + AGAIN_MS);
}

void
udpai_groups_free(udpai_groups *groups)
{
    if (!groups)
        return;
    udpai_client_reports_done(groups);
    size_t at = 0;
    udpai_clients *clients;
    while ((clients = udpai_map_next(&groups->by_name_space, &at))) {
        size_t of = 0;
        udpai_provider *provider;
        while ((provider = udpai_map_next(&clients->providers, &of)))
            udpai_provider_free(provider);
        free_clients(clients);
    }
    udpai_map_done(&groups->by_name_space);
    udpai_free(groups);
}

/* ---- beginning ---- */

static udpa_err
add_providers(udpai_clients *clients)
{
    size_t at = 0;
    const udpai_provider *provider;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (provider = udpai_map_next(&clients->owner->providers->by_type, &at)))
        err = add_provider(clients, provider);
    return err;
}

udpai_clients *
udpai_clients_new(udpai_groups *groups, udpai_str name_space)
{
    udpai_clients *clients = udpai_alloc(sizeof(*clients));
    if (!clients)
        return NULL;
    clients->owner = groups;
    udpai_mark_init(&clients->mark, &groups->dirty);
    udpai_list_init(&clients->in_unused);
    udpai_clients_touch(clients);
    udpai_map_init(&clients->providers, udpai_provider_key);
    udpai_timer_init(&clients->unused, on_unused);
    udpai_clients_meet_init(clients);
    if (udpa_bytes_new(&clients->name_space, name_space.data, name_space.len) != UDPA_OK ||
        !udpai_map_add(&groups->by_name_space, clients)) {
        free_clients(clients);
        return NULL;
    }
    if (add_providers(clients) == UDPA_OK)
        return clients;
    end(clients);
    return NULL;
}

void
udpai_groups_move(udpai_groups *groups, const udpai_source *template)
{
    size_t at = 0;
    udpai_clients *clients;
    while ((clients = udpai_map_next(&groups->by_name_space, &at))) {
        udpai_source *source = udpai_clients_source(clients, template);
        if (source && !udpai_source_follow_template(source, clients_key(clients), clients->info))
            udpai_log(UDPA_LOG_ERROR, "federation",
                      "source %.*s: is reached as before: out of memory",
                      UDPAI_SHOWN(udpai_source_name(source)));
    }
}

/* Is anything asked for by clients in this name space? */
bool
udpai_clients_are_foreseen(const udpai_groups *groups, udpai_str name_space)
{
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&groups->providers->by_type, &at)))
        for (size_t i = 0; i < provider->per_clients.n; i++)
            if (udpai_prefix_covers(udpai_bytes_view(provider->per_clients.items[i].prefix),
                                    name_space))
                return true;
    return false;
}

/* ---- their demand ---- */

static void
take_interest(udpai_clients *clients, udpai_str type_url, udpai_str text, bool subscribed)
{
    udpai_provider *provider = udpai_map_get(&clients->providers, type_url);
    if (!provider)
        return;
    udpai_provider_take_interest(provider, text, subscribed);
    udpai_clients_touch(clients);
}

/* A name lies in one name space, a wildcard may be of several. */
void
udpai_clients_interest(udpai_groups *groups, udpai_str type_url, udpai_str text, bool subscribed)
{
    bool is_wildcard = text.data[0] == '*';
    const udpai_str subject = {text.data + is_wildcard, text.len - is_wildcard};
    size_t at = 0;
    udpai_str prefix;
    udpai_clients *clients;
    if (groups->by_name_space.n == 0)
        return;
    while (udpai_name_next_prefix(subject, &at, &prefix))
        if ((clients = udpai_map_get(&groups->by_name_space, prefix)))
            take_interest(clients, type_url, text, subscribed);
    at = 0;
    while (is_wildcard && (clients = udpai_map_next(&groups->by_name_space, &at)))
        if (clients_key(clients).len > subject.len &&
            udpai_prefix_covers(subject, clients_key(clients)))
            take_interest(clients, type_url, text, subscribed);
}

void
udpai_clients_restore_use(const udpai_source *source, udpai_str type_url)
{
    const udpai_clients *clients =
        UDPAI_CONTAINER_OF(udpai_source_clients(source), udpai_clients, mark);
    udpai_provider *provider = udpai_map_get(&clients->providers, type_url);
    if (provider)
        udpai_provider_restore_use(provider, source);
}

/* ---- after every change ---- */

/* What is asked in the stead of some clients follows from the state of their sources alone. */
static void
evaluate(udpai_clients *clients)
{
    udpai_providers_evaluate_map(&clients->providers);
    for (size_t i = 0; i < clients->sources.n; i++)
        udpai_source_evaluate(clients->sources.items[i], clients->have_come);
    if (!udpai_clients_note_settled(clients)) /* without memory: again with the next flush */
        udpai_clients_touch(clients);
}

void
udpai_groups_evaluate(udpai_groups *groups)
{
    udpai_list dirty, *at;
    udpai_list_init(&dirty);
    udpai_list_splice(&dirty, &groups->dirty);
    while ((at = udpai_list_pop(&dirty)))
        evaluate(UDPAI_LIST_ENTRY(at, udpai_clients, mark.in_marked));
}
