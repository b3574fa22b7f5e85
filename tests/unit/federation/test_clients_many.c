/* SPDX-License-Identifier: Apache-2.0 */
/* Many groups of clients: what one of them does costs what it costs, however many there are. */
#include "federation/node_metrics.h"
#include "tests/unit/federation/clients_world.h"

#include <time.h>

static double
cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* However many groups there are, the node has the same few series. */
static void
expect_few_series(const udpai_node *node)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_node_put_metrics(node, snapshot);
    assert_in_range(udpai_metric_snapshot_n_series(snapshot), 10, 60);
}

/* Processor time for all of them to come, to be asked for and to be answered. */
static double
time_to_serve(size_t n_groups)
{
    cw_world world;
    cw_init(&world, n_groups, 4);
    world.config.is_durable = false; /* the test's disk is slow */
    cw_start(&world);
    double start = cpu_s();
    for (size_t i = 0; i < n_groups; i++) {
        cw_come(&world, i);
        cw_settle(&world);
    }
    double taken = cpu_s() - start;
    expect_few_series(world.node);
    for (size_t i = 0; i < n_groups; i++)
        assert_true(cw_is_settled(&world, i, 0) && cw_value_of(&world, i, 0).content == 1);
    cw_done(&world);
    return taken;
}

/* Eight times as many, each of which pays for all others, take 64 times as long. */
static void
one_does_not_pay_for_the_others(void **state)
{
    (void)state;
    double few = time_to_serve(250), many = time_to_serve(2000);
    assert_true(many < 32 * few);
}

/* Processor time for all of them to come, and for many names to be asked for by each. */
static double
time_to_want(size_t n_groups)
{
    cw_world world;
    cw_init(&world, n_groups, 4);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(world.descriptors); i++)
        world.descriptors[i].on_demand = true;
    cw_start(&world);
    double start = cpu_s();
    for (size_t i = 0; i < n_groups; i++) {
        cw_come(&world, i);
        for (size_t type = 0; type < 4; type++)
            cw_want_many(&world, i, type, 40);
        udpai_node_flush(world.node);
    }
    double taken = cpu_s() - start;
    cw_done(&world);
    return taken;
}

static void
one_does_not_look_through_what_others_want(void **state)
{
    (void)state;
    double few = time_to_want(125), many = time_to_want(1000);
    assert_true(many < 32 * few);
}

/* All who wait for something look again with each: one is under way, and stands for all. */
static void
the_stream_side_is_told_once(void **state)
{
    (void)state;
    cw_world world;
    cw_init(&world, 100, 4);
    cw_start(&world);
    cw_settle(&world);
    size_t n_before = world.n_settled;
    for (size_t i = 0; i < world.n_groups; i++)
        cw_come(&world, i);
    cw_carry_out(&world, UDPAI_ORDER_SETTLED);
    assert_in_range(world.n_settled - n_before, 1, 2);
    cw_settle(&world);
    for (size_t i = 0; i < world.n_groups; i++)
        assert_true(cw_is_settled(&world, i, 0));
    cw_done(&world);
}

static void
all_end_together(void **state)
{
    (void)state;
    cw_world world;
    cw_init(&world, 100, 4);
    cw_start(&world);
    for (size_t i = 0; i < world.n_groups; i++)
        cw_come(&world, i);
    cw_settle(&world);
    for (size_t i = 0; i < world.n_groups; i++)
        cw_go(&world, i);
    for (int second = 0; second < 32; second++) {
        cw_advance(&world, 1000);
        cw_settle(&world);
    }
    assert_int_equal(world.streams.n, 0);
    assert_int_equal(world.kept.n, 0);
    assert_int_equal(udpai_store_n_contributions(udpai_node_store(world.node)), 0);
    cw_done(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_does_not_pay_for_the_others),
        cmocka_unit_test(one_does_not_look_through_what_others_want),
        cmocka_unit_test(the_stream_side_is_told_once),
        cmocka_unit_test(all_end_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
