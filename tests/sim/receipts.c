/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged what. Endpoints take what a node has; the loop of some stalls now and then
 * for so long that far more is under way to them than the node notes one by one. Of no resource
 * more are said to have acknowledged it than have it, and in the end all have. */
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h"
#include "session/acknowledgement.h"
#include "udpa/status/v1/status.pb-c.h"
#include "world.h"

enum {
    N_SEEDS = 4,
    N_ROUNDS = 3,
    N_KEYS = 400,
    N_ENDPOINTS = 3,
    MANY = 330, /* more changes than are noted while they are unanswered */
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.cluster.v3.Cluster"
#define SPACE "com.acme"
#define PAUSE_US (5000)
/* Both sides of the node have taken in what was changed. */
#define SETTLED_US (SECOND / 2)

typedef struct scene scene;

typedef struct endpoint {
    scene *owner;
    sim_node *node;
    int seen[N_KEYS];
} endpoint;

struct scene {
    sim_world world;
    sim_node *server;
    endpoint endpoints[N_ENDPOINTS];
    udpai_source_config source;
    int versions[N_KEYS];
    udpa_resource *resources[N_KEYS];
};

static const udpai_str types[] = {UDPAI_STR(TYPE)};
static const udpai_descriptor_config only[] = {{{"server", 6}, {"", 0}, UDPAI_CONTINUE, false}};
static const udpai_provider_config of_server = {types, 1, only, 1};

static size_t n_unanswered, n_answered;

/* ---- the node ---- */

static void
change(scene *self, int key)
{
    char name[32], value[16];
    snprintf(name, sizeof(name), SPACE "/%d", key);
    snprintf(value, sizeof(value), "%d", ++self->versions[key]);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(types[0], udpai_str_from(value));
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    udpa_resource_unref(UDPAI_TAKE(self->resources[key]));
    if (!any || udpai_resource_make(&self->resources[key], &parts) != UDPA_OK)
        abort();
}

static void
set_files(scene *self)
{
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .resources = self->resources,
                                       .n_resources = N_KEYS,
                                       .max_withdrawal = 100};
    if (udpai_node_set_files(self->server->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(self->server);
}

static udpai_node_config
config_of(const sim_node *node)
{
    return (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
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
    set_files(node->userdata);
}

/* ---- endpoints ---- */

static void
plan_endpoint(sim_node *node, sim_node_plan *plan)
{
    scene *self = ((endpoint *)node->userdata)->owner;
    self->source = (udpai_source_config){.name = UDPAI_STR("server"), .max_withdrawal = 100};
    sim_target(self->server, &self->source);
    plan->config = config_of(node);
    plan->config.sources = &self->source;
    plan->config.n_sources = 1;
    plan->config.providers = &of_server;
    plan->config.n_providers = 1;
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    endpoint *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpa_resource *resource = udpai_local_update_at(update, i)->resource;
        int key = (int)strtol(strchr(udpa_resource_name(resource), '/') + 1, NULL, 10);
        udpai_str value = udpai_resource_value(resource);
        char text[16];
        snprintf(text, sizeof(text), "%.*s", (int)value.len, value.data);
        self->seen[key] = (int)strtol(text, NULL, 10);
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
    const udpai_selection selection = {.type_url = types[0], .prefix = UDPAI_STR(SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, node->userdata};
    udpai_local_subscription *subscription;
    if (udpai_node_subscribe(node->node, &selection, &ops, &subscription) != UDPA_OK)
        abort();
}

/* ---- what must hold ---- */

static size_t
n_acknowledged(const scene *self, int key)
{
    char question[256];
    snprintf(question, sizeof(question), UDPAI_ACKNOWLEDGEMENT_PREFIX "t/" TYPE "/" SPACE "/%d",
             key);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes =
        udpai_acknowledgement_describe(self->server->sides[0].hub, udpai_str_from(question));
    Udpa__Status__V1__AcknowledgementStatus *status =
        bytes ? udpa__status__v1__acknowledgement_status__unpack(NULL, udpa_bytes_size(bytes),
                                                                 udpa_bytes_data(bytes))
              : NULL;
    if (!status)
        abort();
    size_t n = status->n_acknowledged;
    udpa__status__v1__acknowledgement_status__free_unpacked(status, NULL);
    return n;
}

static size_t
n_having(const scene *self, int key)
{
    size_t n = 0;
    for (int i = 0; i < N_ENDPOINTS; i++)
        n += self->endpoints[i].seen[key] == self->versions[key];
    return n;
}

static void
check(const scene *self, bool by_all)
{
    for (int key = 0; key < N_KEYS; key++) {
        size_t said = n_acknowledged(self, key), have = n_having(self, key);
        n_answered += said;
        n_unanswered += N_ENDPOINTS - said;
        if (said <= have && (!by_all || said == N_ENDPOINTS))
            continue;
        fprintf(stderr, "FAIL at %llu ms: %s at server: %d, by %zu, and %zu have it\n",
                (unsigned long long)sim_ms(&self->world),
                by_all ? "not all have acknowledged" : "an acknowledgement that nobody gave", key,
                said, have);
        exit(EXIT_FAILURE);
    }
}

/* ---- what happens ---- */

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

static void
change_many(scene *self)
{
    for (int i = 0; i < MANY; i++) {
        change(self, (int)sim_below(&self->world.random, N_KEYS));
        set_files(self);
        run_for(self, PAUSE_US);
    }
    run_for(self, SETTLED_US);
}

static void
begin(scene *self, uint64_t seed, bool trace)
{
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    for (int key = 0; key < N_KEYS; key++)
        change(self, key);
    self->server = sim_add_node(&self->world, "server");
    self->server->plan = plan_server;
    self->server->started = server_started;
    self->server->userdata = self;
    sim_start_node(self->server);
    for (int i = 0; i < N_ENDPOINTS; i++) {
        endpoint *at = &self->endpoints[i];
        char id[16];
        snprintf(id, sizeof(id), "endpoint-%d", i);
        at->owner = self;
        at->node = sim_add_node(&self->world, id);
        at->node->plan = plan_endpoint;
        at->node->started = endpoint_started;
        at->node->userdata = at;
        sim_start_node(at->node);
    }
}

static void
play(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    begin(self, seed, trace);
    run_for(self, 30 * SECOND);
    check(self, true);
    for (int round = 0; round < N_ROUNDS; round++) {
        uint64_t until_us = self->world.now_us + 10 * SECOND;
        for (int i = 0; i < N_ENDPOINTS; i++)
            if (sim_once_in(&self->world.random, 2))
                self->endpoints[i].node->stalls_until_us = until_us;
        change_many(self);
        check(self, false);
        sim_run_until(&self->world, until_us);
        run_for(self, 30 * SECOND);
        check(self, true);
    }
    sim_world_done(&self->world);
    for (int key = 0; key < N_KEYS; key++)
        udpa_resource_unref(self->resources[key]);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, play);
    printf("%zu acknowledgements were looked at, and %zu that had not come\n", n_answered,
           n_unanswered);
    return n_answered && n_unanswered ? EXIT_SUCCESS : EXIT_FAILURE;
}
