/* SPDX-License-Identifier: Apache-2.0 */
/* The fullest of many, against a look through all of them. */
#include "metrics/fullest.h"

#include "tests/harness/test.h"

static void
percents_are_rounded_down(void **state)
{
    (void)state;
    assert_int_equal(udpai_percent_of(0, 10), 0);
    assert_int_equal(udpai_percent_of(1, 1000), 0);
    assert_int_equal(udpai_percent_of(999, 1000), 99);
    assert_int_equal(udpai_percent_of(1000, 1000), 100);
    assert_int_equal(udpai_percent_of(5000, 1000), 100);
    assert_int_equal(udpai_percent_of(UINT64_MAX - 1, UINT64_MAX), 100);
    assert_int_equal(udpai_percent_of(UINT64_MAX / 2, UINT64_MAX), 50);
}

static void
without_a_limit_nothing_is_full(void **state)
{
    (void)state;
    assert_int_equal(udpai_percent_of(7, 0), 0);
}

static void
the_fullest_is_that_of_a_look_through_all(void **state)
{
    udpai_fullest fullest = {0};
    unsigned all[20] = {0};
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 10000; i++) {
        unsigned most = 0;
        size_t at = test_random_below(&seed, UDPAI_ARRAY_LEN(all));
        unsigned now = test_random_below(&seed, 2) ? 0 : (unsigned)test_random_below(&seed, 101);
        udpai_fullest_note(&fullest, &all[at], now);
        assert_int_equal(all[at], now);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(all); k++)
            most = all[k] > most ? all[k] : most;
        assert_int_equal(udpai_fullest_percent(&fullest), most);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percents_are_rounded_down),
        cmocka_unit_test(without_a_limit_nothing_is_full),
        cmocka_unit_test(the_fullest_is_that_of_a_look_through_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
