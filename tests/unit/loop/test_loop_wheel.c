/* SPDX-License-Identifier: Apache-2.0 */
/* The wheel of timers on a real loop. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#include "loop/clock.h"
#include "loop/loop_wheel.h"

#define TIMERS 4

struct world {
    uv_loop_t loop;
    udpai_loop_wheel *wheel;
    unsigned n_ticks;

    struct item {
        udpai_timer timer;
        struct world *world;
        uint64_t due_ms, fired_ms;
        unsigned order, again;
    } items[TIMERS];

    unsigned n_fired;
};

static void
fire(udpai_timer *timer)
{
    struct item *item = UDPAI_CONTAINER_OF(timer, struct item, timer);
    item->fired_ms = udpai_monotonic_ms();
    item->order = item->world->n_fired++;
    if (item->again-- > 0)
        udpai_timer_set(udpai_loop_wheel_get(item->world->wheel), timer, item->fired_ms + 1);
}

static void
ticked(void *userdata)
{
    ((struct world *)userdata)->n_ticks++;
}

static void
init(struct world *world)
{
    memset(world, 0, sizeof(*world));
    assert_int_equal(uv_loop_init(&world->loop), 0);
    assert_ok(udpai_loop_wheel_new(&world->wheel, &world->loop, ticked, world, NULL));
    for (unsigned i = 0; i < TIMERS; i++) {
        world->items[i].world = world;
        udpai_timer_init(&world->items[i].timer, fire);
    }
}

static void
set(struct world *world, unsigned i, uint64_t delay_ms)
{
    world->items[i].due_ms = udpai_monotonic_ms() + delay_ms;
    udpai_timer_set(udpai_loop_wheel_get(world->wheel), &world->items[i].timer,
                    world->items[i].due_ms);
}

static void
done(struct world *world)
{
    udpai_loop_wheel_close(world->wheel);
    assert_int_equal(uv_run(&world->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world->loop), 0);
}

/* The loop ends by itself when no timer is left. */
static void
test_fires_in_order_and_never_early(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    set(&world, 0, 20);
    set(&world, 1, 5);
    set(&world, 2, 0);
    udpai_loop_wheel_arm(world.wheel);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.n_fired, 3);
    assert_int_equal(world.items[2].order, 0);
    assert_int_equal(world.items[1].order, 1);
    assert_int_equal(world.items[0].order, 2);
    for (unsigned i = 0; i < 3; i++)
        assert_true(world.items[i].fired_ms >= world.items[i].due_ms);
    assert_true(world.n_ticks > 0);
    done(&world);
}

/* A timer that sets another, or itself, needs no help from outside. */
static void
test_timers_set_timers(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    world.items[0].again = 5;
    set(&world, 0, 1);
    udpai_loop_wheel_arm(world.wheel);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.n_fired, 6);
    done(&world);
}

static void
fire_and_stop(udpai_timer *timer)
{
    fire(timer);
    uv_stop(&UDPAI_CONTAINER_OF(timer, struct item, timer)->world->loop);
}

static void
test_an_earlier_timer_is_armed_for(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    set(&world, 0, 3600 * 1000);
    udpai_loop_wheel_arm(world.wheel);
    world.items[1].timer.fire = fire_and_stop;
    set(&world, 1, 1);
    udpai_loop_wheel_arm(world.wheel);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.n_fired, 1);
    assert_true(world.items[1].fired_ms >= world.items[1].due_ms);
    assert_true(udpai_timer_is_set(&world.items[0].timer));
    udpai_timer_cancel(&world.items[0].timer);
    done(&world);
}

/* A loop with nothing else to do must not wait for what was cancelled. */
static void
test_cancelled_timers_keep_no_loop_alive(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    set(&world, 0, 3600 * 1000);
    udpai_loop_wheel_arm(world.wheel);
    assert_true(uv_loop_alive(&world.loop));
    udpai_timer_cancel(&world.items[0].timer);
    udpai_loop_wheel_arm(world.wheel);
    assert_false(uv_loop_alive(&world.loop));
    done(&world);
}

static void
test_advance_fires_without_the_loop(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    set(&world, 0, 0);
    udpai_loop_wheel_advance(world.wheel);
    assert_int_equal(world.n_fired, 1);
    assert_int_equal(world.n_ticks, 0);
    done(&world);
}

static udpa_err
make_one(void *context)
{
    uv_loop_t loop;
    udpai_loop_wheel *wheel;
    (void)context;
    assert_int_equal(uv_loop_init(&loop), 0);
    udpa_err err = udpai_loop_wheel_new(&wheel, &loop, NULL, NULL, NULL);
    if (err == UDPA_OK)
        udpai_loop_wheel_close(wheel);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_one, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fires_in_order_and_never_early),
        cmocka_unit_test(test_timers_set_timers),
        cmocka_unit_test(test_an_earlier_timer_is_armed_for),
        cmocka_unit_test(test_cancelled_timers_keep_no_loop_alive),
        cmocka_unit_test(test_advance_fires_without_the_loop),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
