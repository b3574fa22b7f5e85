/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that report to several nodes, all below one: each node has them in its sum, and the one
 * above has them once. */
#include "reports/load_stats_split.h"

#include "load_stats_test.h"
#include "tests/harness/oom.h"

#define NODES 2 /* below the top */

typedef struct world {
    udpai_load_stats_split *top, *below[NODES];
} world;

static udpai_load_stats_split *
new_split(const char *id)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .node_id = udpai_str_from(id), .epoch = 1};
    udpai_load_stats_split *split = NULL;
    assert_ok(udpai_load_stats_split_new(&split, &options));
    return split;
}

static int
begin(void **state)
{
    world *self = udpai_alloc(sizeof(*self));
    self->top = new_split("top");
    self->below[0] = new_split("a");
    self->below[1] = new_split("b");
    *state = self;
    return 0;
}

static int
end(void **state)
{
    world *self = *state;
    udpai_load_stats_split_free(self->top);
    for (int i = 0; i < NODES; i++)
        udpai_load_stats_split_free(self->below[i]);
    udpai_free(self);
    return 0;
}

static udpai_load_stats *
says(uint64_t epoch, uint64_t n, uint64_t elapsed_ns)
{
    udpai_load_stats *stats = stats_new(epoch);
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = n;
    stats_figures(stats, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 1;
    stats->elapsed_ns = elapsed_ns;
    return stats;
}

static void
take(udpai_load_stats_split *split,
     udpai_load_stats_kind kind,
     const char *who,
     udpai_load_stats *stats)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_load_stats_split_take(split, kind, udpai_str_from(who), stats, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

/* To one node, and not to the top. */
static void
say_to(world *self, int node, const char *who, uint64_t epoch, uint64_t n)
{
    take(self->below[node], UDPAI_LOAD_STATS_OF_CLIENT, who, says(epoch, n, n));
}

/* To all, and by way of them to the top. */
static void
say_shared(world *self, const char *who, uint64_t epoch, uint64_t n)
{
    for (int i = 0; i < NODES; i++) {
        udpai_load_stats *stats = says(epoch, n, n);
        stats->is_shared = true;
        take(self->below[i], UDPAI_LOAD_STATS_OF_CLIENT, who, stats);
        take(self->below[i], UDPAI_LOAD_STATS_OF_SHARED, who, says(epoch, n, n));
    }
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, who, says(epoch, n, n));
}

static udpai_load_stats *
copy(const udpai_load_stats *stats, const udpai_load_stats_limits *limits)
{
    udpai_arena arena;
    udpai_load_stats *again = NULL;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_ok(udpai_load_stats_decode(&arena, udpai_bytes_view(bytes), limits, &again, NULL));
    udpai_arena_done(&arena);
    return again;
}

/* The sums of those below come to the top. */
static void
pass_on(world *self)
{
    static const char *const ids[NODES] = {"a", "b"};
    for (int i = 0; i < NODES; i++) {
        const udpai_load_stats *total = udpai_load_stats_split_total(self->below[i], 1);
        assert_non_null(total);
        take(self->top, UDPAI_LOAD_STATS_OF_NODE, ids[i],
             copy(total, &udpai_load_aggregate_limits));
    }
}

static void
expect(udpai_load_stats_split *split, uint64_t n, uint64_t n_now, uint64_t n_clients)
{
    const udpai_load_stats *total = udpai_load_stats_split_total(split, 1);
    assert_non_null(total);
    assert_int_equal(stats_count(total, "eu", UDPAI_LOAD_STATS_ISSUED), n);
    assert_int_equal(stats_gauge(total, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), n_now);
    assert_int_equal(total->n_clients, n_clients);
}

/* ---- tests ---- */

static void
a_client_of_two_nodes_counts_once_above(void **state)
{
    world *self = *state;
    say_to(self, 0, "x", 1, 100);
    say_to(self, 1, "y", 1, 1000);
    say_shared(self, "s", 1, 7);
    pass_on(self);
    expect(self->below[0], 107, 2, 2);
    expect(self->below[1], 1007, 2, 2);
    expect(self->top, 1107, 3, 3);
    say_shared(self, "s", 1, 9);
    say_to(self, 0, "x", 1, 101);
    expect(self->top, 1109, 3, 3);
    pass_on(self);
    expect(self->top, 1110, 3, 3);
    assert_int_equal(stats_count(udpai_load_stats_split_total(self->top, 1)->shared, "eu",
                                 UDPAI_LOAD_STATS_ISSUED),
                     9);
}

/* With each change an epoch begins. */
static void
it_may_be_shared_for_a_while(void **state)
{
    world *self = *state;
    say_to(self, 0, "s", 1, 10);
    pass_on(self);
    expect(self->top, 10, 1, 1);
    say_shared(self, "s", 2, 20);
    pass_on(self);
    expect(self->below[0], 30, 1, 1);
    expect(self->below[1], 20, 1, 1);
    expect(self->top, 30, 1, 1);
    for (int i = 0; i < NODES; i++)
        udpai_load_stats_split_leave(self->below[i], UDPAI_LOAD_STATS_OF_SHARED, UDPAI_STR("s"));
    udpai_load_stats_split_leave(self->top, UDPAI_LOAD_STATS_OF_SHARED, UDPAI_STR("s"));
    say_to(self, 1, "s", 3, 5);
    pass_on(self);
    expect(self->below[0], 30, 0, 0);
    expect(self->below[1], 25, 1, 1);
    expect(self->top, 35, 1, 1);
    say_to(self, 0, "s", 4, 2);
    udpai_load_stats_split_leave(self->below[1], UDPAI_LOAD_STATS_OF_CLIENT, UDPAI_STR("s"));
    pass_on(self);
    expect(self->top, 37, 1, 1);
}

/* By the other way came less, of a time before. */
static void
a_way_that_is_behind_takes_nothing_back(void **state)
{
    world *self = *state;
    say_shared(self, "s", 1, 9);
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, "s", says(1, 7, 7));
    expect(self->top, 9, 1, 1);
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, "s", says(1, 10, 10));
    expect(self->top, 10, 1, 1);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_load_stats_split_take(self->top, UDPAI_LOAD_STATS_OF_SHARED,
                                                 UDPAI_STR("s"), says(1, 3, 11), &error),
                     UDPA_ERR_INVAL);
}

static void
what_was_told_before_is_where_it_begins(void **state)
{
    world *self = *state;
    udpai_load_stats *stats = says(1, 100, 1);
    stats->was_counted = true;
    assert_false(
        udpai_load_stats_split_knows(self->top, UDPAI_LOAD_STATS_OF_SHARED, UDPAI_STR("s"), 1));
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, "s", stats);
    assert_true(
        udpai_load_stats_split_knows(self->top, UDPAI_LOAD_STATS_OF_SHARED, UDPAI_STR("s"), 1));
    assert_false(
        udpai_load_stats_split_knows(self->top, UDPAI_LOAD_STATS_OF_CLIENT, UDPAI_STR("s"), 1));
    expect(self->top, 0, 1, 1);
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, "s", says(1, 103, 2));
    expect(self->top, 3, 1, 1);
}

static udpai_load_stats *
places(uint64_t first, uint64_t n)
{
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
    assert_ok(udpai_load_stats_set_text(&stats->cluster, UDPAI_STR("com.acme/a")));
    for (uint64_t i = first; i < first + n; i++)
        stats_locality(stats, "eu", (uint32_t)i)->figures.counts[UDPAI_LOAD_STATS_ISSUED] = 1;
    return stats;
}

/* What one sum may say both parts may have, together. */
static void
both_parts_share_the_limits(void **state)
{
    world *self = *state;
    static const char *const names[] = {"w", "x", "y", "z"};
    const size_t n = udpai_load_stats_client_limits.localities;
    for (size_t i = 0; i < 3; i++)
        take(self->top, i % 2 ? UDPAI_LOAD_STATS_OF_CLIENT : UDPAI_LOAD_STATS_OF_SHARED, names[i],
             places(i * n, n));
    take(self->top, UDPAI_LOAD_STATS_OF_CLIENT, "z", places(3 * n, n - 1));
    for (int i = 0; i < 2; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_load_stats_split_take(
                             self->top, i ? UDPAI_LOAD_STATS_OF_CLIENT : UDPAI_LOAD_STATS_OF_SHARED,
                             UDPAI_STR("more"), places(4 * n, 2), &error),
                         UDPA_ERR_LIMIT);
    }
    const udpai_load_stats *total = udpai_load_stats_split_total(self->top, 1);
    assert_int_equal(total->n_clients, 4);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *again = copy(total, &udpai_load_aggregate_limits);
    assert_true(again->localities.n >= 4 * n - 1);
}

static void
endpoints_of_shared_clients_are_counted_with_the_others(void **state)
{
    world *self = *state;
    udpai_load_stats *own = says(1, 5, 1), *shared = says(1, 7, 1);
    (void)stats_endpoint(own, "eu", "192.0.2.1", 80);
    (void)stats_endpoint(shared, "eu", "192.0.2.1", 80);
    (void)stats_endpoint(shared, "eu", "192.0.2.2", 80);
    take(self->top, UDPAI_LOAD_STATS_OF_CLIENT, "x", own);
    assert_int_equal(udpai_load_stats_split_total(self->top, 1)->n_endpoints, 1);
    take(self->top, UDPAI_LOAD_STATS_OF_SHARED, "s", shared);
    assert_int_equal(udpai_load_stats_split_total(self->top, 1)->n_endpoints, 2);
}

static udpa_err
go_through(void *context)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .node_id = UDPAI_STR("node"), .epoch = 1};
    UDPA_AUTO(udpai_load_stats_split_free) udpai_load_stats_split *split = NULL;
    (void)context;
    udpa_err err = udpai_load_stats_split_new(&split, &options);
    for (int i = 0; i < 2 && err == UDPA_OK; i++) {
        UDPA_AUTO(udpai_load_stats_free)
        udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
        const udpai_load_stats_locality like = {.region = UDPAI_STR("eu")};
        udpai_load_stats_locality *locality;
        err = stats ? udpai_load_stats_set_text(&stats->cluster, UDPAI_STR("com.acme/a"))
                    : UDPA_ERR_NOMEM;
        if (err == UDPA_OK)
            err = udpai_load_stats_get_locality(stats, &like, &locality, NULL);
        if (err == UDPA_OK)
            err = udpai_load_stats_split_take(
                split, i ? UDPAI_LOAD_STATS_OF_SHARED : UDPAI_LOAD_STATS_OF_CLIENT, UDPAI_STR("s"),
                UDPAI_TAKE(stats), NULL);
    }
    if (err == UDPA_OK && !udpai_load_stats_split_total(split, 1))
        err = UDPA_ERR_NOMEM;
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    assert_true(oom_torture(go_through, NULL) > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_of_two_nodes_counts_once_above),
        TEST(it_may_be_shared_for_a_while),
        TEST(a_way_that_is_behind_takes_nothing_back),
        TEST(what_was_told_before_is_where_it_begins),
        TEST(both_parts_share_the_limits),
        TEST(endpoints_of_shared_clients_are_counted_with_the_others),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
