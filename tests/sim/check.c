/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold while things happen: nothing goes that nobody took away, nothing comes that may
 * not be there, generations grow, and what was receipted is safe. */
#include <stdio.h>
#include <stdlib.h>

#include "scenario.h"

#define GONE_MAX_US 30000000

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

/* ---- what goes ---- */

static bool
is_old(const sim_scenario *scenario, int key)
{
    for (int i = 0; i < scenario->n_management; i++)
        if (scenario->members[i]->truths[key].is_old)
            return true;
    return false;
}

/* One that stands in may be whole and yet lag behind the one it stands in for; so may a node that
 * came back without what it had told of already. Not so in what was there before anybody started,
 * unless nodes wait for each other, which they do not for ever. Nor do they where one has lost its
 * state, and waits for another that is away for longer than that. */
static bool
may_lag(const sim_scenario *scenario, int key)
{
    if (scenario->has_ring && scenario->has_lost_state && scenario->has_long_outage)
        return true;
    return (scenario->n_fail_overs > 0 || scenario->has_lost_commits) &&
           (scenario->has_ring || !is_old(scenario, key));
}

static bool
must_be_there(sim_member *member, int key)
{
    sim_scenario *scenario = member->scenario;
    if (!sim_endpoint_wants(member, key) || scenario->rules_change || scenario->ever_removed[key] ||
        may_lag(scenario, key))
        return false;
    if (scenario->is_large && !sim_once_in(sim_random_of(scenario), 1000))
        return false; /* there is no time for all */
    return ref_is_certain(sim_tell_model(scenario, true), member->index, key);
}

/* In the very moment in which it is wanted again: by a node on demand, or by a mirror of what comes
 * by its name alone. Then it comes again as soon as its source can be reached. */
static bool
may_be_given_back(const sim_scenario *scenario, int key)
{
    return scenario->has_on_demand || sim_key_is_lazy(key);
}

static void
forget_generations(sim_copy *copy)
{
    for (int i = 0; i < SEEN_MAX; i++)
        copy->seen[i].generation = 0;
}

void
sim_check_removal(sim_member *member, int key)
{
    sim_scenario *scenario = member->scenario;
    sim_copy *copy = &member->copies[key];
    if (!sim_endpoint_wants(member, key))
        return; /* the end of what it asked for before */
    if (!may_be_given_back(scenario, key) && must_be_there(member, key))
        sim_fail(member, "a resource that nobody removed was removed", key);
    if (scenario->n_fail_overs) /* one that stands in may lag, and its word is all that counts */
        forget_generations(copy);
    scenario->world.counts[SIM_EXPIRIES] += sim_key_expires(key) && copy->exists;
    copy->exists = false;
    copy->gone_since_us = scenario->world.now_us;
}

/* What may be given back is there again soon. */
void
sim_check_gone(sim_scenario *scenario)
{
    for (int i = scenario->n_management; i < scenario->n_members; i++) {
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

/* ---- what comes ---- */

/* Whose files say it, or what node whose publications come to. */
static int
place_of(const sim_scenario *scenario, int authority)
{
    const sim_member *member = scenario->members[authority];
    return member->is_endpoint ? member->upstreams[0] : authority;
}

/* Who may say the key, by name. */
static int
find_authority(const sim_scenario *scenario, const char *name, int key)
{
    int publisher = sim_key_publisher(scenario, key);
    if (publisher >= 0 && strcmp(scenario->members[publisher]->authority, name) == 0)
        return publisher;
    for (int i = 0; i < scenario->n_management; i++)
        if (scenario->members[i]->truths[key].version &&
            strcmp(scenario->members[i]->authority, name) == 0)
            return i;
    return -1;
}

/* As rules ever were: what is under way comes by those of before. */
static bool
may_ever_hold(sim_member *member, int key, int authority)
{
    sim_scenario *scenario = member->scenario;
    ref_model *model = sim_tell_rules_of_all_times(scenario);
    int place = place_of(scenario, authority);
    for (int colour = 0; colour < N_COLOURS; colour++) {
        model->nodes[member->index].colour = colour;
        if (member->ever_colours >> colour & 1 &&
            ref_may_hold(model, member->index, key, authority, place))
            return true;
    }
    return false;
}

/* In what the endpoint has seen under this name in its life. */
static sim_seen *
seen_of(sim_member *member, const char *authority, int key)
{
    sim_copy *copy = &member->copies[key];
    for (int i = 0; i < SEEN_MAX; i++)
        if (strcmp(copy->seen[i].authority, authority) == 0)
            return &copy->seen[i];
    int who = find_authority(member->scenario, authority, key);
    if (who < 0)
        sim_fail(member, "a resource of a wrong authority", key);
    if (!may_ever_hold(member, key, who))
        sim_fail(member, "a resource that it may not see", key);
    for (int i = 0; i < SEEN_MAX; i++)
        if (!copy->seen[i].authority[0]) {
            snprintf(copy->seen[i].authority, AUTHORITY_MAX, "%s", authority);
            return &copy->seen[i];
        }
    abort();
}

/* What it has seen of others does not count any more: which word of an authority is the best is
 * found without memory, so that every replica finds the same. */
static void
note_generation(sim_copy *copy, sim_seen *seen, uint64_t generation)
{
    forget_generations(copy);
    seen->generation = generation;
}

/* Who knows the public protocol only has no generations but those of arrival, by source. */
void
sim_check_seen(sim_member *member, const sim_word *word, int key)
{
    sim_copy *copy = &member->copies[key];
    if (!sim_endpoint_wants(member, key))
        sim_fail(member, "nobody asked for it", key);
    sim_seen *seen = seen_of(member, word->authority, key);
    if (!member->public_only && word->generation < seen->generation)
        sim_fail(member, "a generation went back", key);
    if (copy->exists && strcmp(copy->authority, word->authority) == 0 &&
        copy->version == word->version && copy->n_aliases == word->n_aliases)
        sim_fail(member, "a resource was delivered twice", key);
    note_generation(copy, seen, word->generation);
}

/* ---- what is safe ---- */

/* What the publisher itself has said. */
static bool
keeps(const sim_member *self, const sim_member *publisher, int key, int at_least)
{
    char name[64];
    sim_key_name(key, name);
    for (size_t i = 0; i < self->node->kept.n; i++) {
        const udpai_durable_op *op = &self->node->kept.items[i];
        if (op->kind == UDPAI_DURABLE_PUT && strcmp(udpa_resource_name(op->resource), name) == 0 &&
            udpai_str_starts(udpai_bytes_view(op->origin), UDPAI_STR("publisher:")) &&
            strcmp(udpa_resource_authority(op->resource), publisher->authority) == 0 &&
            sim_version_of(op->resource) >= at_least)
            return true;
    }
    return false;
}

static void
check_kept(const sim_member *self, const sim_member *publisher, int key)
{
    const sim_truth *truth = &publisher->truths[key];
    if (truth->safe_version) {
        self->scenario->world.counts[SIM_KEPT_CHECKED]++;
        if (!keeps(self, publisher, key, truth->safe_version))
            sim_fail(self, "what was receipted is not kept", key);
    } else if (sim_publisher_has_taken_back(publisher, key)) {
        self->scenario->world.counts[SIM_KEPT_CHECKED]++;
        if (keeps(self, publisher, key, 0))
            sim_fail(self, "what was taken back is kept", key);
    }
}

void
sim_check_kept(const sim_member *self)
{
    const sim_scenario *scenario = self->scenario;
    if (self->is_endpoint || scenario->rules_change)
        return;
    for (int key = N_FILE_KEYS; key < N_OPEN_KEYS; key++) {
        const sim_member *publisher = scenario->members[sim_key_publisher(scenario, key)];
        if (publisher->upstreams[0] == self->index)
            check_kept(self, publisher, key);
    }
}
