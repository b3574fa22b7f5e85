/* SPDX-License-Identifier: Apache-2.0 */
/* Management nodes that die, and never come back. Of what they said themselves, and of what came by
 * them alone, those who live may keep the last word, or may never have had it. All else must be
 * with everybody as if they had never been: no ghost, nothing old, nothing missing. */
#include "scenario.h"

/* One in so many federations loses somebody, and of those one in so many two. */
#define RARITY 3
#define RARITY_OF_TWO 4

static void
end(sim_world *world, void *userdata)
{
    sim_member *member = userdata;
    member->is_dead = true;
    world->counts[SIM_DEATHS]++;
    if (member->node->is_up)
        sim_die(member->node);
}

/* The chance is a stream of its own. Rules that change take things away from some in the mere order
 * of what has happened, which the reference does not know; who reports to whom has no reference
 * for nodes that are away. Who fails over keeps what it had until the one that stands in is
 * complete, which that is never if it takes from the dead one, too. */
void
sim_losses_choose(sim_scenario *scenario, uint64_t duration_us)
{
    sim_random random = {scenario->world.random.state ^ 0x646561746873};
    if (scenario->has_reports || scenario->is_large || scenario->rules_change ||
        scenario->n_fail_overs > 0 || scenario->n_management < 3 || !sim_once_in(&random, RARITY))
        return;
    for (int n = sim_once_in(&random, RARITY_OF_TWO) ? 2 : 1; n > 0; n--) {
        uint64_t number = sim_below(&random, (uint64_t)scenario->n_management);
        scenario->has_losses = true;
        sim_after(&scenario->world, sim_below(&random, duration_us), end,
                  scenario->members[number]);
    }
}

/* The node whose files say it, or that it is published to. */
static const sim_member *
place_of(const sim_member *authority)
{
    return authority->is_endpoint ? authority->scenario->members[authority->upstreams[0]]
                                  : authority;
}

/* Would the member have it from this authority, if nobody else said anything under the name, by
 * those who live alone? Solves the model anew. */
static bool
is_within_reach(const sim_member *member, const sim_member *authority, int key)
{
    ref_model *model = &member->scenario->model;
    const ref_said said = {true, authority->index, 1};
    for (int i = 0; i < model->n_nodes; i++)
        model->nodes[i].files[key].exists = model->nodes[i].published[key].exists = false;
    ref_node *place = &model->nodes[place_of(authority)->index];
    if (authority->is_endpoint)
        place->published[key] = said;
    else
        place->files[key] = said;
    ref_solve(model);
    bool is_there = model->nodes[member->index].result[key].said.exists;
    ref_solve(sim_tell_model(member->scenario, false));
    return is_there;
}

static bool
look_for(void *userdata, const udpai_contribution *contribution)
{
    const udpa_resource **found = userdata;
    if (contribution->effective)
        *found = contribution->resource;
    return !contribution->effective;
}

/* Does the node still have there what another authority stated that has died? Then it does not show
 * what the reference, which knows those who live alone, has it show. */
static bool
keeps_what_died(const sim_scenario *scenario, int at, int authority, int key)
{
    const udpa_resource *found = NULL;
    char name[64];
    sim_key_name(key, name);
    udpai_store_visit_name(udpai_node_store(scenario->members[at]->node->node),
                           udpai_str_from(sim_types[sim_key_type(key)]), udpai_str_from(name),
                           look_for, &found);
    for (int i = 0; i < scenario->n_members && found; i++) {
        const sim_member *other = scenario->members[i];
        if (i != authority && place_of(other)->is_dead &&
            udpai_str_eq(udpai_resource_authority(found), udpai_str_from(other->authority)))
            return true;
    }
    return false;
}

/* Has the member, or somebody from whom it comes, the authority's word from one who has died, while
 * all who live show there another authority's? That one may rank behind the source that has died.
 * Where a live one shows the same, it must be the newest: the dead one gives it its rank. */
static bool
is_from_the_dead(
    const sim_scenario *scenario, int at, const sim_copy *copy, int authority, int key, int depth)
{
    const sim_truth *truth = &scenario->members[authority]->truths[key];
    bool is_newest = truth->exists && sim_key_payload_version(key, truth->version) == copy->version;
    const ref_node *node = &scenario->model.nodes[at];
    bool any = false;
    for (int i = 0; i < node->n_sources; i++) {
        int source = node->sources[i].node;
        const ref_said *said = &scenario->model.nodes[source].result[key].said;
        if (scenario->members[source]->is_dead)
            any = true;
        else if (said->exists && said->authority == authority && !is_newest &&
                 !keeps_what_died(scenario, source, authority, key))
            return false;
    }
    for (int i = 0; i < node->n_sources && !any && depth < REF_HOPS; i++)
        any = is_from_the_dead(scenario, node->sources[i].node, copy, authority, key, depth + 1);
    return any;
}

bool
sim_losses_excuse(const sim_member *member, int key, bool is_missing)
{
    const sim_scenario *scenario = member->scenario;
    const sim_copy *copy = &member->copies[key];
    if (!scenario->has_losses || is_missing)
        return false;
    /* Nobody says that what expires goes, nor, on a new stream, what an alias led to once, nor can
     * anybody who knows the public protocol alone be told it; and somebody is still to speak. */
    if (sim_key_expires(key) || member->wishes[key] == SIM_BY_ALIAS || member->public_only)
        return true;
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *authority = scenario->members[i];
        if (strcmp(authority->authority, copy->authority) == 0)
            return place_of(authority)->is_dead || place_of(authority)->has_lost_memory ||
                   !is_within_reach(member, authority, key) ||
                   is_from_the_dead(scenario, member->index, copy, authority->index, key, 0);
    }
    return false;
}
