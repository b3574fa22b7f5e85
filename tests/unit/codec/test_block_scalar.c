/* SPDX-License-Identifier: Apache-2.0 */
/* Literal and folded scalars: indentation, folding, chomping. */
#include "codec/scalar.h"

#include "tests/harness/test.h"

static void
assert_decoded(const char *before, size_t parent_indent, const char *lines, const char *expected)
{
    udpai_strbuf out = {0};
    const udpai_block_scalar scalar = {udpai_str_from(before), udpai_str_from(lines),
                                       parent_indent};
    assert_true(udpai_block_scalar_decode(&scalar, &out));
    assert_str(udpai_strbuf_view(&out), expected);
    udpai_strbuf_done(&out);
}

static void
literal_lines_stay(void **state)
{
    (void)state;
    assert_decoded("k: |\n", 0, "  a\n  b\n", "a\nb\n");
    assert_decoded("k: |\n", 0, "  a\n   b\n\n  c\n", "a\n b\n\nc\n");
    assert_decoded("k: |\n", 0, "\n \n  a\n", "\n\na\n");
    assert_decoded("k: |\n", 0, "  a  \n    \n  b\n", "a  \n  \nb\n");
    assert_decoded("k: |\n", 0, "  \ta\n  # no comment\n", "\ta\n# no comment\n");
    assert_decoded("--- |\n", 0, "a\n b\n", "a\n b\n");
    assert_decoded("k: |\n", 0, "  a\n ", "a\n");
    assert_decoded("k: |\n", 0, "  a", "a");
    assert_decoded("k: |\n", 0, "", "");
}

static void
folded_lines_are_joined(void **state)
{
    (void)state;
    assert_decoded("k: >\n", 0, "  a\n  b\n", "a b\n");
    assert_decoded("k: >\n", 0, "  a\n\n  b\n\n\n  c\n", "a\nb\n\nc\n");
    assert_decoded("k: >\n", 0, "  a\n   b\n  c\n", "a\n b\nc\n");
    assert_decoded("k: >\n", 0, "  z\n  \n   #x\n", "z\n\n #x\n");
    assert_decoded("k: >\n", 0, "  a\n  \tb\n\n  c\n", "a\n\tb\n\nc\n");
    assert_decoded("k: >\n", 0, "\n  a\n  b\n", "\na b\n");
}

static void
the_end_is_chomped(void **state)
{
    (void)state;
    static const char lines[] = "  a\n\n  \n";
    assert_decoded("k: |\n", 0, lines, "a\n");
    assert_decoded("k: |-\n", 0, lines, "a");
    assert_decoded("k: |+\n", 0, lines, "a\n\n\n");
    assert_decoded("k: >+\n", 0, lines, "a\n\n\n");
    assert_decoded("k: |+\n", 0, "\n\n", "\n\n");
    assert_decoded("k: |-\n", 0, "\n\n", "");
    assert_decoded("k: |\n", 0, "\n\n", "");
}

static void
indentation_can_be_given(void **state)
{
    (void)state;
    assert_decoded("k: |1\n", 0, "   a\n b\n", "  a\nb\n");
    assert_decoded("  k: |2-\n", 2, "      a\n    b\n", "  a\nb");
    assert_decoded("- |-2\n", 0, "   a\n", " a");
    assert_decoded("- >+1\n", 0, "  a\n\n", " a\n\n");
}

static void
the_header_is_found(void **state)
{
    (void)state;
    static const char lines[] = "  a\n";
    assert_decoded("x\ny: | # comment |-\n", 0, lines, "a\n");
    assert_decoded("a | b: |-\n", 0, lines, "a");
    assert_decoded(": !<tag:x|> &a >-   \n", 0, lines, "a");
    assert_decoded("\"|\" : |\t\n", 0, lines, "a\n");
    assert_decoded(":\n  |-\n\n", 0, lines, "a");
    static const char *const none[] = {"",      "k: a\n", "|x\n", "|--\n",
                                       "|12\n", "|+1-\n", "|#\n", "\n"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(none); i++) {
        udpai_strbuf out = {0};
        const udpai_block_scalar scalar = {udpai_str_from(none[i]), UDPAI_STR(lines), 0};
        if (udpai_block_scalar_decode(&scalar, &out))
            fail_msg("%s", none[i]);
        assert_int_equal(out.len, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_lines_stay),  cmocka_unit_test(folded_lines_are_joined),
        cmocka_unit_test(the_end_is_chomped),  cmocka_unit_test(indentation_can_be_given),
        cmocka_unit_test(the_header_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
