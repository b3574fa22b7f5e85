/* SPDX-License-Identifier: Apache-2.0 */
/* What a type URL names, whatever it looks like. */
#include "model/type_url.h"

#include "tests/harness/test.h"

static void
the_name_stands_behind_the_last_slash(void **state)
{
    static const char *const cases[][2] = {
        {"type.googleapis.com/envoy.config.cluster.v3.Cluster", "envoy.config.cluster.v3.Cluster"},
        {"https://example.com/types/a.B", "a.B"},
        {"/a.B", "a.B"},
        {"a.B", "a.B"},
        {"prefix/", ""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_str name = udpai_type_url_name(udpai_str_from(cases[i][0]));
        assert_int_equal(name.len, strlen(cases[i][1]));
        assert_memory_equal(name.data, cases[i][1], name.len);
    }
}

/* UBSan tells if something is added to the null pointer of a text that is none. */
static void
nothing_has_no_name(void **state)
{
    (void)state;
    assert_int_equal(udpai_type_url_name((udpai_str){0}).len, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_stands_behind_the_last_slash),
        cmocka_unit_test(nothing_has_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
