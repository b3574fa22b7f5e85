/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of each client group have sent, for the snapshot of what is synchronized. */
#include "federation/clients_internal.h"

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/sync.h"

/* What the sources of one group have reported. */
struct group_facts {
    UDPAI_VECTOR(udpai_settled_part) parts;
    UDPAI_VECTOR(udpai_str *) lists;
    bool failed;
};

static void
add_requests(struct group_facts *facts, const udpai_scope *scope, udpai_settled_part *part)
{
    udpai_str *list = udpai_alloc_array(scope->requests.n + 1, sizeof(*list));
    if (!list || !udpai_vector_push(&facts->lists, list)) {
        udpai_free(list);
        facts->failed = true;
        return;
    }
    size_t at = 0, n_answered = 0, n_asked = 0;
    const udpai_source_request *request;
    bool is_held = udpai_scope_is_held(scope);
    while ((request = udpai_map_next(&scope->requests, &at))) /* one from each end */
        list[request->is_known && !is_held ? n_answered++ : scope->requests.n - ++n_asked] =
            udpai_source_request_subject(request);
    part->answered = list;
    part->n_answered = n_answered;
    part->asked = list + n_answered;
    part->n_asked = n_asked;
}

static void
add_part(struct group_facts *facts, const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *descriptor = &provider->descriptors.items[index];
    const udpai_scope *scope = descriptor->scope;
    udpai_str *list;
    udpai_settled_part part = {
        .number = descriptor->of_groups,
        .is_whole =
            udpai_descriptor_is_known(descriptor) || udpai_descriptor_is_ruled_out(provider, index),
    };
    if (!part.is_whole && descriptor->on_demand) {
        add_requests(facts, scope, &part);
    } else if (!part.is_whole && (list = udpai_alloc(sizeof(*list)))) {
        *list = udpai_bytes_view(descriptor->prefix);
        part.asked = list;
        part.n_asked = 1;
        if (!udpai_vector_push(&facts->lists, list)) {
            udpai_free(list);
            facts->failed = true;
        }
    } else {
        facts->failed |= !part.is_whole;
    }
    facts->failed = facts->failed || !udpai_vector_push(&facts->parts, part);
}

static void
group_facts_done(struct group_facts *facts)
{
    for (size_t i = 0; i < facts->lists.n; i++)
        udpai_free(facts->lists.items[i]);
    udpai_vector_done(&facts->lists);
    udpai_vector_done(&facts->parts);
}

static udpai_settled_group *
make_group(const udpai_clients *clients)
{
    struct group_facts facts = {0};
    udpai_settled_group *group = NULL;
    size_t at = 0;
    const udpai_provider *provider;
    while ((provider = udpai_map_next(&clients->providers, &at)))
        for (size_t i = 0; i < provider->descriptors.n; i++)
            add_part(&facts, provider, i);
    if (!facts.failed)
        group = udpai_settled_group_new(udpai_bytes_view(clients->name_space), facts.parts.items,
                                        facts.parts.n);
    group_facts_done(&facts);
    return group;
}

bool
udpai_clients_note_settled(udpai_clients *clients)
{
    udpai_groups *all = clients->owner;
    if (clients->is_ending)
        return true;
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *group = make_group(clients);
    if (!group)
        return false;
    const udpai_settled_group *before = udpai_settled_groups_find(
        udpai_sync_groups(all->sync), udpai_bytes_view(clients->name_space));
    if (before && udpai_settled_group_equal(before, group))
        return true;
    udpai_settled_groups *groups = udpai_settled_groups_with(udpai_sync_groups(all->sync), group);
    if (groups)
        udpai_sync_set_groups(all->sync, groups);
    return groups != NULL;
}

bool
udpai_clients_forget_settled(udpai_clients *clients)
{
    udpai_groups *all = clients->owner;
    udpai_str name_space = udpai_bytes_view(clients->name_space);
    udpai_settled_groups *groups;
    if (!udpai_settled_groups_find(udpai_sync_groups(all->sync), name_space))
        return true;
    if (!udpai_settled_groups_without(udpai_sync_groups(all->sync), name_space, &groups))
        return false;
    udpai_sync_set_groups(all->sync, groups);
    udpai_context_touch(all->context);
    return true;
}
