/* SPDX-License-Identifier: Apache-2.0 */
/* Places and quotes in errors, hostile ones too. */
#include "codec/place.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "tests/harness/test.h"

static void
assert_message(const udpai_place *place, const char *expected)
{
    udpa_error *error = NULL;
    assert_int_equal(udpai_fail_at(&error, UDPA_ERR_LIMIT, place, "%s %d", "reason", 1),
                     UDPA_ERR_LIMIT);
    assert_int_equal(udpa_error_code(error), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error), expected);
    udpa_error_unref(error);
    assert_int_equal(udpai_fail_at(NULL, UDPA_ERR_INVAL, place, "x"), UDPA_ERR_INVAL);
}

static void
says_as_much_as_is_known(void **state)
{
    (void)state;
    assert_message(&(udpai_place){"a.yaml", 3, 4, UDPAI_STR("b.c[1]")},
                   "a.yaml:3:4: b.c[1]: reason 1");
    assert_message(&(udpai_place){"a.yaml", 3, 4, UDPAI_STR("")}, "a.yaml:3:4: reason 1");
    assert_message(&(udpai_place){"a.pb", 0, 0, UDPAI_STR("r[2]")}, "a.pb: r[2]: reason 1");
    assert_message(&(udpai_place){NULL, 0, 0, UDPAI_STR("r[2]")}, "r[2]: reason 1");
    assert_message(&(udpai_place){"", 0, 0, {NULL, 0}}, "reason 1");
    assert_message(&(udpai_place){NULL, 7, 1, {NULL, 0}}, "input:7:1: reason 1");
}

static void
hostile_lengths_are_cut(void **state)
{
    (void)state;
    char source[1001], path[5001];
    udpa_error *error = NULL;
    for (size_t i = 0; i < 1000; i += 2)
        memcpy(source + i, "é", 2);
    source[1000] = '\0';
    for (size_t i = 0; i + 3 <= 5000; i += 3)
        memcpy(path + i, "日", 3);
    const udpai_place place = {source, 1, 2, {path, 4998}};
    udpai_fail_at(&error, UDPA_ERR_INVAL, &place, "%s", "why");
    const char *message = udpa_error_message(error);
    assert_true(strlen(message) < 520);
    assert_true(udpai_utf8_valid(udpai_str_from(message)));
    assert_null(strchr(message, '?')); /* no character was split */
    assert_string_equal(message + strlen(message) - 5, ": why");
    udpa_error_unref(error);
}

static void
quotes_are_one_line(void **state)
{
    (void)state;
    assert_string_equal(UDPAI_QUOTE(UDPAI_STR("a\nb\x1b\x7f")), "a b  ");
    assert_string_equal(UDPAI_QUOTE(UDPAI_STR("")), "");
    char text[UDPAI_QUOTED_MAX + 10];
    memset(text, 'x', sizeof(text));
    udpai_quoted quoted = udpai_quote((udpai_str){text, UDPAI_QUOTED_MAX});
    assert_int_equal(strlen(quoted.text), UDPAI_QUOTED_MAX);
    quoted = udpai_quote((udpai_str){text, UDPAI_QUOTED_MAX + 1});
    assert_string_equal(quoted.text + UDPAI_QUOTED_MAX, "…");
    memcpy(text + UDPAI_QUOTED_MAX - 1, "é", 2);
    quoted = udpai_quote((udpai_str){text, sizeof(text)});
    assert_string_equal(quoted.text + UDPAI_QUOTED_MAX - 1, "…");
}

static void
without_memory_there_is_still_an_error(void **state)
{
    (void)state;
    udpa_error *error = NULL;
    const udpai_place place = {"a", 1, 1, {NULL, 0}};
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_fail_at(&error, UDPA_ERR_INVAL, &place, "x"), UDPA_ERR_INVAL);
    udpai_alloc_fail_after(-1);
    assert_int_equal(udpa_error_code(error), UDPA_ERR_INVAL);
    udpa_error_unref(error);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_as_much_as_is_known),
        cmocka_unit_test(hostile_lengths_are_cut),
        cmocka_unit_test(quotes_are_one_line),
        cmocka_unit_test(without_memory_there_is_still_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
