/* SPDX-License-Identifier: Apache-2.0 */
/* The growable array: pushes, reservations, removal, and that failure changes nothing. */
#include "base/vector.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

typedef UDPAI_VECTOR(int) ints;

static void
zero_initialised_is_empty(void **state)
{
    (void)state;
    ints v = {0};
    unsigned long before = udpai_alloc_count();
    udpai_vector_done(&v);
    assert_true(udpai_alloc_count() == before);
    assert_int_equal(v.n, 0);
}

static void
pushed_items_stay_in_order(void **state)
{
    (void)state;
    ints v = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(udpai_vector_push(&v, i * i));
    assert_int_equal(v.n, 1000);
    assert_true(v.capacity >= v.n);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.items[i], i * i);
    udpai_vector_done(&v);
    assert_null(v.items);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.capacity, 0);
    assert_true(udpai_vector_push(&v, 1)); /* it can be used again */
    udpai_vector_done(&v);
}

static void
growth_is_geometric(void **state)
{
    (void)state;
    ints v = {0};
    unsigned long before = udpai_alloc_count();
    for (int i = 0; i < 100000; i++)
        assert_true(udpai_vector_push(&v, i));
    assert_true(udpai_alloc_count() - before < 40);
    udpai_vector_done(&v);
}

static void
reserved_room_needs_no_memory(void **state)
{
    (void)state;
    ints v = {0};
    assert_true(udpai_vector_push(&v, -1));
    assert_true(udpai_vector_reserve(&v, 100));
    assert_int_equal(v.n, 1);
    udpai_alloc_fail_after(0);
    bool pushed = true;
    for (int i = 0; i < 100; i++)
        pushed = udpai_vector_push(&v, i) && pushed;
    udpai_alloc_fail_after(-1);
    assert_true(pushed);
    assert_int_equal(v.items[0], -1);
    assert_int_equal(v.items[100], 99);
    udpai_vector_done(&v);
}

static void
failure_changes_nothing(void **state)
{
    (void)state;
    ints v = {0};
    for (int i = 0; i < 4; i++)
        assert_true(udpai_vector_push(&v, i));
    udpai_alloc_fail_after(0);
    bool pushed = udpai_vector_push(&v, 4);
    udpai_alloc_fail_after(-1);
    assert_false(pushed);
    assert_int_equal(v.n, 4);
    assert_int_equal(v.items[3], 3);
    udpai_vector_done(&v);
}

static void
impossible_sizes_are_refused(void **state)
{
    (void)state;
    ints v = {0};
    assert_true(udpai_vector_push(&v, 1));
    assert_false(udpai_vector_reserve(&v, SIZE_MAX));
    assert_false(udpai_vector_reserve(&v, SIZE_MAX / 2));
    assert_int_equal(v.n, 1);
    assert_int_equal(v.items[0], 1);
    udpai_vector_done(&v);
}

static void
unordered_removal_moves_the_last(void **state)
{
    (void)state;
    ints v = {0};
    for (int i = 0; i < 4; i++)
        assert_true(udpai_vector_push(&v, i));
    udpai_vector_remove_unordered(&v, 1);
    assert_memory_equal(v.items, ((int[]){0, 3, 2}), 3 * sizeof(int));
    udpai_vector_remove_unordered(&v, 2);
    assert_memory_equal(v.items, ((int[]){0, 3}), 2 * sizeof(int));
    udpai_vector_remove_unordered(&v, 0);
    udpai_vector_remove_unordered(&v, 0);
    assert_int_equal(v.n, 0);
    udpai_vector_done(&v);
}

static udpa_err
push_many(void *context)
{
    (void)context;
    ints v = {0};
    bool pushed = true;
    for (int i = 0; i < 200 && pushed; i++)
        pushed = udpai_vector_push(&v, i);
    udpai_vector_done(&v);
    return pushed ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    assert_true(oom_torture(push_many, NULL) > 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_initialised_is_empty),
        cmocka_unit_test(pushed_items_stay_in_order),
        cmocka_unit_test(growth_is_geometric),
        cmocka_unit_test(reserved_room_needs_no_memory),
        cmocka_unit_test(failure_changes_nothing),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(unordered_removal_moves_the_last),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
