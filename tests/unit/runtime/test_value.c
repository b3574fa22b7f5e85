/* SPDX-License-Identifier: Apache-2.0 */
/* What texts mean. */
#include "runtime/value.h"

#include <math.h>

#include "tests/harness/test.h"

static udpai_runtime_value
value_of(const char *text)
{
    return udpai_runtime_value_read(udpai_str_from(text));
}

static void
expect_integer(const char *text, uint64_t integer)
{
    udpai_runtime_value value = value_of(text);
    if (!value.has_integer || value.integer != integer || !value.has_number)
        fail_msg("'%s' is %llu, not %llu", text, (unsigned long long)value.integer,
                 (unsigned long long)integer);
}

static void
expect_nothing(const char *text)
{
    udpai_runtime_value value = value_of(text);
    if (value.has_integer || value.has_number || value.has_truth || value.has_share)
        fail_msg("'%s' is more than a text", text);
    assert_str(value.text, text);
}

static void
test_integers(void **state)
{
    (void)state;
    expect_integer("5", 5);
    expect_integer(" \t5\r\n", 5);
    expect_integer("+5", 5);
    expect_integer("017", 17);
    expect_integer("3.999", 3);
    expect_integer(".5", 0);
    expect_integer("5.", 5);
    expect_integer("1e3", 1000);
    expect_integer("0", 0);
    expect_integer("9007199254740993", 9007199254740993u);
    expect_integer("18446744073709551615", UINT64_MAX);
}

static void
test_numbers(void **state)
{
    (void)state;
    udpai_runtime_value value = value_of("-4.25");
    assert_true(value.has_number && value.number == -4.25);
    assert_false(value.has_integer);
    value = value_of("18446744073709551616");
    assert_true(value.has_number && value.number == 18446744073709551616.0);
    assert_false(value.has_integer);
    value = value_of("1e-3");
    assert_true(value.has_number && value.number == 0.001);
    assert_true(value.has_integer && value.integer == 0);
    assert_false(value_of("1e999").has_number);
}

static void
test_truths(void **state)
{
    (void)state;
    assert_true(value_of("true").truth);
    assert_true(value_of(" TRUE\n").truth);
    assert_true(value_of("False").has_truth);
    assert_false(value_of("False").truth);
    assert_true(value_of("1").truth);
    assert_true(value_of("0").has_truth);
    assert_false(value_of("0").truth);
    assert_false(value_of("0.5").has_truth);
    assert_false(value_of("true").has_integer);
}

static void
expect_share(const char *text, uint32_t numerator, uint32_t denominator)
{
    udpai_runtime_value value = value_of(text);
    if (!value.has_share || value.share.numerator != numerator ||
        value.share.denominator != denominator)
        fail_msg("'%s' is %u of %u", text, value.share.numerator, value.share.denominator);
}

static void
test_shares(void **state)
{
    (void)state;
    expect_share("{\"numerator\": 5, \"denominator\": \"MILLION\"}", 5, 1000000);
    expect_share("{\"denominator\":\"TEN_THOUSAND\",\"numerator\":5}", 5, 10000);
    expect_share("{\"numerator\": 7}", 7, 100);
    expect_share("{numerator: 7, denominator: 2}", 7, 1000000);
    expect_share("numerator: 3\ndenominator: HUNDRED\n", 3, 100);
    expect_nothing("{\"numerator\": \"x\"}");
    expect_nothing("{\"numerator\": 5, \"denominator\": \"DOZEN\"}");
    expect_nothing("{\"numerator\": 4294967296}");
    expect_nothing("{\"numerator\": 5, \"denominator\": 0, \"more\": 1}");
    expect_nothing("{}");
    udpai_runtime_share share = {5, 10000};
    assert_true(udpai_runtime_share_has(share, 4));
    assert_true(udpai_runtime_share_has(share, 30004));
    assert_false(udpai_runtime_share_has(share, 5));
}

static void
test_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",    "hello", "0x10",  "nan", "inf",   "1_000", "+",    ".",        "5 5",   "1e",
        "yes", "tru",   "truer", "-",   "\"5\"", "[1]",   "a: b", "5 # five", "1.2.3",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        expect_nothing(texts[i]);
}

static void
test_numbers_as_texts(void **state)
{
    (void)state;

    static const struct {
        double number;
        const char *text;
    } all[] = {
        {5, "5"},     {-3, "-3"},      {2.5, "2.5"},         {123456789012.0, "123456789012"},
        {0.1, "0.1"}, {1e22, "1e+22"}, {0.0000001, "1e-07"}, {0, "0"}};

    char room[UDPAI_RUNTIME_NUMBER_ROOM];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        assert_str(udpai_runtime_number_text(all[i].number, room), all[i].text);
    uint64_t seed = 7;
    for (int i = 0; i < 1000; i++) {
        double number;
        uint64_t bits = test_random(&seed);
        memcpy(&number, &bits, sizeof(number));
        if (!isfinite(number))
            continue;
        udpai_str text = udpai_runtime_number_text(number, room);
        assert_true(udpai_runtime_value_read(text).number == number);
    }
}

static void
test_numbers_that_were_no_text(void **state)
{
    (void)state;
    udpai_runtime_value value = udpai_runtime_value_number(UDPAI_STR("2.5"), 2.5);
    assert_true(value.has_integer && value.integer == 2);
    assert_false(value.has_truth);
    assert_true(udpai_runtime_value_number(UDPAI_STR("1"), 1).truth);
    assert_false(udpai_runtime_value_number(UDPAI_STR("nan"), NAN).has_number);
    assert_true(udpai_runtime_value_truth(true).truth);
    assert_str(udpai_runtime_value_truth(false).text, "false");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_truths),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers_as_texts),
        cmocka_unit_test(test_numbers_that_were_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
