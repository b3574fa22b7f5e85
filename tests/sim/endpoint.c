/* SPDX-License-Identifier: Apache-2.0 */
/* What endpoints ask for, and what they see of it. */
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"

/* It has no namespace: whoever is asked for it refuses. */
#define BAD_NAME "nowhere"

bool
sim_endpoint_wants(const sim_member *member, int key)
{
    if (member->is_guest && (sim_key_type(key) != 0 || sim_key_expires(key)))
        return false;
    if (member->by_name)
        return member->wishes[key] != SIM_UNWANTED;
    return member->asks_type[sim_key_type(key)] && !sim_key_is_lazy(key) &&
           !(member->is_narrow && sim_key_namespace(key) != LIMITED_NAMESPACE);
}

/* ---- seeing ---- */

static void
count_special(sim_member *member, const udpa_resource *resource, int key)
{
    uint64_t *counts = member->scenario->world.counts;
    counts[SIM_CHAINED] += udpa_resource_n_hops(resource) >= 3;
    counts[SIM_LAZY] += sim_key_is_lazy(key);
    counts[SIM_ALIASES] += member->wishes[key] == SIM_BY_ALIAS;
    counts[SIM_PATTERNS] += member->wishes[key] == SIM_BY_ALIAS && member->index % 3 == 0;
}

void
sim_see(sim_member *member, const sim_word *word, int key)
{
    sim_copy *copy = &member->copies[key];
    sim_check_seen(member, word, key);
    copy->exists = true;
    copy->gone_since_us = 0;
    copy->version = word->version;
    copy->n_aliases = word->n_aliases;
    copy->generation = word->generation;
    snprintf(copy->authority, sizeof(copy->authority), "%s", word->authority);
}

static void
see_resource(sim_member *member, const udpa_resource *resource)
{
    int key = sim_key_of(udpa_resource_name(resource));
    const sim_word word = {udpa_resource_authority(resource), udpa_resource_generation(resource),
                           sim_version_of(resource), udpa_resource_n_aliases(resource)};
    sim_see(member, &word, key);
    count_special(member, resource, key);
}

static void
show_update(const sim_member *member, const udpai_local_update *update)
{
    fprintf(stderr, "%9llu %s sees:", (unsigned long long)sim_ms(&member->scenario->world),
            member->node->id);
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        fprintf(stderr, " %s%s", change->is_removed ? "-" : "+",
                udpa_resource_name(change->resource));
    }
    fprintf(stderr, "\n");
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    sim_member *member = userdata;
    if (member->scenario->world.trace)
        show_update(member, update);
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        if (!change->is_removed)
            see_resource(member, change->resource);
        else
            sim_check_removal(member, sim_key_of(udpa_resource_name(change->resource)));
        /* An endpoint's opinion changes nothing but what its receipt says. */
        if (!change->is_removed && sim_once_in(&member->scenario->world.random, 20))
            udpai_local_update_refuse(
                update, i, udpa_error_new(UDPA_ERR_INVAL, NULL, "this endpoint does not like it"));
    }
}

/* ---- asking ---- */

static void
choose_type(sim_member *member, int type)
{
    sim_random *random = &member->scenario->world.random;
    member->asks_type[type] = member->is_guest ? type == 0 : !sim_once_in(random, 4);
    for (int key = 0; member->by_name && key < N_KEYS; key++) {
        if (sim_key_type(key) != type)
            continue;
        bool wanted = !sim_once_in(random, 4);
        bool may_by_alias = sim_key_has_alias(key) && !member->public_only;
        /* The chance of the others is what it was before there were such. */
        bool by_alias = may_by_alias &&
                        (sim_key_expires(key) ? member->index % 2 == 0 : sim_once_in(random, 2));
        member->wishes[key] = !wanted ? SIM_UNWANTED : by_alias ? SIM_BY_ALIAS : SIM_BY_NAME;
    }
}

void
sim_endpoint_choose(sim_member *member)
{
    for (int type = 0; type < N_TYPES; type++)
        choose_type(member, type);
}

/* The one that is a pattern, for some. */
static void
name_by_alias(const sim_member *member, int key, char name[64])
{
    if (member->index % 3 == 0)
        sim_key_matched_alias(key, name);
    else
        sim_key_alias(key, name);
}

static size_t
list_names(const sim_member *member, int type, char names[N_KEYS + 1][64])
{
    size_t n = 0;
    snprintf(names[n++], 64, BAD_NAME);
    for (int key = 0; key < N_KEYS; key++) {
        if (sim_key_type(key) == type && member->wishes[key] == SIM_BY_NAME)
            sim_key_name(key, names[n++]);
        else if (sim_key_type(key) == type && member->wishes[key] == SIM_BY_ALIAS)
            name_by_alias(member, key, names[n++]);
    }
    return n;
}

void
sim_endpoint_subscribe(sim_member *member, int type)
{
    const udpai_local_ops ops = {.update = on_update, .userdata = member};
    char names[N_KEYS + 1][64];
    udpai_str wanted[N_KEYS + 1];
    udpai_selection selection = {.type_url = udpai_str_from(sim_types[type]), .names = wanted};
    if (!member->by_name && !member->asks_type[type])
        return;
    if (member->by_name)
        selection.n_names = list_names(member, type, names);
    for (size_t i = 0; i < selection.n_names; i++)
        wanted[i] = udpai_str_from(names[i]);
    selection.prefix = udpai_str_from(
        !member->by_name && member->is_narrow ? sim_namespaces[LIMITED_NAMESPACE] : "");
    if (udpai_node_subscribe(member->node->node, &selection, &ops, &member->subscriptions[type]) !=
        UDPA_OK)
        abort();
}

/* Asks for other things than before, and is told all there is of them anew. */
void
sim_endpoint_change_interest(sim_member *member)
{
    sim_world *world = &member->scenario->world;
    int type = (int)sim_below(&world->random, N_TYPES);
    if (member->is_guest && !sim_guest_may_ask_again(member))
        return;
    udpai_local_subscription *old = member->subscriptions[type];
    choose_type(member, member->is_guest ? 0 : type);
    if (!member->node->is_up)
        return;
    if (member->is_guest) {
        sim_guest_ask_again(member);
        world->counts[SIM_INTEREST_CHANGES]++;
        return;
    }
    bool new_first = sim_once_in(&world->random, 2);
    if (world->trace)
        fprintf(stderr, "%9llu %s asks for other things of %s\n", (unsigned long long)sim_ms(world),
                member->node->id, sim_types[type]);
    member->subscriptions[type] = NULL;
    if (old && !new_first)
        udpai_node_unsubscribe(member->node->node, old);
    sim_endpoint_subscribe(member, type);
    if (old && new_first)
        udpai_node_unsubscribe(member->node->node, old);
    for (int key = 0; key < N_KEYS; key++)
        if (sim_key_type(key) == type)
            member->copies[key] = (sim_copy){0};
    memset(member->link_is_whole, 0, sizeof(member->link_is_whole));
    world->counts[SIM_INTEREST_CHANGES]++;
    sim_touch(member->node);
}
