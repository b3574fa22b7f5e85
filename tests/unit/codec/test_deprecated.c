/* SPDX-License-Identifier: Apache-2.0 */
/* What payloads use of that which is deprecated, by deprecated.proto. */
#include "base/strbuf.h"
#include "codec/policy.h"
#include "codec_test.h"
#include "tests/harness/resources.h"

extern const unsigned char deprecated_descriptors[];
extern const unsigned long deprecated_descriptors_size;

static udpai_validator *validator;

static int
setup(void **state)
{
    const udpai_str set = {(const char *)deprecated_descriptors, deprecated_descriptors_size};
    if (setup_schema(state) != 0 ||
        udpai_schema_add_set(test_schema, set, "deprecated", NULL) != UDPA_OK)
        return -1;
    return udpai_validator_new(&validator, test_schema, NULL) == UDPA_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    validator = udpai_validator_unref(validator);
    return teardown_schema(state);
}

/* What is said of a payload, by line; and who is asked. */
struct ear {
    udpai_strbuf text;
    const char *allowed, *refused; /* a name; NULL: as it comes */
    unsigned n_asked;
};

static void
note_mistake(void *userdata, const char *path, const char *reason)
{
    struct ear *ear = userdata;
    udpai_strbuf_printf(&ear->text, "%s: %s\n", path, reason);
}

static bool
allows(void *userdata, const udpai_deprecated *feature)
{
    struct ear *ear = userdata;
    ear->n_asked++;
    if (ear->allowed && strcmp(feature->name, ear->allowed) == 0)
        return true;
    return !feature->is_disallowed && !(ear->refused && strcmp(feature->name, ear->refused) == 0);
}

static void
used(void *userdata, const udpai_deprecated *feature)
{
    struct ear *ear = userdata;
    udpai_strbuf_printf(&ear->text, "%zu %s%s at %s%s%s%s\n", feature->n_uses,
                        feature->is_default ? "default " : "", feature->name, feature->path,
                        feature->is_disallowed ? " disallowed" : "", feature->holder ? " of " : "",
                        feature->holder ? feature->holder : "");
}

static udpa_err
validate(struct ear *ear, const char *name, udpai_str value)
{
    char type[64];
    const udpai_validation validation = {
        .checks = UDPAI_CHECK_DEPRECATED,
        .deprecation = {allows, used, ear},
    };
    snprintf(type, sizeof(type), "codec.old.%s", name);
    return udpai_validate(validator, udpai_str_from(type), value, &validation, note_mistake, ear);
}

static void
check_with(struct ear *ear, const char *name, const char *json, const char *wanted)
{
    char type[64];
    snprintf(type, sizeof(type), "codec.old.%s", name);
    udpa_bytes *bytes = bytes_of_type(type, UDPAI_FORMAT_JSON, json);
    udpai_strbuf_puts(&ear->text, "");
    (void)validate(ear, name, udpai_bytes_view(bytes));
    if (strcmp(ear->text.data, wanted) != 0)
        fail_msg("of %s found:\n%swanted:\n%s", json, ear->text.data, wanted);
    udpai_strbuf_done(&ear->text);
    udpa_bytes_unref(bytes);
}

static void
check(const char *name, const char *json, const char *wanted)
{
    struct ear ear = {0};
    check_with(&ear, name, json, wanted);
}

#define H "codec.old.Holder."

static void
fields_are_found_where_they_are_there(void **state)
{
    (void)state;
    check("Holder", "{\"name\": \"x\", \"other\": \"y\"}", "");
    check("Holder", "{\"old\": \"x\"}", "1 " H "old at old\n");
    check("Holder", "{\"old\": \"\"}", ""); /* which is not on the wire */
    check("Holder", "{\"wrapped\": 0}", "1 " H "wrapped at wrapped\n");
    check("Holder", "{\"list\": []}", "");
    check("Holder", "{\"list\": [\"\", \"a\"]}", "1 " H "list at list\n");
    check("Holder", "{\"labels\": {\"a\": \"b\"}}", "1 " H "labels at labels\n");
    check("Holder", "{\"maybe\": false}", "1 " H "maybe at maybe\n");
    check("Holder", "{\"flag\": false}", "");
    check("Holder", "{\"chosen\": \"\"}", "1 " H "chosen at chosen\n");
    check("Holder", "{\"not_so_old\": \"x\"}", "");
}

static void
a_feature_is_spoken_of_once_with_its_uses(void **state)
{
    (void)state;
    struct ear ear = {0};
    check_with(
        &ear, "Holder",
        "{\"children\": [{}, {\"old\": \"x\"}, {\"old\": \"y\"}], \"child\": {\"flag\": true}, "
        "\"by_name\": {\"a\": {\"child\": {\"old\": \"z\"}}}}",
        "1 " H "flag at child.flag\n"
        "3 " H "old at children[1].old\n");
    assert_int_equal(ear.n_asked, 2);
    check("Holder", "{\"by_name\": {\"a.b\": {\"old\": \"z\"}}}",
          "1 " H "old at by_name[\"a.b\"].old\n");
}

static void
values_are_found_wherever_an_enum_can_be(void **state)
{
    (void)state;
#define LEGACY(field) "codec.old.LEGACY at " field " of codec.old.Modes." field "\n"
    check("Modes", "{}", "");
    check("Modes", "{\"mode\": \"AUTO\"}", "");
    check("Modes", "{\"mode\": 77}", "");
    check("Modes", "{\"mode\": \"LEGACY\"}", "1 " LEGACY("mode"));
    check("Modes", "{\"maybe\": \"LEGACY\"}", "1 " LEGACY("maybe"));
    check("Modes", "{\"chosen\": \"LEGACY\"}", "1 " LEGACY("chosen"));
    check("Modes", "{\"list\": [\"AUTO\", \"LEGACY\", \"LEGACY\", 9]}", "2 " LEGACY("list"));
    check("Modes", "{\"by_name\": {\"a\": \"LEGACY\", \"b\": \"AUTO\"}}", "1 " LEGACY("by_name"));
    check("Holder", "{\"modes\": {\"mode\": \"LEGACY\"}}",
          "1 codec.old.LEGACY at modes.mode of codec.old.Modes.mode\n");
}

static void
a_value_that_is_left_out_is_used_by_default(void **state)
{
    (void)state;
    struct ear ear = {.allowed = "codec.old.NEVER"};
    check("Source", "{\"api\": \"NEW\"}", "");
    check("Source", "{\"name\": \"x\"}",
          "api: has by default the deprecated value 'codec.old.NEVER', which is disallowed by "
          "default; the runtime key envoy.deprecated_features:codec.old.NEVER allows it\n");
    check_with(&ear, "Source", "{}",
               "1 default codec.old.NEVER at api disallowed of codec.old.Source.api\n");
    check("Holder", "{}", ""); /* no Source is there */
    check_with(&ear, "Holder", "{\"source\": {}}",
               "1 default codec.old.NEVER at source.api disallowed of codec.old.Source.api\n");
    /* These have no value unless they are there. */
    check_with(&ear, "Sources", "{}", "");
    check_with(&ear, "Sources", "{\"maybe\": \"NEVER\", \"list\": [\"NEVER\"]}",
               "2 codec.old.NEVER at maybe disallowed of codec.old.Sources.maybe\n");
    check_with(&ear, "Sources", "{\"chosen\": \"NEVER\"}",
               "1 codec.old.NEVER at chosen disallowed of codec.old.Sources.chosen\n");
}

static void
what_is_disallowed_is_refused_unless_somebody_allows_it(void **state)
{
    (void)state;
#define OLDER(path)                                                                                \
    path ": is the deprecated option '" H "older', which is disallowed by default; the runtime "   \
         "key envoy.deprecated_features:" H "older allows it\n"
    struct ear allowing = {.allowed = H "older"}, refusing = {.refused = H "old"};
    check("Holder", "{\"older\": \"x\"}", OLDER("older"));
    check("Holder", "{\"older\": \"x\", \"old\": \"y\", \"children\": [{}, {\"older\": \"z\"}]}",
          OLDER("older") OLDER("children[1].older"));
    check_with(&allowing, "Holder", "{\"older\": \"x\"}", "1 " H "older at older disallowed\n");
    check_with(&refusing, "Holder", "{\"old\": \"x\", \"flag\": true}",
               "old: is the deprecated option '" H "old', which is disallowed; the runtime key "
               "envoy.deprecated_features:" H "old allows it\n");
    check("Modes", "{\"list\": [\"LEGACY\", \"ANCIENT\", \"ANCIENT\"]}",
          "list: has the deprecated value 'codec.old.ANCIENT', which is disallowed by default; the "
          "runtime key envoy.deprecated_features:codec.old.ANCIENT allows it\n");
}

static void
what_is_packed_is_looked_into(void **state)
{
    (void)state;
    check("Holder",
          "{\"typed_config\": {\"@type\": \"x/codec.old.Holder\", \"child\": {\"old\": \"x\"}}}",
          "1 " H "old at typed_config.child.old\n");
    check("Holder", "{\"typed_config\": {\"@type\": \"x/codec.old.Fresh\", \"name\": \"x\"}}", "");
    check("Holder", "{\"typed_config\": {\"@type\": \"x/codec.old.Modes\", \"mode\": \"ANCIENT\"}}",
          "typed_config.mode: has the deprecated value 'codec.old.ANCIENT', which is disallowed by "
          "default; the runtime key envoy.deprecated_features:codec.old.ANCIENT allows it\n");
}

/* Nobody is asked: what descriptors say counts. Nothing is asked for: nothing is found. */
static void
without_a_listener_descriptors_count(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_validation validation = {.checks = UDPAI_CHECK_DEPRECATED};
    udpai_str type = UDPAI_STR("codec.old.Holder");
    udpa_bytes *older = bytes_of_type("codec.old.Holder", UDPAI_FORMAT_JSON, "{\"older\": \"x\"}");
    udpa_bytes *old = bytes_of_type("codec.old.Holder", UDPAI_FORMAT_JSON, "{\"old\": \"x\"}");
    assert_int_equal(
        udpai_validate_first(validator, type, udpai_bytes_view(older), &validation, NULL),
        UDPA_ERR_INVAL);
    assert_ok(udpai_validate_first(validator, type, udpai_bytes_view(old), &validation, NULL));
    validation.checks = udpai_rules_absent() ? UDPAI_CHECK_UNKNOWN_FIELDS : UDPAI_CHECK_RULES;
    assert_ok(udpai_validate_first(validator, type, udpai_bytes_view(older), &validation, NULL));
    udpai_strbuf_done(&text);
    udpa_bytes_unref(older);
    udpa_bytes_unref(old);
}

/* A million uses are one line, and so is what they are refused for. */
static void
what_is_said_is_bounded(void **state)
{
    (void)state;

    enum {
        N = 1 << 20
    };

    struct ear ear = {0};
    uint8_t *bytes = udpai_alloc(2 * N);
    assert_non_null(bytes);
    for (size_t i = 0; i < N; i++)
        memcpy(bytes + 2 * i, "\x18\x01", 2); /* list: LEGACY */
    assert_ok(validate(&ear, "Modes", (udpai_str){(char *)bytes, 2 * N}));
    assert_string_equal(ear.text.data,
                        "1048576 codec.old.LEGACY at list of codec.old.Modes.list\n");
    udpai_strbuf_done(&ear.text);
    for (size_t i = 0; i < N; i++)
        bytes[2 * i + 1] = 2;
    ear.n_asked = 0;
    assert_int_equal(validate(&ear, "Modes", (udpai_str){(char *)bytes, 2 * N}), UDPA_ERR_INVAL);
    assert_int_equal(ear.n_asked, 1);
    assert_null(strstr(strchr(ear.text.data, '\n') + 1, "\n"));
    udpai_strbuf_done(&ear.text);
    /* 10,000 children with one each: 50 are told. */
    for (size_t i = 0; i < 10000; i++)
        memcpy(bytes + 5 * i, "\x62\x03\x1a\x01x", 5);
    ear = (struct ear){0};
    assert_int_equal(validate(&ear, "Holder", (udpai_str){(char *)bytes, 50000}), UDPA_ERR_INVAL);
    assert_int_equal(ear.n_asked, 1);
    size_t n_lines = 0;
    for (const char *c = ear.text.data; *c; c++)
        n_lines += *c == '\n';
    assert_int_equal(n_lines, UDPAI_VIOLATIONS_MAX);
    udpai_strbuf_done(&ear.text);
    udpai_free(bytes);
}

/* ---- policies ---- */

static void
note_inspected(void *userdata, const udpai_inspected *by, const udpai_deprecated *feature)
{
    udpai_strbuf_printf(userdata, "%s by %.*s: %s\n", udpa_resource_name(by->resource),
                        UDPAI_SHOWN(by->from), feature->name);
}

static bool
allows_all(void *userdata, const udpai_deprecated *feature)
{
    (void)userdata;
    (void)feature;
    return true;
}

static void
a_policy_says_whose_resource_it_is(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpa_error *error = NULL;
    udpa_resource *resource = RESOURCE("com.acme/a", .type = "type.googleapis.com/codec.old.Holder",
                                       .value = "\x1a\x01x" /* older */);
    const udpai_inspected inspected = {resource, UDPAI_STR("someone")};
    udpai_policy policy = {.validator = validator, .others = {.checks = UDPAI_CHECK_DEPRECATED}};
    assert_int_equal(udpai_policy_check(&policy, &inspected, 0, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "'com.acme/a': older: is the deprecated"));
    udpa_error_unref(error);
    policy.deprecation = (udpai_policy_deprecation){allows_all, note_inspected, &text};
    assert_ok(udpai_policy_check(&policy, &inspected, 0, NULL));
    assert_string_equal(text.data, "com.acme/a by someone: " H "older\n");
    udpai_strbuf_done(&text);
    udpa_resource_unref(resource);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found_where_they_are_there),
        cmocka_unit_test(a_feature_is_spoken_of_once_with_its_uses),
        cmocka_unit_test(values_are_found_wherever_an_enum_can_be),
        cmocka_unit_test(a_value_that_is_left_out_is_used_by_default),
        cmocka_unit_test(what_is_disallowed_is_refused_unless_somebody_allows_it),
        cmocka_unit_test(what_is_packed_is_looked_into),
        cmocka_unit_test(without_a_listener_descriptors_count),
        cmocka_unit_test(what_is_said_is_bounded),
        cmocka_unit_test(a_policy_says_whose_resource_it_is),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
