/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that have nothing to say but acknowledgements are read when the next message is written. */
#include "one_call.h"

static struct world *
begin(uint64_t delayed_read_ms)
{
    udpai_stream_thread_options options = {.timing.delayed_read_ms = delayed_read_ms};
    return one_call_begin(&options, "echo");
}

static void
expect_received(struct world *world, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_ALIVE));
}

/* No read is outstanding. */
static void
expect_late(struct world *world)
{
    bed_wait_streams(&world->bed, 1, TAGS_OF_LISTENER);
}

static void
test_read_with_the_next_but_one(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS);
    assert_true(raw_say(&world->call, "calm"));
    expect_received(world, 1);
    expect_late(world);
    unsigned before = atomic_load(&bed_n_received);
    one_call_push(world);
    assert_true(raw_say(&world->call, "calm, too"));
    expect_late(world);
    assert_int_equal(atomic_load(&bed_n_received), before);
    one_call_push(world);
    expect_received(world, 1);
    expect_late(world);
    one_call_push(world); /* to have it read: only so it is seen that the stream is over */
    one_call_push(world);
    one_call_end(world);
}

/* Whoever wants something after all is answered with what is pushed next, and then at once. */
static void
test_wishes_end_it(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS);
    assert_true(raw_say(&world->call, "calm"));
    expect_late(world);
    one_call_push(world);
    assert_true(raw_say(&world->call, "echo something"));
    expect_late(world);
    one_call_push(world);
    raw_expect(&world->call, "echo something");
    assert_true(raw_say(&world->call, "echo more"));
    raw_expect(&world->call, "echo more");
    one_call_end(world);
}

static void
test_for_a_while(void **state)
{
    (void)state;
    struct world *world = begin(20);
    for (int i = 0; i < 3; i++) {
        assert_true(raw_say(&world->call, "calm"));
        assert_true(raw_say(&world->call, "echo something"));
        raw_expect(&world->call, "echo something");
        one_call_push(world);
    }
    one_call_end(world);
}

/* What is behind is read without waiting. */
static void
test_many_at_once(void **state)
{
    (void)state;
    struct world *world = begin(FOR_EVER_MS);
    assert_true(raw_say(&world->call, "calm"));
    expect_received(world, 1);
    expect_late(world);
    for (int i = 0; i < 10; i++)
        one_call_push(world);
    for (int i = 0; i < 10; i++)
        assert_true(raw_say(&world->call, "calm"));
    one_call_push(world);
    expect_received(world, 10);
    one_call_push(world);
    one_call_push(world);
    one_call_end(world);
}

static void
test_few_streams_are_read_at_once(void **state)
{
    (void)state;
    struct world *world = begin(0);
    assert_true(raw_say(&world->call, "calm"));
    assert_true(raw_say(&world->call, "echo something"));
    raw_expect(&world->call, "echo something");
    one_call_end(world);
}

static void
test_gone_while_late(void **state)
{
    (void)state;
    struct world *world = begin(20);
    assert_true(raw_say(&world->call, "calm"));
    one_call_end(world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_with_the_next_but_one),
        cmocka_unit_test(test_wishes_end_it),
        cmocka_unit_test(test_for_a_while),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_few_streams_are_read_at_once),
        cmocka_unit_test(test_gone_while_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
