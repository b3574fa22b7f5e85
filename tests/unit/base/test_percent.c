/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with percent signs: decoded, encoded, and rejected where they are invalid. */
#include "base/percent.h"
#include "tests/harness/test.h"

static void
what_is_encoded_is_decoded(void **state)
{
    (void)state;
    char room[16], *at = room;
    udpai_str first, second, none;
    assert_true(udpai_percent_decode(UDPAI_STR("a%2Fb%2f%00"), &at, &first));
    assert_true(udpai_percent_decode(UDPAI_STR(""), &at, &none));
    assert_true(udpai_percent_decode(UDPAI_STR("%25"), &at, &second));
    assert_true(udpai_str_eq(first, (udpai_str){"a/b/\0", 5}));
    assert_int_equal(none.len, 0);
    assert_true(udpai_str_eq(second, UDPAI_STR("%")));
    assert_ptr_equal(at, room + 6);
}

static void
what_is_malformed_is_refused_and_moves_nothing(void **state)
{
    (void)state;
    static const char *const malformed[] = {"%", "a%", "%4", "%4g", "%g4", "%%41", "%41%4"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(malformed); i++) {
        char room[8], *at = room;
        udpai_str decoded;
        assert_false(udpai_percent_decode(udpai_str_from(malformed[i]), &at, &decoded));
        assert_ptr_equal(at, room);
    }
}

static void
a_segment_has_nothing_with_a_meaning(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_percent_encode_segment(&text, UDPAI_STR("router~10.0.0.1@a+b=c,d:e!$-_"));
    assert_str(udpai_strbuf_view(&text), "router~10.0.0.1@a+b=c,d:e!$-_");
    text.len = 0;
    udpai_percent_encode_segment(&text, (udpai_str){"a/b*% \0\xff?#", 10});
    assert_str(udpai_strbuf_view(&text), "a%2Fb%2A%25%20%00%FF%3F%23");
    udpai_strbuf_done(&text);
}

static void
every_byte_comes_back(void **state)
{
    (void)state;
    char bytes[256], room[1024], *at = room;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    udpai_strbuf text = {0};
    udpai_str back;
    udpai_percent_encode_segment(&text, (udpai_str){bytes, sizeof(bytes)});
    assert_null(memchr(text.data, '/', text.len));
    assert_true(udpai_percent_decode(udpai_strbuf_view(&text), &at, &back));
    assert_true(udpai_str_eq(back, (udpai_str){bytes, sizeof(bytes)}));
    udpai_strbuf_done(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_is_decoded),
        cmocka_unit_test(what_is_malformed_is_refused_and_moves_nothing),
        cmocka_unit_test(a_segment_has_nothing_with_a_meaning),
        cmocka_unit_test(every_byte_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
