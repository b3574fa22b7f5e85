/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants to know what clients say: endpoints, and subscribers in nodes. They come and go. */
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* What is under way, and what the clocks of those on the way say, may make it this much longer. */
#define LATE_US 5000000

_Noreturn void
sim_client_fail(const sim_member *member, const char *what, const sim_client_key *key)
{
    char name[96] = "";
    if (key)
        sim_client_name(member->scenario, key, name);
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %s %s\n",
            (unsigned long long)sim_ms(&member->scenario->world), what, member->node->id,
            key ? strrchr(sim_client_types[key->type], '.') + 1 : "", name);
    exit(EXIT_FAILURE);
}

bool
sim_slot_wants(const sim_scenario *scenario, const sim_slot *slot, const sim_client_key *key)
{
    (void)scenario;
    const sim_client_key *own = &slot->key;
    if (!slot->is_taken || own->type != key->type)
        return false;
    switch (slot->kind) {
    case SELECT_ALL:
        return true;
    case SELECT_SPACE:
        return own->space == key->space || (own->space == 0 && key->space == 1);
    case SELECT_THING:
        return own->space == key->space && own->thing == key->thing;
    case SELECT_NAME:
    case SELECT_KINDS:
        break;
    }
    return own->space == key->space && own->thing == key->thing && own->who == key->who;
}

/* ---- seeing ---- */

static void
read_load(const sim_member *member, const udpa_resource *resource, sim_client_copy *copy)
{
    udpai_load_stats *stats = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    if (udpai_load_stats_decode(&arena, udpai_resource_value(resource),
                                &udpai_load_stats_client_limits, &stats, NULL) != UDPA_OK)
        sim_client_fail(member, "a load that cannot be read", NULL);
    copy->epoch = stats->epoch;
    copy->n = stats->localities.n
                  ? stats->localities.items[0].figures.counts[UDPAI_LOAD_STATS_ISSUED]
                  : 0;
    udpai_load_stats_free(stats);
    udpai_arena_done(&arena);
}

/* Of a client: his own words, that came to one who may see them. */
static void
check_seen(const sim_slot *slot, const udpa_resource *resource, const sim_client_key *key)
{
    const sim_member *member = slot->member;
    sim_scenario *scenario = member->scenario;
    const sim_member *who = scenario->members[key->who];
    const sim_client_copy *copy = &slot->copies[sim_client_index(scenario, key)];
    if (!sim_slot_wants(scenario, slot, key))
        sim_client_fail(member, "nobody asked for what a client says", key);
    if (strcmp(udpa_resource_authority(resource), who->authority) != 0)
        sim_client_fail(member, "a client is spoken for by another", key);
    if (key->type == CLIENT_SUM)
        return;
    if (!who->reporter || !sim_reach(scenario, key, member->index, REACH_EVER))
        sim_client_fail(member, "what a client says came to one who may not see it", key);
    if (copy->exists && !member->public_only &&
        udpa_resource_generation(resource) < copy->generation)
        sim_client_fail(member, "what a client says went back", key);
}

static void
see(sim_slot *slot, const udpa_resource *resource, bool is_removed)
{
    sim_scenario *scenario = slot->member->scenario;
    sim_client_key key;
    if (!sim_client_parse(scenario, slot->key.type, udpa_resource_name(resource), &key))
        sim_client_fail(slot->member, udpa_resource_name(resource), NULL);
    sim_client_copy *copy = &slot->copies[sim_client_index(scenario, &key)];
    if (is_removed) {
        copy->exists = false;
        scenario->world.counts[SIM_REPORTS_GONE]++;
        return;
    }
    check_seen(slot, resource, &key);
    copy->exists = true;
    copy->generation = udpa_resource_generation(resource);
    if (key.type == CLIENT_LOAD)
        read_load(slot->member, resource, copy);
    else if (key.type == CLIENT_STATE)
        copy->version = sim_version_in(-1, udpai_resource_value(resource));
    scenario->world.counts[SIM_REPORTS_FAR] += udpa_resource_n_hops(resource) >= 4;
    scenario->world.counts[SIM_REPORTS_SEEN]++;
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    sim_slot *slot = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        if (slot->member->scenario->world.trace)
            fprintf(stderr, "%9llu %s knows %s%s\n",
                    (unsigned long long)sim_ms(&slot->member->scenario->world),
                    slot->member->node->id, change->is_removed ? "-" : "+",
                    udpa_resource_name(change->resource));
        see(slot, change->resource, change->is_removed);
    }
}

/* ---- asking ---- */

static void
choose(sim_slot *slot)
{
    sim_scenario *scenario = slot->member->scenario;
    sim_random *random = sim_client_random(scenario);
    slot->is_taken = true;
    slot->kind = (sim_selection_kind)sim_below(random, SELECT_KINDS);
    slot->key = (sim_client_key){
        .type = (int)sim_below(random, CLIENT_TYPES),
        .space = (int)sim_below(random, CLIENT_SPACES),
        .thing = sim_once_in(random, 3) ? 1 : 0,
        .who = (int)sim_below(random, (uint64_t)scenario->n_members),
    };
}

static void
subscribe(sim_slot *slot)
{
    const sim_scenario *scenario = slot->member->scenario;
    const udpai_local_ops ops = {.update = on_update, .userdata = slot};
    const sim_client_key *key = &slot->key;
    udpai_selection selection = {.type_url = udpai_str_from(sim_client_types[key->type])};
    char text[96] = "";
    if (slot->kind == SELECT_SPACE)
        snprintf(text, sizeof(text), "%s", sim_namespaces[key->space]);
    else if (slot->kind == SELECT_THING)
        snprintf(text, sizeof(text), "%s/c%d", sim_namespaces[key->space], key->thing);
    else if (slot->kind == SELECT_NAME)
        sim_client_name(scenario, key, text);
    const udpai_str name = udpai_str_from(text);
    selection.prefix = slot->kind == SELECT_NAME ? UDPAI_STR("") : name;
    selection.names = &name;
    selection.n_names = slot->kind == SELECT_NAME;
    memset(slot->copies, 0, sim_client_n_keys(scenario) * sizeof(*slot->copies));
    if (udpai_node_subscribe(slot->member->node->node, &selection, &ops, &slot->subscription) !=
        UDPA_OK)
        abort();
}

static void
leave(sim_slot *slot)
{
    if (slot->subscription && slot->member->node->is_up)
        udpai_node_unsubscribe(slot->member->node->node, slot->subscription);
    slot->subscription = NULL;
    slot->is_taken = false;
}

void
sim_taker_change(sim_member *member)
{
    sim_scenario *scenario = member->scenario;
    sim_slot *slot = &member->taker->slots[sim_below(sim_client_random(scenario), CLIENT_SLOTS)];
    if (slot->is_taken) {
        leave(slot);
    } else {
        choose(slot);
        if (member->node->is_up)
            subscribe(slot);
    }
    scenario->world.counts[SIM_TAKER_CHANGES]++;
    if (scenario->world.trace)
        fprintf(stderr, "%9llu %s %s to know %d %d %d\n",
                (unsigned long long)sim_ms(&scenario->world), member->node->id,
                slot->is_taken ? "wants" : "ceases", slot->kind, slot->key.type, slot->key.space);
    sim_touch(member->node);
}

void
sim_takers_leave(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        if (!member->taker)
            continue;
        for (int k = 0; k < CLIENT_SLOTS; k++)
            leave(&member->taker->slots[k]);
        sim_touch(member->node);
    }
}

void
sim_taker_started(sim_member *member)
{
    for (int k = 0; k < CLIENT_SLOTS; k++) {
        member->taker->slots[k].subscription = NULL;
        if (member->taker->slots[k].is_taken)
            subscribe(&member->taker->slots[k]);
    }
}

void
sim_taker_choose(sim_member *member)
{
    size_t n = sim_client_n_keys(member->scenario);
    struct sim_taker *self = member->taker = udpai_alloc(sizeof(*self));
    if (!self)
        abort();
    for (int k = 0; k < CLIENT_SLOTS; k++) {
        self->slots[k].member = member;
        self->slots[k].copies = udpai_alloc_array(n, sizeof(sim_client_copy));
        if (!self->slots[k].copies)
            abort();
    }
    choose(&self->slots[0]);
}

void
sim_taker_free(sim_member *member)
{
    for (int k = 0; member->taker && k < CLIENT_SLOTS; k++)
        udpai_free(member->taker->slots[k].copies);
    udpai_free(member->taker);
}

/* ---- what must hold ---- */

typedef void (*slot_fn)(sim_slot *slot, const sim_client_key *key);

static void
for_each(sim_scenario *scenario, slot_fn check)
{
    size_t n = sim_client_n_keys(scenario);
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        for (int k = 0; member->taker && member->node->is_up && k < CLIENT_SLOTS; k++)
            for (size_t at = 0; at < n && member->taker->slots[k].is_taken; at++) {
                const sim_client_key key = sim_client_key_at(scenario, at);
                check(&member->taker->slots[k], &key);
            }
    }
}

static void
check_expired(sim_slot *slot, const sim_client_key *key)
{
    const sim_scenario *scenario = slot->member->scenario;
    const sim_client_copy *copy = &slot->copies[sim_client_index(scenario, key)];
    if (key->type != CLIENT_SUM && copy->exists &&
        sim_client_last_said_us(scenario, key) + CLIENT_TTL_MS * 1000 + LATE_US <
            scenario->world.now_us)
        sim_client_fail(slot->member, "a client that says nothing is believed", key);
}

void
sim_takers_check_expired(sim_scenario *scenario)
{
    for_each(scenario, check_expired);
}

static bool
is_up_to_date(const sim_scenario *scenario, const sim_client_copy *copy, const sim_client_key *key)
{
    const sim_reporter *who = scenario->members[key->who]->reporter;
    return key->type == CLIENT_LOAD
               ? copy->epoch == who->loads[key->space].epoch && copy->n == who->loads[key->space].n
               : copy->version == who->states[key->space][key->thing].version;
}

static void
check_quiet(sim_slot *slot, const sim_client_key *key)
{
    const sim_member *member = slot->member;
    sim_scenario *scenario = member->scenario;
    const sim_client_copy *copy = &slot->copies[sim_client_index(scenario, key)];
    bool exists = sim_slot_wants(scenario, slot, key) && sim_client_is_said(scenario, key);
    if (key->type == CLIENT_SUM)
        return;
    if (exists && !copy->exists && sim_reach(scenario, key, member->index, REACH_MUST))
        sim_client_fail(member, "what a client says is missing", key);
    if (copy->exists && !(exists && sim_reach(scenario, key, member->index, REACH_MAY)))
        sim_client_fail(member, "a ghost of what a client said", key);
    if (copy->exists && !is_up_to_date(scenario, copy, key))
        sim_client_fail(member, "what a client said before", key);
    scenario->world.counts[SIM_REPORTS_COMPARED] += copy->exists;
}

void
sim_takers_check_quiet(sim_scenario *scenario)
{
    for_each(scenario, check_quiet);
}

void
sim_takers_check_nobody_asked(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        if (udpai_node_n_report_subscriptions(member->node->node))
            sim_client_fail(member, "what nobody wants is asked for", NULL);
        if (member->reporter && member->reporter->n_wanted)
            sim_client_fail(member, "a client is asked for what nobody wants", NULL);
        if (member->sums && member->sums->n_wanted)
            sim_client_fail(member, "what nobody wants is added up", NULL);
    }
}
