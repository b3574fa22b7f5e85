/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips through all formats, canonical bytes, and what output shows of what it does not know.
 */
#include "codec/convert.h"

#include "codec_test.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"

static const char full[] =
    "name: \"a\\nb\"\n"
    "int32_value: -5\n"
    "int64_value: 9007199254740993\n"
    "uint64_value: 18446744073709551615\n"
    "bool_value: true\n"
    "bytes_value: AAECAw==\n"
    "float_value: 1.5\n"
    "double_value: .nan\n"
    "color: GREEN\n"
    "child: {name: 'yes', child: {numbers: [1, -2, 3]}}\n"
    "children: [{}, {words: [\"\", '1.10', 'é日😀']}]\n"
    "by_name: {z: {name: last}, a: {}, '': {bool_value: true}}\n"
    "by_number: {-1: x, 2: y}\n"
    "by_bool: {true: 1, false: -1}\n"
    "any: {'@type': type.googleapis.com/codec.test.Everything, name: in, any: {'@type': "
    "a.b/google.protobuf.Duration, value: 2.5s}}\n"
    "anys: [{'@type': x/y/codec.test.Nameless, number: 1}, {}]\n"
    "any_by_name: {k: {'@type': t/google.protobuf.Struct, value: {q: [~]}}}\n"
    "duration: 3600.000000001s\n"
    "timestamp: 2024-01-31T12:00:00.5Z\n"
    "field_mask: a.b,c\n"
    "struct: {a: {b: [1, '2', ~, true, {}]}}\n"
    "value: [1]\n"
    "list_value: [[], {}]\n"
    "string_wrapper: ''\n"
    "uint32_wrapper: 7\n"
    "bool_wrapper: false\n"
    "empty: {}\n"
    "maybe: 0\n"
    "child_choice: {name: chosen}\n"
    "fixed_value: -1\n"
    "otherName: r\n"
    "values: [~, x]\n"
    "wrapper_by_name: {k: 0}\n";

static char *
shown_as(udpa_bytes *bytes, udpai_format format)
{
    udpa_error *error = NULL;
    char *text = NULL;
    if (udpai_convert_from_binary(test_schema, UDPAI_STR(EVERYTHING), udpai_bytes_view(bytes),
                                  format, &text, &error))
        fail_msg("%s", udpa_error_message(error));
    return text;
}

static void
every_format_comes_back(void **state)
{
    (void)state;
    static const udpai_format formats[] = {UDPAI_FORMAT_JSON, UDPAI_FORMAT_JSON_PRETTY,
                                           UDPAI_FORMAT_YAML, UDPAI_FORMAT_TEXT};
    udpa_bytes *bytes = bytes_of(UDPAI_FORMAT_YAML, full);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats); i++) {
        char *text = shown_as(bytes, formats[i]);
        assert_same_bytes(bytes_of(formats[i], text), udpa_bytes_ref(bytes));
        udpai_free(text);
    }
    udpa_bytes_unref(bytes);
}

static void
same_meaning_same_bytes(void **state)
{
    (void)state;
    static const char *const yaml[] = {
        "name: a\nby_name: {x: {}, y: {int32_value: 1}}\nany: {'@type': t/codec.test.Everything, "
        "by_number: {1: a, 2: b}, name: q}",
        "{any: {name: q, by_number: {2: b, 1: a}, '@type': t/codec.test.Everything}, by_name: {y: "
        "{int32_value: 1}, x: {}}, name: a}",
        "name: &a a\nby_name:\n  y: {int32Value: 1.0, bool_value: false, name: ''}\n  x: {words: "
        "[]}\n"
        "any:\n  '@type': t/codec.test.Everything\n  byNumber: {2: b, 1: *a}\n  int32_value: 0\n  "
        "name: q",
    };
    static const char json[] =
        "{\"byName\":{\"y\":{\"int32Value\":\"1\"},\"x\":{}},\"any\":{\"byNumber\":{\"2\":\"b\","
        "\"1\":\"a\"},\"name\":\"q\",\"@type\":\"t/codec.test.Everything\"},\"name\":\"a\"}";
    static const char text[] =
        "any { [t/codec.test.Everything] { by_number { key: 2 value: 'b' } name: 'q' by_number { "
        "key: 1 value: 'a' } } } by_name { key: 'y' value { int32_value: 1 } } by_name { key: 'x' "
        "value {} } name: 'a'";
    udpa_bytes *first = bytes_of(UDPAI_FORMAT_YAML, yaml[0]);
    assert_same_bytes(bytes_of(UDPAI_FORMAT_YAML, yaml[1]), udpa_bytes_ref(first));
    assert_same_bytes(bytes_of(UDPAI_FORMAT_YAML, yaml[2]), udpa_bytes_ref(first));
    assert_same_bytes(bytes_of(UDPAI_FORMAT_JSON, json), udpa_bytes_ref(first));
    assert_same_bytes(bytes_of(UDPAI_FORMAT_TEXT, text), udpa_bytes_ref(first));
    udpa_bytes_unref(first);
}

/* The wire, byte by byte: fields by number, maps by key, an Any's contents likewise. */
static void
bytes_are_canonical(void **state)
{
    (void)state;
    udpa_bytes *bytes = bytes_of(UDPAI_FORMAT_YAML, "any: {'@type': x/codec.test.Nameless, number: "
                                                    "1}\nby_number: {2: b, 1: a}\nname: n");
    static const char expected[] = "\x0a\x01n"
                                   "\x72\x05\x08\x01\x12\x01"
                                   "a"
                                   "\x72\x05\x08\x02\x12\x01"
                                   "b"
                                   "\x82\x01\x1b\x0a\x15x/codec.test.Nameless\x12\x02\x08\x01";
    assert_str(udpai_bytes_view(bytes), expected);
    udpa_bytes_unref(bytes);
    bytes = bytes_of(UDPAI_FORMAT_YAML, "{}");
    assert_int_equal(udpa_bytes_size(bytes), 0);
    udpa_bytes_unref(bytes);
}

static udpa_bytes *
raw(const void *data, size_t size)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, data, size));
    return bytes;
}

#define RAW(literal) raw(literal, sizeof(literal) - 1)

static void
unknown_types_do_not_hide_the_rest(void **state)
{
    (void)state;
    /* name, and an Any of a type that is not loaded, once bare and once in a known one */
    udpa_bytes *bytes = RAW("\x0a\x01m\x82\x01\x0e\x0a\x08x/no.One\x12\x02\x00\xff");
    assert_bytes_shown(EVERYTHING, udpa_bytes_ref(bytes), UDPAI_FORMAT_JSON,
                       "{\"name\":\"m\",\"any\":{\"@type\":\"x/no.One\",\"value\":\"AP8=\"}}");
    assert_bytes_shown(EVERYTHING, udpa_bytes_ref(bytes), UDPAI_FORMAT_YAML,
                       "name: m\nany:\n  \"@type\": x/no.One\n  value: AP8=\n");
    assert_bytes_shown(
        EVERYTHING, bytes, UDPAI_FORMAT_TEXT,
        "name: \"m\"\nany {\n  type_url: \"x/no.One\"\n  value: \"\\000\\377\"\n}\n");
    bytes = RAW("\x82\x01\x2c\x0a\x17t/codec.test.Everything"
                "\x12\x11\x82\x01\x0e\x0a\x08x/no.One\x12\x02\x00\xff");
    assert_bytes_shown(EVERYTHING, bytes, UDPAI_FORMAT_JSON,
                       "{\"any\":{\"@type\":\"t/codec.test.Everything\",\"any\":{\"@type\":\"x/"
                       "no.One\",\"value\":\"AP8=\"}}}");
    bytes = RAW("\x82\x01\x0a\x0a\x08x/no.One");
    assert_bytes_shown(EVERYTHING, bytes, UDPAI_FORMAT_JSON, "{\"any\":{\"@type\":\"x/no.One\"}}");
    bytes = RAW("\x82\x01\x0a\x0a\x06no.One\x12\x00");
    assert_bytes_shown(EVERYTHING, bytes, UDPAI_FORMAT_JSON, "{\"any\":{\"@type\":\"no.One\"}}");
}

static void
assert_not_shown(udpa_bytes *bytes, const char *type, udpa_err code, const char *message)
{
    udpa_error *error = NULL;
    char *text = NULL;
    assert_int_equal(udpai_convert_from_binary(test_schema, udpai_str_from(type),
                                               udpai_bytes_view(bytes), UDPAI_FORMAT_JSON, &text,
                                               &error),
                     code);
    assert_null(text);
    assert_string_equal(udpa_error_message(error), message);
    udpa_error_unref(error);
    udpa_bytes_unref(bytes);
}

static void
bad_bytes_are_refused(void **state)
{
    (void)state;
    assert_not_shown(RAW("\x0a\x05x"), EVERYTHING, UDPA_ERR_MALFORMED,
                     "3 bytes are no valid codec.test.Everything");
    assert_not_shown(RAW("\x0a\x01\xff"), EVERYTHING, UDPA_ERR_MALFORMED,
                     "3 bytes are no valid codec.test.Everything"); /* not UTF-8 */
    assert_not_shown(RAW("\x0c"), EVERYTHING, UDPA_ERR_MALFORMED,
                     "1 bytes are no valid codec.test.Everything"); /* an end of nothing */
    assert_not_shown(RAW("\x82\x01\x1a\x0a\x15x/codec.test.Nameless\x12\x01\x08"), EVERYTHING,
                     UDPA_ERR_MALFORMED,
                     "codec.test.Everything: the bytes in an Any are no valid codec.test.Nameless");
    assert_not_shown(RAW(""), "no.One", UDPA_ERR_NOT_FOUND,
                     "message type 'no.One' is not known: load its descriptors with --descriptors "
                     "FILE");
}

/* Bytes of an Any in an Any in an Any … */
static udpa_bytes *
nested_any(int levels)
{
    char data[20000];
    size_t len = 0;
    for (int i = 0; i < levels; i++) {
        static const char url[] = "\x0a\x15x/google.protobuf.Any";
        char outer[20000];
        size_t at = sizeof(url) - 1;
        memcpy(outer, url, at);
        outer[at++] = 0x12;
        if (len >= 128)
            outer[at++] = (char)(len | 0x80);
        outer[at++] = (char)(len >= 128 ? len >> 7 : len);
        memcpy(outer + at, data, len);
        len += at;
        memcpy(data, outer, len);
    }
    return raw(data, len);
}

static void
depth_of_messages_is_bounded(void **state)
{
    (void)state;
    static const udpai_format formats[] = {UDPAI_FORMAT_JSON, UDPAI_FORMAT_YAML, UDPAI_FORMAT_TEXT};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats); i++) {
        for (int levels = 60; levels <= 360; levels += 300) {
            char *text = NULL;
            udpa_bytes *bytes = nested_any(levels);
            udpa_err err =
                udpai_convert_from_binary(test_schema, UDPAI_STR("google.protobuf.Any"),
                                          udpai_bytes_view(bytes), formats[i], &text, NULL);
            assert_int_equal(err, levels == 60 ? UDPA_OK : UDPA_ERR_MALFORMED);
            udpai_free(text);
            udpa_bytes_unref(bytes);
        }
    }
    char children[4000];
    size_t len = 0;
    for (int i = 0; i < 65; i++) { /* field 11, child, around what there is */
        size_t head = len >= 128 ? 3 : 2;
        memmove(children + head, children, len);
        children[0] = 0x5a;
        children[1] = (char)(len >= 128 ? len | 0x80 : len);
        if (len >= 128)
            children[2] = (char)(len >> 7);
        len += head;
    }
    assert_not_shown(raw(children, len), EVERYTHING, UDPA_ERR_MALFORMED,
                     "131 bytes are no valid codec.test.Everything");
}

/* The deepest document that is accepted is also shown. */
static void
what_was_accepted_can_be_shown(void **state)
{
    (void)state;
    char json[8000] = "";
    /* one level of the document is one Any and one Everything */
    strncat(json, "{", sizeof(json) - 1);
    for (int i = 0; i < 63; i++)
        strncat(json, "\"name\":\"n\",\"any\":{\"@type\":\"x/codec.test.Everything\",",
                sizeof(json) - strlen(json) - 1);
    strncat(json, "\"name\":\"end\"", sizeof(json) - strlen(json) - 1);
    for (int i = 0; i < 64; i++)
        strncat(json, "}", sizeof(json) - strlen(json) - 1);
    udpa_bytes *bytes = bytes_of(UDPAI_FORMAT_JSON, json);
    for (int format = UDPAI_FORMAT_JSON; format <= UDPAI_FORMAT_TEXT; format++) {
        char *text = shown_as(bytes, (udpai_format)format);
        assert_non_null(strstr(text, "end"));
        udpai_free(text);
    }
    udpa_bytes_unref(bytes);
}

static void
exactly_one_document(void **state)
{
    (void)state;
    assert_yaml_refused("", "x.yaml: 0 documents, where one codec.test.Everything is expected");
    assert_yaml_refused("name: a\n---\nname: b",
                        "x.yaml: 2 documents, where one codec.test.Everything is expected");
    assert_json_refused(" ", "x.json: 0 documents, where one codec.test.Everything is expected");
    assert_refused(UDPAI_FORMAT_BINARY, "", "x.bin: not a text format");
}

/* A type with a form of its own may be a document. */
static void
any_type_can_be_a_document(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"google.protobuf.Duration", "1.5s", "\"1.500s\""},
        {"google.protobuf.Timestamp", "2024-01-31T12:00:00Z", "\"2024-01-31T12:00:00Z\""},
        {"google.protobuf.FieldMask", "a,b.c", "\"a,b.c\""},
        {"google.protobuf.UInt64Value", "5", "\"5\""},
        {"google.protobuf.BytesValue", "AAE=", "\"AAE=\""},
        {"google.protobuf.Struct", "{a: 1}", "{\"a\":1}"},
        {"google.protobuf.Value", "[1, ~]", "[1,null]"},
        {"google.protobuf.ListValue", "[]", "[]"},
        {"google.protobuf.Empty", "{}", "{}"},
        {"google.protobuf.Any", "{'@type': x/y/google.protobuf.BoolValue, value: true}",
         "{\"@type\":\"x/y/google.protobuf.BoolValue\",\"value\":true}"},
        {"google.protobuf.Any", "{}", "{}"},
        {"type.googleapis.com/codec.test.Nameless", "number: 1", "{\"number\":1}"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        assert_bytes_shown(cases[i][0], bytes_of_type(cases[i][0], UDPAI_FORMAT_YAML, cases[i][1]),
                           UDPAI_FORMAT_JSON, cases[i][2]);
}

static void
our_own_configuration(void **state)
{
    (void)state;
    static const char yaml[] = "node:\n"
                               "  id: edge-1\n"
                               "sockets:\n"
                               "  - address: 127.0.0.1:18000\n"
                               "providers:\n"
                               "  - types:\n"
                               "      - envoy.config.cluster.v3.Cluster\n"
                               "    config_descriptors:\n"
                               "      - resource_name: up\n"
                               "        continuation: CONTINUE\n"
                               "timing:\n"
                               "  connect_grace: 2s\n";
    udpa_bytes *bytes = bytes_of_type("udpa.config.v1.Bootstrap", UDPAI_FORMAT_YAML, yaml);
    char expected[sizeof(yaml) + 2];
    /* what begins with a digit is quoted */
    snprintf(expected, sizeof(expected), "%s", yaml);
    char *address = strstr(expected, "127.0.0.1:18000");
    memmove(address + 17, address + 15, strlen(address + 15) + 1);
    memcpy(address, "\"127.0.0.1:18000\"", 17);
    assert_bytes_shown("udpa.config.v1.Bootstrap", bytes, UDPAI_FORMAT_YAML, expected);
}

static udpa_err
there_and_back(void *context)
{
    static const udpai_source source = {.name = "x", .format = UDPAI_FORMAT_YAML};
    udpai_source with_text = source;
    with_text.text = udpai_str_from(context);
    udpa_error *error = NULL;
    udpa_bytes *bytes = NULL;
    char *text = NULL;
    udpa_err err =
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), &with_text, &bytes, &error);
    if (err == UDPA_OK)
        err = udpai_convert_from_binary(test_schema, UDPAI_STR(EVERYTHING), udpai_bytes_view(bytes),
                                        UDPAI_FORMAT_YAML, &text, &error);
    udpai_free(text);
    udpa_bytes_unref(bytes);
    udpa_error_unref(error);
    return err;
}

/* ---- for programs, which must get all of it ---- */

static void
assert_incomplete(udpai_str bytes, const char *words)
{
    char *text = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(
        udpai_convert_to_complete_json(test_schema, UDPAI_STR(EVERYTHING), bytes, &text, &error),
        UDPA_ERR_NOT_FOUND);
    assert_null(text);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
}

static void
what_is_not_known_is_told_and_not_left_out(void **state)
{
    (void)state;
    char *text = NULL;
    udpai_str any = W_JOIN(W_TEXT(1, "t/a.b.Unknown"), W_TEXT(2, "xyz"));
    udpai_str known = W_JOIN(W_TEXT(1, "t/codec.test.Nameless"), W_MESSAGE(2, W_VARINT(1, 3)));
    assert_incomplete(W_MESSAGE(16, any), "message type 'a.b.Unknown' is not known");
    assert_incomplete(W_MESSAGE(11, W_MESSAGE(17, any)), "--descriptors FILE");
    assert_incomplete(W_JOIN(W_TEXT(1, "a"), W_VARINT(4000, 1)),
                      "field 4000 of codec.test.Everything is not known");
    assert_incomplete(
        W_MESSAGE(16, W_TEXT(1, "t/codec.test.Nameless"), W_MESSAGE(2, W_TEXT(9, "x"))),
        "field 9 of codec.test.Nameless");
    assert_int_equal(udpai_convert_to_complete_json(test_schema, UDPAI_STR(EVERYTHING),
                                                    W_MESSAGE(16, known), &text, NULL),
                     UDPA_OK);
    assert_string_equal(text, "{\"any\":{\"@type\":\"t/codec.test.Nameless\",\"number\":3}}");
    udpai_free(text);
    wire_free_all();
}

/* Two bytes can be a message of many fields: here of "Everything", by its field 12. */
static void
what_is_far_larger_in_memory_is_not_converted(void **state)
{
    (void)state;

    enum {
        N = 1 << 20
    };

    char *text = NULL, *children = udpai_alloc(N);
    assert_non_null(children);
    for (size_t i = 0; i < N; i += 2)
        children[i] = 12 << 3 | 2;
    const udpai_str all = {children, N};
    const udpai_str packed =
        W_MESSAGE(16, W_JOIN(W_TEXT(1, "t/codec.test.Everything"), wire_bytes(2, all)));
    for (int i = 0; i < 2; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpai_convert_to_complete_json(test_schema, UDPAI_STR(EVERYTHING),
                                                        i ? packed : all, &text, &error),
                         UDPA_ERR_LIMIT);
        assert_non_null(strstr(udpa_error_message(error), "too large in memory"));
    }
    udpai_free(children);
    wire_free_all();
}

static void
fields_of_a_newer_writer_can_be_passed_over(void **state)
{
    (void)state;
    udpai_source source =
        source_of(UDPAI_FORMAT_JSON,
                  "{\"newer\": [1, {\"x\": null}], \"name\": \"a\", \"child\": {\"newer\": 1}}");
    udpa_bytes *bytes = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), &source, &bytes, &error),
        UDPA_ERR_INVAL);
    source.skips_unknown = true;
    assert_int_equal(
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), &source, &bytes, NULL),
        UDPA_OK);
    assert_bytes_shown(EVERYTHING, bytes, UDPAI_FORMAT_JSON, "{\"name\":\"a\",\"child\":{}}");
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    char yaml[] =
        "name: a\nchildren: [{name: b}]\nany: {'@type': x/codec.test.Nameless, number: 1}";
    oom_torture(there_and_back, yaml);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_comes_back),
        cmocka_unit_test(same_meaning_same_bytes),
        cmocka_unit_test(bytes_are_canonical),
        cmocka_unit_test(unknown_types_do_not_hide_the_rest),
        cmocka_unit_test(bad_bytes_are_refused),
        cmocka_unit_test(depth_of_messages_is_bounded),
        cmocka_unit_test(what_was_accepted_can_be_shown),
        cmocka_unit_test(exactly_one_document),
        cmocka_unit_test(any_type_can_be_a_document),
        cmocka_unit_test(our_own_configuration),
        cmocka_unit_test(what_is_not_known_is_told_and_not_left_out),
        cmocka_unit_test(what_is_far_larger_in_memory_is_not_converted),
        cmocka_unit_test(fields_of_a_newer_writer_can_be_passed_over),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
