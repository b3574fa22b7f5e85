/* SPDX-License-Identifier: Apache-2.0 */
/* Text of peers becomes JSON that a terminal may be given. */
#include "base/json_shown.h"
#include "tests/harness/test.h"

static void
assert_shown(udpai_str text, size_t max, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_json_put_shown(&out, text, max);
    assert_false(udpai_strbuf_failed(&out));
    assert_string_equal(out.data, wanted);
    udpai_strbuf_done(&out);
}

static void
what_json_requires_is_escaped(void **state)
{
    (void)state;
    assert_shown(UDPAI_STR("a\"b\\c"), 100, "\"a\\\"b\\\\c\"");
    assert_shown(UDPAI_STR("a\nb\t"), 100, "\"a\\u000ab\\u0009\"");
    assert_shown((udpai_str){0}, 100, "\"\"");
}

static void
what_a_terminal_obeys_is_escaped(void **state)
{
    (void)state;
    assert_shown(UDPAI_STR("\x1b[2J\x7f"), 100, "\"\\u001b[2J\\u007f\"");
    assert_shown(UDPAI_STR("\xc2\x9b"), 100, "\"\\u009b\"");        /* C1 */
    assert_shown(UDPAI_STR("\xe2\x80\xae"), 100, "\"\\u202e\"");    /* from right to left */
    assert_shown(UDPAI_STR("caf\xc3\xa9"), 100, "\"caf\xc3\xa9\""); /* a letter stays */
}

static void
what_is_no_text_is_marked(void **state)
{
    (void)state;
    assert_shown(UDPAI_STR("a\xff\xc3"), 100, "\"a\?\?\"");
    const udpai_str zero = {"a\0b", 3};
    assert_shown(zero, 100, "\"a\\u0000b\"");
}

static void
long_text_is_cut_between_characters(void **state)
{
    (void)state;
    assert_shown(UDPAI_STR("abcdef"), 3, "\"abc\"");
    assert_shown(UDPAI_STR("ab\xc3\xa9"), 3, "\"ab\"");
    assert_shown(UDPAI_STR("ab\xc3\xa9"), 4, "\"ab\xc3\xa9\"");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_json_requires_is_escaped),
        cmocka_unit_test(what_a_terminal_obeys_is_escaped),
        cmocka_unit_test(what_is_no_text_is_marked),
        cmocka_unit_test(long_text_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
