/* SPDX-License-Identifier: Apache-2.0 */
/* A stream thread whose node is to end: streams are given up in time, and none is begun. */
#include "base/alloc.h"
#include "one_call.h"

#define OVER_MS 600
#define REPORT_PATH "/test.Obedient/Report"
#define HEALTH "/grpc.health.v1.Health/Check"

static size_t
n_served(const struct world *world)
{
    udpai_stream_thread_stats stats;
    udpai_stream_thread_stats_get(world->bed.thread, &stats);
    return stats.n_served;
}

static void
drain(struct world *world, uint64_t over_ms)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DRAIN);
    assert_non_null(order);
    order->ticket = over_ms;
    udpai_stream_thread_order(world->bed.thread, order);
}

static void
is_told(raw_call *call)
{
    assert_int_equal(raw_status(call), GRPC_STATUS_UNAVAILABLE);
    assert_non_null(strstr(call->text, "draining: connect again to reach another one"));
}

static void
a_stream_is_given_up_with_its_connection(void **state)
{
    (void)state;
    struct world *world = one_call_begin(NULL, "echo");
    assert_int_equal(n_served(world), 1);
    drain(world, OVER_MS);
    is_told(&world->call);
    raw_wait_disconnected(&world->client);
    one_call_end(world);
}

/* The oldest first, with the other one of its connection. */
static void
streams_end_one_after_the_other(void **state)
{
    (void)state;
    struct world *world = one_call_begin(NULL, "echo");
    raw_client other;
    raw_call second, third;
    raw_begin(&world->client, &second, BED_PATH);
    assert_true(raw_say(&second, "echo"));
    raw_expect(&second, "echo");
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &third, BED_PATH);
    assert_true(raw_say(&third, "echo"));
    raw_expect(&third, "echo");
    assert_int_equal(n_served(world), 3);
    drain(world, FOR_EVER_MS);
    is_told(&second);
    is_told(&world->call);
    assert_true(raw_say(&third, "echo again"));
    raw_expect(&third, "echo again");
    raw_cancel(&third);
    raw_end(&third);
    raw_disconnect(&other);
    raw_end(&second);
    one_call_end(world);
}

static void
none_is_begun_and_health_is_answered(void **state)
{
    (void)state;
    struct world *world = one_call_begin(NULL, "echo");
    raw_client other, another;
    raw_call kept, late, health;
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &kept, BED_PATH);
    assert_true(raw_say(&kept, "echo"));
    raw_expect(&kept, "echo");
    drain(world, FOR_EVER_MS);
    is_told(&world->call); /* the older one, at once */
    raw_connect(&another, world->bed.port, NULL, NULL);
    raw_begin(&another, &late, BED_PATH);
    is_told(&late);
    raw_end(&late);
    raw_wait_disconnected(&another);
    raw_disconnect(&another);
    raw_begin(&other, &health, HEALTH);
    assert_true(raw_say(&health, ""));
    raw_expect(&health, "\x08\x01");
    raw_end(&health);
    assert_true(raw_say(&kept, "echo again"));
    raw_expect(&kept, "echo again");
    assert_int_equal(n_served(world), 1);
    raw_cancel(&kept);
    raw_end(&kept);
    raw_disconnect(&other);
    one_call_end(world);
}

static void
leave(struct world *world, bool leaves)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_LEAVE);
    assert_non_null(order);
    order->ticket = leaves;
    udpai_stream_thread_order(world->bed.thread, order);
}

static void
is_served(raw_client *client, raw_call *call, const char *path)
{
    raw_begin(client, call, path);
    assert_true(raw_say(call, "echo"));
    raw_expect(call, "echo");
}

/* Those that bring something end, whose connection may be a client's, too; until it does again. */
static void
a_process_that_leaves_keeps_its_clients(void **state)
{
    (void)state;
    const udpai_grpc_method methods[] = {bed_method, {REPORT_PATH, bed_method.open, NULL, false}};
    const udpai_stream_thread_options options = {.methods = methods, .n_methods = 2};
    struct world *world = one_call_begin(&options, "echo");
    raw_client other;
    raw_call beside, alone, late;
    is_served(&world->client, &beside, REPORT_PATH);
    raw_connect(&other, world->bed.port, NULL, NULL);
    is_served(&other, &alone, REPORT_PATH);
    leave(world, true);
    is_told(&alone);
    raw_wait_disconnected(&other);
    raw_disconnect(&other);
    is_told(&beside);
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &late, BED_PATH);
    is_told(&late);
    raw_end(&late);
    raw_disconnect(&other);
    assert_true(raw_say(&world->call, "echo again"));
    raw_expect(&world->call, "echo again");
    leave(world, false);
    raw_connect(&other, world->bed.port, NULL, NULL);
    is_served(&other, &late, REPORT_PATH);
    assert_int_equal(n_served(world), 2);
    raw_cancel(&late);
    raw_end(&late);
    raw_disconnect(&other);
    raw_end(&alone);
    raw_end(&beside);
    raw_cancel(&world->call);
    one_call_end(world);
}

/* ---- one listener of several ---- */

static udpai_listener *
listen_beside(struct world *world, const int *socket, bool starts)
{
    udpai_listener *listener = NULL;
    const udpai_listen_options options = {.address = "127.0.0.1:0", .socket = socket};
    assert_ok(udpai_stream_thread_bind(world->bed.thread, &options, &listener, NULL));
    if (starts)
        udpai_listener_start(listener);
    return listener;
}

static void
drain_one(struct world *world,
          udpai_listener *listener,
          uint64_t over_ms,
          udpai_listener *successor)
{
    udpai_stream_thread_drain_listener(
        world->bed.thread, listener,
        &(udpai_listener_drain){over_ms, successor, bed_count, &world->bed});
}

static void
drain_listener(struct world *world, uint64_t over_ms, udpai_listener *successor)
{
    drain_one(world, world->bed.listener, over_ms, successor);
}

static void
is_told_to_go(raw_call *call)
{
    assert_int_equal(raw_status(call), GRPC_STATUS_UNAVAILABLE);
    assert_non_null(strstr(call->text, "does not listen here any more"));
}

static void
streams_of_another_listener_stay(void **state)
{
    (void)state;
    struct world *world = one_call_begin(NULL, "echo");
    udpai_listener *beside = listen_beside(world, NULL, true);
    raw_client other;
    raw_call call;
    raw_connect(&other, udpai_listener_port(beside), NULL, NULL);
    raw_begin(&other, &call, BED_PATH);
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    assert_int_equal(udpai_listener_n_served(world->bed.listener), 1);
    assert_int_equal(udpai_listener_n_served(beside), 1);
    drain_one(world, beside, OVER_MS, NULL);
    is_told_to_go(&call); /* though the other one is older */
    bed_wait_count(&world->bed, &world->bed.n_closed, 1);
    assert_true(raw_say(&world->call, "echo again"));
    raw_expect(&world->call, "echo again");
    assert_int_equal(udpai_listener_n_served(world->bed.listener), 1);
    drain_listener(world, OVER_MS, NULL);
    is_told_to_go(&world->call);
    bed_wait_count(&world->bed, &world->bed.n_closed, 2);
    raw_end(&call);
    raw_disconnect(&other);
    one_call_end(world);
}

static void
a_successor_has_its_socket(void **state)
{
    (void)state;
    if (!bed_is_own())
        return;
    struct world *world = one_call_begin(NULL, "echo");
    int socket = udpai_listener_socket(world->bed.listener);
    raw_client other;
    raw_call call;
    assert_true(socket >= 0);
    udpai_listener_discard(listen_beside(world, &socket, false));
    udpai_listener *successor = listen_beside(world, &socket, true);
    assert_int_equal(udpai_listener_port(successor), world->bed.port);
    drain_listener(world, OVER_MS, successor);
    is_told_to_go(&world->call);
    bed_wait_count(&world->bed, &world->bed.n_closed, 1);
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &call, BED_PATH);
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    assert_int_equal(udpai_listener_n_served(successor), 1);
    raw_cancel(&call);
    raw_end(&call);
    raw_disconnect(&other);
    one_call_end(world);
}

/* Its streams have a long time, and the thread has not. */
static void
a_thread_may_stop_meanwhile(void **state)
{
    (void)state;
    struct world *world = one_call_begin(NULL, "echo");
    raw_client other;
    raw_call second;
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &second, BED_PATH);
    assert_true(raw_say(&second, "echo"));
    raw_expect(&second, "echo");
    assert_int_equal(udpai_listener_n_served(world->bed.listener), 2);
    drain_listener(world, FOR_EVER_MS, NULL);
    is_told_to_go(&world->call);
    bed_wait_streams(&world->bed, 1, TAGS_OF_LISTENER);
    assert_int_equal(udpai_listener_n_served(world->bed.listener), 1);
    udpai_stream_thread_stop(world->bed.thread, "the test is over");
    assert_int_equal(raw_status(&second), GRPC_STATUS_UNAVAILABLE);
    raw_end(&second);
    raw_disconnect(&other);
    raw_end(&world->call);
    raw_disconnect(&world->client);
    bed_stop(&world->bed);
    udpai_free(world);
}

int
main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_given_up_with_its_connection),
        cmocka_unit_test(streams_end_one_after_the_other),
        cmocka_unit_test(none_is_begun_and_health_is_answered),
        cmocka_unit_test(a_process_that_leaves_keeps_its_clients),
        cmocka_unit_test(streams_of_another_listener_stay),
        cmocka_unit_test(a_successor_has_its_socket),
        cmocka_unit_test(a_thread_may_stop_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
