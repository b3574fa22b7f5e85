/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints that report: states of things, and what they have counted. They say all of it from time
 * to time; what they do not say any more they take back, or it must expire. Some say also what they
 * may not: in another's name, or what would never end. */
#include "clients.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/name.h"

#define TICK_US 2000000
#define CHANGE_US 3000000

const char *const sim_client_types[CLIENT_ALL_TYPES] = {
    UDPAI_TYPE_CLIENT_LOAD,
    "type.googleapis.com/udpa.status.v1.ResourceState",
    UDPAI_TYPE_CLUSTER_LOAD,
    UDPAI_TYPE_SHARED_CLIENT_LOAD,
};

/* ---- names ---- */

size_t
sim_client_n_keys(const sim_scenario *scenario)
{
    return (size_t)CLIENT_TYPES * CLIENT_SPACES * CLIENT_THINGS * (size_t)scenario->n_members;
}

size_t
sim_client_index(const sim_scenario *scenario, const sim_client_key *key)
{
    size_t thing = (size_t)((key->type * CLIENT_SPACES + key->space) * CLIENT_THINGS + key->thing);
    return thing * (size_t)scenario->n_members + (size_t)key->who;
}

sim_client_key
sim_client_key_at(const sim_scenario *scenario, size_t index)
{
    int who = (int)(index % (size_t)scenario->n_members);
    int thing = (int)(index / (size_t)scenario->n_members);
    return (sim_client_key){thing / CLIENT_THINGS / CLIENT_SPACES,
                            thing / CLIENT_THINGS % CLIENT_SPACES, thing % CLIENT_THINGS, who};
}

void
sim_client_name(const sim_scenario *scenario, const sim_client_key *key, char name[96])
{
    const char *who = key->who < 0 ? "nobody" : scenario->members[key->who]->node->id;
    snprintf(name, 96, "%s/c%d/%s", sim_namespaces[key->space], key->thing, who);
}

bool
sim_client_parse(const sim_scenario *scenario, int type, const char *name, sim_client_key *ret_key)
{
    const char *slash = strchr(name, '/'), *id = strrchr(name, '/');
    *ret_key = (sim_client_key){.type = type, .space = -1, .who = -1};
    for (int space = 0; slash && space < CLIENT_SPACES; space++)
        if (udpai_str_eq((udpai_str){name, (size_t)(slash - name)},
                         udpai_str_from(sim_namespaces[space])))
            ret_key->space = space;
    for (int i = 0; slash && id > slash && i < scenario->n_members; i++)
        if (strcmp(scenario->members[i]->node->id, id + 1) == 0)
            ret_key->who = i;
    ret_key->thing = slash && slash[1] == 'c' ? slash[2] - '0' : -1;
    return ret_key->space >= 0 && ret_key->who >= 0 && ret_key->thing >= 0 &&
           ret_key->thing < CLIENT_THINGS;
}

/* ---- what is true ---- */

bool
sim_client_is_said(const sim_scenario *scenario, const sim_client_key *key)
{
    const sim_reporter *self = scenario->members[key->who]->reporter;
    if (!self || key->type == CLIENT_SUM)
        return false;
    if (key->type == CLIENT_LOAD)
        return self->last_epoch && key->thing == 0;
    return self->states[key->space][key->thing].exists;
}

uint64_t
sim_client_last_said_us(const sim_scenario *scenario, const sim_client_key *key)
{
    const sim_reporter *self = scenario->members[key->who]->reporter;
    return key->type == CLIENT_LOAD ? self->loads[key->space].last_said_us
                                    : self->states[key->space][key->thing].last_said_us;
}

/* ---- saying it ---- */

static udpa_resource *
make_resource(const sim_scenario *scenario,
              const sim_client_key *key,
              udpai_str payload,
              const char *authority)
{
    char name[96];
    sim_client_name(scenario, key, name);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = sim_client_types[key->type];
    spec.payload = payload.data;
    spec.payload_size = payload.len;
    spec.authority = authority;
    spec.ttl_ms = CLIENT_TTL_MS;
    udpa_resource *resource;
    if (udpa_resource_new(&resource, &spec, NULL) != UDPA_OK)
        abort();
    return resource;
}

static void
report(const sim_member *member, const sim_client_key *key, udpai_str payload)
{
    udpa_resource *resource = make_resource(member->scenario, key, payload, NULL);
    udpa_error *error = NULL;
    udpa_err err = key->type == CLIENT_STATE
                       ? udpai_node_report_own(member->node->node, resource, &error)
                       : udpai_node_report_load(member->node->node, resource, &error);
    if (err != UDPA_OK) {
        fprintf(stderr, "FAIL: %s\n", udpa_error_message(error));
        exit(EXIT_FAILURE);
    }
    udpa_resource_unref(resource);
}

static void
say_state(const sim_member *member, int space, int thing)
{
    const sim_client_key key = {CLIENT_STATE, space, thing, member->index};
    sim_statement *state = &member->reporter->states[space][thing];
    char payload[64];
    if (!state->exists)
        return;
    snprintf(payload, sizeof(payload), "%s %d", member->authority, state->version);
    state->last_said_us = member->scenario->world.now_us;
    report(member, &key, (udpai_str){payload, strlen(payload) + 1});
}

static const int load_types[2] = {CLIENT_LOAD, CLIENT_SHARED};

static udpai_audience
audience_of(const sim_member *member, int space)
{
    const sim_client_key key = {CLIENT_LOAD, space, 0, member->index};
    udpai_audience audience;
    char name[96];
    sim_client_name(member->scenario, &key, name);
    if (udpai_node_load_audience(member->node->node, udpai_str_from(name), &audience) != UDPA_OK)
        abort();
    return audience;
}

static void
begin_epoch(sim_member *member, sim_load *load)
{
    sim_reporter *self = member->reporter;
    uint64_t now = (uint64_t)sim_wall_us(member->node);
    self->last_epoch = load->epoch = now > self->last_epoch ? now : self->last_epoch + 1;
    load->began_us = member->scenario->world.now_us;
    load->n = load->n_unsaid;
}

/* Each client in a locality of its own, so that sums can be looked through. */
static udpa_bytes *
write_load(const sim_member *member, int space)
{
    const sim_load *load = &member->reporter->loads[space];
    char cluster[64];
    snprintf(cluster, sizeof(cluster), "%s/c0", sim_namespaces[space]);
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
    const udpai_load_stats_locality like = {.region = udpai_str_from(member->node->id)};
    udpai_load_stats_locality *locality;
    if (!stats || udpai_load_stats_set_text(&stats->cluster, udpai_str_from(cluster)) != UDPA_OK ||
        udpai_load_stats_get_locality(stats, &like, &locality, NULL) != UDPA_OK)
        abort();
    locality->figures.counts[UDPAI_LOAD_STATS_ISSUED] = load->n;
    locality->figures.gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 1;
    stats->epoch = load->epoch;
    stats->elapsed_ns = (member->scenario->world.now_us - load->began_us) * 1000;
    stats->is_shared = load->audience.n > 1;
    stats->lasts_ns = (uint64_t)CLIENT_TTL_MS * 1000000;
    udpa_bytes *body = udpai_load_stats_encode(stats);
    if (!body)
        abort();
    udpai_load_stats_free(stats);
    return body;
}

static void
take_back_load(const sim_member *member, int space, int type)
{
    const sim_client_key key = {type, space, 0, member->index};
    char name[96];
    sim_client_name(member->scenario, &key, name);
    udpai_node_withdraw_own_report(member->node->node, udpai_str_from(sim_client_types[type]),
                                   udpai_str_from(name));
}

/* For others than before another epoch begins, with what nobody was told. */
static void
say_load(sim_member *member, int space)
{
    sim_load *load = &member->reporter->loads[space];
    const udpai_audience before = load->audience;
    load->audience = audience_of(member, space);
    if (load->audience.digest != before.digest)
        begin_epoch(member, load);
    udpa_bytes *body = write_load(member, space);
    load->last_said_us = member->scenario->world.now_us;
    load->n_unsaid = 0;
    for (int i = 0; i < 2; i++) {
        const sim_client_key key = {load_types[i], space, 0, member->index};
        bool is_wanted = load->n_wanted[i] && (i == 0 || load->audience.n > 1);
        if (is_wanted)
            report(member, &key, udpai_bytes_view(body));
        else if (load->is_said[i])
            take_back_load(member, space, load_types[i]);
        load->is_said[i] = is_wanted;
    }
    member->scenario->world.counts[SIM_LOADS_SHARED] += load->is_said[1];
    udpa_bytes_unref(body);
}

static bool
is_load_wanted(const sim_load *load)
{
    return load->n_wanted[0] || (load->n_wanted[1] && load->audience.n > 1);
}

static void
count(sim_reporter *self, int space, uint64_t n)
{
    self->loads[space].n += n;
    self->loads[space].n_unsaid += n;
    self->total[space] += n;
}

static void
say_all(sim_member *member)
{
    sim_reporter *self = member->reporter;
    for (int space = 0; space < CLIENT_SPACES; space++) {
        for (int thing = 0; thing < CLIENT_THINGS; thing++)
            say_state(member, space, thing);
        if (!self->last_epoch)
            continue;
        if (member->scenario->is_changing)
            count(self, space, sim_below(sim_client_random(member->scenario), 5));
        if (is_load_wanted(&self->loads[space]))
            say_load(member, space);
    }
}

/* ---- saying what it may not ---- */

static void
add(udpai_publication *publication, udpa_resource *resource)
{
    if (udpai_publication_add(publication, resource, false) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

/* In the name of another, by the thing's name and by the authority's; and without an end. */
static void
forge(const sim_member *member)
{
    sim_scenario *scenario = member->scenario;
    sim_random *random = sim_client_random(scenario);
    udpai_str source = udpai_str_from(member->source_names[0]);
    int other = (int)sim_below(random, (uint64_t)scenario->n_members);
    int space = (int)sim_below(random, CLIENT_SPACES);
    if (other == member->index || !udpai_node_may_publish_to(member->node->node, source))
        return;
    const sim_client_key of_other = {CLIENT_STATE, space, 0, other},
                         own = {CLIENT_STATE, space, 1, member->index};
    udpai_publication *publication = udpai_publication_new();
    if (!publication || udpai_publication_set(&publication->type_url,
                                              udpai_str_from(sim_client_types[CLIENT_STATE])))
        abort();
    add(publication, make_resource(scenario, &of_other, UDPAI_STR("forged 1"), NULL));
    add(publication,
        make_resource(scenario, &own, UDPAI_STR("forged 1"), scenario->members[other]->authority));
    (void)udpai_node_publish(member->node->node, source, publication);
}

static void
forgery_answered(sim_node *node,
                 uint64_t ticket,
                 const udpai_publication *publication,
                 const udpa_error *error)
{
    (void)ticket;
    const sim_member *member = node->userdata;
    for (size_t i = 0; !error && i < publication->entries.n; i++) {
        if (!publication->entries.items[i].error)
            sim_fail(member, "what a client may not say was applied", -1);
        node->world->counts[SIM_REPORTS_FORGED]++;
    }
}

/* ---- what happens ---- */

static void
tick(sim_world *world, void *userdata)
{
    sim_member *member = userdata;
    sim_reporter *self = member->reporter;
    sim_random *random = sim_client_random(member->scenario);
    if (member->scenario->is_over)
        return;
    if (member->node->is_up) {
        self->n_ticks++;
        say_all(member);
        if (!member->is_publisher && member->scenario->is_changing && sim_once_in(random, 8))
            forge(member);
        sim_touch(member->node);
    }
    sim_after(world, TICK_US / 2 + sim_below(random, TICK_US), tick, member);
}

/* It changes, or comes, or goes: at once, or by and by. */
static void
change_state(sim_member *member)
{
    sim_random *random = sim_client_random(member->scenario);
    const sim_client_key key = {CLIENT_STATE, (int)sim_below(random, CLIENT_SPACES),
                                (int)sim_below(random, CLIENT_THINGS), member->index};
    sim_statement *state = &member->reporter->states[key.space][key.thing];
    char name[96];
    state->version++;
    state->exists = !state->exists || !sim_once_in(random, 3);
    if (state->exists || !member->node->is_up || sim_once_in(random, 2))
        return;
    sim_client_name(member->scenario, &key, name);
    udpai_node_withdraw_own_report(
        member->node->node, udpai_str_from(sim_client_types[CLIENT_STATE]), udpai_str_from(name));
    sim_touch(member->node);
}

static sim_member *
any_member(sim_scenario *scenario)
{
    uint64_t n = (uint64_t)scenario->n_members;
    return scenario->members[sim_below(sim_client_random(scenario), n)];
}

static void
happen(sim_world *world, void *userdata)
{
    sim_scenario *scenario = userdata;
    if (!scenario->is_changing)
        return;
    sim_member *member = any_member(scenario);
    if (member->reporter)
        change_state(member);
    member = any_member(scenario);
    if (member->taker)
        sim_taker_change(member);
    sim_takers_check_expired(scenario);
    uint64_t pause_us = CHANGE_US / (uint64_t)scenario->n_members;
    sim_after(world, sim_below(sim_client_random(scenario), pause_us), happen, scenario);
}

void
sim_clients_burst(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        sim_reporter *self = scenario->members[i]->reporter;
        for (int space = 0; self && self->last_epoch && space < CLIENT_SPACES; space++) {
            self->burst[space] = 1 + sim_below(sim_client_random(scenario), 100);
            count(self, space, self->burst[space]);
        }
    }
}

/* ---- lives ---- */

/* A name, or "*prefix". */
static bool
is_about(const sim_member *member, udpai_str text, int space)
{
    const sim_client_key key = {CLIENT_LOAD, space, 0, member->index};
    char name[96];
    sim_client_name(member->scenario, &key, name);
    if (!udpai_str_starts(text, UDPAI_STR("*")))
        return udpai_str_eq(text, udpai_str_from(name));
    return udpai_prefix_covers((udpai_str){text.data + 1, text.len - 1}, udpai_str_from(name));
}

/* As libudpa's recorder does: nobody is told what was counted until some time ago as if it were of
 * now, for then it could have been told to others since. */
static void
want_load(sim_member *member, int type, udpai_str text, bool wanted)
{
    sim_reporter *self = member->reporter;
    for (int space = 0; space < CLIENT_SPACES; space++) {
        sim_load *load = &self->loads[space];
        if (!is_about(member, text, space))
            continue;
        load->n_wanted[type] += wanted ? 1 : -1;
        if (wanted && load->n_wanted[type] == 1 &&
            (type == 0 || audience_of(member, space).n > 1)) {
            say_load(member, space);
        } else if (load->is_said[type] && load->n_wanted[type] == 0) {
            load->is_said[type] = false;
            take_back_load(member, space, load_types[type]);
        }
    }
}

/* What it has said is for others now. */
static void
say_again(sim_world *world, void *userdata)
{
    sim_member *member = userdata;
    sim_reporter *self = member->reporter;
    (void)world;
    if (!self->is_moved || !member->node->is_up)
        return;
    self->is_moved = false;
    for (int space = 0; space < CLIENT_SPACES; space++)
        if (self->last_epoch && is_load_wanted(&self->loads[space]) &&
            audience_of(member, space).digest != self->loads[space].audience.digest)
            say_load(member, space);
    sim_touch(member->node);
}

static void
on_audience_moved(sim_node *node)
{
    sim_member *member = node->userdata;
    sim_reporter *self = member->reporter;
    if (!self->is_moved)
        sim_after(node->world, 1, say_again, member);
    self->is_moved = true;
}

/* What is counted begins when somebody wants to know it. */
static void
on_wanted(sim_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    sim_member *member = node->userdata;
    sim_reporter *self = member->reporter;
    if (!self)
        return;
    self->n_wanted += wanted ? 1 : -1;
    for (int type = 0; type < 2; type++) {
        if (!udpai_str_eq(type_url, udpai_str_from(sim_client_types[load_types[type]])))
            continue;
        for (int space = 0; wanted && !self->last_epoch && space < CLIENT_SPACES; space++)
            self->loads[space].audience = audience_of(member, space);
        for (int space = 0; wanted && space < CLIENT_SPACES; space++)
            if (!self->loads[space].epoch)
                begin_epoch(member, &self->loads[space]);
        want_load(member, type, text, wanted);
    }
}

void
sim_clients_started(sim_member *member)
{
    sim_reporter *self = member->reporter;
    if (self) {
        self->last_epoch = 0;
        self->n_wanted = 0;
        self->is_moved = false;
        for (int space = 0; space < CLIENT_SPACES; space++)
            self->loads[space] = (sim_load){.last_said_us = self->loads[space].last_said_us};
    }
    if (member->sums)
        sim_sums_started(member);
    if (member->taker)
        sim_taker_started(member);
}

void
sim_clients_stopped(sim_member *member)
{
    if (member->sums)
        sim_sums_stopped(member);
}

/* ---- building ---- */

static void
make_reporter(sim_member *member)
{
    sim_random *random = sim_client_random(member->scenario);
    sim_reporter *self = member->reporter = udpai_alloc(sizeof(*self));
    if (!self)
        abort();
    for (int space = 0; space < CLIENT_SPACES; space++)
        for (int thing = 0; thing < CLIENT_THINGS; thing++)
            self->states[space][thing].exists = sim_once_in(random, 2);
    member->node->wanted = on_wanted;
    member->node->audience_moved = on_audience_moved;
    if (!member->is_publisher)
        member->node->published = forgery_answered;
    sim_after(&member->scenario->world, sim_below(random, TICK_US), tick, member);
}

static void
make_sums(sim_member *member)
{
    const sim_scenario *scenario = member->scenario;
    struct sim_sums *sums = member->sums = udpai_alloc(sizeof(*sums));
    size_t n = (size_t)scenario->n_members;
    if (!sums)
        abort();
    for (int space = 0; space < CLIENT_SPACES; space++) {
        sim_counted *counted = &sums->counted[space];
        counted->now = udpai_alloc(n * sizeof(uint64_t));
        counted->before = udpai_alloc(n * sizeof(uint64_t));
        counted->marked = udpai_alloc(n * sizeof(uint64_t));
        counted->is_in = udpai_alloc(n * sizeof(bool));
        if (!counted->now || !counted->before || !counted->marked || !counted->is_in)
            abort();
    }
}

/* Before any rules were made. */
static void
choose_passes(sim_member *member)
{
    sim_random *random = sim_client_random(member->scenario);
    bool has_rules = member->scenario->has_rules;
    for (int colour = 0; colour < N_COLOURS; colour++)
        member->passes[colour] = has_rules && sim_once_in(random, 4)
                                     ? (ref_spaces)sim_below(random, ALL_SPACES + 1)
                                     : ALL_SPACES;
    sim_rules_apply(member);
}

void
sim_clients_build(sim_scenario *scenario)
{
    sim_random *random = sim_client_random(scenario);
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        if (!member->is_endpoint) {
            choose_passes(member);
            make_sums(member);
        } else if (!member->public_only && !sim_once_in(random, 4)) {
            make_reporter(member);
        }
        if (sim_once_in(random, 2))
            sim_taker_choose(member);
    }
    sim_after(&scenario->world, sim_below(random, CHANGE_US), happen, scenario);
}

void
sim_clients_free(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        sim_member *member = scenario->members[i];
        sim_taker_free(member);
        sim_sums_free(member);
        udpai_free(member->reporter);
    }
}
