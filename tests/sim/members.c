/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in a federation, and how each is configured. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "scenario.h"

static const udpai_node_timing timing = {
    .connect_grace_ms = 2000,
    .sync_timeout_ms = 15000,
    .fail_over_spread_ms = 500,
    .recover_timeout_ms = 10000,
    .hand_back_delay_ms = 5000,
    .backoff_base_ms = 250,
    .backoff_max_ms = 4000,
    .interest_linger_ms = 1000,
    .silence_ms = 1000,
    .silence_max_ms = 5000,
    .answer_timeout_ms = 30000,
};

/* ---- files ---- */

#define FILES "/files"

void
sim_set_files(sim_member *member)
{
    udpa_resource *resources[N_KEYS];
    size_t n = 0;
    for (int key = 0; key < N_KEYS; key++) {
        const sim_truth *truth = &member->scenario->truths[member->node->index][key];
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
        .stays_connected = self->is_publisher && i == 0,
    };
    sim_target(scenario->members[self->upstreams[i]]->node, source);
    self->descriptors[i] = (udpai_descriptor_config){
        .source = source->name,
        .prefix = udpai_str_from(self->is_limited[i] ? sim_namespaces[LIMITED_NAMESPACE] : ""),
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
        .timing = timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = self->sources,
        .n_sources = self->provider.n_descriptors,
        .providers = &self->provider,
        .n_providers = self->provider.n_descriptors ? 1 : 0,
        .is_durable = !self->is_endpoint,
        .acl = self->is_endpoint ? NULL : self->scenario->acl,
        .max_changes_ahead = 3,
    };
}

static void
member_started(sim_node *node)
{
    sim_member *self = node->userdata;
    memset(self->copies, 0, sizeof(self->copies));
    memset(self->subscriptions, 0, sizeof(self->subscriptions));
    self->has_failed_over = false;
    for (int type = 0; type < N_TYPES && self->is_endpoint; type++)
        sim_endpoint_subscribe(self, type);
    if (self->is_publisher)
        sim_publisher_started(self);
    if (!self->is_endpoint)
        sim_set_files(self);
}

/* What a publisher's node took in can be lost with it, until the publisher comes again. */
static void
management_stopped(sim_node *node)
{
    const sim_member *self = node->userdata;
    sim_scenario *scenario = self->scenario;
    scenario->has_lost_commits |= node->disk_busy_until_us > scenario->world.now_us;
    for (int key = N_FILE_KEYS; key < N_KEYS; key++) {
        int publisher = sim_key_publisher(scenario, key);
        const sim_member *owner = scenario->members[publisher];
        if (scenario->members[owner->upstreams[0]] == self)
            scenario->truths[publisher][key].ever_removed = true;
    }
}

/* Nothing may be published in the last namespace. */
static udpai_acl *
make_acl(void)
{
    static const udpai_str everybody[] = {{"*", 1}}, open[] = {{"com.acme", 8}, {"org.blah", 8}};
    const udpai_acl_rule rules[] = {
        {.name = UDPAI_STR("publishers"),
         .identities = everybody,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH,
         .prefixes = open,
         .n_prefixes = UDPAI_ARRAY_LEN(open),
         .on_behalf_of = everybody,
         .n_on_behalf_of = 1},
        {.name = UDPAI_STR("readers"),
         .identities = everybody,
         .n_identities = 1,
         .actions = UDPAI_ACL_SUBSCRIBE},
    };
    const udpai_acl_options options = {.rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules)};
    udpai_acl *acl = NULL;
    if (udpai_acl_new(&acl, &options) != UDPA_OK)
        abort();
    return acl;
}

/* ---- building ---- */

static sim_member *
add_member(sim_scenario *scenario, char kind, int number)
{
    char id[16];
    sim_member *self = udpai_alloc(sizeof(*self));
    if (!self)
        abort();
    snprintf(id, sizeof(id), "%c%d", kind, number);
    self->scenario = scenario;
    self->is_endpoint = kind == 'e';
    self->node = sim_add_node(&scenario->world, id);
    self->node->plan = plan_member;
    self->node->started = member_started;
    self->node->dies = sim_die;
    self->node->userdata = self;
    /* A publisher says no authority: it is given its name. */
    snprintf(self->authority, sizeof(self->authority), "%s%s", self->is_endpoint ? "" : "auth-",
             id);
    scenario->members[self->node->index] = self;
    scenario->n_members++;
    return self;
}

static void
add_source(sim_member *self, int upstream, bool is_limited)
{
    size_t i = self->provider.n_descriptors++;
    snprintf(self->source_names[i], sizeof(self->source_names[i]), "s%d", upstream);
    self->upstreams[i] = upstream;
    self->is_limited[i] = is_limited;
    ref_node *node = &self->scenario->model.nodes[self->node->index];
    node->sources[node->n_sources++] = (ref_source){upstream, is_limited ? LIMITED_NAMESPACE : -1};
}

/* The second source stands in for the first. */
static void
may_fail_over(sim_member *self)
{
    sim_scenario *scenario = self->scenario;
    if (self->provider.n_descriptors != 2 || self->is_limited[0] || self->is_limited[1] ||
        scenario->n_fail_overs == scenario->fail_overs_max)
        return;
    self->fails_over = true;
    scenario->n_fail_overs++;
}

/* Asks on demand only of those before it: two that asked each other would want for ever what one of
 * them once wanted. */
static void
build_management(sim_scenario *scenario, int index)
{
    sim_random *random = &scenario->world.random;
    sim_member *self = add_member(scenario, 'm', index);
    if (!scenario->acl)
        scenario->acl = make_acl();
    self->node->stopped = management_stopped;
    self->on_demand = index > 0 && sim_once_in(random, 4);
    scenario->has_on_demand |= self->on_demand;
    int limit = self->on_demand ? index : scenario->n_management;
    for (int k = 0; k < limit; k++)
        if (k != index && (k == index - 1 || sim_once_in(random, 3)))
            add_source(self, k, k != index - 1 && sim_once_in(random, 4));
    if (sim_once_in(random, 2))
        may_fail_over(self);
}

static void
build_endpoint(sim_scenario *scenario, int number)
{
    sim_random *random = &scenario->world.random;
    uint64_t n = (uint64_t)scenario->n_management;
    sim_member *self = add_member(scenario, 'e', number);
    int first = (int)sim_below(random, n), second = (int)sim_below(random, n);
    self->on_demand = true;
    self->by_name = sim_once_in(random, 2);
    self->is_narrow = sim_once_in(random, 4);
    self->public_only = sim_once_in(random, 4);
    self->is_publisher = number == 0 || sim_once_in(random, 3);
    if (self->is_publisher) /* what it publishes has aliases, or is lazy */
        self->public_only = false;
    add_source(self, first, false);
    if (second != first && sim_once_in(random, 3)) {
        add_source(self, second, false);
        may_fail_over(self);
    }
    sim_endpoint_choose(self);
    if (self->is_publisher) {
        scenario->publishers[scenario->n_publishers++] = (int)self->node->index;
        self->node->published = sim_publisher_answered;
    }
}

static void
describe_to_model(const sim_scenario *scenario, ref_model *model)
{
    model->n_nodes = scenario->n_members;
    model->n_keys = N_KEYS;
    for (int key = 0; key < N_KEYS; key++) {
        model->key_namespace[key] = sim_key_namespace(key);
        model->is_lazy[key] = sim_key_is_lazy(key);
        model->is_refused[key] = sim_key_is_refused(key);
    }
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *member = scenario->members[i];
        model->nodes[i].on_demand = member->on_demand;
        model->nodes[i].is_strict = !member->is_endpoint;
        model->nodes[i].fails_over = member->fails_over;
    }
}

void
sim_build(sim_scenario *scenario)
{
    sim_random *random = &scenario->world.random;
    scenario->n_management = 2 + (int)sim_below(random, MANAGEMENT_MAX - 1);
    scenario->n_endpoints = 1 + (int)sim_below(random, ENDPOINTS_MAX);
    scenario->fail_overs_max = sim_once_in(random, 2) ? FAIL_OVERS_MAX : 0;
    for (int i = 0; i < scenario->n_management; i++)
        build_management(scenario, i);
    for (int i = 0; i < scenario->n_endpoints; i++)
        build_endpoint(scenario, i);
    describe_to_model(scenario, &scenario->model);
    for (int i = 0; i < scenario->n_publishers; i++)
        sim_publisher_begin(scenario->members[scenario->publishers[i]]);
    for (int key = N_FILE_KEYS; key < N_KEYS; key++)
        if (sim_key_expires(key))
            scenario->truths[sim_key_publisher(scenario, key)][key].ever_removed = true;
}

void
sim_free_members(sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++)
        udpai_free(scenario->members[i]);
    udpai_acl_unref(scenario->acl);
}

void
sim_print_topology(const sim_scenario *scenario)
{
    for (int i = 0; i < scenario->n_members; i++) {
        const sim_member *self = scenario->members[i];
        fprintf(stderr, "%s%s%s%s%s%s <-", self->node->id, self->by_name ? " by name" : "",
                self->is_narrow ? " narrow" : "", self->public_only ? " public" : "",
                self->is_publisher ? " publisher" : "",
                self->on_demand && !self->is_endpoint ? " on demand" : "");
        for (size_t k = 0; k < self->provider.n_descriptors; k++)
            fprintf(stderr, "%s %s%s", self->fails_over && k ? " else" : "", self->source_names[k],
                    self->is_limited[k] ? " (limited)" : "");
        fprintf(stderr, "\n");
    }
}
