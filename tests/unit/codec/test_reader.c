/* SPDX-License-Identifier: Apache-2.0 */
/* YAML and JSON text to trees: places, scalars, aliases, and every bound. */
#include "codec/reader.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static udpai_documents *
read_ok(udpai_format format, const char *text)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    const udpai_source source = {.name = "x", .text = udpai_str_from(text), .format = format};
    if (udpai_documents_read(&documents, &source, &error))
        fail_msg("%s\n  for %s", udpa_error_message(error), text);
    return documents;
}

static void
assert_source_fails(const udpai_source *source, udpa_err code, const char *message)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(udpai_documents_read(&documents, source, &error), code);
    assert_null(documents);
    assert_non_null(error);
    assert_string_equal(udpa_error_message(error), message);
    udpa_error_unref(error);
}

static void
assert_fails(udpai_format format, const char *text, const char *message)
{
    const udpai_source source = {.name = "x", .text = udpai_str_from(text), .format = format};
    assert_source_fails(&source, UDPA_ERR_INVAL, message);
}

static void
assert_node(const udpai_tree *node, udpai_tree_kind kind, uint32_t line, uint32_t column)
{
    assert_int_equal(node->kind, kind);
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
    assert_false(node->open);
}

static void
nodes_know_their_places(void **state)
{
    (void)state;
    udpai_documents *documents = read_ok(UDPAI_FORMAT_YAML, "a: 1.10\n"
                                                            "é:   \"x\"\n"
                                                            "c:\n"
                                                            "  - 'y'\n"
                                                            "  - [z, &k w, *k]\n");
    assert_int_equal(documents->roots.n, 1);
    const udpai_tree *root = documents->roots.items[0];
    assert_node(root, UDPAI_TREE_MAP, 1, 1);
    assert_int_equal(root->n, 3);
    assert_node(root->entries[0].key, UDPAI_TREE_SCALAR, 1, 1);
    assert_node(root->entries[0].value, UDPAI_TREE_SCALAR, 1, 4);
    assert_str(root->entries[0].value->text, "1.10");
    assert_true(root->entries[0].value->plain);
    assert_node(root->entries[1].value, UDPAI_TREE_SCALAR, 2, 6);
    assert_false(root->entries[1].value->plain);
    const udpai_tree *list = root->entries[2].value;
    assert_node(list, UDPAI_TREE_LIST, 4, 3);
    assert_node(list->items[0], UDPAI_TREE_SCALAR, 4, 5);
    assert_node(list->items[1], UDPAI_TREE_LIST, 5, 5);
    assert_ptr_equal(list->items[1]->items[1], list->items[1]->items[2]);
    assert_int_equal(root->height, 3);
    udpai_documents_free(documents);
}

static void
documents_are_counted(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        size_t n;
    } cases[] = {
        {"", 0},
        {"  \n\n", 0},
        {"# only\n# comments\n", 0},
        {"a: 1", 1},
        {"---\na: 1", 1},
        {"a: 1\n---\nb: 2", 2},
        {"---\n---\n", 2},
        {"a\n...\nb\n", 2},
        {"--- a\n--- b\n--- c", 3},
        {"...\n", 0},
        {"\xef\xbb\xbf"
         "a: 1",
         1},
        {"a: 1\r\nb: 2\r\n", 1},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_documents *documents = read_ok(UDPAI_FORMAT_YAML, cases[i].text);
        assert_int_equal(documents->roots.n, cases[i].n);
        udpai_documents_free(documents);
    }
    udpai_documents *blank = read_ok(UDPAI_FORMAT_JSON, " \r\n\t");
    assert_int_equal(blank->roots.n, 0);
    udpai_documents_free(blank);
}

static void
anchors_belong_to_one_document(void **state)
{
    (void)state;
    assert_fails(UDPAI_FORMAT_YAML, "a: &x 1\n---\nb: *x",
                 "x:3:5: this alias has no anchor before it");
    assert_fails(UDPAI_FORMAT_YAML, "a: *x\nb: &x 1", "x:1:5: this alias has no anchor before it");
    assert_fails(UDPAI_FORMAT_YAML, "&x [1, {a: *x}]",
                 "x:1:13: this alias stands for what it is part of");
    udpai_documents *documents = read_ok(UDPAI_FORMAT_YAML, "[&x 1, *x, &x 2, *x]");
    const udpai_tree *root = documents->roots.items[0];
    assert_str(root->items[1]->text, "1");
    assert_str(root->items[3]->text, "2");
    udpai_documents_free(documents);
}

static void
tags(void **state)
{
    (void)state;
    udpai_documents *documents = read_ok(
        UDPAI_FORMAT_YAML, "[!!str 1, ! 2, !!int '3', !!float 4, !!bool 'true', !!null '', !!map "
                           "{}, !!seq [], !<tag:yaml.org,2002:str> 5, !!str ]");
    const udpai_tree *root = documents->roots.items[0];
    static const bool plain[] = {false, false, true, true, true, true};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(plain); i++)
        assert_int_equal(root->items[i]->plain, plain[i]);
    assert_false(root->items[8]->plain);
    assert_false(root->items[9]->plain);
    assert_str(root->items[9]->text, "");
    udpai_documents_free(documents);
    assert_fails(UDPAI_FORMAT_YAML, "a: !foo b",
                 "x:1:9: tag '!foo' is not supported here: leave it "
                 "out");
    assert_fails(UDPAI_FORMAT_YAML, "a: !!binary aGk=",
                 "x:1:13: tag 'tag:yaml.org,2002:binary' is not supported here: leave it out");
    assert_fails(UDPAI_FORMAT_YAML, "!!set {a}",
                 "x:1:7: tag 'tag:yaml.org,2002:set' is not supported here: leave it out");
    assert_fails(UDPAI_FORMAT_YAML, "!!seq {a: 1}",
                 "x:1:7: tag 'tag:yaml.org,2002:seq' is not supported here: leave it out");
}

static void
keys_are_scalars(void **state)
{
    (void)state;
    assert_fails(UDPAI_FORMAT_YAML, "? [a]\n: b", "x:1:4: a key must be a scalar");
    assert_fails(UDPAI_FORMAT_YAML, "{}: 1", "x:1:1: a key must be a scalar");
    udpai_documents *documents = read_ok(UDPAI_FORMAT_YAML, "? a\n? b\n: c");
    const udpai_tree *root = documents->roots.items[0];
    assert_int_equal(root->n, 2);
    assert_true(udpai_tree_is_null(root->entries[0].value));
    udpai_documents_free(documents);
}

/* What the parser says of places, and what is made of it. */
static void
scalars_have_their_text(void **state)
{
    (void)state;

    static const struct {
        const char *yaml, *text;
    } cases[] = {
        {"k: a b\n   c # no\n", "a b c"},
        {"k: 'a''''b'", "a''b"},
        {"k: \"a\\\n\n  b\\n\"", "a\nb\n"},
        {"'é': \"日\\u65e5\"", "日日"},
        {"k: | # |-\n\n  a\n   b\n\nj: 1", "\na\n b\n"},
        {"k: >-\r\n  a\r\n  b\r\n", "a b"},
        {"k: >\n  z\n  \n   #x\n", "z\n\n #x\n"},
        {"k:\n  - |1-\n     x\n", "  x"},
        {"k: !!str &a |+\n  x\n\n", "x\n\n"},
        {"k: {v: 'x\n    y'}", "x y"},
        {"\xef\xbb\xbfk: 'v'", "v"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_documents *documents = read_ok(UDPAI_FORMAT_YAML, cases[i].yaml);
        const udpai_tree *node = documents->roots.items[0]->entries[0].value;
        while (node->kind != UDPAI_TREE_SCALAR)
            node = node->kind == UDPAI_TREE_MAP ? node->entries[0].value : node->items[0];
        assert_str(node->text, cases[i].text);
        udpai_documents_free(documents);
    }
}

static void
json_is_json(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"a\":1,}",
        "[1,]",
        "{'a':1}",
        "{a:1}",
        "{\"a\":b}",
        "{\"a\":01}",
        "{\"a\":+1}",
        "[.5]",
        "[1.]",
        "[NaN]",
        "[True]",
        "{} x",
        "{}{}",
        "{}\n---\n{}",
        "{} # c",
        "// c\n{}",
        "\"\\x41\"",
        "\"\\q\"",
        "\"a\tb\"",
        "\"a\nb\"",
        "{\"a\":}",
        "{\"a\" 1}",
        "[1 2]",
        "[1,,2]",
        "[&x 1]",
        "[*x]",
        "[!!str 1]",
        "%YAML 1.2\n{}",
        "- a",
        "a: 1",
        "\"abc",
        "{\"a\":1}}",
        "]",
        "{1:1}",
        "[tru]",
        "{} ...",
        "[\"\\ud83d\"]",
        "[\"\\ude00\\ud83d\"]",
        "[-]",
        "[1e]",
        "{\"a\"}",
        "{",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        udpai_documents *documents = NULL;
        const udpai_source source = {
            .name = "x", .text = udpai_str_from(wrong[i]), .format = UDPAI_FORMAT_JSON};
        udpa_error *error = NULL;
        if (udpai_documents_read(&documents, &source, &error) != UDPA_ERR_INVAL)
            fail_msg("%s was read", wrong[i]);
        assert_int_equal(strncmp(udpa_error_message(error), "x:", 2), 0);
        udpa_error_unref(error);
    }
    udpai_documents *documents = read_ok(
        UDPAI_FORMAT_JSON, "{\"a\":\"\\ud83d\\ude00\\u0000\\/\\b\",\"<<\":{\"c\":-0.5e+7}}\r\n");
    const udpai_tree *root = documents->roots.items[0];
    assert_int_equal(root->entries[0].value->text.len, 7);
    assert_memory_equal(root->entries[0].value->text.data, "😀\0/\b", 7);
    assert_str(root->entries[1].key->text, "<<");
    udpai_documents_free(documents);
}

static void
only_utf8_is_text(void **state)
{
    (void)state;
    assert_fails(UDPAI_FORMAT_YAML, "a: b\nn: é\xff", "x:2:5: this byte is not UTF-8 text");
    assert_fails(UDPAI_FORMAT_JSON, "\"\xed\xa0\x80\"", "x:1:2: this byte is not UTF-8 text");
    const udpai_source zero = {.name = "x", .text = {"a: b\0c", 6}, .format = UDPAI_FORMAT_YAML};
    assert_source_fails(&zero, UDPA_ERR_INVAL, "x:1:5: this byte is not UTF-8 text");
    const udpai_source utf16 = {.text = {"\xff\xfe{\0}\0", 6}, .format = UDPAI_FORMAT_JSON};
    assert_source_fails(&utf16, UDPA_ERR_INVAL, "input:1:1: this byte is not UTF-8 text");
}

/* The words are the parser's, and change with its version. */
static void
assert_fails_at(udpai_format format, const char *text, const char *place)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    const udpai_source source = {.name = "x", .text = udpai_str_from(text), .format = format};
    assert_int_equal(udpai_documents_read(&documents, &source, &error), UDPA_ERR_INVAL);
    if (!udpai_str_starts(udpai_str_from(udpa_error_message(error)), udpai_str_from(place)))
        fail_msg("'%s' does not begin with '%s'", udpa_error_message(error), place);
    assert_true(strlen(udpa_error_message(error)) > strlen(place));
    udpa_error_unref(error);
}

static void
syntax_errors_have_places(void **state)
{
    (void)state;
    assert_fails_at(UDPAI_FORMAT_YAML, "a:\n  b: c: d\n", "x:2:7: ");
    assert_fails_at(UDPAI_FORMAT_YAML, "a:\n  - b\n  - 'c\n", "x:3:");
    assert_fails_at(UDPAI_FORMAT_YAML, "a: 1\n---\nb: @c\n", "x:3:4: ");
    assert_fails_at(UDPAI_FORMAT_YAML, "a: 1\nb: |0c\n", "x:2:");
    assert_fails_at(UDPAI_FORMAT_JSON, "{\n  \"a\": 1,\n  \"b\": [1, 02]\n}", "x:3:12: ");
}

static void
size_is_bounded(void **state)
{
    (void)state;
    udpai_source source = {
        .name = "x", .text = UDPAI_STR("a: 12345"), .format = UDPAI_FORMAT_YAML, .max_size = 8};
    udpai_documents *documents = NULL;
    assert_ok(udpai_documents_read(&documents, &source, NULL));
    udpai_documents_free(documents);
    source.max_size = 7;
    assert_source_fails(&source, UDPA_ERR_LIMIT, "x: 8 bytes are more than the 7 that are allowed");
}

/* n times the opening, and as many closings. */
static char *
nested(size_t n, const char *opening, const char *closing)
{
    udpai_strbuf text = {0};
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_puts(&text, opening);
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_puts(&text, closing);
    return udpai_strbuf_take(&text);
}

static void
depth_is_bounded(void **state)
{
    (void)state;
    char *text = nested(64, "[", "]");
    udpai_documents_free(read_ok(UDPAI_FORMAT_JSON, text));
    udpai_free(text);
    text = nested(65, "[", "]");
    assert_fails(UDPAI_FORMAT_JSON, text, "x:1:65: the document is nested too deep");
    udpai_free(text);
    text = nested(200000, "[", "");
    assert_fails(UDPAI_FORMAT_YAML, text, "x:1:65: the document is nested too deep");
    udpai_free(text);
    text = nested(100000, "{\"a\":", "");
    assert_fails(UDPAI_FORMAT_JSON, text, "x:1:321: the document is nested too deep");
    udpai_free(text);
    text = nested(100000, "- ", "");
    assert_fails(UDPAI_FORMAT_YAML, text, "x:1:129: the document is nested too deep");
    udpai_free(text);
    text = nested(30000, "{a: ", "");
    assert_fails(UDPAI_FORMAT_YAML, text, "x:1:257: the document is nested too deep");
    udpai_free(text);
}

static void
aliases_count_for_depth(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, "[&l0 [x]");
    for (int i = 1; i < 63; i++)
        udpai_strbuf_printf(&text, ", &l%d [*l%d]", i, i - 1);
    udpai_strbuf_puts(&text, ", [*l61]]");
    char *fits = udpai_strbuf_take(&text);
    udpai_documents_free(read_ok(UDPAI_FORMAT_YAML, fits));
    char *last = strstr(fits, "[*l61]]");
    memcpy(last, "[*l62]]", 7);
    const udpai_source source = {
        .name = "x", .text = udpai_str_from(fits), .format = UDPAI_FORMAT_YAML};
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(udpai_documents_read(&documents, &source, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "nested too deep with this alias"));
    udpa_error_unref(error);
    udpai_free(fits);
}

static char *
billion_laughs(int levels, const char *separator)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]%s",
                        separator);
    for (int i = 1; i < levels; i++)
        udpai_strbuf_printf(
            &text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]%s", i, i,
            i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, separator);
    return udpai_strbuf_take(&text);
}

static void
expansion_is_bounded(void **state)
{
    (void)state;
    char *text = billion_laughs(10, "\n");
    const udpai_source source = {
        .name = "x", .text = udpai_str_from(text), .format = UDPAI_FORMAT_YAML};
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(udpai_documents_read(&documents, &source, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "the aliases expand to too much text"));
    udpa_error_unref(error);
    udpai_free(text);
    text = billion_laughs(4, "\n"); /* 9^4 scalars are nothing */
    udpai_documents_free(read_ok(UDPAI_FORMAT_YAML, text));
    udpai_free(text);
}

/* Many documents, each within the bound. */
static void
documents_share_the_bound(void **state)
{
    (void)state;
    char *one = billion_laughs(5, "\n");
    udpai_strbuf all = {0};
    for (int i = 0; i < 40; i++)
        udpai_strbuf_printf(&all, "---\n%s", one);
    char *text = udpai_strbuf_take(&all);
    const udpai_source source = {
        .name = "x", .text = udpai_str_from(text), .format = UDPAI_FORMAT_YAML};
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(udpai_documents_read(&documents, &source, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "the aliases expand to too much text"));
    udpa_error_unref(error);
    udpai_free(one);
    udpai_free(text);
}

static udpa_err
read_everything(void *context)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    const udpai_source *source = context;
    udpa_err err = udpai_documents_read(&documents, source, &error);
    udpai_documents_free(documents);
    udpa_error_unref(error);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, "a: &x {k: v, l: [1, 2, 3]}\nb: {<<: *x, m: *x}\n---\n");
    for (int i = 0; i < 40; i++)
        udpai_strbuf_printf(&text, "key%d: &anchor%d v\n", i, i);
    char *yaml = udpai_strbuf_take(&text);
    udpai_source source = {.name = "x", .text = udpai_str_from(yaml), .format = UDPAI_FORMAT_YAML};
    oom_torture(read_everything, &source);
    udpai_free(yaml);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_know_their_places),
        cmocka_unit_test(documents_are_counted),
        cmocka_unit_test(anchors_belong_to_one_document),
        cmocka_unit_test(tags),
        cmocka_unit_test(keys_are_scalars),
        cmocka_unit_test(scalars_have_their_text),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(only_utf8_is_text),
        cmocka_unit_test(syntax_errors_have_places),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(aliases_count_for_depth),
        cmocka_unit_test(expansion_is_bounded),
        cmocka_unit_test(documents_share_the_bound),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
