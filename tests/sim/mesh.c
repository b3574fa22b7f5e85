/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPE "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};

mesh_member *
mesh_owner(mesh *self)
{
    return &self->members[0];
}

void
mesh_fail(const mesh_member *at, const char *what, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %d\n", (unsigned long long)sim_ms(&at->mesh->world),
            what, at->node->id, key);
    exit(EXIT_FAILURE);
}

void
mesh_run_for(mesh *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

/* ---- members ---- */

static udpai_store_options
store_options(uint64_t remember_ms)
{
    return (udpai_store_options){.remember_ms = remember_ms,
                                 .remember_max = 1000,
                                 .max_resources = 1000000,
                                 .max_bytes = 1 << 30,
                                 .max_resources_per_namespace = 1000000,
                                 .max_bytes_per_namespace = 1 << 30,
                                 .max_resources_per_publisher = 1000000,
                                 .max_bytes_per_publisher = 1 << 30};
}

void
mesh_remember_for(const mesh_member *at, uint64_t remember_ms)
{
    const udpai_store_options options = store_options(remember_ms);
    udpai_node_set_store_options(at->node->node, &options);
}

static void
plan_member(sim_node *node, sim_node_plan *plan)
{
    mesh_member *self = node->userdata;
    plan->is_management = true;
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = store_options(600000),
        .max_changes_ahead = 3,
        .is_durable = true,
    };
    if (self == mesh_owner(self->mesh))
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

void
mesh_set_files(mesh *self)
{
    udpa_resource *resources[MESH_KEYS];
    sim_node *owner = mesh_owner(self)->node;
    size_t n = 0;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], UDPAI_STR("x"));
    for (int key = 0; key < MESH_KEYS; key++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/%d", key);
        const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
        if (self->exists[key] && (!any || udpai_resource_make(&resources[n++], &parts) != UDPA_OK))
            abort();
    }
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .resources = resources,
                                       .n_resources = n,
                                       .max_withdrawal = 100};
    if (udpai_node_set_files(owner->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(owner);
    while (n-- > 0)
        udpa_resource_unref(resources[n]);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    mesh_member *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int key = (int)strtol(strchr(udpa_resource_name(change->resource), '/') + 1, NULL, 10);
        self->mesh->saw(self, key, change->is_removed);
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
    mesh_member *self = node->userdata;
    const udpai_selection selection = {.type_url = types[0], .prefix = UDPAI_STR("com.acme")};
    const udpai_local_ops ops = {on_update, on_complete, self};
    memset(self->has, 0, sizeof(self->has));
    if (self == mesh_owner(self->mesh))
        mesh_set_files(self->mesh);
    if (udpai_node_subscribe(node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
}

/* ---- shapes ---- */

static mesh_member *
add(mesh *self, const char *kind, unsigned char number)
{
    char id[16];
    mesh_member *at = &self->members[self->n_members++];
    snprintf(id, sizeof(id), "%s-%u", kind, number);
    at->mesh = self;
    at->node = sim_add_node(&self->world, id);
    at->node->plan = plan_member;
    at->node->started = member_started;
    at->node->userdata = at;
    return at;
}

static void
take_from(mesh_member *at, mesh_member *upstream)
{
    at->upstreams[at->n_upstreams++] = upstream;
}

void
mesh_begin(mesh *self, uint64_t seed)
{
    sim_world_init(&self->world, seed);
    self->world.trace = self->trace;
    mesh_member *owner = add(self, "owner", 0), *relays = &self->members[1];
    self->n_relays = 2 + sim_below(&self->world.random, MESH_RELAYS_MAX - 1);
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
    mesh_member *edge = add(self, "edge", 0);
    take_from(edge, &relays[self->n_relays - 1]);
    take_from(edge, &relays[self->n_relays - 2]);
    for (size_t i = 0; i < self->n_members; i++)
        sim_start_node(self->members[i].node);
}

void
mesh_end(mesh *self)
{
    sim_world_done(&self->world);
}
