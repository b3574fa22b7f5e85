/* SPDX-License-Identifier: Apache-2.0 */
/* Text before it is read: bad bytes, sizes, line ends. */
#include "codec/reader_source.h"

#include "tests/harness/test.h"

static void
assert_bad(udpai_str text, const char *message)
{
    udpa_error *error = NULL;
    const udpai_source source = {.name = "x", .text = text};
    assert_int_equal(udpai_source_check(&source, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), message);
    udpa_error_unref(error);
}

static void
bad_bytes_are_located(void **state)
{
    (void)state;
    assert_bad(UDPAI_STR("\xff"), "x:1:1: this byte is not UTF-8 text");
    assert_bad(UDPAI_STR("a\0b"), "x:1:2: this byte is not UTF-8 text");
    assert_bad(UDPAI_STR("é日😀\n\né\xc3"), "x:3:2: this byte is not UTF-8 text");
    assert_bad(UDPAI_STR("a\n\xf0\x9f\x98"), "x:2:1: this byte is not UTF-8 text");
    assert_bad(UDPAI_STR("\xc0\x80"), "x:1:1: this byte is not UTF-8 text");
    const udpai_source good = {.text = UDPAI_STR("é日😀")};
    assert_ok(udpai_source_check(&good, NULL));
}

static void
sizes(void **state)
{
    (void)state;
    udpai_source source = {.name = "x", .text = {"", UDPAI_DOCUMENT_SIZE_DEFAULT + 1}};
    assert_int_equal(udpai_source_check(&source, NULL), UDPA_ERR_LIMIT);
    source.max_size = SIZE_MAX; /* there is a bound above what may be asked for */
    source.text.len = UDPAI_DOCUMENT_SIZE_MAX + 1;
    assert_int_equal(udpai_source_check(&source, NULL), UDPA_ERR_LIMIT);
    assert_int_equal(udpai_source_max_size(&source), UDPAI_DOCUMENT_SIZE_MAX);
}

static void
blank_is_white_space_alone(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        bool blank;
    } cases[] = {{"", true}, {" \t\r\n", true}, {" x", false}, {"#", false}, {"\f", false}};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        const udpai_source source = {.text = udpai_str_from(cases[i].text)};
        assert_int_equal(udpai_source_is_blank(&source), cases[i].blank);
    }
    const udpai_source zero = {.text = UDPAI_STR("\0")};
    assert_false(udpai_source_is_blank(&zero));
}

static void
line_ends_become_one_kind(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},     {"a\nb", "a\nb"},           {"a\r\nb\r\n", "a\nb\n"},
        {"\r", "\n"}, {"\r\r\n\n\r", "\n\n\n\n"}, {"a\rb", "a\nb"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        const udpai_source source = {.text = udpai_str_from(cases[i][0])};
        udpai_source_copy(&source, &out);
        assert_str(udpai_strbuf_view(&out), cases[i][1]);
        udpai_strbuf_done(&out);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_bytes_are_located),
        cmocka_unit_test(sizes),
        cmocka_unit_test(blank_is_white_space_alone),
        cmocka_unit_test(line_ends_become_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
