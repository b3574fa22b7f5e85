/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as text, in each format, without secrets. */
#include "ctl/show.h"

#include "base/alloc.h"
#include "tests/harness/resources.h"

#define STRING "type.googleapis.com/google.protobuf.StringValue"
#define SECRET "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

static udpai_schema *
schema_of(void **state)
{
    return *state;
}

static int
begin(void **state)
{
    return udpai_schema_new((udpai_schema **)state, NULL);
}

static int
end(void **state)
{
    *state = udpai_schema_unref(*state);
    return 0;
}

/* Gives the resource up; the text is to be freed. */
static char *
shown(const udpai_schema *schema, udpa_resource *resource, udpai_format format)
{
    udpai_strbuf out = {0};
    assert_ok(udpai_ctl_put_resource(&out, schema, resource, format, NULL));
    udpa_resource_unref(resource);
    return udpai_strbuf_take(&out);
}

static udpa_resource *
greeting(void)
{
    return RESOURCE("com.acme/a", .type = STRING, .value = "\x0a\x02hi", .version = "v1",
                    .authority = "acme", .generation = 7, .ttl_ms = 1500,
                    .hops = {{"core", "acme"}, {"us", "core"}});
}

static void
test_yaml(void **state)
{
    UDPAI_AUTO_FREE char *text = shown(schema_of(state), greeting(), UDPAI_FORMAT_YAML);
    assert_string_equal(text, "# generation 7\n"
                              "# core took it from acme at 1970-01-01T00:00:01Z\n"
                              "name: com.acme/a\n"
                              "version: v1\n"
                              "resource:\n"
                              "  \"@type\": " STRING "\n"
                              "  value: hi\n"
                              "ttl: 1.500s\n"
                              "origin_info:\n"
                              "  authority: acme");
}

static void
expect_comment(void **state, const char *name, const char *comment)
{
    UDPAI_AUTO_FREE char *text =
        shown(schema_of(state), RESOURCE(name, .type = STRING, .hops = {{"vm", ""}, {"us", "vm"}}),
              UDPAI_FORMAT_YAML);
    assert_memory_equal(text, comment, strlen(comment));
}

static void
test_whom_a_node_has_it_from(void **state)
{
    expect_comment(state, "com.acme/a", "# vm took it from a file at ");
    expect_comment(state, "udpa.node/vm/node", "# vm reports it of itself at ");
}

static void
test_json(void **state)
{
    UDPAI_AUTO_FREE char *text = shown(schema_of(state), greeting(), UDPAI_FORMAT_JSON);
    assert_non_null(strstr(text, "\"resource\":{\"@type\":\"" STRING "\",\"value\":\"hi\"}"));
    assert_non_null(strstr(text, "\"generation\":\"7\""));
    assert_non_null(strstr(text, "\"nodeId\":\"core\""));
    assert_null(strstr(text, "\"us\"")); /* our own hop */
    assert_int_equal(text[strlen(text) - 1], '}');
}

static void
test_secret(void **state)
{
    static const udpai_format formats[] = {UDPAI_FORMAT_JSON, UDPAI_FORMAT_JSON_PRETTY,
                                           UDPAI_FORMAT_YAML};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats); i++) {
        UDPAI_AUTO_FREE char *text =
            shown(schema_of(state),
                  RESOURCE("com.acme/key", .type = SECRET, .value = "\x12\x04hush",
                           .authority = "acme", .hops = {{"core", "acme"}, {"us", "core"}}),
                  formats[i]);
        assert_null(strstr(text, "hush"));
        assert_null(strstr(text, "aHVza"));
        assert_non_null(strstr(text, "redacted"));
        assert_non_null(strstr(text, SECRET));
        const udpai_source again = {
            .name = "shown", .text = udpai_str_from(text), .format = formats[i]};
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_not_equal(udpai_convert_to_binary(
                                 schema_of(state), UDPAI_STR("udpa.service.discovery.v1.Resource"),
                                 &again, &bytes, &error),
                             UDPA_OK);                    /* 'apply' would refuse it … */
        if (!strstr(udpa_error_message(error), "Secret")) /* … for what the Any is */
            fail_msg("%s", udpa_error_message(error));
    }
}

static char *
restorable(const udpai_schema *schema, udpa_resource *resource, bool with_secrets)
{
    udpai_strbuf out = {0};
    assert_ok(udpai_ctl_put_restorable(&out, schema, resource, with_secrets, NULL));
    udpa_resource_unref(resource);
    return udpai_strbuf_take(&out);
}

static void
test_what_can_be_restored(void **state)
{
    UDPAI_AUTO_FREE char *text = restorable(schema_of(state), greeting(), false);
    assert_string_equal(text, "name: com.acme/a\n"
                              "version: v1\n"
                              "resource:\n"
                              "  \"@type\": " STRING "\n"
                              "  value: hi\n"
                              "ttl: 1.500s\n"
                              "origin_info:\n"
                              "  authority: acme\n"
                              "  generation: \"7\"");
    for (int with_secrets = 0; with_secrets <= 1; with_secrets++) {
        UDPAI_AUTO_FREE char *secret = restorable(
            schema_of(state), RESOURCE("com.acme/key", .type = SECRET, .value = "\x12\x04hush"),
            with_secrets);
        assert_int_equal(strstr(secret, "redacted") == NULL, with_secrets);
        assert_int_equal(strstr(secret, "EgRodXNo") != NULL || strstr(secret, "hush") != NULL,
                         with_secrets);
    }
}

static void
test_unknown_type(void **state)
{
    UDPAI_AUTO_FREE char *text =
        shown(schema_of(state), RESOURCE("com.acme/a", .type = "example.org/a.B", .value = "abc"),
              UDPAI_FORMAT_JSON);
    assert_non_null(strstr(text, "\"@type\":\"example.org/a.B\""));
    assert_non_null(strstr(text, "\"YWJj\""));
}

static void
test_name_and_path(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a", .type = TEST_CDS,
                                       .hops = {{"core", "x"}, {"edge", "core"}, {"us", "edge"}});
    udpai_strbuf name = {0}, path = {0};
    udpai_ctl_put_name(&name, resource);
    udpai_ctl_put_path(&path, resource);
    assert_str(udpai_strbuf_view(&name), "cluster/com.acme/a");
    assert_str(udpai_strbuf_view(&path), "core > edge");
    udpai_strbuf_done(&name);
    udpai_strbuf_done(&path);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_what_can_be_restored),
        cmocka_unit_test(test_unknown_type),
        cmocka_unit_test(test_name_and_path),
        cmocka_unit_test(test_whom_a_node_has_it_from),
    };
    return cmocka_run_group_tests_name("ctl show", tests, begin, end);
}
