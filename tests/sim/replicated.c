/* SPDX-License-Identifier: Apache-2.0 */
#include "replicated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* What the loop asks of the thread of etcd. */
typedef struct task {
    udpai_list node;
    udpai_durable_batch *batch; /* NULL: it is a barrier */
    udpai_replicated *event;
} task;

/* ---- time ---- */

static void
tick(sim_world *world, void *userdata)
{
    (void)world;
    sim_set_begin(userdata);
    sim_set_end(userdata);
}

void
sim_set_begin(sim_set *set)
{
    udpai_wheel_advance(&set->wheel, sim_ms(set->world));
}

void
sim_set_end(sim_set *set)
{
    uint64_t now_us = set->world->now_us, next_ms = udpai_wheel_next(&set->wheel);
    if (next_ms == UDPAI_WHEEL_NEVER)
        return;
    uint64_t at_us = next_ms * 1000 > now_us ? next_ms * 1000 : now_us;
    if (at_us >= set->tick_us && set->tick_us > now_us)
        return;
    set->tick_us = at_us;
    sim_after(set->world, at_us - now_us, tick, set);
}

static uint64_t
random_number(void *userdata)
{
    return sim_next(&((sim_replica *)userdata)->set->world->random);
}

static bool
is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    (void)type_url;
    return false;
}

/* ---- to the loop ---- */

static void
serve_if_ready(sim_replica *self)
{
    const udpai_replica_status *status = udpai_node_replica_status(self->node->node);
    bool has_joined =
        status->membership == UDPAI_MEMBERSHIP_JOINED || status->state != UDPAI_REPLICATION_CURRENT;
    if (has_joined && udpai_node_position(self->node->node).cluster_id)
        sim_serve(self->node);
}

static void
take_inbox(sim_node *node)
{
    sim_replica *self = node->replica;
    udpai_list *at;
    self->inbox_due = false;
    sim_loop_begin(node);
    while ((at = udpai_list_pop(&self->inbox)))
        udpai_node_replicated(node->node, UDPAI_LIST_ENTRY(at, udpai_replicated, node));
    if (!node->is_serving) {
        udpai_node_apply_replicated(node->node);
        serve_if_ready(self);
    }
    sim_loop_end(node);
}

/* Before that the node must know that something may be missing. */
static void
note_loose(sim_replica *self)
{
    if (self->is_certain) {
        fprintf(stderr, "FAIL: a barrier has not passed, and %s takes itself for current\n",
                self->node->instance);
        exit(EXIT_FAILURE);
    }
    self->loose_us = self->set->world->now_us;
}

static void
show(const sim_replica *self, const udpai_replicated *event)
{
    static const char *const states[] = {"starting", "current", "behind", "held"};
    static const char *const outcomes[] = {"committed", "lost", "rejected", "not done", "unknown"};
    fprintf(stderr, "%9" PRIu64 " %s: ", sim_ms(self->set->world), self->node->instance);
    if (event->kind == UDPAI_REPLICATED_STATE)
        fprintf(stderr, "%s%s\n", states[event->state], event->is_uncertain ? "?" : "");
    else if (event->kind == UDPAI_REPLICATED_OUTCOME)
        fprintf(stderr, "proposal %" PRIu64 " is %s\n", event->ticket, outcomes[event->outcome]);
    else if (event->kind == UDPAI_REPLICATED_BARRIER)
        fprintf(stderr, "barrier %" PRIu64 " %s at %" PRId64 "\n", event->ticket,
                event->is_current ? "passes" : "is given up", self->set->etcd.revision);
    else if (event->kind == UDPAI_REPLICATED_CHANGE)
        fprintf(stderr, "%zu%s changes up to %" PRId64 " of %" PRId64 "\n", event->batch->ops.n,
                event->is_all ? ", all," : "", event->batch->position.revision,
                self->set->etcd.revision);
    else
        fprintf(stderr, "%zu members\n", event->n_members);
}

static void
on_report(void *userdata, udpai_replicated *event)
{
    sim_replica *self = userdata;
    if (self->set->world->trace)
        show(self, event);
    if (event->kind == UDPAI_REPLICATED_STATE)
        self->is_certain = event->state == UDPAI_REPLICATION_CURRENT && !event->is_uncertain;
    else if (event->kind == UDPAI_REPLICATED_BARRIER && !event->is_current)
        note_loose(self);
    udpai_list_append(&self->inbox, &event->node);
    if (self->inbox_due)
        return;
    self->inbox_due = true;
    sim_node_after(self->node, sim_hesitation_us(self->set->world), take_inbox);
}

/* ---- to the thread of etcd ---- */

static void
take_tasks(sim_node *node)
{
    sim_replica *self = node->replica;
    udpai_list *at;
    self->tasks_due = false;
    sim_set_begin(self->set);
    while ((at = udpai_list_pop(&self->tasks))) {
        task *one = UDPAI_LIST_ENTRY(at, task, node);
        if (one->batch)
            udpai_replicator_propose(self->replicator, one->batch, one->event);
        else
            udpai_replicator_barrier(self->replicator, one->event);
        udpai_free(one);
    }
    sim_set_end(self->set);
}

static void
give(sim_node *node, udpai_durable_batch *batch, udpai_replicated *event)
{
    sim_replica *self = node->replica;
    task *one = udpai_alloc(sizeof(*one));
    if (!one)
        abort();
    one->batch = batch;
    one->event = event;
    udpai_list_append(&self->tasks, &one->node);
    if (self->tasks_due)
        return;
    self->tasks_due = true;
    sim_node_after(node, sim_hesitation_us(node->world), take_tasks);
}

static udpai_replicated *
new_event(udpai_replicated_kind kind, uint64_t ticket)
{
    udpai_replicated *event = udpai_replicated_new(kind);
    if (!event)
        abort();
    event->ticket = ticket;
    return event;
}

static void
propose(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    sim_node *node = userdata;
    give(node, batch, new_event(UDPAI_REPLICATED_OUTCOME, ticket));
}

static void
barrier(void *userdata, uint64_t ticket)
{
    sim_node *node = userdata;
    give(node, NULL, new_event(UDPAI_REPLICATED_BARRIER, ticket));
}

/* ---- life ---- */

static void
start(sim_node *node)
{
    sim_replica *self = node->replica;
    const udpai_replicator_env env = {
        .etcd = &self->client.etcd,
        .wheel = &self->set->wheel,
        .random = random_number,
        .report = on_report,
        .userdata = self,
    };
    const udpai_replicator_config config = {
        .prefix = UDPAI_STR("/udpa/"),
        .own = {.id = udpai_str_from(node->instance), .config = UDPAI_STR("the same")},
        .seals.is_secret = is_secret,
        .proof = *udpai_node_position_proof(node->node),
        .has = udpai_node_position(node->node),
    };
    self->is_certain = false;
    sim_set_begin(self->set);
    if (udpai_replicator_new(&self->replicator, &env, &config) != UDPA_OK)
        abort();
    sim_set_end(self->set);
    if (config.has.cluster_id)
        sim_serve(node);
}

static void
stop(sim_node *node)
{
    sim_replica *self = node->replica;
    udpai_list *at;
    sim_set_begin(self->set);
    self->replicator = udpai_replicator_free(self->replicator);
    sim_set_end(self->set);
    while ((at = udpai_list_pop(&self->inbox)))
        udpai_replicated_free(UDPAI_LIST_ENTRY(at, udpai_replicated, node));
    while ((at = udpai_list_pop(&self->tasks))) {
        task *one = UDPAI_LIST_ENTRY(at, task, node);
        udpai_durable_batch_free(one->batch);
        udpai_replicated_free(one->event);
        udpai_free(one);
    }
    self->tasks_due = self->inbox_due = false;
}

static const sim_replication_ops ops = {start, stop, propose, barrier};

void
sim_set_add(sim_set *set, sim_node *node)
{
    if (set->n == SIM_REPLICAS_MAX)
        abort();
    sim_replica *self = &set->replicas[set->n++];
    self->set = set;
    self->node = node;
    etcd_model_client_init(&self->client, &set->etcd);
    udpai_list_init(&self->tasks);
    udpai_list_init(&self->inbox);
    node->replication = &ops;
    node->replica = self;
}

sim_replica *
sim_replica_of(const sim_node *node)
{
    return node->replica;
}

void
sim_set_init(sim_set *set, sim_world *world, uint64_t seed)
{
    set->world = world;
    udpai_wheel_init(&set->wheel, sim_ms(world));
    etcd_model_init(&set->etcd, &set->wheel, seed);
}

void
sim_set_done(sim_set *set)
{
    etcd_model_done(&set->etcd);
}
