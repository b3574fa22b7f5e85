/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes add up, and that they count nothing twice. All that a node's sums have ever said of a
 * client is never more than the client has counted: in all its lives together where there is one
 * way, and in each of them where a life may begin with a way that lags behind the one before. And
 * while nothing is lost, it grows by just what the client counts. */
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* ---- looking at a sum ---- */

/* No node has anything over two ways. */
static bool
is_tree(const sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_management; i++)
        if (scenario->members[i]->provider.n_descriptors > 1)
            return false;
    return !scenario->has_ring;
}

static int
member_of(const sim_scenario *scenario, udpai_str id)
{
    for (int i = 0; i < scenario->n_members; i++)
        if (udpai_str_eq(udpai_str_from(scenario->members[i]->node->id), id))
            return i;
    return -1;
}

static void
begin_epoch(const sim_scenario *scenario, sim_counted *counted, uint64_t epoch)
{
    for (int i = 0; i < scenario->n_members; i++) {
        counted->before[i] += counted->now[i];
        counted->now[i] = 0;
    }
    counted->epoch = epoch;
}

static void
check_client(const sim_member *member, int space, int who, uint64_t n)
{
    const sim_scenario *scenario = member->scenario;
    const sim_reporter *client = who < 0 ? NULL : scenario->members[who]->reporter;
    sim_counted *counted = &member->sums->counted[space];
    const sim_client_key key = {CLIENT_SUM, space, 0, member->index};
    if (!client)
        sim_client_fail(member, "a sum has a client that there is not", &key);
    if (n < counted->now[who])
        sim_client_fail(member, "a sum shrinks", &key);
    counted->now[who] = n;
    if (counted->before[who] + n <= client->total[space])
        return;
    fprintf(stderr, "%s has counted %llu, and the sums have %llu of it\n",
            scenario->members[who]->node->id, (unsigned long long)client->total[space],
            (unsigned long long)(counted->before[who] + n));
    sim_client_fail(member, "something was counted twice", &key);
}

static void
look_at(const sim_member *member, int space, const udpai_load_stats *stats)
{
    const sim_scenario *scenario = member->scenario;
    sim_counted *counted = &member->sums->counted[space];
    if (stats->epoch != counted->epoch)
        begin_epoch(scenario, counted, stats->epoch);
    memset(counted->is_in, 0, (size_t)scenario->n_members * sizeof(bool));
    for (size_t i = 0; i < stats->nodes.n; i++) {
        int node = member_of(scenario, stats->nodes.items[i].id);
        if (node >= 0)
            counted->is_in[node] = !stats->nodes.items[i].is_gone;
    }
    for (size_t i = 0; i < stats->localities.n; i++) {
        const udpai_load_stats_locality *locality = &stats->localities.items[i];
        check_client(member, space, member_of(scenario, locality->region),
                     locality->figures.counts[UDPAI_LOAD_STATS_ISSUED]);
    }
}

static void
see(sim_member *member, const udpai_local_change *change)
{
    sim_scenario *scenario = member->scenario;
    sim_client_key key;
    if (!sim_client_parse(scenario, CLIENT_SUM, udpa_resource_name(change->resource), &key) ||
        key.who != member->index)
        return;
    sim_counted *counted = &member->sums->counted[key.space];
    counted->is_there = !change->is_removed;
    udpai_load_stats *stats = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    if (udpai_load_stats_decode(&arena, udpai_resource_value(change->resource),
                                &udpai_load_aggregate_limits, &stats, NULL) != UDPA_OK)
        sim_client_fail(member, "a sum that cannot be read", &key);
    look_at(member, key.space, stats);
    scenario->world.counts[SIM_SUMS_SEEN]++;
    udpai_load_stats_free(stats);
    udpai_arena_done(&arena);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        see(userdata, udpai_local_update_at(update, i));
}

/* ---- lives ---- */

static void
on_wanted(sim_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    const sim_member *member = node->userdata;
    member->sums->n_wanted += wanted ? 1 : -1;
    udpai_service_demand(member->sums->sums, type_url, text, wanted);
}

static int64_t
wall_us(void *userdata)
{
    return sim_wall_us(((const sim_member *)userdata)->node);
}

/* Turns take no time here. */
static uint64_t
clock_ms(void *userdata)
{
    return ((const sim_member *)userdata)->node->loop_wheel.now_ms;
}

static void
begin_life(const sim_member *member)
{
    size_t n = (size_t)member->scenario->n_members;
    for (int space = 0; space < CLIENT_SPACES && !is_tree(member->scenario); space++) {
        sim_counted *counted = &member->sums->counted[space];
        memset(counted->before, 0, n * sizeof(*counted->before));
        memset(counted->now, 0, n * sizeof(*counted->now));
    }
}

void
sim_sums_started(sim_member *member)
{
    const udpai_load_aggregates_options options = {
        .node = member->node->node,
        .wheel = &member->node->loop_wheel,
        .node_id = udpai_str_from(member->node->id),
        .interval_ms = CLIENT_INTERVAL_MS,
        .wall_us = wall_us,
        .clock_ms = clock_ms,
        .userdata = member,
    };
    const udpai_selection all = {.type_url = udpai_str_from(sim_client_types[CLIENT_SUM]),
                                 .reach = UDPAI_REACH_NOBODY};
    const udpai_local_ops ops = {.update = on_update, .userdata = member};
    struct sim_sums *self = member->sums;
    begin_life(member);
    self->n_wanted = 0;
    member->node->wanted = on_wanted;
    if (udpai_load_aggregates_new(&self->sums, &options) != UDPA_OK ||
        udpai_node_subscribe(member->node->node, &all, &ops, &self->watch) != UDPA_OK)
        abort();
}

void
sim_sums_stopped(sim_member *member)
{
    udpai_service_free(UDPAI_TAKE(member->sums->sums));
    for (int space = 0; space < CLIENT_SPACES; space++)
        member->sums->counted[space].is_there = false;
}

void
sim_sums_free(sim_member *member)
{
    for (int space = 0; member->sums && space < CLIENT_SPACES; space++) {
        udpai_free(member->sums->counted[space].now);
        udpai_free(member->sums->counted[space].before);
        udpai_free(member->sums->counted[space].marked);
        udpai_free(member->sums->counted[space].is_in);
    }
    udpai_free(member->sums);
}

/* ---- in the quiet ---- */

void
sim_sums_mark(sim_scenario *scenario)
{
    size_t n = (size_t)scenario->n_members;
    for (int i = 0; i < scenario->n_management; i++)
        for (int space = 0; space < CLIENT_SPACES; space++) {
            sim_counted *counted = &scenario->members[i]->sums->counted[space];
            memcpy(counted->marked, counted->now, n * sizeof(*counted->now));
        }
}

/* Of one that reports to several nodes: whoever hears of it counts it. Else it has one of them,
 * which need not be known here. */
static void
check_growth_of_several(const sim_member *member, int space, int who)
{
    sim_scenario *scenario = member->scenario;
    const sim_reporter *client = scenario->members[who]->reporter;
    const sim_counted *counted = &member->sums->counted[space];
    const sim_client_key key = {CLIENT_SUM, space, 0, member->index},
                         said = {CLIENT_SHARED, space, 0, who};
    bool is_shared = client->loads[space].is_said[1];
    uint64_t grown = counted->now[who] - counted->marked[who];
    bool is_right =
        grown == client->burst[space] ||
        (grown == 0 && !(is_shared && sim_reach(scenario, &said, member->index, REACH_MUST)));
    scenario->world.counts[SIM_SHARED_COMPARED] += is_right && is_shared && grown > 0;
    if (is_right)
        return;
    fprintf(stderr, "%s has counted %llu more, and the sum %llu\n",
            scenario->members[who]->node->id, (unsigned long long)client->burst[space],
            (unsigned long long)grown);
    sim_client_fail(member, "a sum is not what was counted", &key);
}

/* It counts those whose node is in it, and says of no other that it is. */
static void
check_growth(const sim_member *member, int space, int who)
{
    sim_scenario *scenario = member->scenario;
    const sim_member *client = scenario->members[who];
    const sim_counted *counted = &member->sums->counted[space];
    const sim_client_key key = {CLIENT_SUM, space, 0, member->index},
                         said = {CLIENT_LOAD, space, 0, who};
    int home = client->upstreams[0];
    bool is_heard = sim_reach(scenario, &said, home, REACH_MUST);
    if (sim_reach(scenario, &said, member->index, REACH_MUST) && !counted->is_in[home])
        sim_client_fail(member, "a node below is not added up", &key);
    uint64_t expected = is_heard && counted->is_in[home] ? client->reporter->burst[space] : 0;
    uint64_t grown = counted->now[who] - counted->marked[who];
    if (grown == expected) {
        scenario->world.counts[SIM_SUMS_COMPARED] += grown > 0;
        return;
    }
    fprintf(stderr, "%s has counted %llu more, and the sum %llu\n", client->node->id,
            (unsigned long long)expected, (unsigned long long)grown);
    sim_client_fail(member, "a sum is not what was counted", &key);
}

void
sim_sums_check(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_management && is_tree(scenario); i++)
        for (int space = 0; space < CLIENT_SPACES; space++) {
            const sim_member *member = scenario->members[i];
            for (int who = 0; who < scenario->n_members; who++) {
                const sim_reporter *client = scenario->members[who]->reporter;
                if (!member->sums->counted[space].is_there || !client || !client->last_epoch)
                    continue;
                if (scenario->members[who]->provider.n_descriptors == 1)
                    check_growth(member, space, who);
                else
                    check_growth_of_several(member, space, who);
            }
        }
}
