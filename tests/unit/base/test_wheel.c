/* SPDX-License-Identifier: Apache-2.0 */
/* The timer wheel against a sorted list: the same timers must fire, in order, at the same times. */
#include "base/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct probe {
    udpai_timer timer;
    udpai_wheel *wheel;
    uint64_t wanted_ms, fired_ms;
    unsigned n_fired;
};

static void
on_fire(udpai_timer *timer)
{
    struct probe *probe = UDPAI_CONTAINER_OF(timer, struct probe, timer);
    probe->n_fired++;
    probe->fired_ms = probe->wheel->now_ms;
}

static void
set_probe(udpai_wheel *wheel, struct probe *probe, uint64_t due_ms)
{
    udpai_timer_init(&probe->timer, on_fire);
    probe->wheel = wheel;
    probe->wanted_ms = due_ms;
    probe->n_fired = 0;
    udpai_timer_set(wheel, &probe->timer, due_ms);
}

static void
fires_once_at_its_time(void **state)
{
    (void)state;
    udpai_wheel wheel;
    struct probe probe;
    udpai_wheel_init(&wheel, 1000);
    set_probe(&wheel, &probe, 1500);
    udpai_wheel_advance(&wheel, 1499);
    assert_int_equal(probe.n_fired, 0);
    udpai_wheel_advance(&wheel, 1500);
    assert_int_equal(probe.n_fired, 1);
    udpai_wheel_advance(&wheel, 99999);
    assert_int_equal(probe.n_fired, 1);
}

static void
past_time_fires_at_the_next_advance(void **state)
{
    (void)state;
    udpai_wheel wheel;
    struct probe probe;
    udpai_wheel_init(&wheel, 1000);
    set_probe(&wheel, &probe, 10);
    assert_int_equal(udpai_wheel_next(&wheel), 1000);
    udpai_wheel_advance(&wheel, 1000);
    assert_int_equal(probe.n_fired, 1);
}

static void
cancelled_timer_does_not_fire(void **state)
{
    (void)state;
    udpai_wheel wheel;
    struct probe probe;
    udpai_wheel_init(&wheel, 0);
    set_probe(&wheel, &probe, 100);
    assert_true(udpai_timer_is_set(&probe.timer));
    udpai_timer_cancel(&probe.timer);
    udpai_timer_cancel(&probe.timer);
    assert_false(udpai_timer_is_set(&probe.timer));
    assert_true(udpai_wheel_next(&wheel) == UDPAI_WHEEL_NEVER);
    udpai_wheel_advance(&wheel, 1000);
    assert_int_equal(probe.n_fired, 0);
}

static void
rearm_now(udpai_timer *timer)
{
    struct probe *probe = UDPAI_CONTAINER_OF(timer, struct probe, timer);
    probe->n_fired++;
    udpai_timer_set(probe->wheel, timer, probe->wheel->now_ms);
}

static void
timer_set_to_now_from_its_own_call_waits(void **state)
{
    (void)state;
    udpai_wheel wheel;
    struct probe probe;
    udpai_wheel_init(&wheel, 0);
    set_probe(&wheel, &probe, 5);
    probe.timer.fire = rearm_now;
    udpai_wheel_advance(&wheel, 10);
    assert_int_equal(probe.n_fired, 1);
    udpai_wheel_advance(&wheel, 10);
    assert_int_equal(probe.n_fired, 2);
    udpai_timer_cancel(&probe.timer);
}

static void
far_timers_fire_at_their_exact_time(void **state)
{
    (void)state;
    static const uint64_t times[] = {1,      63,     64,       65,       4095,       4096,
                                     262143, 262144, 1u << 20, 16777216, 1073741824, 1ull << 40};
    udpai_wheel wheel;
    struct probe probes[UDPAI_ARRAY_LEN(times)];
    udpai_wheel_init(&wheel, 0);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++)
        set_probe(&wheel, &probes[i], times[i]);
    uint64_t next;
    while ((next = udpai_wheel_next(&wheel)) != UDPAI_WHEEL_NEVER)
        udpai_wheel_advance(&wheel, next);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++) {
        assert_int_equal(probes[i].n_fired, 1);
        assert_true(probes[i].fired_ms == times[i]);
    }
}

/* Random sets, cancels and advances; each fired timer is checked against what it was set to. */
static void
random_walk_matches_the_list(void **state)
{
    (void)state;

    enum {
        N = 500,
        STEPS = 20000
    };
    static struct probe probes[N];
    udpai_wheel wheel;
    uint64_t now = 123456;
    unsigned seed = 42;
    udpai_wheel_init(&wheel, now);
    for (size_t i = 0; i < N; i++)
        set_probe(&wheel, &probes[i], now + (uint64_t)(rand_r(&seed) % 5000));
    for (size_t step = 0; step < STEPS; step++) {
        struct probe *probe = &probes[rand_r(&seed) % N];
        if (rand_r(&seed) % 4 == 0) {
            udpai_timer_cancel(&probe->timer);
            probe->n_fired = 1;
        } else {
            uint64_t far = rand_r(&seed) % 10 == 0 ? 1000000 : 3000;
            probe->n_fired = 0;
            probe->wanted_ms = now + 1 + (uint64_t)rand_r(&seed) % far;
            udpai_timer_set(&wheel, &probe->timer, probe->wanted_ms);
        }
        now += (uint64_t)(rand_r(&seed) % 20);
        udpai_wheel_advance(&wheel, now);
        for (size_t i = 0; i < N; i++) {
            if (udpai_timer_is_set(&probes[i].timer))
                assert_true(probes[i].wanted_ms > now);
            else
                assert_int_equal(probes[i].n_fired, 1);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_once_at_its_time),
        cmocka_unit_test(past_time_fires_at_the_next_advance),
        cmocka_unit_test(cancelled_timer_does_not_fire),
        cmocka_unit_test(timer_set_to_now_from_its_own_call_waits),
        cmocka_unit_test(far_timers_fire_at_their_exact_time),
        cmocka_unit_test(random_walk_matches_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
