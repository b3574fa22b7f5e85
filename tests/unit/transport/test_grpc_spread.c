/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are ended so that their clients connect again: because they are old, or because
 * other replicas have fewer. */
#include "loop/clock.h"
#include "one_call.h"
#include "session/spread.h"

#define AGE_MS 300

static udpai_stream_thread_stats
stats_of(const struct world *world)
{
    udpai_stream_thread_stats stats;
    udpai_stream_thread_stats_get(world->bed.thread, &stats);
    return stats;
}

static void
give(struct world *world, const udpai_spread_order *what)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SPREAD);
    assert_non_null(order);
    order->announced = udpai_spread_encode(what);
    assert_non_null(order->announced);
    udpai_stream_thread_order(world->bed.thread, order);
}

static void
an_old_stream_is_ended_and_its_connection_takes_no_new_one(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.timing = {.max_stream_age_ms = AGE_MS}};
    uint64_t begin_ms = udpai_monotonic_ms();
    struct world *world = one_call_begin(&options, "echo");
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_UNAVAILABLE);
    assert_true(udpai_monotonic_ms() - begin_ms >= AGE_MS * 9 / 10);
    assert_non_null(strstr(world->call.text, "timing.max_stream_age"));
    raw_wait_disconnected(&world->client);
    assert_int_equal(stats_of(world).n_aged, 1);
    assert_int_equal(stats_of(world).n_moved, 0);
    one_call_end(world);
}

static void
streams_above_the_share_are_ended_with_their_connection(void **state)
{
    (void)state;
    const udpai_spread_order order = {.n_streams = 1, .share = 0, .over_ms = 1, .reject_ms = 100};
    struct world *world = one_call_begin(NULL, "echo");
    assert_int_equal(stats_of(world).n_clients, 1);
    give(world, &order);
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_UNAVAILABLE);
    assert_non_null(strstr(world->call.text, "connect again to reach another one"));
    raw_wait_disconnected(&world->client);
    assert_int_equal(stats_of(world).n_moved, 1);
    assert_int_equal(stats_of(world).n_clients, 0);
    one_call_end(world);
}

/* Both are to go, or its client would come back on it. */
static void
streams_of_one_connection_are_ended_together(void **state)
{
    (void)state;
    const udpai_spread_order order = {.n_streams = 2, .share = 0, .over_ms = 1, .reject_ms = 100};
    struct world *world = one_call_begin(NULL, "echo");
    raw_call second;
    raw_begin(&world->client, &second, BED_PATH);
    assert_true(raw_say(&second, "echo"));
    raw_expect(&second, "echo");
    give(world, &order);
    assert_int_equal(raw_status(&second), GRPC_STATUS_UNAVAILABLE);
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_UNAVAILABLE);
    raw_wait_disconnected(&world->client);
    assert_int_equal(stats_of(world).n_moved, 2);
    raw_end(&second);
    one_call_end(world);
}

static void
a_share_that_is_not_exceeded_ends_none(void **state)
{
    (void)state;
    const udpai_spread_order order = {.n_streams = 1, .share = 1, .over_ms = 1, .reject_ms = 100};
    struct world *world = one_call_begin(NULL, "echo");
    give(world, &order);
    for (int i = 0; i < 20; i++) {
        assert_true(raw_say(&world->call, "echo again"));
        raw_expect(&world->call, "echo again");
    }
    assert_int_equal(stats_of(world).n_moved, 0);
    one_call_end(world);
}

int
main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_stream_is_ended_and_its_connection_takes_no_new_one),
        cmocka_unit_test(streams_above_the_share_are_ended_with_their_connection),
        cmocka_unit_test(streams_of_one_connection_are_ended_together),
        cmocka_unit_test(a_share_that_is_not_exceeded_ends_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
