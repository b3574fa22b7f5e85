/* SPDX-License-Identifier: Apache-2.0 */
/* What a stand-in said long ago. An endpoint goes from a primary to its stand-in and back, while
 * both remove clusters and change routes alike. What it had from either is still there, and old,
 * when it comes again: nothing that has gone may be seen once more, not for a moment. */
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h"
#include "world.h"

enum {
    N_SEEDS = 30,
    N_ROUNDS = 8,
    N_CLUSTERS = 20,
    N_ROUTES = 60, /* more than one message has room for */
    ROUTE_BYTES = 300,
};

#define SECOND UINT64_C(1000000)
#define SPACE "com.acme"
#define ROUTE "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
#define CLUSTER "type.googleapis.com/envoy.config.cluster.v3.Cluster"

enum {
    PRIMARY,
    STAND_IN,
    ENDPOINT,
    PLACES,
};

static const char *const ids[PLACES] = {"primary", "stand-in", "endpoint"};
static const udpai_str types[] = {UDPAI_STR(ROUTE), UDPAI_STR(CLUSTER)};
static const udpai_descriptor_config both[] = {
    {{"primary", 7}, {"", 0}, UDPAI_STOP_ON_SUCCESS, false},
    {{"stand-in", 8}, {"", 0}, UDPAI_STOP_ON_SUCCESS, false},
};
static const udpai_provider_config of_both = {types, 2, both, 2};

typedef struct scene {
    sim_world world;
    sim_node *nodes[PLACES];
    udpai_source_config sources[2];
    bool exists[N_CLUSTERS], has[N_CLUSTERS];
    int version; /* of all routes */
} scene;

static size_t n_gone, n_seen_at_stand_in;

static _Noreturn void
fail(const scene *self, const char *what, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %d\n", (unsigned long long)sim_ms(&self->world),
            what, ids[ENDPOINT], key);
    exit(EXIT_FAILURE);
}

/* ---- what both say ---- */

static udpa_resource *
make(int type, int key, udpai_str value)
{
    char name[32];
    udpa_resource *resource = NULL;
    snprintf(name, sizeof(name), SPACE "/%d", key);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[type], value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        abort();
    return resource;
}

static void
set_files(scene *self, sim_node *node)
{
    udpa_resource *resources[N_CLUSTERS + N_ROUTES];
    char route[ROUTE_BYTES];
    size_t n = 0;
    memset(route, 'a' + self->version % 26, sizeof(route));
    for (int key = 0; key < N_ROUTES; key++)
        resources[n++] = make(0, key, (udpai_str){route, sizeof(route)});
    for (int key = 0; key < N_CLUSTERS; key++)
        if (self->exists[key])
            resources[n++] = make(1, key, UDPAI_STR("x"));
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .resources = resources,
                                       .n_resources = n,
                                       .max_withdrawal = 100};
    if (udpai_node_set_files(node->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(node);
    while (n-- > 0)
        udpa_resource_unref(resources[n]);
}

/* ---- members ---- */

static void
plan(sim_node *node, sim_node_plan *ret_plan)
{
    scene *self = node->userdata;
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .max_changes_ahead = 3,
        .is_durable = true,
    };
    ret_plan->is_management = node != self->nodes[ENDPOINT];
    if (ret_plan->is_management) {
        ret_plan->files = UDPAI_STR("/files");
        return;
    }
    for (int i = 0; i < 2; i++) {
        self->sources[i] =
            (udpai_source_config){.name = udpai_str_from(ids[i]), .max_withdrawal = 100};
        sim_target(self->nodes[i], &self->sources[i]);
    }
    ret_plan->config.sources = self->sources;
    ret_plan->config.n_sources = 2;
    ret_plan->config.providers = &of_both;
    ret_plan->config.n_providers = 1;
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    scene *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int key = (int)strtol(strchr(udpa_resource_name(change->resource), '/') + 1, NULL, 10);
        if (change->is_removed && self->exists[key])
            fail(self, "nobody has removed it, and it has gone", key);
        if (!change->is_removed && !self->exists[key])
            fail(self, "what has gone is seen once more", key);
        self->has[key] = !change->is_removed;
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

static void
started(sim_node *node)
{
    scene *self = node->userdata;
    const udpai_selection selection = {.type_url = types[1], .prefix = UDPAI_STR(SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, self};
    udpai_local_subscription *subscription;
    if (node != self->nodes[ENDPOINT])
        set_files(self, node);
    else if (udpai_node_subscribe(node->node, &selection, &ops, &subscription) != UDPA_OK)
        abort();
}

/* ---- what happens ---- */

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

static void
change(scene *self)
{
    int key = (int)sim_below(&self->world.random, N_CLUSTERS);
    for (int i = 0; i < 3; i++, key = (key + 7) % N_CLUSTERS) {
        n_gone += self->exists[key];
        self->exists[key] = !self->exists[key];
    }
    self->version++;
    for (int i = 0; i < 2; i++)
        if (self->nodes[i]->is_up)
            set_files(self, self->nodes[i]);
    run_for(self, 5 * SECOND);
}

static void
check(const scene *self)
{
    for (int key = 0; key < N_CLUSTERS; key++)
        if (self->has[key] != self->exists[key])
            fail(self, "not as both say", key);
}

static void
play(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    for (int key = 0; key < N_CLUSTERS; key++)
        self->exists[key] = sim_once_in(&self->world.random, 2);
    for (int i = 0; i < PLACES; i++) {
        self->nodes[i] = sim_add_node(&self->world, ids[i]);
        self->nodes[i]->plan = plan;
        self->nodes[i]->started = started;
        self->nodes[i]->userdata = self;
    }
    for (int i = 0; i < PLACES; i++)
        sim_start_node(self->nodes[i]);
    run_for(self, 30 * SECOND);
    for (int round = 0; round < N_ROUNDS; round++) {
        change(self);
        sim_crash_node(self->nodes[PRIMARY], true);
        run_for(self, 30 * SECOND);
        check(self);
        n_seen_at_stand_in++;
        change(self);
        sim_start_node(self->nodes[PRIMARY]);
        run_for(self, 30 * SECOND);
        check(self);
    }
    sim_world_done(&self->world);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, play);
    printf("%zu resources were removed, and the stand-in took over %zu times\n", n_gone,
           n_seen_at_stand_in);
    return n_gone && n_seen_at_stand_in ? EXIT_SUCCESS : EXIT_FAILURE;
}
