/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes with one id: what passes one arrives at the other, and both are told. */
#include <stdlib.h>
#include <string.h>

#include "federation/problems.h"
#include "scenario.h"

struct search {
    const sim_world *world;
    udpai_str instance;
    bool found;
};

static const sim_node *
find_live(const sim_world *world, udpai_str instance)
{
    for (size_t i = 0; i < world->nodes.n; i++) {
        const sim_node *node = world->nodes.items[i];
        if (node->is_up && udpai_str_eq(udpai_str_from(node->instance), instance))
            return node;
    }
    return NULL;
}

/* It has passed that instance, and all that it has passed since are here: they can be told. */
static bool
look_for(void *userdata, const udpai_contribution *contribution)
{
    struct search *search = userdata;
    const udpa_resource *resource = contribution->resource;
    bool has_passed = false;
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++) {
        udpai_str instance = udpai_resource_hop(resource, i).instance;
        if (udpai_str_eq(instance, search->instance))
            has_passed = true;
        else if (!find_live(search->world, instance))
            has_passed = false;
    }
    search->found = has_passed;
    return !has_passed;
}

static void
look_in(void *userdata, const char *text)
{
    struct search *search = userdata;
    if (memmem(text, strlen(text), search->instance.data, search->instance.len))
        search->found = true;
}

static bool
has_met(const sim_member *lower, const sim_member *upper)
{
    struct search search = {lower->node->world, udpai_str_from(upper->node->instance), false};
    udpai_store_visit_all(udpai_node_store(lower->node->node), look_for, &search);
    return search.found;
}

static bool
is_told_of(const sim_member *upper, const sim_member *lower)
{
    struct search search = {upper->node->world, udpai_str_from(lower->node->instance), false};
    udpai_node_visit_problems(upper->node->node, look_in, &search);
    return search.found;
}

static void
check_pair(const sim_member *lower, const sim_member *upper)
{
    if (!lower->node->is_up || !upper->node->is_up || !has_met(lower, upper))
        return;
    if (!is_told_of(lower, upper))
        sim_fail(lower, "is not told of its twin above", -1);
    if (!is_told_of(upper, lower))
        sim_fail(upper, "is not told of its twin below", -1);
    lower->node->world->counts[SIM_TWINS_TOLD]++;
}

void
sim_check_twins(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_management; i++)
        for (int k = 0; k < scenario->n_management; k++) {
            const sim_member *one = scenario->members[i], *two = scenario->members[k];
            if (i != k && strcmp(one->node->said_id, two->node->said_id) == 0)
                check_pair(one, two);
        }
}
