/* SPDX-License-Identifier: Apache-2.0 */
/* The list of mistakes: its order, its bound, and lack of memory. */
#include "codec/text_errors.h"

#include "tests/harness/test.h"

static const udpai_tree nodes[UDPAI_TEXT_ERRORS_MAX + 1];

static bool
add(udpai_text_errors *mistakes, uint32_t line, uint32_t column, const udpai_tree *node)
{
    udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "%u:%u", line, column);
    const udpai_text_error mistake = {line, column, error};
    bool added = udpai_text_errors_add(mistakes, &mistake, node);
    if (!added)
        udpa_error_unref(error);
    return added;
}

static void
they_are_sorted_by_place(void **state)
{
    (void)state;
    udpai_text_errors mistakes = {0};
    udpai_text_errors_sort(&mistakes);
    assert_true(add(&mistakes, 3, 1, &nodes[0]));
    assert_true(add(&mistakes, 1, 9, &nodes[1]));
    assert_true(add(&mistakes, 1, 2, &nodes[2]));
    udpai_text_errors_sort(&mistakes);
    static const char *const expected[] = {"1:2", "1:9", "3:1"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(expected); i++)
        assert_string_equal(udpa_error_message(mistakes.found.items[i].error), expected[i]);
    udpai_text_errors_done(&mistakes);
    assert_int_equal(mistakes.found.n, 0);
}

static void
nodes_are_remembered(void **state)
{
    (void)state;
    udpai_text_errors mistakes = {0};
    assert_false(udpai_text_errors_has(&mistakes, &nodes[0]));
    assert_true(add(&mistakes, 1, 1, &nodes[0]));
    assert_true(udpai_text_errors_has(&mistakes, &nodes[0]));
    assert_false(udpai_text_errors_has(&mistakes, &nodes[1]));
    udpai_text_errors_done(&mistakes);
}

static void
their_number_is_bounded(void **state)
{
    (void)state;
    udpai_text_errors mistakes = {0};
    for (uint32_t i = 0; i < UDPAI_TEXT_ERRORS_MAX; i++)
        assert_true(add(&mistakes, i, 1, &nodes[i]));
    assert_false(add(&mistakes, 1, 1, &nodes[UDPAI_TEXT_ERRORS_MAX]));
    assert_false(udpai_text_errors_has(&mistakes, &nodes[UDPAI_TEXT_ERRORS_MAX]));
    assert_int_equal(mistakes.found.n, UDPAI_TEXT_ERRORS_MAX);
    udpai_text_errors_done(&mistakes);
}

static void
without_memory_nothing_is_added(void **state)
{
    (void)state;
    udpai_text_errors mistakes = {0};
    udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "x");
    const udpai_text_error mistake = {1, 1, error};
    for (long n = 0; n < 2; n++) {
        udpai_alloc_fail_after(n);
        bool added = udpai_text_errors_add(&mistakes, &mistake, &nodes[0]);
        udpai_alloc_fail_after(-1);
        assert_false(added);
        assert_int_equal(mistakes.found.n, 0);
        udpai_text_errors_done(&mistakes);
    }
    udpa_error_unref(error);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_sorted_by_place),
        cmocka_unit_test(nodes_are_remembered),
        cmocka_unit_test(their_number_is_bounded),
        cmocka_unit_test(without_memory_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
