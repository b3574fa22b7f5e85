/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes, base64 and numbers beyond a double. */
#include "codec/json_text.h"

#include "tests/harness/test.h"

static void
assert_string_is(udpai_str text, const char *json)
{
    udpai_strbuf out = {0};
    udpai_json_put_string(&out, text);
    assert_str(udpai_strbuf_view(&out), json);
    udpai_strbuf_done(&out);
}

static void
strings_are_escaped(void **state)
{
    (void)state;
    assert_string_is(UDPAI_STR(""), "\"\"");
    assert_string_is(UDPAI_STR("a"), "\"a\"");
    assert_string_is(UDPAI_STR("\"\\/"), "\"\\\"\\\\/\"");
    assert_string_is(UDPAI_STR("\n\t\0x\x1f"), "\"\\u000a\\u0009\\u0000x\\u001f\"");
    assert_string_is(UDPAI_STR("é\x7f😀"), "\"é\x7f😀\"");
}

static void
assert_base64_is(udpai_str bytes, const char *json)
{
    udpai_strbuf out = {0};
    udpai_json_put_base64(&out, bytes);
    assert_str(udpai_strbuf_view(&out), json);
    udpai_strbuf_done(&out);
}

/* The vectors of RFC 4648, section 10. */
static void
base64(void **state)
{
    (void)state;
    assert_base64_is(UDPAI_STR(""), "\"\"");
    assert_base64_is(UDPAI_STR("f"), "\"Zg==\"");
    assert_base64_is(UDPAI_STR("fo"), "\"Zm8=\"");
    assert_base64_is(UDPAI_STR("foo"), "\"Zm9v\"");
    assert_base64_is(UDPAI_STR("foob"), "\"Zm9vYg==\"");
    assert_base64_is(UDPAI_STR("fooba"), "\"Zm9vYmE=\"");
    assert_base64_is(UDPAI_STR("foobar"), "\"Zm9vYmFy\"");
    assert_base64_is(UDPAI_STR("\xff\xef\xfe"), "\"/+/+\"");
}

static void
overflow(void **state)
{
    (void)state;
    assert_true(udpai_json_number_overflows("1e400"));
    assert_true(udpai_json_number_overflows("-2e308"));
    assert_false(udpai_json_number_overflows("1e308"));
    assert_false(udpai_json_number_overflows("1e-400"));
    assert_false(udpai_json_number_overflows("18446744073709551616"));
}

static void
values_are_counted_before_they_are_read(void **state)
{
    (void)state;

    static const struct {
        const char *json;
        size_t n;
    } cases[] = {
        {"", 1},     {"1", 1},           {"[1,2,3]", 4},     {"{\"a\":1,\"b\":2}", 5},
        {"[[[[", 5}, {"\"[{,:\"", 1},    {"\"\\\"[\"", 1},   {"\"\\\\\",[", 3},
        {"\"[,", 1}, {"[\"a,b\",1]", 3}, {"{\"a:\":[]}", 4}, {"\"\\", 1},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_str json = udpai_str_from(cases[i].json);
        if (udpai_json_exceeds(json, cases[i].n) || !udpai_json_exceeds(json, cases[i].n - 1))
            fail_msg("'%s' has not %zu", cases[i].json, cases[i].n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(base64),
        cmocka_unit_test(overflow),
        cmocka_unit_test(values_are_counted_before_they_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
