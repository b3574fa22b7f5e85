/* SPDX-License-Identifier: Apache-2.0 */
/* Which line is named when YAML is indented wrongly, and why. */
#include "codec/indentation.h"

#include <stdio.h>

#include "codec/reader.h"
#include "tests/harness/test.h"

/* What is wrong is made of this by other lines. */
#define NODE                                                                                       \
    "node:\n"                                                                                      \
    "  id: edge\n"                                                                                 \
    "  locality:\n"                                                                                \
    "    region: eu\n"                                                                             \
    "    zone: a\n"
#define SOURCES                                                                                    \
    "static_resources:\n"                                                                          \
    "  config_sources:\n"                                                                          \
    "    - name: core\n"                                                                           \
    "      udpa:\n"                                                                                \
    "        address: a:1\n"

static void
assert_says(const char *yaml, const char *expected)
{
    udpai_documents *documents = NULL;
    udpa_error *error = NULL;
    const udpai_source source = {
        .name = "x", .text = udpai_str_from(yaml), .format = UDPAI_FORMAT_YAML};
    assert_int_equal(udpai_documents_read(&documents, &source, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), expected);
    udpa_error_unref(error);
}

static void
a_key_among_neighbours(void **state)
{
    (void)state;
    assert_says("node:\n  id: edge\n   cluster: a\n  locality: {}\n",
                "x:3:4: this line is indented by 3 spaces, its neighbours by 2: line 2");
    assert_says("node:\n  id: edge\n cluster: a\n  locality: {}\n",
                "x:3:2: this line is indented by 1 space, its neighbours by 2: line 2");
    assert_says(NODE "     sub_zone: b\n",
                "x:6:6: this line is indented by 5 spaces, its neighbours by 4: line 5");
    assert_says(NODE "   sub_zone: b\n",
                "x:6:4: this line is indented by 3 spaces, its neighbours by 4: line 5");
    assert_says(NODE " limits: {}\n",
                "x:6:2: this line is indented by 1 space, its neighbours by 2: line 3");
    assert_says(SOURCES "   directories: []\n",
                "x:6:4: this line is indented by 3 spaces, its neighbours by 2: line 2");
}

/* The parser sees it in the second one. */
static void
the_first_of_the_neighbours(void **state)
{
    (void)state;
    assert_says("node:\n   id: edge\n  cluster: a\n  locality:\n    zone: a\n",
                "x:2:4: this line is indented by 3 spaces, its neighbours by 2: line 3");
}

static void
a_tab(void **state)
{
    (void)state;
    assert_says("node:\n\tid: edge\n", "x:2:1: this line is indented with a tab: write spaces");
    assert_says("node:\n  id: edge\n  \tcluster: a\n",
                "x:3:3: this line is indented with a tab: write spaces");
    assert_says("a:\n  \t- b\n", "x:2:3: this line is indented with a tab: write spaces");
}

static void
an_item_at_another_level(void **state)
{
    (void)state;
    assert_says("sockets:\n  - address: a\nstatic_resources:\n  config_sources:\n"
                "  - name: core\n      udpa: {}\n",
                "x:5:3: the keys of this item are indented by 4 spaces, the next one by 6: line 6");
    assert_says("static_resources:\n  config_sources:\n   - name: core\n      udpa: {}\n",
                "x:3:4: the keys of this item are indented by 5 spaces, the next one by 6: line 4");
    assert_says("static_resources:\n  config_sources:\n      - name: core\n      udpa: {}\n",
                "x:3:7: the keys of this item are indented by 8 spaces, the next one by 6: line 4");
    assert_says("static_resources:\n  config_sources:\n- name: core\n",
                "x:3:1: this list item is indented by 0 spaces, like the key in line 1: indent it "
                "like the list's other items, or by more");
}

static void
a_key_of_an_item(void **state)
{
    (void)state;
    assert_says(SOURCES "    standby_for: {}\n",
                "x:6:5: this key is indented by 4 spaces, like the '-' in line 3: indent keys of "
                "that item by more");
    assert_says(SOURCES "     standby_for: {}\n",
                "x:6:6: this line is indented by 5 spaces, its neighbours by 6: line 4");
    assert_says("a:\n  - name: core\n      udpa: {}\n",
                "x:3:7: this line is indented by 6 spaces, its neighbours by 4: line 2");
}

static void
a_key_that_left_its_block(void **state)
{
    (void)state;
    assert_says("a:\n  keepalive:\n  interval: 5s\n    timeout: 2s\n",
                "x:3:3: this line is indented by 2 spaces, like the key in line 2, which then has "
                "no value: indent by more what belongs to it");
}

static void
a_space_that_is_missing(void **state)
{
    (void)state;
    assert_says("node:\n  id:edge\n  cluster: a\n", "x:2:3: there must be a space behind ':'");
    assert_says("node:\n  id: edge\n  cluster:a\n", "x:3:3: there must be a space behind ':'");
    assert_says("a:\n  - name:core\n    udpa: {}\n", "x:2:5: there must be a space behind ':'");
    assert_says(
        "a:\n  b: c\n  http://d\n  e: f\n",
        "x:3:3: this line has no 'key:': if it continues the one before, indent it by more");
    assert_says("a:\n  -name: core\n    udpa: {}\n", "x:2:3: there must be a space behind '-'");
}

/* None of this is indented wrongly, and lines in it look so. */
static void
what_lines_cannot_tell_is_passed_over(void **state)
{
    static const char *const before[] = {
        "a: |\n    b: c\n     d: e\n",    "a: >-\n  - b\n\n      - c\n",
        "a: {b: [\n  1,\n    2]}\n",      "a: ['it''s', \"\\\"]\",\n# ]\n  b]\n",
        "a: 'b\n   c: d\n e'\n",          "a:\n- b: c\n  d: e\n- f\n",
        "a:\n  - - b\n    - c\n  - d\n",  "\"a: b\": &x !!map\n  c: d\ne: *x\n",
        "a: b # c:\n# d\n\n   # e\nf:\n", "a:\n  b\n    c\n",
        "a:\n  b: c\n---\n  d: e\n---\n", "a:\n  -\n    b: c\n  - |\n   d: e\n",
    };
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(before); i++) {
        char yaml[200], expected[200];
        unsigned line = 1;
        for (const char *c = before[i]; *c; c++)
            line += *c == '\n';
        snprintf(yaml, sizeof(yaml), "%sx:\n  y: 1\n   z: 2\n", before[i]);
        snprintf(expected, sizeof(expected),
                 "x:%u:4: this line is indented by 3 spaces, its neighbours by 2: line %u",
                 line + 2, line + 1);
        assert_says(yaml, expected);
    }
}

static void
other_mistakes_keep_their_words(void **state)
{
    udpai_misindented found;
    (void)state;
    assert_false(udpai_indentation_explain(UDPAI_STR("a:\n  b: c: d\n"), 2, &found));
    assert_false(udpai_indentation_explain(UDPAI_STR("a:\n  - b\n  - 'c\n"), 3, &found));
    assert_false(udpai_indentation_explain(UDPAI_STR("a: @b\nc: 1\n d: 2\n"), 4, &found));
    assert_false(
        udpai_indentation_explain(UDPAI_STR("a: @b\nc: 1\ne: 1\nf: 1\n g: 2\n"), 1, &found));
    assert_false(udpai_indentation_explain(UDPAI_STR("? a\n: b\n"), 1, &found));
    assert_false(udpai_indentation_explain(UDPAI_STR(""), 1, &found));
}

static void
deep_nesting_is_given_up(void **state)
{
    char yaml[2 * 200 + 1];
    udpai_misindented found;
    (void)state;
    for (size_t i = 0; i < 200; i++)
        memcpy(yaml + 2 * i, "- ", 3);
    assert_false(udpai_indentation_explain(udpai_str_from(yaml), 1, &found));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_among_neighbours),
        cmocka_unit_test(the_first_of_the_neighbours),
        cmocka_unit_test(a_tab),
        cmocka_unit_test(an_item_at_another_level),
        cmocka_unit_test(a_key_of_an_item),
        cmocka_unit_test(a_key_that_left_its_block),
        cmocka_unit_test(a_space_that_is_missing),
        cmocka_unit_test(what_lines_cannot_tell_is_passed_over),
        cmocka_unit_test(other_mistakes_keep_their_words),
        cmocka_unit_test(deep_nesting_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
