/* SPDX-License-Identifier: Apache-2.0 */
/* A node that was built without the rules of protoc-gen-validate: who wants them checked is told
 * so. */
#include "bootstrap_test.h"

#define WITHOUT                                                                                    \
    "RULES: this program was built without the rules of protoc-gen-validate (meson "               \
    "-Dvalidation=false)\n"

static void
to_want_them_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation:\n"
                              "  checks: [UNKNOWN_FIELDS, RULES]\n"
                              "  types: [{types: [a.B], checks: [RULES]}]\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:2:28: validation.checks[1]: " WITHOUT
                                         "test.yaml:3:35: validation.types[0].checks[0]: " WITHOUT);
}

static void
other_checks_are_none(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation: {checks: [PARSE, UNKNOWN_FIELDS, DEPRECATED]}\n");
    bootstrap_test_assert_mistakes(test, "");
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(to_want_them_is_a_mistake),
        daemon_test(other_checks_are_none),
    };
    return cmocka_run_group_tests_name("rules_absent", tests, NULL, NULL);
}
