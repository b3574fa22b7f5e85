/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over two levels: clients report to edges, edges to the top, and whatever streams end, edges
 * restart and clients move, nothing is counted twice; and nothing is lost where nobody has lost
 * what he had counted. */
#include "endpoint/load_sums.h"

#include "reports/tally.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"
#include "wire/arena.h"

#include <stdio.h>

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
    udpai_load_sums *sums;
    uint64_t up_session;  /* of this edge, at the top; 0: none */
    bool is_asked, hears; /* by the top, on that stream; that has come to it */
    bool asks;            /* its clients */
    udpa_resource *load;  /* its own sum, as it was offered last; NULL: none */
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
};

static int64_t
wall_us(void *userdata)
{
    const member *self = userdata;
    return ((int64_t)self->world->now_ms - (int64_t)self->world->back_ms) * 1000 + 1000000000;
}

static uint64_t
clock_ms(void *userdata)
{
    return ((const member *)userdata)->world->now_ms;
}

/* ---- what nodes order ---- */

static void
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

static void
note_ask(member *self, const udpai_order *order, bool asked)
{
    bool is_sum = udpai_str_eq(order->subscription->type_url, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD));
    for (int i = 1; is_sum && self->index == 0 && i <= EDGES; i++)
        if (self->world->members[i].up_session == order->session)
            self->world->members[i].is_asked = asked;
    if (!is_sum)
        self->asks = asked;
}

static void
on_order(void *userdata, udpai_order *order)
{
    member *self = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        keep_own(self, order->changes);
    else if (order->kind == UDPAI_ORDER_SUBSCRIBE || order->kind == UDPAI_ORDER_UNSUBSCRIBE)
        note_ask(self, order, order->kind == UDPAI_ORDER_SUBSCRIBE);
    udpai_order_free(order);
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_load_sums_wanted(((member *)userdata)->sums, type_url, text, wanted);
}

/* ---- nodes ---- */

static void
start(member *self)
{
    const udpai_node_config config = node_bed_config(self->id, LINGER_MS);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .wanted = on_wanted,
                                .userdata = self};
    udpai_wheel_init(&self->wheel, self->world->now_ms);
    assert_ok(udpai_node_new(&self->node, &self->wheel, &config, &env, NULL));
    const udpai_load_sums_options options = {.node = self->node,
                                             .wheel = &self->wheel,
                                             .node_id = udpai_str_from(self->id),
                                             .interval_ms = 10000,
                                             .wall_us = wall_us,
                                             .clock_ms = clock_ms,
                                             .userdata = self};
    assert_ok(udpai_load_sums_new(&self->sums, &options));
    udpai_node_start(self->node);
    udpai_node_flush(self->node);
    self->is_up = true;
}

static void
stop(member *self)
{
    udpai_load_sums_free(self->sums);
    self->node = udpai_node_free(self->node);
    udpa_resource_unref(self->load);
    self->load = NULL;
    self->is_up = self->asks = self->is_asked = self->hears = false;
}

static void
tell(member *self, uint64_t session, udpai_report *report)
{
    report->session = session;
    udpai_node_report(self->node, report);
    self->world->now_ms += self->world->turn_ms;
    udpai_node_flush(self->node);
}

static uint64_t
arrive(member *self, const char *id, bool is_node)
{
    uint64_t session = ++self->last_session;
    tell(self, session, node_bed_report(UDPAI_REPORT_OPENED));
    if (is_node)
        self->world->members[id[4] - '0'].up_session = session;
    tell(self, session, node_bed_introduction(id, is_node));
    return session;
}

/* Somebody there subscribes to a sum, or to all (empty), or does no more. */
static void
want_sum(member *self, const char *text, bool wanted)
{
    tell(self, 0, node_bed_interest(UDPAI_TYPE_CLUSTER_LOAD, "com.acme", text, wanted));
}

static void
want(member *self, bool wanted)
{
    want_sum(self, "", wanted);
}

static void
publish(member *self, uint64_t session, udpa_resource *resource)
{
    tell(self, session, node_bed_publication(resource));
}

/* ---- between edges and the top ---- */

/* What the top asks for comes to the edge. */
static void
hear(member *edge)
{
    if (edge->is_up && edge->hears != edge->is_asked)
        want(edge, edge->is_asked);
    edge->hears = edge->is_asked;
}

static void
link_up(member *edge)
{
    if (edge->up_session || !edge->is_up)
        return;
    arrive(&edge->world->members[0], edge->id, true);
    hear(edge);
}

static void
link_down(member *edge)
{
    if (!edge->up_session)
        return;
    tell(&edge->world->members[0], edge->up_session, node_bed_report(UDPAI_REPORT_CLOSED));
    edge->up_session = 0;
    edge->is_asked = false;
    hear(edge);
}

static void
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

static void
leave(world *self, client *who)
{
    if (who->edge >= 0 && self->members[who->edge].is_up)
        tell(&self->members[who->edge], who->session, node_bed_report(UDPAI_REPORT_CLOSED));
    who->edge = -1;
}

/* A stream of its own, with an epoch of its own, as LRS has. */
static void
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
static void
send_requests(world *self, client *who, uint64_t n)
{
    if (who->edge < 0 || !self->members[who->edge].asks)
        return;
    who->n_issued += n;
    self->n_issued += n;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = udpai_tally_new(&udpai_tally_client_limits);
    const udpai_tally_locality like = {.region = UDPAI_STR("eu")};
    udpai_tally_locality *locality;
    assert_ok(udpai_tally_set_text(&tally->cluster, UDPAI_STR(CLUSTER)));
    assert_ok(udpai_tally_get_locality(tally, &like, &locality, NULL));
    locality->figures.counts[UDPAI_TALLY_ISSUED] = who->n_issued;
    tally->epoch = who->epoch;
    tally->elapsed_ns = (self->now_ms - who->began_ms) * 1000000;
    tally->lasts_ns = TTL_MS * 1000000;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_tally_encode(tally);
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

static uint64_t
sum_of(const udpa_resource *load, uint64_t *ret_n_clients)
{
    *ret_n_clients = 0;
    if (!load)
        return 0;
    udpai_arena arena;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = NULL;
    assert_ok(udpai_tally_decode(&arena, udpai_resource_value(load), &udpai_tally_sum_limits,
                                 &tally, NULL));
    udpai_arena_done(&arena);
    uint64_t n = 0;
    for (size_t i = 0; i < tally->localities.n; i++)
        n += tally->localities.items[i].figures.counts[UDPAI_TALLY_ISSUED];
    *ret_n_clients = tally->n_clients;
    return n;
}

/* ---- the bed ---- */

static int
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

static int
end(void **state)
{
    world *self = *state;
    for (int i = 0; i <= EDGES; i++)
        if (self->members[i].is_up)
            stop(&self->members[i]);
    udpai_free(self);
    return 0;
}

static void
settle(world *self)
{
    for (int i = 0; i < 4; i++)
        pass(self, 1000);
}

static void
begin_all(world *self)
{
    want(&self->members[0], true);
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    for (int i = 0; i < CLIENTS; i++)
        come(self, &self->clients[i], 1 + i % EDGES);
    pass(self, 1000);
}

static void
expect_at_top(world *self, uint64_t n_issued, uint64_t n_clients)
{
    uint64_t n_here;
    settle(self);
    assert_int_equal(sum_of(self->members[0].load, &n_here), n_issued);
    assert_int_equal(n_here, n_clients);
}

/* ---- tests ---- */

static void
nothing_is_asked_before_somebody_wants_it(void **state)
{
    world *self = *state;
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    come(self, &self->clients[0], 1);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
    want(&self->members[0], true);
    assert_true(self->members[1].is_asked);
    pass(self, 0);
    assert_true(self->members[1].asks);
    want(&self->members[0], false);
    for (int i = 0; i < 4; i++) /* each level lingers, and what it has asked for in turn */
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
}

/* By its name alone it has what nodes below count, too. Of another node there is no sum. */
static void
one_sum_is_whole_by_its_name(void **state)
{
    world *self = *state;
    member *top = &self->members[0];
    for (int i = 1; i <= EDGES; i++)
        link_up(&self->members[i]);
    come(self, &self->clients[0], 1);
    want_sum(top, CLUSTER "/edge1", true);
    assert_true(self->members[1].is_asked);
    want_sum(top, CLUSTER "/edge1", false);
    for (int i = 0; i < 4; i++)
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    want_sum(top, CLUSTER "/top", true);
    want_sum(top, CLUSTER "/top", true);
    pass(self, 0);
    assert_true(self->members[1].is_asked);
    assert_true(self->members[1].asks);
    want_sum(top, CLUSTER "/top", false);
    want_sum(top, CLUSTER "/top", false);
    for (int i = 0; i < 4; i++)
        pass(self, LINGER_MS);
    assert_false(self->members[1].is_asked);
    assert_false(self->members[1].asks);
}

static void
the_top_has_the_sum_of_all(void **state)
{
    world *self = *state;
    begin_all(self);
    for (uint64_t i = 0; i < CLIENTS; i++)
        send_requests(self, &self->clients[i], 10 + i);
    expect_at_top(self, 75, CLIENTS);
    send_requests(self, &self->clients[3], 5);
    expect_at_top(self, 80, CLIENTS);
}

static void
a_stream_that_ends_and_comes_again_counts_on(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    link_down(&self->members[1]);
    link_up(&self->members[1]);
    send_requests(self, &self->clients[0], 7);
    expect_at_top(self, 17, 1);
    come(self, &self->clients[0], 1);
    send_requests(self, &self->clients[0], 3);
    expect_at_top(self, 20, 1);
}

static void
a_client_that_moves_counts_once(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    come(self, &self->clients[0], 2);
    send_requests(self, &self->clients[0], 4);
    settle(self);
    uint64_t n_clients;
    assert_int_equal(sum_of(self->members[0].load, &n_clients), 14);
}

/* It comes with counts that another node was told, so they count from there on. */
static void
who_has_told_others_counts_from_where_he_is(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    pass(self, 60000);
    come(self, who, 1);
    who->n_issued = 1000;
    who->began_ms = 0; /* long before its stream */
    send_requests(self, who, 1);
    expect_at_top(self, 0, 1);
    send_requests(self, who, 2);
    expect_at_top(self, 2, 1);
}

/* It was said long before it came here: in the meantime others may have heard it. */
static void
what_has_lain_is_as_old_as_it_is(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    come(self, who, 1);
    pass(self, 1000);
    who->lain_ms = 5000;
    send_requests(self, who, 7);
    expect_at_top(self, 0, 1);
    who->lain_ms = 0;
    send_requests(self, who, 2);
    expect_at_top(self, 2, 1);
}

/* So many have come in this turn that it takes longer than who comes first has counted. */
static void
who_has_to_wait_for_others_counts_all_the_same(void **state)
{
    world *self = *state;
    begin_all(self);
    client *who = &self->clients[0];
    come(self, who, 1);
    pass(self, 1000);
    self->turn_ms = 5000;
    send_requests(self, who, 7);
    self->turn_ms = 0;
    expect_at_top(self, 7, 1);
}

static void
an_edge_that_restarts_counts_nothing_again(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    link_down(&self->members[1]);
    stop(&self->members[1]);
    self->clients[0].edge = -1;
    self->clients[3].edge = -1;
    start(&self->members[1]);
    link_up(&self->members[1]);
    come(self, &self->clients[0], 1);
    send_requests(self, &self->clients[0], 5);
    expect_at_top(self, 15, 1);
}

static void
whoever_wants_sums_again_has_new_ones(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    want(&self->members[0], false);
    settle(self);
    assert_null(self->members[0].load);
    want(&self->members[0], true);
    link_down(&self->members[1]); /* its sum has an epoch from before */
    link_up(&self->members[1]);
    send_requests(self, &self->clients[0], 3);
    settle(self);
    uint64_t n_clients;
    assert_true(sum_of(self->members[0].load, &n_clients) <= 3);
}

/* What has lain here since before a sum of this node has ended, which had it. */
static void
a_clock_that_is_set_back_makes_nothing_younger(void **state)
{
    world *self = *state;
    begin_all(self);
    send_requests(self, &self->clients[0], 10);
    expect_at_top(self, 10, 1);
    want(&self->members[0], false);
    settle(self);
    settle(self);
    assert_false(self->members[1].asks);
    self->back_ms = 60000;
    settle(self);
    want(&self->members[0], true);
    expect_at_top(self, 0, 1);
}

/* ---- whatever happens ---- */

static size_t
below(world *self, size_t bound)
{
    return test_random_below(&self->random, bound);
}

static void
do_something(world *self)
{
    client *who = &self->clients[below(self, CLIENTS)];
    member *edge = &self->members[1 + below(self, EDGES)];
    switch (below(self, 12)) {
    case 0:
        link_down(edge);
        break;
    case 1:
        link_up(edge);
        break;
    case 2:
        come(self, who, edge->index);
        break;
    case 3:
        leave(self, who);
        break;
    case 4:
        if (below(self, 4) > 0)
            break;
        link_down(edge);
        stop(edge);
        for (int i = 0; i < CLIENTS; i++)
            if (self->clients[i].edge == edge->index)
                self->clients[i].edge = -1;
        start(edge);
        break;
    case 5:
        pass(self, below(self, 50000));
        break;
    default:
        send_requests(self, who, below(self, 100));
        break;
    }
    pass(self, below(self, 1500));
}

static void
nothing_is_ever_counted_twice(void **state)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        world *self = *state;
        self->random = seed;
        begin_all(self);
        uint64_t n_clients;
        for (int i = 0; i < 300; i++) {
            do_something(self);
            uint64_t sum = sum_of(self->members[0].load, &n_clients);
            if (sum > self->n_issued)
                fail_msg("seed %u: %llu were sent, and %llu counted", seed,
                         (unsigned long long)self->n_issued, (unsigned long long)sum);
        }
        end(state);
        begin(state);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_asked_before_somebody_wants_it, begin, end),
        cmocka_unit_test_setup_teardown(one_sum_is_whole_by_its_name, begin, end),
        cmocka_unit_test_setup_teardown(the_top_has_the_sum_of_all, begin, end),
        cmocka_unit_test_setup_teardown(a_stream_that_ends_and_comes_again_counts_on, begin, end),
        cmocka_unit_test_setup_teardown(a_client_that_moves_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(who_has_told_others_counts_from_where_he_is, begin, end),
        cmocka_unit_test_setup_teardown(what_has_lain_is_as_old_as_it_is, begin, end),
        cmocka_unit_test_setup_teardown(who_has_to_wait_for_others_counts_all_the_same, begin, end),
        cmocka_unit_test_setup_teardown(an_edge_that_restarts_counts_nothing_again, begin, end),
        cmocka_unit_test_setup_teardown(whoever_wants_sums_again_has_new_ones, begin, end),
        cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_makes_nothing_younger, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_ever_counted_twice, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
