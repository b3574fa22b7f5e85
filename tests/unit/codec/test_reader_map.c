/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a document: keys that stand twice, and merges. */
#include "codec/reader_map.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "codec/reader.h"
#include "tests/harness/test.h"

static udpa_err
read_yaml(const char *text, udpai_documents **ret_documents, udpa_error **ret_error)
{
    const udpai_source source = {
        .name = "x", .text = udpai_str_from(text), .format = UDPAI_FORMAT_YAML};
    return udpai_documents_read(ret_documents, &source, ret_error);
}

static void
assert_fails(const char *text, const char *message)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(read_yaml(text, &documents, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), message);
    udpa_error_unref(error);
}

static void
a_key_stands_once(void **state)
{
    (void)state;
    assert_fails("a: 1\nb: 2\na: 3", "x:3:1: key 'a' is already at x:1:1");
    assert_fails("{\"1\": x, 1: y}", "x:1:10: key '1' is already at x:1:2");
    assert_fails("&k a: 1\n*k : 2", "x:1:4: key 'a' is already at x:1:4");
    assert_fails("a: {b: {c: 1, c: 2}}", "x:1:15: key 'c' is already at x:1:9");
}

static void
also_among_many(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    for (int i = 0; i < 3000; i++)
        udpai_strbuf_printf(&text, "k%d: %d\n", i, i);
    char *yaml = udpai_strbuf_take(&text);
    udpai_documents *documents = NULL;
    assert_ok(read_yaml(yaml, &documents, NULL));
    const udpai_tree *root = documents->roots.items[0];
    assert_int_equal(root->n, 3000);
    for (uint32_t i = 0; i < 3000; i += 117) {
        assert_int_equal(atol(root->entries[i].value->text.data), i);
        assert_ptr_equal(udpai_tree_find(root, root->entries[i].key->text), &root->entries[i]);
    }
    udpai_documents_free(documents);
    char *last = strstr(yaml, "k2999");
    memcpy(last, "k1234", 5);
    assert_fails(yaml, "x:3000:1: key 'k1234' is already at x:1235:1");
    udpai_free(yaml);
}

/* Entries of the root's last value as "key=value,…". */
static void
assert_last_is(const char *yaml, const char *expected)
{
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    if (read_yaml(yaml, &documents, &error))
        fail_msg("%s", udpa_error_message(error));
    const udpai_tree *root = documents->roots.items[0];
    const udpai_tree *map = root->entries[root->n - 1].value;
    udpai_strbuf text = {0};
    for (uint32_t i = 0; i < map->n; i++)
        udpai_strbuf_printf(&text, "%s=%s,", map->entries[i].key->text.data,
                            map->entries[i].value->text.data);
    char *found = udpai_strbuf_take(&text);
    assert_string_equal(found, expected);
    udpai_free(found);
    udpai_documents_free(documents);
}

static void
merges_add_what_is_missing(void **state)
{
    (void)state;
    assert_last_is("d: &d {a: 1, b: 2}\nx: {b: 3, <<: *d, c: 4}", "b=3,c=4,a=1,");
    assert_last_is("d: &d {a: 1}\ne: &e {a: 2, b: 2}\nx: {<<: [*d, *e]}", "a=1,b=2,");
    assert_last_is("d: &d {a: 1}\nx: {<<: *d, <<: {b: 2}}", "a=1,b=2,");
    assert_last_is("x: {<<: {}}", "");
    assert_last_is("x: {'<<': v}", "<<=v,");
    assert_last_is("d: &d {a: 1}\ne: &e {<<: *d, b: 2}\nx: {<<: *e}", "b=2,a=1,");
}

static void
merges_take_maps_only(void **state)
{
    (void)state;
    assert_fails("x: {<<: 1}", "x:1:5: '<<' merges a map or a list of maps, not a number");
    assert_fails("x: {<<: [{}, y]}", "x:1:5: '<<' merges a map or a list of maps, not a list");
}

/* Each map merges the one before it twice: what they hold grows as slowly as their keys do. */
static void
merges_are_bounded(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, "m0: &m0 {");
    for (int i = 0; i < 1000; i++)
        udpai_strbuf_printf(&text, "k%d: 1, ", i);
    udpai_strbuf_puts(&text, "}\n");
    for (int i = 1; i < 3000; i++)
        udpai_strbuf_printf(&text, "m%d: {<<: *m0}\n", i);
    char *yaml = udpai_strbuf_take(&text);
    udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    assert_int_equal(read_yaml(yaml, &documents, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "the aliases expand to too much text"));
    udpa_error_unref(error);
    udpai_free(yaml);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_stands_once),          cmocka_unit_test(also_among_many),
        cmocka_unit_test(merges_add_what_is_missing), cmocka_unit_test(merges_take_maps_only),
        cmocka_unit_test(merges_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
