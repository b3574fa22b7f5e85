/* SPDX-License-Identifier: Apache-2.0 */
/* What is still unknown, and from which sources it may come: the facts of the node's snapshot of
 * what is settled. */
#include "federation/provider_internal.h"

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/dynamic_sources.h"
#include "model/name.h"

/* Of the answer to a question for it by name or by a wildcard. */
static bool
is_answered(const udpai_scope *scope, udpai_str name)
{
    size_t at = 0;
    udpai_str prefix;
    const udpai_source_request *request = udpai_scope_request(scope, name, false);
    bool is_known = request && request->is_known;
    while (!is_known && udpai_name_next_prefix(name, &at, &prefix)) {
        request = udpai_scope_request(scope, prefix, true);
        is_known = request && request->is_known;
    }
    return is_known;
}

/* It may also be that there is nothing for this node to see. */
bool
udpai_descriptor_is_known(const udpai_descriptor *descriptor)
{
    const udpai_scope *scope = descriptor->scope;
    if (udpai_scope_is_held(scope))
        return false;
    if (scope->is_named && !udpai_source_is_path(descriptor->source))
        return is_answered(scope, udpai_bytes_view(descriptor->prefix));
    return (scope->is_known || scope->is_denied) && (scope->is_named || !descriptor->on_demand);
}

/* What replaces another one must have sent all, now if it is asked for single names. */
static bool
may_replace(const udpai_descriptor *later)
{
    if (later->scope->is_named)
        return udpai_descriptor_is_known(later);
    return later->on_demand ? udpai_descriptor_is_complete(later)
                            : later->scope->is_known && !udpai_scope_is_held(later->scope);
}

bool
udpai_descriptor_is_ruled_out(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (udpai_source_is_void(self->source))
        return true;
    if (!self->is_reached) /* unless it counted before a restart, and is not read again yet */
        return !(udpai_source_is_path(self->source) && self->is_eligible);
    /* Only behind STOP_ON_SUCCESS does a later one take over; elsewhere they complete each other.
     */
    if (self->continuation != UDPAI_STOP_ON_SUCCESS || udpai_descriptor_counts(provider, index))
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_reached && later->is_eligible && may_replace(later) &&
            udpai_prefix_covers(udpai_bytes_view(later->prefix), udpai_bytes_view(self->prefix)))
            return true;
    }
    return false;
}

/* Collects facts for a snapshot; the tables are freed with done(). */
struct facts {
    UDPAI_VECTOR(udpai_unsettled) missing;
    UDPAI_VECTOR(udpai_str *) requests;
    UDPAI_VECTOR(udpai_waiting_question *) waiting;
    UDPAI_VECTOR(udpai_str) types;
    bool failed;
};

static void
facts_done(struct facts *facts)
{
    for (size_t i = 0; i < facts->requests.n; i++)
        udpai_free(facts->requests.items[i]);
    for (size_t i = 0; i < facts->waiting.n; i++)
        udpai_free(facts->waiting.items[i]);
    udpai_vector_done(&facts->requests);
    udpai_vector_done(&facts->waiting);
    udpai_vector_done(&facts->missing);
    udpai_vector_done(&facts->types);
}

/* What of a scope on demand was answered, or was not. */
static const udpai_str *
list_requests(struct facts *facts, const udpai_scope *scope, bool answered, size_t *ret_n)
{
    udpai_str *list = udpai_alloc_array(scope->requests.n, sizeof(*list));
    if (!list || !udpai_vector_push(&facts->requests, list)) {
        udpai_free(list);
        facts->failed = true;
        return NULL;
    }
    size_t at = 0;
    const udpai_source_request *request;
    bool is_held = udpai_scope_is_held(scope);
    while ((request = udpai_map_next(&scope->requests, &at)))
        if ((request->is_known && !is_held) == answered)
            list[(*ret_n)++] = udpai_source_request_subject(request);
    return list;
}

static udpai_str
why_missing(const udpai_source *source)
{
    if (udpai_source_is_active(source))
        return UDPAI_STR("not synchronized");
    return udpai_source_is_path(source) ? UDPAI_STR("not read without an error")
                                        : UDPAI_STR("not connected");
}

static udpai_unsettled
missing_of(const udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    const udpai_peer *peer = udpai_source_peer(source);
    udpai_unsettled missing = {
        .type_url = udpai_bytes_view(scope->type),
        .prefix = udpai_bytes_view(scope->prefix),
        .source = udpai_source_unread(source),
        .why = udpai_scope_is_held(scope) ? UDPAI_STR("held: it does not name what it had")
                                          : why_missing(source),
        .may_wait_for_us = udpai_source_may_wait_for_us(source) && !udpai_scope_is_held(scope),
    };
    if (missing.may_wait_for_us)
        missing.since_ms = udpai_source_active_since_ms(source);
    if (peer && peer->info)
        missing.peer_node = udpai_node_info_instance(peer->info);
    return missing;
}

/* What was asked for together, where the peer has reported what it waits for; at is where its
 * requests begin, among those that are in the order of their questions. */
static udpai_waiting_question
waiting_of(struct facts *facts, const udpai_question *question, const udpai_list **at)
{
    const udpai_scope *scope = question->scope;
    udpai_waiting_question waiting = {.waits = question->waits};
    const udpai_list *first = *at;
    for (; *at != &scope->asked; *at = (*at)->next) {
        const udpai_source_request *request =
            UDPAI_LIST_ENTRY(*at, const udpai_source_request, in_asked);
        if (request->batch < question->batch)
            first = (*at)->next;
        else if (request->batch == question->batch)
            waiting.n_asked++;
        else
            break;
    }
    udpai_str *asked = udpai_alloc_array(waiting.n_asked, sizeof(*asked));
    if (!asked || !udpai_vector_push(&facts->requests, asked)) {
        udpai_free(asked);
        facts->failed = true;
        return (udpai_waiting_question){0};
    }
    for (size_t i = 0; i < waiting.n_asked; i++, first = first->next)
        asked[i] = udpai_source_request_subject(
            UDPAI_LIST_ENTRY(first, const udpai_source_request, in_asked));
    waiting.asked = asked;
    return waiting;
}

static void
list_waiting(struct facts *facts, const udpai_scope *scope, udpai_unsettled *missing)
{
    const udpai_list *at = scope->asked.next;
    const udpai_question *question = NULL;
    size_t n = 0;
    while ((question = udpai_question_next_waiting(scope, question)))
        n++;
    if (n == 0)
        return;
    udpai_waiting_question *waiting = udpai_alloc_array(n, sizeof(*waiting));
    if (!waiting || !udpai_vector_push(&facts->waiting, waiting)) {
        udpai_free(waiting);
        facts->failed = true;
        return;
    }
    for (size_t i = 0; (question = udpai_question_next_waiting(scope, question)); i++)
        waiting[i] = waiting_of(facts, question, &at);
    missing->waiting = waiting;
    missing->n_waiting = n;
}

/* It has asked for its prefix once, and may have stated ahead what it holds. */
static udpai_str
waits_of_mirror(const udpai_scope *scope)
{
    const udpai_question *question = NULL, *last = NULL;
    while ((question = udpai_question_next_waiting(scope, question)))
        if (question->batch <= scope->own_batch)
            last = question;
    return last ? last->waits : (udpai_str){0};
}

/* What it has answered by name, or by prefix on demand, and what not. */
static void
list_asked(struct facts *facts, const udpai_scope *scope, udpai_unsettled *missing)
{
    missing->on_demand = true;
    list_waiting(facts, scope, missing);
    missing->answered = list_requests(facts, scope, true, &missing->n_answered);
    missing->asked = list_requests(facts, scope, false, &missing->n_asked);
}

static void
add_missing(struct facts *facts, const udpai_descriptor *descriptor)
{
    udpai_unsettled missing = missing_of(descriptor->scope);
    if (descriptor->on_demand)
        list_asked(facts, descriptor->scope, &missing);
    else
        missing.waits = waits_of_mirror(descriptor->scope);
    if (!udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

/* Of a mirror: of names that it was not asked for, nothing is known. */
static void
add_by_name(struct facts *facts, const udpai_scope *scope)
{
    udpai_unsettled missing = missing_of(scope);
    missing.by_name = true;
    list_asked(facts, scope, &missing);
    if (!udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

/* What may have been learned in this node's stead. */
static void
add_recovery(struct facts *facts, const udpai_source *source)
{
    size_t at = 0;
    const udpai_scope *scope;
    while ((scope = udpai_source_next_recovered(source, &at))) {
        const udpai_unsettled missing = missing_of(scope);
        if (udpai_scope_is_awaited(scope) && !udpai_vector_push(&facts->missing, missing))
            facts->failed = true;
    }
}

/* ---- sources that are asked for groups of clients ---- */

/* One entry for all groups. */
static void
add_per_clients(struct facts *facts, udpai_str type_url, const udpai_descriptor *configured)
{
    const udpai_unsettled missing = {
        .type_url = type_url,
        .prefix = udpai_bytes_view(configured->prefix),
        .source = udpai_source_name(configured->source),
        .why = UDPAI_STR("not synchronized"),
        .of_groups = configured->of_groups,
        .on_demand = true,
    };
    if (!udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

/* ---- one name ---- */

static bool
may_be_missed(const udpai_provider *provider, size_t index, udpai_str name)
{
    const udpai_descriptor *descriptor = &provider->descriptors.items[index];
    bool is_known = descriptor->on_demand ? is_answered(descriptor->scope, name) &&
                                                !udpai_scope_is_held(descriptor->scope)
                                          : udpai_descriptor_is_known(descriptor);
    return udpai_prefix_covers(udpai_bytes_view(descriptor->prefix), name) && !is_known &&
           !udpai_descriptor_is_ruled_out(provider, index);
}

bool
udpai_providers_know(const udpai_providers *providers, udpai_str type_url, udpai_str name)
{
    const udpai_provider *provider = udpai_map_get(&providers->by_type, type_url);
    for (size_t i = 0; provider && i < provider->descriptors.n; i++)
        if (may_be_missed(provider, i, name))
            return false;
    return true;
}

/* ---- the whole ---- */

static void
add_provider(struct facts *facts, const udpai_provider *provider)
{
    if (!udpai_vector_push(&facts->types, udpai_bytes_view(provider->type)))
        facts->failed = true;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (udpai_descriptor_is_ruled_out(provider, i))
            continue;
        if (!udpai_descriptor_is_known(descriptor))
            add_missing(facts, descriptor);
        if (udpai_scope_looks_up(descriptor->scope))
            add_by_name(facts, descriptor->scope);
    }
    for (size_t i = 0; i < provider->per_clients.n; i++)
        add_per_clients(facts, udpai_bytes_view(provider->type), &provider->per_clients.items[i]);
}

/* It is there, though this replica cannot tell what it is. */
static void
add_locked(struct facts *facts, const udpai_sync *sync)
{
    size_t at = 0;
    udpai_unsettled missing = {
        .source = UDPAI_STR("etcd"),
        .why = UDPAI_STR("encrypted with a key that store.keys does not have"),
    };
    while (udpai_sync_next_locked(sync, &at, &missing.type_url, &missing.prefix))
        if (!udpai_vector_push(&facts->missing, missing))
            facts->failed = true;
}

/* Others may have published since, or while this replica was down. */
static void
add_unread_etcd(struct facts *facts, const udpai_context *context)
{
    const udpai_unsettled missing = {
        .source = UDPAI_STR("etcd"),
        .why = UDPAI_STR("not current"),
        .only_absence = true,
    };
    if (udpai_context_is_replicated(context) && !context->knows_all &&
        !udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

udpai_settled *
udpai_providers_settled(const udpai_providers *providers)
{
    struct facts facts = {0};
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&providers->by_type, &at)))
        add_provider(&facts, provider);
    udpai_source *source = NULL;
    while ((source = udpai_sources_next_own(providers->sources, source)))
        add_recovery(&facts, source);
    at = 0;
    const udpai_expected *expected;
    while ((expected = udpai_roots_next(providers->directories, &at))) {
        const udpai_unsettled missing = {
            .source = udpai_bytes_view(expected->unread ? expected->unread : expected->root),
            .why = UDPAI_STR("not read without an error"),
        };
        if (!expected->is_known && !udpai_vector_push(&facts.missing, missing))
            facts.failed = true;
    }
    at = 0;
    udpai_str own;
    while (udpai_sync_next_own(providers->sync, &at, &own)) {
        const udpai_unsettled missing = {
            .type_url = own,
            .prefix = UDPAI_STR(UDPAI_NODE_NAMESPACE),
            .source = udpai_bytes_view(providers->context->id),
        };
        if (!udpai_vector_push(&facts.missing, missing))
            facts.failed = true;
    }
    add_locked(&facts, providers->sync);
    add_unread_etcd(&facts, providers->context);
    udpai_settled_facts_date(facts.missing.items, facts.missing.n,
                             udpai_sync_settled(providers->sync),
                             udpai_context_now(providers->context));
    const udpai_settled_facts all = {
        .missing = facts.missing.items,
        .n_missing = facts.missing.n,
        .groups = udpai_sync_groups(providers->sync),
        .names = udpai_sync_names(providers->sync),
        .self = providers->context->is_endpoint ? (udpai_str){0}
                                                : udpai_bytes_view(providers->context->instance),
        .asks_for_status = providers->context->is_endpoint,
        .only_known_types = providers->any_type != NULL,
        .known_types = facts.types.items,
        .n_known_types = facts.types.n,
    };
    udpai_settled *settled = facts.failed ? NULL : udpai_settled_new(&all);
    facts_done(&facts);
    return settled;
}
