/* SPDX-License-Identifier: Apache-2.0 */
/* Layers to envoy.service.runtime.v3.Runtime, and back by its Struct. */
#include "runtime/encode.h"

#include <stdio.h>

#include "base/proto.h"
#include "tests/harness/oom.h"
#include "value_at.h"

/* What a file may have, as the reader of directories leaves it. */
static const char *const texts[] = {
    "5",
    " 5",
    "+5",
    "5.0",
    "05",
    "3.7",
    ".5",
    "-4",
    "-0",
    "0",
    "",
    "true",
    "TRUE",
    "false",
    "1e3",
    "1e400",
    "999999",
    "1000000",
    "123456.5",
    "0.0001",
    "0.00001",
    "0.123456",
    "0.1234567",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "0x10",
    "nan",
    "hello world",
    "one\ntwo",
    "{\"numerator\": 5, \"denominator\": \"MILLION\"}",
    "{\"numerator\": 7, \"denominator\": \"HUNDRED\"}",
    "{\"numerator\": 0, \"denominator\": \"TEN_THOUSAND\"}",
    "\"5\"",
    "a: b",
    "[1, 2]",
    "null",
    "h\xc3\xa9",
};

/* Other words for fractions that are above. */
static const char *const fractions[] = {
    "numerator: 5\ndenominator: MILLION",
    "{\"denominator\": 2, \"numerator\": \"5\"}",
    "{numerator: 5, denominator: million}",
};

static void
put(udpai_runtime_layer *layer, const char *key, const char *text)
{
    const udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(text));
    assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(key), &value, NULL));
}

/* The fields of the message that is in the bytes. */
static udpai_str
field_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpai_str found = {0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == number)
            found = field.bytes;
    assert_false(reader.failed);
    return found;
}

static udpai_runtime_layer *
read_back(udpa_bytes *bytes)
{
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("back"));
    assert_non_null(layer);
    assert_ok(udpai_runtime_layer_put_struct(layer, field_of(udpai_bytes_view(bytes), 2), NULL));
    return layer;
}

static void
expect_same_meaning(const udpai_runtime_value *a, const udpai_runtime_value *b)
{
    assert_int_equal(a->has_truth, b->has_truth);
    assert_int_equal(a->has_truth && a->truth, b->has_truth && b->truth);
    assert_int_equal(a->has_number, b->has_number);
    assert_true(a->number == b->number);
    assert_int_equal(a->has_integer, b->has_integer);
    assert_int_equal(a->integer, b->integer);
    assert_int_equal(a->has_share, b->has_share);
    assert_int_equal(a->share.numerator, b->share.numerator);
    assert_int_equal(a->has_share ? a->share.denominator : 0,
                     b->has_share ? b->share.denominator : 0);
}

static void
test_every_value(void **state)
{
    (void)state;
    char key[32];
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        snprintf(key, sizeof(key), "a.key%zu", i);
        put(layer, key, texts[i]);
    }
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_runtime_encode(layer, UDPAI_STR("production"));
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *back = read_back(bytes);
    assert_str(field_of(udpai_bytes_view(bytes), 1), "production");
    assert_int_equal(udpai_runtime_layer_entries(back)->n, UDPAI_ARRAY_LEN(texts));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        snprintf(key, sizeof(key), "a.key%zu", i);
        assert_str(value_at(back, key)->text, texts[i]);
        expect_same_meaning(value_at(back, key), value_at(layer, key));
    }
}

static void
test_fractions(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fractions); i++) {
        UDPA_AUTO(udpai_runtime_layer_unref)
        udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
        put(layer, "share", fractions[i]);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_runtime_encode(layer, UDPAI_STR("x"));
        UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *back = read_back(bytes);
        expect_same_meaning(value_at(back, "share"), value_at(layer, "share"));
        assert_str(value_at(back, "share")->text,
                   "{\"numerator\": 5, \"denominator\": \"MILLION\"}");
    }
}

/* Of which kind the Value of the only key is. */
static void
expect_kind(const char *text, uint32_t kind)
{
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    put(layer, "key", text);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_runtime_encode(layer, UDPAI_STR("x"));
    udpai_str value = field_of(field_of(field_of(udpai_bytes_view(bytes), 2), 1), 2);
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    assert_true(udpai_proto_next(&reader, &field));
    if (field.number != kind)
        fail_msg("%s is of kind %u, not %u", text, field.number, kind);
}

static void
test_kinds(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0", "5", "-4", "3.7", "999999", "0.0001", "0.123456"};
    static const char *const strings[] = {"05",  "+5",      "1000000", "0.1234567", "1e3",
                                          "",    "TRUE",    "-0",      "5.0",       "hello",
                                          "nan", "1234567", "1.5 ",    "1e-05"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        expect_kind(numbers[i], 2);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strings); i++)
        expect_kind(strings[i], 3);
    expect_kind("true", 4);
    expect_kind("false", 4);
    expect_kind("numerator: 3", 5);
}

/* Whatever the order in which they came, and from which process. */
static void
test_same_bytes(void **state)
{
    (void)state;
    static const char *const keys[] = {"b", "a.b", "a", "a.b.c", "zz", "ab"};
    udpa_bytes *bytes[2];
    for (size_t k = 0; k < 2; k++) {
        udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
            put(layer, keys[k ? UDPAI_ARRAY_LEN(keys) - 1 - i : i], "1");
        bytes[k] = udpai_runtime_encode(layer, UDPAI_STR("x"));
        udpai_runtime_layer *back = read_back(bytes[k]);
        assert_true(udpai_runtime_layer_eq(layer, back));
        udpai_runtime_layer_unref(back);
        udpai_runtime_layer_unref(layer);
    }
    assert_true(udpai_str_eq(udpai_bytes_view(bytes[0]), udpai_bytes_view(bytes[1])));
    udpa_bytes_unref(bytes[0]);
    udpa_bytes_unref(bytes[1]);
}

static void
test_nothing(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_runtime_encode(layer, UDPAI_STR("n"));
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), (udpai_str){"\x0a\x01n\x12\x00", 5}));
}

static udpa_err
make(void *context)
{
    udpa_bytes *bytes = udpai_runtime_encode(context, UDPAI_STR("x"));
    udpa_bytes_unref(bytes);
    return bytes ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_without_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    put(layer, "a", "numerator: 3");
    put(layer, "b", "text");
    oom_torture(make, layer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value), cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_kinds),       cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
