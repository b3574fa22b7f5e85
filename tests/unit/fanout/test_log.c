/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a view: in order of change, with holes that are closed in time. */
#include "fanout/fanout_internal.h"
#include "tests/harness/test.h"

#define ITEMS 50

/* Only their addresses matter to a log; where each is, the test notes itself. */
static udpai_item items[ITEMS];
static size_t slots[ITEMS];

static void
note_moved(void *userdata, udpai_item *item, size_t slot)
{
    ++*(size_t *)userdata;
    slots[item - items] = slot;
}

static void
append(udpai_log *log, uint64_t seq, size_t index)
{
    size_t n_moved = 0;
    assert_true(udpai_log_reserve(log, note_moved, &n_moved));
    slots[index] = udpai_log_append(log, seq, &items[index]);
}

static void
test_an_empty_log(void **state)
{
    (void)state;
    udpai_log log = {0};
    assert_int_equal(udpai_log_after(&log, 0), 0);
    assert_null(udpai_log_first_after(&log, 0));
    udpai_log_done(&log);
}

static void
test_places_are_found(void **state)
{
    (void)state;
    udpai_log log = {0};
    for (size_t i = 0; i < 5; i++)
        append(&log, 10 * (i + 1), i);
    assert_int_equal(udpai_log_after(&log, 0), 0);
    assert_int_equal(udpai_log_after(&log, 9), 0);
    assert_int_equal(udpai_log_after(&log, 10), 1);
    assert_int_equal(udpai_log_after(&log, 49), 4);
    assert_int_equal(udpai_log_after(&log, 50), 5);
    assert_ptr_equal(udpai_log_first_after(&log, 25), &items[2]);
    assert_null(udpai_log_first_after(&log, 50));
    udpai_log_done(&log);
}

static void
test_holes_are_stepped_over(void **state)
{
    (void)state;
    udpai_log log = {0};
    for (size_t i = 0; i < 5; i++)
        append(&log, 10 * (i + 1), i);
    udpai_log_clear_slot(&log, slots[0]);
    udpai_log_clear_slot(&log, slots[2]);
    assert_int_equal(log.n_live, 3);
    assert_int_equal(udpai_log_oldest(&log), 1);
    assert_ptr_equal(udpai_log_first_after(&log, 20), &items[3]);
    udpai_log_clear_slot(&log, slots[1]);
    assert_int_equal(udpai_log_oldest(&log), 3);
    udpai_log_clear_slot(&log, slots[3]);
    udpai_log_clear_slot(&log, slots[4]);
    assert_int_equal(log.n, 0);
    assert_null(udpai_log_first_after(&log, 0));
    append(&log, 60, 1);
    assert_int_equal(udpai_log_oldest(&log), 0);
    udpai_log_done(&log);
}

/* However often few items change, the log does not grow; each is where it was told to be. */
static void
test_holes_are_closed(void **state)
{
    (void)state;
    udpai_log log = {0};
    uint64_t seq = 0, random = 1;
    for (size_t i = 0; i < ITEMS; i++)
        append(&log, ++seq, i);
    for (size_t round = 0; round < 5000; round++) {
        size_t index = test_random_below(&random, ITEMS), n_moved = 0;
        assert_true(udpai_log_reserve(&log, note_moved, &n_moved));
        udpai_log_clear_slot(&log, slots[index]);
        slots[index] = udpai_log_append(&log, ++seq, &items[index]);
        assert_int_equal(log.n_live, ITEMS);
        assert_true(log.capacity <= ITEMS * 4);
        size_t oldest = udpai_log_oldest(&log);
        for (size_t i = 0; i < ITEMS; i++) {
            assert_ptr_equal(log.slots[slots[i]].item, &items[i]);
            assert_true(oldest <= slots[i]);
        }
    }
    for (size_t i = 1; i < log.n; i++)
        assert_true(log.slots[i - 1].seq < log.slots[i].seq);
    udpai_log_done(&log);
}

static void
test_without_memory_it_stays_as_it_is(void **state)
{
    (void)state;
    udpai_log log = {0};
    size_t n_moved = 0;
    udpai_alloc_fail_after(0);
    assert_false(udpai_log_reserve(&log, note_moved, &n_moved));
    udpai_alloc_fail_after(-1);
    for (size_t i = 0; i < 8; i++)
        append(&log, i + 1, i);
    udpai_alloc_fail_after(0);
    assert_false(udpai_log_reserve(&log, note_moved, &n_moved));
    /* With holes enough there is room without memory. */
    for (size_t i = 0; i < 4; i++)
        udpai_log_clear_slot(&log, slots[i]);
    assert_true(udpai_log_reserve(&log, note_moved, &n_moved));
    udpai_alloc_fail_after(-1);
    assert_int_equal(n_moved, 4);
    assert_int_equal(log.n, 4);
    udpai_log_done(&log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_log),
        cmocka_unit_test(test_places_are_found),
        cmocka_unit_test(test_holes_are_stepped_over),
        cmocka_unit_test(test_holes_are_closed),
        cmocka_unit_test(test_without_memory_it_stays_as_it_is),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
