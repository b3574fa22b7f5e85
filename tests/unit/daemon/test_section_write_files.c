/* SPDX-License-Identifier: Apache-2.0 */
/* Which types may be written into files. */
#include "tests/unit/daemon/bootstrap_test.h"

#define SECRET "envoy.extensions.transport_sockets.tls.v3.Secret"
#define REFUSED "secrets are not written into files, which are not encrypted\n"

/* Only what stands behind the last slash says what a type is. */
static void
a_secret_is_one_under_any_prefix(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "write_files:\n"
                              "- directory: a\n"
                              "  types:\n"
                              "  - type.acme.com/" SECRET "\n"
                              "  - type.googleapis.com/" SECRET "s\n"
                              "  - a.S\n"
                              "  - type.googleapis.com/b.S\n"
                              "store: {secret_types: [type.acme.com/a.S]}\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:4:5: write_files[0].types[0]: " REFUSED
                                         "test.yaml:6:5: write_files[0].types[2]: " REFUSED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_secret_is_one_under_any_prefix, bootstrap_test_setup,
                                        bootstrap_test_teardown),
    };
    return cmocka_run_group_tests_name("section_write_files", tests, NULL, NULL);
}
