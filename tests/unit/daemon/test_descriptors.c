/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor sets that cannot be loaded, and types that are in none. */
#include "daemon/descriptors.h"
#include "tests/unit/daemon/bootstrap_test.h"

static void
load(bootstrap_test *test, const char *text, const udpai_options *options)
{
    bootstrap_test_read(test, text);
    assert_ok(test->err);
    udpai_descriptors_load(test->schema, test->bootstrap.message, options, &test->diagnostics);
}

static void
every_set_that_cannot_be_loaded_is_told(void **state)
{
    bootstrap_test *test = *state;
    load(test, "descriptor_sets: [/proc/no/a, /proc/no/b]\n", &(udpai_options){0});
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:19: descriptor_sets[0]: cannot open descriptors /proc/no/a: No such "
              "file or directory\n"
              "test.yaml:1:31: descriptor_sets[1]: cannot open descriptors /proc/no/b: No such "
              "file or directory\n");
}

static void
the_command_line_stands_for_those_of_the_file(void **state)
{
    bootstrap_test *test = *state;
    load(test, "descriptor_sets: [/proc/no/a]\n", &(udpai_options){.descriptors = "/proc/no/c"});
    bootstrap_test_assert_mistakes(test, "udpad: --descriptors: cannot open descriptors "
                                         "/proc/no/c: No such file or directory\n");
}

static void
a_type_that_is_mistyped_is_warned_of(void **state)
{
    bootstrap_test *test = *state;
    load(test,
         "static_resources: {config_sources: [{name: a, path: {path: x}}]}\n"
         "providers:\n"
         "  - types: [google.protobuf.StringValue, 'x.test/google.protobuf.Int32Valeu', a.b.C]\n"
         "    config_descriptors: [{resource_name: a}]\n"
         "store: {secret_types: [google.protobuf.StringVal]}\n",
         &(udpai_options){0});
    assert_int_equal(test->diagnostics.n_errors, 0);
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:3:42: providers[0].types[1]: type 'google.protobuf.Int32Valeu' "
              "is in no descriptor set that is loaded; did you mean "
              "'google.protobuf.Int32Value'?\n"
              "warning: test.yaml:5:24: store.secret_types[0]: type 'google.protobuf.StringVal' is "
              "in no descriptor set that is loaded; did you mean 'google.protobuf.StringValue'?\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_set_that_cannot_be_loaded_is_told),
        CASE(the_command_line_stands_for_those_of_the_file),
        CASE(a_type_that_is_mistyped_is_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
