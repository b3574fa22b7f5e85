/* SPDX-License-Identifier: Apache-2.0 */
/* The small things: string views, moving ownership, containers. */
#include "base/util.h"

#include "tests/harness/test.h"

static const udpai_str none = {NULL, 0};

static int
sign(int number)
{
    return (number > 0) - (number < 0);
}

static void
views_are_made_from_text(void **state)
{
    (void)state;
    assert_int_equal(UDPAI_STR("abc").len, 3);
    assert_int_equal(UDPAI_STR("a\0b").len, 3);
    assert_int_equal(udpai_str_from("abc").len, 3);
    assert_int_equal(udpai_str_from("").len, 0);
    assert_int_equal(udpai_str_from(NULL).len, 0);
}

static void
equality_is_by_bytes(void **state)
{
    (void)state;
    assert_true(udpai_str_eq(UDPAI_STR("abc"), UDPAI_STR("abc")));
    assert_false(udpai_str_eq(UDPAI_STR("abc"), UDPAI_STR("abd")));
    assert_false(udpai_str_eq(UDPAI_STR("abc"), UDPAI_STR("ab")));
    assert_false(udpai_str_eq(UDPAI_STR("a\0b"), UDPAI_STR("a\0c")));
    assert_true(udpai_str_eq(none, UDPAI_STR("")));
    assert_false(udpai_str_eq(none, UDPAI_STR("a")));
}

static void
prefix_may_be_empty_or_all(void **state)
{
    (void)state;
    assert_true(udpai_str_starts(UDPAI_STR("abc"), UDPAI_STR("ab")));
    assert_true(udpai_str_starts(UDPAI_STR("abc"), UDPAI_STR("abc")));
    assert_true(udpai_str_starts(UDPAI_STR("abc"), none));
    assert_true(udpai_str_starts(none, none));
    assert_false(udpai_str_starts(UDPAI_STR("abc"), UDPAI_STR("abcd")));
    assert_false(udpai_str_starts(UDPAI_STR("abc"), UDPAI_STR("b")));
    assert_false(udpai_str_starts(none, UDPAI_STR("b")));
}

static void
order_is_that_of_bytes_then_length(void **state)
{
    (void)state;
    static const udpai_str sorted[] = {{"", 0},    {"\0", 1}, {"a", 1}, {"a\0", 2},  {"a.b", 3},
                                       {"a/b", 3}, {"ab", 2}, {"b", 1}, {"\xc3", 1}, {"\xff", 1}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sorted); i++)
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(sorted); k++)
            assert_int_equal(sign(udpai_str_cmp(sorted[i], sorted[k])), (i > k) - (i < k));
    assert_int_equal(udpai_str_cmp(none, UDPAI_STR("")), 0);
    assert_true(udpai_str_cmp(none, UDPAI_STR("a")) < 0);
}

static void
take_leaves_null(void **state)
{
    (void)state;
    int number = 1, *pointer = &number;
    int *taken = UDPAI_TAKE(pointer);
    assert_ptr_equal(taken, &number);
    assert_null(pointer);
}

static void
take_evaluates_once(void **state)
{
    (void)state;
    int numbers[2] = {1, 2}, *pointers[2] = {&numbers[0], &numbers[1]};
    size_t at = 0;
    assert_ptr_equal(UDPAI_TAKE(pointers[at++]), &numbers[0]);
    assert_int_equal(at, 1);
    assert_null(pointers[0]);
    assert_ptr_equal(pointers[1], &numbers[1]);
}

struct outer {
    char before;
    int inner;
};

static void
container_is_found(void **state)
{
    (void)state;
    struct outer outer;
    assert_ptr_equal(UDPAI_CONTAINER_OF(&outer.inner, struct outer, inner), &outer);
}

static void
smaller_and_larger(void **state)
{
    (void)state;
    assert_int_equal(udpai_min_size(1, 2), 1);
    assert_int_equal(udpai_min_size(2, 1), 1);
    assert_int_equal(udpai_max_size(1, 2), 2);
    assert_true(udpai_max_size(SIZE_MAX, 0) == SIZE_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_made_from_text),
        cmocka_unit_test(equality_is_by_bytes),
        cmocka_unit_test(prefix_may_be_empty_or_all),
        cmocka_unit_test(order_is_that_of_bytes_then_length),
        cmocka_unit_test(take_leaves_null),
        cmocka_unit_test(take_evaluates_once),
        cmocka_unit_test(container_is_found),
        cmocka_unit_test(smaller_and_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
