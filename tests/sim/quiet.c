/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold when all is quiet: everybody has what the reference says, and nothing has grown
 * that should not. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guest.h"

/* Pieces of memory: what a node, a stream and a contribution may cost at most. */
enum {
    PIECES_OF_NODE = 400,
    PIECES_OF_STREAM = 200,
    PIECES_OF_CONTRIBUTION = 12,
    PIECES_OF_MEMORY = 8,     /* of a name that has gone, and when */
    MESSAGES_AHEAD_MAX = 400, /* between the halves of one node */
};

/* ---- the truth, as the reference takes it ---- */

static void
describe_keys(ref_model *model)
{
    model->n_keys = N_KEYS;
    for (int key = 0; key < N_KEYS; key++) {
        model->key_namespace[key] = sim_key_namespace(key);
        model->is_lazy[key] = sim_key_is_lazy(key);
    }
    for (int space = 0; space < N_NAMESPACES; space++)
        model->lies_in[space][space] = true;
    model->lies_in[0][1] = true;
}

static void
describe_member(const sim_member *member, ref_node *node)
{
    node->on_demand = member->on_demand;
    node->is_strict = !member->is_endpoint;
    node->fails_over = member->fails_over;
    for (size_t i = 0; i < member->provider.n_descriptors; i++)
        node->sources[node->n_sources++] = (ref_source){
            .node = member->upstreams[i],
            .asked = member->limits[i] >= 0 ? 1u << member->limits[i] : (1u << N_NAMESPACES) - 1,
            .taken = ALL_SPACES & ~member->refuses[i],
        };
}

void
sim_describe_to_model(sim_scenario *scenario)
{
    ref_model *model = &scenario->model;
    model->n_nodes = scenario->n_members;
    model->nodes = udpai_alloc_array((size_t)scenario->n_members, sizeof(ref_node));
    if (!model->nodes)
        abort();
    memset(model->nodes, 0, (size_t)scenario->n_members * sizeof(ref_node));
    describe_keys(model);
    for (int i = 0; i < scenario->n_members; i++)
        describe_member(scenario->members[i], &model->nodes[i]);
}

static ref_said
said_by(const sim_member *member, int key)
{
    const sim_truth *truth = &member->truths[key];
    return (ref_said){truth->exists, member->index, truth->version};
}

static ref_wish
wish_of(const sim_member *member, int key)
{
    if (!member->is_endpoint || !sim_endpoint_wants(member, key))
        return REF_UNWANTED;
    return member->by_name ? REF_BY_NAME : REF_BY_WILDCARD;
}

static void
tell_member(const sim_member *member, ref_node *node)
{
    node->colour = member->colour;
    node->serves = !member->is_endpoint && !member->is_dead;
    memcpy(node->shows, member->shows, sizeof(node->shows));
    memcpy(node->takes, member->takes, sizeof(node->takes));
    for (int key = 0; key < N_KEYS; key++) {
        node->wishes[key] = wish_of(member, key);
        if (!member->is_endpoint)
            node->files[key] = said_by(member, key);
        node->files[key].exists &= !member->is_dead;
    }
}

ref_model *
sim_tell_model(sim_scenario *scenario, bool confirmed_only)
{
    ref_model *model = &scenario->model;
    for (int i = 0; i < scenario->n_members; i++)
        tell_member(scenario->members[i], &model->nodes[i]);
    for (int key = N_FILE_KEYS; key < N_OPEN_KEYS; key++) {
        const sim_member *publisher = scenario->members[sim_key_publisher(scenario, key)];
        ref_said *said = &model->nodes[publisher->upstreams[0]].published[key];
        *said = said_by(publisher, key);
        said->exists &= !scenario->members[publisher->upstreams[0]]->is_dead &&
                        (!confirmed_only || publisher->acknowledged[key] >= 0);
    }
    return model;
}

ref_model *
sim_tell_rules_of_all_times(sim_scenario *scenario)
{
    ref_model *model = &scenario->model;
    for (int i = 0; i < scenario->n_management; i++) {
        const sim_member *node = scenario->members[i];
        memcpy(model->nodes[i].shows, node->ever_shows, sizeof(node->ever_shows));
        memcpy(model->nodes[i].takes, node->ever_takes, sizeof(node->ever_takes));
        model->nodes[i].colour = node->colour;
        model->nodes[i].serves = true;
    }
    for (int i = 0; i < scenario->n_publishers; i++)
        model->nodes[scenario->publishers[i]].colour =
            scenario->members[scenario->publishers[i]]->colour;
    return model;
}

/* ---- comparing ---- */

/* Of two authorities, nodes in a ring whose rules differ, or that have their sources in orders that
 * contradict each other, may agree in more than one way, or never: who prefers whose word depends
 * on who came first. */
bool
sim_may_disagree(const sim_scenario *scenario)
{
    return scenario->has_ring && (scenario->has_rules || scenario->shape == SIM_TANGLE);
}

static bool
is_true_of_another(const sim_member *member, int key)
{
    const sim_scenario *scenario = member->scenario;
    const sim_copy *copy = &member->copies[key];
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_truth *truth = &scenario->members[i]->truths[key];
        if (truth->exists && sim_key_payload_version(key, truth->version) == copy->version &&
            strcmp(scenario->members[i]->authority, copy->authority) == 0)
            return true;
    }
    return false;
}

static void
compare_key(const sim_member *member, int key)
{
    const sim_scenario *scenario = member->scenario;
    const ref_word *word = &scenario->model.nodes[member->index].result[key];
    const ref_said *expected = &word->said;
    const sim_copy *copy = &member->copies[key];
    bool exists = expected->exists && sim_endpoint_wants(member, key);
    if (exists && !copy->exists && scenario->has_losses && sim_guest_waits_for_all(member))
        return; /* for a source that never comes */
    if (exists != copy->exists && !sim_losses_excuse(member, key, !copy->exists))
        sim_fail(member, exists ? "missing" : "a ghost", key);
    if (!exists || !copy->exists)
        return;
    const char *authority = scenario->members[expected->authority]->authority;
    if (sim_key_payload_version(key, expected->version) == copy->version &&
        strcmp(copy->authority, authority) == 0) {
        if (!member->is_guest)
            sim_check_content(member, key, word);
        return;
    }
    if (sim_may_disagree(scenario) && is_true_of_another(member, key))
        return;
    if (sim_losses_excuse(member, key, false))
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
        if (!node->is_up)
            continue;
        UDPAI_LIST_FOREACH (at, &node->streams)
            n_streams++;
        size_t n_kept = udpai_store_n_contributions(udpai_node_store(node->node));
        bound += PIECES_OF_NODE + PIECES_OF_STREAM * n_streams + PIECES_OF_CONTRIBUTION * n_kept +
                 PIECES_OF_MEMORY * N_KEYS;
        size_t ahead_max = (size_t)MESSAGES_AHEAD_MAX * (scenario->has_reports ? 4 : 1);
        if (node->most_orders > ahead_max || node->most_reports > ahead_max)
            sim_fail(member, "too many messages between the halves of a node", -1);
    }
    if (scenario->has_reports) /* sums, what expires, and what was composed of it */
        bound = bound * 9 / 4;
    if (udpai_alloc_live() <= bound)
        return;
    fprintf(stderr, "FAIL: %lu pieces of memory in quiet, above %zu\n", udpai_alloc_live(), bound);
    exit(EXIT_FAILURE);
}

void
sim_check_quiet(sim_scenario *scenario)
{
    ref_solve(sim_tell_model(scenario, false));
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        for (int key = 0; key < N_KEYS && member->is_endpoint; key++)
            compare_key(member, key);
    }
    sim_check_twins(scenario);
    check_memory(scenario);
}
