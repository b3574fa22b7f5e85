/* SPDX-License-Identifier: Apache-2.0 */
/* A primary that comes back with an older disk, beside edges that have what it has forgotten: what
 * was changed, added and removed since comes back; and what it has removed itself does not, however
 * long the edge that it recovers from was away.
 *
 * sim_restored [SEED] */
#include <stdio.h>
#include <stdlib.h>

#include "network.h"
#include "seeds.h"

enum {
    N_KEYS = 16,
    N_EDGES = 2,
    N_NODES = N_EDGES + 2,
    N_ROUNDS = 8,
    N_SEEDS = 40,
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

typedef struct scene {
    sim_world world;
    sim_node *primary, *edges[N_EDGES], *registrar;
    udpai_source_config sources[N_NODES];
    udpai_descriptor_config descriptors[N_NODES];
    udpai_provider_config providers[N_NODES];
    int versions[N_KEYS]; /* 0: there is none */
    int last_version;
    uint64_t n_waiting, n_confirmed;
    sim_disk backup;
} scene;

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}}, prefixes[] = {{"com.acme", 8}};
static uint64_t n_restored, n_back;

static void
fail(const scene *self, const char *what, const char *who, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %d\n", (unsigned long long)sim_ms(&self->world),
            what, who, key);
    exit(EXIT_FAILURE);
}

/* ---- nodes ---- */

static void
plan_node(sim_node *node, sim_node_plan *plan)
{
    scene *self = node->userdata;
    udpai_source_config *source = &self->sources[node->index];
    bool is_primary = node == self->primary;
    plan->is_management = node != self->registrar;
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = source,
        .n_sources = 1,
        .peers_are_anonymous = true,
        .max_changes_ahead = 3,
        .is_durable = plan->is_management,
    };
    *source = (udpai_source_config){.name = is_primary ? UDPAI_STR("edge") : UDPAI_STR("primary")};
    sim_target(is_primary ? self->edges[0] : self->primary, source);
    if (is_primary) {
        source->recover = (udpai_recover_config){types, 1, prefixes, 1};
    } else if (node == self->registrar) {
        source->stays_connected = true;
    } else {
        self->descriptors[node->index] =
            (udpai_descriptor_config){source->name, {"", 0}, UDPAI_CONTINUE, false};
        self->providers[node->index] =
            (udpai_provider_config){types, 1, &self->descriptors[node->index], 1};
        plan->config.providers = &self->providers[node->index];
        plan->config.n_providers = 1;
    }
}

static void
on_published(sim_node *node,
             uint64_t ticket,
             const udpai_publication *publication,
             const udpa_error *error)
{
    (void)ticket;
    scene *self = node->userdata;
    for (size_t i = 0; !error && i < publication->entries.n; i++)
        if (publication->entries.items[i].error)
            fail(self, udpa_error_message(publication->entries.items[i].error), "registrar", 0);
    self->n_confirmed += !error;
}

static sim_node *
add_node(scene *self, const char *id)
{
    sim_node *node = sim_add_node(&self->world, id);
    node->plan = plan_node;
    node->userdata = self;
    return node;
}

static void
build(scene *self)
{
    self->primary = add_node(self, "primary");
    self->primary->recovers = true;
    self->edges[0] = add_node(self, "edge-0");
    self->edges[1] = add_node(self, "edge-1");
    self->registrar = add_node(self, "registrar");
    self->registrar->published = on_published;
    for (size_t i = 0; i < self->world.nodes.n; i++)
        sim_start_node(self->world.nodes.items[i]);
}

/* ---- what is said ---- */

static void
key_name(int key, char name[32])
{
    snprintf(name, 32, "com.acme/%d", key);
}

static void
add(udpai_publication *publication, const char *name, int version)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d", version);
    const udpai_str value = {text, (size_t)len};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .version = value, .any = any};
    udpa_resource *resource = NULL;
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK ||
        udpai_publication_add(publication, resource, false) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

static void
say(scene *self, int key)
{
    char name[32];
    udpai_publication *publication = udpai_publication_new();
    key_name(key, name);
    if (!publication || udpai_publication_set(&publication->type_url, types[0]) != UDPA_OK)
        abort();
    if (self->versions[key])
        add(publication, name, self->versions[key]);
    else if (udpai_publication_remove(publication, udpai_str_from(name)) != UDPA_OK)
        abort();
    publication->receipt_required = true;
    self->n_waiting++;
    if (!udpai_node_publish(self->registrar->node, UDPAI_STR("primary"), publication))
        fail(self, "cannot be published", "registrar", key);
    sim_touch(self->registrar);
}

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

/* What is there is changed or removed, what is not is added. */
static void
change_some(scene *self, unsigned one_in)
{
    for (int key = 0; key < N_KEYS; key++) {
        if (sim_below(&self->world.random, one_in))
            continue;
        bool goes = self->versions[key] && sim_below(&self->world.random, 2);
        self->versions[key] = goes ? 0 : ++self->last_version;
        say(self, key);
        run_for(self, sim_below(&self->world.random, SECOND));
    }
    run_for(self, 2 * SECOND);
    if (self->n_confirmed != self->n_waiting)
        fail(self, "no confirmation", "registrar", 0);
}

/* ---- what must hold ---- */

static bool
take_version(void *userdata, const udpai_contribution *contribution)
{
    if (contribution->effective)
        *(int *)userdata = (int)strtol(udpa_resource_version(contribution->resource), NULL, 10);
    return true;
}

static void
expect_truth(const scene *self, const sim_node *node, const char *when)
{
    for (int key = 0; key < N_KEYS; key++) {
        char name[32];
        int version = 0;
        key_name(key, name);
        udpai_store_visit_name(udpai_node_store(node->node), types[0], udpai_str_from(name),
                               take_version, &version);
        if (version != self->versions[key])
            fail(self, when, node->id, key);
    }
}

static void
expect_all(const scene *self, const char *when)
{
    expect_truth(self, self->primary, when);
    for (int i = 0; i < N_EDGES; i++)
        expect_truth(self, self->edges[i], when);
}

/* ---- what happens ---- */

static void
back_up(scene *self)
{
    sim_disk_drop(&self->backup);
    sim_disk_save(self->primary, &self->backup);
}

static void
restore(scene *self)
{
    sim_node *primary = self->primary;
    sim_crash_node(primary, true);
    sim_disk_restore(primary, &self->backup);
    if (sim_below(&self->world.random, 2)) /* or it lies in another directory now */
        snprintf(primary->instance, sizeof(primary->instance), "copy-%u", (unsigned)n_restored);
    run_for(self, sim_below(&self->world.random, 10 * SECOND));
    sim_start_node(primary);
    run_for(self, 60 * SECOND);
    n_restored++;
}

/* The edge is away, so long that nobody remembers what has gone meanwhile. */
static void
leave_and_return(scene *self)
{
    sim_crash_node(self->edges[0], true);
    change_some(self, 2);
    run_for(self, 3600 * SECOND);
    if (sim_below(&self->world.random, 2)) {
        sim_crash_node(self->primary, true);
        run_for(self, SECOND);
        sim_start_node(self->primary);
    }
    sim_start_node(self->edges[0]);
    run_for(self, 60 * SECOND);
    expect_all(self, "not what was said, when the edge was back");
    n_back++;
}

static void
run(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    build(self);
    run_for(self, 30 * SECOND);
    change_some(self, 1);
    for (int i = 0; i < N_ROUNDS; i++) {
        back_up(self);
        change_some(self, 2);
        expect_all(self, "not what was said");
        if (sim_below(&self->world.random, 4) == 0) {
            leave_and_return(self);
            continue;
        }
        restore(self);
        expect_all(self, "not what was said before it was restored");
        sim_crash_node(self->edges[1], false); /* a new one */
        sim_start_node(self->edges[1]);
        run_for(self, 30 * SECOND);
        expect_all(self, "not what was said before it was restored, told to a new edge");
    }
    sim_disk_drop(&self->backup);
    sim_world_done(&self->world);
    free(self);
}

int
main(int argc, char **argv)
{
    sim_play_seeds(argc, argv, N_SEEDS, run);
    printf("%llu times an older disk came back, %llu times an edge\n",
           (unsigned long long)n_restored, (unsigned long long)n_back);
    return argc > 1 || (n_restored && n_back) ? EXIT_SUCCESS : EXIT_FAILURE;
}
