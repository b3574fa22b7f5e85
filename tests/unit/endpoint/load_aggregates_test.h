/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over two levels, by hand: clients report to edges, edges to the top. Nodes are real, what is
 * between them is here. */
#ifndef UDPAI_LOAD_AGGREGATES_TEST_H
#define UDPAI_LOAD_AGGREGATES_TEST_H

#include "endpoint/load_aggregates.h"

#include "model/types.h"
#include "reports/load_stats.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"
#include "wire/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define EDGES 3
#define CLIENTS 6
#define LINGER_MS 1000
#define TTL_MS ((uint64_t)40000)
#define CLUSTER "com.acme/a"

typedef struct world world;

/* A node of the federation: 0 is the top. */
typedef struct member {
    world *world;
    int index;
    char id[16];
    bool is_up;
    udpai_wheel wheel;
    udpai_node *node;
    udpai_service *aggregates;
    uint64_t up_session;  /* of this edge, at the top; 0: none */
    bool is_asked, hears; /* by the top, on that stream; that has come to it */
    bool asks;            /* its clients */
    udpa_resource *load;  /* its own aggregate, as it was offered last; NULL: none */
    uint64_t last_session;
} member;

typedef struct client {
    char id[16];
    int edge; /* where its stream is; -1: nowhere */
    uint64_t session, epoch, began_ms;
    uint64_t n_issued; /* since the epoch */
    uint64_t lain_ms;  /* so long what it says has lain */
} client;

struct world {
    member members[1 + EDGES];
    client clients[CLIENTS];
    uint64_t now_ms;
    uint64_t back_ms;  /* so far the clocks were set back */
    uint64_t turn_ms;  /* what nodes take in needs so long, and wheels stand still meanwhile */
    uint64_t n_issued; /* by all clients, ever */
    uint64_t random;
    uint64_t sleep_ms; /* of aggregates of nodes that start; 0: as ever */
    char kept_in[32];  /* a directory, where aggregates outlast restarts; "": they do not */
};

static inline int64_t
wall_us(void *userdata)
{
    const member *self = userdata;
    return ((int64_t)self->world->now_ms - (int64_t)self->world->back_ms) * 1000 + 1000000000;
}

static inline uint64_t
clock_ms(void *userdata)
{
    return ((const member *)userdata)->world->now_ms;
}

/* ---- what nodes order ---- */

static inline void
keep_own(member *self, const udpai_change_set *changes)
{
    char name[64];
    snprintf(name, sizeof(name), CLUSTER "/%s", self->id);
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        if (strcmp(udpa_resource_name(change->resource), name) != 0 ||
            !udpai_str_eq(udpai_resource_type_url(change->resource),
                          UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD)))
            continue;
        udpa_resource_unref(self->load);
        self->load =
            change->kind == UDPAI_CHANGE_REMOVE ? NULL : udpa_resource_ref(change->resource);
    }
}

static inline void
note_ask(member *self, const udpai_order *order, bool asked)
{
    bool is_load = udpai_str_eq(order->subscription->type_url, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD));
    for (int i = 1; is_load && self->index == 0 && i <= EDGES; i++)
        if (self->world->members[i].up_session == order->session)
            self->world->members[i].is_asked = asked;
    if (!is_load)
        self->asks = asked;
}

static inline void
on_order(void *userdata, udpai_order *order)
{
    member *self = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        keep_own(self, order->changes);
    else if (order->kind == UDPAI_ORDER_SUBSCRIBE || order->kind == UDPAI_ORDER_UNSUBSCRIBE)
        note_ask(self, order, order->kind == UDPAI_ORDER_SUBSCRIBE);
    udpai_order_free(order);
}

static inline void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_service_demand(((member *)userdata)->aggregates, type_url, text, wanted);
}

/* ---- nodes ---- */

static inline const char *
kept_at(const member *self, char path[64])
{
    snprintf(path, 64, "%s/%s", self->world->kept_in, self->id);
    return path;
}

static inline void
start(member *self)
{
    const udpai_node_config config = node_bed_config(self->id, LINGER_MS);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .demand_changed = on_wanted,
                                .userdata = self};
    udpai_wheel_init(&self->wheel, self->world->now_ms);
    assert_ok(udpai_node_new(&self->node, &self->wheel, &config, &env, NULL));
    const udpai_load_aggregates_options options = {.node = self->node,
                                                   .wheel = &self->wheel,
                                                   .node_id = udpai_str_from(self->id),
                                                   .interval_ms = 10000,
                                                   .sleep_ms = self->world->sleep_ms,
                                                   .wall_us = wall_us,
                                                   .clock_ms = clock_ms,
                                                   .userdata = self};
    assert_ok(udpai_load_aggregates_new(&self->aggregates, &options));
    char path[64];
    if (*self->world->kept_in)
        assert_ok(
            udpai_load_aggregates_keep(self->aggregates, kept_at(self, path), UDPAI_STR("owner")));
    udpai_node_start(self->node);
    udpai_node_flush(self->node);
    self->is_up = true;
}

static inline void
stop(member *self)
{
    udpai_service_free(self->aggregates);
    self->node = udpai_node_free(self->node);
    udpa_resource_unref(self->load);
    self->load = NULL;
    self->is_up = self->asks = self->is_asked = self->hears = false;
}

static inline void
tell(member *self, uint64_t session, udpai_report *report)
{
    report->session = session;
    udpai_node_report(self->node, report);
    self->world->now_ms += self->world->turn_ms;
    udpai_node_flush(self->node);
}

static inline uint64_t
arrive(member *self, const char *id, bool is_node)
{
    uint64_t session = ++self->last_session;
    tell(self, session, node_bed_report(UDPAI_REPORT_OPENED));
    if (is_node)
        self->world->members[id[4] - '0'].up_session = session;
    tell(self, session, node_bed_introduction(id, is_node));
    return session;
}

/* Somebody there subscribes to an aggregate, or to all (empty), or does no more. */
static inline void
want_aggregate(member *self, const char *text, bool wanted)
{
    tell(self, 0, node_bed_interest(UDPAI_TYPE_CLUSTER_LOAD, "com.acme", text, wanted));
}

static inline void
want(member *self, bool wanted)
{
    want_aggregate(self, "", wanted);
}

static inline void
publish(member *self, uint64_t session, udpa_resource *resource)
{
    tell(self, session, node_bed_publication(resource));
}

/* ---- between edges and the top ---- */

/* What the top asks for comes to the edge. */
static inline void
hear(member *edge)
{
    if (edge->is_up && edge->hears != edge->is_asked)
        want(edge, edge->is_asked);
    edge->hears = edge->is_asked;
}

static inline void
link_up(member *edge)
{
    if (edge->up_session || !edge->is_up)
        return;
    arrive(&edge->world->members[0], edge->id, true);
    hear(edge);
}

static inline void
link_down(member *edge)
{
    if (!edge->up_session)
        return;
    tell(&edge->world->members[0], edge->up_session, node_bed_report(UDPAI_REPORT_CLOSED));
    edge->up_session = 0;
    edge->is_asked = false;
    hear(edge);
}

static inline void
pass(world *self, uint64_t ms)
{
    self->now_ms += ms;
    for (int i = 0; i <= EDGES; i++)
        if (self->members[i].is_up)
            udpai_wheel_advance(&self->members[i].wheel, self->now_ms);
    for (int i = EDGES; i >= 0; i--) {
        member *at = &self->members[i];
        if (!at->is_up)
            continue;
        udpai_node_flush(at->node);
        hear(at);
        if (i && at->up_session && at->is_asked && at->load)
            publish(&self->members[0], at->up_session, at->load);
    }
}

/* ---- clients ---- */

static inline void
leave(world *self, client *who)
{
    if (who->edge >= 0 && self->members[who->edge].is_up)
        tell(&self->members[who->edge], who->session, node_bed_report(UDPAI_REPORT_CLOSED));
    who->edge = -1;
}

/* A stream of its own, with an epoch of its own, as LRS has. */
static inline void
come(world *self, client *who, int edge)
{
    leave(self, who);
    if (!self->members[edge].is_up)
        return;
    who->edge = edge;
    who->session = arrive(&self->members[edge], who->id, false);
    who->epoch++;
    who->n_issued = 0;
    who->began_ms = self->now_ms;
}

/* What it has sent while nobody has asked it is not counted anywhere, as in LRS. */
static inline void
send_requests(world *self, client *who, uint64_t n)
{
    if (who->edge < 0 || !self->members[who->edge].asks)
        return;
    who->n_issued += n;
    self->n_issued += n;
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
    const udpai_load_stats_locality like = {.region = UDPAI_STR("eu")};
    udpai_load_stats_locality *locality;
    assert_ok(udpai_load_stats_set_text(&stats->cluster, UDPAI_STR(CLUSTER)));
    assert_ok(udpai_load_stats_get_locality(stats, &like, &locality, NULL));
    locality->figures.counts[UDPAI_LOAD_STATS_ISSUED] = who->n_issued;
    stats->epoch = who->epoch;
    stats->elapsed_ns = (self->now_ms - who->began_ms) * 1000000;
    stats->lasts_ns = TTL_MS * 1000000;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_load_stats_encode(stats);
    char name[64];
    snprintf(name, sizeof(name), CLUSTER "/%s", who->id);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD), udpai_bytes_view(body));
    const udpai_resource_parts parts = {
        .name = udpai_str_from(name), .any = any, .ttl_ms = TTL_MS - who->lain_ms};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    publish(&self->members[who->edge], who->session, resource);
}

/* ---- looking ---- */

static inline uint64_t
aggregate_of(const udpa_resource *load, uint64_t *ret_n_clients)
{
    *ret_n_clients = 0;
    if (!load)
        return 0;
    udpai_arena arena;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    assert_ok(udpai_load_stats_decode(&arena, udpai_resource_value(load),
                                      &udpai_load_aggregate_limits, &stats, NULL));
    udpai_arena_done(&arena);
    uint64_t n = 0;
    for (size_t i = 0; i < stats->localities.n; i++)
        n += stats->localities.items[i].figures.counts[UDPAI_LOAD_STATS_ISSUED];
    *ret_n_clients = stats->n_clients;
    return n;
}

/* ---- the bed ---- */

static inline int
begin(void **state)
{
    world *self = udpai_alloc(sizeof(*self));
    for (int i = 0; i <= EDGES; i++) {
        member *at = &self->members[i];
        at->world = self;
        at->index = i;
        snprintf(at->id, sizeof(at->id), i ? "edge%d" : "top", i);
        start(at);
    }
    for (int i = 0; i < CLIENTS; i++) {
        snprintf(self->clients[i].id, sizeof(self->clients[i].id), "x%d", i);
        self->clients[i].edge = -1;
    }
    *state = self;
    return 0;
}

static inline int
end(void **state)
{
    world *self = *state;
    for (int i = 0; i <= EDGES; i++)
        if (self->members[i].is_up)
            stop(&self->members[i]);
    for (int i = 0; *self->kept_in && i <= EDGES; i++) {
        char path[64];
        unlink(kept_at(&self->members[i], path));
    }
    if (*self->kept_in)
        rmdir(self->kept_in);
    udpai_free(self);
    return 0;
}

static inline void
settle(world *self)
{
    for (int i = 0; i < 4; i++)
        pass(self, 1000);
}

static inline void
begin_all(world *self)
{
    want(&self->members[0], true);
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    for (int i = 0; i < CLIENTS; i++)
        come(self, &self->clients[i], 1 + i % EDGES);
    pass(self, 1000);
}

static inline void
expect_at_top(world *self, uint64_t n_issued, uint64_t n_clients)
{
    uint64_t n_here;
    settle(self);
    assert_int_equal(aggregate_of(self->members[0].load, &n_here), n_issued);
    assert_int_equal(n_here, n_clients);
}

#endif
