/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which a thread could run. */
#include "base/awake_clock.h"

#include "base/util.h"
#include "tests/harness/test.h"

#define BEGIN_MS 1000

static udpai_wheel wheel;
static udpai_awake_clock held;
static udpai_timer probe, later;
static unsigned n_fired;

static void
on_fired(udpai_timer *timer)
{
    (void)timer;
    n_fired++;
}

static int
set_up(void **state)
{
    (void)state;
    udpai_wheel_init(&wheel, BEGIN_MS);
    held = (udpai_awake_clock){0};
    udpai_timer_init(&probe, on_fired);
    udpai_timer_init(&later, on_fired);
    n_fired = 0;
    return 0;
}

static uint64_t
turn(uint64_t monotonic_ms)
{
    udpai_wheel_advance(&wheel, udpai_awake_now(&held, &wheel, monotonic_ms));
    return wheel.now_ms;
}

static void
it_is_the_clock_while_the_thread_runs(void **state)
{
    (void)state;
    assert_int_equal(turn(BEGIN_MS + 10), BEGIN_MS + 10);
    assert_int_equal(turn(BEGIN_MS + 90000), BEGIN_MS + 90000); /* nothing was waited for */
    udpai_timer_set(&wheel, &probe, wheel.now_ms + 800);
    assert_int_equal(turn(BEGIN_MS + 90400), BEGIN_MS + 90400); /* something has come */
    assert_int_equal(turn(BEGIN_MS + 90900), BEGIN_MS + 90900); /* a little late */
    assert_int_equal(n_fired, 1);
    assert_int_equal(held.held_up_ms, 0);
}

/* Of timers that would have followed each other none fires before what has come is read. */
static void
a_stop_is_no_time(void **state)
{
    (void)state;
    udpai_timer_set(&wheel, &probe, BEGIN_MS + 800);
    udpai_timer_set(&wheel, &later, BEGIN_MS + 3000);
    uint64_t first = turn(BEGIN_MS + 7000);
    assert_true(first <= BEGIN_MS + 800);
    (void)turn(BEGIN_MS + 7300);
    (void)turn(BEGIN_MS + 7800);
    assert_int_equal(n_fired, 1);
    assert_true(udpai_timer_is_set(&later));
    uint64_t due = udpai_awake_next(&held, &wheel);
    assert_true(due > BEGIN_MS + 7800 && due <= BEGIN_MS + 7000 + 3000);
    while (n_fired == 1 && due < BEGIN_MS + 12000) {
        (void)turn(due);
        due = udpai_awake_next(&held, &wheel);
    }
    assert_int_equal(n_fired, 2);
}

static void
without_timers_it_waits_for_ever(void **state)
{
    (void)state;
    assert_true(udpai_awake_next(&held, &wheel) == UDPAI_WHEEL_NEVER);
    held.held_up_ms = 5;
    assert_true(udpai_awake_next(&held, &wheel) == UDPAI_WHEEL_NEVER);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        CASE(it_is_the_clock_while_the_thread_runs),
        CASE(a_stop_is_no_time),
        CASE(without_timers_it_waits_for_ever),
    };
    return cmocka_run_group_tests_name("awake_clock", tests, NULL, NULL);
}
