/* SPDX-License-Identifier: Apache-2.0 */
/* What a turn of a loop takes, without the time that it waits. */
#include "loop/turn_meter.h"

#include "loop/clock.h"
#include "tests/harness/test.h"

#define WORK_MS 30
#define WAIT_MS 300

static void
work(uv_timer_t *timer)
{
    uint64_t end_ms = udpai_monotonic_ms() + WORK_MS;
    while (udpai_monotonic_ms() < end_ms)
        continue;
    uv_timer_stop(timer);
}

struct seen {
    uint64_t n, us;
};

static void
look(void *userdata, const udpai_reading *reading)
{
    struct seen *seen = userdata;
    for (size_t i = 0; i <= UDPAI_METRIC_BUCKETS; i++)
        seen->n += reading->values[i];
    seen->us = reading->values[UDPAI_METRIC_BUCKETS + 1];
}

/* It has waited ten times as long as it has worked. */
static void
work_counts_and_waiting_does_not(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    udpai_turn_meter meter;
    uv_loop_t loop;
    uv_timer_t timer;
    struct seen seen = {0};
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_loop_configure(&loop, UV_METRICS_IDLE_TIME), 0);
    uv_timer_init(&loop, &timer);
    udpai_turn_meter_begin(&meter, &loop,
                           udpai_meters_get(meters, UDPAI_METRIC_LOOP_TURN, UDPAI_STR("")));
    uint64_t begin_ms = udpai_monotonic_ms();
    uv_timer_start(&timer, work, WAIT_MS, 0);
    uv_run(&loop, UV_RUN_DEFAULT); /* which the meter does not keep alive */
    uv_timer_start(&timer, work, 0, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_run(&loop, UV_RUN_NOWAIT);
    uint64_t took_us = (udpai_monotonic_ms() - begin_ms) * 1000;
    udpai_meters_read(meters, look, &seen);
    assert_true(seen.n >= 2);
    assert_true(seen.us >= WORK_MS * 1000);
    assert_true(seen.us + (WAIT_MS - 1) * 1000 <= took_us + 1000);
    udpai_turn_meter_end(&meter);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_counts_and_waiting_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
