/* SPDX-License-Identifier: Apache-2.0 */
/* The order of names with numbers in them. */
#include "cli/order.h"

#include "base/error.h"
#include "tests/harness/oom.h"

static int
sign(int order)
{
    return (order > 0) - (order < 0);
}

/* Each stands before all that follow. */
static void
numbers_within_names_are_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "1",
        "2",
        "02x",
        "9",
        "10",
        "10.0.0.9",
        "10.0.0.10",
        "com/r",
        "com/r2",
        "com/r2a",
        "com/r10",
        "com/r010a",
        "com/r99999999999999999999",
        "com/r100000000000000000000",
        "com/rx",
        "local/a",
        "\xc3\xa4",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(names); k++) {
            int order = udpai_cli_compare_names(udpai_str_from(names[i]), udpai_str_from(names[k]));
            if (sign(order) != sign((int)i - (int)k))
                fail_msg("'%s' and '%s': %d", names[i], names[k], order);
        }
}

static void
different_names_are_never_equal(void **state)
{
    (void)state;
    int order = udpai_cli_compare_names(UDPAI_STR("r02"), UDPAI_STR("r2"));
    assert_int_not_equal(order, 0);
    assert_int_equal(sign(order),
                     -sign(udpai_cli_compare_names(UDPAI_STR("r2"), UDPAI_STR("r02"))));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_within_names_are_numbers),
        cmocka_unit_test(different_names_are_never_equal),
    };
    return cmocka_run_group_tests_name("cli order", tests, NULL, NULL);
}
