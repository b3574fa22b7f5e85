/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: the monotonic one never goes back, and both are those of the system. */
#include "tests/harness/test.h"

#include <time.h>

#include "loop/clock.h"

static void
test_monotonic_never_goes_back(void **state)
{
    (void)state;
    uint64_t last = udpai_monotonic_ms();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = udpai_monotonic_ms();
        assert_true(now >= last);
        last = now;
    }
}

static void
test_monotonic_is_that_of_the_system(void **state)
{
    (void)state;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    uint64_t now = udpai_monotonic_ms();
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(now >= (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / 1000000);
    assert_true(now <= (uint64_t)after.tv_sec * 1000 + (uint64_t)after.tv_nsec / 1000000);
}

static void
test_wall_is_that_of_the_system(void **state)
{
    (void)state;
    time_t before = time(NULL);
    int64_t now = udpai_wall_us();
    assert_true(now / 1000000 >= before - 1);
    assert_true(now / 1000000 <= time(NULL) + 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic_never_goes_back),
        cmocka_unit_test(test_monotonic_is_that_of_the_system),
        cmocka_unit_test(test_wall_is_that_of_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
