/* SPDX-License-Identifier: Apache-2.0 */
/* Trees to YAML: how it looks, and that it is read back as the same tree. */
#include "codec/yaml_writer.h"

#include "codec/json_text.h"
#include <stdio.h>

#include "codec/reader.h"
#include "tests/harness/test.h"

static udpai_documents *
read_as(udpai_format format, udpai_str text)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    const udpai_source source = {.name = "x", .text = text, .format = format};
    if (udpai_documents_read(&documents, &source, &error))
        fail_msg("%s\n  for %.*s", udpa_error_message(error), (int)text.len, text.data);
    assert_int_equal(documents->roots.n, 1);
    return documents;
}

/* YAML's plain scalars are compared by what they mean where a string is wanted: their text. */
static void
assert_same_tree(const udpai_tree *json, const udpai_tree *yaml)
{
    assert_int_equal(json->kind, yaml->kind);
    if (json->kind == UDPAI_TREE_SCALAR) {
        assert_true(udpai_str_eq(json->text, yaml->text));
        bool means_something = udpai_tree_is_null(yaml) || udpai_tree_is_number(yaml);
        bool value;
        means_something |= udpai_tree_is_bool(yaml, &value);
        assert_int_equal(json->plain, means_something);
        return;
    }
    assert_int_equal(json->n, yaml->n);
    for (uint32_t i = 0; i < json->n; i++) {
        if (json->kind == UDPAI_TREE_LIST) {
            assert_same_tree(json->items[i], yaml->items[i]);
        } else {
            assert_true(udpai_str_eq(json->entries[i].key->text, yaml->entries[i].key->text));
            assert_same_tree(json->entries[i].value, yaml->entries[i].value);
        }
    }
}

/* Returns the YAML, to be freed. */
static char *
written(udpai_str json_text)
{
    udpai_documents *json = read_as(UDPAI_FORMAT_JSON, json_text);
    udpai_strbuf out = {0};
    udpai_yaml_write(&out, json->roots.items[0]);
    char *text = udpai_strbuf_take(&out);
    assert_non_null(text);
    udpai_documents *yaml = read_as(UDPAI_FORMAT_YAML, udpai_str_from(text));
    assert_same_tree(json->roots.items[0], yaml->roots.items[0]);
    udpai_documents_free(yaml);
    udpai_documents_free(json);
    return text;
}

static void
assert_written(const char *json, const char *yaml)
{
    char *text = written(udpai_str_from(json));
    assert_string_equal(text, yaml);
    udpai_free(text);
}

static void
blocks(void **state)
{
    (void)state;
    assert_written("{}", "{}\n");
    assert_written("[]", "[]\n");
    assert_written("5", "5\n");
    assert_written("\"x\"", "x\n");
    assert_written("{\"a\":1,\"b\":{\"c\":null,\"d\":[]},\"e\":[1,[2,[3]],{\"f\":{},\"g\":-0.5}]}",
                   "a: 1\n"
                   "b:\n"
                   "  c: null\n"
                   "  d: []\n"
                   "e:\n"
                   "  - 1\n"
                   "  - - 2\n"
                   "    - - 3\n"
                   "  - f: {}\n"
                   "    g: -0.5\n");
    assert_written("[{\"a\":[{\"b\":1},{\"c\":2}]}]", "- a:\n"
                                                      "    - b: 1\n"
                                                      "    - c: 2\n");
}

static void
strings_are_quoted_where_needed(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "a",
        "com.acme/x",
        "type.googleapis.com/a.B",
        "1.500s",
        "3s",
        "a b",
        "a:b",
        "/path",
        "Yesterday",
        "x_y-z",
        "_",
        "nan",
        "x=1,y",
        "http://h:80/p",
        "a\\\\b",
        "nope",
        "tru",
    };
    static const char *const quoted[] = {
        "",     "1",  "1.10", "0755", "true", "True", "NO",   "on",  "off",  "y",
        "null", "~",  "-",    "- a",  "a: b", "a:",   " a",   "a ",  "a #b", "#a",
        "&a",   "*a", "!a",   "|",    ">",    "@a",   "(a)",  "%a",  "`a",   "'a",
        "{a",   "[a", "]",    "1e3",  "0x1f", ".5",   ".inf", "1_0", "1:30", "2001-01-01",
        "=",    "<<", "?",    "a  b", ".s",   "1.s",  "..",   "...", "---",  "a\\tb",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plain); i++) {
        char json[80], yaml[80];
        snprintf(json, sizeof(json), "{\"k\":\"%s\"}", plain[i]);
        snprintf(yaml, sizeof(yaml), "k: %s\n", strcmp(plain[i], "a\\\\b") ? plain[i] : "a\\b");
        assert_written(json, yaml);
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(quoted); i++) {
        char json[80], yaml[80];
        snprintf(json, sizeof(json), "{\"k\":\"%s\"}", quoted[i]);
        snprintf(yaml, sizeof(yaml), "k: \"%s\"\n", quoted[i]);
        assert_written(json, yaml);
    }
    assert_written("{\"true\":1,\"@type\":2,\"a b\":3}", "\"true\": 1\n\"@type\": 2\na b: 3\n");
}

static void
lines_become_blocks(void **state)
{
    (void)state;
    assert_written("{\"k\":\"a\\nb\\n\"}", "k: |\n  a\n  b\n");
    assert_written("{\"k\":\"a\\nb\"}", "k: |-\n  a\n  b\n");
    assert_written("{\"k\":\"a\\n\\n  b: #\\n\"}", "k: |\n  a\n\n    b: #\n");
    assert_written("[\"a\\n---\\nb\"]", "- |-\n  a\n  ---\n  b\n");
    assert_written("{\"k\":\"a\\n\\n\"}", "k: \"a\\n\\n\"\n");
    assert_written("{\"k\":\" a\\nb\"}", "k: \" a\\nb\"\n");
    assert_written("{\"k\":\"\\n\"}", "k: \"\\n\"\n");
    assert_written("{\"k\":\"a\\r\\nb\"}", "k: \"a\\u000d\\nb\"\n");
}

static void
odd_characters_are_escaped(void **state)
{
    (void)state;
    assert_written("[\"\\u0000\\u0007\\u007f\\u0085\\u2028\\u2029\\ufeff\"]",
                   "- \"\\u0000\\u0007\\u007f\\u0085\\u2028\\u2029\\ufeff\"\n");
    assert_written("[\"é – 日本 😀\"]", "- \"é – 日本 😀\"\n");
    assert_written("[\"\\\"q\\\"\"]", "- \"\\\"q\\\"\"\n");
}

static void
any_text_comes_back(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",        "b",
        "1",        "0",
        ".",        "-",
        ":",        " ",
        "#",        "\n",
        "\t",       "\"",
        "'",        "\\",
        "{",        "}",
        "[",        "]",
        ",",        "&",
        "*",        "!",
        "|",        ">",
        "%",        "@",
        "`",        "?",
        "~",        "=",
        "<<",       "é",
        "\xc2\x85", "\xe2\x80\xa8",
        "\r",       "\x01",
        "s",        "e",
        "---",      "x",
        "true",     "null",
        "/",        "_",
    };
    uint64_t seed = 7;
    for (int round = 0; round < 3000; round++) {
        udpai_strbuf text = {0}, json = {0};
        for (size_t n = test_random_below(&seed, 7); n > 0; n--)
            udpai_strbuf_puts(&text, pieces[test_random_below(&seed, UDPAI_ARRAY_LEN(pieces))]);
        udpai_strbuf_puts(&json, "[{\"k\":");
        udpai_json_put_string(&json, udpai_strbuf_view(&text));
        udpai_strbuf_puts(&json, ",");
        udpai_json_put_string(&json, udpai_strbuf_view(&text));
        udpai_strbuf_puts(&json, ":[");
        udpai_json_put_string(&json, udpai_strbuf_view(&text));
        udpai_strbuf_puts(&json, "]}]");
        char *yaml = written(udpai_strbuf_view(&json));
        udpai_free(yaml);
        udpai_strbuf_done(&text);
        udpai_strbuf_done(&json);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(strings_are_quoted_where_needed),
        cmocka_unit_test(lines_become_blocks),
        cmocka_unit_test(odd_characters_are_escaped),
        cmocka_unit_test(any_text_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
