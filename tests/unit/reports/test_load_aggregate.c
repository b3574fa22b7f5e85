/* SPDX-License-Identifier: Apache-2.0 */
/* Sums are what was generated: whoever restarts, comes late, comes twice, leaves or lies. */
#include "reports/load_aggregate.h"
#include "reports/load_stats_kept.h"

#include <stdio.h>

#include "aggregate_test.h"
#include "tests/harness/oom.h"

static void
growth_of_each_counts_once(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    expect(aggregate, 0, 0, 0);
    take(aggregate, "a", says(10, 5, 1));
    take(aggregate, "b", says(10, 7, 2));
    expect(aggregate, 12, 3, 2);
    take(aggregate, "a", says(10, 5, 1));
    expect(aggregate, 12, 3, 2);
    take(aggregate, "a", says(10, 9, 0));
    expect(aggregate, 16, 2, 2);
    assert_int_equal(udpai_load_aggregate_total(aggregate, 5)->elapsed_ns, 5);
    assert_int_equal(udpai_load_aggregate_total(aggregate, 5)->epoch, 1);
}

static void
another_epoch_begins_at_nothing(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "a", says(10, 5, 1));
    take(aggregate, "a", says(11, 3, 4));
    expect(aggregate, 8, 4, 1);
}

/* Two streams of one client, as when the old one is not known to be dead. */
static void
epochs_may_overlap(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "a", says(10, 5, 1));
    take(aggregate, "a", says(12, 3, 2));
    take(aggregate, "a", says(10, 6, 1));
    expect(aggregate, 9, 1, 1);
    take(aggregate, "a", says(11, 100, 0));
    take(aggregate, "a", says(12, 4, 7));
    expect(aggregate, 110, 7, 1);
}

static void
epochs_long_past_are_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    for (uint64_t i = 0; i < UDPAI_LOAD_STATS_EPOCHS_MAX + 2; i++)
        take(aggregate, "a", says(10 + i, 1, 0));
    expect(aggregate, UDPAI_LOAD_STATS_EPOCHS_MAX + 2, 0, 1);
    refuse(aggregate, "a", says(10, 1, 0), UDPA_ERR_INVAL, "its epoch 10 is below the last 4");
    refuse(aggregate, "a", says(11, 2, 0), UDPA_ERR_INVAL, "its epoch 11 is below the last 4");
    take(aggregate, "a", says(12, 2, 0));
    expect(aggregate, UDPAI_LOAD_STATS_EPOCHS_MAX + 3, 0, 1);
}

static void
what_shrinks_changes_nothing(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "a", says(10, 5, 1));
    refuse(aggregate, "a", says(10, 4, 9), UDPA_ERR_INVAL, "shrinks from 5 to 4");
    expect(aggregate, 5, 1, 1);
    take(aggregate, "a", says(10, 6, 2));
    expect(aggregate, 6, 2, 1);
}

static void
who_leaves_takes_gauges_along(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "a", says(10, 5, 1));
    take(aggregate, "b", says(10, 5, 2));
    leave(aggregate, "a");
    leave(aggregate, "a");
    leave(aggregate, "nobody");
    expect(aggregate, 10, 2, 1);
    assert_int_equal(udpai_load_aggregate_n_reporters(aggregate), 1);
    take(aggregate, "a", says(10, 7, 3)); /* it was away, and goes on */
    expect(aggregate, 12, 5, 2);
}

static void
another_cluster_is_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    udpai_load_stats *other = says(10, 5, 1);
    assert_ok(udpai_load_stats_set_text(&other->cluster, UDPAI_STR("com.acme/b")));
    refuse(aggregate, "a", other, UDPA_ERR_INVAL, "of cluster 'com.acme/b'");
    assert_int_equal(udpai_load_aggregate_n_reporters(aggregate), 0);
}

/* What may have been counted before this aggregate began. */
static void
older_epochs_count_from_where_they_are(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(100);
    take(aggregate, "old", says(99, 1000, 3));
    take(aggregate, "new", says(100, 7, 0));
    expect(aggregate, 7, 3, 2);
    take(aggregate, "old", says(99, 1001, 2));
    expect(aggregate, 8, 2, 2);
    take(aggregate, "old", says(101, 4, 0));
    expect(aggregate, 12, 0, 2);
}

/* Who has told another aggregate before, because it was there, is counted there. */
static void
what_others_were_told_does_not_count(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    udpai_load_stats *first = says(5, 1000, 3), *second = says(5, 1004, 1);
    first->was_counted = second->was_counted = true;
    assert_false(udpai_load_aggregate_knows(aggregate, UDPAI_STR("a"), 5));
    take(aggregate, "a", first);
    expect(aggregate, 0, 3, 1);
    assert_true(udpai_load_aggregate_knows(aggregate, UDPAI_STR("a"), 5));
    assert_false(udpai_load_aggregate_knows(aggregate, UDPAI_STR("a"), 4));
    assert_false(udpai_load_aggregate_knows(aggregate, UDPAI_STR("b"), 5));
    take(aggregate, "a", second);
    expect(aggregate, 4, 1, 1);
}

/* ---- aggregates of aggregates ---- */

/* In the order of the ids. */
static void
add_node(udpai_load_stats *stats, const char *id, uint64_t since_us, uint64_t until_us)
{
    udpai_load_stats_node node = {.since_us = since_us, .until_us = until_us};
    assert_ok(udpai_load_stats_set_text(&node.id, udpai_str_from(id)));
    assert_true(udpai_vector_push(&stats->nodes, node));
}

/* By the time of the nodes they count one in each microsecond. */
static udpai_load_stats *
sums_up(uint64_t epoch, uint64_t n_issued, const char *node, const char *other)
{
    udpai_load_stats *stats = says(epoch, n_issued, 0);
    add_node(stats, node, 0, n_issued);
    if (other)
        add_node(stats, other, 0, n_issued);
    stats->n_clients = 10;
    return stats;
}

static void
expect_node(udpai_load_aggregate *aggregate, size_t at, const char *id, bool is_gone)
{
    const udpai_load_stats *total = udpai_load_aggregate_total(aggregate, 0);
    assert_in_range(at, 0, total->nodes.n - 1);
    assert_str(total->nodes.items[at].id, id);
    assert_int_equal(total->nodes.items[at].is_gone, is_gone);
}

static void
aggregates_are_tagged_with_their_nodes(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "client", says(1, 1, 0));
    take(aggregate, "edge-1", sums_up(1, 10, "edge-1", NULL));
    take(aggregate, "middle", sums_up(1, 100, "edge-2", "middle"));
    expect(aggregate, 111, 0, 21);
    assert_int_equal(udpai_load_aggregate_total(aggregate, 0)->nodes.n, 4);
    expect_node(aggregate, 0, "edge-1", false);
    expect_node(aggregate, 1, "edge-2", false);
    expect_node(aggregate, 2, "middle", false);
    expect_node(aggregate, 3, "node", false);
    leave(aggregate, "middle");
    assert_int_equal(udpai_load_aggregate_total(aggregate, 0)->nodes.n, 4);
    expect_node(aggregate, 0, "edge-1", false);
    expect_node(aggregate, 1, "edge-2", true);
    expect_node(aggregate, 2, "middle", true);
    expect_node(aggregate, 3, "node", false);
    expect(aggregate, 111, 0, 11);
    const udpai_load_stats_node *gone =
        &udpai_load_aggregate_total(aggregate, 5000000)->nodes.items[1];
    assert_int_equal(gone->since_us, 0);
    assert_int_equal(gone->until_us, 100);
    assert_int_equal(gone[2].since_us, 1); /* its own, from its epoch on */
    assert_int_equal(gone[2].until_us, 5001);
}

static void
two_ways_count_once(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "middle-1", sums_up(1, 10, "edge", "middle-1"));
    refuse(aggregate, "middle-2", sums_up(1, 10, "edge", "middle-2"), UDPA_ERR_PRECONDITION,
           "the clients of node 'edge' are counted already");
    refuse(aggregate, "middle-2", sums_up(1, 10, "middle-2", "node"), UDPA_ERR_PRECONDITION,
           "it counts the clients of this node");
    expect(aggregate, 10, 0, 10);
    take(aggregate, "middle-1", sums_up(1, 11, "edge", "middle-1"));
    leave(aggregate, "middle-1");
    take(aggregate, "middle-2", sums_up(1, 10, "edge", "middle-2")); /* it had counted the same */
    expect(aggregate, 11, 0, 10);
    take(aggregate, "middle-2",
         sums_up(1, 15, "edge", "middle-2")); /* one of that came by the other way */
    expect(aggregate, 11, 0, 10);
    take(aggregate, "middle-2", sums_up(1, 20, "edge", "middle-2"));
    expect(aggregate, 16, 0, 10);
}

/* Who has it now is not refused because somebody had it once. */
static void
a_node_that_has_gone_from_another_is_counted(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    udpai_load_stats *had = sums_up(1, 10, "edge", "middle-1");
    had->nodes.items[0].is_gone = true;
    assert_str(had->nodes.items[0].id, "edge");
    take(aggregate, "middle-1", had);
    take(aggregate, "middle-2", sums_up(1, 12, "edge", "middle-2"));
    expect_node(aggregate, 0, "edge", false);
    take(aggregate, "middle-2", sums_up(1, 15, "edge", "middle-2"));
    expect(aggregate, 13, 0, 20); /* what the second says first may be what the first had */
}

/* It says at first what the other way has said already, and then, in its own time, the rest. */
static void
a_way_that_lags_counts_nothing_twice(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "edge", sums_up(1, 100, "edge", NULL));
    leave(aggregate, "edge");
    for (uint64_t n = 80; n <= 120; n += 10)
        take(aggregate, "middle", sums_up(1, n, "edge", NULL));
    expect(aggregate, 120, 0, 10);
    leave(aggregate, "middle");
    /* Began to count it where the other one had ended: all of that is new. */
    udpai_load_stats *later = says(1, 7, 0);
    add_node(later, "edge", 120, 127);
    take(aggregate, "another", later);
    expect(aggregate, 127, 0, 0);
    leave(aggregate, "another");
    later = says(2, 7, 0);
    add_node(later, "edge", 126, 133);
    take(aggregate, "another", later);
    expect(aggregate, 127, 0, 0);
}

static udpai_load_aggregate *
aggregate_that_goes_on(udpai_load_stats_kept *kept)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"),
        .node_id = UDPAI_STR("node"),
        .epoch = 2,
        .counted = udpai_load_stats_kept_find(kept, UDPAI_STR("com.acme/a")),
    };
    udpai_load_aggregate *aggregate = NULL;
    assert_ok(udpai_load_aggregate_new(&aggregate, &options));
    udpai_load_stats_kept_forget(kept, options.cluster);
    return aggregate;
}

static void
keep(udpai_load_stats_kept *kept,
     udpa_bytes *cluster,
     udpai_load_aggregate *aggregate,
     uint64_t until_ms)
{
    udpai_load_stats_nodes counted;
    udpai_load_aggregate_end(aggregate, &counted);
    udpai_load_stats_kept_put(kept, cluster, &counted, until_ms);
}

static void
what_an_ended_aggregate_has_counted_is_known_to_the_next(void **state)
{
    (void)state;
    udpai_load_stats_kept kept;
    udpai_load_stats_kept_init(&kept);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *cluster = NULL;
    assert_ok(udpa_bytes_new(&cluster, "com.acme/a", 10));
    assert_int_equal(udpai_load_stats_kept_expire(&kept, 0), UINT64_MAX);
    udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "edge", sums_up(1, 100, "edge", NULL));
    keep(&kept, cluster, aggregate, 5000);
    assert_int_equal(udpai_load_stats_kept_expire(&kept, 4999), 5000);
    aggregate = aggregate_that_goes_on(&kept);
    assert_null(udpai_load_stats_kept_find(&kept, udpai_bytes_view(cluster)));
    for (uint64_t n = 80; n <= 120; n += 10) {
        udpai_load_stats *told = sums_up(1, n, "edge", NULL);
        told->was_counted = n == 80;
        take(aggregate, "middle", told);
    }
    expect(aggregate, 20, 0, 10);
    const udpai_load_stats_node *edge = &udpai_load_aggregate_total(aggregate, 0)->nodes.items[0];
    assert_int_equal(edge->since_us, 100);
    assert_int_equal(edge->until_us, 120);
    keep(&kept, cluster, aggregate, 6000);
    assert_int_equal(udpai_load_stats_kept_expire(&kept, 6000), UINT64_MAX);
    assert_null(udpai_load_stats_kept_find(&kept, udpai_bytes_view(cluster)));
    keep(&kept, cluster, aggregate_new(0), 7000);
    udpai_load_stats_kept_done(&kept);
}

static void
many_nodes_that_have_gone_are_forgotten(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    char id[24];
    for (uint64_t i = 0; i <= UDPAI_LOAD_STATS_LEFT_NODES_MAX; i++) {
        snprintf(id, sizeof(id), "%04llu", (unsigned long long)i);
        take(aggregate, id, sums_up(1, 1, id, NULL));
        leave(aggregate, id);
    }
    const udpai_load_stats *total = udpai_load_aggregate_total(aggregate, 0);
    assert_int_equal(total->n_forgotten_nodes, 1 + UDPAI_LOAD_STATS_LEFT_NODES_MAX / 8);
    assert_int_equal(total->nodes.n + total->n_forgotten_nodes,
                     UDPAI_LOAD_STATS_LEFT_NODES_MAX + 2);
    take(aggregate, "0000", sums_up(1, 2, "0000", NULL)); /* known here all the same */
    expect(aggregate, UDPAI_LOAD_STATS_LEFT_NODES_MAX + 2, 0, 10);
    expect_node(aggregate, 0, "0000", false);
}

/* What it has counted of itself is lost meanwhile: less is told than was, never more. */
static void
who_is_counted_by_another_way_goes_on_from_there(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "middle-1", sums_up(1, 10, "edge", "middle-1"));
    take(aggregate, "middle-2", sums_up(1, 5, "middle-2", NULL));
    expect(aggregate, 15, 0, 20);
    udpai_load_stats *both = sums_up(1, 12, "edge", "middle-2");
    refuse(aggregate, "middle-2", both, UDPA_ERR_PRECONDITION, "are counted already");
    expect(aggregate, 15, 0, 10);
    assert_int_equal(udpai_load_aggregate_total(aggregate, 0)->nodes.n, 4);
    leave(aggregate, "middle-1");
    take(aggregate, "middle-2", sums_up(1, 20, "edge", "middle-2"));
    expect(aggregate, 15 + 8, 0, 10);
    take(aggregate, "middle-2", sums_up(1, 21, "edge", "middle-2"));
    expect(aggregate, 16 + 8, 0, 10);
}

/* Of a node that has gone, and is not said any more, nobody here knows how far it was counted. */
static void
who_was_in_it_must_be_known(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
    take(aggregate, "middle", sums_up(1, 10, "middle", NULL));
    udpai_load_stats *later = sums_up(1, 15, "middle", NULL);
    later->n_forgotten_nodes = 2;
    take(aggregate, "middle", later);
    expect(aggregate, 10, 0, 10);
    later = sums_up(1, 16, "middle", NULL);
    later->n_forgotten_nodes = 2;
    take(aggregate, "middle", later);
    expect(aggregate, 11, 0, 10);
    later = sums_up(1, 100, "other", NULL);
    later->n_forgotten_nodes = 4;
    take(aggregate, "other", later);
    expect(aggregate, 11, 0, 20);
    udpai_load_stats *without = sums_up(1, 17, "middle", NULL);
    without->n_forgotten_nodes = 2;
    take(aggregate, "middle", without);
    expect(aggregate, 12, 0, 20);
    without = sums_up(1, 20, "another", NULL); /* where is the one that it had? */
    without->n_forgotten_nodes = 2;
    take(aggregate, "middle", without);
    expect(aggregate, 12, 0, 20);
    assert_int_equal(udpai_load_aggregate_total(aggregate, 0)->n_forgotten_nodes, 0);
}

/* ---- chance ---- */

#define N_REPORTERS 12
#define N_PLACES 4

/* What one reporter has really done in this epoch, and what it says of it. */
struct world {
    uint64_t random, clock;
    uint64_t epochs[N_REPORTERS];
    uint64_t counts[N_REPORTERS][N_PLACES][UDPAI_LOAD_STATS_COUNTS];
    uint64_t gauges[N_REPORTERS][N_PLACES];
    bool is_there[N_REPORTERS];
    uint64_t said[N_REPORTERS][N_PLACES]
                 [UDPAI_LOAD_STATS_COUNTS]; /* in epochs that were heard of */
    uint64_t heard[N_REPORTERS][N_PLACES][UDPAI_LOAD_STATS_COUNTS];
    uint64_t heard_gauges[N_REPORTERS][N_PLACES];
};

static const char *const places[N_PLACES] = {"a", "b", "c", "d"};

static void
work(struct world *world, size_t who)
{
    for (size_t i = test_random_below(&world->random, 20); i-- > 0;)
        world->counts[who][test_random_below(&world->random, N_PLACES)]
                     [test_random_below(&world->random, UDPAI_LOAD_STATS_COUNTS)]++;
    world->gauges[who][test_random_below(&world->random, N_PLACES)] =
        test_random_below(&world->random, 50);
}

/* What it did and never said is lost. */
static void
restart(struct world *world, size_t who)
{
    for (size_t p = 0; p < N_PLACES; p++)
        for (size_t c = 0; c < UDPAI_LOAD_STATS_COUNTS; c++)
            world->said[who][p][c] += world->heard[who][p][c];
    world->epochs[who] = ++world->clock;
    memset(world->counts[who], 0, sizeof(world->counts[who]));
    memset(world->heard[who], 0, sizeof(world->heard[who]));
    memset(world->gauges[who], 0, sizeof(world->gauges[who]));
}

static void
report(struct world *world, size_t who, udpai_load_aggregate *aggregate)
{
    udpai_load_stats *stats = stats_new(world->epochs[who]);
    for (size_t p = 0; p < N_PLACES; p++) {
        memcpy(stats_figures(stats, places[p])->counts, world->counts[who][p],
               sizeof(world->counts[who][p]));
        stats_figures(stats, places[p])->gauges[0] = world->gauges[who][p];
    }
    memcpy(world->heard[who], world->counts[who], sizeof(world->heard[who]));
    memcpy(world->heard_gauges[who], world->gauges[who], sizeof(world->gauges[who]));
    world->is_there[who] = true;
    char name[24];
    snprintf(name, sizeof(name), "r%zu", who);
    take(aggregate, name, stats);
}

static void
go_away(struct world *world, size_t who, udpai_load_aggregate *aggregate)
{
    char name[24];
    snprintf(name, sizeof(name), "r%zu", who);
    leave(aggregate, name);
    world->is_there[who] = false;
    memset(world->heard_gauges[who], 0, sizeof(world->heard_gauges[who]));
}

static void
compare(const struct world *world, udpai_load_aggregate *aggregate)
{
    const udpai_load_stats *total = udpai_load_aggregate_total(aggregate, 0);
    uint64_t n_there = 0;
    for (size_t p = 0; p < N_PLACES; p++) {
        uint64_t gauge = 0;
        for (size_t c = 0; c < UDPAI_LOAD_STATS_COUNTS; c++) {
            uint64_t count = 0;
            for (size_t who = 0; who < N_REPORTERS; who++)
                count += world->said[who][p][c] + world->heard[who][p][c];
            assert_int_equal(stats_count(total, places[p], (udpai_load_stats_count)c), count);
        }
        for (size_t who = 0; who < N_REPORTERS; who++)
            gauge += world->heard_gauges[who][p];
        assert_int_equal(stats_gauge(total, places[p], UDPAI_LOAD_STATS_IN_PROGRESS), gauge);
    }
    for (size_t who = 0; who < N_REPORTERS; who++)
        n_there += world->is_there[who];
    assert_int_equal(total->n_clients, n_there);
}

static void
aggregates_are_what_was_said(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct world world = {.random = seed};
        UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = aggregate_new(0);
        for (size_t step = 0; step < 400; step++) {
            size_t who = test_random_below(&world.random, N_REPORTERS);
            work(&world, who);
            switch (test_random_below(&world.random, 8)) {
            case 0:
                restart(&world, who);
                break;
            case 1:
                go_away(&world, who, aggregate);
                break;
            case 2:
            case 3:
                break; /* nothing is heard of it */
            default:
                report(&world, who, aggregate);
                break;
            }
            if (step % 16 == 0)
                compare(&world, aggregate);
        }
        compare(&world, aggregate);
    }
}

static udpa_err
sum_up(void *context)
{
    const udpai_load_aggregate_options options = {.cluster = UDPAI_STR("com.acme/a"),
                                                  .node_id = UDPAI_STR("node")};
    UDPA_AUTO(udpai_load_aggregate_free) udpai_load_aggregate *aggregate = NULL;
    udpa_err err = udpai_load_aggregate_new(&aggregate, &options);
    (void)context;
    for (uint64_t i = 0; i < 3 && err == UDPA_OK; i++) {
        udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits),
                         *copy = NULL;
        udpai_load_stats_drop *drop = NULL;
        err = stats ? udpai_load_stats_set_text(&stats->cluster, options.cluster) : UDPA_ERR_NOMEM;
        if (err == UDPA_OK)
            err = udpai_load_stats_get_drop(stats, UDPAI_STR("x"), &drop, NULL);
        if (err == UDPA_OK)
            err = udpai_load_stats_difference(stats, NULL, &copy, NULL);
        if (err == UDPA_OK)
            err = udpai_load_aggregate_take(aggregate, UDPAI_STR("a"), copy, NULL);
        udpai_load_stats_free(stats);
    }
    return err == UDPA_OK && !udpai_load_aggregate_total(aggregate, 0) ? UDPA_ERR_NOMEM : err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    assert_true(oom_torture(sum_up, NULL) > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_of_each_counts_once),
        cmocka_unit_test(another_epoch_begins_at_nothing),
        cmocka_unit_test(epochs_may_overlap),
        cmocka_unit_test(epochs_long_past_are_refused),
        cmocka_unit_test(what_shrinks_changes_nothing),
        cmocka_unit_test(who_leaves_takes_gauges_along),
        cmocka_unit_test(another_cluster_is_refused),
        cmocka_unit_test(older_epochs_count_from_where_they_are),
        cmocka_unit_test(what_others_were_told_does_not_count),
        cmocka_unit_test(aggregates_are_tagged_with_their_nodes),
        cmocka_unit_test(two_ways_count_once),
        cmocka_unit_test(a_node_that_has_gone_from_another_is_counted),
        cmocka_unit_test(a_way_that_lags_counts_nothing_twice),
        cmocka_unit_test(what_an_ended_aggregate_has_counted_is_known_to_the_next),
        cmocka_unit_test(many_nodes_that_have_gone_are_forgotten),
        cmocka_unit_test(who_is_counted_by_another_way_goes_on_from_there),
        cmocka_unit_test(who_was_in_it_must_be_known),
        cmocka_unit_test(aggregates_are_what_was_said),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
