/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: every code point there is, every sequence of up to three bytes and many of four, against a
 * decoder that is slow and plain. */
#include "base/utf8.h"

#include "tests/harness/test.h"

/* Encodes without asking whether the code point may be encoded; returns the length. */
static size_t
encode(uint32_t point, unsigned char *bytes)
{
    if (point < 0x80) {
        bytes[0] = (unsigned char)point;
        return 1;
    }
    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len; i-- > 1; point >>= 6)
        bytes[i] = (unsigned char)(0x80 | (point & 0x3f));
    bytes[0] = (unsigned char)(leads[len] | point);
    return len;
}

/* Is the text the encodings of code points that may be? By looking for each point's encoding. */
static bool
naive_valid(const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
        if (bytes[at] == 0 || (bytes[at] >= 0x80 && bytes[at] < 0xc0) || n > len - at)
            return false;
        uint32_t point = n == 1 ? bytes[at] : bytes[at] & (0xffu >> (n + 1));
        for (size_t i = 1; i < n; i++)
            point = point << 6 | (bytes[at + i] & 0x3f);
        unsigned char again[4];
        if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) || encode(point, again) != n ||
            memcmp(again, bytes + at, n) != 0)
            return false;
        at += n;
    }
    return true;
}

static bool
valid(const unsigned char *bytes, size_t len)
{
    return udpai_utf8_valid((udpai_str){(const char *)bytes, len});
}

static void
every_code_point_is_valid_but_surrogates_and_zero(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        unsigned char bytes[4];
        size_t len = encode(point, bytes);
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        if (valid(bytes, len) != (point != 0 && !surrogate))
            fail_msg("U+%04X", point);
    }
}

static void
code_points_above_the_last_are_not_valid(void **state)
{
    (void)state;
    for (uint32_t point = 0x110000; point < 0x200000; point += 7) {
        unsigned char bytes[4];
        assert_false(valid(bytes, encode(point, bytes)));
    }
}

static void
every_short_sequence_agrees_with_the_plain_decoder(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 1u << 24; n += n < 0x10000 ? 1 : 5) {
        unsigned char bytes[3] = {(unsigned char)n, (unsigned char)(n >> 8),
                                  (unsigned char)(n >> 16)};
        if (valid(bytes, 3) != naive_valid(bytes, 3) || valid(bytes, 2) != naive_valid(bytes, 2))
            fail_msg("%02x %02x %02x", bytes[0], bytes[1], bytes[2]);
    }
}

static void
random_sequences_agree_with_the_plain_decoder(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x01, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                          0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
                                          0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff};
    uint64_t seed = 5;
    unsigned n_valid = 0;
    for (int round = 0; round < 500000; round++) {
        size_t len = 1 + test_random_below(&seed, 6);
        unsigned char bytes[6];
        for (size_t i = 0; i < len; i++)
            bytes[i] = edges[test_random_below(&seed, sizeof(edges))];
        bool expected = naive_valid(bytes, len);
        if (valid(bytes, len) != expected)
            fail_msg("round %d", round);
        n_valid += expected;
    }
    assert_true(n_valid > 1000);
}

/* Plain text is read in steps: what is wrong, or not plain, may be anywhere in one. */
static void
one_byte_anywhere_in_plain_text_agrees_with_the_plain_decoder(void **state)
{
    (void)state;
    static const unsigned char others[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0xc3, 0xff};
    for (size_t len = 1; len <= 34; len++) {
        unsigned char *bytes = malloc(len); /* of this size, so that nothing is read behind it */
        assert_non_null(bytes);
        for (size_t at = 0; at < len; at++) {
            for (size_t i = 0; i < sizeof(others); i++) {
                memset(bytes, 'a', len);
                bytes[at] = others[i];
                assert_int_equal(valid(bytes, len), naive_valid(bytes, len));
            }
            memset(bytes, 'a', len);
            memcpy(bytes + at, "\u00e9", len - at > 1 ? 2 : 1);
            assert_int_equal(valid(bytes, len), len - at > 1);
        }
        free(bytes);
    }
}

static void
cut_text_is_not_read_past_its_end(void **state)
{
    (void)state;
    static const char text[] = "a\u00e9\u20ac\U0001f600";
    unsigned n_valid = 0;
    for (size_t len = 0; len < sizeof(text); len++) {
        char *copy = malloc(len ? len : 1);
        assert_non_null(copy);
        memcpy(copy, text, len);
        n_valid += udpai_utf8_valid((udpai_str){copy, len});
        free(copy);
    }
    assert_int_equal(n_valid, 5);
}

static void
empty_text_is_valid(void **state)
{
    (void)state;
    assert_true(udpai_utf8_valid((udpai_str){NULL, 0}));
    assert_true(udpai_utf8_valid(UDPAI_STR("")));
}

static void
mending_replaces_only_what_is_wrong(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"\u00e9\u20ac\U0001f600", "\u00e9\u20ac\U0001f600"},
        {"a\xff"
         "b",
         "a?b"},
        {"\xc3", "?"},
        {"\xe2\x82", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xf0\x9f\x98\xc3\xa9", "???\u00e9"},
        {"\x80\xbf", "??"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(pairs); i++) {
        char text[32];
        memcpy(text, pairs[i][0], strlen(pairs[i][0]) + 1);
        udpai_utf8_mend(text);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void
mended_noise_is_valid(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int round = 0; round < 20000; round++) {
        char text[17] = {0};
        for (size_t i = 0; i < 16; i++)
            text[i] = (char)(1 + test_random_below(&seed, 255));
        udpai_utf8_mend(text);
        assert_int_equal(strlen(text), 16);
        assert_true(udpai_utf8_valid((udpai_str){text, 16}));
    }
}

static void
a_beginning_ends_between_characters(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t max = 0; max < UDPAI_ARRAY_LEN(expected); max++) {
        udpai_str cut = udpai_utf8_cut(UDPAI_STR(text), max);
        assert_int_equal(cut.len, expected[max]);
        assert_true(udpai_utf8_valid(cut));
    }
    assert_int_equal(udpai_utf8_cut((udpai_str){NULL, 0}, 0).len, 0);
}

static void
characters_are_decoded(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        size_t len;
        uint32_t point;
    } cases[] = {
        {"az", 1, 'a'},
        {"\xc3\xa4z", 2, 0xe4},
        {"\xe2\x82\xac\xe2", 3, 0x20ac},
        {"\xf0\x9f\x98\x80", 4, 0x1f600},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\xc3", 0, 7},
        {"\x80", 0, 7},
        {"\xed\xa0\x80", 0, 7},
        {"", 0, 7},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        uint32_t point = 7;
        assert_int_equal(udpai_utf8_decode(udpai_str_from(cases[i].text), &point), cases[i].len);
        assert_int_equal(point, cases[i].point);
    }
}

static void
what_a_terminal_obeys_is_hidden(void **state)
{
    (void)state;
    static const uint32_t hidden[] = {0,      0x1b,   0x1f,   0x7f,   0x80,   0x9f,   0x61c, 0x200e,
                                      0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069};
    static const uint32_t shown[] = {' ',    '~',    0xa0,   0xe9,   0x61b,  0x61d,  0x200d,
                                     0x2010, 0x2027, 0x202f, 0x2065, 0x206a, 0x20ac, 0x1f600};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(hidden); i++)
        assert_true(udpai_utf8_is_hidden(hidden[i]));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(shown); i++)
        assert_false(udpai_utf8_is_hidden(shown[i]));
    assert_false(udpai_utf8_is_hidden(0x2030));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_obeys_is_hidden),
        cmocka_unit_test(every_code_point_is_valid_but_surrogates_and_zero),
        cmocka_unit_test(code_points_above_the_last_are_not_valid),
        cmocka_unit_test(every_short_sequence_agrees_with_the_plain_decoder),
        cmocka_unit_test(random_sequences_agree_with_the_plain_decoder),
        cmocka_unit_test(one_byte_anywhere_in_plain_text_agrees_with_the_plain_decoder),
        cmocka_unit_test(cut_text_is_not_read_past_its_end),
        cmocka_unit_test(empty_text_is_valid),
        cmocka_unit_test(mending_replaces_only_what_is_wrong),
        cmocka_unit_test(mended_noise_is_valid),
        cmocka_unit_test(a_beginning_ends_between_characters),
        cmocka_unit_test(characters_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
