/* SPDX-License-Identifier: Apache-2.0 */
/* A node that was built without ORCA: who configures it is told so. */
#include "bootstrap_test.h"

static void
its_section_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "orca_collections: {authorities: ['*']}\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:1:19: orca_collections: this program was built "
                                         "without ORCA (meson -Dorca=false)\n");
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(its_section_is_a_mistake),
    };
    return cmocka_run_group_tests_name("orca_absent", tests, NULL, NULL);
}
