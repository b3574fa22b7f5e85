/* SPDX-License-Identifier: Apache-2.0 */
/* Shared immutable bytes: copied once, alive as long as somebody holds them. */
#include "base/bytes.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static void
bytes_are_copied(void **state)
{
    (void)state;
    char source[] = {'a', 0, 'b', (char)0xff};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, source, sizeof(source)));
    memset(source, 'x', sizeof(source));
    assert_int_equal(udpa_bytes_size(bytes), 4);
    assert_memory_equal(udpa_bytes_data(bytes), "a\0b\xff", 4);
    udpai_str view = udpai_bytes_view(bytes);
    assert_ptr_equal(view.data, udpa_bytes_data(bytes));
    assert_int_equal(view.len, 4);
}

static void
empty_bytes_have_an_address(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *none = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *empty = NULL;
    assert_ok(udpa_bytes_new(&none, NULL, 0));
    assert_ok(udpa_bytes_new(&empty, "", 0));
    assert_int_equal(udpa_bytes_size(none), 0);
    assert_non_null(udpa_bytes_data(none));
    assert_int_equal(udpa_bytes_size(empty), 0);
}

static void
bad_arguments_leave_the_output_alone(void **state)
{
    (void)state;
    udpa_bytes *bytes = (udpa_bytes *)state;
    assert_int_equal(udpa_bytes_new(&bytes, NULL, 1), UDPA_ERR_INVAL);
    assert_int_equal(udpa_bytes_new(NULL, "x", 1), UDPA_ERR_INVAL);
    udpai_alloc_fail_after(0);
    udpa_err err = udpa_bytes_new(&bytes, "x", 1);
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_NOMEM);
    assert_ptr_equal(bytes, state);
}

static void
references_keep_them_alive(void **state)
{
    (void)state;
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, "shared", 6));
    udpa_bytes *second = udpa_bytes_ref(bytes);
    assert_ptr_equal(second, bytes);
    assert_null(udpa_bytes_unref(bytes));
    assert_memory_equal(udpa_bytes_data(second), "shared", 6);
    assert_null(udpa_bytes_unref(second));
}

static void
null_is_harmless(void **state)
{
    (void)state;
    assert_null(udpa_bytes_ref(NULL));
    assert_null(udpa_bytes_unref(NULL));
}

static void
bytes_can_be_made_in_place(void **state)
{
    (void)state;
    uint8_t *room = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_bytes_make(1000, &room);
    assert_non_null(bytes);
    memset(room, 7, 1000);
    assert_int_equal(udpa_bytes_size(bytes), 1000);
    assert_int_equal(((const uint8_t *)udpa_bytes_data(bytes))[999], 7);
    volatile size_t huge = SIZE_MAX;
    assert_null(udpai_bytes_make(huge, &room));
    assert_null(udpai_bytes_make(huge - 8, &room));
}

static void
text_gets_a_nul_that_counts(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *text = udpai_bytes_cstring(UDPAI_STR("t/T"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *empty = udpai_bytes_cstring((udpai_str){NULL, 0});
    assert_int_equal(udpa_bytes_size(text), 4);
    assert_memory_equal(udpa_bytes_data(text), "t/T", 4);
    assert_int_equal(udpa_bytes_size(empty), 1);
    assert_memory_equal(udpa_bytes_data(empty), "", 1);
    udpai_alloc_fail_after(0);
    udpa_bytes *none = udpai_bytes_cstring(UDPAI_STR("x"));
    udpai_alloc_fail_after(-1);
    assert_null(none);
}

static udpa_err
make_and_drop(void *context)
{
    (void)context;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    return udpa_bytes_new(&bytes, "x", 1);
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    assert_int_equal(oom_torture(make_and_drop, NULL), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_copied),
        cmocka_unit_test(empty_bytes_have_an_address),
        cmocka_unit_test(bad_arguments_leave_the_output_alone),
        cmocka_unit_test(references_keep_them_alive),
        cmocka_unit_test(null_is_harmless),
        cmocka_unit_test(bytes_can_be_made_in_place),
        cmocka_unit_test(text_gets_a_nul_that_counts),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
