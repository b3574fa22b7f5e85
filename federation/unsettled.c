/* SPDX-License-Identifier: Apache-2.0 */
/* What is still unknown, and from whom it may come: the facts of the node's snapshot of what is
 * settled. */
#include "federation/node_internal.h"

#include "base/alloc.h"
#include "model/name.h"

static bool
is_ruled_out(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (!self->is_reached) /* unless it counted before a restart, and is not read again yet */
        return !(self->source->kind == UDPAI_SOURCE_PATH && self->is_eligible);
    /* Only behind STOP_ON_SUCCESS does a later one stand in; elsewhere they complete each other. */
    if (self->continuation != UDPAI_STOP_ON_SUCCESS || udpai_descriptor_counts(provider, index))
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_reached && later->is_eligible &&
            (later->on_demand ? udpai_descriptor_is_complete(later) : later->scope->is_known) &&
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

/* Of sources that are asked for groups of clients. */
struct group_facts {
    UDPAI_VECTOR(udpai_str) whole, answered, asked;
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

/* ---- sources that are asked for groups of clients ---- */

static void
add_wishes(struct group_facts *of, const udpai_scope *scope)
{
    size_t at = 0;
    const udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at))) {
        udpai_str subject = udpai_wish_subject(wish);
        of->failed = of->failed || !(wish->is_known ? udpai_vector_push(&of->answered, subject)
                                                    : udpai_vector_push(&of->asked, subject));
    }
}

static void
add_descriptor_of_group(struct group_facts *of, const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *descriptor = &provider->descriptors.items[index];
    udpai_str name_space = udpai_bytes_view(descriptor->prefix);
    bool is_whole =
        (descriptor->scope->is_known && !descriptor->on_demand) || is_ruled_out(provider, index);
    if (is_whole)
        of->failed = of->failed || !udpai_vector_push(&of->whole, name_space);
    else if (descriptor->on_demand)
        add_wishes(of, descriptor->scope);
    else
        of->failed = of->failed || !udpai_vector_push(&of->asked, name_space);
}

/* What the source that this one was configured for has said to each group. */
static void
add_groups(struct group_facts *of,
           const udpai_node *node,
           const udpai_descriptor *configured,
           udpai_str type_url)
{
    size_t at = 0;
    const udpai_clients *clients;
    while ((clients = udpai_map_next(&node->clients, &at))) {
        const udpai_provider *provider = udpai_map_get(&clients->providers, type_url);
        for (size_t i = 0; provider && i < provider->descriptors.n; i++)
            if (provider->descriptors.items[i].position == configured->position)
                add_descriptor_of_group(of, provider, i);
    }
}

static udpai_str *
copy_list(struct facts *facts, const udpai_str *items, size_t n)
{
    udpai_str *list = udpai_alloc_array(n + 1, sizeof(*list));
    if (!list || !udpai_vector_push(&facts->wishes, list)) {
        udpai_free(list);
        facts->failed = true;
        return NULL;
    }
    if (n)
        memcpy(list, items, n * sizeof(*list));
    return list;
}

/* One entry for all groups: of a name space that is no group's yet nothing is known. */
static void
add_per_clients(struct facts *facts,
                const udpai_node *node,
                const udpai_provider *provider,
                const udpai_descriptor *configured)
{
    struct group_facts of = {0};
    udpai_str type_url = udpai_bytes_view(provider->type);
    add_groups(&of, node, configured, type_url);
    facts->failed = facts->failed || of.failed;
    const udpai_unsettled missing = {
        .type_url = type_url,
        .prefix = udpai_bytes_view(configured->prefix),
        .source = udpai_bytes_view(configured->source->name),
        .is_of_groups = true,
        .on_demand = true,
        .whole = copy_list(facts, of.whole.items, of.whole.n),
        .n_whole = of.whole.n,
        .answered = copy_list(facts, of.answered.items, of.answered.n),
        .n_answered = of.answered.n,
        .asked = copy_list(facts, of.asked.items, of.asked.n),
        .n_asked = of.asked.n,
    };
    udpai_vector_done(&of.whole);
    udpai_vector_done(&of.answered);
    udpai_vector_done(&of.asked);
    if (!udpai_vector_push(&facts->missing, missing))
        facts->failed = true;
}

/* ---- the whole ---- */

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
    for (size_t i = 0; i < provider->per_clients.n; i++)
        add_per_clients(facts, node, provider, &provider->per_clients.items[i]);
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
