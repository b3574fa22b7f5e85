/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf text: what it says of mistakes. */
#include "codec/text_reader.h"

#include "codec_test.h"

static void
assert_text_refused(const char *text, const char *message)
{
    assert_refused(UDPAI_FORMAT_TEXT, text, message);
}

static void
mistakes_have_places_and_hints(void **state)
{
    (void)state;
    assert_text_refused(
        "name: 'a'\nchild {\n  int23_value: 1\n}\n",
        "x.textproto:3:14: Message type \"codec.test.Everything\" has no field named "
        "\"int23_value\"; did you mean 'int32_value'?");
    const udpai_source source =
        source_of(UDPAI_FORMAT_TEXT, "any {\n  [x/not.loaded.Type] { a: 1 }\n}");
    assert_source_refused(&source, UDPA_ERR_NOT_FOUND,
                          "x.textproto:2:23: message type 'not.loaded.Type' is not known: load its "
                          "descriptors with --descriptors FILE");
}

static void
values_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "int32_value: 2147483648",
        "name: 5",
        "name: 'a' name: 'b'",
        "color: BLUE",
        "child {",
        "text_choice: 'a' number_choice: 1",
        "}",
        "bool_value: maybe",
        "any { [x] {} }",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        const udpai_source source = source_of(UDPAI_FORMAT_TEXT, wrong[i]);
        udpa_error *error = NULL;
        udpa_bytes *bytes = NULL;
        if (udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), &source, &bytes, &error) !=
            UDPA_ERR_INVAL)
            fail_msg("%s was read", wrong[i]);
        assert_true(udpai_str_starts(udpai_str_from(udpa_error_message(error)),
                                     UDPAI_STR("x.textproto:1:")));
        udpa_error_unref(error);
    }
    assert_text_refused("name: '\\377'", "x.textproto: a string is not UTF-8 text");
    assert_text_refused("any { type_url: 'x/codec.test.Nameless' value: '\\010' }",
                        "x.textproto: the bytes in an Any are no valid codec.test.Nameless");
}

static void
unknown_bytes_stay(void **state)
{
    (void)state;
    assert_bytes_shown(
        EVERYTHING, bytes_of(UDPAI_FORMAT_TEXT, "any { type_url: 'x/no.One' value: '\\000' }"),
        UDPAI_FORMAT_TEXT, "any {\n  type_url: \"x/no.One\"\n  value: \"\\000\"\n}\n");
}

static void
depth_and_size_are_bounded(void **state)
{
    (void)state;
    char text[100000] = "";
    size_t len = 0;
    for (int i = 0; i < 12000; i++) {
        memcpy(text + len, "child { ", 8);
        len += 8;
    }
    text[len] = '\0';
    udpai_source source = source_of(UDPAI_FORMAT_TEXT, text);
    udpa_error *error = NULL;
    udpa_bytes *bytes = NULL;
    assert_int_equal(
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), &source, &bytes, &error),
        UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "too deep"));
    udpa_error_unref(error);
    source.max_size = 100;
    assert_source_refused(&source, UDPA_ERR_LIMIT,
                          "x.textproto: 96000 bytes are more than the 100 that are allowed");
}

static void
elements_are_located(void **state)
{
    (void)state;
    const udpai_type *type = udpai_schema_find(test_schema, UDPAI_STR(EVERYTHING));
    const udpai_source source =
        source_of(UDPAI_FORMAT_TEXT, "words: 'a'\nname: 'n'\nwords: 'b'\n\nwords: ['c', 'd']");
    udpai_text_notes notes = {.locate = "words"};
    udpa_bytes *bytes = NULL;
    assert_ok(udpai_text_read(test_schema, type, &source, &bytes, &notes, NULL));
    assert_int_equal(notes.n_lines, 4);
    static const uint32_t lines[] = {1, 3, 5, 5};
    assert_memory_equal(notes.lines, lines, sizeof(lines));
    udpai_free(notes.lines);
    udpa_bytes_unref(bytes);
    notes = (udpai_text_notes){.locate = "nothing"};
    assert_ok(udpai_text_read(test_schema, type, &source, &bytes, &notes, NULL));
    assert_int_equal(notes.n_lines, 0);
    udpai_free(notes.lines);
    udpa_bytes_unref(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_have_places_and_hints),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(unknown_bytes_stay),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(elements_are_located),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
