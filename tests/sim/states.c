/* SPDX-License-Identifier: Apache-2.0 */
/* A node that takes states of the world of an xDS server, and that is another node: owner and
 * stranger, a relay that takes from both, the node below it, an edge below that. What is not in a
 * state is gone for the one below; so the relay, which has begun anew and does not hear the
 * stranger any more, must not send it one before it knows all. Streams are cut, and the one below
 * and the edge begin anew, too; nothing goes that nobody has removed, and once the stranger is back
 * all have what the two say. */
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h"
#include "world.h"
#include "xds/upstream.h"
#include "xds/xds.h"

enum {
    N_SEEDS = 60,
    N_KEYS = 12, /* even ones are the owner's, odd ones the stranger's */
    FIRST_NEW = 8,
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.cluster.v3.Cluster"
#define SPACE "com.acme"

/* Node: id (field 1) "below", client_features (field 10) "udpa.node.v1". */
#define NODE                                                                                       \
    "\x0a\x05"                                                                                     \
    "below"                                                                                        \
    "\x52\x0c" UDPAI_FEATURE_NODE

typedef enum place {
    OWNER,
    STRANGER,
    RELAY,
    BELOW,
    EDGE,
    PLACES,
} place;

static const char *const ids[PLACES] = {"owner", "stranger", "relay", "below", "edge"};
static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};

typedef struct member {
    struct scene *scene;
    sim_node *node;
    struct member *from[2];
    size_t n_from;
    udpai_source_config sources[2];
    udpai_descriptor_config descriptors[2];
    udpai_provider_config provider;
    udpai_local_subscription *subscription;
    bool has[N_KEYS];
} member;

typedef struct scene {
    sim_world world;
    member members[PLACES];
    bool exists[N_KEYS], ever_gone[N_KEYS];
    udpai_xds_audience audience;
    udpai_xds_server xds_server;
    udpai_upstream *upstream;
} scene;

static size_t n_waited;

static _Noreturn void
fail(const member *at, const char *what, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %d\n",
            (unsigned long long)sim_ms(&at->scene->world), what, at->node->id, key);
    exit(EXIT_FAILURE);
}

/* ---- xDS ---- */

static udpa_err
dialled(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    info->context = ((member *)side->node->userdata)->scene->upstream;
    return udpai_upstream_session_new(ret_session, side->hub, info);
}

static udpa_err
accepted(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    scene *self = ((member *)side->node->userdata)->scene;
    info->context = udpai_xds_method_find(&self->xds_server, (udpai_str){0}, UDPAI_XDS_STREAM_SOTW);
    return udpai_xds_session_new(ret_session, side->hub, info);
}

static const sim_protocol xds = {dialled, accepted};

static void
begin_xds(scene *self)
{
    const udpai_upstream_options options = {
        .name_space = UDPAI_STR(SPACE),
        .authority = UDPAI_STR("relay"),
        .node = UDPAI_STR(NODE),
    };
    self->audience.default_namespace = UDPAI_STR(SPACE);
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    if (udpai_upstream_new(&self->upstream, &options) != UDPA_OK)
        abort();
}

/* ---- members ---- */

static void
plan(sim_node *node, sim_node_plan *ret_plan)
{
    member *self = node->userdata;
    ret_plan->is_management = true;
    if (self->n_from == 0)
        ret_plan->files = UDPAI_STR("/files");
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .max_changes_ahead = 3,
        .is_durable = true,
        .sources = self->sources,
        .n_sources = self->n_from,
        .providers = &self->provider,
        .n_providers = self->n_from != 0,
    };
    for (size_t i = 0; i < self->n_from; i++) {
        self->sources[i] = (udpai_source_config){
            .name = udpai_str_from(self->from[i]->node->id),
            .kind = node->dials ? UDPAI_SOURCE_XDS : UDPAI_SOURCE_UDPA,
            .max_withdrawal = 100,
        };
        sim_target(self->from[i]->node, &self->sources[i]);
        self->descriptors[i] = (udpai_descriptor_config){.source = self->sources[i].name,
                                                         .continuation = UDPAI_CONTINUE};
    }
    self->provider = (udpai_provider_config){types, 1, self->descriptors, self->n_from};
}

static udpa_resource *
make_cluster(int key)
{
    char name[32], message[32];
    udpa_resource *resource = NULL;
    int len = snprintf(message + 2, sizeof(message) - 2, "%d", key);
    message[0] = '\x0a'; /* Cluster.name */
    message[1] = (char)len;
    snprintf(name, sizeof(name), SPACE "/%d", key);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(types[0], (udpai_str){message, (size_t)len + 2});
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        abort();
    return resource;
}

static void
set_files(scene *self, place who)
{
    sim_node *node = self->members[who].node;
    udpa_resource *resources[N_KEYS];
    size_t n = 0;
    for (int key = who; key < N_KEYS; key += 2)
        if (self->exists[key])
            resources[n++] = make_cluster(key);
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

static void
on_update(void *userdata, udpai_local_update *update)
{
    member *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int key = (int)strtol(strchr(udpa_resource_name(change->resource), '/') + 1, NULL, 10);
        if (change->is_removed && !self->scene->ever_gone[key])
            fail(self, "nobody has removed it, and it has gone", key);
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
    member *self = node->userdata;
    const udpai_selection selection = {.type_url = types[0], .prefix = UDPAI_STR(SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, self};
    memset(self->has, 0, sizeof(self->has));
    if (self->n_from == 0)
        set_files(self->scene, (place)(self - self->scene->members));
    if (udpai_node_subscribe(node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
}

/* ---- the scene ---- */

static void
take_from(scene *self, place at, place upstream)
{
    self->members[at].from[self->members[at].n_from++] = &self->members[upstream];
}

static void
begin(scene *self, uint64_t seed, bool trace)
{
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    begin_xds(self);
    for (int i = 0; i < PLACES; i++) {
        member *at = &self->members[i];
        at->scene = self;
        at->node = sim_add_node(&self->world, ids[i]);
        at->node->plan = plan;
        at->node->started = started;
        at->node->userdata = at;
    }
    self->members[BELOW].node->dials = &xds;
    take_from(self, RELAY, OWNER);
    take_from(self, RELAY, STRANGER);
    take_from(self, BELOW, RELAY);
    take_from(self, EDGE, BELOW);
    for (int key = 0; key < FIRST_NEW; key++)
        self->exists[key] = true;
    for (int i = 0; i < PLACES; i++)
        sim_start_node(self->members[i].node);
}

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

static void
expect_truth(const scene *self, const char *when)
{
    for (int i = RELAY; i < PLACES; i++)
        for (int key = 0; key < N_KEYS; key++)
            if (self->members[i].has[key] != self->exists[key])
                fail(&self->members[i], when, key);
}

static void
restart(scene *self, place who, bool keep_state)
{
    sim_crash_node(self->members[who].node, keep_state);
    run_for(self, sim_below(&self->world.random, 3 * SECOND));
    sim_start_node(self->members[who].node);
}

static void
change_owner(scene *self)
{
    int key = 2 * (int)sim_below(&self->world.random, N_KEYS / 2);
    self->exists[key] = !self->exists[key];
    self->ever_gone[key] = true;
    set_files(self, OWNER);
}

static void
disturb(scene *self)
{
    switch (sim_below(&self->world.random, 4)) {
    case 0:
        change_owner(self);
        break;
    case 1:
        (void)sim_cut_something(&self->world);
        break;
    case 2:
        restart(self, BELOW, true);
        break;
    default:
        restart(self, EDGE, true);
        break;
    }
}

/* It is to be seen that the one below waits: what is new at the owner is with the relay. */
static void
expect_to_wait(scene *self)
{
    self->exists[FIRST_NEW] = self->ever_gone[FIRST_NEW] = true;
    set_files(self, OWNER);
    run_for(self, 30 * SECOND);
    if (!self->members[RELAY].has[FIRST_NEW])
        fail(&self->members[RELAY], "it has not come", FIRST_NEW);
    n_waited += !self->members[BELOW].has[FIRST_NEW];
}

static void
play(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    begin(self, seed, trace);
    run_for(self, 60 * SECOND);
    expect_truth(self, "not as at the beginning");
    sim_crash_node(self->members[STRANGER].node, true);
    restart(self, RELAY, false);
    expect_to_wait(self);
    for (int i = 0; i < 12; i++) {
        disturb(self);
        run_for(self, sim_below(&self->world.random, 15 * SECOND));
    }
    sim_start_node(self->members[STRANGER].node);
    run_for(self, 60 * SECOND);
    expect_truth(self, "not as both say");
    sim_world_done(&self->world);
    udpai_upstream_free(self->upstream);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, play);
    printf("the node below waited for a state %zu times\n", n_waited);
    return argc > 1 || n_waited ? EXIT_SUCCESS : EXIT_FAILURE;
}
