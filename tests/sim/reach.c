/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of what clients report: to whom may it come? It goes from who says it to those whom
 * he has dialled, and so on, as far as each may publish it there, and each next one may see it. In
 * the plainest way there is; shares nothing with the engine. */
#include "clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A client, and the nodes behind it. */
#define WAY_MAX REF_HOPS

static bool
covers(ref_spaces spaces, int space)
{
    return spaces >> space & 1 || (space == 1 && (spaces & 1)); /* the second lies in the first */
}

/* Sources that are asked, or published to, while all is well. */
static size_t
n_sources(const sim_member *member, sim_reach_case which)
{
    return member->fails_over && which == REACH_MUST ? 1 : member->provider.n_descriptors;
}

static bool
shows(const sim_member *node, const sim_member *to, int space, sim_reach_case which)
{
    for (int colour = 0; which == REACH_EVER && colour < N_COLOURS; colour++)
        if (to->ever_colours >> colour & 1 && covers(node->ever_shows[colour], space))
            return true;
    return covers(node->shows[to->colour], space);
}

static bool
takes(const sim_member *node, const sim_member *from, int space, sim_reach_case which)
{
    if (!from->is_endpoint)
        return covers(node->passes[from->colour], space);
    return covers((which == REACH_EVER ? node->ever_takes : node->takes)[from->colour], space);
}

static bool
has_limit_that_covers(const sim_member *member, size_t source, int space)
{
    return member->limits[source] < 0 || covers(1U << member->limits[source], space);
}

/* Nobody has delivered what load is said of: it is for those who would, or else for all. */
static bool
is_for(const sim_member *from, size_t source, const sim_client_key *key)
{
    bool any_would = false;
    for (size_t k = 0; k < from->provider.n_descriptors; k++)
        any_would |= has_limit_that_covers(from, k, key->space);
    return key->type == CLIENT_STATE || !any_would ||
           has_limit_that_covers(from, source, key->space);
}

/* How many have it passed who is there; WAY_MAX + 1: it does not come there. */
static void
spread(const sim_scenario *scenario, const sim_client_key *key, sim_reach_case which, int *lengths)
{
    int space = key->space;
    bool any = true;
    while (any) {
        any = false;
        for (int i = 0; i < scenario->n_members; i++) {
            const sim_member *from = scenario->members[i];
            for (size_t k = 0; k < n_sources(from, which) && lengths[i] < WAY_MAX; k++) {
                const sim_member *to = scenario->members[from->upstreams[k]];
                bool goes_on = from->is_endpoint ? lengths[i] == 1 : shows(from, to, space, which);
                if (which == REACH_MUST && !is_for(from, k, key))
                    continue;
                if (!goes_on || !takes(to, from, space, which) ||
                    lengths[to->index] <= lengths[i] + 1)
                    continue;
                lengths[to->index] = lengths[i] + 1;
                any = true;
            }
        }
    }
}

bool
sim_reach(sim_scenario *scenario, const sim_client_key *key, int member, sim_reach_case which)
{
    const sim_member *self = scenario->members[member];
    int *lengths = udpai_alloc_array((size_t)scenario->n_members, sizeof(int));
    if (!lengths)
        abort();
    for (int i = 0; i < scenario->n_members; i++)
        lengths[i] = WAY_MAX + 1;
    lengths[key->who] = 1;
    spread(scenario, key, which, lengths);
    bool comes = member == key->who;
    if (self->is_endpoint)
        for (size_t k = 0; k < n_sources(self, which); k++) {
            const sim_member *from = scenario->members[self->upstreams[k]];
            comes |= lengths[from->index] <= WAY_MAX && shows(from, self, key->space, which);
        }
    else
        comes = lengths[member] <= WAY_MAX;
    udpai_free(lengths);
    return comes;
}
