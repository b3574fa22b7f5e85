/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that need no proof of identity: loopback alone. */
#include "endpoint/exposure.h"

#include "tests/harness/test.h"

static void
test_loopback(void **state)
{
    (void)state;
    static const char *const near[] = {"127.0.0.1:18000", "127.255.0.9:1", "[::1]:18000",
                                       "localhost:80",    "127.0.0.1",     "[::1]:0",
                                       "unix:/run/x"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(near); i++) {
        assert_true(udpai_exposure_is_loopback(near[i]));
        assert_ok(udpai_exposure_check(near[i], NULL));
    }
}

static void
test_beyond(void **state)
{
    (void)state;
    static const char *const far[] = {"0.0.0.0:18000",
                                      "[::]:18000",
                                      "128.0.0.1:1",
                                      "10.0.0.1:1",
                                      "localhost.example:80",
                                      "[::ffff:1.2.3.4]:1",
                                      "",
                                      ":18000",
                                      "127.0.0.1.example:80",
                                      "[::1]x:1",
                                      "127.0.0.256:1",
                                      "::1:18000",
                                      "127.1:80",
                                      "a-name-that-is-longer-than-any-address-in-figures-can-be:1"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(far); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (udpai_exposure_is_loopback(far[i]))
            fail_msg("'%s' is not on loopback", far[i]);
        assert_int_equal(udpai_exposure_check(far[i], &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "beyond loopback"));
        assert_non_null(strstr(udpa_error_message(error), far[i]));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_beyond),
    };
    return cmocka_run_group_tests_name("endpoint exposure", tests, NULL, NULL);
}
