/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: zeroed where it says so, overflow refused, and failure on demand, on which every
 * out-of-memory test of the project leans. */
#include "base/alloc.h"

#include "tests/harness/test.h"

static bool
all_zero(const void *memory, size_t size)
{
    const char *bytes = memory;
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

static void
memory_is_zeroed(void **state)
{
    (void)state;
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        UDPAI_AUTO_FREE char *dirty = udpai_alloc(size);
        assert_non_null(dirty);
        assert_true(all_zero(dirty, size));
        memset(dirty, 0xff, size);
    }
    UDPAI_AUTO_FREE uint64_t *array = udpai_alloc_array(100, sizeof(*array));
    assert_true(all_zero(array, 100 * sizeof(*array)));
}

static void
size_zero_gives_a_unique_pointer(void **state)
{
    (void)state;
    UDPAI_AUTO_FREE void *a = udpai_alloc(0);
    UDPAI_AUTO_FREE void *b = udpai_alloc(0);
    UDPAI_AUTO_FREE void *c = udpai_alloc_array(0, 8);
    UDPAI_AUTO_FREE void *d = udpai_memdup(NULL, 0);
    UDPAI_AUTO_FREE void *e = udpai_realloc_array(NULL, 0, 8);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_non_null(c);
    assert_non_null(d);
    assert_non_null(e);
}

static void
overflow_is_refused(void **state)
{
    (void)state;
    /* The compiler would warn of constants that it can multiply itself. */
    volatile size_t huge = SIZE_MAX / 2 + 1;
    char *kept = udpai_strdup("kept");
    assert_null(udpai_realloc_array(NULL, huge, 2));
    assert_null(udpai_realloc_array(kept, 2, huge));
    assert_string_equal(kept, "kept");
    udpai_free(kept);
    assert_null(udpai_strndup("", SIZE_MAX));
}

static void
realloc_keeps_what_was_there(void **state)
{
    (void)state;
    uint32_t *numbers = NULL;
    for (uint32_t n = 1; n <= 64; n++) {
        numbers = udpai_realloc_array(numbers, n, sizeof(*numbers));
        assert_non_null(numbers);
        numbers[n - 1] = n * n;
    }
    numbers = udpai_realloc_array(numbers, 10, sizeof(*numbers));
    for (uint32_t n = 1; n <= 10; n++)
        assert_int_equal(numbers[n - 1], n * n);
    udpai_free(numbers);
}

static void
copies_are_copies(void **state)
{
    (void)state;
    char text[] = "com.acme";
    UDPAI_AUTO_FREE char *whole = udpai_strdup(text);
    UDPAI_AUTO_FREE char *part = udpai_strndup(text, 3);
    UDPAI_AUTO_FREE char *none = udpai_strndup(NULL, 0);
    UDPAI_AUTO_FREE char *bytes = udpai_memdup("a\0b", 3);
    memset(text, 'x', sizeof(text));
    assert_string_equal(whole, "com.acme");
    assert_string_equal(part, "com");
    assert_string_equal(none, "");
    assert_memory_equal(bytes, "a\0b", 3);
}

static void
free_takes_null(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_count();
    UDPAI_AUTO_FREE char *nothing = NULL;
    udpai_free(nothing);
    assert_true(udpai_alloc_count() == before);
}

/* Calls each allocating function once; returns how many gave memory. */
static size_t
allocate_in_every_way(void)
{
    void *made[] = {
        udpai_alloc(8),       udpai_alloc_array(2, 8),  udpai_realloc_array(NULL, 2, 8),
        udpai_strdup("text"), udpai_strndup("text", 2), udpai_memdup("text", 4),
    };
    size_t n = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(made); i++) {
        n += made[i] != NULL;
        udpai_free(made[i]);
    }
    return n;
}

static void
every_way_to_allocate_can_be_made_to_fail(void **state)
{
    (void)state;
    for (long n = 0; n <= 6; n++) {
        udpai_alloc_fail_after(n);
        size_t succeeded = allocate_in_every_way();
        udpai_alloc_fail_after(-1);
        assert_int_equal(succeeded, n);
    }
    assert_int_equal(allocate_in_every_way(), 6);
}

static void
failure_lasts_until_it_is_called_off(void **state)
{
    (void)state;
    udpai_alloc_fail_after(1);
    void *first = udpai_alloc(1), *second = udpai_alloc(1), *third = udpai_alloc(1);
    udpai_alloc_fail_after(-1);
    void *fourth = udpai_alloc(1);
    assert_non_null(first);
    assert_null(second);
    assert_null(third);
    assert_non_null(fourth);
    udpai_free(first);
    udpai_free(fourth);
}

static void
failed_realloc_leaves_the_memory(void **state)
{
    (void)state;
    char *text = udpai_strdup("still here");
    udpai_alloc_fail_after(0);
    void *bigger = udpai_realloc_array(text, 100, 1);
    udpai_alloc_fail_after(-1);
    assert_null(bigger);
    assert_string_equal(text, "still here");
    udpai_free(text);
}

static void
allocations_are_counted(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_count();
    assert_int_equal(allocate_in_every_way(), 6);
    assert_int_equal(udpai_alloc_count() - before, 6);
}

static void
what_is_not_freed_is_counted(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_live();
    char *grown = udpai_realloc_array(NULL, 4, 1);
    char *copy = udpai_strdup("text");
    assert_int_equal(udpai_alloc_live() - before, 2);
    grown = udpai_realloc_array(grown, 400, 1);
    assert_non_null(grown);
    assert_int_equal(udpai_alloc_live() - before, 2);
    udpai_alloc_fail_after(0);
    assert_null(udpai_alloc(1));
    udpai_alloc_fail_after(-1);
    udpai_free(NULL);
    assert_int_equal(udpai_alloc_live() - before, 2);
    udpai_free(grown);
    udpai_free(copy);
    assert_true(udpai_alloc_live() == before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed),
        cmocka_unit_test(size_zero_gives_a_unique_pointer),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(realloc_keeps_what_was_there),
        cmocka_unit_test(copies_are_copies),
        cmocka_unit_test(free_takes_null),
        cmocka_unit_test(every_way_to_allocate_can_be_made_to_fail),
        cmocka_unit_test(failure_lasts_until_it_is_called_off),
        cmocka_unit_test(failed_realloc_leaves_the_memory),
        cmocka_unit_test(allocations_are_counted),
        cmocka_unit_test(what_is_not_freed_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
