/* SPDX-License-Identifier: Apache-2.0 */
/* The text of contexts, read and written. */
#include "cli/contexts.h"

#include "base/alloc.h"
#include "tests/harness/oom.h"

#define PATH "/srv/me/.config/udpa/config.yaml"

static const char full[] = "# Contexts of udpactl; see udpactl(1), CONTEXTS.\n"
                           "current: prod\n"
                           "contexts:\n"
                           "  prod:\n"
                           "    server: edge:18000,[2001:db8::1]:18000\n"
                           "    admin_token: token\n"
                           "    ca: certs/ca.crt\n"
                           "    namespace: com.acme\n"
                           "    timeout: 7\n"
                           "  lab: {}\n";

static udpa_err
read_text(udpai_cli_contexts *contexts, const char *text, udpa_error **ret_error)
{
    *contexts = (udpai_cli_contexts){0};
    return udpai_cli_contexts_read(contexts, udpai_str_from(text), PATH, ret_error);
}

static void
what_is_written_can_be_read(void **state)
{
    (void)state;
    udpai_cli_contexts contexts, again;
    udpai_strbuf out = {0}, same = {0};
    assert_ok(read_text(&contexts, full, NULL));
    assert_string_equal(contexts.current, "prod");
    assert_int_equal(contexts.items.n, 2);
    const udpai_cli_context *prod = udpai_cli_contexts_find(&contexts, UDPAI_STR("prod"));
    assert_non_null(prod);
    assert_string_equal(prod->values[UDPAI_CLI_SERVER], "edge:18000,[2001:db8::1]:18000");
    assert_string_equal(prod->values[UDPAI_CLI_CA], "/srv/me/.config/udpa/certs/ca.crt");
    assert_string_equal(prod->values[UDPAI_CLI_ADMIN_TOKEN], "/srv/me/.config/udpa/token");
    assert_string_equal(prod->values[UDPAI_CLI_TIMEOUT], "7");
    assert_null(prod->values[UDPAI_CLI_KEY]);
    udpai_cli_contexts_put(&contexts, &out);
    assert_ok(read_text(&again, out.data, NULL));
    udpai_cli_contexts_put(&again, &same);
    assert_string_equal(out.data, same.data);
    udpai_cli_contexts_done(&contexts);
    udpai_cli_contexts_done(&again);
    udpai_strbuf_done(&out);
    udpai_strbuf_done(&same);
}

/* Whatever a text is, it is read as it was. */
static void
every_text_can_be_written(void **state)
{
    static const char *const texts[] = {
        "a",   "true", "NULL", "~",           "a: b",    "- a", "a #b", "\"a\"", "it's",
        " a ", "a\nb", "ü",    "unix:/x y/z", "127.1:",  ":1",  "0x10", "[a]",   "{a}",
        "&a",  "%a",   "/a:b", "a,b:1",       "a\\b\tc", "-n",  ".",    "@a",    "!a"};
    (void)state;
    udpai_cli_contexts contexts = {0}, again;
    udpai_cli_context *one = udpai_cli_contexts_get(&contexts, UDPAI_STR("one"));
    assert_non_null(one);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpai_strbuf out = {0};
        assert_ok(udpai_cli_context_set(one, UDPAI_CLI_SERVER_NAME, udpai_str_from(texts[i])));
        udpai_cli_contexts_put(&contexts, &out);
        assert_ok(read_text(&again, out.data, NULL));
        assert_string_equal(again.items.items[0].values[UDPAI_CLI_SERVER_NAME], texts[i]);
        udpai_cli_contexts_done(&again);
        udpai_strbuf_done(&out);
    }
    udpai_cli_contexts_done(&contexts);
}

static void
what_is_wrong_is_named_with_its_place(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"- a", PATH ":1:1: this must be a map"},
        {"currant: a", PATH ":1:1: there is no field 'currant'"},
        {"current: [a]", PATH ":1:10: 'current' must be the name"},
        {"current: 1a", PATH ":1:10: 'current' must be the name"},
        {"contexts: a", PATH ":1:11: 'contexts' must be a map"},
        {"contexts:\n  a: b", PATH ":2:6: context 'a' must be a map"},
        {"contexts:\n  a/b: {}", PATH ":2:3: 'a/b' cannot be the name of a context"},
        {"contexts:\n  a:\n    servr: x",
         PATH ":3:5: a context has no field 'servr'; did you mean 'server'?"},
        {"contexts:\n  a:\n    server: [x]", PATH ":3:13: field 'server' must be a text"},
        {"contexts:\n  a:\n    server: null", PATH ":3:13: field 'server' must be a text"},
        {"contexts:\n  a:\n    server: \"a\\0b\"", PATH ":3:13: field 'server' must be a text"},
        {"contexts:\n  a: {}\n  a: {}", PATH ":3:3"},
        {"contexts: {}\n---\n{}", "more than one document"},
        {"contexts: {", PATH},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_cli_contexts contexts;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_not_equal(read_text(&contexts, cases[i].text, &error), UDPA_OK);
        if (!strstr(udpa_error_message(error), cases[i].error))
            fail_msg("'%s' instead of '%s'", udpa_error_message(error), cases[i].error);
        assert_int_equal(contexts.items.n, 0);
    }
}

static void
nothing_is_none(void **state)
{
    static const char *const texts[] = {"", "# a comment\n", "null", "contexts: {}"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpai_cli_contexts contexts;
        assert_ok(read_text(&contexts, texts[i], NULL));
        assert_int_equal(contexts.items.n, 0);
        assert_null(contexts.current);
        udpai_cli_contexts_done(&contexts);
    }
}

static void
one_is_set_and_removed(void **state)
{
    (void)state;
    udpai_cli_contexts contexts;
    assert_ok(read_text(&contexts, full, NULL));
    udpai_cli_context *lab = udpai_cli_contexts_get(&contexts, UDPAI_STR("lab"));
    assert_ptr_equal(lab, &contexts.items.items[1]);
    assert_ok(udpai_cli_context_set(lab, UDPAI_CLI_NODE_ID, UDPAI_STR("me")));
    assert_ok(udpai_cli_context_set(lab, UDPAI_CLI_NODE_ID, UDPAI_STR("")));
    assert_null(lab->values[UDPAI_CLI_NODE_ID]);
    udpai_cli_contexts_remove(&contexts, &contexts.items.items[0]);
    assert_null(contexts.current);
    assert_int_equal(contexts.items.n, 1);
    assert_string_equal(contexts.items.items[0].name, "lab");
    assert_null(udpai_cli_contexts_find(&contexts, UDPAI_STR("prod")));
    udpai_cli_contexts_done(&contexts);
}

static udpa_err
read_and_write(void *context)
{
    (void)context;
    udpai_cli_contexts contexts;
    udpai_strbuf out = {0};
    udpa_err err = read_text(&contexts, full, NULL);
    if (err == UDPA_OK)
        udpai_cli_contexts_put(&contexts, &out);
    if (err == UDPA_OK && udpai_strbuf_failed(&out))
        err = UDPA_ERR_NOMEM;
    udpai_strbuf_done(&out);
    udpai_cli_contexts_done(&contexts);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    oom_torture(read_and_write, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(every_text_can_be_written),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(nothing_is_none),
        cmocka_unit_test(one_is_set_and_removed),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
