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

/* How a node has what comes by a source. */
typedef enum way {
    MIRROR = ' ',
    ON_DEMAND = 'd',
    NAMED = 'n', /* it is the source of one name, which nobody has, and of no other */
} way;

typedef struct member {
    sim_node *node;
    struct scene *owner;
    int n_sources, from[SOURCES_MAX];
    way ways[SOURCES_MAX];
    char names[SOURCES_MAX][8];
    udpai_source_config sources[SOURCES_MAX];
    udpai_descriptor_config descriptors[SOURCES_MAX], of_name[SOURCES_MAX];
    udpai_provider_config provider;
    udpai_named_config named;
    udpai_local_subscription *subscription;
} member;

static uint64_t seed = 1;

typedef struct scene {
    sim_world world;
    const char *name;
    int n;
    bool by_name; /* what is wanted at each node: what each node has, and what nobody has */
    member members[NODES_MAX];
} scene;

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};

#define NOBODYS "com.acme/nobody"

static void
plan_sources(member *self)
{
    size_t n_of_type = 0, n_of_name = 0;
    for (int i = 0; i < self->n_sources; i++) {
        snprintf(self->names[i], sizeof(self->names[i]), "s%d", self->from[i]);
        self->sources[i] = (udpai_source_config){.name = udpai_str_from(self->names[i])};
        sim_target(self->owner->members[self->from[i]].node, &self->sources[i]);
        udpai_descriptor_config *descriptor =
            self->ways[i] == NAMED ? &self->of_name[n_of_name++] : &self->descriptors[n_of_type++];
        *descriptor = (udpai_descriptor_config){.source = self->sources[i].name,
                                                .continuation = UDPAI_CONTINUE,
                                                .on_demand = self->ways[i] == ON_DEMAND};
    }
    self->provider = (udpai_provider_config){types, 1, self->descriptors, n_of_type};
    self->named =
        (udpai_named_config){types[0], UDPAI_STR(NOBODYS), self->of_name, n_of_name, true};
}

static void
plan(sim_node *node, sim_node_plan *ret_plan)
{
    member *self = node->userdata;
    plan_sources(self);
    ret_plan->is_management = true;
    ret_plan->files = UDPAI_STR("/files");
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = self->sources,
        .n_sources = (size_t)self->n_sources,
        .providers = &self->provider,
        .n_providers = self->provider.n_descriptors ? 1 : 0,
        .named = &self->named,
        .n_named = self->named.n_descriptors ? 1 : 0,
        .max_changes_ahead = 3,
    };
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    (void)userdata;
    (void)update;
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

/* A client of each node wants something. */
static void
want(member *self)
{
    const scene *owner = self->owner;
    char texts[NODES_MAX][32];
    udpai_str names[NODES_MAX + 1] = {UDPAI_STR(NOBODYS)};
    for (int i = 0; i < owner->n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "com.acme/n%d", i);
        names[i + 1] = udpai_str_from(texts[i]);
    }
    const udpai_selection selection = {
        .type_url = types[0],
        .prefix = UDPAI_STR("com.acme"),
        .names = owner->by_name ? names : NULL,
        .n_names = owner->by_name ? (size_t)owner->n + 1 : 0,
    };
    const udpai_local_ops ops = {on_update, on_complete, self};
    if (udpai_node_subscribe(self->node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
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
    want(node->userdata);
}

/* Edges as text: "10 21d" is 1 from 0, and 2 from 1 on demand. */
static scene *
make(const char *name, int n, const char *edges)
{
    char id[16];
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    self->name = name;
    self->n = n;
    sim_world_init(&self->world, seed);
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
        to->ways[to->n_sources] = at[2] ? (way)at[2] : MIRROR;
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
    return self->node->is_up && udpai_local_is_complete(self->subscription);
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
        if (self->members[i].node->is_up && !is_there && who->provider.n_descriptors)
            return false;
    }
    return true;
}

static void
fail(const scene *self, const char *what, int i)
{
    fprintf(stderr, "FAIL: %s: n%d %s at %llu ms\n", self->name, i, what,
            (unsigned long long)sim_ms(&self->world));
    fprintf(stderr, "seed %llu has failed\n", (unsigned long long)seed);
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
together(scene *self)
{
    start_all_but(self, -1);
    expect_soon(self, self->n, SECOND);
    end(self);
}

static scene *
by_name(scene *self)
{
    self->by_name = true;
    return self;
}

/* The last one is away, and only one of the others has it as a source. */
static void
with_an_outsider(const char *name, int n, const char *edges)
{
    scene *self = make(name, n, edges);
    start_all_but(self, n - 1);
    if (run(self, 1, 15 * SECOND) < 15 * SECOND)
        fail(self, "or another is complete without the outsider", 0);
    sim_start_node(self->members[n - 1].node);
    expect_soon(self, n, 5 * SECOND); /* it is dialled again */
    end(self);
}

/* Somebody loses his source while all are about to be complete. */
static void
with_a_cut(const char *name, int n, const char *edges, uint64_t after_us)
{
    scene *self = make(name, n, edges);
    start_all_but(self, -1);
    sim_run_until(&self->world, self->world.now_us + after_us);
    sim_cut_something(&self->world);
    if (run(self, n, 30 * SECOND) > 5 * SECOND)
        fail(self, "and others are complete too late after a cut", 0);
    end(self);
}

static void
play(void)
{
    together(make("a ring of five", 5, "04 10 21 32 43"));
    together(make("a triangle", 3, "01 02 10 12 20 21"));
    together(make("a tangle", 6, "01 05 10 12 21 23 32 30 34 43 45 54 50 52"));
    together(make("a ring on demand", 5, "04d10d21d32d43d"));
    together(make("a ring in which one is asked on demand", 5, "04 10 21d32 43 "));
    together(by_name(make("names in a ring", 5, "04 10 21 32 43 ")));
    together(by_name(make("names in a ring on demand", 5, "04d10d21d32d43d")));
    together(by_name(
        make("names in a tangle on demand", 6, "01d05d10d12d21d23d32 30d34d43d45 54d50d52d")));
    together(make("a name that goes round by itself", 4, "03 10 21 32 01n12n23n30n"));
    together(by_name(make("the same, by name", 4, "03 10 21 32 01n12n23n30n")));
    together(make("a name that one has from another", 4, "03 10 21 32 02n"));
    together(by_name(make("the same, by name", 4, "03 10 21 32 02n")));
    with_an_outsider("a ring and an outsider who is away", 6, "04 10 21 32 43 25");
    with_an_outsider("a tangle and an outsider who is away", 7,
                     "01 05 10 12 21 23 26 32 30 34 43 45 54 50 52");
    for (uint64_t us = 500; us < 200000; us += 500)
        with_a_cut("a ring that is cut", 5, "04 10 21 32 43", us);
    for (uint64_t us = 500; us < 200000; us += 1500)
        with_a_cut("a tangle that is cut", 6, "01 05 10 12 21 23 32 30 34 43 45 54 50 52", us);
}

/* Without arguments one seed; --seeds A-B: those. */
int
main(int argc, char **argv)
{
    char *end = NULL;
    uint64_t last = 1;
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        seed = strtoull(argv[2], &end, 10);
        last = *end == '-' ? strtoull(end + 1, NULL, 10) : seed;
    }
    for (; seed <= last; seed++)
        play();
    return EXIT_SUCCESS;
}
