/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: every spelling that is right, at the edges of each type. */
#include "codec/encoder_internal.h"

#include "codec_test.h"

static void
strings_keep_their_spelling(void **state)
{
    (void)state;
    static const char *const plain[][2] = {
        {"1.10", "1.10"},   {"0755", "0755"},
        {"on", "on"},       {"yes", "yes"},
        {"true", "true"},   {"123", "123"},
        {"1e3", "1e3"},     {"0x1F", "0x1F"},
        {".inf", ".inf"},   {"2001-01-01", "2001-01-01"},
        {"12:30", "12:30"}, {"'null'", "null"},
        {"\"~\"", "~"},     {"!!str 5", "5"},
        {"! true", "true"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plain); i++) {
        char yaml[80], json[80];
        snprintf(yaml, sizeof(yaml), "name: %s", plain[i][0]);
        snprintf(json, sizeof(json), "{\"name\":\"%s\"}", plain[i][1]);
        assert_yaml_is(yaml, json);
    }
    assert_yaml_is("words: [1.10, a b, \"\", 'it''s']",
                   "{\"words\":[\"1.10\",\"a b\",\"\",\"it's\"]}");
    assert_yaml_is("by_number: {1: 2.0}", "{\"byNumber\":{\"1\":\"2.0\"}}");
    assert_yaml_is("string_wrapper: 007", "{\"stringWrapper\":\"007\"}");
}

static void
null_leaves_a_field_out(void **state)
{
    (void)state;
    assert_yaml_is("name: ~\nint32_value: null\nchild:\ncolor: Null\nnumbers: NULL\nby_name: ~",
                   "{}");
    assert_json_is("{\"name\":null,\"child\":null,\"stringWrapper\":null}", "{}");
    assert_yaml_is("value: ~", "{\"value\":null}");
    assert_yaml_is("values: [~, 1]", "{\"values\":[null,1]}");
}

static void
json_is_strict_about_kinds(void **state)
{
    (void)state;
    assert_json_refused("{\"name\": 5}",
                        "x.json:1:10: name: this is a number, but must be a string, in quotes");
    assert_json_refused("{\"name\": true}",
                        "x.json:1:10: name: this is true or false, but must be a "
                        "string, in quotes");
    assert_json_refused("{\"bytesValue\": 1}", "x.json:1:16: bytes_value: this is a number, but "
                                               "must be a string, in quotes");
    assert_json_refused("{\"duration\": 1}",
                        "x.json:1:14: duration: this is a number, but must be a duration: write a "
                        "number and its unit, such as 1.5s, 500ms, 5m or 2h");
    assert_json_refused("{\"color\": true}", "x.json:1:11: color: 'true' is no value of enum "
                                             "codec.test.Color (COLOR_UNSPECIFIED, RED, GREEN)");
    assert_json_is("{\"byNumber\":{\"1\":\"a\"}}", "{\"byNumber\":{\"1\":\"a\"}}");
}

static void
integers_are_exact(void **state)
{
    (void)state;
    assert_json_is("{\"int64Value\":9007199254740993}", "{\"int64Value\":\"9007199254740993\"}");
    assert_json_is("{\"int64Value\":\"9007199254740993\"}",
                   "{\"int64Value\":\"9007199254740993\"}");
    assert_yaml_is("int64_value: -9223372036854775808",
                   "{\"int64Value\":\"-9223372036854775808\"}");
    assert_yaml_is("uint64_value: 18446744073709551615",
                   "{\"uint64Value\":\"18446744073709551615\"}");
    assert_yaml_is("fixed_value: -1", "{\"fixedValue\":\"-1\"}");
    assert_yaml_is("int32_value: -2147483648\nuint32_value: 4294967295",
                   "{\"int32Value\":-2147483648,\"uint32Value\":4294967295}");
    assert_yaml_is("int32_value: 1.0\nint64_value: 1e3\nuint32_value: 2.50e1",
                   "{\"int32Value\":1,\"int64Value\":\"1000\",\"uint32Value\":25}");
    assert_yaml_is("int32_value: -0", "{}");
    assert_yaml_is("by_bool: {true: 1, false: '2'}",
                   "{\"byBool\":{\"false\":\"2\",\"true\":\"1\"}}");
    assert_yaml_refused("int64_value: 9223372036854775808",
                        "x.yaml:1:14: int64_value: '9223372036854775808' is not a valid int64");
    assert_yaml_refused("uint64_value: 18446744073709551616",
                        "x.yaml:1:15: uint64_value: '18446744073709551616' is not a valid uint64");
    assert_yaml_refused("int32_value: 0x10",
                        "x.yaml:1:14: int32_value: '0x10' is not a valid int32");
    assert_yaml_refused("int32_value: +5", "x.yaml:1:14: int32_value: '+5' is not a valid int32");
    assert_yaml_refused("int32_value: ''", "x.yaml:1:14: int32_value: '' is not a valid int32");
    assert_yaml_refused("uint32_value: 1_000",
                        "x.yaml:1:15: uint32_value: '1_000' is not a valid uint32");
}

static void
floats_know_what_is_not_finite(void **state)
{
    (void)state;
    assert_yaml_is("double_value: .nan", "{\"doubleValue\":\"NaN\"}");
    assert_yaml_is("double_value: -.INF", "{\"doubleValue\":\"-Infinity\"}");
    assert_yaml_is("float_value: .Inf", "{\"floatValue\":\"Infinity\"}");
    assert_json_is("{\"doubleValue\":\"NaN\"}", "{\"doubleValue\":\"NaN\"}");
    assert_json_is("{\"floatValue\":\"-Infinity\"}", "{\"floatValue\":\"-Infinity\"}");
    assert_json_is("{\"doubleValue\":\"1.5\"}", "{\"doubleValue\":1.5}");
    assert_yaml_is("double_value: 0.1\nfloat_value: 0.1",
                   "{\"floatValue\":0.1,\"doubleValue\":0.1}");
    assert_yaml_is("double_value: 1.7976931348623157e308",
                   "{\"doubleValue\":1.7976931348623157e+308}");
    assert_yaml_is("float_value: 16777217", "{\"floatValue\":16777216}");
    assert_json_refused("{\"doubleValue\":\".nan\"}",
                        "x.json:1:16: double_value: '.nan' is not a valid double");
    assert_yaml_refused("double_value: 1e400",
                        "x.yaml:1:15: double_value: '1e400' is not a valid double");
    assert_yaml_refused("double_value: 01.5",
                        "x.yaml:1:15: double_value: '01.5' is not a valid double");
}

static void
bools_and_enums(void **state)
{
    (void)state;
    assert_yaml_is("bool_value: True\nbool_wrapper: FALSE",
                   "{\"boolValue\":true,\"boolWrapper\":false}");
    assert_yaml_refused("bool_value: yes",
                        "x.yaml:1:13: bool_value: this is a string, but must be true or false");
    assert_yaml_is("colors: [RED, 2, 'GREEN', 99, -1]",
                   "{\"colors\":[\"RED\",\"GREEN\",\"GREEN\",99,-1]}");
    assert_yaml_refused("color: red",
                        "x.yaml:1:8: color: 'red' is no value of enum "
                        "codec.test.Color (COLOR_UNSPECIFIED, RED, GREEN); did you mean 'RED'?");
    assert_yaml_refused("color: 2147483648", "x.yaml:1:8: color: '2147483648' is no value of enum "
                                             "codec.test.Color (COLOR_UNSPECIFIED, RED, GREEN)");
    assert_yaml_refused("color: '1'", "x.yaml:1:8: color: '1' is no value of enum codec.test.Color "
                                      "(COLOR_UNSPECIFIED, RED, GREEN)");
}

static void
bytes_take_both_alphabets(void **state)
{
    (void)state;
    static const char *const spellings[] = {"/+8=", "/+8", "_-8=", "_-8"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(spellings); i++) {
        char yaml[40];
        snprintf(yaml, sizeof(yaml), "bytes_value: %s", spellings[i]);
        assert_yaml_is(yaml, "{\"bytesValue\":\"/+8=\"}");
    }
    assert_yaml_is("bytes_value: 1234", "{\"bytesValue\":\"1234\"}");
    assert_yaml_is("bytes_value: ''", "{}");
    assert_yaml_refused("bytes_value: a", "x.yaml:1:14: bytes_value: 'a' is not base64");
}

static void
assert_no_duration(const char *text)
{
    char yaml[64], wanted[200];
    snprintf(yaml, sizeof(yaml), "duration: %s", text);
    snprintf(wanted, sizeof(wanted),
             "x.yaml:1:11: duration: '%s' is not a duration: write a number and its unit, such as "
             "1.5s, 500ms, 5m or 2h",
             text);
    assert_yaml_refused(yaml, wanted);
}

static void
durations_have_units(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "m",           "5",   "1.5m",  "-5m", "5M",
        "5min",        "5 m", "1h30m", "ms",  "12345678901234567890m",
        "99999999999h"};
    assert_yaml_is("duration: 5m", "{\"duration\":\"300s\"}");
    assert_yaml_is("duration: 2h", "{\"duration\":\"7200s\"}");
    assert_yaml_is("duration: 7d", "{\"duration\":\"604800s\"}");
    assert_yaml_is("duration: 1500ms", "{\"duration\":\"1.500s\"}");
    assert_yaml_is("duration: 20ms", "{\"duration\":\"0.020s\"}");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++)
        assert_no_duration(wrong[i]);
}

static void
well_known_types(void **state)
{
    (void)state;
    assert_yaml_is("duration: -0.5s", "{\"duration\":\"-0.500s\"}");
    assert_yaml_is("duration: 315576000000s", "{\"duration\":\"315576000000s\"}");
    assert_yaml_is("duration: 0.000000001s", "{\"duration\":\"0.000000001s\"}");
    assert_yaml_is("duration: {seconds: 3, nanos: 5000000}", "{\"duration\":\"3.005s\"}");
    assert_yaml_refused("duration: 315576000001s",
                        "x.yaml:1:11: duration: '315576000001s' is not a duration: write a "
                        "number and its unit, such as 1.5s, 500ms, 5m or 2h");
    assert_yaml_is("timestamp: 2024-02-29T23:59:59.123456789+01:00",
                   "{\"timestamp\":\"2024-02-29T22:59:59.123456789Z\"}");
    assert_yaml_is("timestamp: {seconds: 1}", "{\"timestamp\":\"1970-01-01T00:00:01Z\"}");
    assert_yaml_refused("timestamp: 2024-02-30T00:00:00Z",
                        "x.yaml:1:12: timestamp: '2024-02-30T00:00:00Z' is not a time: write it as "
                        "2024-01-31T12:00:00Z");
    assert_yaml_is("field_mask: name,child.boolValue", "{\"fieldMask\":\"name,child.boolValue\"}");
    assert_yaml_is("field_mask: {paths: [child.bool_value]}",
                   "{\"fieldMask\":\"child.boolValue\"}");
    assert_yaml_is("uint32_wrapper: 0\nbool_wrapper: {value: true}\nstring_wrapper: ''",
                   "{\"stringWrapper\":\"\",\"uint32Wrapper\":0,\"boolWrapper\":true}");
    assert_yaml_is("empty: {}", "{\"empty\":{}}");
    assert_yaml_is("maybe: 0", "{\"maybe\":0}");
}

static void
values_follow_the_document(void **state)
{
    (void)state;
    assert_yaml_is("value: {a: [1, 1.5, true, ~, x, 0755, '1', on, -0.0, 1e2]}",
                   "{\"value\":{\"a\":[1,1.5,true,null,\"x\",\"0755\",\"1\",\"on\",-0,100]}}");
    assert_json_is("{\"struct\":{\"\":{},\"k\":[]},\"listValue\":[[],{}]}",
                   "{\"struct\":{\"\":{},\"k\":[]},\"listValue\":[[],{}]}");
    assert_same_bytes(bytes_of(UDPAI_FORMAT_YAML, "value: -0"),
                      bytes_of(UDPAI_FORMAT_YAML, "value: -0.0"));
    assert_same_bytes(bytes_of(UDPAI_FORMAT_YAML, "double_value: -0"),
                      bytes_of(UDPAI_FORMAT_YAML, "double_value: -0.0e5"));
    assert_yaml_is("double_value: -0.0", "{\"doubleValue\":-0}");
    assert_yaml_is("value: text", "{\"value\":\"text\"}");
    assert_yaml_is("struct: {'a\"b': 'c\\d'}", "{\"struct\":{\"a\\\"b\":\"c\\\\d\"}}");
}

static void
characters_survive(void **state)
{
    (void)state;
    assert_json_is("{\"name\":\"\\ud83d\\ude00 \\u00e9 \\u0000 \\n \\u007f \\/\"}",
                   "{\"name\":\"😀 é \\u0000 \\n \\u007f /\"}");
    assert_yaml_is("name: \"\\U0001F600 \\x41 \\e\"", "{\"name\":\"😀 A \\u001b\"}");
    assert_yaml_is("name: 日本 – x", "{\"name\":\"日本 – x\"}");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_keep_their_spelling),
        cmocka_unit_test(null_leaves_a_field_out),
        cmocka_unit_test(json_is_strict_about_kinds),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(floats_know_what_is_not_finite),
        cmocka_unit_test(bools_and_enums),
        cmocka_unit_test(bytes_take_both_alphabets),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(well_known_types),
        cmocka_unit_test(values_follow_the_document),
        cmocka_unit_test(characters_survive),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
