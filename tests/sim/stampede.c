/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand endpoints lose their primary in one moment. They come to the one that stands in for it
 * one by one, not all together, and go back in the same way; nobody is without anything meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum {
    N_ENDPOINTS = 1000,
    WINDOW_MS = 100,
    SPREAD_MS = 500,
    /* Twice what an even spread makes of a window. */
    MOST_IN_WINDOW = 2 * N_ENDPOINTS * WINDOW_MS / SPREAD_MS,
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

typedef struct scene scene;

typedef struct endpoint {
    scene *owner;
    sim_node *node;
    udpai_source_config sources[2];
    udpai_local_subscription *subscription;
    bool has_it;
} endpoint;

struct scene {
    sim_world world;
    sim_node *servers[2];
    endpoint endpoints[N_ENDPOINTS];
    size_t n_have;
};

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};
static const udpai_descriptor_config both[] = {
    {{"0", 1}, {"", 0}, UDPAI_STOP_ON_SUCCESS, true},
    {{"1", 1}, {"", 0}, UDPAI_STOP_ON_SUCCESS, true},
};
static const udpai_provider_config of_both = {types, 1, both, 2};

static udpai_node_config
config_of(const sim_node *node)
{
    udpai_node_timing timing = sim_timing;
    timing.fail_over_spread_ms = SPREAD_MS;
    timing.backoff_max_ms = 15000;
    return (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = UDPAI_STR("acme"),
        .timing = timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .max_changes_ahead = 3,
    };
}

static void
plan_server(sim_node *node, sim_node_plan *plan)
{
    plan->is_management = true;
    plan->files = UDPAI_STR("/files");
    plan->config = config_of(node);
}

static void
server_started(sim_node *node)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], UDPAI_STR("x"));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/x"), .any = any};
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        abort();
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"), .resources = &resource, .n_resources = 1};
    if (udpai_node_set_files(node->node, &directory, NULL) != UDPA_OK)
        abort();
}

static void
plan_endpoint(sim_node *node, sim_node_plan *plan)
{
    endpoint *self = node->userdata;
    for (int i = 0; i < 2; i++) {
        self->sources[i] = (udpai_source_config){.name = udpai_str_from(i ? "1" : "0")};
        sim_target(self->owner->servers[i], &self->sources[i]);
    }
    plan->config = config_of(node);
    plan->config.sources = self->sources;
    plan->config.n_sources = 2;
    plan->config.providers = &of_both;
    plan->config.n_providers = 1;
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    endpoint *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        if (udpai_local_update_at(update, i)->is_removed) {
            fprintf(stderr, "FAIL: %s is told of a removal\n", self->node->id);
            exit(EXIT_FAILURE);
        }
        self->owner->n_have += !self->has_it;
        self->has_it = true;
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

static void
endpoint_started(sim_node *node)
{
    endpoint *self = node->userdata;
    const udpai_selection selection = {.type_url = types[0], .prefix = UDPAI_STR("com.acme")};
    const udpai_local_ops ops = {on_update, on_complete, self};
    if (udpai_node_subscribe(node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
}

static void
build(scene *self)
{
    char id[16];
    for (int i = 0; i < 2; i++) {
        self->servers[i] = sim_add_node(&self->world, i ? "stand-in" : "primary");
        self->servers[i]->plan = plan_server;
        self->servers[i]->started = server_started;
        sim_start_node(self->servers[i]);
    }
    for (int i = 0; i < N_ENDPOINTS; i++) {
        endpoint *at = &self->endpoints[i];
        snprintf(id, sizeof(id), "endpoint-%d", i);
        at->owner = self;
        at->node = sim_add_node(&self->world, id);
        at->node->plan = plan_endpoint;
        at->node->started = endpoint_started;
        at->node->userdata = at;
        sim_start_node(at->node);
    }
}

/* How many connections were made at most in a window, and in all. */
static uint64_t
most_connects(scene *self, uint64_t duration_us, uint64_t *ret_all)
{
    uint64_t most = 0, before = self->world.counts[SIM_CONNECTS], all = before;
    for (uint64_t t = 0; t < duration_us; t += WINDOW_MS * 1000) {
        sim_run_until(&self->world, self->world.now_us + WINDOW_MS * 1000);
        uint64_t now = self->world.counts[SIM_CONNECTS];
        if (now - all > most)
            most = now - all;
        all = now;
    }
    *ret_all = all - before;
    return most;
}

static void
expect(const char *when, uint64_t most, uint64_t all)
{
    printf("%s: %llu connections, %llu at most in %d ms\n", when, (unsigned long long)all,
           (unsigned long long)most, WINDOW_MS);
    if (all == N_ENDPOINTS && most <= MOST_IN_WINDOW)
        return;
    fprintf(stderr, "FAIL: expected %d, and at most %d\n", N_ENDPOINTS, MOST_IN_WINDOW);
    exit(EXIT_FAILURE);
}

int
main(void)
{
    scene *self = calloc(1, sizeof(*self));
    uint64_t all;
    if (!self)
        abort();
    sim_world_init(&self->world, 1);
    build(self);
    sim_run_until(&self->world, 10 * SECOND);
    if (self->n_have != N_ENDPOINTS) {
        fprintf(stderr, "FAIL: %zu endpoints have it\n", self->n_have);
        return EXIT_FAILURE;
    }
    sim_crash_node(self->servers[0], true);
    uint64_t most = most_connects(self, 2 * SECOND, &all);
    expect("when the primary is lost", most, all);
    sim_run_until(&self->world, self->world.now_us + 60 * SECOND);
    sim_start_node(self->servers[0]);
    most = most_connects(self, 30 * SECOND, &all);
    expect("when it is back", most, all);
    sim_world_done(&self->world);
    free(self);
    return EXIT_SUCCESS;
}
