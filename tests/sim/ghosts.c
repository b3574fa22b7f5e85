/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of which a member dies, while the owner of what they have removes some of it: within a
 * second nobody who lives has it any more, and it does not come back when the dead one does, if it
 * does. */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum {
    N_KEYS = 24,
    N_RELAYS_MAX = 5,
    N_MEMBERS_MAX = N_RELAYS_MAX + 2, /* and the owner, and an edge */
    SOURCES_MAX = 4,
    N_SEEDS = 40,
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

typedef struct scene scene;

typedef struct member {
    scene *owner;
    sim_node *node;
    struct member *upstreams[SOURCES_MAX];
    size_t n_upstreams;
    udpai_source_config sources[SOURCES_MAX];
    udpai_descriptor_config descriptors[SOURCES_MAX];
    char names[SOURCES_MAX][16];
    udpai_provider_config provider;
    udpai_local_subscription *subscription;
    bool has[N_KEYS];
    bool may_be_old; /* it has just come back, and has not heard anybody */
} member;

struct scene {
    sim_world world;
    member members[N_MEMBERS_MAX];
    size_t n_members, n_relays;
    bool exists[N_KEYS];
    size_t n_ended;
};

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};

static member *
owner_of(scene *self)
{
    return &self->members[0];
}

static void
fail(const member *at, const char *what, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %d\n",
            (unsigned long long)sim_ms(&at->owner->world), what, at->node->id, key);
    exit(EXIT_FAILURE);
}

/* ---- members ---- */

static void
plan_member(sim_node *node, sim_node_plan *plan)
{
    member *self = node->userdata;
    plan->is_management = true;
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .max_changes_ahead = 3,
        .is_durable = true,
    };
    if (self == owner_of(self->owner))
        plan->files = UDPAI_STR("/files");
    for (size_t i = 0; i < self->n_upstreams; i++) {
        snprintf(self->names[i], sizeof(self->names[i]), "%s", self->upstreams[i]->node->id);
        self->sources[i] = (udpai_source_config){.name = udpai_str_from(self->names[i])};
        sim_target(self->upstreams[i]->node, &self->sources[i]);
        self->descriptors[i] = (udpai_descriptor_config){
            udpai_str_from(self->names[i]), {"", 0}, UDPAI_CONTINUE, false};
    }
    self->provider = (udpai_provider_config){types, 1, self->descriptors, self->n_upstreams};
    plan->config.sources = self->sources;
    plan->config.n_sources = self->n_upstreams;
    plan->config.providers = &self->provider;
    plan->config.n_providers = self->n_upstreams != 0;
}

static void
set_files(member *self)
{
    udpa_resource *resources[N_KEYS];
    size_t n = 0;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], UDPAI_STR("x"));
    for (int key = 0; key < N_KEYS; key++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/%d", key);
        const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
        if (self->owner->exists[key] &&
            (!any || udpai_resource_make(&resources[n++], &parts) != UDPA_OK))
            abort();
    }
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"), .resources = resources, .n_resources = n};
    if (udpai_node_set_files(self->node->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(self->node);
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
        if (!change->is_removed && !self->owner->exists[key] && !self->has[key] &&
            !self->may_be_old)
            fail(self, "a ghost has come", key);
        self->has[key] = !change->is_removed;
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

static void
member_started(sim_node *node)
{
    member *self = node->userdata;
    const udpai_selection selection = {.type_url = types[0], .prefix = UDPAI_STR("com.acme")};
    const udpai_local_ops ops = {on_update, on_complete, self};
    memset(self->has, 0, sizeof(self->has));
    if (self == owner_of(self->owner))
        set_files(self);
    if (udpai_node_subscribe(node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
}

/* ---- shapes ---- */

static member *
add(scene *self, const char *kind, unsigned char number)
{
    char id[16];
    member *at = &self->members[self->n_members++];
    snprintf(id, sizeof(id), "%s-%u", kind, number);
    at->owner = self;
    at->node = sim_add_node(&self->world, id);
    at->node->plan = plan_member;
    at->node->started = member_started;
    at->node->userdata = at;
    return at;
}

static void
take_from(member *at, member *upstream)
{
    at->upstreams[at->n_upstreams++] = upstream;
}

/* The first two relays take from the owner; three and more also from their neighbours in a ring;
 * the edge takes from the last two. */
static void
build(scene *self)
{
    member *owner = add(self, "owner", 0), *relays = &self->members[1];
    self->n_relays = 2 + sim_below(&self->world.random, N_RELAYS_MAX - 1);
    for (size_t i = 0; i < self->n_relays; i++)
        add(self, "relay", (unsigned char)i);
    for (size_t i = 0; i < self->n_relays; i++) {
        if (i < 2)
            take_from(&relays[i], owner);
        if (self->n_relays < 3)
            continue;
        take_from(&relays[i], &relays[(i + 1) % self->n_relays]);
        take_from(&relays[i], &relays[(i + self->n_relays - 1) % self->n_relays]);
    }
    member *edge = add(self, "edge", 0);
    take_from(edge, &relays[self->n_relays - 1]);
    take_from(edge, &relays[self->n_relays - 2]);
    for (int key = 0; key < N_KEYS; key++)
        self->exists[key] = true;
    for (size_t i = 0; i < self->n_members; i++)
        sim_start_node(self->members[i].node);
}

/* ---- what must hold ---- */

static void
expect_truth(const scene *self, const char *when)
{
    for (size_t i = 0; i < self->n_members; i++) {
        const member *at = &self->members[i];
        for (int key = 0; key < N_KEYS && at->node->is_up; key++)
            if (at->has[key] != self->exists[key])
                fail(at, when, key);
    }
}

static void
remove_some(scene *self)
{
    for (int key = 0; key < N_KEYS; key++) {
        bool goes = self->exists[key] && sim_below(&self->world.random, 3) == 0;
        self->exists[key] = self->exists[key] && !goes;
        self->n_ended += goes;
    }
    set_files(owner_of(self));
}

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

/* With its disk, or without: then it is told by the others what was removed. */
static void
restart_another(scene *self, const member *dead)
{
    member *other = &self->members[1 + sim_below(&self->world.random, self->n_relays)];
    if (other == dead || sim_below(&self->world.random, 2) == 0)
        return;
    sim_crash_node(other->node, sim_below(&self->world.random, 2));
    run_for(self, 1 * SECOND);
    sim_start_node(other->node);
    run_for(self, 60 * SECOND);
    expect_truth(self, "not as the owner has it, after a restart");
}

static size_t
run(uint64_t seed)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    sim_world_init(&self->world, seed);
    build(self);
    run_for(self, 60 * SECOND);
    expect_truth(self, "not as at the beginning");
    member *dead = &self->members[1 + sim_below(&self->world.random, self->n_relays)];
    sim_crash_node(dead->node, true);
    for (int i = 0; i < 3; i++) {
        run_for(self, sim_below(&self->world.random, 8 * SECOND));
        remove_some(self);
        run_for(self, 1 * SECOND);
        expect_truth(self, "not as the owner has it, after a second");
    }
    run_for(self, 60 * SECOND);
    expect_truth(self, "not as the owner has it");
    restart_another(self, dead);
    if (sim_below(&self->world.random, 4) != 0) {
        dead->may_be_old = true;
        sim_start_node(dead->node);
        run_for(self, 60 * SECOND);
        expect_truth(self, "not as the owner has it, when the dead one is back");
    }
    size_t n_ended = self->n_ended;
    sim_world_done(&self->world);
    free(self);
    return n_ended;
}

int
main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t last = argc > 1 ? first : N_SEEDS;
    size_t n_ended = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        (void)fflush(stdout);
        n_ended += run(seed);
    }
    printf("%zu resources were removed beside a dead member\n", n_ended);
    return n_ended ? EXIT_SUCCESS : EXIT_FAILURE;
}
