/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that wait for a barrier which nobody reports: how long. */
#include "session/stream_barrier.h"

#include "base/alloc.h"
#include "tests/harness/test.h"

#define LONG_MS 7000 /* as if the process had been stopped */

static struct bed {
    udpai_wheel wheel;
    udpai_stream_barrier barrier;
    udpai_session sessions[3];
} bed;

/* As the hub does. */
static void
on_end(udpai_timer *timer)
{
    udpai_stream_barrier *barrier = UDPAI_CONTAINER_OF(timer, udpai_stream_barrier, end);
    while (udpai_stream_barrier_next(barrier, barrier->ends))
        continue;
    udpai_stream_barrier_ended(barrier);
}

static int
set_up(void **state)
{
    (void)state;
    memset(&bed, 0, sizeof(bed));
    udpai_wheel_init(&bed.wheel, 0);
    udpai_stream_barrier_init(&bed.barrier, &bed.wheel);
    udpai_timer_init(&bed.barrier.end, on_end);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bed.sessions); i++)
        udpai_list_init(&bed.sessions[i].in_barrier);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    udpai_timer_cancel(&bed.barrier.end);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bed.sessions); i++)
        udpai_list_remove(&bed.sessions[i].in_barrier);
    return 0;
}

static void
begin(size_t i)
{
    (void)udpai_stream_barrier_add(&bed.barrier, &bed.sessions[i]);
}

static uint64_t
report(void)
{
    udpai_report *made = udpai_stream_barrier_report(&bed.barrier, 1);
    assert_non_null(made);
    uint64_t ticket = made->ticket;
    udpai_report_free(made);
    return ticket;
}

static bool
waits(size_t i)
{
    return udpai_list_linked(&bed.sessions[i].in_barrier);
}

static void
advance(uint64_t ms)
{
    udpai_wheel_advance(&bed.wheel, bed.wheel.now_ms + ms);
}

static void
nobody_waits_for_ever(void **state)
{
    (void)state;
    begin(0);
    (void)report();
    advance(2500);
    assert_true(waits(0));
    advance(1000);
    assert_false(waits(0));
}

/* The clock goes on while a process is stopped: what has begun when it goes on has not waited. */
static void
who_has_just_begun_waits_though_others_have_waited_enough(void **state)
{
    (void)state;
    begin(0);
    (void)report();
    begin(1);
    advance(LONG_MS);
    assert_false(waits(0));
    assert_true(waits(1));
    uint64_t ticket = report();
    advance(2500);
    assert_true(waits(1));
    assert_ptr_equal(udpai_stream_barrier_next(&bed.barrier, ticket), &bed.sessions[1]);
}

/* Those that come again and again do not put off the end of the others. */
static void
others_do_not_put_off_the_end(void **state)
{
    (void)state;
    begin(0);
    (void)report();
    advance(2500);
    begin(1);
    (void)report();
    advance(1000);
    assert_false(waits(0));
    assert_true(waits(1));
    advance(4000);
    assert_false(waits(1));
}

static void
a_barrier_that_has_passed_ends_nothing_of_later_ones(void **state)
{
    (void)state;
    begin(0);
    uint64_t first = report();
    advance(2500);
    assert_non_null(udpai_stream_barrier_next(&bed.barrier, first));
    begin(1);
    (void)report();
    advance(1000);
    assert_true(waits(1));
    advance(4000);
    assert_false(waits(1));
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(nobody_waits_for_ever),
        CASE(who_has_just_begun_waits_though_others_have_waited_enough),
        CASE(others_do_not_put_off_the_end),
        CASE(a_barrier_that_has_passed_ends_nothing_of_later_ones),
    };
    return cmocka_run_group_tests_name("stream_barrier", tests, NULL, NULL);
}
