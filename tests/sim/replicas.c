/* SPDX-License-Identifier: Apache-2.0 */
/* Two or three replicas on a model of etcd, with publishers, clients of xDS and UDPA, and a node
 * downstream that move between them, and a source upstream that each follows by itself. What must
 * hold is R1 to R7 of docs/design/simulation.md.
 *
 * sim_replicas [SEED] */
#include "replicas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/proto.h"
#include "seeds.h"

enum {
    N_SEEDS = 12,
    N_ROUNDS = 2,
    TROUBLE_S = 20,
    /* R5: after the end of all that fails. */
    CURRENT_MS = 3500,   /* replicas have all again, … */
    PUBLISHED_MS = 6000, /* … publishers are connected, and have receipts, … */
    LARGE_MS = 10000,    /* … also where somebody else has to finish a large change set */
};

uint64_t scene_counts[N_SCENE_COUNTS];
static uint64_t current_ms_max, published_ms_max[N_PUBLISHERS];

_Noreturn void
scene_fail(const scene *self, const char *what, const char *who, const char *name)
{
    fprintf(stderr, "FAIL at %llu ms: %s at %s: %s\n", (unsigned long long)sim_ms(&self->world),
            what, who, name);
    if (self->world.trace)
        same_show(self);
    exit(EXIT_FAILURE);
}

static void
note(const scene *self, const char *what, const sim_node *node)
{
    if (self->world.trace)
        fprintf(stderr, "%9llu %s%s\n", (unsigned long long)sim_ms(&self->world), what,
                node ? node->instance : "");
}

/* ---- names ---- */

void
scene_name(int at, char name[32])
{
    snprintf(name, 32, SPACE "/x%02d", at);
}

int
scene_at(udpai_str name)
{
    udpai_str prefix = UDPAI_STR(SPACE "/x");
    if (name.len != prefix.len + 2 || !udpai_str_starts(name, prefix))
        return -1;
    return 10 * (name.data[prefix.len] - '0') + name.data[prefix.len + 1] - '0';
}

/* A Cluster with a name and an alt_stat_name. */
udpai_str
scene_cluster(char room[64], const char *name, int number)
{
    char digits[16];
    udpai_proto_writer writer = {.at = (uint8_t *)room};
    snprintf(digits, sizeof(digits), "%d", number);
    udpai_proto_put_bytes(&writer, 1, udpai_str_from(name));
    udpai_proto_put_bytes(&writer, 28, udpai_str_from(digits));
    return (udpai_str){room, (size_t)((char *)writer.at - room)};
}

int
scene_number(udpai_str cluster)
{
    udpai_str digits = udpai_proto_last_bytes(cluster, 28);
    int number = 0;
    for (size_t i = 0; i < digits.len; i++)
        number = 10 * number + digits.data[i] - '0';
    return number;
}

/* ---- nodes ---- */

static udpai_node_config
config_of(const sim_node *node)
{
    return (udpai_node_config){
        .id = udpai_str_from(node->said_id),
        .authority = udpai_str_from(node->said_id),
        .timing = sim_timing,
        .store = {.remember_ms = 600000,
                  .remember_max = 1000,
                  .max_resources_per_namespace = 1000000,
                  .max_bytes_per_namespace = 1 << 30,
                  .max_resources_per_publisher = 1000000,
                  .max_bytes_per_publisher = 1 << 30,
                  .max_resources = 1000000,
                  .max_bytes = 1 << 30,
                  .max_withdrawal = 100},
        .peers_are_anonymous = true,
        .max_changes_ahead = 3,
    };
}

static void
follow(scene *self, sim_node_plan *plan, size_t place, const char *name, sim_node *of)
{
    static const udpai_str types[] = {UDPAI_STR(ENDPOINT), UDPAI_STR(CLUSTER)};
    udpai_source_config *source = &self->sources[place];
    *source = (udpai_source_config){.name = udpai_str_from(name), .max_withdrawal = 100};
    sim_target(of, source);
    self->descriptors[place] =
        (udpai_descriptor_config){source->name, {"", 0}, UDPAI_CONTINUE, false};
    self->providers[place] =
        (udpai_provider_config){types, of == self->upstream ? 1 : 2, &self->descriptors[place], 1};
    plan->config.sources = source;
    plan->config.n_sources = 1;
    plan->config.providers = &self->providers[place];
    plan->config.n_providers = 1;
}

static void
plan_replica(sim_node *node, sim_node_plan *plan)
{
    scene *self = node->userdata;
    plan->is_management = true;
    plan->config = config_of(node);
    plan->config.is_durable = true;
    plan->config.set_id = UDPAI_STR("the-set");
    plan->config.replica = udpai_str_from(node->instance);
    plan->config.list_part = self->seed % 4 ? 0 : 1 + self->seed % 23;
    plan->n_workers = self->seed % 3 == 0 ? 1 + node->index % 2 : 0;
    follow(self, plan, node->index, "upstream", self->upstream);
}

static void
plan_upstream(sim_node *node, sim_node_plan *plan)
{
    plan->is_management = true;
    plan->config = config_of(node);
    plan->config.is_durable = true;
    plan->files = UDPAI_STR("/files");
}

/* The edge keeps what it has; an endpoint does not. */
static void
plan_view(sim_node *node, sim_node_plan *plan)
{
    view *of = node->userdata;
    scene *self = of->owner;
    plan->is_management = of == &self->views[0];
    plan->config = config_of(node);
    plan->config.is_durable = plan->is_management;
    follow(self, plan, node->index, "set", self->front);
}

static void
view_started(sim_node *node)
{
    view_subscribe(node->userdata);
}

static void
set_files(sim_node *node)
{
    scene *self = node->userdata;
    udpa_resource *resources[N_FILES];
    for (int i = 0; i < N_FILES; i++) {
        char name[32], room[64];
        snprintf(name, sizeof(name), "com.upper/%d", i);
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *any =
            udpai_any_make(UDPAI_STR(ENDPOINT), scene_cluster(room, name, self->n_files + i));
        const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
        if (!any || udpai_resource_make(&resources[i], &parts) != UDPA_OK)
            abort();
    }
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .resources = resources,
                                       .n_resources = N_FILES,
                                       .max_withdrawal = 100};
    if (udpai_node_set_files(node->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(node);
    for (int i = 0; i < N_FILES; i++)
        udpa_resource_unref(resources[i]);
}

static void
replica_flushed(sim_node *node)
{
    same_check(node->userdata, sim_replica_of(node));
}

static view *
view_of(scene *self, const sim_node *node)
{
    for (int i = 0; i < N_VIEWS; i++)
        if (self->views[i].node == node)
            return &self->views[i];
    return NULL;
}

/* One that serves. */
static sim_node *
choose(sim_node *front, sim_node *dialler)
{
    scene *self = front->userdata;
    size_t first = sim_below(&self->world.random, self->set.n);
    sim_replica *chosen = self->chosen;
    for (size_t i = 0; i < self->set.n && !chosen; i++) {
        sim_replica *one = &self->set.replicas[(first + i) % self->set.n];
        chosen = one->node->is_serving ? one : NULL;
    }
    view *of = view_of(self, dialler);
    if (of && chosen)
        view_moved(of, chosen);
    return chosen ? chosen->node : NULL;
}

static void
build(scene *self)
{
    static const char *const ids[] = {"one", "two", "three"};
    size_t n = 2 + self->seed % 2;
    self->front = sim_add_node(&self->world, "front");
    self->front->stands_for = choose;
    self->front->userdata = self;
    self->upstream = sim_add_node(&self->world, "upstream");
    self->upstream->plan = plan_upstream;
    self->upstream->started = set_files;
    self->upstream->userdata = self;
    for (size_t i = 0; i < n; i++) {
        sim_node *node = sim_add_node(&self->world, ids[i]);
        node->said_id = "edge";
        node->plan = plan_replica;
        node->flushed = replica_flushed;
        node->userdata = self;
        sim_set_add(&self->set, node);
    }
    for (int i = 0; i <= N_ENDPOINTS; i++) {
        char id[16];
        snprintf(id, sizeof(id), i == 0 ? "below" : "endpoint-%d", i);
        sim_node *node = sim_add_node(&self->world, id);
        self->views[i] = (view){.owner = self, .node = node};
        node->plan = plan_view;
        node->started = view_started;
        node->userdata = &self->views[i];
    }
    publishers_begin(self);
    guests_begin(self);
    for (size_t i = 0; i < self->world.nodes.n; i++)
        if (self->world.nodes.items[i]->plan)
            sim_start_node(self->world.nodes.items[i]);
}

/* ---- what happens ---- */

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

static void
kill_or_start(scene *self, sim_replica *one)
{
    bool is_kept = sim_below(&self->chance, 3);
    if (!one->node->is_up) {
        sim_start_node(one->node);
        return;
    }
    note(self, is_kept ? "killed: " : "killed, and its disk is lost: ", one->node);
    sim_crash_node(one->node, is_kept);
    scene_counts[is_kept ? SCENE_KILLS : SCENE_WIPES]++;
}

static void
move_something(scene *self)
{
    sim_node *node = sim_once_in(&self->chance, 3)
                         ? publisher_node(self->publishers[sim_below(&self->chance, N_PUBLISHERS)])
                         : self->views[sim_below(&self->chance, N_VIEWS)].node;
    if (node->is_up)
        sim_cut_streams_of(node);
    scene_counts[SCENE_MOVES]++;
}

/* Its member goes no further. */
static void
be_old(scene *self, sim_replica *one)
{
    note(self, "an old member has ", one->node);
    one->client.old_revision = self->set.etcd.revision;
    scene_counts[SCENE_OLD_MEMBERS]++;
}

static void
disturb(scene *self)
{
    sim_random *chance = &self->chance;
    sim_replica *one = &self->set.replicas[sim_below(chance, self->set.n)];
    etcd_model *etcd = &self->set.etcd;
    switch (sim_below(chance, 13)) {
    case 0:
        if (etcd->is_away || sim_once_in(chance, 3)) {
            scene_counts[SCENE_AWAYS] += !etcd->is_away;
            note(self, etcd->is_away ? "etcd is back" : "etcd is away", NULL);
            scene_set_away(self, !etcd->is_away);
        }
        break;
    case 1:
        scene_counts[SCENE_AWAYS_OF_ONE] += !one->client.is_away;
        note(self, one->client.is_away ? "etcd is back for " : "etcd is away for ", one->node);
        scene_set_away_for(self, one, !one->client.is_away);
        break;
    case 2:
        scene_compact(self);
        break;
    case 3:
        scene_lose_leases(self);
        break;
    case 4:
    case 5:
        kill_or_start(self, one);
        break;
    case 6:
        be_old(self, one);
        break;
    case 7:
        one->node->stalls_until_us = self->world.now_us + sim_below(chance, SECOND);
        scene_counts[SCENE_STALLS]++;
        break;
    case 8:
        self->n_files++;
        if (self->upstream->is_up)
            set_files(self->upstream);
        break;
    default:
        move_something(self);
        break;
    }
}

static void
trouble(scene *self)
{
    sim_random *chance = &self->chance;
    uint64_t end_us = self->world.now_us + TROUBLE_S * SECOND;
    if (sim_below(chance, 4))
        self->set.etcd.faults = (etcd_faults){
            .lost_requests = (unsigned)sim_below(chance, 60),
            .lost_responses = (unsigned)sim_below(chance, 60),
            .late_requests = (unsigned)sim_below(chance, 60),
            .refused = (unsigned)sim_below(chance, 100),
            .filling = (unsigned)sim_below(chance, 20),
            .cut_watches = (unsigned)sim_below(chance, 50),
            .repeated = (unsigned)sim_below(chance, 300),
            .parts = (unsigned)sim_below(chance, 900),
            .old_members = (unsigned)sim_below(chance, 200),
            .late_watches = (unsigned)sim_below(chance, 30),
            .silent_watches = (unsigned)sim_below(chance, 10),
            .latency_ms = 1 + sim_below(chance, 40),
        };
    while (self->world.now_us < end_us) {
        disturb(self);
        stamps_disturb(self);
        ambush(self);
        run_for(self, 1 + sim_below(chance, sim_below(chance, 3) ? SECOND / 2 : 2 * SECOND));
    }
}

/* Nothing fails from now on. */
static void
heal(scene *self)
{
    note(self, "nothing fails any more", NULL);
    self->set.etcd.faults = (etcd_faults){.latency_ms = 20};
    scene_set_away(self, false);
    for (size_t i = 0; i < self->set.n; i++) {
        sim_replica *one = &self->set.replicas[i];
        scene_set_away_for(self, one, false);
        one->client.old_revision = 0;
        one->node->stalls_until_us = 0;
        if (!one->node->is_up)
            sim_start_node(one->node);
    }
}

/* ---- what must hold ---- */

static bool
is_current(const sim_replica *one)
{
    return one->node->is_serving && one->is_certain &&
           udpai_node_replica_status(one->node->node)->state == UDPAI_REPLICATION_CURRENT;
}

static bool
all_are_current(const scene *self)
{
    for (size_t i = 0; i < self->set.n; i++)
        if (!is_current(&self->set.replicas[i]))
            return false;
    return true;
}

static void
note_time(const scene *self, uint64_t since_ms, uint64_t *max_ms)
{
    uint64_t ms = sim_ms(&self->world) - since_ms;
    *max_ms = ms > *max_ms ? ms : *max_ms;
}

/* R5 */
static void
expect_recovery(scene *self)
{
    uint64_t since_ms = sim_ms(&self->world);
    while (!all_are_current(self)) {
        if (sim_ms(&self->world) - since_ms > CURRENT_MS)
            scene_fail(self, "a replica is not current in time", "set", "");
        run_for(self, SECOND / 50);
    }
    note_time(self, since_ms, &current_ms_max);
    for (int i = N_PUBLISHERS; i-- > 0;) { /* the first one has large ones */
        publisher *one = self->publishers[i];
        size_t n_before = publisher_n_committed(one);
        while (publisher_n_committed(one) == n_before) {
            if (sim_ms(&self->world) - since_ms > (i == 0 ? LARGE_MS : PUBLISHED_MS))
                scene_fail(self, "no receipt in time", publisher_node(one)->id, "");
            (void)publisher_try(one);
            run_for(self, SECOND / 50);
        }
        note_time(self, since_ms, &published_ms_max[i]);
    }
}

/* R1 and R2: all have what has a receipt. */
static void
check_views(scene *self)
{
    char name[32];
    for (int i = 0; i < N_VIEWS; i++)
        for (int at = 0; at < N_NAMES; at++) {
            scene_name(at, name);
            if (!view_holds(&self->views[i], name) &&
                self->views[i].values[at] != story_value(&self->stories[at]))
                scene_fail(self, "not what was committed last", self->views[i].node->id, name);
        }
}

static void
rest(scene *self)
{
    self->is_quiet = true;
    heal(self);
    expect_recovery(self);
    run_for(self, 25 * SECOND); /* and what ends by itself has ended */
    if (!publishers_are_done(self))
        scene_fail(self, "a publication has no answer", "set", "");
    check_views(self);
    same_check_quiet(self);
}

/* R2: they are moved to each replica, and are sent nothing. */
static void
move_all(scene *self)
{
    guests_expect_nothing(self, true);
    self->is_frozen = true;
    for (size_t k = 0; k < self->set.n; k++) {
        self->chosen = &self->set.replicas[k];
        for (int i = 0; i < N_VIEWS; i++)
            sim_cut_streams_of(self->views[i].node);
        run_for(self, 6 * SECOND);
        if (!guests_are_connected(self))
            scene_fail(self, "a client cannot connect", self->chosen->node->id, "");
        scene_counts[SCENE_RESUMED] += N_GUESTS;
    }
    self->chosen = NULL;
}

/* R4: without etcd what there is stays, and a replica that is killed has it again. */
static void
live_without_etcd(scene *self)
{
    sim_replica *one = &self->set.replicas[sim_below(&self->chance, self->set.n)];
    uint64_t before = same_digest(one, false);
    scene_set_away(self, true);
    run_for(self, sim_below(&self->chance, 20 * SECOND));
    sim_crash_node(one->node, true);
    run_for(self, sim_below(&self->chance, SECOND));
    sim_start_node(one->node);
    if (!one->node->is_serving)
        scene_fail(self, "it does not serve without etcd", one->node->id, "");
    self->chosen = one;
    for (int i = 0; i < N_VIEWS; i++)
        sim_cut_streams_of(self->views[i].node);
    run_for(self, 20 * SECOND);
    if (same_digest(one, false) != before)
        scene_fail(self, "not what it had before it was started without etcd", one->node->id, "");
    self->chosen = NULL;
    check_views(self);
    scene_counts[SCENE_STARTS_WITHOUT]++;
    scene_set_away(self, false);
}

static size_t
n_committed(const scene *self)
{
    size_t n = 0;
    for (int i = 0; i < N_PUBLISHERS; i++)
        n += publisher_n_committed(self->publishers[i]);
    return n;
}

/* By itself, or with a revision that no replica has seen yet. */
static void
restore(scene *self, int64_t revision)
{
    bool is_bumped = revision % 2;
    note(self, is_bumped ? "an older etcd at a higher revision" : "an older state of etcd", NULL);
    sim_set_begin(&self->set);
    if (is_bumped)
        etcd_model_restore_bumped(&self->set.etcd, revision, 1000000);
    else
        etcd_model_restore(&self->set.etcd, revision);
    sim_set_end(&self->set);
    scene_counts[SCENE_RESTORED]++;
}

static void
bring_back(scene *self)
{
    note(self, "the state of etcd is back", NULL);
    sim_set_begin(&self->set);
    etcd_model_bring_back(&self->set.etcd);
    sim_set_end(&self->set);
}

/* Before the last change of what is published, which all replicas have kept. */
static int64_t
last_publication(const etcd_model *etcd)
{
    for (size_t i = etcd->history.n; i-- > 0;)
        if (strncmp(etcd->history.items[i].key, "/udpa/c/", 8) == 0)
            return etcd->history.items[i].revision;
    return 0;
}

/* R1, R4: an older snapshot, of which no replica takes anything; and nobody publishes into it. */
static void
live_with_old_etcd(scene *self)
{
    sim_replica *one = &self->set.replicas[sim_below(&self->chance, self->set.n)];
    const etcd_model *etcd = &self->set.etcd;
    size_t before = n_committed(self);
    int64_t room = last_publication(etcd) - etcd->compacted;
    if (room <= 1)
        return;
    restore(self, etcd->compacted + (int64_t)sim_below(&self->chance, (uint64_t)room));
    run_for(self, sim_below(&self->chance, 5 * SECOND));
    sim_crash_node(one->node, true);
    run_for(self, sim_below(&self->chance, SECOND));
    sim_start_node(one->node);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < N_PUBLISHERS; k++)
            (void)publisher_try(self->publishers[k]);
        run_for(self, SECOND / 2);
    }
    if (n_committed(self) != before)
        scene_fail(self, "a receipt from an older etcd", "set", "");
    bring_back(self);
    expect_recovery(self);
    run_for(self, 25 * SECOND); /* and what ends by itself has ended */
}

/* R6: of one that is away, and of all at once. */
static void
live_without_leases(scene *self)
{
    sim_replica *one = &self->set.replicas[sim_below(&self->chance, self->set.n)];
    sim_crash_node(one->node, true);
    run_for(self, 15 * SECOND);
    scene_lose_leases(self);
    run_for(self, 5 * SECOND);
    sim_start_node(one->node);
    run_for(self, 10 * SECOND);
    check_views(self);
    same_check_quiet(self);
}

static void
stay(scene *self)
{
    move_all(self);
    live_without_etcd(self);
    run_for(self, 10 * SECOND);
    live_without_leases(self);
    self->is_frozen = false;
    guests_expect_nothing(self, false);
    live_with_old_etcd(self);
    check_views(self);
    same_check_quiet(self);
}

/* ---- a run ---- */

static void
run(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    self->seed = seed;
    self->chance.state = seed;
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    sim_set_init(&self->set, &self->world, seed);
    stamps_begin(self);
    ambush_begin(self);
    build(self);
    run_for(self, 10 * SECOND);
    for (int i = 0; i < N_ROUNDS; i++) {
        self->is_quiet = false;
        trouble(self);
        rest(self);
    }
    stay(self);
    self->is_over = true;
    for (size_t i = 0; i < self->world.nodes.n; i++)
        sim_crash_node(self->world.nodes.items[i], true);
    run_for(self, 10 * SECOND);
    sim_set_done(&self->set);
    sim_world_done(&self->world);
    publishers_free(self);
    guests_free(self);
    same_forget(self);
    stamps_free(self);
    udpai_vector_done(&self->digests);
    free(self);
}

int
main(int argc, char **argv)
{
    static const char *const texts[] = {
#define SCENE_COUNT_TEXT(name, text) [SCENE_##name] = text,
        SCENE_COUNTS(SCENE_COUNT_TEXT)
#undef SCENE_COUNT_TEXT
    };
    bool is_missing = false;
    sim_play_seeds(argc, argv, N_SEEDS, run);
    for (int i = 0; i < N_SCENE_COUNTS; i++) {
        printf("%8" PRIu64 " %s\n", scene_counts[i], texts[i]);
        is_missing |= scene_counts[i] == 0 && i != SCENE_HELD; /* which is rare */
    }
    printf("replicas are current %" PRIu64
           " ms after a failure, and publishing works after %" PRIu64
           " ms, of large change sets after %" PRIu64 " ms\n",
           current_ms_max, published_ms_max[1], published_ms_max[0]);
    return argc > 1 || !is_missing ? EXIT_SUCCESS : EXIT_FAILURE;
}
