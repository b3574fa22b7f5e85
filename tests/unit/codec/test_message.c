/* SPDX-License-Identifier: Apache-2.0 */
/* One message to and from bytes, below what convert.h adds. */
#include "codec/message.h"

#include <pthread.h>

#include "codec_test.h"

static const udpai_type *
everything(void)
{
    return udpai_schema_find(test_schema, UDPAI_STR(EVERYTHING));
}

static void
refused_values_have_a_path(void **state)
{
    (void)state;

    static const struct {
        const char *json, *where;
    } cases[] = {
        {"{\"children\":[{},{\"int32_value\":\"x\"}]}", "children[1].int32_value"},
        {"{\"by_name\":{\"a\":{},\"b\":{\"bytes_value\":\"*\"}}}", "by_name[1].value.bytes_value"},
        {"{\"by_number\":{\"x\":\"\"}}", "by_number[0].key"},
        {"{\"uint32_wrapper\":-1}", "uint32_wrapper.value"},
        {"{\"duration\":\"1\"}", "duration"},
        {"{\"nothing\":1}", NULL},
        {"{\"text_choice\":\"\",\"number_choice\":1}", NULL},
        {"{", NULL},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpa_bytes *bytes = NULL;
        char *where = NULL;
        udpa_error *error = NULL;
        assert_int_equal(udpai_message_from_json(test_schema, everything(),
                                                 udpai_str_from(cases[i].json), &bytes, &where,
                                                 &error),
                         UDPA_ERR_INVAL);
        assert_null(bytes);
        assert_non_null(error);
        if (cases[i].where)
            assert_string_equal(where, cases[i].where);
        else
            assert_null(where);
        udpai_free(where);
        udpa_error_unref(error);
    }
}

static void
an_any_is_an_ordinary_message_when_read(void **state)
{
    (void)state;
    udpa_bytes *bytes = NULL;
    char *where = NULL;
    assert_ok(udpai_message_from_json(
        test_schema, everything(),
        UDPAI_STR("{\"any\":{\"type_url\":\"no.One\",\"value\":\"AP8=\"},\"anys\":[{}]}"), &bytes,
        &where, NULL));
    static const char expected[] = "\x82\x01\x0c\x0a\x06no.One\x12\x02\x00\xff\x8a\x01";
    assert_int_equal(udpa_bytes_size(bytes), sizeof(expected));
    assert_memory_equal(udpa_bytes_data(bytes), expected, sizeof(expected));
    udpa_bytes_unref(bytes);
}

static void
json_styles(void **state)
{
    (void)state;
    static const char *const expected[] = {
        [UDPAI_JSON_COMPACT] = "{\"int32Value\":1}",
        [UDPAI_JSON_INDENTED] = "{\n \"int32Value\": 1\n}\n",
        [UDPAI_JSON_ORIGINAL_NAMES] = "{\"int32_value\":1}",
    };
    for (int style = UDPAI_JSON_COMPACT; style <= UDPAI_JSON_ORIGINAL_NAMES; style++) {
        char *json = NULL;
        assert_ok(udpai_message_to_json(test_schema, everything(), UDPAI_STR("\x10\x01"),
                                        (udpai_json_style)style, &json, NULL));
        assert_string_equal(json, expected[style]);
        udpai_free(json);
    }
}

static void
what_json_cannot_say_is_an_error(void **state)
{
    (void)state;
    char *json = NULL;
    udpa_error *error = NULL;
    /* a Duration of more than 10,000 years */
    assert_int_equal(udpai_message_to_json(test_schema, everything(),
                                           UDPAI_STR("\x9a\x01\x0a\x08\xff\xff\xff\xff\xff\xff\xff"
                                                     "\xff\x7f"),
                                           UDPAI_JSON_COMPACT, &json, &error),
                     UDPA_ERR_MALFORMED);
    assert_null(json);
    assert_non_null(strstr(udpa_error_message(error), "codec.test.Everything cannot be shown"));
    udpa_error_unref(error);
}

static void *
convert_often(void *argument)
{
    for (int i = 0; i < 50; i++) {
        udpa_bytes *bytes = bytes_of(UDPAI_FORMAT_YAML, argument);
        assert_bytes_shown(EVERYTHING, bytes, UDPAI_FORMAT_JSON,
                           "{\"any\":{\"@type\":\"x/codec.test.Everything\",\"child\":{\"name\":"
                           "\"a\"}}}");
    }
    return NULL;
}

/* Prototypes and types are made as they are first wanted, by whoever that is. */
static void
a_schema_serves_many_threads(void **state)
{
    (void)state;
    static char yaml[] = "any: {'@type': x/codec.test.Everything, child: {name: a}}";
    pthread_t threads[4];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, convert_often, yaml), 0);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_values_have_a_path),
        cmocka_unit_test(an_any_is_an_ordinary_message_when_read),
        cmocka_unit_test(json_styles),
        cmocka_unit_test(what_json_cannot_say_is_an_error),
        cmocka_unit_test(a_schema_serves_many_threads),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
