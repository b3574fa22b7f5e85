/* SPDX-License-Identifier: Apache-2.0 */
/* After every change: what all providers have the node ask of its sources. */
#include "federation/named.h"

static bool
is_wanted(const udpai_source *source)
{
    UDPAI_LIST_FOREACH (node, &source->scopes)
        if (UDPAI_LIST_ENTRY(node, udpai_scope, in_source)->wanted)
            return true;
    return !source->serves_us;
}

static void
ask(udpai_source *source)
{
    bool is_there = !source->clients || source->clients->have_come;
    udpai_source_reach(source, is_there && is_wanted(source));
    UDPAI_LIST_FOREACH (scope, &source->scopes)
        udpai_scope_sync(UDPAI_LIST_ENTRY(scope, udpai_scope, in_source));
}

static void
evaluate_all(udpai_map *providers)
{
    size_t at = 0;
    udpai_provider *provider;
    while ((provider = udpai_map_next(providers, &at)))
        udpai_provider_evaluate(provider);
}

/* What is asked in the stead of some clients follows from the state of their sources alone. */
static void
evaluate_clients(udpai_clients *clients)
{
    evaluate_all(&clients->providers);
    for (size_t i = 0; i < clients->sources.n; i++)
        ask(clients->sources.items[i]);
    if (!udpai_clients_note_settled(clients)) /* without memory: again with the next flush */
        udpai_clients_touch(clients);
}

void
udpai_providers_evaluate(udpai_node *node)
{
    evaluate_all(&node->providers);
    udpai_named_evaluate(node);
    UDPAI_LIST_FOREACH (at, &node->own_sources)
        ask(UDPAI_LIST_ENTRY(at, udpai_source, in_own));
    udpai_list dirty, *at;
    udpai_list_init(&dirty);
    udpai_list_splice(&dirty, &node->dirty_clients);
    while ((at = udpai_list_pop(&dirty)))
        evaluate_clients(UDPAI_LIST_ENTRY(at, udpai_clients, in_dirty));
}
