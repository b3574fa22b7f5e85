/* SPDX-License-Identifier: Apache-2.0 */
/* When much was written, the next round waits for what changes meanwhile. */
#include "one_call.h"

static struct world *
begin(uint64_t pause_ms, size_t many)
{
    udpai_stream_thread_options options = {
        .limits.many_messages = many,
        .timing.pause_ms = pause_ms,
    };
    return one_call_begin(&options, "calm");
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
    one_call_order_push(world);
    raw_expect(&world->call, "pushed");
    unsigned written = atomic_load(&bed_n_written);
    one_call_order_push(world);
    expect_read(world);
    expect_read(world);
    assert_int_equal(atomic_load(&bed_n_written), written);
    one_call_end(world);
}

static void
test_and_then_it_comes(void **state)
{
    (void)state;
    struct world *world = begin(20, 1);
    for (int i = 0; i < 4; i++) {
        one_call_order_push(world);
        raw_expect(&world->call, "pushed");
    }
    one_call_end(world);
}

static void
test_few_wait_for_nothing(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, 2);
    for (int i = 0; i < 4; i++) {
        one_call_order_push(world);
        raw_expect(&world->call, "pushed");
    }
    one_call_end(world);
}

/* What is to be said of an end is said. */
static void
test_the_end_does_not_wait(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS, 1);
    one_call_order_push(world);
    raw_expect(&world->call, "pushed");
    assert_true(raw_say(&world->call, "finish"));
    assert_int_equal(raw_status(&world->call), GRPC_STATUS_PERMISSION_DENIED);
    assert_string_equal(world->call.text, "as you wish");
    one_call_end(world);
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
