/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: control characters, and the width of characters. */
#include "cli/display.h"

#include "base/error.h"
#include "tests/harness/oom.h"

typedef void (*put_fn)(udpai_strbuf *out, udpai_str text);

static void
expect(put_fn put, const char *text, const char *wanted)
{
    udpai_strbuf out = {0};
    put(&out, udpai_str_from(text));
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

/* What a peer has named must not reach the terminal as a command. */
static void
nothing_a_terminal_obeys(void **state)
{
    (void)state;

    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"\x1b[2J", "?[2J"},
        {"a\nb\tc\rd", "a?b?c?d"},
        {"\x7f", "?"},
        {"\xc2\x9b[2J", "?[2J"},
        {"\x9b[2J", "?[2J"}, /* the same for a terminal of eight bits */
        {"\xc2\xa0ok", "\xc2\xa0ok"},
        {"\xc3\x9f", "\xc3\x9f"},
        {"a\xe2\x80\xaetxt.exe", "a?txt.exe"},
        {"a\xe2\x80\xa8z", "a?z"},
        {"\xf0\x9f\x98", "???"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        expect(udpai_cli_put_text, cases[i].text, cases[i].shown);
    expect(udpai_cli_put_lines, "a\n\tb\x1b\r", "a\n\tb??");
    udpai_strbuf out = {0};
    udpai_cli_put_lines(&out, (udpai_str){"a\0b", 3});
    assert_str(udpai_strbuf_view(&out), "a?b");
    udpai_strbuf_done(&out);
}

static void
columns_of_a_terminal(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"Gr\xc3\xbc\xc3\x9f"
         "e",
         5},
        {"\xe9\x85\x8d\xe7\xbd\xae", 4},             /* two Chinese characters */
        {"\xed\x95\x9c", 2},                         /* a syllable of Hangul … */
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", 2}, /* … and the same in its parts */
        {"\xf0\x9f\x9a\x80", 2},                     /* a rocket */
        {"e\xcc\x81", 1},                            /* with a combining acute */
        {"a\xe2\x80\x8d", 1},                        /* a joiner */
        {"\xef\xbc\xa1", 2},                         /* a full width A */
        {"\xef\xbd\xb1", 1},                         /* a half width Katakana */
        {"\xff\xfe", 2},                             /* shown as "??" */
        {"\xe2\x94\x80\xe2\x80\xa6", 2},
        {"\xf0\xa0\x80\x80", 2},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (udpai_cli_display_width(udpai_str_from(cases[i].text)) != cases[i].width)
            fail_msg("case %zu: %zu", i, udpai_cli_display_width(udpai_str_from(cases[i].text)));
}

static void
cut_text_fits(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        size_t n_columns, width;
        const char *shown;
    } cases[] = {
        {"abcdef", 6, 6, "abcdef"},
        {"abcdef", 5, 5, "abcd…"},
        {"abcdef", 1, 1, "…"},
        {"abcdef", 0, 0, ""},
        {"", 0, 0, ""},
        {"配置中心", 8, 8, "配置中心"},
        {"配置中心", 7, 7, "配置中…"},
        {"配置中心", 6, 5, "配置…"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        udpai_strbuf_puts(&out, "");
        size_t width = udpai_cli_put_cut(&out, udpai_str_from(cases[i].text), cases[i].n_columns);
        assert_int_equal(width, cases[i].width);
        assert_str(udpai_strbuf_view(&out), cases[i].shown);
        udpai_strbuf_done(&out);
    }
}

static void
a_digest_is_shown_by_its_front(void **state)
{
    (void)state;

    static const struct {
        const char *version, *shown;
    } cases[] = {
        {"0123456789abcdef0123456789abcdef", "0123456789ab…"},
        {"sha256:0123456789ABCDEF01", "sha256:0123456789AB…"},
        {"0123456789abcdef", "0123456789ab…"},
        {"0123456789abcde", "0123456789abcde"},
        {"1706659200000000", "1706659200000000"}, /* the time */
        {"release-of-january-2026", "release-of-january-2026"},
        {"v1\x1b", "v1?"},
        {"", ""},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        udpai_strbuf_puts(&out, "");
        udpai_cli_put_version(&out, udpai_str_from(cases[i].version), false);
        assert_str(udpai_strbuf_view(&out), cases[i].shown);
        udpai_strbuf_done(&out);
    }
    udpai_strbuf out = {0};
    udpai_cli_put_version(&out, udpai_str_from(cases[0].version), true);
    assert_str(udpai_strbuf_view(&out), cases[0].version);
    udpai_strbuf_done(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_a_terminal_obeys),
        cmocka_unit_test(columns_of_a_terminal),
        cmocka_unit_test(cut_text_fits),
        cmocka_unit_test(a_digest_is_shown_by_its_front),
    };
    return cmocka_run_group_tests_name("cli display", tests, NULL, NULL);
}
