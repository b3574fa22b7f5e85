/* SPDX-License-Identifier: Apache-2.0 */
/* A schema with the types of everything.proto, and the questions that the codec's tests ask. */
#ifndef UDPAI_TESTS_CODEC_H
#define UDPAI_TESTS_CODEC_H

#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/convert.h"
#include "codec/schema.h"
#include <stdio.h>

#include "tests/harness/test.h"

#define EVERYTHING "codec.test.Everything"

extern const unsigned char test_descriptors[];
extern const unsigned long test_descriptors_size;

static udpai_schema *test_schema;

static inline int
setup_schema(void **state)
{
    udpa_error *error = NULL;
    (void)state;
    const udpai_str set = {(const char *)test_descriptors, test_descriptors_size};
    if (udpai_schema_new(&test_schema, &error) != UDPA_OK ||
        udpai_schema_add_set(test_schema, set, "everything", &error) != UDPA_OK) {
        print_error("%s\n", udpa_error_message(error));
        return -1;
    }
    return 0;
}

static inline int
teardown_schema(void **state)
{
    (void)state;
    test_schema = udpai_schema_unref(test_schema);
    return 0;
}

static inline udpai_source
source_of(udpai_format format, const char *text)
{
    static const char *const names[] = {
        [UDPAI_FORMAT_JSON] = "x.json",  [UDPAI_FORMAT_JSON_PRETTY] = "x.json",
        [UDPAI_FORMAT_YAML] = "x.yaml",  [UDPAI_FORMAT_TEXT] = "x.textproto",
        [UDPAI_FORMAT_BINARY] = "x.bin",
    };
    return (udpai_source){.name = names[format], .text = udpai_str_from(text), .format = format};
}

/* A new reference to the bytes of a document of this type. */
static inline udpa_bytes *
bytes_of_type(const char *type, udpai_format format, const char *text)
{
    udpa_error *error = NULL;
    udpa_bytes *bytes = NULL;
    const udpai_source source = source_of(format, text);
    if (udpai_convert_to_binary(test_schema, udpai_str_from(type), &source, &bytes, &error))
        fail_msg("%s\n  for %s", udpa_error_message(error), text);
    return bytes;
}

static inline udpa_bytes *
bytes_of(udpai_format format, const char *text)
{
    return bytes_of_type(EVERYTHING, format, text);
}

static inline void
assert_same_bytes(udpa_bytes *a, udpa_bytes *b)
{
    assert_int_equal(udpa_bytes_size(a), udpa_bytes_size(b));
    assert_memory_equal(udpa_bytes_data(a), udpa_bytes_data(b), udpa_bytes_size(a));
    udpa_bytes_unref(a);
    udpa_bytes_unref(b);
}

/* Bytes of a type, in a format. */
static inline void
assert_bytes_shown(const char *type, udpa_bytes *bytes, udpai_format format, const char *expected)
{
    udpa_error *error = NULL;
    char *shown = NULL;
    if (udpai_convert_from_binary(test_schema, udpai_str_from(type), udpai_bytes_view(bytes),
                                  format, &shown, &error))
        fail_msg("%s\n  for %s", udpa_error_message(error), expected);
    assert_string_equal(shown, expected);
    udpai_free(shown);
    udpa_bytes_unref(bytes);
}

/* A YAML document of Everything, as compact JSON. */
static inline void
assert_yaml_is(const char *yaml, const char *json)
{
    assert_bytes_shown(EVERYTHING, bytes_of(UDPAI_FORMAT_YAML, yaml), UDPAI_FORMAT_JSON, json);
}

static inline void
assert_json_is(const char *json, const char *expected)
{
    assert_bytes_shown(EVERYTHING, bytes_of(UDPAI_FORMAT_JSON, json), UDPAI_FORMAT_JSON, expected);
}

static inline void
assert_source_refused(const udpai_source *source, udpa_err code, const char *message)
{
    udpa_error *error = NULL;
    udpa_bytes *bytes = NULL;
    udpa_err err =
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), source, &bytes, &error);
    assert_null(bytes);
    assert_non_null(error);
    assert_string_equal(udpa_error_message(error), message);
    assert_int_equal(err, code);
    assert_int_equal(udpa_error_code(error), code);
    udpa_error_unref(error);
    /* and without anybody to tell */
    assert_int_equal(
        udpai_convert_to_binary(test_schema, UDPAI_STR(EVERYTHING), source, &bytes, NULL), code);
}

static inline void
assert_refused(udpai_format format, const char *text, const char *message)
{
    const udpai_source source = source_of(format, text);
    assert_source_refused(&source, UDPA_ERR_INVAL, message);
}

static inline void
assert_yaml_refused(const char *yaml, const char *message)
{
    assert_refused(UDPAI_FORMAT_YAML, yaml, message);
}

static inline void
assert_json_refused(const char *json, const char *message)
{
    assert_refused(UDPAI_FORMAT_JSON, json, message);
}

#endif
