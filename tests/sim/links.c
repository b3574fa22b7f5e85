/* SPDX-License-Identifier: Apache-2.0 */
/* A thing refers to one of two clusters; in one change of files it refers to the other, which is
 * there from then on, and the first is gone. Nobody may see a thing whose cluster is not there,
 * unless it was so when he began to look, or his stream was lost meanwhile. */
#include "scenario.h"

#include <stdio.h>

int
sim_link_cluster(int link, int version)
{
    return N_OPEN_KEYS + link * N_LINK_KEYS + (version & 1);
}

int
sim_link_thing(int link)
{
    return N_OPEN_KEYS + link * N_LINK_KEYS + 2;
}

int
sim_link_owner(const sim_scenario *scenario, int link)
{
    return link % scenario->n_management;
}

static void
say(sim_member *owner, int link, int version)
{
    sim_truth *thing = &owner->truths[sim_link_thing(link)];
    sim_truth *to = &owner->truths[sim_link_cluster(link, version)];
    int from = sim_link_cluster(link, version - 1);
    thing->exists = to->exists = true;
    thing->version = to->version = version;
    owner->truths[from].exists = false;
    sim_truth_removed(owner, from);
}

void
sim_link_begin(sim_scenario *scenario)
{
    for (int link = 0; link < N_LINKS; link++)
        say(scenario->members[sim_link_owner(scenario, link)], link, 1);
}

void
sim_link_change(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    int link = (int)sim_below(&world->random, N_LINKS);
    sim_member *owner = scenario->members[sim_link_owner(scenario, link)];
    int version = owner->truths[sim_link_thing(link)].version + 1;
    say(owner, link, version);
    if (world->trace)
        fprintf(stderr, "%9llu %s refers to r%d in r%d\n", (unsigned long long)sim_ms(world),
                owner->node->id, sim_link_cluster(link, version), sim_link_thing(link));
    if (!owner->node->is_up)
        return;
    world->counts[SIM_LINK_CHANGES]++;
    sim_set_files(owner);
    sim_touch(owner->node);
}

static bool
wants_all(const sim_member *member, int link)
{
    return sim_endpoint_wants(member, sim_link_cluster(link, 0)) &&
           sim_endpoint_wants(member, sim_link_cluster(link, 1)) &&
           sim_endpoint_wants(member, sim_link_thing(link));
}

void
sim_link_check(sim_member *member)
{
    for (int link = 0; link < N_LINKS; link++) {
        const sim_copy *thing = &member->copies[sim_link_thing(link)];
        int cluster = sim_link_cluster(link, thing->version);
        bool is_whole = wants_all(member, link) && thing->exists && member->copies[cluster].exists;
        if (member->link_is_whole[link] && !is_whole && thing->exists && member->scenario->is_calm)
            sim_fail(member, "a thing is there without what it refers to", cluster);
        member->link_is_whole[link] = is_whole;
    }
}
