/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes without any state that wait for each other begin together. As soon as none of them waits
 * for anybody else, all are complete, and each has what all others have; while one of them waits
 * for somebody who is away, none is. */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

enum {
    NODES_MAX = 8,
    SOURCES_MAX = 4,
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.cluster.v3.Cluster"

typedef struct member {
    sim_node *node;
    struct scene *owner;
    int n_sources, from[SOURCES_MAX];
    char names[SOURCES_MAX][8];
    udpai_source_config sources[SOURCES_MAX];
    udpai_descriptor_config descriptors[SOURCES_MAX];
    udpai_provider_config provider;
} member;

typedef struct scene {
    sim_world world;
    const char *name;
    int n;
    member members[NODES_MAX];
} scene;

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};

static void
plan(sim_node *node, sim_node_plan *ret_plan)
{
    member *self = node->userdata;
    for (int i = 0; i < self->n_sources; i++) {
        snprintf(self->names[i], sizeof(self->names[i]), "s%d", self->from[i]);
        self->sources[i] = (udpai_source_config){.name = udpai_str_from(self->names[i])};
        sim_target(self->owner->members[self->from[i]].node, &self->sources[i]);
        self->descriptors[i] = (udpai_descriptor_config){.source = self->sources[i].name,
                                                         .continuation = UDPAI_CONTINUE};
    }
    self->provider = (udpai_provider_config){types, 1, self->descriptors, (size_t)self->n_sources};
    ret_plan->is_management = true;
    ret_plan->files = UDPAI_STR("/files");
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = self->sources,
        .n_sources = (size_t)self->n_sources,
        .providers = &self->provider,
        .n_providers = self->n_sources ? 1 : 0,
        .max_changes_ahead = 3,
    };
}

static void
started(sim_node *node)
{
    char name[32];
    snprintf(name, sizeof(name), "com.acme/%s", node->id);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], UDPAI_STR("x"));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        abort();
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"), .resources = &resource, .n_resources = 1};
    if (udpai_node_set_files(node->node, &directory, NULL) != UDPA_OK)
        abort();
}

/* Edges as text: "10 21" is 1 from 0, and 2 from 1. */
static scene *
make(const char *name, int n, const char *edges)
{
    char id[16];
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    self->name = name;
    self->n = n;
    sim_world_init(&self->world, 1);
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "n%d", i);
        self->members[i].owner = self;
        self->members[i].node = sim_add_node(&self->world, id);
        self->members[i].node->plan = plan;
        self->members[i].node->started = started;
        self->members[i].node->userdata = &self->members[i];
    }
    for (const char *at = edges; *at; at += at[2] ? 3 : 2) {
        member *to = &self->members[at[0] - '0'];
        to->from[to->n_sources++] = at[1] - '0';
    }
    return self;
}

static void
end(scene *self)
{
    sim_world_done(&self->world);
    free(self);
}

static bool
is_settled(const member *self)
{
    return self->node->is_up &&
           udpai_settled_query(udpai_node_settled(self->node->node), types[0],
                               UDPAI_STR("com.acme"), UDPAI_STR("")) == UDPAI_SETTLED;
}

static bool
note(void *userdata, const udpai_contribution *contribution)
{
    (void)contribution;
    *(bool *)userdata = true;
    return false;
}

static bool
has_all(const scene *self, const member *who)
{
    char name[32];
    for (int i = 0; i < self->n; i++) {
        bool is_there = false;
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        udpai_store_visit_name(udpai_node_store(who->node->node), types[0], udpai_str_from(name),
                               note, &is_there);
        if (self->members[i].node->is_up && !is_there && who->n_sources)
            return false;
    }
    return true;
}

static void
fail(const scene *self, const char *what, int i)
{
    fprintf(stderr, "FAIL: %s: n%d %s at %llu ms\n", self->name, i, what,
            (unsigned long long)sim_ms(&self->world));
    exit(EXIT_FAILURE);
}

/* Whoever is settled has all; how many are. */
static int
count_settled(const scene *self)
{
    int n = 0;
    for (int i = 0; i < self->n; i++) {
        if (!is_settled(&self->members[i]))
            continue;
        if (!has_all(self, &self->members[i]))
            fail(self, "is complete, and has not all", i);
        n++;
    }
    return n;
}

/* Until so many are, or the time is over; how long it took. */
static uint64_t
run(scene *self, int n, uint64_t most_us)
{
    uint64_t begin = self->world.now_us;
    while (count_settled(self) < n && self->world.now_us < begin + most_us)
        sim_run_until(&self->world, self->world.now_us + 1000);
    return self->world.now_us - begin;
}

static void
start_all_but(scene *self, int away)
{
    for (int i = 0; i < self->n; i++)
        if (i != away)
            sim_start_node(self->members[i].node);
}

static void
expect_soon(scene *self, int n, uint64_t most_us)
{
    uint64_t us = run(self, n, 30 * SECOND);
    printf("%s: complete after %llu ms\n", self->name, (unsigned long long)us / 1000);
    if (us > most_us)
        fail(self, "and others are complete too late", 0);
}

static void
together(const char *name, int n, const char *edges)
{
    scene *self = make(name, n, edges);
    start_all_but(self, -1);
    expect_soon(self, n, SECOND);
    end(self);
}

/* n5 is away, and only n2 has it as a source. */
static void
with_an_outsider(void)
{
    scene *self = make("a ring and an outsider who is away", 6, "04 10 21 32 43 25");
    start_all_but(self, 5);
    if (run(self, 1, 15 * SECOND) < 15 * SECOND)
        fail(self, "or another is complete without the outsider", 0);
    sim_start_node(self->members[5].node);
    expect_soon(self, 6, 5 * SECOND); /* it is dialled again */
    end(self);
}

/* Somebody loses his source while all are about to be complete. */
static void
with_a_cut(uint64_t after_us)
{
    scene *self = make("a ring that is cut", 5, "04 10 21 32 43");
    start_all_but(self, -1);
    sim_run_until(&self->world, self->world.now_us + after_us);
    sim_cut_something(&self->world);
    if (run(self, 5, 30 * SECOND) > 5 * SECOND)
        fail(self, "and others are complete too late after a cut", 0);
    end(self);
}

int
main(void)
{
    together("a ring of five", 5, "04 10 21 32 43");
    together("a triangle", 3, "01 02 10 12 20 21");
    together("a tangle", 6, "01 05 10 12 21 23 32 30 34 43 45 54 50 52");
    with_an_outsider();
    for (uint64_t us = 500; us < 200000; us += 500)
        with_a_cut(us);
    return EXIT_SUCCESS;
}
