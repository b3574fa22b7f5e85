/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#include <stdio.h>

#include "transport/grpc/grpc_internal.h"

static udpai_admitted *
enter(udpai_admission *admission, const char *name)
{
    udpai_admitted *admitted = NULL;
    assert_ok(udpai_admission_enter(admission, udpai_str_from(name), &admitted, NULL));
    assert_non_null(admitted);
    return admitted;
}

static void
expect_limit(udpai_admission *admission, const char *name, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_admitted *admitted = NULL;
    assert_int_equal(udpai_admission_enter(admission, udpai_str_from(name), &admitted, &error),
                     UDPA_ERR_LIMIT);
    assert_null(admitted);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
test_limits(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, 4, 2);
    udpai_admitted *a1 = enter(&admission, "a"), *a2 = enter(&admission, "a");
    assert_ptr_equal(a1, a2);
    expect_limit(&admission, "a", "'a' has 2 streams open here");
    udpai_admitted *b = enter(&admission, "b"), *c = enter(&admission, "");
    expect_limit(&admission, "d", "serves 4 streams");
    expect_limit(&admission, "a", "serves 4 streams");
    udpai_admission_leave(&admission, b);
    expect_limit(&admission, "a", "'a' has 2 streams open here");
    b = enter(&admission, "d");
    udpai_admission_leave(&admission, a1);
    a1 = enter(&admission, "a");
    udpai_admission_leave(&admission, a1);
    udpai_admission_leave(&admission, a2);
    udpai_admission_leave(&admission, b);
    udpai_admission_leave(&admission, c);
    assert_int_equal(admission.n, 0);
    assert_int_equal(admission.by_name.n, 0);
    udpai_admission_done(&admission);
}

/* Of all there is, a name has a quarter, but one reservation it always has. */
static void
bytes_are_reserved(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, 10, 10);
    admission.max_reserved = 80;
    udpai_admitted *a = enter(&admission, "a"), *b = enter(&admission, "b");
    assert_int_equal(udpai_admission_reserve(&admission, a, 15), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, a, 6), UDPAI_NAME_HAS_NO_ROOM);
    assert_int_equal(udpai_admission_reserve(&admission, a, 5), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, b, 61), UDPAI_NO_ROOM);
    assert_int_equal(udpai_admission_reserve(&admission, b, 60), UDPAI_RESERVED);
    udpai_admission_release(&admission, a, 15);
    assert_int_equal(udpai_admission_reserve(&admission, b, 1), UDPAI_NAME_HAS_NO_ROOM);
    udpai_admission_release(&admission, b, 60);
    udpai_admission_release(&admission, a, 5);
    assert_int_equal(admission.reserved, 0);
    assert_int_equal(udpai_admission_reserve(&admission, b, 1000), UDPAI_RESERVED);
    assert_int_equal(udpai_admission_reserve(&admission, a, 1), UDPAI_NO_ROOM);
    udpai_admission_release(&admission, b, 1000);
    udpai_admission_reserve_anyway(&admission, a, 90);
    udpai_admission_release(&admission, a, 90);
    assert_int_equal(admission.reserved, 0);
    udpai_admission_leave(&admission, a);
    udpai_admission_leave(&admission, b);
    udpai_admission_done(&admission);
}

/* Who has gone costs nothing: names that come and go do not pile up. */
static void
test_names_are_forgotten(void **state)
{
    (void)state;
    udpai_admission admission;
    udpai_admission_init(&admission, 10, 10);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "peer-%d", i);
        udpai_admission_leave(&admission, enter(&admission, name));
        assert_int_equal(admission.by_name.n, 0);
    }
    udpai_admission_done(&admission);
}

static udpa_err
enter_two(void *context)
{
    (void)context;
    udpai_admission admission;
    udpai_admitted *a = NULL, *b = NULL;
    udpai_admission_init(&admission, 10, 10);
    udpa_err err = udpai_admission_enter(&admission, UDPAI_STR("a"), &a, NULL);
    if (err == UDPA_OK)
        err = udpai_admission_enter(&admission, UDPAI_STR("b"), &b, NULL);
    if (a)
        udpai_admission_leave(&admission, a);
    if (b)
        udpai_admission_leave(&admission, b);
    assert_int_equal(admission.n, 0);
    udpai_admission_done(&admission);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(enter_two, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(bytes_are_reserved),
        cmocka_unit_test(test_names_are_forgotten),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
