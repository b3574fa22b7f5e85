/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the whole text must match, and a hostile one takes no longer. */
#include "codec/regex.h"

#include "tests/harness/test.h"

static bool
fits(const char *pattern, udpai_str text)
{
    udpai_regex *regex = NULL;
    assert_ok(udpai_re2.compile(&regex, udpai_str_from(pattern), NULL));
    bool does = udpai_re2.matches(regex, text);
    udpai_re2.free(regex);
    return does;
}

static void
the_whole_text_must_match(void **state)
{
    (void)state;
    assert_true(fits("shop-[0-9]+", UDPAI_STR("shop-17")));
    assert_false(fits("shop-[0-9]+", UDPAI_STR("a shop-17")));
    assert_false(fits("shop-[0-9]+", UDPAI_STR("shop-17a")));
    assert_true(fits(".*shop.*", UDPAI_STR("a shop-17a")));
    assert_true(fits("", (udpai_str){0}));
    assert_true(fits("(?i)SHOP", UDPAI_STR("shop")));
    assert_false(fits("a", (udpai_str){"aa", 2}));
    assert_true(fits("a", (udpai_str){"aa", 1})); /* no more of it is looked at */
}

static void
what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "(",     "[a",
        "a**",   "\\1",
        "(?=a)", "((((((((a{100}){100}){100}){100}){100}){100}){100}){100})", /* too much memory */
        "\xff",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(patterns); i++) {
        udpai_regex *regex = NULL;
        udpa_error *error = NULL;
        assert_int_equal(udpai_re2.compile(&regex, udpai_str_from(patterns[i]), &error),
                         UDPA_ERR_INVAL);
        assert_null(regex);
        assert_non_null(strstr(udpa_error_message(error), "is no regular expression of RE2: "));
        udpa_error_unref(error);
    }
}

/* Others take time that doubles with each letter. */
static void
a_hostile_one_takes_no_longer(void **state)
{
    (void)state;
    char text[4097];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 'b';
    assert_false(fits("(a+)+", (udpai_str){text, sizeof(text)}));
    assert_false(fits("(a|aa)+(a|aa)+(a|aa)+", (udpai_str){text, sizeof(text)}));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_text_must_match),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(a_hostile_one_takes_no_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
