/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the names that have sources of their own. */
#include "federation/named.h"

struct facts {
    UDPAI_VECTOR(udpai_settled_name) items;
    bool failed;
};

static void
add_fact(struct facts *facts, const udpai_settled_name *fact)
{
    facts->failed |= !udpai_vector_push(&facts->items, *fact);
}

/* The source's answer to the question for the name. */
static udpai_str
waits_of(const udpai_scope *scope, udpai_str name)
{
    const udpai_source_request *request = udpai_scope_request(scope, name, false);
    const udpai_question *question = NULL;
    if (request && udpai_list_linked(&request->in_asked))
        while ((question = udpai_question_next_waiting(scope, question)))
            if (question->batch == request->batch)
                return question->waits;
    return (udpai_str){0};
}

static void
add_missing(struct facts *facts, const udpai_named *named, const udpai_descriptor *descriptor)
{
    const udpai_source *source = descriptor->source;
    const udpai_peer *peer = udpai_source_peer(source);
    udpai_settled_name fact = {
        .type_url = udpai_named_type(named),
        .name = udpai_named_name(named),
        .is_missing = true,
        .source = udpai_source_name(source),
        .may_wait_for_us = udpai_source_may_wait_for_us(source),
        .waits = waits_of(descriptor->scope, udpai_named_name(named)),
    };
    if (fact.may_wait_for_us)
        fact.since_ms = udpai_source_active_since_ms(source);
    if (peer && peer->info)
        fact.peer_node = udpai_node_info_instance(peer->info);
    add_fact(facts, &fact);
}

static void
add_facts(struct facts *facts, const udpai_named *named)
{
    const udpai_provider *provider = named->provider;
    size_t before = facts->items.n;
    udpai_settled_name fact = {.type_url = udpai_named_type(named),
                               .name = udpai_named_name(named)};
    if (!named->is_in_force)
        return;
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (!udpai_descriptor_is_known(&provider->descriptors.items[i]) &&
            !udpai_descriptor_is_ruled_out(provider, i))
            add_missing(facts, named, &provider->descriptors.items[i]);
    if (facts->items.n > before)
        return;
    fact.is_missing = provider->descriptors.n == 0; /* it ends: those of the type are waited for */
    add_fact(facts, &fact);
}

/* Texts by their contents: a new one may lie at the address of a freed one. */
static uint64_t
digest_of(const struct facts *facts)
{
    uint64_t digest = facts->items.n;
    for (size_t i = 0; i < facts->items.n; i++) {
        const udpai_settled_name *item = &facts->items.items[i];
        const uint64_t parts[] = {digest,
                                  udpai_hash(item->type_url),
                                  udpai_hash(item->name),
                                  udpai_hash(item->source),
                                  udpai_hash(item->peer_node),
                                  udpai_hash(item->waits),
                                  item->since_ms,
                                  (uint64_t)item->is_missing * 2 + item->may_wait_for_us};
        digest = udpai_hash((udpai_str){(const char *)parts, sizeof(parts)});
    }
    return digest;
}

/* Without memory: again with the next flush. */
void
udpai_named_note_settled(udpai_providers *providers)
{
    struct facts facts = {0};
    size_t at = 0;
    const udpai_named *named;
    while ((named = udpai_named_table_next(providers->named_table, &at)))
        add_facts(&facts, named);
    uint64_t digest = digest_of(&facts);
    udpai_settled_names *names = NULL;
    bool has_changed = !facts.failed && digest != udpai_sync_names_digest(providers->sync);
    if (has_changed && facts.items.n)
        names = udpai_settled_names_new(facts.items.items, facts.items.n);
    if (facts.failed || (has_changed && facts.items.n && !names))
        udpai_context_touch(providers->context);
    else if (has_changed)
        udpai_sync_set_names(providers->sync, names, digest);
    udpai_vector_done(&facts.items);
}
