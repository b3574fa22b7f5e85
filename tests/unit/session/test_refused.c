/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer has refused last: so many, the newest ones, whole or not at all. */
#include "session/refused.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

static void
refuse(udpai_refused_list *list, const char *name, const char *version)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "bad");
    udpai_refused_add(list, udpai_str_from(name), udpai_str_from(version), error);
}

static void
the_last_ones_are_kept(void **state)
{
    (void)state;
    udpai_refused_list list = {0};
    for (int i = 0; i < UDPAI_REFUSED_KEPT + 3; i++) {
        char version[16];
        snprintf(version, sizeof(version), "%d", i);
        refuse(&list, "com.acme/a", version);
    }
    assert_int_equal(list.n, UDPAI_REFUSED_KEPT);
    assert_str(list.items[0]->name, "com.acme/a");
    assert_str(list.items[0]->version, "3");
    assert_str(list.items[list.n - 1]->version, "18");
    assert_int_equal(udpa_error_code(list.items[0]->error), UDPA_ERR_INVAL);
    udpai_refused_done(&list);
    udpai_refused_done(&list); /* it is empty */
    assert_int_equal(udpai_alloc_live(), 0);
}

static void
names_may_be_empty(void **state)
{
    (void)state;
    udpai_refused_list list = {0};
    refuse(&list, "", "");
    assert_int_equal(list.items[0]->name.len, 0);
    assert_int_equal(list.items[0]->version.len, 0);
    udpai_refused_done(&list);
}

static void
without_memory_it_is_not_kept(void **state)
{
    (void)state;
    udpai_refused_list list = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = udpa_error_new(UDPA_ERR_INVAL, NULL, "bad");
    for (long n = 0; n < 2; n++) {
        udpai_alloc_fail_after(n);
        udpai_refused_add(&list, UDPAI_STR("a"), UDPAI_STR("1"), error);
        udpai_alloc_fail_after(-1);
        assert_int_equal(list.n, 0);
    }
    refuse(&list, "a", "1");
    assert_int_equal(list.n, 1);
    udpai_refused_done(&list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(names_may_be_empty),
        cmocka_unit_test(without_memory_it_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
