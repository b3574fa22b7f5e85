/* SPDX-License-Identifier: Apache-2.0 */
/* The section orca_collections of the bootstrap file: backends that resources name. */
#include "bootstrap_test.h"

static void
backends_are_named_by_the_same_rules(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "orca_collections:\n"
                              "  namespaces: ['']\n"
                              "  credentials: [{name: a}]\n"
                              "  max_backends: 10001\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:3: orca_collections.authorities: is required: whose resources shall "
              "name backends to ask? \"*\" is every authority's\n"
              "test.yaml:2:16: orca_collections.namespaces[0]: is empty: leave 'namespaces' out if "
              "all are meant\n"
              "test.yaml:3:17: orca_collections.credentials[0].tls: is required\n"
              "test.yaml:4:17: orca_collections.max_backends: 10001 are too many: at most 10000\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(backends_are_named_by_the_same_rules),
    };
    return cmocka_run_group_tests_name("section_orca", tests, NULL, NULL);
}
