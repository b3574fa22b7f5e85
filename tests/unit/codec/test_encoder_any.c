/* SPDX-License-Identifier: Apache-2.0 */
/* Any in documents: every prefix, every kind of contents. */
#include "codec/encoder.h"

#include "codec_test.h"

static void
any_takes_every_prefix(void **state)
{
    (void)state;
    assert_yaml_is("any: {'@type': x/y/codec.test.Assignment, cluster_name: a}",
                   "{\"any\":{\"@type\":\"x/y/codec.test.Assignment\",\"clusterName\":\"a\"}}");
    assert_yaml_is("any: {cluster_name: a, '@type': /codec.test.Assignment}",
                   "{\"any\":{\"@type\":\"/codec.test.Assignment\",\"clusterName\":\"a\"}}");
    assert_yaml_is("any: {'@type': a.b/google.protobuf.Duration, value: 1.5s}",
                   "{\"any\":{\"@type\":\"a.b/google.protobuf.Duration\",\"value\":\"1.500s\"}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.UInt64Value, value: 7}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.UInt64Value\",\"value\":\"7\"}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.Struct, value: {k: [1]}}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.Struct\",\"value\":{\"k\":[1]}}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.Value, value: [~]}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.Value\",\"value\":[null]}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.ListValue, value: [1, a]}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.ListValue\",\"value\":[1,\"a\"]}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.Empty}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.Empty\"}}");
    assert_yaml_is("any: {'@type': a/google.protobuf.StringValue}",
                   "{\"any\":{\"@type\":\"a/google.protobuf.StringValue\"}}");
    assert_yaml_is("any: {}", "{\"any\":{}}");
    assert_yaml_is("any_by_name: {k: {'@type': a/codec.test.Nameless, number: 1}}",
                   "{\"anyByName\":{\"k\":{\"@type\":\"a/codec.test.Nameless\",\"number\":1}}}");
}

static void
any_nests(void **state)
{
    (void)state;
    assert_yaml_is(
        "any:\n"
        "  '@type': x/y/codec.test.Everything\n"
        "  anys:\n"
        "    - {'@type': z/google.protobuf.Any, value: {'@type': q/codec.test.Nameless, "
        "number: 3}}\n",
        "{\"any\":{\"@type\":\"x/y/codec.test.Everything\",\"anys\":[{\"@type\":\"z/"
        "google.protobuf.Any\",\"value\":{\"@type\":\"q/codec.test.Nameless\",\"number\":"
        "3}}]}}");
    assert_yaml_refused("any:\n"
                        "  '@type': x/codec.test.Everything\n"
                        "  any:\n"
                        "    '@type': x/codec.test.Everything\n"
                        "    numbers: [1, 2, x]\n",
                        "x.yaml:5:21: any.any.numbers[2]: 'x' is not a valid int32");
    assert_yaml_refused("any: {'@type': x/google.protobuf.Duration, value: 1}",
                        "x.yaml:1:51: any.value: '1' is not a duration: write a number and its "
                        "unit, such as 1.5s, 500ms, 5m or 2h");
    assert_yaml_refused("any: {'@type': x/google.protobuf.UInt32Value, value: -1}",
                        "x.yaml:1:54: any.value: '-1' is not a valid uint32");
}

static void
any_says_what_is_missing(void **state)
{
    (void)state;
    assert_yaml_refused(
        "any: {name: a}",
        "x.yaml:1:6: any: '@type' is missing: this field can hold any type, and must name it");
    assert_yaml_refused("any: {'@type': codec.test.Nameless}",
                        "x.yaml:1:16: any: '@type' must be a type URL, such as "
                        "type.googleapis.com/google.protobuf.Duration");
    assert_yaml_refused("any: {'@type': x/google.protobuf.Duration, seconds: 1}",
                        "x.yaml:1:44: any: unknown field 'seconds': google.protobuf.Duration goes "
                        "into 'value'");
    udpai_source source = source_of(UDPAI_FORMAT_YAML, "any:\n  '@type': x/not.loaded.Type\n");
    assert_source_refused(&source, UDPA_ERR_NOT_FOUND,
                          "x.yaml:2:12: any: message type 'not.loaded.Type' is not known: load its "
                          "descriptors with --descriptors FILE");
    source = source_of(UDPAI_FORMAT_YAML, "any: {'@type': x/codec.test.Asignment}");
    assert_source_refused(
        &source, UDPA_ERR_NOT_FOUND,
        "x.yaml:1:16: any: message type 'codec.test.Asignment' is not known: load "
        "its descriptors with --descriptors FILE; did you mean "
        "'codec.test.Assignment'?");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_takes_every_prefix),
        cmocka_unit_test(any_nests),
        cmocka_unit_test(any_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
