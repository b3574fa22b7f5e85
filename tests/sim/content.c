/* SPDX-License-Identifier: Apache-2.0 */
/* What must have come in the quiet besides the version: every byte, what is said of it, the way
 * that it came, and when it ends. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

/* What is under way, at rest. */
#define TRANSIT_US 100000

static void
fail(const sim_member *member, const char *what, int key, const udpa_resource *resource)
{
    fprintf(stderr, "it has %s version %s of %s, by", udpa_resource_name(resource),
            udpa_resource_version(resource), udpa_resource_authority(resource));
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++)
        fprintf(stderr, " %s (%.*s)", udpai_resource_hop(resource, i).node_id.data,
                (int)udpai_resource_hop(resource, i).instance.len,
                udpai_resource_hop(resource, i).instance.data);
    fprintf(stderr, "\n");
    sim_fail(member, what, key);
}

/* ---- what a node holds ---- */

static bool
look_for(void *userdata, const udpai_contribution *contribution)
{
    udpai_contribution *found = userdata;
    if (contribution->effective)
        *found = *contribution;
    return !contribution->effective;
}

/* .resource is NULL: nothing is effective there. */
static udpai_contribution
effective_at(const sim_node *node, int key)
{
    udpai_contribution found = {0};
    char name[64];
    sim_key_name(key, name);
    udpai_store_visit_name(udpai_node_store(node->node),
                           udpai_str_from(sim_types[sim_key_type(key)]), udpai_str_from(name),
                           look_for, &found);
    return found;
}

/* ---- what was said ---- */

static void
check_said(const sim_member *member,
           int key,
           const udpa_resource *resource,
           const udpa_resource *expected)
{
    if (!udpai_str_eq(udpai_resource_type_url(resource), udpai_resource_type_url(expected)) ||
        !udpai_str_eq(udpai_resource_value(resource), udpai_resource_value(expected)) ||
        !udpai_str_eq(udpai_resource_version(resource), udpai_resource_version(expected)))
        fail(member, "other bytes", key, resource);
    if (member->public_only) /* which has no more */
        return;
    if (!udpai_resource_same_aliases(resource, expected))
        fail(member, "other aliases", key, resource);
    if (udpai_resource_is_lazy(resource) != udpai_resource_is_lazy(expected))
        fail(member, "lazy, or not lazy any more", key, resource);
    if (udpai_resource_do_not_cache(resource) != udpai_resource_do_not_cache(expected))
        fail(member, "another do_not_cache", key, resource);
}

/* ---- how it came ---- */

/* It came by one who has died; whoever has it from that one keeps it, and tells it. */
static bool
has_passed_the_dead(const sim_scenario *scenario, const udpa_resource *resource)
{
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++)
        for (int k = 0; k < scenario->n_management; k++)
            if (scenario->members[k]->is_dead &&
                udpai_str_eq(udpai_resource_hop(resource, i).instance,
                             udpai_str_from(scenario->members[k]->node->instance)))
                return true;
    return false;
}

typedef struct dead_search {
    const sim_scenario *scenario;
    bool found;
} dead_search;

static bool
look_for_the_dead(void *userdata, const udpai_contribution *contribution)
{
    dead_search *search = userdata;
    search->found = has_passed_the_dead(search->scenario, contribution->resource);
    return !search->found;
}

/* Somebody on the way has what the dead one had said. It prefers that, and passes it on instead; or
 * that is of another authority, so it does not take the shortest way. */
static bool
is_held_up_by_the_dead(const sim_scenario *scenario, int key, const int *path, size_t n)
{
    dead_search search = {scenario, false};
    char name[64];
    sim_key_name(key, name);
    for (size_t i = 0; scenario->has_losses && i + 1 < n && !search.found; i++) {
        const sim_node *node = scenario->members[path[i]]->node;
        if (node->is_up)
            udpai_store_visit_name(udpai_node_store(node->node),
                                   udpai_str_from(sim_types[sim_key_type(key)]),
                                   udpai_str_from(name), look_for_the_dead, &search);
    }
    return search.found;
}

/* Nodes that may agree in more than one way on the authority may do so, too, on the path. */
static bool
may_come_otherwise(const sim_scenario *scenario, int key)
{
    return sim_n_authorities(scenario, key) > 1 && sim_may_disagree(scenario);
}

/* The management node of that hop; -1: there is none. */
static int
node_of_hop(const sim_scenario *scenario, const udpa_resource *resource, size_t i)
{
    udpai_hop hop = udpai_resource_hop(resource, i);
    for (int k = 0; k < scenario->n_management; k++)
        if (udpai_str_eq(hop.instance, udpai_str_from(scenario->members[k]->node->instance)))
            return k;
    return -1;
}

static bool
is_source_of(const sim_member *member, int source)
{
    for (size_t i = 0; i < member->provider.n_descriptors; i++)
        if (member->upstreams[i] == source)
            return true;
    return false;
}

/* Does it lead from the first node to the endpoint, from source to source? */
static bool
is_possible_path(const sim_member *member, const udpa_resource *resource, int first)
{
    const sim_scenario *scenario = member->scenario;
    size_t n = udpa_resource_n_hops(resource);
    int at = first;
    if (n < 2 || node_of_hop(scenario, resource, 0) != first)
        return false;
    for (size_t i = 1; i + 1 < n; i++) {
        int next = node_of_hop(scenario, resource, i);
        if (next < 0 || !is_source_of(scenario->members[next], at))
            return false;
        at = next;
    }
    return is_source_of(member, at);
}

/* An endpoint has no disk, and so no instance: its id is all there is. */
static void
check_path(
    const sim_member *member, int key, const udpa_resource *resource, const int *path, size_t n)
{
    const sim_scenario *scenario = member->scenario;
    bool is_same = udpa_resource_n_hops(resource) == n;
    for (size_t i = 0; is_same && i < n; i++) {
        udpai_hop hop = udpai_resource_hop(resource, i);
        const sim_node *node = scenario->members[path[i]]->node;
        const char *instance = path[i] == member->index ? node->id : node->instance;
        is_same = udpai_str_eq(hop.instance, udpai_str_from(instance)) &&
                  udpai_str_eq(hop.node_id, udpai_str_from(node->said_id));
    }
    if (is_same || has_passed_the_dead(scenario, resource) ||
        is_held_up_by_the_dead(scenario, key, path, n))
        return;
    if (may_come_otherwise(scenario, key) && is_possible_path(member, resource, path[0]))
        return;
    fprintf(stderr, "expected by");
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %s (%s)", scenario->members[path[i]]->node->said_id,
                scenario->members[path[i]]->node->instance);
    fprintf(stderr, "; ");
    fail(member, "another path", key, resource);
}

/* ---- when it ends ---- */

/* Its publisher has said it again lately, and it ends a ttl after that; what is passed on has what
 * is left of it. */
static void
check_deadline(const sim_member *member,
               int key,
               const udpai_contribution *has,
               const udpa_resource *expected)
{
    const sim_scenario *scenario = member->scenario;
    uint64_t ttl_ms = udpa_resource_ttl_ms(expected);
    uint64_t now_ms = member->node->loop_wheel.now_ms;
    uint64_t age_ms = (2 * scenario->tick_us + TRANSIT_US) / 1000;
    if (!ttl_ms != !has->deadline_ms || !ttl_ms != !udpa_resource_ttl_ms(has->resource))
        fail(member, "whether it ends", key, has->resource);
    if (!ttl_ms)
        return;
    if (has->deadline_ms < now_ms + ttl_ms - age_ms || has->deadline_ms > now_ms + ttl_ms ||
        udpa_resource_ttl_ms(has->resource) > ttl_ms)
        fail(member, "it would end too early or too late", key, has->resource);
    member->scenario->world.counts[SIM_DEADLINES]++;
}

/* ---- all of it ---- */

void
sim_check_content(const sim_member *member, int key, const ref_word *word)
{
    const sim_scenario *scenario = member->scenario;
    udpai_contribution has = effective_at(member->node, key);
    if (!has.resource)
        sim_fail(member, "its store does not have what it was told", key);
    const char *authority = scenario->members[word->said.authority]->authority;
    udpa_resource *expected = sim_make_resource(key, authority, true, word->said.version);
    check_said(member, key, has.resource, expected);
    check_deadline(member, key, &has, expected);
    udpa_resource_unref(expected);
    if (!member->public_only)
        check_path(member, key, has.resource, word->path, (size_t)word->n_path);
    member->scenario->world.counts[SIM_CONTENTS]++;
}
