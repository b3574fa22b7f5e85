/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of descriptors: what is in, what may be added, what contradicts. */
#include "codec/schema.h"

#include <stdio.h>

#include "base/proto.h"
#include "base/strbuf.h"
#include "codec/descriptor.h"
#include "codec_test.h"

/* A FileDescriptorProto: one proto3 message with one string field. */
struct test_file {
    const char *name, *package, *message, *field;
    const char *imports; /* one, or NULL */
    const char *syntax;  /* NULL: proto3 */
    const char *comment; /* in source_code_info; NULL: none */
};

static void
put_text(udpai_proto_writer *writer, uint32_t number, const char *text)
{
    if (text)
        udpai_proto_put_bytes(writer, number, udpai_str_from(text));
}

/* What @p put writes, as a field of the outer message. */
static void
put_message(udpai_proto_writer *outer,
            uint32_t number,
            void (*put)(udpai_proto_writer *writer, const struct test_file *file),
            const struct test_file *file)
{
    udpai_proto_writer counted = {0};
    put(&counted, file);
    udpai_proto_put_head(outer, number, counted.size);
    if (outer->at)
        put(outer, file);
    else
        outer->size += counted.size;
}

static void
put_field(udpai_proto_writer *writer, const struct test_file *file)
{
    put_text(writer, 1, file->field);
    udpai_proto_put_varint(writer, 3, 1);
    udpai_proto_put_varint(writer, 4, 1); /* optional */
    udpai_proto_put_varint(writer, 5, 9); /* string */
}

static void
put_type(udpai_proto_writer *writer, const struct test_file *file)
{
    put_text(writer, 1, file->message);
    put_message(writer, 2, put_field, file);
}

static void
put_location(udpai_proto_writer *writer, const struct test_file *file)
{
    put_text(writer, 3, file->comment);
}

static void
put_source_info(udpai_proto_writer *writer, const struct test_file *file)
{
    put_message(writer, 1, put_location, file);
}

static void
put_file(udpai_proto_writer *writer, const struct test_file *file)
{
    put_text(writer, 1, file->name);
    put_text(writer, 2, file->package);
    put_text(writer, 3, file->imports);
    put_message(writer, 4, put_type, file);
    if (file->comment)
        put_message(writer, 9, put_source_info, file);
    put_text(writer, 12, file->syntax ? file->syntax : "proto3");
}

static udpa_err
add(udpai_schema *schema, const struct test_file *files, size_t n, udpa_error **ret_error)
{
    udpai_proto_writer counted = {0};
    for (size_t i = 0; i < n; i++)
        put_message(&counted, 1, put_file, &files[i]);
    char *bytes = udpai_alloc(counted.size);
    udpai_proto_writer writer = {.at = (uint8_t *)bytes};
    for (size_t i = 0; i < n; i++)
        put_message(&writer, 1, put_file, &files[i]);
    udpa_err err = udpai_schema_add_set(schema, (udpai_str){bytes, counted.size}, "set", ret_error);
    udpai_free(bytes);
    return err;
}

static udpai_schema *
new_schema(void)
{
    udpai_schema *schema = NULL;
    assert_ok(udpai_schema_new(&schema, NULL));
    return schema;
}

static void
assert_added(udpai_schema *schema, const struct test_file *file)
{
    udpa_error *error = NULL;
    if (add(schema, file, 1, &error))
        fail_msg("%s", udpa_error_message(error));
}

static void
assert_not_added(udpai_schema *schema,
                 const struct test_file *files,
                 size_t n,
                 udpa_err code,
                 const char *message)
{
    udpa_error *error = NULL;
    size_t n_types = udpai_schema_n_types(schema);
    assert_int_equal(add(schema, files, n, &error), code);
    assert_string_equal(udpa_error_message(error), message);
    assert_int_equal(udpai_schema_n_types(schema), n_types);
    udpa_error_unref(error);
    assert_int_equal(add(schema, files, n, NULL), code);
}

static bool
has(const udpai_schema *schema, const char *type)
{
    return udpai_schema_has(schema, udpai_str_from(type));
}

static void
a_new_schema_has_ours_and_the_well_known(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    static const char *const types[] = {
        "udpa.service.discovery.v1.Resource",
        "udpa.config.v1.Bootstrap",
        "udpa.status.v1.NodeStatus",
        "envoy.service.discovery.v3.DiscoveryResponse",
        "google.rpc.Status",
        "grpc.health.v1.HealthCheckRequest",
        "google.protobuf.Any",
        "google.protobuf.Struct",
        "google.protobuf.UInt32Value",
        "google.protobuf.FieldMask",
        "google.protobuf.Empty",
        "type.googleapis.com/google.protobuf.Duration",
        "x/y/google.protobuf.Timestamp",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (!has(schema, types[i]))
            fail_msg("%s", types[i]);
    assert_false(has(schema, "udpa.service.discovery.v1.Nothing"));
    assert_false(has(schema, ""));
    assert_false(has(schema, "x/"));
    assert_false(has(schema, "udpa.service.discovery.v1"));
    assert_false(has(schema, "udpa.service.discovery.v1.Subscribe.InitialDigestsEntry"));
    udpai_schema_unref(schema);
}

static void
types_are_listed_sorted(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    size_t n = udpai_schema_n_types(schema);
    assert_true(n > 50);
    for (size_t i = 0; i < n; i++) {
        assert_true(has(schema, udpai_schema_type_name(schema, i)));
        if (i)
            assert_true(strcmp(udpai_schema_type_name(schema, i - 1),
                               udpai_schema_type_name(schema, i)) < 0);
    }
    udpai_schema *again = udpai_schema_ref(schema);
    udpai_schema_unref(schema);
    assert_int_equal(udpai_schema_n_types(again), n);
    assert_null(udpai_schema_unref(again));
    assert_null(udpai_schema_unref(NULL));
}

static const struct test_file hello = {"a/hello.proto", "a", "Hello", "name", NULL, NULL, NULL};

static void
sets_add_up(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    const struct test_file user = {"b.proto", "b", "User", "name", "a/hello.proto", NULL, NULL};
    assert_added(schema, &hello);
    assert_true(has(schema, "a.Hello"));
    assert_added(schema, &user);
    assert_true(has(schema, "b.User"));
    assert_true(has(schema, "a.Hello"));
    const struct test_file commented = {"a/hello.proto", "a", "Hello", "name", NULL, NULL, "why"};
    assert_added(schema, &commented); /* comments make no other file */
    udpai_schema_unref(schema);
}

static void
contradictions_are_refused(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    assert_added(schema, &hello);
    const struct test_file changed = {"a/hello.proto", "a", "Hello", "nom", NULL, NULL, NULL};
    assert_not_added(schema, &changed, 1, UDPA_ERR_EXISTS,
                     "set: file a/hello.proto differs from the one of set");
    const struct test_file again = {"c.proto", "a", "Hello", "name", NULL, NULL, NULL};
    assert_not_added(schema, &again, 1, UDPA_ERR_INVAL,
                     "set: c.proto: a.Hello.name: \"a.Hello.name\" is already defined in file "
                     "\"a/hello.proto\".");
    const struct test_file ours = {
        "udpa/config/v1/bootstrap.proto", "udpa.config.v1", "Bootstrap", "x", NULL, NULL, NULL};
    assert_not_added(
        schema, &ours, 1, UDPA_ERR_EXISTS,
        "set: file udpa/config/v1/bootstrap.proto differs from the one of the program");
    const struct test_file twice[] = {{"d.proto", "d", "A", "x", NULL, NULL, NULL},
                                      {"d.proto", "d", "B", "x", NULL, NULL, NULL}};
    assert_not_added(schema, twice, 2, UDPA_ERR_EXISTS,
                     "set: file d.proto differs from the one of set");
    udpai_schema_unref(schema);
}

static void
incomplete_sets_are_refused_whole(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    const struct test_file files[] = {
        hello,
        {"b.proto", "b", "User", "name", "missing.proto", NULL, NULL},
    };
    assert_not_added(schema, files, 2, UDPA_ERR_INVAL,
                     "set: b.proto imports missing.proto, which no set has: make the set with "
                     "protoc --include_imports");
    assert_false(has(schema, "a.Hello"));
    const struct test_file ring[] = {
        {"r1.proto", "r", "A", "x", "r2.proto", NULL, NULL},
        {"r2.proto", "r", "B", "x", "r1.proto", NULL, NULL},
    };
    udpa_error *error = NULL;
    assert_int_equal(add(schema, ring, 2, &error), UDPA_ERR_INVAL);
    udpa_error_unref(error);
    assert_false(has(schema, "r.A"));
    const struct test_file newer = {"n.proto", "n", "N", "x", NULL, "editions", NULL};
    error = NULL;
    assert_int_equal(add(schema, &newer, 1, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "n.proto"));
    udpa_error_unref(error);
    udpai_schema_unref(schema);
}

/* A full public package takes the place of the subset that is built in. */
static void
subsets_give_way(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    const struct test_file full = {
        "google/rpc/status.proto", "google.rpc", "Status", "own_field", NULL, NULL, NULL};
    assert_added(schema, &full);
    const udpai_type *type = udpai_schema_find(schema, UDPAI_STR("google.rpc.Status"));
    udpai_field field;
    assert_non_null(type);
    assert_true(udpai_type_field(type, UDPAI_STR("own_field"), &field));
    assert_false(udpai_type_field(type, UDPAI_STR("code"), &field));
    assert_true(has(schema, "udpa.service.discovery.v1.Receipt")); /* which uses it */
    /* the same type under another file's name */
    udpai_schema *other = new_schema();
    const struct test_file moved = {
        "my/health.proto", "grpc.health.v1", "HealthCheckRequest", "service", NULL, NULL, NULL};
    assert_added(other, &moved);
    assert_true(has(other, "grpc.health.v1.HealthCheckRequest"));
    assert_false(has(other, "grpc.health.v1.HealthCheckResponse"));
    udpai_schema_unref(schema);
    udpai_schema_unref(other);
}

static void
what_is_no_set_is_refused(void **state)
{
    (void)state;
    udpai_schema *schema = new_schema();
    static const char *const texts[] = {"", "hello", "\x0a\xff", "{}"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpa_error *error = NULL;
        assert_int_equal(
            udpai_schema_add_set(schema, udpai_str_from(texts[i]), "f.descriptors", &error),
            UDPA_ERR_MALFORMED);
        assert_string_equal(udpa_error_message(error),
                            "f.descriptors is no FileDescriptorSet: make one with protoc "
                            "--include_imports --descriptor_set_out=FILE");
        udpa_error_unref(error);
    }
    udpa_error *error = NULL;
    assert_int_equal(
        udpai_schema_add_set(schema, (udpai_str){"", UDPAI_DESCRIPTOR_SET_MAX + 1}, "f", &error),
        UDPA_ERR_LIMIT);
    udpa_error_unref(error);
    udpai_schema_unref(schema);
}

static void
fields_are_described(void **state)
{
    (void)state;
    udpai_field field;
    const udpai_type *type = udpai_schema_find(test_schema, UDPAI_STR("codec.test.Everything"));
    assert_string_equal(udpai_type_name(type), "codec.test.Everything");
    assert_int_equal(udpai_type_well_known(type), UDPAI_ORDINARY);
    assert_true(udpai_type_field(type, UDPAI_STR("by_name"), &field));
    assert_true(field.map && !field.repeated && field.key_kind == UDPAI_KIND_STRING);
    assert_ptr_equal(field.message, type);
    assert_true(udpai_type_field(type, UDPAI_STR("byNumber"), &field));
    assert_int_equal(field.kind, UDPAI_KIND_STRING);
    assert_string_equal(field.key_kind_name, "int32");
    assert_true(udpai_type_field(type, UDPAI_STR("colors"), &field));
    assert_true(field.repeated && field.kind == UDPAI_KIND_ENUM);
    assert_string_equal(field.kind_name, "codec.test.Color");
    assert_int_equal(udpai_enum_n_values(field.enumeration), 3);
    assert_string_equal(udpai_enum_value_name(field.enumeration, 1), "RED");
    assert_true(udpai_type_field(type, UDPAI_STR("numberChoice"), &field));
    assert_string_equal(field.oneof, "choice");
    assert_int_equal(field.number, 34);
    assert_true(udpai_type_field(type, UDPAI_STR("maybe"), &field));
    assert_null(field.oneof); /* that of a proto3 optional is nobody's */
    assert_true(udpai_type_field(type, UDPAI_STR("otherName"), &field));
    assert_string_equal(field.name, "renamed");
    assert_false(udpai_type_field(type, UDPAI_STR("Name"), &field));
    assert_false(udpai_type_field(type, UDPAI_STR(""), &field));
    assert_int_equal(udpai_type_n_fields(type), 39);
    assert_string_equal(udpai_type_field_name(type, 36), "renamed");
    assert_string_equal(udpai_type_field_json_name(type, 36), "otherName");
}

static void
well_known_types_are_told_apart(void **state)
{
    (void)state;

    static const struct {
        const char *name;
        udpai_well_known known;
    } types[] = {
        {"google.protobuf.Any", UDPAI_ANY},
        {"google.protobuf.Duration", UDPAI_DURATION},
        {"google.protobuf.Timestamp", UDPAI_TIMESTAMP},
        {"google.protobuf.FieldMask", UDPAI_FIELD_MASK},
        {"google.protobuf.Struct", UDPAI_STRUCT},
        {"google.protobuf.Value", UDPAI_VALUE},
        {"google.protobuf.ListValue", UDPAI_LIST_VALUE},
        {"google.protobuf.Empty", UDPAI_EMPTY},
        {"google.protobuf.BytesValue", UDPAI_WRAPPER},
        {"google.protobuf.DoubleValue", UDPAI_WRAPPER},
        {"google.protobuf.BoolValue", UDPAI_WRAPPER},
        {"google.protobuf.FileDescriptorSet", UDPAI_ORDINARY},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        assert_int_equal(
            udpai_type_well_known(udpai_schema_find(test_schema, udpai_str_from(types[i].name))),
            types[i].known);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_schema_has_ours_and_the_well_known),
        cmocka_unit_test(types_are_listed_sorted),
        cmocka_unit_test(sets_add_up),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(incomplete_sets_are_refused_whole),
        cmocka_unit_test(subsets_give_way),
        cmocka_unit_test(what_is_no_set_is_refused),
        cmocka_unit_test(fields_are_described),
        cmocka_unit_test(well_known_types_are_told_apart),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
