/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of times: parts of a thousand, and times that are too long. */
#include "base/alloc.h"
#include "tests/harness/test.h"
#include "tools/bench/samples.h"

static void
without_any_there_is_no_time(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    assert_true(udpai_samples_at(&samples, 0.5) == 0);
    udpai_samples_done(&samples);
}

static void
one_is_all_of_them(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    udpai_samples_add(&samples, 1500);
    assert_true(udpai_samples_at(&samples, 0) == 1.5);
    assert_true(udpai_samples_at(&samples, 0.5) == 1.5);
    assert_true(udpai_samples_at(&samples, 1) == 1.5);
    udpai_samples_done(&samples);
}

/* In whatever order they come. */
static void
parts_of_a_thousand(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    for (uint64_t i = 0; i < 1000; i++)
        udpai_samples_add(&samples, (i * 7 % 1000 + 1) * 1000);
    assert_true(udpai_samples_at(&samples, 0) == 1);
    assert_true(udpai_samples_at(&samples, 0.5) == 501);
    assert_true(udpai_samples_at(&samples, 0.99) == 991);
    assert_true(udpai_samples_at(&samples, 1) == 1000);
    udpai_samples_done(&samples);
}

static void
one_that_comes_later_counts(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    udpai_samples_add(&samples, 5000);
    assert_true(udpai_samples_at(&samples, 1) == 5);
    udpai_samples_add(&samples, 3000);
    assert_true(udpai_samples_at(&samples, 0) == 3);
    assert_true(udpai_samples_at(&samples, 1) == 5);
    udpai_samples_done(&samples);
}

/* Longer than can be held: seven minutes. */
static void
what_takes_too_long_is_the_longest(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    udpai_samples_add(&samples, UINT64_MAX);
    udpai_samples_add(&samples, UINT64_C(400) * 1000000000);
    assert_true(udpai_samples_at(&samples, 0) == 400e6);
    assert_true(udpai_samples_at(&samples, 1) > 429e6);
    udpai_samples_done(&samples);
}

static void
without_memory_it_is_told(void **state)
{
    (void)state;
    udpai_samples samples = {0};
    udpai_alloc_fail_after(0);
    udpai_samples_add(&samples, 1000);
    udpai_alloc_fail_after(-1);
    assert_true(samples.has_failed);
    assert_true(udpai_samples_at(&samples, 1) == 0);
    udpai_samples_done(&samples);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_any_there_is_no_time),
        cmocka_unit_test(one_is_all_of_them),
        cmocka_unit_test(parts_of_a_thousand),
        cmocka_unit_test(one_that_comes_later_counts),
        cmocka_unit_test(what_takes_too_long_is_the_longest),
        cmocka_unit_test(without_memory_it_is_told),
    };
    return cmocka_run_group_tests_name("bench/samples", tests, NULL, NULL);
}
