/* SPDX-License-Identifier: Apache-2.0 */
/* What a node adds up of clients that report to several nodes: each once, from wherever it hears of
 * them, and not what other nodes have made of them. */
#include "endpoint/load_aggregates.h"

#include "reports/load_stats.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"
#include "wire/arena.h"

#include <stdio.h>

#define CLUSTER "com.acme/a"
#define TTL_MS 40000

typedef struct bed {
    udpai_wheel wheel;
    udpai_node *node;
    udpai_service *aggregates;
    udpa_resource *load; /* its own aggregate, as it was offered last; NULL: none */
    uint64_t now_ms, last_session;
    bool asks_shared; /* clients, and nodes below, for what is of shared ones */
} bed;

/* ---- the node ---- */

static int64_t
wall_us(void *userdata)
{
    return (int64_t)((const bed *)userdata)->now_ms * 1000 + 1000000;
}

static uint64_t
clock_ms(void *userdata)
{
    return ((const bed *)userdata)->now_ms;
}

static void
keep_own(bed *self, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        if (strcmp(udpa_resource_name(change->resource), CLUSTER "/top") != 0)
            continue;
        udpa_resource_unref(self->load);
        self->load =
            change->kind == UDPAI_CHANGE_REMOVE ? NULL : udpa_resource_ref(change->resource);
    }
}

static void
on_order(void *userdata, udpai_order *order)
{
    bed *self = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        keep_own(self, order->changes);
    else if ((order->kind == UDPAI_ORDER_SUBSCRIBE || order->kind == UDPAI_ORDER_UNSUBSCRIBE) &&
             udpai_str_eq(order->subscription->type_url, UDPAI_STR(UDPAI_TYPE_SHARED_CLIENT_LOAD)))
        self->asks_shared = order->kind == UDPAI_ORDER_SUBSCRIBE;
    udpai_order_free(order);
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_service_demand(((bed *)userdata)->aggregates, type_url, text, wanted);
}

static void
start(bed *self)
{
    const udpai_node_config config = node_bed_config("top", 1000);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .demand_changed = on_wanted,
                                .userdata = self};
    udpai_wheel_init(&self->wheel, self->now_ms);
    assert_ok(udpai_node_new(&self->node, &self->wheel, &config, &env, NULL));
    const udpai_load_aggregates_options options = {.node = self->node,
                                                   .wheel = &self->wheel,
                                                   .node_id = UDPAI_STR("top"),
                                                   .interval_ms = 10000,
                                                   .wall_us = wall_us,
                                                   .clock_ms = clock_ms,
                                                   .userdata = self};
    assert_ok(udpai_load_aggregates_new(&self->aggregates, &options));
    udpai_node_start(self->node);
    udpai_node_flush(self->node);
}

static void
stop(bed *self)
{
    udpai_service_free(self->aggregates);
    self->node = udpai_node_free(self->node);
    udpa_resource_unref(self->load);
    self->load = NULL;
}

static uint64_t
arrive(bed *self, const char *id, bool is_node)
{
    uint64_t session = ++self->last_session;
    node_bed_tell(self->node, session, node_bed_report(UDPAI_REPORT_OPENED));
    node_bed_tell(self->node, session, node_bed_introduction(id, is_node));
    return session;
}

static void
want(bed *self, bool wanted)
{
    node_bed_tell(self->node, 0,
                  node_bed_interest(UDPAI_TYPE_CLUSTER_LOAD, "com.acme", "", wanted));
}

static void
pass(bed *self, uint64_t ms)
{
    self->now_ms += ms;
    udpai_wheel_advance(&self->wheel, self->now_ms);
    udpai_node_flush(self->node);
}

/* ---- what peers say ---- */

static udpai_load_stats *
counts(const udpai_load_stats_limits *limits, uint64_t n)
{
    udpai_load_stats *stats = udpai_load_stats_new(limits);
    const udpai_load_stats_locality like = {.region = UDPAI_STR("eu")};
    udpai_load_stats_locality *locality;
    assert_ok(udpai_load_stats_set_text(&stats->cluster, UDPAI_STR(CLUSTER)));
    assert_ok(udpai_load_stats_get_locality(stats, &like, &locality, NULL));
    locality->figures.counts[UDPAI_LOAD_STATS_ISSUED] = n;
    return stats;
}

typedef struct said {
    const char *type, *who;
    uint64_t n, epoch, elapsed_ms;
    uint64_t ttl_ms; /* what is left of it; 0: all */
    bool is_shared;
} said;

static void
publish(bed *self, uint64_t session, const udpai_load_stats *stats, const said *what)
{
    char name[64];
    snprintf(name, sizeof(name), CLUSTER "/%s", what->who);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_load_stats_encode(stats);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(udpai_str_from(what->type), udpai_bytes_view(body));
    const udpai_hop hop = {.node_id = udpai_str_from(what->who)};
    const udpai_resource_parts parts = {.name = udpai_str_from(name),
                                        .any = any,
                                        .ttl_ms = what->ttl_ms ? what->ttl_ms : TTL_MS,
                                        .hops = &hop,
                                        .n_hops = 1};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    node_bed_tell(self->node, session, node_bed_publication(resource));
}

static void
say(bed *self, uint64_t session, const said *what)
{
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = counts(&udpai_load_stats_client_limits, what->n);
    stats->epoch = what->epoch;
    stats->elapsed_ns = what->elapsed_ms * 1000000;
    stats->is_shared = what->is_shared;
    stats->lasts_ns = (uint64_t)TTL_MS * 1000000;
    publish(self, session, stats, what);
}

#define SAY(bed, session, ...) say((bed), (session), &(const said){__VA_ARGS__})
#define SHARED(...)                                                                                \
    .type = UDPAI_TYPE_SHARED_CLIENT_LOAD, .who = "s", .is_shared = true, __VA_ARGS__

/* A node's aggregate; for it and what in it is shared. */
static void
say_aggregate(bed *self, uint64_t session, uint64_t n, uint64_t n_shared)
{
    const said what = {.type = UDPAI_TYPE_CLUSTER_LOAD, .who = "edge"};
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = counts(&udpai_load_aggregate_limits, n);
    udpai_load_stats_node node = {.since_us = 1, .until_us = n};
    assert_ok(udpai_load_stats_set_text(&node.id, UDPAI_STR("edge")));
    assert_true(udpai_vector_push(&stats->nodes, node));
    stats->epoch = 1;
    stats->n_clients = 2;
    if (n_shared) {
        stats->shared = counts(&udpai_load_aggregate_limits, n_shared);
        stats->shared->n_clients = 1;
    }
    publish(self, session, stats, &what);
}

static void
expect(bed *self, uint64_t n, uint64_t n_shared, uint64_t n_clients)
{
    for (int i = 0; i < 3; i++)
        pass(self, 1000);
    assert_non_null(self->load);
    udpai_arena arena;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    assert_ok(udpai_load_stats_decode(&arena, udpai_resource_value(self->load),
                                      &udpai_load_aggregate_limits, &stats, NULL));
    udpai_arena_done(&arena);
    const udpai_load_stats_locality like = {.region = UDPAI_STR("eu")},
                                    *all = udpai_load_stats_find_locality(stats, &like),
                                    *shared =
                                        stats->shared
                                            ? udpai_load_stats_find_locality(stats->shared, &like)
                                            : NULL;
    assert_int_equal(all ? all->figures.counts[UDPAI_LOAD_STATS_ISSUED] : 0, n);
    assert_int_equal(shared ? shared->figures.counts[UDPAI_LOAD_STATS_ISSUED] : 0, n_shared);
    assert_int_equal(stats->n_clients, n_clients);
}

static int
begin(void **state)
{
    bed *self = udpai_alloc(sizeof(*self));
    start(self);
    want(self, true);
    pass(self, 100000);
    *state = self;
    return 0;
}

static int
end(void **state)
{
    bed *self = *state;
    stop(self);
    udpai_free(self);
    return 0;
}

/* ---- tests ---- */

static void
aggregates_ask_for_shared_clients_while_they_are_wanted(void **state)
{
    bed *self = *state;
    (void)arrive(self, "edge", true);
    assert_true(self->asks_shared);
    want(self, false);
    for (int i = 0; i < 4; i++)
        pass(self, 1000);
    assert_false(self->asks_shared);
}

static void
a_shared_client_counts_once_by_all_ways(void **state)
{
    bed *self = *state;
    uint64_t edge = arrive(self, "edge", true), other = arrive(self, "other", true),
             client = arrive(self, "s", false);
    pass(self, 1000);
    SAY(self, client, .type = UDPAI_TYPE_CLIENT_LOAD, .who = "s", .n = 7, .epoch = 1,
        .is_shared = true);
    SAY(self, client, SHARED(.n = 7, .epoch = 1));
    SAY(self, edge, SHARED(.n = 7, .epoch = 1));
    SAY(self, other, SHARED(.n = 5, .epoch = 1)); /* which is behind */
    say_aggregate(self, edge, 1007, 7);
    expect(self, 1007, 7, 2);
    node_bed_tell(self->node, client, node_bed_report(UDPAI_REPORT_CLOSED));
    SAY(self, edge, SHARED(.n = 9, .epoch = 1, .elapsed_ms = 2000));
    say_aggregate(self, edge, 1010, 9);
    expect(self, 1010, 9, 2);
}

/* From one to two nodes, and back to the other: three epochs. */
static void
a_client_that_is_shared_for_a_while(void **state)
{
    bed *self = *state;
    uint64_t client = arrive(self, "s", false), edge = arrive(self, "edge", true);
    pass(self, 1000);
    SAY(self, client, .type = UDPAI_TYPE_CLIENT_LOAD, .who = "s", .n = 10, .epoch = 1);
    expect(self, 10, 0, 1);
    SAY(self, client, .type = UDPAI_TYPE_CLIENT_LOAD, .who = "s", .n = 4, .epoch = 2,
        .is_shared = true);
    SAY(self, client, SHARED(.n = 4, .epoch = 2));
    expect(self, 14, 4, 1);
    say_aggregate(self, edge, 4, 4); /* it has heard of it, too */
    expect(self, 14, 4, 2);
    SAY(self, client, .type = UDPAI_TYPE_CLIENT_LOAD, .who = "s", .n = 3, .epoch = 3);
    expect(self, 17, 4, 3);
    pass(self, 2 * TTL_MS);
    expect(self, 17, 4, 0);
}

/* Of an epoch that began before this node: an earlier life of it may have had that. */
static void
what_an_earlier_life_may_have_told_is_where_it_begins(void **state)
{
    bed *self = *state;
    stop(self);
    start(self);
    want(self, true);
    uint64_t edge = arrive(self, "edge", true);
    pass(self, 5000);
    SAY(self, edge, SHARED(.n = 100, .epoch = 1, .elapsed_ms = 10000));
    expect(self, 0, 0, 1);
    SAY(self, edge, SHARED(.n = 103, .epoch = 1, .elapsed_ms = 13000));
    expect(self, 3, 3, 1);
}

/* By a long way it comes as it was before this node began, and what it has grown by since has grown
 * in part before, too. */
static void
what_was_taken_before_this_node_began_is_no_begin(void **state)
{
    bed *self = *state;
    stop(self);
    start(self);
    want(self, true);
    uint64_t edge = arrive(self, "edge", true);
    pass(self, 1000);
    SAY(self, edge, SHARED(.n = 50, .epoch = 1, .elapsed_ms = 9000, .ttl_ms = TTL_MS - 3000));
    expect(self, 0, 0, 1);
    pass(self, 4000);
    SAY(self, edge, SHARED(.n = 120, .epoch = 1, .elapsed_ms = 16000));
    expect(self, 0, 0, 1);
    SAY(self, edge, SHARED(.n = 123, .epoch = 1, .elapsed_ms = 16500));
    expect(self, 3, 3, 1);
}

/* It says that little time is covered; but that was a while ago, and the edge has kept it. */
static void
what_has_stood_on_the_way_is_as_old_as_it_is(void **state)
{
    bed *self = *state;
    stop(self);
    start(self);
    want(self, true);
    uint64_t edge = arrive(self, "edge", true);
    pass(self, 5000);
    SAY(self, edge, SHARED(.n = 100, .epoch = 1, .elapsed_ms = 1000, .ttl_ms = TTL_MS - 4500));
    expect(self, 0, 0, 1);
    SAY(self, edge, SHARED(.n = 50, .epoch = 2, .elapsed_ms = 1000, .ttl_ms = TTL_MS - 4500));
    expect(self, 50, 50, 1);
    SAY(self, edge, SHARED(.n = 70, .epoch = 3, .ttl_ms = TTL_MS + 1)); /* which cannot be */
    expect(self, 50, 50, 1);
}

static void
an_aggregate_that_cannot_be_is_not_added(void **state)
{
    bed *self = *state;
    uint64_t edge = arrive(self, "edge", true), client = arrive(self, "s", false);
    pass(self, 1000);
    SAY(self, client, SHARED(.n = 7, .epoch = 1));
    expect(self, 7, 7, 1);
    say_aggregate(self, edge, 10, 11);
    expect(self, 7, 7, 1);
    say_aggregate(self, edge, 11, 10);
    expect(self, 8, 7, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(aggregates_ask_for_shared_clients_while_they_are_wanted),
        TEST(a_shared_client_counts_once_by_all_ways),
        TEST(a_client_that_is_shared_for_a_while),
        TEST(what_an_earlier_life_may_have_told_is_where_it_begins),
        TEST(what_was_taken_before_this_node_began_is_no_begin),
        TEST(what_has_stood_on_the_way_is_as_old_as_it_is),
        TEST(an_aggregate_that_cannot_be_is_not_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
