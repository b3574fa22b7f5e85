/* SPDX-License-Identifier: Apache-2.0 */
/* Plain and quoted scalars: folding and escapes. Some of these are what libfyaml gets wrong. */
#include "codec/scalar.h"

#include "tests/harness/test.h"

static void
assert_decoded(udpai_flow_style style, const char *written, udpai_str expected)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "before ");
    if (!udpai_flow_scalar_decode(style, udpai_str_from(written), &out))
        fail_msg("%s", written);
    assert_int_equal(out.len - 7, expected.len);
    assert_memory_equal(out.data, "before ", 7);
    assert_memory_equal(out.data + 7, expected.data, expected.len);
    udpai_strbuf_done(&out);
}

#define PLAIN(written, expected) assert_decoded(UDPAI_FLOW_PLAIN, written, UDPAI_STR(expected))
#define SINGLE(written, expected)                                                                  \
    assert_decoded(UDPAI_FLOW_SINGLE_QUOTED, written, UDPAI_STR(expected))
#define DOUBLE(written, expected)                                                                  \
    assert_decoded(UDPAI_FLOW_DOUBLE_QUOTED, written, UDPAI_STR(expected))

static void
lines_are_folded(void **state)
{
    (void)state;
    PLAIN("", "");
    PLAIN("a b", "a b");
    PLAIN("a\n  b", "a b");
    PLAIN("a  \t\n \t b", "a b");
    PLAIN("a\n\n\n  b\nc", "a\n\nb c");
    PLAIN("it''s \\n", "it''s \\n");
    SINGLE(" a \n b ", " a b ");
    SINGLE("\n a\n\n", " a\n");
    SINGLE("\n", " ");
    SINGLE("  \n\n  ", "\n");
    DOUBLE(" a \n b ", " a b ");
    DOUBLE("é\n日", "é 日");
}

static void
quotes_are_doubled_in_single_quotes(void **state)
{
    (void)state;
    SINGLE("it''s", "it's");
    SINGLE("''", "'");
    SINGLE("''''", "''");
    SINGLE("''''''''''''", "''''''");
    SINGLE("a''''b", "a''b");
    SINGLE("''\n''", "' '");
    SINGLE("\\n\"", "\\n\"");
}

static void
escapes(void **state)
{
    (void)state;
    DOUBLE("\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\\"\\/\\\\", "\0\a\b\t\n\v\f\r\x1b \"/\\");
    DOUBLE("\\\t", "\t");
    DOUBLE("\\N\\_\\L\\P", "\xc2\x85\xc2\xa0\xe2\x80\xa8\xe2\x80\xa9");
    DOUBLE("\\x41\\xe9\\u20ac\\U0001F600\\u0000", "A\xc3\xa9€😀\0");
    DOUBLE("\\ud83d\\ude00\\uFFFF", "😀\xef\xbf\xbf");
    DOUBLE("''", "''");
}

static void
escaped_line_ends_go(void **state)
{
    (void)state;
    DOUBLE("a \\\n  b", "a b");
    DOUBLE("a\\\n\n\n  b", "a\n\nb");
    DOUBLE("a\\ \n b", "a  b"); /* the escaped space stays, then the line end is one */
    DOUBLE("a\\t\n b", "a\t b");
    DOUBLE("a\\\n\\  b", "a  b");
    DOUBLE("\\\n", "");
}

static void
what_is_no_escape_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\\",          "\\q",         "\\x4",           "\\xg1",          "\\u12",
        "\\u123g",     "\\U0011FFFF", "\\U00000",       "\\ud83d",        "\\ud83dx",
        "\\ud83d\\n",  "\\ude00",     "\\ud83d\\u0041", "\\ud83d\\ud83d", "\\U0000D800",
        "\\UFFFFFFFF",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        udpai_strbuf out = {0};
        if (udpai_flow_scalar_decode(UDPAI_FLOW_DOUBLE_QUOTED, udpai_str_from(wrong[i]), &out))
            fail_msg("%s", wrong[i]);
        udpai_strbuf_done(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_folded),
        cmocka_unit_test(quotes_are_doubled_in_single_quotes),
        cmocka_unit_test(escapes),
        cmocka_unit_test(escaped_line_ends_go),
        cmocka_unit_test(what_is_no_escape_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
