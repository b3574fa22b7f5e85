/* SPDX-License-Identifier: Apache-2.0 */
/* Documents against types: what is refused, and the place, path and words of each refusal. */
#include "codec/encoder.h"

#include "base/strbuf.h"
#include "codec/reader.h"
#include "codec_test.h"
#include "tests/harness/oom.h"

static void
unknown_field_suggests_the_nearest(void **state)
{
    (void)state;
    assert_yaml_refused("name: a\n"
                        "child:\n"
                        "  children:\n"
                        "    - name: b\n"
                        "    - child:\n"
                        "        int23_value: 1\n",
                        "x.yaml:6:9: child.children[1].child: unknown field 'int23_value'; did you "
                        "mean 'int32_value'?");
    assert_json_refused("{\"nmae\": 1}", "x.json:1:2: unknown field 'nmae'; did you mean 'name'?");
    assert_yaml_refused("boolValeu: true",
                        "x.yaml:1:1: unknown field 'boolValeu'; did you mean 'bool_value'?");
    assert_yaml_refused("completely_else: 1", "x.yaml:1:1: unknown field 'completely_else'");
}

static void
both_names_of_a_field_work(void **state)
{
    (void)state;
    assert_yaml_is("int32_value: 1\notherName: x", "{\"int32Value\":1,\"otherName\":\"x\"}");
    assert_yaml_is("int32Value: 1\nrenamed: x", "{\"int32Value\":1,\"otherName\":\"x\"}");
    assert_yaml_refused("int32_value: 1\nint32Value: 2",
                        "x.yaml:2:1: field 'int32_value' is already at x.yaml:1:1");
}

static void
oneof_takes_one_member(void **state)
{
    (void)state;
    assert_yaml_refused(
        "child:\n  text_choice: a\n  number_choice: 1",
        "x.yaml:3:3: child: of 'choice' only one can be given, and 'text_choice' is "
        "at x.yaml:2:3");
    assert_yaml_is("text_choice: null\nnumber_choice: 0", "{\"numberChoice\":0}");
}

static void
shapes_must_fit(void **state)
{
    (void)state;
    assert_yaml_refused("name: [a]", "x.yaml:1:7: name: this is a list, but must be a string, in "
                                     "quotes");
    assert_yaml_refused("children: {name: a}",
                        "x.yaml:1:11: children: this is a map, but must be a list");
    assert_yaml_refused("numbers: 1", "x.yaml:1:10: numbers: this is a number, but must be a list");
    assert_yaml_refused("numbers: [1, ~]",
                        "x.yaml:1:14: numbers[1]: this is null, but must be a value");
    assert_yaml_refused("child: x",
                        "x.yaml:1:8: child: this is a string, but must be a map of fields");
    assert_yaml_refused("by_name: []", "x.yaml:1:10: by_name: this is a list, but must be a map");
    assert_yaml_refused("by_name: {a: ~}",
                        "x.yaml:1:14: by_name[\"a\"]: this is null, but must be a value");
    assert_yaml_refused("struct: [1]", "x.yaml:1:9: struct: this is a list, but must be a map");
    assert_yaml_refused("list_value: {a: 1}",
                        "x.yaml:1:13: list_value: this is a map, but must be a list");
    assert_yaml_refused("bool_value: 1",
                        "x.yaml:1:13: bool_value: this is a number, but must be true or false");
    assert_yaml_refused("bool_value: 'true'",
                        "x.yaml:1:13: bool_value: this is a string, but must be true or false");
    assert_yaml_refused("- 1", "x.yaml:1:1: this is a list, but must be a map of fields");
    assert_yaml_refused("text", "x.yaml:1:1: this is a string, but must be a map of fields");
    assert_yaml_refused("color: [1]", "x.yaml:1:8: color: this is a list, but must be the name of "
                                      "an enum value");
    assert_yaml_refused("int32_value: {}",
                        "x.yaml:1:14: int32_value: this is a map, but must be a number");
    assert_yaml_refused("float_value: []",
                        "x.yaml:1:14: float_value: this is a list, but must be a number");
    assert_yaml_refused("any: 1", "x.yaml:1:6: any: this is a number, but must be a map with "
                                  "'@type'");
}

/* What libprotobuf finds is told with the place in the document. */
static void
bad_values_are_found(void **state)
{
    (void)state;
    assert_yaml_refused("children:\n- int32_value: 1\n- int32_value: 2147483648\n",
                        "x.yaml:3:16: children[1].int32_value: '2147483648' is not a valid int32");
    assert_yaml_refused("child: {int64_value: x}",
                        "x.yaml:1:22: child.int64_value: 'x' is not a valid int64");
    assert_yaml_refused("int32_value: 1.5", "x.yaml:1:14: int32_value: '1.5' is not a valid int32");
    assert_yaml_refused("int32_value: 0755",
                        "x.yaml:1:14: int32_value: '0755' is not a valid int32");
    assert_yaml_refused("int32_value: '1e3'",
                        "x.yaml:1:14: int32_value: '1e3' is not a valid int32");
    assert_yaml_refused("int32_value: 1e999",
                        "x.yaml:1:14: int32_value: '1e999' is not a valid int32");
    assert_yaml_refused("uint64_value: -1",
                        "x.yaml:1:15: uint64_value: '-1' is not a valid uint64");
    assert_yaml_refused("float_value: 1e39",
                        "x.yaml:1:14: float_value: '1e39' is not a valid float");
    assert_yaml_refused("double_value: nan",
                        "x.yaml:1:15: double_value: 'nan' is not a valid double");
    assert_yaml_refused("bytes_value: 'a b'", "x.yaml:1:14: bytes_value: 'a b' is not base64");
    assert_yaml_refused("color: GREN", "x.yaml:1:8: color: 'GREN' is no value of enum "
                                       "codec.test.Color (COLOR_UNSPECIFIED, RED, GREEN); did you "
                                       "mean 'GREEN'?");
    assert_yaml_refused("colors: [RED, 07]", "x.yaml:1:15: colors[1]: '07' is no value of enum "
                                             "codec.test.Color (COLOR_UNSPECIFIED, RED, GREEN)");
    assert_yaml_refused("duration: 5", "x.yaml:1:11: duration: '5' is not a duration: write a "
                                       "number and its unit, such as 1.5s, 500ms, 5m or 2h");
    assert_yaml_refused("timestamp: yesterday",
                        "x.yaml:1:12: timestamp: 'yesterday' is not a time: write it as "
                        "2024-01-31T12:00:00Z");
    assert_yaml_refused("uint32_wrapper: -1",
                        "x.yaml:1:17: uint32_wrapper: '-1' is not a valid uint32");
    assert_yaml_refused("wrapper_by_name:\n  a: 1\n  b: x\n",
                        "x.yaml:3:6: wrapper_by_name[\"b\"]: 'x' is not a valid uint32");
    assert_yaml_refused(
        "by_name:\n  a: {}\n  b:\n    child: {int32_value: 9999999999}\n",
        "x.yaml:4:26: by_name[\"b\"].child.int32_value: '9999999999' is not a valid "
        "int32");
    assert_yaml_refused("by_number: {1: a, x: b}",
                        "x.yaml:1:19: by_number[\"x\"]: key 'x' is not a valid int32");
    assert_yaml_refused("by_number: {1: a, 2147483648: b}",
                        "x.yaml:1:19: by_number[\"2147483648\"]: key '2147483648' is not a valid "
                        "int32");
    assert_yaml_refused("by_bool: {yes: 1}",
                        "x.yaml:1:11: by_bool[\"yes\"]: key 'yes' is not a valid bool");
    assert_yaml_refused("value: [1, {a: 1e999}]",
                        "x.yaml:1:16: value[1].a: '1e999' is not a valid double");
}

static void
a_document_may_say_its_own_type(void **state)
{
    (void)state;
    assert_yaml_is("'@type': x/codec.test.Everything\nname: a", "{\"name\":\"a\"}");
    assert_yaml_refused("'@type': x/codec.test.Nameless\nnumber: 1",
                        "x.yaml:1:10: '@type' is 'x/codec.test.Nameless', but this must be "
                        "codec.test.Everything");
    assert_yaml_refused("child: {'@type': x/codec.test.Everything}",
                        "x.yaml:1:9: child: unknown field '@type'");
}

/* The only document of the source. */
static udpa_err
collect(const char *type,
        const udpai_source *source,
        udpai_text_errors *mistakes,
        udpa_bytes **ret_bytes)
{
    udpai_documents *documents = NULL;
    assert_ok(udpai_documents_read(&documents, source, NULL));
    assert_int_equal(documents->roots.n, 1);
    udpa_err err = udpai_convert_tree(test_schema, udpai_str_from(type), source,
                                      documents->roots.items[0], mistakes, ret_bytes);
    udpai_documents_free(documents);
    return err;
}

static void
assert_mistakes(const char *yaml, const char *expected)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_text_errors mistakes = {0};
    udpai_strbuf messages = {0};
    const udpai_source source = source_of(UDPAI_FORMAT_YAML, yaml);
    assert_int_not_equal(collect(EVERYTHING, &source, &mistakes, &bytes), UDPA_OK);
    for (size_t i = 0; i < mistakes.found.n; i++)
        udpai_strbuf_printf(&messages, "%s\n", udpa_error_message(mistakes.found.items[i].error));
    assert_string_equal(messages.data, expected);
    udpai_strbuf_done(&messages);
    udpai_text_errors_done(&mistakes);
}

static void
all_mistakes_are_collected(void **state)
{
    (void)state;
    assert_mistakes(
        "bytes_value: '*'\n"
        "nmae: x\n"
        "numbers: [1, x, 2, 3000000000, 4, y]\n"
        "child:\n"
        "  int32_value: 1.5\n"
        "  int32Value: 1\n"
        "  name: [a]\n"
        "by_number: {1: a, x: b, 5000000000: c}\n"
        "any: {'@type': x/codec.test.Nameless, number: z, nummer: 1}\n"
        "anys: [{'@type': x/no.One}, {a: b}]\n"
        "color: BLUE\n"
        "duration: 1\n",
        "x.yaml:1:14: bytes_value: '*' is not base64\n"
        "x.yaml:2:1: unknown field 'nmae'; did you mean 'name'?\n"
        "x.yaml:3:14: numbers[1]: 'x' is not a valid int32\n"
        "x.yaml:3:20: numbers[3]: '3000000000' is not a valid int32\n"
        "x.yaml:3:35: numbers[5]: 'y' is not a valid int32\n"
        "x.yaml:5:16: child.int32_value: '1.5' is not a valid int32\n"
        "x.yaml:6:3: child: field 'int32_value' is already at x.yaml:5:3\n"
        "x.yaml:7:9: child.name: this is a list, but must be a string, in quotes\n"
        "x.yaml:8:19: by_number[\"x\"]: key 'x' is not a valid int32\n"
        "x.yaml:8:25: by_number[\"5000000000\"]: key '5000000000' is not a valid int32\n"
        "x.yaml:9:47: any.number: 'z' is not a valid int32\n"
        "x.yaml:9:50: any: unknown field 'nummer'; did you mean 'number'?\n"
        "x.yaml:10:18: anys[0]: message type 'no.One' is not known: load its descriptors with "
        "--descriptors FILE\n"
        "x.yaml:10:29: anys[1]: '@type' is missing: this field can hold any type, and must name "
        "it\n"
        "x.yaml:11:8: color: 'BLUE' is no value of enum codec.test.Color (COLOR_UNSPECIFIED, RED, "
        "GREEN)\n"
        "x.yaml:12:11: duration: '1' is not a duration: write a number and its unit, such as 1.5s, "
        "500ms, 5m or 2h\n");
    assert_mistakes("[]", "x.yaml:1:1: this is a list, but must be a map of fields\n");
}

static void
what_has_no_mistake_is_left(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL, *same = NULL;
    udpai_text_errors mistakes = {0};
    const udpai_source
        bad =
            source_of(UDPAI_FORMAT_YAML,
                      "name: a\nnothing: 1\nchildren: [{name: b, bytes_value: '*'}, 7, {name: c}]"),
        good = source_of(UDPAI_FORMAT_YAML, "name: a\nchildren: [{name: b}, {name: c}]");
    assert_int_equal(collect(EVERYTHING, &bad, &mistakes, &bytes), UDPA_ERR_INVAL);
    assert_int_equal(mistakes.found.n, 3);
    udpai_text_errors_done(&mistakes);
    mistakes = (udpai_text_errors){0};
    assert_ok(collect(EVERYTHING, &good, &mistakes, &same));
    assert_int_equal(mistakes.found.n, 0);
    assert_true(udpai_str_eq(udpai_bytes_view(bytes), udpai_bytes_view(same)));
    udpai_text_errors_done(&mistakes);
}

static void
a_type_that_is_not_known_is_the_only_mistake(void **state)
{
    (void)state;
    udpa_bytes *bytes = NULL;
    udpai_text_errors mistakes = {0};
    const udpai_source source = source_of(UDPAI_FORMAT_YAML, "name: a");
    assert_int_equal(collect("no.One", &source, &mistakes, &bytes), UDPA_ERR_NOT_FOUND);
    assert_int_equal(mistakes.found.n, 1);
    assert_null(bytes);
    udpai_text_errors_done(&mistakes);
}

/* Both those found on the way and those that libprotobuf finds. */
static void
the_number_of_mistakes_is_bounded(void **state)
{
    (void)state;
    static const char *const parts[] = {"{nothing: 1}", "{int32_value: 3000000000}"};
    for (size_t k = 0; k < UDPAI_ARRAY_LEN(parts); k++) {
        udpai_text_errors mistakes = {0};
        udpa_bytes *bytes = NULL;
        udpai_strbuf yaml = {0};
        for (int i = 0; i < 80; i++)
            udpai_strbuf_printf(&yaml, "%s%s", i ? ", " : "children: [", parts[k]);
        udpai_strbuf_puts(&yaml, "]");
        char *text = udpai_strbuf_take(&yaml);
        const udpai_source source = source_of(UDPAI_FORMAT_YAML, text);
        assert_int_equal(collect(EVERYTHING, &source, &mistakes, &bytes), UDPA_ERR_INVAL);
        assert_int_equal(mistakes.found.n, UDPAI_TEXT_ERRORS_MAX);
        assert_null(bytes);
        udpai_text_errors_done(&mistakes);
        udpai_free(text);
    }
}

/* Values only libprotobuf can refuse, deep inside, must not take the line of another one. */
static void
finds_the_value_among_many(void **state)
{
    (void)state;
    char yaml[4096] = "children:\n", expected[200];
    for (int i = 0; i < 60; i++) {
        char line[80];
        snprintf(line, sizeof(line), "- {int32_value: %d, by_number: {%d: a}}\n", i,
                 i == 42 ? 2147483647 : i);
        strncat(yaml, line, sizeof(yaml) - strlen(yaml) - 1);
    }
    strncat(yaml, "- {child: {bytes_value: '*'}}\n", sizeof(yaml) - strlen(yaml) - 1);
    snprintf(expected, sizeof(expected),
             "x.yaml:62:25: children[60].child.bytes_value: '*' is not base64");
    assert_yaml_refused(yaml, expected);
}

static void
nesting_is_bounded(void **state)
{
    (void)state;
    char json[1200] = "", path[1200] = "";
    for (int i = 0; i < 63; i++)
        strncat(json, "{\"child\":", sizeof(json) - strlen(json) - 1);
    strncat(json, "{}", sizeof(json) - strlen(json) - 1);
    for (int i = 0; i < 63; i++)
        strncat(json, "}", sizeof(json) - strlen(json) - 1);
    udpa_bytes_unref(bytes_of(UDPAI_FORMAT_JSON, json));
    /* three messages for each level of a Struct */
    snprintf(path, sizeof(path), "%s", "struct: ");
    for (int i = 0; i < 30; i++)
        strncat(path, "{a: ", sizeof(path) - strlen(path) - 1);
    for (int i = 0; i < 30; i++)
        strncat(path, "}", sizeof(path) - strlen(path) - 1);
    assert_yaml_refused(path, "x.yaml:1:1: messages are nested deeper than 64 levels");
}

static udpa_err
encode_all(void *context)
{
    udpa_bytes *bytes = NULL;
    udpa_error *error = NULL;
    const udpai_source *source = context;
    udpa_err err =
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), source, &bytes, &error);
    udpa_bytes_unref(bytes);
    udpa_error_unref(error);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_source good =
        source_of(UDPAI_FORMAT_YAML, "name: &n a\nchild: {words: [*n, b], by_number: {1: x}}\n"
                                     "any: {'@type': x/codec.test.Nameless, number: 4}\n");
    oom_torture(encode_all, &good);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_field_suggests_the_nearest),
        cmocka_unit_test(both_names_of_a_field_work),
        cmocka_unit_test(oneof_takes_one_member),
        cmocka_unit_test(shapes_must_fit),
        cmocka_unit_test(bad_values_are_found),
        cmocka_unit_test(a_document_may_say_its_own_type),
        cmocka_unit_test(all_mistakes_are_collected),
        cmocka_unit_test(what_has_no_mistake_is_left),
        cmocka_unit_test(a_type_that_is_not_known_is_the_only_mistake),
        cmocka_unit_test(the_number_of_mistakes_is_bounded),
        cmocka_unit_test(finds_the_value_among_many),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
