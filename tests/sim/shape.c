/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes from whom. */
#include "scenario.h"

#include <stdio.h>

/* Behind one another, so that with the endpoint no more than the hops that a resource may make. */
#define CHAIN_MAX 12

/* ---- how large, and of which kind ---- */

static void
choose_size(sim_scenario *scenario, uint64_t seed)
{
    sim_random *random = sim_random_of(scenario);
    if (scenario->is_large) {
        scenario->n_management = 200;
        scenario->n_endpoints = 10000;
    } else if (seed % 50 == 0) {
        scenario->n_management = 9 + (int)sim_below(random, 22);
        scenario->n_endpoints = 1 + (int)sim_below(random, 60);
    } else {
        scenario->n_management = 2 + (int)sim_below(random, 7);
        scenario->n_endpoints = 1 + (int)sim_below(random, sim_once_in(random, 6) ? 30 : 8);
    }
}

void
sim_shape_choose(sim_scenario *scenario, uint64_t seed)
{
    static const sim_count counts[SIM_SHAPES] = {
        [SIM_TANGLE] = SIM_TANGLES,     [SIM_CHAIN] = SIM_CHAINS,
        [SIM_TREE] = SIM_TREES,         [SIM_DIAMOND] = SIM_DIAMONDS,
        [SIM_TRIANGLE] = SIM_TRIANGLES, [SIM_EXCHANGE] = SIM_EXCHANGES,
    };
    sim_random *random = sim_random_of(scenario);
    choose_size(scenario, seed);
    if (scenario->is_large)
        scenario->shape = sim_once_in(random, 2) ? SIM_TREE : SIM_DIAMOND;
    else
        scenario->shape =
            sim_once_in(random, 3) ? SIM_TANGLE : (sim_shape)sim_below(random, SIM_SHAPES);
    scenario->world.counts[counts[scenario->shape]]++;
    scenario->fail_overs_max = sim_once_in(random, 2) ? FAIL_OVERS_MAX : 0;
    scenario->has_tls = sim_once_in(random, 2);
    scenario->has_rules = !sim_once_in(random, 3);
    scenario->rules_change = scenario->has_rules && sim_once_in(random, 2);
}

/* ---- one source ---- */

void
sim_add_source(sim_member *self, int upstream, int limit)
{
    if (upstream == self->index || self->provider.n_descriptors == SOURCES_MAX)
        return;
    size_t i = self->provider.n_descriptors++;
    snprintf(self->source_names[i], sizeof(self->source_names[i]), "s%d", upstream);
    self->upstreams[i] = upstream;
    self->limits[i] = limit;
    if (!self->is_endpoint && upstream > self->index)
        self->scenario->has_ring = true;
}

static void
add_if_there(sim_member *self, int upstream, int limit)
{
    if (upstream >= 0 && upstream < self->scenario->n_management)
        sim_add_source(self, upstream, limit);
}

static int
random_limit(sim_scenario *scenario)
{
    sim_random *random = sim_random_of(scenario);
    return sim_once_in(random, 4) ? (int)sim_below(random, N_OPEN_NAMESPACES) : -1;
}

/* ---- the kinds ---- */

/* Asks on demand only of those before it: two that asked each other would want for ever what one of
 * them once wanted. */
static void
connect_tangle(sim_member *self)
{
    sim_scenario *scenario = self->scenario;
    sim_random *random = sim_random_of(scenario);
    int n = self->on_demand ? self->index : scenario->n_management;
    uint64_t rarity = (uint64_t)(scenario->n_management <= 8 ? 3 : scenario->n_management / 2);
    add_if_there(self, self->index - 1, -1);
    for (int k = 0; k < n; k++)
        if (k != self->index - 1 && sim_once_in(random, rarity))
            sim_add_source(self, k, random_limit(scenario));
}

static void
connect_chain(sim_member *self)
{
    int above = self->index - 1;
    if (above >= CHAIN_MAX)
        above = (int)sim_below(sim_random_of(self->scenario), CHAIN_MAX);
    add_if_there(self, above, -1);
}

static void
connect_tree(sim_member *self)
{
    int arity = self->scenario->is_large ? 4 : 2;
    if (self->index > 0)
        sim_add_source(self, (self->index - 1) / arity, -1);
}

/* Node 0 is the top. */
static void
connect_diamond(sim_member *self)
{
    int n = self->scenario->n_management, width = n / 8 < 2 ? 2 : n / 8;
    int layer = (self->index + width - 1) / width;
    int above = layer < 2 ? 0 : 1 + (layer - 2) * width, n_above = layer < 2 ? 1 : width;
    if (self->index == 0)
        return;
    int first = (int)sim_below(sim_random_of(self->scenario), (uint64_t)n_above);
    sim_add_source(self, above + first, -1);
    if (n_above > 1)
        sim_add_source(self, above + (first + 1) % n_above, -1);
}

static void
connect_triangle(sim_member *self)
{
    int corner = self->index % 3, first = self->index - corner;
    if (corner == 0 && first > 0)
        sim_add_source(self, (first / 3 - 1) / 2 * 3, -1);
    for (int k = first; k < first + 3; k++)
        add_if_there(self, k, -1);
}

/* Each of two has one name space from the other; pairs hang together by their first. */
static void
connect_exchange(sim_member *self)
{
    int pair = self->index / 2;
    bool is_first = self->index % 2 == 0;
    add_if_there(self, is_first ? self->index + 1 : self->index - 1, is_first ? 2 : 0);
    if (is_first && pair > 0)
        sim_add_source(self, (pair - 1) / 2 * 2, -1);
}

static bool
may_be_on_demand(const sim_member *self)
{
    sim_shape shape = self->scenario->shape;
    return self->index > 0 && shape != SIM_TRIANGLE && shape != SIM_EXCHANGE;
}

void
sim_shape_connect(sim_member *self)
{
    static void (*const connect[SIM_SHAPES])(sim_member * self) = {
        [SIM_TANGLE] = connect_tangle,     [SIM_CHAIN] = connect_chain,
        [SIM_TREE] = connect_tree,         [SIM_DIAMOND] = connect_diamond,
        [SIM_TRIANGLE] = connect_triangle, [SIM_EXCHANGE] = connect_exchange,
    };
    sim_scenario *scenario = self->scenario;
    self->on_demand = may_be_on_demand(self) && sim_once_in(sim_random_of(scenario), 4);
    scenario->has_on_demand |= self->on_demand;
    connect[scenario->shape](self);
}
