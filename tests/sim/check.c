/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold: while things happen, nothing goes that nobody took away; when they have ended,
 * everybody has what the reference says, and nothing has grown that should not. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "scenario.h"

/* Pieces of memory: what a node, a stream and a contribution may cost at most. */
enum {
    PIECES_OF_NODE = 400,
    PIECES_OF_STREAM = 200,
    PIECES_OF_CONTRIBUTION = 12,
    MESSAGES_AHEAD_MAX = 400, /* between the halves of one node */
};

void
sim_fail(const sim_member *member, const char *what, int key)
{
    char name[64] = "";
    if (key >= 0)
        sim_key_name(key, name);
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %s\n",
            (unsigned long long)sim_ms(&member->scenario->world), what, member->node->id, name);
    exit(EXIT_FAILURE);
}

#define GONE_MAX_US 30000000

/* ---- the truth, as the reference takes it ---- */

static ref_word
word_of(const sim_scenario *scenario, int member, int key)
{
    const sim_truth *truth = &scenario->truths[member][key];
    return (ref_word){.exists = truth->exists, .authority = member, .version = truth->version};
}

static ref_wish
wish_of(const sim_member *member, int key)
{
    if (!member->is_endpoint || !sim_endpoint_wants(member, key))
        return REF_UNWANTED;
    return member->by_name ? REF_BY_NAME : REF_BY_WILDCARD;
}

/* confirmed_only: of what is published, what has been confirmed. */
static ref_model *
tell_model(sim_scenario *scenario, bool confirmed_only)
{
    ref_model *model = &scenario->model;
    for (int i = 0; i < scenario->n_members; i++)
        for (int key = 0; key < N_KEYS; key++) {
            ref_node *node = &model->nodes[i];
            const sim_member *member = scenario->members[i];
            node->wishes[key] = wish_of(member, key);
            if (!member->is_endpoint)
                node->files[key] = word_of(scenario, i, key);
            if (sim_key_publisher(scenario, key) != i)
                continue;
            ref_word *said = &model->nodes[member->upstreams[0]].published[key];
            *said = word_of(scenario, i, key);
            said->exists &= !confirmed_only || member->acknowledged[key] >= 0;
        }
    return model;
}

/* ---- while things happen ---- */

static bool
was_ever_removed(const sim_scenario *scenario, int key)
{
    for (int i = 0; i < scenario->n_members; i++)
        if (scenario->truths[i][key].ever_removed)
            return true;
    return false;
}

/* One that stands in may be whole and yet lag behind the one it stands in for; so may a node that
 * came back without what it had told of already. */
static bool
may_lag(const sim_scenario *scenario)
{
    return scenario->n_fail_overs > 0 || scenario->has_lost_commits;
}

static bool
must_be_there(sim_member *member, int key)
{
    sim_scenario *scenario = member->scenario;
    return sim_endpoint_wants(member, key) && !may_lag(scenario) &&
           !was_ever_removed(scenario, key) &&
           ref_is_certain(tell_model(scenario, true), (int)member->node->index, key);
}

void
sim_check_removal(sim_member *member, int key)
{
    sim_scenario *scenario = member->scenario;
    sim_copy *copy = &member->copies[key];
    if (!sim_endpoint_wants(member, key))
        return; /* the end of what it asked for before */
    if (must_be_there(member, key) && !scenario->has_on_demand)
        sim_fail(member, "a resource that nobody removed was removed", key);
    scenario->world.counts[SIM_EXPIRIES] += sim_key_expires(key) && copy->exists;
    copy->exists = false;
    copy->gone_since_us = scenario->world.now_us;
}

/* A node on demand may give something back in the very moment in which it is wanted again; then it
 * comes again as soon as its source can be reached. */
void
sim_check_gone(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        for (int key = 0; key < N_KEYS && member->node->is_up; key++) {
            sim_copy *copy = &member->copies[key];
            if (copy->exists || copy->gone_since_us == 0 ||
                scenario->world.now_us < copy->gone_since_us + GONE_MAX_US)
                continue;
            copy->gone_since_us = 0;
            if (must_be_there(member, key))
                sim_fail(member, "a resource that nobody removed has gone", key);
        }
    }
}

/* ---- in quiet ---- */

static void
compare_key(const sim_member *member, int key)
{
    const sim_scenario *scenario = member->scenario;
    const ref_word *expected = &scenario->model.nodes[member->node->index].result[key];
    const sim_copy *copy = &member->copies[key];
    bool exists = expected->exists && sim_endpoint_wants(member, key);
    if (exists != copy->exists)
        sim_fail(member, exists ? "missing" : "a ghost", key);
    if (!exists)
        return;
    const char *authority = scenario->members[expected->authority]->authority;
    if (expected->version == copy->version && strcmp(copy->authority, authority) == 0)
        return;
    fprintf(stderr, "expected %s %d, has %s %d\n", authority, expected->version, copy->authority,
            copy->version);
    sim_fail(member, "another version", key);
}

static void
check_memory(const sim_scenario *scenario)
{
    size_t bound = 0;
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        const sim_node *node = member->node;
        size_t n_streams = 0;
        UDPAI_LIST_FOREACH (at, &node->streams)
            n_streams++;
        size_t n_kept = udpai_store_n_contributions(udpai_node_store(node->node));
        bound += PIECES_OF_NODE + PIECES_OF_STREAM * n_streams + PIECES_OF_CONTRIBUTION * n_kept;
        if (node->most_orders > MESSAGES_AHEAD_MAX || node->most_reports > MESSAGES_AHEAD_MAX)
            sim_fail(member, "too many messages between the halves of a node", -1);
    }
    if (udpai_alloc_live() <= bound)
        return;
    fprintf(stderr, "FAIL: %lu pieces of memory in quiet, above %zu\n", udpai_alloc_live(), bound);
    exit(EXIT_FAILURE);
}

void
sim_check_quiet(sim_scenario *scenario)
{
    ref_solve(tell_model(scenario, false));
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        for (int key = 0; key < N_KEYS && member->is_endpoint; key++)
            compare_key(member, key);
        scenario->world.counts[SIM_LOOPS] += udpai_node_n_loops(member->node->node);
    }
    check_memory(scenario);
}
