/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in a federation, and how each is configured. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "clients.h"
#include "guest.h"

/* Clients of xDS, where there are any. */
#define GUESTS 4

/* ---- files ---- */

#define FILES "/files"

void
sim_set_files(sim_member *member)
{
    udpa_resource *resources[N_KEYS];
    size_t n = 0;
    for (int key = 0; key < N_KEYS; key++) {
        const sim_truth *truth = &member->truths[key];
        if (truth->exists)
            resources[n++] = sim_make_resource(key, member->authority, true, truth->version);
    }
    const udpai_directory directory = {
        .root = UDPAI_STR(FILES),
        .resources = resources,
        .n_resources = n,
    };
    if (udpai_node_set_files(member->node->node, &directory, NULL) != UDPA_OK)
        abort();
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

/* ---- starting ---- */

static void
plan_source(sim_member *self, size_t i)
{
    const sim_scenario *scenario = self->scenario;
    udpai_source_config *source = &self->sources[i];
    *source = (udpai_source_config){
        .name = udpai_str_from(self->source_names[i]),
        .stays_connected =
            (self->is_publisher && i == 0) || (self->reporter && (i == 0 || !self->fails_over)),
    };
    sim_target(scenario->members[self->upstreams[i]]->node, source);
    self->descriptors[i] = (udpai_descriptor_config){
        .source = source->name,
        .prefix = udpai_str_from(self->limits[i] >= 0 ? sim_namespaces[self->limits[i]] : ""),
        .continuation = self->fails_over ? UDPAI_STOP_ON_SUCCESS : UDPAI_CONTINUE,
        .on_demand = self->on_demand,
    };
}

static void
plan_member(sim_node *node, sim_node_plan *plan)
{
    sim_member *self = node->userdata;
    plan->is_management = !self->is_endpoint;
    if (!self->is_endpoint)
        plan->files = UDPAI_STR(FILES);
    plan->knows_public_protocol_only = self->public_only;
    plan->has_reports = self->reporter || self->sums;
    plan->n_workers = self->n_workers;
    for (size_t i = 0; i < self->provider.n_descriptors; i++)
        plan_source(self, i);
    for (int type = 0; type < N_TYPES; type++)
        self->type_urls[type] = udpai_str_from(sim_types[type]);
    self->provider.types = self->type_urls;
    self->provider.n_types = self->is_endpoint ? 0 : N_TYPES;
    self->provider.descriptors = self->descriptors;
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(self->authority),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = self->sources,
        .n_sources = self->is_guest ? 0 : self->provider.n_descriptors,
        .providers = &self->provider,
        .n_providers = self->provider.n_descriptors && !self->is_guest ? 1 : 0,
        .is_durable = !self->is_endpoint,
        .is_endpoint = self->is_endpoint && self->scenario->has_reports,
        .acl = self->acl,
        .max_changes_ahead = 3,
    };
}

static void
member_started(sim_node *node)
{
    sim_member *self = node->userdata;
    memset(self->copies, 0, sizeof(self->copies));
    memset(self->subscriptions, 0, sizeof(self->subscriptions));
    memset(self->link_is_whole, 0, sizeof(self->link_is_whole));
    self->has_failed_over = self->first_counted = false;
    for (int type = 0; type < N_TYPES && self->is_endpoint && !self->is_guest; type++)
        sim_endpoint_subscribe(self, type);
    if (self->is_guest)
        sim_guest_started(self);
    if (self->is_publisher)
        sim_publisher_started(self);
    if (!self->is_endpoint)
        sim_set_files(self);
    sim_clients_started(self);
}

/* What a publisher's node took in can be lost with it, until the publisher comes again. */
static void
management_stopped(sim_node *node)
{
    sim_member *self = node->userdata;
    sim_scenario *scenario = self->scenario;
    sim_clients_stopped(self);
    self->has_lost_memory |= node->disk_busy_until_us > scenario->world.now_us;
    scenario->has_lost_commits |= node->disk_busy_until_us > scenario->world.now_us;
    for (int key = N_FILE_KEYS; key < N_OPEN_KEYS; key++) {
        sim_member *owner = scenario->members[sim_key_publisher(scenario, key)];
        if (scenario->members[owner->upstreams[0]] == self)
            sim_truth_removed(owner, key);
    }
}

static void
member_flushed(sim_node *node)
{
    sim_member *self = node->userdata;
    sim_look_at_fail_over(self);
    if (self->is_endpoint)
        sim_link_check(self);
}

/* ---- building ---- */

static sim_member *
add_member(sim_scenario *scenario, char kind, int number)
{
    char id[16];
    sim_member *self = udpai_alloc(sizeof(*self));
    if (!self)
        abort();
    self->scenario = scenario;
    self->index = scenario->n_members;
    self->is_endpoint = kind != 'm';
    self->is_guest = kind == 'g';
    self->colour = (int)sim_below(sim_random_of(scenario), N_COLOURS);
    if (scenario->has_tls)
        snprintf(id, sizeof(id), "%c%d", kind, number);
    else
        snprintf(id, sizeof(id), "%s-%c%d", sim_colours[self->colour], kind, number);
    self->node = sim_add_node(&scenario->world, id);
    self->node->plan = plan_member;
    self->node->started = member_started;
    self->node->dies = sim_die;
    self->node->flushed = member_flushed;
    self->node->userdata = self;
    self->node->clock_us = (int64_t)sim_below(sim_random_of(scenario), 4000000) - 2000000;
    /* A publisher says no authority: it is given its name. */
    if (self->is_endpoint)
        snprintf(self->authority, sizeof(self->authority), "%s-%c%d", sim_colours[self->colour],
                 kind, number);
    else
        snprintf(self->authority, sizeof(self->authority), "auth-%d", number);
    scenario->members[scenario->n_members++] = self;
    sim_identity_choose(self);
    return self;
}

/* The second source stands in for the first. */
static void
may_fail_over(sim_member *self)
{
    sim_scenario *scenario = self->scenario;
    if (self->provider.n_descriptors != 2 || self->limits[0] >= 0 || self->limits[1] >= 0 ||
        scenario->n_fail_overs == scenario->fail_overs_max)
        return;
    self->fails_over = true;
    scenario->n_fail_overs++;
}

static void
build_management(sim_scenario *scenario, int number)
{
    sim_member *self = add_member(scenario, 'm', number);
    self->node->stopped = management_stopped;
    sim_shape_connect(self);
    sim_rules_choose(self);
    sim_rules_apply(self);
    if (sim_once_in(sim_random_of(scenario), 2))
        may_fail_over(self);
}

static void
make_publisher(sim_member *self)
{
    sim_scenario *scenario = self->scenario;
    self->is_publisher = true;
    self->public_only = false; /* what it publishes has aliases, or is lazy */
    scenario->publishers[scenario->n_publishers++] = self->index;
    self->node->published = sim_publisher_answered;
}

static void
build_endpoint(sim_scenario *scenario, int number)
{
    sim_random *random = sim_random_of(scenario);
    uint64_t n = (uint64_t)scenario->n_management;
    sim_member *self = add_member(scenario, 'e', number);
    int first = (int)sim_below(random, n), second = (int)sim_below(random, n);
    self->on_demand = true;
    self->by_name = sim_once_in(random, 2);
    self->is_narrow = sim_once_in(random, 4);
    self->public_only = sim_once_in(random, 4) && !scenario->has_rules; /* is told of no refusal */
    if (number == 0 || (sim_once_in(random, 3) && scenario->n_publishers < PUBLISHERS_MAX))
        make_publisher(self);
    sim_add_source(self, first, -1);
    if (second != first && sim_once_in(random, 3)) {
        sim_add_source(self, second, -1);
        may_fail_over(self);
    }
    sim_endpoint_choose(self);
}

static void
build_guest(sim_scenario *scenario, int number)
{
    sim_random *random = sim_random_of(scenario);
    sim_member *self = add_member(scenario, 'g', number);
    self->on_demand = self->public_only = true;
    self->by_name = sim_once_in(random, 2);
    sim_add_source(self, (int)sim_below(random, (uint64_t)scenario->n_management), -1);
    sim_endpoint_choose(self);
}

static bool
takes_from(const sim_member *self, int other)
{
    for (size_t i = 0; i < self->provider.n_descriptors; i++)
        if (self->upstreams[i] == other)
            return true;
    return false;
}

/* Two that say one id, and are not each other's neighbours. What is reported of nodes goes by their
 * ids, and names of those without certificates do. */
static void
choose_twins(sim_scenario *scenario)
{
    sim_random random = {scenario->world.random.state ^ 0x7477696e73};
    if (scenario->has_reports || !scenario->has_tls || scenario->is_large ||
        !sim_once_in(&random, 2))
        return;
    for (int tries = 0; tries < 16; tries++) {
        sim_member *one = scenario->members[sim_below(&random, (uint64_t)scenario->n_management)];
        sim_member *two = scenario->members[sim_below(&random, (uint64_t)scenario->n_management)];
        if (one == two || takes_from(one, two->index) || takes_from(two, one->index))
            continue;
        two->node->said_id = one->node->id;
        scenario->world.counts[SIM_TWINS]++;
        return;
    }
}

/* Where there are clients of xDS, every other management node has workers. */
static void
choose_workers(sim_scenario *scenario)
{
    sim_random random = {scenario->world.random.state ^ 0x776f726b};
    for (int i = 0; scenario->has_guests && i < scenario->n_management; i++)
        if (sim_once_in(&random, 2))
            scenario->members[i]->n_workers = 1 + sim_below(&random, SIM_WORKERS_MAX);
}

void
sim_build(sim_scenario *scenario)
{
    int n_guests = scenario->has_guests ? GUESTS : 0;
    size_t n = (size_t)(scenario->n_management + scenario->n_endpoints + n_guests);
    scenario->members = udpai_alloc_array(n, sizeof(sim_member *));
    if (!scenario->members)
        abort();
    for (int i = 0; i < scenario->n_management; i++)
        build_management(scenario, i);
    for (int i = 0; i < scenario->n_endpoints; i++)
        build_endpoint(scenario, i);
    for (int i = 0; i < n_guests; i++)
        build_guest(scenario, i);
    scenario->n_endpoints += n_guests;
    sim_guests_build(scenario);
    choose_twins(scenario);
    choose_workers(scenario);
    sim_describe_to_model(scenario);
    for (int i = 0; i < scenario->n_publishers; i++)
        sim_publisher_begin(scenario->members[scenario->publishers[i]]);
    for (int key = N_FILE_KEYS; key < N_OPEN_KEYS; key++)
        if (sim_key_expires(key))
            sim_truth_removed(scenario->members[sim_key_publisher(scenario, key)], key);
    if (scenario->has_reports)
        sim_clients_build(scenario);
}

void
sim_free_members(sim_scenario *scenario)
{
    sim_clients_free(scenario);
    sim_guests_free(scenario);
    for (int i = 0; i < scenario->n_members; i++) {
        udpai_acl_unref(scenario->members[i]->acl);
        udpai_free(scenario->members[i]);
    }
    udpai_free(scenario->members);
    udpai_free(scenario->model.nodes);
}

static void
print_rules(const sim_member *self)
{
    for (int colour = 0; colour < N_COLOURS; colour++)
        fprintf(stderr, "; %s sees %x, says %x", sim_colours[colour], self->shows[colour],
                self->takes[colour]);
}

void
sim_print_topology(const sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *self = scenario->members[i];
        fprintf(stderr, "%s as %s (%s)%s%s%s%s%s <-", self->node->id, self->node->said_id,
                sim_colours[self->colour], self->by_name ? " by name" : "",
                self->is_narrow ? " narrow" : "", self->public_only ? " public" : "",
                self->is_publisher ? " publisher" : "",
                self->on_demand && !self->is_endpoint ? " on demand" : "");
        for (size_t k = 0; k < self->provider.n_descriptors; k++)
            fprintf(stderr, "%s %s (%s; not %x)", self->fails_over && k ? " else" : "",
                    self->source_names[k],
                    self->limits[k] < 0 ? "all" : sim_namespaces[self->limits[k]],
                    self->refuses[k]);
        if (!self->is_endpoint)
            print_rules(self);
        fprintf(stderr, "\n");
    }
}
