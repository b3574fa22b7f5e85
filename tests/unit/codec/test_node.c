/* SPDX-License-Identifier: Apache-2.0 */
/* What scalars mean, at the edges of the core schema and of JSON. */
#include "codec/tree.h"

#include "tests/harness/test.h"

static udpai_tree
scalar(const char *text, bool plain)
{
    return (udpai_tree){.kind = UDPAI_TREE_SCALAR, .plain = plain, .text = udpai_str_from(text)};
}

static void
numbers_are_those_of_json(void **state)
{
    (void)state;
    static const char *const right[] = {"0",   "-0",  "1",    "-12",  "10",     "0.5",
                                        "1e5", "1E5", "1e+5", "1e-5", "1.25e10"};
    static const char *const wrong[] = {"",   "-",   "+1",  "01",    "-01",  ".5",  "1.",
                                        "1e", "1e+", "0x1", "1_0",   "1.e5", "NaN", " 1",
                                        "1 ", "--1", "1-",  "1.2.3", "1e5.5"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(right); i++) {
        udpai_tree node = scalar(right[i], true);
        assert_true(udpai_tree_is_number(&node));
        node.plain = false;
        assert_false(udpai_tree_is_number(&node));
        assert_true(udpai_is_json_number(node.text));
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++)
        assert_false(udpai_is_json_number(udpai_str_from(wrong[i])));
}

static void
core_schema_words(void **state)
{
    (void)state;
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE"};
    static const char *const strings[] = {"nULL", "yes", "no", "on", "off", "y", "tRUE", "None"};
    bool value;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(nulls); i++) {
        udpai_tree node = scalar(nulls[i], true), quoted = scalar(nulls[i], false);
        assert_true(udpai_tree_is_null(&node));
        assert_false(udpai_tree_is_null(&quoted));
        assert_string_equal(udpai_tree_kind_text(&node), "null");
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bools); i++) {
        udpai_tree node = scalar(bools[i], true), quoted = scalar(bools[i], false);
        assert_true(udpai_tree_is_bool(&node, &value));
        assert_int_equal(value, i < 3);
        assert_false(udpai_tree_is_bool(&quoted, &value));
        assert_string_equal(udpai_tree_kind_text(&node), "true or false");
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(strings); i++) {
        udpai_tree node = scalar(strings[i], true);
        assert_false(udpai_tree_is_null(&node));
        assert_false(udpai_tree_is_bool(&node, &value));
        assert_string_equal(udpai_tree_kind_text(&node), "a string");
    }
}

static void
finds_by_key(void **state)
{
    (void)state;
    const udpai_tree a = scalar("a", true), b = scalar("b", true);
    const udpai_entry entries[] = {{&a, &b}, {&b, &a}};
    const udpai_tree map = {.kind = UDPAI_TREE_MAP, .n = 2, .entries = entries};
    assert_ptr_equal(udpai_tree_find(&map, UDPAI_STR("b")), &entries[1]);
    assert_null(udpai_tree_find(&map, UDPAI_STR("c")));
    assert_null(udpai_tree_find(&a, UDPAI_STR("a")));
    assert_string_equal(udpai_tree_kind_text(&map), "a map");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_json),
        cmocka_unit_test(core_schema_words),
        cmocka_unit_test(finds_by_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
