/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "network.h"

/* In a second, beside those of the world: all endpoints of a large one may come back at once. */
#define EVENTS_OF_NODE_MAX 400

const char *const sim_count_names[SIM_COUNTS] = {
#define SIM_COUNT_NAME(name, text) [SIM_##name] = text,
    SIM_COUNTS_TABLE(SIM_COUNT_NAME)
#undef SIM_COUNT_NAME
};

const udpai_node_timing sim_timing = {
    .connect_grace_ms = 2000,
    .sync_timeout_ms = 15000,
    .fail_over_spread_ms = 500,
    .recover_timeout_ms = 10000,
    .fail_back_delay_ms = SIM_FAIL_BACK_DELAY_MS,
    .backoff_base_ms = 250,
    .backoff_max_ms = 4000,
    .interest_linger_ms = 1000,
    .silence_ms = 1000,
    .silence_max_ms = 5000,
    .answer_timeout_ms = 30000,
};

/* ---- events ---- */

struct sim_event {
    uint64_t at_us, order;
    sim_action_fn action;
    void *userdata;
};

static bool
is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void
sift_up(sim_world *world, size_t at)
{
    struct sim_event **heap = world->events.items;
    for (; at > 0 && is_before(heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2) {
        struct sim_event *above = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = heap[at];
        heap[at] = above;
    }
}

static void
sift_down(sim_world *world, size_t at)
{
    struct sim_event **heap = world->events.items;
    for (;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < world->events.n && is_before(heap[child], heap[first]))
                first = child;
        if (first == at)
            return;
        struct sim_event *swap = heap[at];
        heap[at] = heap[first];
        heap[first] = swap;
        at = first;
    }
}

void
sim_after(sim_world *world, uint64_t delay_us, sim_action_fn action, void *userdata)
{
    struct sim_event *event = udpai_alloc(sizeof(*event));
    if (!event || !udpai_vector_push(&world->events, event))
        abort();
    *event = (struct sim_event){world->now_us + delay_us, world->n_events++, action, userdata};
    sift_up(world, world->events.n - 1);
}

/* Messages that beget messages: time would stand still, and the run never end. */
static void
check_storm(sim_world *world)
{
    if (++world->n_in_second > world->events_per_second_max + world->nodes.n * EVENTS_OF_NODE_MAX) {
        fprintf(stderr, "FAIL: %llu events within a second, and no end of it\n",
                (unsigned long long)world->n_in_second);
        exit(EXIT_FAILURE);
    }
    if (world->now_us / 1000000 == world->second)
        return;
    world->second = world->now_us / 1000000;
    world->n_in_second = 0;
}

void
sim_run_until(sim_world *world, uint64_t time_us)
{
    while (world->events.n && world->events.items[0]->at_us <= time_us) {
        struct sim_event *event = world->events.items[0];
        world->events.items[0] = world->events.items[--world->events.n];
        sift_down(world, 0);
        world->now_us = event->at_us;
        check_storm(world);
        event->action(world, event->userdata);
        udpai_free(event);
    }
    world->now_us = time_us;
}

/* ---- events that belong to one life of a node ---- */

struct life_event {
    sim_node *node;
    sim_side *side; /* NULL: of none */
    unsigned epoch;
    void (*action)(sim_node *node);
    void (*side_action)(sim_side *side);
};

static void
run_life_event(sim_world *world, void *userdata)
{
    (void)world;
    struct life_event *event = userdata;
    bool is_alive = event->node->is_up && event->node->epoch == event->epoch;
    if (is_alive && event->side)
        event->side_action(event->side);
    else if (is_alive)
        event->action(event->node);
    udpai_free(event);
}

static void
after(const struct life_event *what, uint64_t delay_us)
{
    struct life_event *event = udpai_alloc(sizeof(*event));
    if (!event)
        abort();
    *event = *what;
    event->epoch = what->node->epoch;
    sim_after(what->node->world, delay_us, run_life_event, event);
}

void
sim_node_after(sim_node *node, uint64_t delay_us, void (*action)(sim_node *node))
{
    after(&(struct life_event){.node = node, .action = action}, delay_us);
}

void
sim_side_after(sim_side *side, uint64_t delay_us, void (*action)(sim_side *side))
{
    after(&(struct life_event){.node = side->node, .side = side, .side_action = action}, delay_us);
}

/* ---- the loop ---- */

static void loop_tick(sim_node *node);

static void
schedule_loop_tick(sim_node *node)
{
    uint64_t next_ms = udpai_wheel_next(&node->loop_wheel);
    if (next_ms == UDPAI_WHEEL_NEVER)
        return;
    uint64_t at_us = next_ms * 1000 > node->world->now_us ? next_ms * 1000 : node->world->now_us;
    if (at_us >= node->loop_tick_us && node->loop_tick_us > node->world->now_us)
        return;
    node->loop_tick_us = at_us;
    sim_node_after(node, at_us - node->world->now_us, loop_tick);
}

void
sim_loop_begin(sim_node *node)
{
    udpai_wheel_advance(&node->loop_wheel, sim_ms(node->world));
}

void
sim_loop_end(sim_node *node)
{
    if (node->is_serving)
        udpai_node_flush(node->node);
    if (node->is_serving && node->flushed)
        node->flushed(node);
    schedule_loop_tick(node);
}

static void
loop_tick(sim_node *node)
{
    sim_loop_begin(node);
    sim_loop_end(node);
}

void
sim_touch(sim_node *node)
{
    if (node->is_up)
        loop_tick(node);
}

/* ---- surroundings ---- */

int64_t
sim_wall_us(const sim_node *node)
{
    return 1700000000000000 + (int64_t)node->world->now_us + node->clock_us;
}

static int64_t
wall_us(void *userdata)
{
    return sim_wall_us(userdata);
}

static uint64_t
random_number(void *userdata)
{
    return sim_next(&((sim_node *)userdata)->world->random);
}

static void
on_published(void *userdata,
             uint64_t ticket,
             const udpai_publication *publication,
             const udpa_error *error)
{
    sim_node *node = userdata;
    if (node->published)
        node->published(node, ticket, publication, error);
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    sim_node *node = userdata;
    if (node->wanted)
        node->wanted(node, type_url, text, wanted);
}

static void
on_audience_moved(void *userdata)
{
    sim_node *node = userdata;
    if (node->audience_moved)
        node->audience_moved(node);
}

/* ---- life and death ---- */

static void
new_disk(sim_node *node)
{
    snprintf(node->instance, sizeof(node->instance), "%s#%u", node->id, ++node->n_disks);
}

sim_node *
sim_add_node(sim_world *world, const char *id)
{
    sim_node *node = udpai_alloc(sizeof(*node));
    if (!node || world->nodes.n == SIM_NODES_MAX || !udpai_vector_push(&world->nodes, node))
        abort();
    node->world = world;
    node->index = world->nodes.n - 1;
    snprintf(node->id, sizeof(node->id), "%s", id);
    node->said_id = node->id;
    new_disk(node);
    udpai_list_init(&node->streams);
    return node;
}

/* Replicas are one to everybody else. */
static udpai_node_info *
say_more(const sim_node *node, udpai_str set_id, udpai_node_info *bare)
{
    char run[16];
    snprintf(run, sizeof(run), "%u", node->epoch);
    const udpai_node_metadata said[] = {
        {UDPAI_NODE_KEY_INSTANCE, set_id.len ? set_id : udpai_str_from(node->instance)},
        {UDPAI_NODE_KEY_RUN, set_id.len ? set_id : udpai_str_from(run)},
    };
    udpai_node_info *info;
    if (udpai_node_info_with_metadata(&info, bare, said, UDPAI_ARRAY_LEN(said)) != UDPA_OK)
        abort();
    udpai_node_info_unref(bare);
    return info;
}

static udpai_node_info *
make_info(const sim_node *node, const sim_node_plan *plan)
{
    udpai_str features[3] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS), UDPAI_STR(UDPAI_FEATURE_NODE)};
    size_t n = plan->knows_public_protocol_only ? 0 : plan->is_management ? 2 : 1;
    if (plan->has_reports)
        features[n++] = UDPAI_STR(UDPAI_FEATURE_CLIENT);
    const udpai_node_parts parts = {
        .id = udpai_str_from(node->said_id),
        .features = features,
        .n_features = n,
    };
    udpai_node_info *info;
    if (udpai_node_info_new(&info, &parts) != UDPA_OK)
        abort();
    return plan->is_management ? say_more(node, plan->config.set_id, info) : info;
}

static void
make_halves(sim_node *node, const sim_node_plan *plan)
{
    udpai_wheel_init(&node->loop_wheel, sim_ms(node->world));
    const sim_replication_ops *replication = node->replication;
    const udpai_node_env node_env = {
        .propose = replication ? replication->propose : NULL,
        .barrier = replication ? replication->barrier : NULL,
        .order = sim_on_order,
        .commit = plan->config.is_durable ? sim_disk_commit : NULL,
        .wall_us = wall_us,
        .random = random_number,
        .published = on_published,
        .demand_changed = on_wanted,
        .audience_moved = on_audience_moved,
        .userdata = node,
    };
    udpa_error *error = NULL;
    if (udpai_node_new(&node->node, &node->loop_wheel, &plan->config, &node_env, &error)) {
        fprintf(stderr, "cannot make node %s: %s\n", node->id, udpa_error_message(error));
        abort();
    }
    sim_sides_make(node, plan, make_info(node, plan));
}

void
sim_start_node(sim_node *node)
{
    sim_node_plan plan = {0};
    node->plan(node, &plan);
    plan.config.id = udpai_str_from(node->said_id);
    plan.config.instance = plan.config.set_id.len
                               ? plan.config.set_id
                               : udpai_str_from(plan.is_management ? node->instance : "");
    node->is_management = plan.is_management;
    node->is_durable = plan.config.is_durable;
    node->has_restored = node->kept.n > 0;
    node->is_up = true;
    node->loop_tick_us = 0;
    make_halves(node, &plan);
    if (plan.files.len && udpai_node_expect_files(node->node, plan.files) != UDPA_OK)
        abort();
    sim_disk_open(node);
    for (size_t i = 0; i < node->kept.n; i++)
        if (udpai_node_restore(node->node, &node->kept.items[i]) != UDPA_OK)
            abort();
    if (node->replication)
        node->replication->start(node);
    else
        sim_serve(node);
}

void
sim_serve(sim_node *node)
{
    node->is_serving = true;
    if (node->started)
        node->started(node);
    udpai_node_start(node->node);
    loop_tick(node);
}

void
sim_crash_node(sim_node *node, bool keep_state)
{
    if (!node->is_up)
        return;
    if (node->stopped)
        node->stopped(node);
    sim_end_streams_of(node);
    sim_disk_check(node);
    node->is_up = node->is_serving = false;
    node->epoch++;
    sim_sides_free(node);
    if (node->replication)
        node->replication->stop(node);
    node->world->counts[SIM_REFUSED_BY_ACL] += udpai_node_n_denied(node->node);
    node->node = udpai_node_free(node->node);
    node->disk_busy_until_us = 0;
    node->dies_committing = false;
    node->known_sources.n = 0;
    if (!keep_state || !node->is_durable) {
        sim_disk_lose(node);
        new_disk(node);
    }
}

void
sim_world_init(sim_world *world, uint64_t seed)
{
    memset(world, 0, sizeof(*world));
    world->random.state = seed;
    world->now_us = 1000000;
    world->events_per_second_max = 1000000;
    udpai_list_init(&world->streams);
    udpai_decoder_init(&world->decoder);
}

void
sim_world_done(sim_world *world)
{
    for (size_t i = 0; i < world->nodes.n; i++)
        sim_crash_node(world->nodes.items[i], false);
    /* What is left of events only frees what it holds. */
    while (world->events.n)
        sim_run_until(world, world->events.items[0]->at_us);
    for (size_t i = 0; i < world->nodes.n; i++) {
        sim_disk_lose(world->nodes.items[i]); /* of one that had crashed before, too */
        udpai_vector_done(&world->nodes.items[i]->kept);
        udpai_vector_done(&world->nodes.items[i]->known_sources);
        udpai_identity_unref(world->nodes.items[i]->identity);
        udpai_free(world->nodes.items[i]);
    }
    udpai_vector_done(&world->nodes);
    udpai_vector_done(&world->events);
    udpai_decoder_done(&world->decoder);
    udpai_vector_done(&world->partitioned);
}
