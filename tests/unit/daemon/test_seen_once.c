/* SPDX-License-Identifier: Apache-2.0 */
/* Features of resources are reported once, as far as there is room to remember. */
#include "daemon/seen_once.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

static const char old[] = "same", older[] = "same"; /* two features */

static void
each_feature_of_a_resource_is_remembered(void **state)
{
    (void)state;
    udpai_seen_once told;
    udpai_seen_once_init(&told);
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("a"), old));
    udpai_seen_once_add(&told, UDPAI_STR("a"), old);
    assert_true(udpai_seen_once_has(&told, UDPAI_STR("a"), old));
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("a"), older));
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("b"), old));
    udpai_seen_once_add(&told, UDPAI_STR("a"), older);
    udpai_seen_once_add(&told, UDPAI_STR("b"), old);
    udpai_seen_once_forget(&told, UDPAI_STR("c"));
    assert_int_equal(told.n, 3);
    udpai_seen_once_forget(&told, UDPAI_STR("a"));
    assert_int_equal(told.n, 1);
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("a"), older));
    assert_true(udpai_seen_once_has(&told, UDPAI_STR("b"), old));
    udpai_seen_once_done(&told);
}

static udpai_str
key(char room[16], size_t i)
{
    return (udpai_str){room, (size_t)snprintf(room, 16, "%zu", i)};
}

static void
the_first_are_forgotten_when_there_are_too_many(void **state)
{
    (void)state;
    udpai_seen_once told;
    char room[16];
    udpai_seen_once_init(&told);
    for (size_t i = 0; i < UDPAI_SEEN_ONCE_MAX / 2 + 10; i++) {
        udpai_seen_once_add(&told, key(room, i), old);
        udpai_seen_once_add(&told, key(room, i), older);
        assert_true(told.n <= UDPAI_SEEN_ONCE_MAX);
    }
    assert_int_equal(told.n, UDPAI_SEEN_ONCE_MAX);
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("9"), old));
    assert_true(udpai_seen_once_has(&told, UDPAI_STR("10"), old));
    udpai_seen_once_done(&told);
}

static void
one_resource_fills_no_more_than_all(void **state)
{
    (void)state;
    static char features[UDPAI_SEEN_ONCE_MAX + 10];
    udpai_seen_once told;
    udpai_seen_once_init(&told);
    for (size_t i = 0; i < sizeof(features); i++)
        udpai_seen_once_add(&told, UDPAI_STR("a"), &features[i]);
    assert_int_equal(told.n, UDPAI_SEEN_ONCE_MAX);
    assert_false(udpai_seen_once_has(&told, UDPAI_STR("a"), &features[UDPAI_SEEN_ONCE_MAX]));
    udpai_seen_once_add(&told, UDPAI_STR("b"), old);
    assert_int_equal(told.n, 1);
    udpai_seen_once_done(&told);
}

static void
without_memory_nothing_is_remembered(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        udpai_seen_once told;
        udpai_seen_once_init(&told);
        udpai_alloc_fail_after(n);
        udpai_seen_once_add(&told, UDPAI_STR("a"), old);
        udpai_alloc_fail_after(-1);
        size_t n_told = told.n;
        assert_int_equal(told.resources.n, n_told);
        assert_int_equal(udpai_seen_once_has(&told, UDPAI_STR("a"), old), n_told);
        udpai_seen_once_done(&told);
        if (n_told)
            return;
        assert_true(n < 10);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_of_a_resource_is_remembered),
        cmocka_unit_test(the_first_are_forgotten_when_there_are_too_many),
        cmocka_unit_test(one_resource_fills_no_more_than_all),
        cmocka_unit_test(without_memory_nothing_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
