/* SPDX-License-Identifier: Apache-2.0 */
/* Files to resources: formats, documents, names, positions, and that a bad file gives nothing. */
#include "codec/resource_file.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "codec_test.h"
#include "model/resource.h"
#include "tests/harness/oom.h"

#define ASSIGNMENT "type.googleapis.com/codec.test.Assignment"
#define TYPED "\"@type\": " ASSIGNMENT

static udpai_resource_list
read_ok(const char *name, udpai_str contents)
{
    udpa_error *error = NULL;
    udpai_resource_list list = {0};
    const udpai_resource_file file = {name, contents, UDPAI_STR("local"), {0}, 0, false};
    if (udpai_resource_file_read(test_schema, &file, &list, &error))
        fail_msg("%s", udpa_error_message(error));
    return list;
}

static void
assert_file_fails(const char *name, udpai_str contents, udpa_err code, const char *message)
{
    udpa_error *error = NULL;
    udpai_resource_list list = {0};
    const udpai_resource_file file = {name, contents, UDPAI_STR("local"), {0}, 0, false};
    assert_int_equal(udpai_resource_file_read(test_schema, &file, &list, &error), code);
    assert_non_null(error);
    assert_string_equal(udpa_error_message(error), message);
    assert_null(list.items);
    udpa_error_unref(error);
    assert_int_equal(udpai_resource_file_read(test_schema, &file, &list, NULL), code);
}

static void
assert_yaml_fails(const char *yaml, const char *message)
{
    assert_file_fails("f.yaml", udpai_str_from(yaml), UDPA_ERR_INVAL, message);
}

/* "line:column name" of each resource, joined by ", ". */
static void
assert_contents(udpai_resource_list *list, const char *expected)
{
    udpai_strbuf text = {0};
    for (size_t i = 0; i < list->n; i++)
        udpai_strbuf_printf(&text, "%s%u:%u %s", i ? ", " : "", list->items[i].line,
                            list->items[i].column, udpa_resource_name(list->items[i].resource));
    assert_str(udpai_strbuf_view(&text), expected);
    udpai_strbuf_done(&text);
    udpai_resource_list_done(list);
    assert_null(list->items);
}

static void
assert_yaml_has(const char *yaml, const char *expected)
{
    udpai_resource_list list = read_ok("f.yaml", udpai_str_from(yaml));
    assert_contents(&list, expected);
}

static void
suffixes_name_formats(void **state)
{
    (void)state;

    static const struct {
        const char *name;
        int format; /* -1: none */
    } cases[] = {
        {"a.yaml", UDPAI_FORMAT_YAML},
        {"/x/a.b.yml", UDPAI_FORMAT_YAML},
        {"a.json", UDPAI_FORMAT_JSON},
        {"a.textproto", UDPAI_FORMAT_TEXT},
        {"a.txtpb", UDPAI_FORMAT_TEXT},
        {"a.pb_text", UDPAI_FORMAT_TEXT},
        {"a.pb", UDPAI_FORMAT_BINARY},
        {"a.bin", UDPAI_FORMAT_BINARY},
        {"a.txt", -1},
        {"a", -1},
        {"yaml", -1},
        {".yaml", -1},
        {"", -1},
        {"a.YAML", -1},
        {"a.yaml~", -1},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_format format = UDPAI_FORMAT_JSON_PRETTY;
        assert_int_equal(udpai_resource_file_format(cases[i].name, &format), cases[i].format != -1);
        if (cases[i].format != -1)
            assert_int_equal(format, cases[i].format);
    }
    assert_file_fails("a.txt", UDPAI_STR(""), UDPA_ERR_INVAL,
                      "a.txt: what format is this? Name it .yaml, .json, .textproto or .pb");
}

static void
empty_files_have_no_resources(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"f.yaml", ""},
        {"f.yaml", "# nothing yet\n"},
        {"f.yaml", "---\n---\n"},
        {"f.yaml", "[]"},
        {"f.yaml", "resources: []"},
        {"f.json", ""},
        {"f.json", "\n"},
        {"f.json", "[]"},
        {"f.json", "null"},
        {"f.textproto", ""},
        {"f.textproto", "# nothing"},
        {"f.pb", ""},
        {"f.yaml", "--- ~\n---\nresources:\n"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(files); i++) {
        udpai_resource_list list = read_ok(files[i][0], udpai_str_from(files[i][1]));
        assert_int_equal(list.n, 0);
        udpai_resource_list_done(&list);
    }
}

static void
typed_documents_name_themselves(void **state)
{
    (void)state;
    assert_yaml_has("# first\n" TYPED "\ncluster_name: a\n"
                    "---\n"
                    "\"@type\": t/codec.test.Everything\nname: com.acme/b\n"
                    "---\n"
                    "{\"@type\": x/y/codec.test.Assignment, clusterName: c}\n",
                    "2:1 local/a, 5:1 com.acme/b, 8:1 local/c");
    assert_yaml_has("- {" TYPED ", cluster_name: a}\n- {" TYPED ", cluster_name: b}\n",
                    "1:3 local/a, 2:3 local/b");
    assert_yaml_fails(
        "\"@type\": t/codec.test.Nameless\nnumber: 1",
        "f.yaml:1:1: codec.test.Nameless has no name here: give it one, or wrap it in "
        "{name: …, resource: …}");
    assert_yaml_fails("- {}\n", "f.yaml:1:3: [0]: this is no resource: it needs '@type' and its "
                                "fields, or 'name' and 'resource', or a list 'resources'");
    assert_yaml_fails(
        "["
        "{" TYPED "}]",
        "f.yaml:1:2: [0]: codec.test.Assignment has no name here: give it one, or wrap "
        "it in {name: …, resource: …}");
}

static void
names_get_their_namespace(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"a", "local/a"},
        {"com.acme/a", "com.acme/a"},
        {"local/a", "local/a"},
        {"default/eg/http", "local/default/eg/http"},
        {"com.acme", "local/com.acme"},
        {"Com.Acme/a", "local/Com.Acme/a"},
        {"a..b/c", "local/a..b/c"},
        {".a/b", "local/.a/b"},
        {"/a", "local//a"},
        {"x.y/", NULL},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++) {
        char yaml[200];
        snprintf(yaml, sizeof(yaml), "{" TYPED ", cluster_name: '%s'}", names[i][0]);
        if (names[i][1]) {
            udpai_resource_list list = read_ok("f.yaml", udpai_str_from(yaml));
            assert_int_equal(list.n, 1);
            assert_string_equal(udpa_resource_name(list.items[0].resource), names[i][1]);
            udpai_resource_list_done(&list);
        } else {
            assert_yaml_fails(yaml, "f.yaml:1:1: resource name 'x.y/' has no id: it must be "
                                    "<namespace>/<id>, such as com.acme/service-a");
        }
    }
}

static void
xdstp_names_lie_in_the_namespace_of_their_authority(void **state)
{
    (void)state;
    static const udpai_xdstp_authority items[] = {{{"Acme", 4}, {"org.acme/x", 10}}};

    static const struct {
        const char *name, *full; /* or what the mistake says */
    } cases[] = {
        {"xdstp://com.acme/codec.test.Assignment/a/b?y=2&x=1", "com.acme/a/b?x=1&y=2"},
        {"xdstp:///codec.test.Assignment/a", "local/a"},
        {"xdstp://Acme/codec.test.Assignment/a", "org.acme/x/a"},
        {"xdstp://Other/codec.test.Assignment/a", "stands for no namespace"},
        {"xdstp://com.acme/codec.test.Everything/a", "another type"},
        {"xdstp://com.acme/codec.test.Assignment/a/*", "a collection"},
        {"xdstp://com.acme/codec.test.Assignment", "no id"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        char yaml[200];
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_resource_list list = {0};
        snprintf(yaml, sizeof(yaml), "{" TYPED ", cluster_name: '%s'}", cases[i].name);
        const udpai_resource_file file = {
            "f.yaml", udpai_str_from(yaml), UDPAI_STR("local"), {items, 1}, 0, false};
        if (udpai_resource_file_read(test_schema, &file, &list, &error) != UDPA_OK) {
            if (!strstr(udpa_error_message(error), cases[i].full))
                fail_msg("%s", udpa_error_message(error));
            continue;
        }
        assert_string_equal(udpa_resource_name(list.items[0].resource), cases[i].full);
        udpai_resource_list_done(&list);
    }
}

static void
wrapped_documents_say_more(void **state)
{
    (void)state;
    udpai_resource_list list =
        read_ok("f.yaml", UDPAI_STR("name: a\n"
                                    "version: 1.10\n"
                                    "ttl: 1.0000001s\n"
                                    "aliases: [b, local/c, '*.d']\n"
                                    "delivery: LAZY\n"
                                    "do_not_cache: true\n"
                                    "origin_info: {authority: acme}\n"
                                    "resource: {" TYPED ", cluster_name: other}\n"
                                    "---\n"
                                    "resource: {" TYPED ", cluster_name: own}\n"));
    assert_int_equal(list.n, 2);
    const udpa_resource *resource = list.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), "local/a");
    assert_string_equal(udpa_resource_type_url(resource), ASSIGNMENT);
    assert_string_equal(udpa_resource_version(resource), "1.10");
    assert_string_equal(udpa_resource_authority(resource), "acme");
    assert_int_equal(udpa_resource_ttl_ms(resource), 1001);
    assert_int_equal(udpa_resource_n_aliases(resource), 3);
    assert_string_equal(udpa_resource_alias(resource, 0), "local/b");
    assert_string_equal(udpa_resource_alias(resource, 1), "local/c");
    assert_string_equal(udpa_resource_alias(resource, 2), "local/*.d");
    assert_true(udpai_resource_is_lazy(resource));
    assert_true(udpai_resource_do_not_cache(resource));
    assert_str(udpai_resource_value(resource), "\x0a\x05other");
    resource = list.items[1].resource;
    assert_string_equal(udpa_resource_name(resource), "local/own");
    assert_string_equal(udpa_resource_authority(resource), "");
    assert_int_equal(udpa_resource_ttl_ms(resource), 0);
    assert_false(udpai_resource_is_lazy(resource));
    udpai_resource_list_done(&list);
}

/* Names of what says its authority are those that some node has printed. */
static void
what_was_printed_keeps_its_name(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"prod/backend", "prod/backend"},
        {"prod/a/b", "prod/a/b"},
        {"Prod/backend", "local/Prod/backend"},
        {"backend", "local/backend"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++) {
        char yaml[200];
        snprintf(yaml, sizeof(yaml),
                 "{name: %s, origin_info: {authority: x}, resource: {" TYPED "}}", names[i][0]);
        udpai_resource_list list = read_ok("f.yaml", udpai_str_from(yaml));
        assert_string_equal(udpa_resource_name(list.items[0].resource), names[i][1]);
        udpai_resource_list_done(&list);
    }
    udpai_resource_list list =
        read_ok("f.yaml", UDPAI_STR("name: prod/a\naliases: [prod/b, c]\n"
                                    "origin_info: {authority: x}\nresource: {" TYPED "}"));
    assert_string_equal(udpa_resource_alias(list.items[0].resource, 0), "prod/b");
    assert_string_equal(udpa_resource_alias(list.items[0].resource, 1), "prod/c");
    udpai_resource_list_done(&list);
}

static void
a_variant_says_for_whom_it_is(void **state)
{
    (void)state;
    udpai_resource_list list = read_ok(
        "f.yaml", UDPAI_STR("name: a.prod\n"
                            "aliases: [a]\n"
                            "constraints:\n"
                            "  and_constraints:\n"
                            "    constraints:\n"
                            "    - constraint: {key: env, value: prod}\n"
                            "    - not_constraints: {constraint: {key: version, exists: {}}}\n"
                            "resource: {" TYPED ", cluster_name: a}\n"));
    assert_true(
        udpai_str_eq(udpai_resource_constraints(list.items[0].resource),
                     UDPAI_STR("\x1a\x20\x0a\x0d\x0a\x0b\x0a\x03"
                               "env\x12\x04prod\x0a\x0f\x22\x0d\x0a\x0b\x0a\x07version\x1a\x00")));
    assert_str(udpai_resource_asked_name(list.items[0].resource), "local/a");
    udpai_resource_list_done(&list);
}

static void
what_was_printed_says_more_than_a_file_may(void **state)
{
    (void)state;
    udpai_resource_list list = {0};
    const udpai_resource_file file = {
        .name = "f.yaml",
        .contents = UDPAI_STR("name: prod/a\nresource: {" TYPED "}\nhops: [{node_id: x}]\n"
                              "origin_info: {generation: 5, authority: acme}"),
        .default_namespace = UDPAI_STR("local"),
        .kind = UDPAI_FILE_PRINTED,
    };
    assert_ok(udpai_resource_file_read(test_schema, &file, &list, NULL));
    assert_string_equal(udpa_resource_name(list.items[0].resource), "prod/a");
    assert_string_equal(udpa_resource_authority(list.items[0].resource), "acme");
    assert_int_equal(udpa_resource_generation(list.items[0].resource), 0);
    assert_int_equal(udpa_resource_n_hops(list.items[0].resource), 0);
    udpai_resource_list_done(&list);
    udpai_resource_file restored = file;
    restored.kind = UDPAI_FILE_RESTORED;
    assert_ok(udpai_resource_file_read(test_schema, &restored, &list, NULL));
    assert_int_equal(udpa_resource_generation(list.items[0].resource), 5);
    assert_int_equal(udpa_resource_n_hops(list.items[0].resource), 0);
    udpai_resource_list_done(&list);
}

static void
a_hidden_secret_is_told_as_such(void **state)
{
    (void)state;
    assert_yaml_fails("name: a\nresource:\n  '@type': x/a.Secret\n  " UDPAI_REDACTED_FIELD
                      ": " UDPAI_REDACTED_TEXT,
                      "f.yaml:4:3: what this secret holds was hidden when it was printed: put that "
                      "in, or remove this document, and the secret stays as it is");
    assert_yaml_fails("name: a\nresource: {" TYPED ", redacted: x}",
                      "f.yaml:2:64: resource: unknown field 'redacted'");
}

static void
wrappers_are_checked(void **state)
{
    (void)state;
    assert_yaml_fails("name: a\nresource: {" TYPED "}\nttl: 0s",
                      "f.yaml:1:1: ttl must be a duration above 0; leave it out for none");
    assert_yaml_fails("name: a\nresource: {" TYPED "}\nttl: -1s",
                      "f.yaml:1:1: ttl must be a duration above 0; leave it out for none");
    assert_yaml_fails("name: a\nresource: {" TYPED "}\nttl: 315360001s",
                      "f.yaml:1:1: ttl is longer than ten years");
    assert_yaml_fails("name: a\nresource: {" TYPED "}\nhops: [{node_id: x}]",
                      "f.yaml:1:1: hops cannot be given in a file");
    assert_yaml_fails("name: a\nresource: {" TYPED "}\norigin_info: {generation: 5}",
                      "f.yaml:1:1: of origin_info a file can give the authority, and the "
                      "generation only with a signature");
    assert_yaml_fails("name: a\nresource: {}",
                      "f.yaml:1:1: there is no payload: 'resource' must be "
                      "a message with '@type'");
    assert_yaml_fails("name: a\nresource: {" TYPED "}\naliases: [com.other/b]",
                      "f.yaml:1:1: alias 'com.other/b' lies outside the namespace of its resource "
                      "'local/a'");
    assert_yaml_fails("name: a\nresuorce: {" TYPED "}",
                      "f.yaml:1:1: this is no resource: it needs '@type' and its fields, or 'name' "
                      "and 'resource', or a list 'resources'");
    assert_yaml_fails("name: a\nresource: {" TYPED ", cluster: x}",
                      "f.yaml:2:64: resource: unknown field 'cluster'");
    assert_file_fails("f.yaml", UDPAI_STR("name: a\nresource: {'@type': x/no.One}"),
                      UDPA_ERR_NOT_FOUND,
                      "f.yaml:2:21: resource: message type 'no.One' is not known: load its "
                      "descriptors with --descriptors FILE");
}

static const char response_yaml[] =
    "version_info: 7\n"
    "type_url: " ASSIGNMENT "\n"
    "resources:\n"
    "- {" TYPED ", cluster_name: a, addresses: [x, y]}\n"
    "- {\"@type\": t/envoy.service.discovery.v3.Resource, name: b, version: 9, ttl: 2s,\n"
    "   cache_control: {do_not_cache: true}, aliases: [q], resource: {" TYPED ", "
    "cluster_name: in}}\n"
    "- {\"@type\": t/udpa.service.discovery.v1.Resource, name: com.acme/c, delivery: LAZY,\n"
    "   resource: {" TYPED "}}\n";

static void
responses_are_unwrapped(void **state)
{
    (void)state;
    udpai_resource_list list = read_ok("f.yaml", UDPAI_STR(response_yaml));
    assert_int_equal(list.n, 3);
    const udpa_resource *b = list.items[1].resource;
    assert_int_equal(udpa_resource_ttl_ms(b), 2000);
    assert_true(udpai_resource_do_not_cache(b));
    assert_string_equal(udpa_resource_alias(b, 0), "local/q");
    assert_int_equal(strlen(udpa_resource_version(b)), UDPAI_CONTENT_HASH_HEX);
    assert_true(udpai_resource_is_lazy(list.items[2].resource));
    assert_contents(&list, "4:3 local/a, 5:3 local/b, 7:3 com.acme/c");
    assert_yaml_has("'@type': t/envoy.service.discovery.v3.DiscoveryResponse\n"
                    "resources: [{" TYPED ", cluster_name: a}]",
                    "2:13 local/a");
    assert_yaml_has("- resources: [{" TYPED ", cluster_name: a}]\n", "1:15 local/a");
    assert_yaml_fails(
        "type_url: t/codec.test.Everything\nresources:\n- {" TYPED ", cluster_name: a}",
        "f.yaml:3:3: resources[0]: type 'type.googleapis.com/codec.test.Assignment' is "
        "not the response's type_url 't/codec.test.Everything'");
    assert_yaml_fails("resources:\n- {" TYPED ", cluster_name: a}\n- {" TYPED ", clustername: a}",
                      "f.yaml:3:56: resources[1]: unknown field 'clustername'; did you mean "
                      "'cluster_name'?");
    assert_yaml_fails("resources: {}", "f.yaml:1:12: resources: this is a map, but must be a list");
}

/* The same response in all four formats: the same resources, to the byte. */
static void
formats_agree(void **state)
{
    (void)state;
    static const char type[] = "envoy.service.discovery.v3.DiscoveryResponse";

    static const struct {
        const char *name;
        udpai_format format;
        const char *places;
    } formats[] = {
        {"f.json", UDPAI_FORMAT_JSON, "1:33 local/a, 1:127 local/b, 1:348 com.acme/c"},
        {"f.yaml", UDPAI_FORMAT_YAML, "3:5 local/a, 8:5 local/b, 19:5 com.acme/c"},
        {"f.pb_text", UDPAI_FORMAT_TEXT, "2:1 local/a, 9:1 local/b, 27:1 com.acme/c"},
    };

    udpai_resource_list first = read_ok("f.yaml", UDPAI_STR(response_yaml));
    udpa_bytes *bytes = bytes_of_type(type, UDPAI_FORMAT_YAML, response_yaml);
    udpai_resource_list binary = read_ok("f.pb", udpai_bytes_view(bytes));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats); i++) {
        char *text = NULL;
        assert_ok(udpai_convert_from_binary(test_schema, udpai_str_from(type),
                                            udpai_bytes_view(bytes), formats[i].format, &text,
                                            NULL));
        udpai_resource_list list = read_ok(formats[i].name, udpai_str_from(text));
        assert_int_equal(list.n, first.n);
        for (size_t k = 0; k < list.n; k++) {
            assert_true(
                udpai_resource_same_payload(list.items[k].resource, first.items[k].resource));
            assert_true(
                udpai_resource_same_payload(binary.items[k].resource, first.items[k].resource));
            assert_string_equal(udpa_resource_version(list.items[k].resource),
                                udpa_resource_version(first.items[k].resource));
        }
        assert_contents(&list, formats[i].places);
        udpai_free(text);
    }
    assert_contents(&binary, "0:0 local/a, 0:0 local/b, 0:0 com.acme/c");
    udpai_resource_list_done(&first);
    udpa_bytes_unref(bytes);
}

static void
content_decides_the_version(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "{" TYPED ", cluster_name: a, addresses: ['1', x]}",
        "{\"addresses\": [1, x], \"clusterName\": \"a\", " TYPED "}",
    };
    udpai_resource_list a = read_ok("f.yaml", udpai_str_from(spellings[0]));
    udpai_resource_list b = read_ok("g.yaml", udpai_str_from(spellings[1]));
    assert_true(udpai_resource_same_payload(a.items[0].resource, b.items[0].resource));
    assert_string_equal(udpa_resource_version(a.items[0].resource),
                        udpa_resource_version(b.items[0].resource));
    udpai_resource_list_done(&b);
    b = read_ok("g.yaml", UDPAI_STR("{" TYPED ", cluster_name: a, addresses: [x, '1']}"));
    assert_string_not_equal(udpa_resource_version(a.items[0].resource),
                            udpa_resource_version(b.items[0].resource));
    udpai_resource_list_done(&a);
    udpai_resource_list_done(&b);
}

static void
doubles_name_both_places(void **state)
{
    (void)state;
    assert_file_fails("f.yaml",
                      UDPAI_STR("{" TYPED ", cluster_name: a}\n---\n- {" TYPED
                                ", cluster_name: b}\n- {" TYPED ", cluster_name: local/a}\n"),
                      UDPA_ERR_EXISTS,
                      "f.yaml:4:3: [1]: resource 'local/a' of this type is already at f.yaml:1:1");
    static const char text[] =
        "resources { [t/codec.test.Assignment] { cluster_name: 'a' } }\n"
        "resources { [t/codec.test.Assignment] { cluster_name: 'local/a' } }\n";
    assert_file_fails("f.txtpb", UDPAI_STR(text), UDPA_ERR_EXISTS,
                      "f.txtpb:2:1: resources[1]: resource 'local/a' of this type is already at "
                      "f.txtpb:1:1");
    udpa_bytes *bytes =
        bytes_of_type("envoy.service.discovery.v3.DiscoveryResponse", UDPAI_FORMAT_TEXT, text);
    assert_file_fails("f.pb", udpai_bytes_view(bytes), UDPA_ERR_EXISTS,
                      "f.pb: resources[1]: resource 'local/a' of this type is already at f.pb: "
                      "resources[0]");
    udpa_bytes_unref(bytes);
    /* one name, two types */
    assert_yaml_has("- {" TYPED
                    ", cluster_name: a}\n- {'@type': t/codec.test.Everything, name: a}\n",
                    "1:3 local/a, 2:3 local/a");
}

static void
a_bad_part_spoils_the_file(void **state)
{
    (void)state;
    assert_yaml_fails("{" TYPED ", cluster_name: a}\n---\nsome text\n",
                      "f.yaml:3:1: this is a string, but must be a resource");
    assert_yaml_fails("{" TYPED ", cluster_name: a}\n---\n{b: 1, b: 2}\n",
                      "f.yaml:3:8: key 'b' is already at f.yaml:3:2");
    assert_yaml_fails("- 1\n", "f.yaml:1:3: [0]: this is a number, but must be a resource");
    assert_yaml_fails("'@type': []", "f.yaml:1:10: '@type' must be a type URL, such as "
                                     "type.googleapis.com/google.protobuf.Duration");
    assert_file_fails(
        "f.json", UDPAI_STR("{\"@type\":\"" ASSIGNMENT "\",\"clusterName\":1}"), UDPA_ERR_INVAL,
        "f.json:1:68: cluster_name: this is a number, but must be a string, in quotes");
}

static void
binary_files_are_not_trusted(void **state)
{
    (void)state;
    assert_file_fails(
        "f.pb", UDPAI_STR("hello"), UDPA_ERR_MALFORMED,
        "f.pb: this is no envoy.service.discovery.v3.DiscoveryResponse in binary form");
    assert_file_fails("f.pb", UDPAI_STR("\x12\x02\x0a\x05"), UDPA_ERR_MALFORMED,
                      "f.pb: resources[0]: malformed Any");
    assert_file_fails(
        "f.pb", UDPAI_STR("\x12\x0a\x0a\x08x/no.One"), UDPA_ERR_NOT_FOUND,
        "f.pb: resources[0]: message type 'no.One' is not known: load its descriptors "
        "with --descriptors FILE");
    assert_file_fails("f.pb", UDPAI_STR("\x12\x00"), UDPA_ERR_INVAL,
                      "f.pb: resources[0]: there is no payload: 'resource' must be a message with "
                      "'@type'");
    const udpai_resource_file large = {"f.pb", UDPAI_STR("1234"), UDPAI_STR("local"), {0}, 3,
                                       false};
    udpai_resource_list list = {0};
    udpa_error *error = NULL;
    assert_int_equal(udpai_resource_file_read(test_schema, &large, &list, &error), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error),
                        "f.pb: 4 bytes are more than the 3 that are allowed");
    udpa_error_unref(error);
}

static udpa_err
read_and_drop(void *context)
{
    udpa_error *error = NULL;
    udpai_resource_list list = {0};
    udpa_err err = udpai_resource_file_read(test_schema, context, &list, &error);
    udpai_resource_list_done(&list);
    udpa_error_unref(error);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_resource_file yaml = {"f.yaml", UDPAI_STR(response_yaml), UDPAI_STR("local"), {0}, 0,
                                false};
    oom_torture(read_and_drop, &yaml);
    udpai_resource_file text = {
        "f.textproto",
        UDPAI_STR("resources { [t/codec.test.Assignment] { cluster_name: 'a' } }"),
        UDPAI_STR("local"),
        {0},
        0,
        false};
    oom_torture(read_and_drop, &text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suffixes_name_formats),
        cmocka_unit_test(empty_files_have_no_resources),
        cmocka_unit_test(typed_documents_name_themselves),
        cmocka_unit_test(names_get_their_namespace),
        cmocka_unit_test(xdstp_names_lie_in_the_namespace_of_their_authority),
        cmocka_unit_test(a_variant_says_for_whom_it_is),
        cmocka_unit_test(wrapped_documents_say_more),
        cmocka_unit_test(what_was_printed_keeps_its_name),
        cmocka_unit_test(what_was_printed_says_more_than_a_file_may),
        cmocka_unit_test(a_hidden_secret_is_told_as_such),
        cmocka_unit_test(wrappers_are_checked),
        cmocka_unit_test(responses_are_unwrapped),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(content_decides_the_version),
        cmocka_unit_test(doubles_name_both_places),
        cmocka_unit_test(a_bad_part_spoils_the_file),
        cmocka_unit_test(binary_files_are_not_trusted),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
