/* SPDX-License-Identifier: Apache-2.0 */
/* A primary, one that stands in for it, a registrar that tells whichever of the two it reaches, and
 * endpoints that follow them; under random faults. What was confirmed to the registrar stays, at
 * everybody, and nobody ever goes back to something older.
 *
 * sim_recovery [--seeds A-B] [--trace] */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/proto.h"
#include "world.h"

enum {
    N_FOLLOWERS = 3,
    N_KEYS = 6,
    TROUBLE_S = 400, /* things happen for so long, … */
    QUIET_S = 120,   /* and then nothing */
};

#define SECOND UINT64_C(1000000)
#define TYPE "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
#define PREFIX "com.acme"

typedef struct scene scene;

/* An endpoint that fails over from the primary to the stand-in. */
typedef struct follower {
    scene *owner;
    sim_node *node;
    udpai_local_subscription *subscription;
    int versions[N_KEYS]; /* 0: it has none */
    uint64_t generations[N_KEYS];
} follower;

struct scene {
    sim_world world;
    uint64_t seed;
    sim_node *primary, *stand_in, *registrar;
    follower followers[N_FOLLOWERS];
    udpai_source_config sources[2 + N_FOLLOWERS + 2][2];
    udpai_descriptor_config descriptors[2];
    udpai_provider_config provider;
    int said[N_KEYS], confirmed[N_KEYS]; /* versions; confirmed ones may be lost no more */
    bool is_removed[N_KEYS];
    bool is_quiet, is_over;
    const char *authority; /* in whose name the registrar speaks; NULL: its own */
    uint64_t n_told_primary, n_told_stand_in;
};

static uint64_t n_adopted, n_fail_overs, n_outages, n_told_both;

static const udpai_str types[] = {{TYPE, sizeof(TYPE) - 1}};
static const udpai_str prefixes[] = {{PREFIX, sizeof(PREFIX) - 1}};

static void
fail(const scene *self, const char *who, const char *what, int key)
{
    fprintf(stderr,
            "FAIL at %llu ms: %s at %s: " PREFIX "/%d\n"
            "seed %llu has failed; to see it again: sim_recovery --seeds %llu-%llu --trace\n",
            (unsigned long long)sim_ms(&self->world), what, who, key,
            (unsigned long long)self->seed, (unsigned long long)self->seed,
            (unsigned long long)self->seed);
    exit(EXIT_FAILURE);
}

static void
key_name(int key, char name[32])
{
    snprintf(name, 32, PREFIX "/%d", key);
}

static int
key_of(const udpa_resource *resource)
{
    return (int)strtol(udpa_resource_name(resource) + sizeof(PREFIX), NULL, 10);
}

static int
version_of(const udpa_resource *resource)
{
    return (int)strtol(udpa_resource_version(resource), NULL, 10);
}

/* ---- how each is configured ---- */

static void
name_source(udpai_source_config *source, const char *name, sim_node *target)
{
    *source = (udpai_source_config){.name = udpai_str_from(name)};
    sim_target(target, source);
}

static udpai_node_config
config_of(const sim_node *node, udpai_source_config *sources, size_t n_sources)
{
    return (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = sources,
        .n_sources = n_sources,
        .peers_are_anonymous = true,
        .max_changes_ahead = 3,
    };
}

static void
plan_primary(sim_node *node, sim_node_plan *plan)
{
    scene *self = node->userdata;
    udpai_source_config *sources = self->sources[node->index];
    name_source(&sources[0], "stand-in", self->stand_in);
    sources[0].recover = (udpai_recover_config){types, 1, prefixes, 1};
    plan->is_management = true;
    plan->config = config_of(node, sources, 1);
    plan->config.is_durable = true;
}

static void
plan_stand_in(sim_node *node, sim_node_plan *plan)
{
    scene *self = node->userdata;
    udpai_source_config *sources = self->sources[node->index];
    name_source(&sources[0], "primary", self->primary);
    sources[0].standby_for = types;
    sources[0].n_standby_for = 1;
    plan->is_management = true;
    plan->config = config_of(node, sources, 1);
    plan->config.is_durable = true;
    plan->config.providers = &self->provider;
    plan->config.n_providers = 1;
    self->provider = (udpai_provider_config){types, 1, self->descriptors, 1};
}

static void
plan_registrar(sim_node *node, sim_node_plan *plan)
{
    scene *self = node->userdata;
    udpai_source_config *sources = self->sources[node->index];
    name_source(&sources[0], "primary", self->primary);
    name_source(&sources[1], "stand-in", self->stand_in);
    sources[0].stays_connected = sources[1].stays_connected = true;
    plan->config = config_of(node, sources, 2);
}

static const udpai_descriptor_config both[] = {
    {{"primary", 7}, {"", 0}, UDPAI_STOP_ON_SUCCESS, true},
    {{"stand-in", 8}, {"", 0}, UDPAI_STOP_ON_SUCCESS, true},
};
static const udpai_provider_config of_both = {types, 1, both, 2};

static void
plan_follower(sim_node *node, sim_node_plan *plan)
{
    scene *self = ((follower *)node->userdata)->owner;
    udpai_source_config *sources = self->sources[node->index];
    name_source(&sources[0], "primary", self->primary);
    name_source(&sources[1], "stand-in", self->stand_in);
    plan->config = config_of(node, sources, 2);
    plan->config.providers = &of_both;
    plan->config.n_providers = 1;
}

/* ---- endpoints ---- */

static void
see(follower *self, const udpai_local_change *change)
{
    int key = key_of(change->resource), version = version_of(change->resource);
    scene *owner = self->owner;
    if (change->is_removed) {
        if (!owner->is_removed[key])
            fail(owner, self->node->id, "a removal that nobody asked for", key);
        self->versions[key] = 0;
        return;
    }
    if (owner->is_removed[key])
        fail(owner, self->node->id, "a ghost", key);
    if (version < self->versions[key])
        fail(owner, self->node->id, "an older version", key);
    if (udpa_resource_generation(change->resource) < self->generations[key])
        fail(owner, self->node->id, "an older generation", key);
    self->versions[key] = version;
    self->generations[key] = udpa_resource_generation(change->resource);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        see(userdata, udpai_local_update_at(update, i));
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

static void
follower_started(sim_node *node)
{
    follower *self = node->userdata;
    const udpai_selection selection = {.type_url = types[0], .prefix = prefixes[0]};
    const udpai_local_ops ops = {on_update, on_complete, self};
    if (udpai_node_subscribe(node->node, &selection, &ops, &self->subscription) != UDPA_OK)
        abort();
}

/* ---- the registrar ---- */

static udpa_resource *
make(const char *name, const char *authority, int version)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d", version);
    const udpai_str value = {text, (size_t)len};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(types[0], value);
    const udpai_resource_parts parts = {
        .name = udpai_str_from(name),
        .authority = udpai_str_from(authority),
        .version = value,
        .any = any,
    };
    udpa_resource *resource = NULL;
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        abort();
    return resource;
}

static void
add(udpai_publication *publication, const scene *self, int key)
{
    char name[32];
    key_name(key, name);
    if (self->is_removed[key]) {
        if (udpai_publication_remove(publication, udpai_str_from(name)) != UDPA_OK)
            abort();
        return;
    }
    udpa_resource *resource = make(name, self->authority, self->said[key]);
    if (udpai_publication_add(publication, resource, false) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

/* The primary, if it can be reached; else the stand-in. */
static udpai_str
whom_to_tell(scene *self)
{
    const udpai_node *node = self->registrar->node;
    const udpai_str primary = UDPAI_STR("primary"), stand_in = UDPAI_STR("stand-in");
    if (udpai_node_may_publish_to(node, primary)) {
        self->n_told_primary++;
        return primary;
    }
    if (!udpai_node_may_publish_to(node, stand_in))
        return (udpai_str){0};
    self->n_told_stand_in++;
    return stand_in;
}

/* What is not confirmed yet; of one that is removed too. */
static void
say(scene *self, int key)
{
    udpai_publication *publication = udpai_publication_new();
    udpai_str whom = whom_to_tell(self);
    if (!publication || udpai_publication_set(&publication->type_url, types[0]) != UDPA_OK)
        abort();
    add(publication, self, key);
    if (whom.len)
        (void)udpai_node_publish(self->registrar->node, whom, publication);
    else
        udpai_publication_free(publication);
    sim_touch(self->registrar);
}

static void
registrar_answered(sim_node *node,
                   uint64_t ticket,
                   const udpai_publication *publication,
                   const udpa_error *error)
{
    (void)ticket;
    scene *self = node->userdata;
    for (size_t i = 0; !error && i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        int key = key_of(entry->resource), version = version_of(entry->resource);
        if (entry->error)
            fail(self, "registrar", udpa_error_message(entry->error), key);
        if (version > self->confirmed[key])
            self->confirmed[key] = version;
    }
}

/* Says something new of a key when the last of it was confirmed, else that again. */
static void
tick(sim_world *world, void *userdata)
{
    scene *self = userdata;
    if (self->is_over)
        return;
    int key = (int)sim_below(&world->random, N_KEYS);
    bool is_confirmed = self->confirmed[key] == self->said[key];
    if (is_confirmed && !self->is_quiet)
        self->said[key]++;
    if (!is_confirmed || !self->is_quiet)
        say(self, key);
    sim_after(world, SECOND / 2 + sim_below(&world->random, SECOND), tick, self);
}

/* ---- what happens ---- */

static void
come_back(sim_world *world, void *userdata)
{
    (void)world;
    sim_node *node = userdata;
    if (!node->is_up)
        sim_start_node(node);
}

static void
part(scene *self, const sim_node *node, bool parted)
{
    for (size_t i = 0; i < self->world.nodes.n; i++)
        if (self->world.nodes.items[i] != node)
            sim_set_partition(&self->world, node, self->world.nodes.items[i], parted);
}

static void
heal(sim_world *world, void *userdata)
{
    scene *self = userdata;
    (void)world;
    part(self, self->primary, false);
    part(self, self->stand_in, false);
}

static void
happen(sim_world *world, void *userdata)
{
    scene *self = userdata;
    if (self->is_quiet)
        return;
    /* Of an authority whose words compare only at each of the two by itself, who comes back to a
     * primary that cannot reach its stand-in finds what is older. */
    bool may_be_stand_in = !self->authority && sim_once_in(&world->random, 3);
    sim_node *victim = may_be_stand_in ? self->stand_in : self->primary;
    uint64_t duration = sim_below(&world->random, 40 * SECOND);
    uint64_t what = sim_below(&world->random, 4);
    if (world->trace)
        fprintf(stderr, "%9llu %s: trouble %d for %llu ms\n", (unsigned long long)sim_ms(world),
                victim->id, (int)what, (unsigned long long)duration / 1000);
    switch (what) {
    case 0:
        if (victim->is_up) {
            sim_crash_node(victim, true);
            sim_after(world, duration, come_back, victim);
            n_outages++;
        }
        break;
    case 1:
        part(self, victim, true);
        sim_after(world, duration, heal, self);
        n_outages++;
        break;
    case 2:
        (void)sim_cut_something(world);
        break;
    default:
        (void)sim_slow_something(world, duration);
        break;
    }
    sim_after(world, sim_below(&world->random, 30 * SECOND), happen, self);
}

/* ---- what must have come of it ---- */

struct look {
    int version;
};

static bool
take_version(void *userdata, const udpai_contribution *contribution)
{
    struct look *look = userdata;
    if (contribution->effective)
        look->version = version_of(contribution->resource);
    return true;
}

static int
version_at(const sim_node *node, int key)
{
    struct look look = {0};
    char name[32];
    key_name(key, name);
    udpai_store_visit_name(udpai_node_store(node->node), types[0], udpai_str_from(name),
                           take_version, &look);
    return look.version;
}

static void
expect(const scene *self, const sim_node *node, int key, int version)
{
    if (version_at(node, key) != version)
        fail(self, node->id, version ? "not the last version" : "a ghost", key);
}

static void
check_all(scene *self)
{
    for (int key = 0; key < N_KEYS; key++) {
        int version = self->is_removed[key] ? 0 : self->said[key];
        if (!self->is_removed[key] && self->said[key] != self->confirmed[key])
            fail(self, "registrar", "no confirmation", key);
        expect(self, self->primary, key, version);
        expect(self, self->stand_in, key, version);
        for (int i = 0; i < N_FOLLOWERS; i++)
            if (self->followers[i].versions[key] != version)
                fail(self, self->followers[i].node->id, "not the last version", key);
    }
}

static void
count_adopted(void *userdata, udpai_str name, udpa_bytes *status)
{
    (void)userdata;
    (void)name;
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 16)
            n_adopted += field.value;
}

/* ---- a run ---- */

static sim_node *
add_node(scene *self, const char *id, void (*plan)(sim_node *node, sim_node_plan *plan))
{
    sim_node *node = sim_add_node(&self->world, id);
    node->plan = plan;
    node->userdata = self;
    return node;
}

static void
build(scene *self)
{
    char id[16];
    self->primary = add_node(self, "primary", plan_primary);
    self->primary->recovers = true;
    self->stand_in = add_node(self, "stand-in", plan_stand_in);
    self->registrar = add_node(self, "registrar", plan_registrar);
    self->registrar->published = registrar_answered;
    self->descriptors[0] =
        (udpai_descriptor_config){{"primary", 7}, prefixes[0], UDPAI_STOP_ON_SUCCESS, false};
    for (int i = 0; i < N_FOLLOWERS; i++) {
        snprintf(id, sizeof(id), "endpoint-%d", i);
        follower *at = &self->followers[i];
        at->owner = self;
        at->node = add_node(self, id, plan_follower);
        at->node->userdata = at;
        at->node->started = follower_started;
    }
    for (size_t i = 0; i < self->world.nodes.n; i++)
        sim_start_node(self->world.nodes.items[i]);
}

/* Everything is said once where it belongs: a stand-in adds nothing. */
static void
begin(scene *self)
{
    sim_run_until(&self->world, 10 * SECOND);
    for (int key = 0; key < N_KEYS; key++) {
        self->said[key] = 1;
        say(self, key);
    }
    sim_run_until(&self->world, 20 * SECOND);
    for (int key = 0; key < N_KEYS; key++)
        if (self->confirmed[key] != 1)
            fail(self, "registrar", "no confirmation", key);
}

static void
settle(scene *self)
{
    self->is_quiet = true;
    part(self, self->primary, false);
    part(self, self->stand_in, false);
    come_back(&self->world, self->primary);
    come_back(&self->world, self->stand_in);
    sim_run_until(&self->world, self->world.now_us + QUIET_S * SECOND);
}

/* What the registrar takes back at the primary is gone, and does not come back with the stand-in.
 */
static void
take_back(scene *self)
{
    for (int key = 0; key < N_KEYS / 2; key++) {
        self->is_removed[key] = true;
        say(self, key);
    }
    sim_run_until(&self->world, self->world.now_us + 20 * SECOND);
    check_all(self);
    sim_crash_node(self->primary, true);
    sim_run_until(&self->world, self->world.now_us + 60 * SECOND);
    for (int key = 0; key < N_KEYS; key++)
        expect(self, self->stand_in, key, self->is_removed[key] ? 0 : self->said[key]);
    come_back(&self->world, self->primary);
    sim_run_until(&self->world, self->world.now_us + 60 * SECOND);
    check_all(self);
}

static void
run(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    self->seed = seed;
    self->authority = seed % 2 ? NULL : "acme";
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    build(self);
    begin(self);
    sim_after(&self->world, SECOND, tick, self);
    sim_after(&self->world, SECOND, happen, self);
    sim_run_until(&self->world, TROUBLE_S * SECOND);
    settle(self);
    check_all(self);
    if (udpai_node_visit_sources(self->primary->node, count_adopted, NULL) != UDPA_OK)
        abort();
    take_back(self);
    n_told_both += self->n_told_primary && self->n_told_stand_in;
    n_fail_overs += self->n_told_stand_in > 0;
    self->is_over = true;
    sim_world_done(&self->world);
    free(self);
}

int
main(int argc, char **argv)
{
    unsigned long long first = 1, last = 100;
    bool trace = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            trace = true;
        else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%llu-%llu", &first, &last) == 2)
            i++;
        else {
            fprintf(stderr, "usage: sim_recovery [--seeds A-B] [--trace]\n");
            return EXIT_FAILURE;
        }
    }
    for (unsigned long long seed = first; seed <= last; seed++)
        run(seed, trace);
    printf("%llu seeds: %llu outages; the stand-in was told something in %llu runs, both in %llu; "
           "%llu words were taken over by the last life of a primary\n",
           last - first + 1, (unsigned long long)n_outages, (unsigned long long)n_fail_overs,
           (unsigned long long)n_told_both, (unsigned long long)n_adopted);
    if (last - first >= 20 && (!n_outages || !n_told_both || !n_adopted)) {
        fprintf(stderr, "FAIL: something never happened\n");
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
