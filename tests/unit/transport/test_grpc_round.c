/* SPDX-License-Identifier: Apache-2.0 */
/* When much was written, the next round waits for what changes meanwhile. */
#include "bed.h"
#include "raw.h"

#include "base/alloc.h"

#define TAGS_OF_LISTENER 32
#define FOR_EVER_MS 3600000

struct world {
    test_bed bed;
    raw_client client;
    raw_call call;
    uint64_t session;
};

/* One message is many, but for the tests that want it otherwise. */
static struct world *
begin(uint64_t pause_ms, size_t many)
{
    struct world *world = udpai_alloc(sizeof(*world));
    udpai_stream_thread_options options = {
        .limits.many_messages = many,
        .timing.pause_ms = pause_ms,
    };
    bed_start(&world->bed, &options);
    bed_listen(&world->bed, NULL);
    raw_connect(&world->client, world->bed.port, NULL, NULL);
    raw_begin(&world->client, &world->call, BED_PATH);
    assert_true(raw_say(&world->call, "calm"));
    udpai_report *alive = bed_report(&world->bed, UDPAI_REPORT_ALIVE);
    world->session = alive->session;
    udpai_report_free(alive);
    return world;
}

static void
end(struct world *world)
{
    raw_end(&world->call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
    raw_disconnect(&world->client);
    bed_stop(&world->bed);
    udpai_free(world);
}

static void
order_push(struct world *world)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = world->session;
    udpai_stream_thread_order(world->bed.thread, order);
}

/* What is said next is taken in, and the orders before it. */
static void
expect_read(struct world *world)
{
    assert_true(raw_say(&world->call, "calm"));
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_ALIVE));
}

static void
test_the_next_round_waits(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, 1);
    order_push(world);
    raw_expect(&world->call, "pushed");
    unsigned written = atomic_load(&bed_n_written);
    order_push(world);
    expect_read(world);
    expect_read(world);
    assert_int_equal(atomic_load(&bed_n_written), written);
    end(world);
}

static void
test_and_then_it_comes(void **state)
{
    (void)state;
    struct world *world = begin(20, 1);
    for (int i = 0; i < 4; i++) {
        order_push(world);
        raw_expect(&world->call, "pushed");
    }
    end(world);
}

static void
test_few_wait_for_nothing(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, 2);
    for (int i = 0; i < 4; i++) {
        order_push(world);
        raw_expect(&world->call, "pushed");
    }
    end(world);
}

/* What is to be said of an end is said. */
static void
test_the_end_does_not_wait(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, 1);
    order_push(world);
    raw_expect(&world->call, "pushed");
    assert_true(raw_say(&world->call, "finish"));
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_PERMISSION_DENIED);
    assert_string_equal(world->call.text, "as you wish");
    end(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_round_waits),
        cmocka_unit_test(test_and_then_it_comes),
        cmocka_unit_test(test_few_wait_for_nothing),
        cmocka_unit_test(test_the_end_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
