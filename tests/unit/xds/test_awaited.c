/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are awaited are found, others are not, and too many are all. */
#include "xds/awaited.h"

#include <stdio.h>

#include "tests/harness/test.h"

static udpai_str
name_of(unsigned number)
{
    static char text[32];
    snprintf(text, sizeof(text), "com.acme/%u", number);
    return udpai_str_from(text);
}

static void
what_was_added_is_awaited(void **state)
{
    (void)state;
    udpai_xds_awaited awaited = {0};
    assert_false(udpai_xds_awaited_has(&awaited, name_of(1)));
    for (unsigned i = 0; i < UDPAI_XDS_AWAITED_MAX; i++) {
        udpai_xds_awaited_add(&awaited, name_of(2 * i));
        if (i % 512 == 0) /* between others, too */
            assert_true(udpai_xds_awaited_has(&awaited, name_of(0)));
    }
    for (unsigned i = 0; i < UDPAI_XDS_AWAITED_MAX; i++) {
        assert_true(udpai_xds_awaited_has(&awaited, name_of(2 * i)));
        assert_false(udpai_xds_awaited_has(&awaited, name_of(2 * i + 1)));
    }
    udpai_xds_awaited_done(&awaited);
    assert_false(udpai_xds_awaited_has(&awaited, name_of(0)));
}

static void
too_many_are_all(void **state)
{
    (void)state;
    udpai_xds_awaited awaited = {0};
    for (unsigned i = 0; i <= UDPAI_XDS_AWAITED_MAX; i++)
        udpai_xds_awaited_add(&awaited, name_of(i));
    assert_true(udpai_xds_awaited_has(&awaited, name_of(UDPAI_XDS_AWAITED_MAX)));
    assert_true(udpai_xds_awaited_has(&awaited, UDPAI_STR("another")));
    assert_int_equal(awaited.hashes.n, 0);
    udpai_xds_awaited_done(&awaited);
    assert_false(udpai_xds_awaited_has(&awaited, UDPAI_STR("another")));
}

static void
without_memory_all_are(void **state)
{
    (void)state;
    udpai_xds_awaited awaited = {0};
    udpai_alloc_fail_after(0);
    udpai_xds_awaited_add(&awaited, name_of(1));
    udpai_alloc_fail_after(-1);
    assert_true(udpai_xds_awaited_has(&awaited, UDPAI_STR("another")));
    udpai_xds_awaited_done(&awaited);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_awaited),
        cmocka_unit_test(too_many_are_all),
        cmocka_unit_test(without_memory_all_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
