/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of jsonpath on documents, and invalid ones. */
#include "cli/jsonpath.h"

#include "tests/harness/oom.h"

#define DOCUMENT                                                                                   \
    "[{\"name\": \"r1\", \"n\": 12345678901234567890, \"on\": true, \"none\": null,\n"             \
    "  \"hops\": [{\"id\": \"a\"}, {\"id\": \"b\"}, {\"id\": \"c\"}],\n"                           \
    "  \"labels\": {\"app.io/x\": \"y\", \"@type\": \"t\"}},\n"                                    \
    " {\"name\": \"r\\\"2\\n\", \"hops\": [], \"labels\": {\"a\": [1, {\"b\": \"\\\"\"}]}}]"

static void
expect(const char *expression, const char *wanted)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_jsonpath *path = NULL;
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    if (udpai_cli_jsonpath_compile(&path, expression, &error) != UDPA_OK ||
        udpai_cli_jsonpath_put(&out, path, UDPAI_STR(DOCUMENT), &error) != UDPA_OK)
        fail_msg("%s: %s", expression, udpa_error_message(error));
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_cli_jsonpath_free(path);
}

static void
what_kubectl_has(void **state)
{
    (void)state;

    static const struct {
        const char *expression, *wanted;
    } cases[] = {
        {"{[0].name}", "r1"},
        {"{.[0].name}", "r1"},
        {"{$[0].name}", "r1"},
        {"{@[0]['name']}", "r1"},
        {"{[0][\"name\"]}", "r1"},
        {"{ [0].name }", "r1"},
        {"{[*].name}", "r1 r\"2\n"},
        {"{[-1].name}", "r\"2\n"},
        {"{[0].n}", "12345678901234567890"},
        {"{[0].on} {[0].none}", "true null"},
        {"{[0].hops[*].id}", "a b c"},
        {"{[*].hops[0].id}", "a"},
        {"{[0].hops[1:].id}", "b c"},
        {"{[0].hops[:2].id}", "a b"},
        {"{[0].hops[1:2].id}", "b"},
        {"{[0].hops[-2:].id}", "b c"},
        {"{[0].hops[0:-1].id}", "a b"},
        {"{[0].hops[7].id}{[0].hops[-4].id}{[0].hops[2:1].id}{[0].hops[5:9].id}", ""},
        {"{[0].labels.app\\.io/x}", "y"},
        {"{[0].labels.@type} {[0].labels['@type']}", "t t"},
        {"{[0].labels.*}", "y t"},
        {"{[0].labels[*]}", "y t"},
        {"{[1].labels}", "{\"a\":[1,{\"b\":\"\\\"\"}]}"},
        {"{[0].nothing.at.all}{[0].name.x}{[0].name[0]}", ""},
        {"names: {[*].name}.", "names: r1 r\"2\n."},
        {"{range [*]}{.name}{\"\\t\"}{.hops[*].id}{'\\n'}{end}", "r1\ta b c\nr\"2\n\t\n"},
        {"{range [*]}<{range .hops[*]}{.id}{$[0].name};{end}>{end}!", "<ar1;br1;cr1;><>!"},
        {"{range [0].hops[*]}{@.id}{end}", "abc"},
        {"{range [0].hops[*].id}{.}{\"\\\\\"}{end}", "a\\b\\c\\"},
        {"{[0].name \"x\"}", "r1x"},
        {"{range [5]}never{end}", ""},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        expect(cases[i].expression, cases[i].wanted);
}

static void
expect_error(const char *expression, const char *wanted)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_jsonpath *path = NULL;
    udpai_strbuf out = {0};
    udpa_err err = udpai_cli_jsonpath_compile(&path, expression, &error);
    if (err == UDPA_OK)
        err = udpai_cli_jsonpath_put(&out, path, UDPAI_STR(DOCUMENT), &error);
    if (err != UDPA_ERR_INVAL)
        fail_msg("%s is taken", expression);
    assert_string_equal(udpa_error_message(error), wanted);
    udpai_strbuf_done(&out);
    udpai_cli_jsonpath_free(path);
}

static void
mistakes_have_their_place(void **state)
{
    (void)state;
    expect_error("", "character 1: nothing is in braces: write {.name}, or {[*].name} of a list");
    expect_error(".name",
                 "character 1: nothing is in braces: write {.name}, or {[*].name} of a list");
    expect_error("{", "character 1: this brace is not closed");
    expect_error("x{.a", "character 2: this brace is not closed");
    expect_error("{}", "character 2: a path, such as .name, or a quoted text must stand here");
    expect_error("{name}", "character 2: a path, such as .name, or a quoted text must stand here");
    expect_error("{rangefinder}",
                 "character 2: a path, such as .name, or a quoted text must stand here");
    expect_error("{.a b}", "character 5: a path, such as .name, or a quoted text must stand here");
    expect_error("{..name}", "character 2: '..' is not supported");
    expect_error("{[?(@.name==\"x\")]}", "character 3: a filter is not supported");
    expect_error("{[0,1]}", "character 4: a union is not supported");
    expect_error("{['a','b']}", "character 6: a union is not supported");
    expect_error("{[0:2:1]}", "character 6: a slice with a step is not supported");
    expect_error("{[0}", "character 2: this bracket is not closed");
    expect_error("{['a]}", "character 3: this quote is not closed");
    expect_error("{\"a}", "character 2: this quote is not closed");
    expect_error("{[x]}", "character 3: a number, '*' or a quoted name must be in brackets");
    expect_error("{[99999999999999999999]}", "character 3: this number is too large");
    expect_error("{end}", "character 2: there is no range to end");
    expect_error("a{range [*]}{.name}", "character 3: this range has no {end}");
    expect_error("{range}{end}",
                 "character 7: a path, such as .name, or a quoted text must stand here");
    expect_error("{.items[*].name}",
                 "character 2: this is a field, and there is a list: write [*] before it");
    expect_error("{[0].labels[0]}", "character 12: this is an item of a list, and there is a map");
}

static void
a_document_must_be_one(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_jsonpath *path = NULL;
    udpai_strbuf out = {0};
    assert_ok(udpai_cli_jsonpath_compile(&path, "{.a}", NULL));
    assert_int_not_equal(udpai_cli_jsonpath_put(&out, path, UDPAI_STR("{\"a\": "), &error),
                         UDPA_OK);
    udpai_strbuf_done(&out);
    udpai_cli_jsonpath_free(path);
    assert_null(udpai_cli_jsonpath_free(NULL));
}

static udpa_err
take(void *context)
{
    (void)context;
    udpai_cli_jsonpath *path = NULL;
    udpai_strbuf out = {0};
    udpa_err err = udpai_cli_jsonpath_compile(
        &path, "a{range [*]}{.name}{range .hops[*]}{['id']}{end}{.labels}{\"\\n\"}{end}", NULL);
    if (err == UDPA_OK)
        err = udpai_cli_jsonpath_put(&out, path, UDPAI_STR(DOCUMENT), NULL);
    udpai_strbuf_done(&out);
    udpai_cli_jsonpath_free(path);
    return err;
}

static void
without_memory(void **state)
{
    (void)state;
    oom_torture(take, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_kubectl_has),
        cmocka_unit_test(mistakes_have_their_place),
        cmocka_unit_test(a_document_must_be_one),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("cli jsonpath", tests, NULL, NULL);
}
