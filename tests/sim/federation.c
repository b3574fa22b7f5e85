/* SPDX-License-Identifier: Apache-2.0 */
/* Random federations under random faults: SEED [N_RUNS] [trace]. Prints how often everything
 * happened, and fails if anything did not. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "reference.h"
#include "world.h"

enum {
    N_NAMESPACES = 3,
    N_KEYS = 24,
    N_TYPES = 2,
    MANAGEMENT_MAX = 6,
    ENDPOINTS_MAX = 8,
};

static const char *const namespaces[N_NAMESPACES] = {"com.acme", "com.acme.foo", "org.blah"};
static const char *const types[N_TYPES] = {
    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "type.googleapis.com/test.Thing",
};

/* ---- what is true ---- */

typedef struct sim_truth {
    bool exists;
    int version;
    bool ever_removed;
} sim_truth;

typedef struct sim_member sim_member;

typedef struct sim_scenario {
    sim_world world;
    ref_model model;
    int n_management, n_endpoints;
    sim_member *members[MANAGEMENT_MAX + ENDPOINTS_MAX];
    sim_truth truths[MANAGEMENT_MAX][N_KEYS];
    bool changing; /* things still happen */
    uint64_t n_updates, n_removals;
} sim_scenario;

/* ---- members ---- */

typedef struct sim_copy {
    bool exists;
    int version;
    char authority[32];
    uint64_t generation;
} sim_copy;

struct sim_member {
    sim_scenario *scenario;
    sim_node *node;
    bool is_endpoint, by_name, public_only;
    int upstream; /* of an endpoint */
    udpai_local_subscription *subscriptions[N_TYPES];
    sim_copy copies[N_KEYS];
    udpai_source_config sources[MANAGEMENT_MAX];
    udpai_descriptor_config descriptors[MANAGEMENT_MAX];
    udpai_provider_config provider;
    udpai_str type_urls[N_TYPES];
    char source_names[MANAGEMENT_MAX][8];
    char authority[16];
};

static int
key_type(int key)
{
    return key % N_TYPES;
}

static int
key_namespace(int key)
{
    return key / 2 % N_NAMESPACES;
}

static void
key_name(int key, char name[64])
{
    snprintf(name, 64, "%s/r%d", namespaces[key_namespace(key)], key);
}

static int
key_of(const udpa_resource *resource)
{
    const char *id = strrchr(udpa_resource_name(resource), 'r');
    return (int)strtol(id + 1, NULL, 10);
}

/* Half of the names stay for the whole run, once they are there. */
static bool
is_stable(int key)
{
    return key % 4 < 2;
}

static udpa_resource *
make_resource(int key, const char *authority, int version)
{
    char name[64], payload[64];
    key_name(key, name);
    snprintf(payload, sizeof(payload), "%s %d", authority, version);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = types[key_type(key)];
    spec.payload = payload;
    spec.payload_size = strlen(payload) + 1;
    udpa_resource *resource;
    udpa_error *error;
    if (udpa_resource_new(&resource, &spec, &error) != UDPA_OK) {
        fprintf(stderr, "%s\n", udpa_error_message(error));
        abort();
    }
    return resource;
}

static void
fail(const sim_member *member, const char *what, int key)
{
    char name[64];
    key_name(key, name);
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %s\n",
            (unsigned long long)sim_ms(&member->scenario->world), what, member->node->id, name);
    abort();
}

/* ---- what an endpoint sees ---- */

static void
see_removal(sim_member *member, int key)
{
    bool ever = false;
    for (int i = 0; i < member->scenario->n_management; i++)
        ever |= member->scenario->truths[i][key].ever_removed;
    if (!ever)
        fail(member, "a resource that nobody removed was removed", key);
    member->copies[key].exists = false;
    member->scenario->n_removals++;
}

static void
see_resource(sim_member *member, const udpa_resource *resource)
{
    int key = key_of(resource);
    sim_copy *copy = &member->copies[key];
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    const char *space = memchr(payload, ' ', size);
    const char *authority = udpa_resource_authority(resource);
    uint64_t generation = udpa_resource_generation(resource);
    if (copy->exists && strcmp(copy->authority, authority) == 0 && generation < copy->generation)
        fail(member, "a generation went back", key);
    copy->exists = true;
    copy->version = (int)strtol(space + 1, NULL, 10);
    copy->generation = generation;
    snprintf(copy->authority, sizeof(copy->authority), "%s", authority);
    member->scenario->n_updates++;
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    sim_member *member = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        if (change->is_removed)
            see_removal(member, key_of(change->resource));
        else
            see_resource(member, change->resource);
    }
}

static void
subscribe_all(sim_member *member)
{
    const udpai_local_ops ops = {.update = on_update, .userdata = member};
    for (int type = 0; type < N_TYPES; type++) {
        char names[N_KEYS][64];
        udpai_str wanted[N_KEYS];
        size_t n = 0;
        for (int key = 0; member->by_name && key < N_KEYS; key++) {
            if (key_type(key) != type)
                continue;
            key_name(key, names[n]);
            wanted[n] = udpai_str_from(names[n]);
            n++;
        }
        const udpai_selection selection = {udpai_str_from(types[type]), {"", 0}, wanted, n};
        if (udpai_node_subscribe(member->node->node, &selection, &ops,
                                 &member->subscriptions[type]) != UDPA_OK)
            abort();
    }
}

/* ---- files ---- */

static void
set_files(sim_member *member)
{
    int index = (int)member->node->index;
    udpa_resource *resources[N_KEYS];
    size_t n = 0;
    for (int key = 0; key < N_KEYS; key++) {
        const sim_truth *truth = &member->scenario->truths[index][key];
        if (truth->exists)
            resources[n++] = make_resource(key, member->authority, truth->version);
    }
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"),
        .resources = resources,
        .n_resources = n,
    };
    if (udpai_node_set_files(member->node->node, &directory, NULL) != UDPA_OK)
        abort();
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

/* ---- starting ---- */

static const udpai_node_timing timing = {
    .connect_grace_ms = 2000,
    .sync_timeout_ms = 15000,
    .hand_back_delay_ms = 5000,
    .backoff_base_ms = 250,
    .backoff_max_ms = 4000,
    .interest_linger_ms = 1000,
    .silence_ms = 1000,
    .silence_max_ms = 5000,
    .answer_timeout_ms = 30000,
};

static void
plan_member(sim_node *node, sim_node_plan *plan)
{
    sim_member *self = node->userdata;
    plan->is_management = !self->is_endpoint;
    plan->knows_public_protocol_only = self->public_only;
    for (size_t i = 0; i < self->provider.n_descriptors; i++) {
        int upstream = (int)strtol(self->source_names[i] + 1, NULL, 10);
        self->sources[i] = (udpai_source_config){.name = udpai_str_from(self->source_names[i])};
        sim_target(self->scenario->members[upstream]->node, &self->sources[i]);
        self->descriptors[i].source = self->sources[i].name;
        self->descriptors[i].continuation = UDPAI_CONTINUE;
        self->descriptors[i].on_demand = self->is_endpoint;
    }
    for (int type = 0; type < N_TYPES; type++)
        self->type_urls[type] = udpai_str_from(types[type]);
    self->provider.types = self->type_urls;
    self->provider.n_types = self->is_endpoint ? 0 : N_TYPES;
    self->provider.descriptors = self->descriptors;
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(self->authority),
        .timing = timing,
        .store = {600000, 1000, 1000000, 1 << 30},
        .sources = self->sources,
        .n_sources = self->provider.n_descriptors,
        .providers = &self->provider,
        .n_providers = self->provider.n_descriptors ? 1 : 0,
        .is_durable = !self->is_endpoint,
        .max_changes_ahead = 3,
    };
}

static void
member_started(sim_node *node)
{
    sim_member *self = node->userdata;
    memset(self->copies, 0, sizeof(self->copies));
    if (self->is_endpoint)
        subscribe_all(self);
    else
        set_files(self);
}

static sim_member *
add_member(sim_scenario *scenario, const char *id, bool is_endpoint)
{
    sim_member *self = udpai_alloc(sizeof(*self));
    if (!self)
        abort();
    self->scenario = scenario;
    self->is_endpoint = is_endpoint;
    self->node = sim_add_node(&scenario->world, id);
    self->node->plan = plan_member;
    self->node->started = member_started;
    self->node->userdata = self;
    snprintf(self->authority, sizeof(self->authority), "auth-%s", id);
    scenario->members[self->node->index] = self;
    return self;
}

static void
add_source(sim_member *self, int upstream)
{
    size_t i = self->provider.n_descriptors++;
    snprintf(self->source_names[i], sizeof(self->source_names[i]), "s%d", upstream);
    int index = (int)self->node->index;
    ref_model *model = &self->scenario->model;
    if (!self->is_endpoint)
        model->sources[index][model->n_sources[index]++] = (ref_source){upstream, -1};
}

/* ---- what happens ---- */

static void
change_truth(sim_scenario *scenario)
{
    sim_random *random = &scenario->world.random;
    int index = (int)sim_below(random, (uint64_t)scenario->n_management);
    int key = (int)sim_below(random, N_KEYS);
    /* Most names have one authority; some have two, so that precedence has something to do. */
    if (key % scenario->n_management != index && !(key % 7 == 0 && index == 0))
        return;
    sim_truth *truth = &scenario->truths[index][key];
    if (truth->exists && !is_stable(key) && sim_once_in(random, 3)) {
        truth->exists = false;
        truth->ever_removed = true;
    } else {
        truth->exists = true;
        truth->version++;
    }
    sim_member *self = scenario->members[index];
    if (self->node->is_up) {
        set_files(self);
        sim_touch(self->node);
    }
}

static void
restart(sim_world *world, void *userdata)
{
    sim_node *node = userdata;
    if (!node->is_up) {
        sim_start_node(node);
        world->counts[SIM_RESTARTS]++;
    }
}

static void
heal(sim_world *world, void *userdata)
{
    uintptr_t pair = (uintptr_t)userdata;
    sim_set_partition(world, world->nodes.items[pair / SIM_NODES_MAX],
                      world->nodes.items[pair % SIM_NODES_MAX], false);
}

static void
crash_something(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    sim_node *node = world->nodes.items[sim_below(&world->random, world->nodes.n)];
    if (!node->is_up)
        return;
    bool keep = !sim_once_in(&world->random, 3);
    world->counts[keep ? SIM_CRASHES : SIM_CRASHES_WITHOUT_STATE]++;
    sim_crash_node(node, keep);
    sim_after(world, sim_below(&world->random, 20000000), restart, node);
}

static void
partition_something(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    size_t a = sim_below(&world->random, world->nodes.n);
    size_t b = sim_below(&world->random, world->nodes.n);
    if (a == b)
        return;
    sim_set_partition(world, world->nodes.items[a], world->nodes.items[b], true);
    sim_after(world, sim_below(&world->random, 20000000), heal,
              (void *)(uintptr_t)(a * SIM_NODES_MAX + b));
}

static void
happen(sim_world *world, void *userdata)
{
    sim_scenario *scenario = userdata;
    if (!scenario->changing)
        return;
    switch (sim_below(&world->random, 40)) {
    case 0:
        crash_something(scenario);
        break;
    case 1:
        partition_something(scenario);
        break;
    case 2:
    case 3:
        sim_cut_something(world);
        break;
    case 4:
        world->counts[SIM_SLOW_LINKS]++;
        world->slow_until_us = world->now_us + 2000000;
        break;
    default:
        change_truth(scenario);
        break;
    }
    sim_after(world, sim_below(&world->random, 200000), happen, scenario);
}

/* ---- the comparison ---- */

static void
solve(sim_scenario *scenario)
{
    ref_model *model = &scenario->model;
    model->n_nodes = scenario->n_management;
    model->n_keys = N_KEYS;
    for (int key = 0; key < N_KEYS; key++)
        model->key_namespace[key] = key_namespace(key);
    for (int node = 0; node < model->n_nodes; node++)
        for (int key = 0; key < N_KEYS; key++) {
            const sim_truth *truth = &scenario->truths[node][key];
            model->files[node][key] =
                (ref_word){.exists = truth->exists, .authority = node, .version = truth->version};
        }
    ref_solve(model);
}

static void
compare(const sim_member *member)
{
    const sim_scenario *scenario = member->scenario;
    for (int key = 0; key < N_KEYS; key++) {
        const ref_word *expected = &scenario->model.result[member->upstream][key];
        const sim_copy *copy = &member->copies[key];
        if (expected->exists != copy->exists)
            fail(member, expected->exists ? "missing" : "a ghost", key);
        if (!expected->exists)
            continue;
        if (expected->version != copy->version ||
            strcmp(copy->authority, scenario->members[expected->authority]->authority) != 0) {
            fprintf(stderr, "expected %s %d, has %s %d\n",
                    scenario->members[expected->authority]->authority, expected->version,
                    copy->authority, copy->version);
            fail(member, "another version", key);
        }
    }
}

/* ---- a run ---- */

static void
build(sim_scenario *scenario)
{
    sim_random *random = &scenario->world.random;
    char id[16];
    scenario->n_management = 2 + (int)sim_below(random, MANAGEMENT_MAX - 1);
    scenario->n_endpoints = 1 + (int)sim_below(random, ENDPOINTS_MAX);
    for (int i = 0; i < scenario->n_management; i++) {
        snprintf(id, sizeof(id), "m%d", i);
        sim_member *self = add_member(scenario, id, false);
        for (int k = 0; k < scenario->n_management; k++)
            if (k != i && (k == i - 1 || sim_once_in(random, 3)))
                add_source(self, k);
    }
    for (int i = 0; i < scenario->n_endpoints; i++) {
        snprintf(id, sizeof(id), "e%d", i);
        sim_member *self = add_member(scenario, id, true);
        self->upstream = (int)sim_below(random, (uint64_t)scenario->n_management);
        self->by_name = sim_once_in(random, 2);
        self->public_only = sim_once_in(random, 4);
        add_source(self, self->upstream);
    }
}

static void
print_topology(const sim_scenario *scenario)
{
    for (size_t i = 0; i < scenario->world.nodes.n; i++) {
        const sim_member *self = scenario->members[i];
        fprintf(stderr, "%s%s%s <-", self->node->id, self->by_name ? " by name" : "",
                self->public_only ? " public" : "");
        for (size_t k = 0; k < self->provider.n_descriptors; k++)
            fprintf(stderr, " %s", self->source_names[k]);
        fprintf(stderr, "\n");
    }
}

static void
run(uint64_t seed, bool trace, uint64_t counts[SIM_COUNTS])
{
    sim_scenario *scenario = udpai_alloc(sizeof(*scenario));
    if (!scenario)
        abort();
    sim_world *world = &scenario->world;
    sim_world_init(world, seed);
    world->trace = trace;
    build(scenario);
    if (trace)
        print_topology(scenario);
    for (int i = 0; i < 200; i++)
        change_truth(scenario);
    for (size_t i = 0; i < world->nodes.n; i++)
        sim_after(world, sim_below(&world->random, 3000000), restart, world->nodes.items[i]);
    scenario->changing = true;
    sim_after(world, 1000000, happen, scenario);
    sim_run_until(world, 60000000);
    scenario->changing = false;
    sim_run_until(world, 240000000);
    solve(scenario);
    for (size_t i = 0; i < world->nodes.n; i++)
        if (scenario->members[i]->is_endpoint)
            compare(scenario->members[i]);
    for (int i = 0; i < SIM_COUNTS; i++)
        counts[i] += world->counts[i];
    sim_world_done(world);
    for (size_t i = 0; i < (size_t)(scenario->n_management + scenario->n_endpoints); i++)
        udpai_free(scenario->members[i]);
    udpai_free(scenario);
}

static void
to_stderr(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "%s %s: %s\n", udpa_log_level_name(level), component, message);
}

int
main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    bool trace = argc > 3;
    uint64_t counts[SIM_COUNTS] = {0};
    if (trace)
        udpa_log_set_sink(UDPA_LOG_DEBUG, to_stderr, NULL);
    for (uint64_t i = 0; i < n; i++) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)(seed + i));
        run(seed + i, trace, counts);
    }
    for (int i = 0; i < SIM_COUNTS; i++)
        printf("%-22s %llu\n", sim_count_names[i], (unsigned long long)counts[i]);
    return 0;
}
