/* SPDX-License-Identifier: Apache-2.0 */
/* The help of udpactl: a screen for each verb, and the verbs in groups. */
#include "ctl/help.h"

#include <stdio.h>

#include "cli/tool.h"
#include "ctl/verbs.h"

#include "tests/harness/oom.h"

/* Lines, and the columns of the longest one. */
static size_t
measure(const udpai_strbuf *text, size_t *ret_columns)
{
    size_t n = 0, at = 0;
    *ret_columns = 0;
    for (size_t i = 0; i < text->len; i++) {
        at = text->data[i] == '\n' ? 0 : at + 1;
        n += text->data[i] == '\n';
        *ret_columns = at > *ret_columns ? at : *ret_columns;
    }
    return n;
}

static void
each_verb_has_one_screen(void **state)
{
    (void)state;
    size_t columns, n = 0;
    for (const udpai_ctl_verb *row; (row = udpai_ctl_verb_at(n)); n++) {
        udpai_strbuf out = {0};
        const char *verb = row->name;
        assert_true(udpai_ctl_help_put_verb(&out, verb));
        size_t lines = measure(&out, &columns);
        if (lines > UDPAI_CTL_SCREEN_LINES || columns > UDPAI_CTL_SCREEN_COLUMNS)
            fail_msg("%s: %zu lines, %zu columns", verb, lines, columns);
        assert_non_null(strstr(out.data, verb));
        assert_memory_equal(out.data, "Usage: udpactl ", strlen("Usage: udpactl "));
        assert_null(strstr(out.data + 1, "Usage: "));
        udpai_strbuf_done(&out);
    }
    assert_int_equal(n, 36);
}

static void
verbs_are_in_groups(void **state)
{
    (void)state;
    size_t columns;
    udpai_strbuf out = {0};
    udpai_ctl_help_put_verbs(&out);
    assert_true(measure(&out, &columns) <= 2 * UDPAI_CTL_SCREEN_LINES);
    assert_true(columns <= UDPAI_CTL_SCREEN_COLUMNS);
    const udpai_ctl_verb *verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++) {
        char line[32];
        snprintf(line, sizeof(line), "\n  %-10s ", verb->name);
        assert_non_null(strstr(out.data, line));
    }
    udpai_strbuf_done(&out);
}

static void
several_forms_stand_below_each_other(void **state)
{
    static const char wanted[] = "Usage: udpactl verify TYPE [NAME...]\n"
                                 "       udpactl verify -f FILE\n\n";
    (void)state;
    udpai_strbuf out = {0};
    assert_true(udpai_ctl_help_put_verb(&out, "verify"));
    assert_memory_equal(out.data, wanted, strlen(wanted));
    udpai_strbuf_done(&out);
    assert_false(udpai_ctl_help_put_verb(&out, "nothing"));
    assert_int_equal(out.len, 0);
}

/* As `udpactl --help` lists them; it fits, whatever is added. */
static void
forms_stand_before_what_they_do(void **state)
{
    (void)state;
    size_t columns;
    udpai_strbuf out = {0};
    udpai_ctl_help_put_forms(&out);
    (void)measure(&out, &columns);
    assert_true(columns <= UDPAI_CTL_SCREEN_COLUMNS);
    assert_non_null(
        strstr(out.data, "\n  diff -f FILE               show what apply would change\n"));
    assert_non_null(strstr(out.data, "\n  verify TYPE [NAME...]\n"
                                     "  verify -f FILE             whether resources are signed"));
    assert_non_null(strstr(out.data, "[AUTHORITY]\n                             what the node's"));
    udpai_strbuf_done(&out);
}

/* But for those that are programs of their own, and the word before get and watch. */
static void
each_verb_is_done_by_something(void **state)
{
    (void)state;
    const udpai_ctl_verb *verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++)
        if (!verb->run && !udpai_cli_tool_find(verb->name))
            assert_string_equal(verb->name, "xds");
}

static const char *
wanted_of(const char *const *argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return udpai_ctl_help_requested(argc, (char *const *)(uintptr_t)argv);
}

static void
help_is_asked_for_a_verb(void **state)
{
    (void)state;
    assert_string_equal(wanted_of((const char *const[]){"udpactl", "get", "--help", NULL}), "get");
    assert_string_equal(
        wanted_of((const char *const[]){"udpactl", "--server", "x:1", "xds", "get", "-?", NULL}),
        "xds");
    assert_string_equal(wanted_of((const char *const[]){"udpactl", "--help", "apply", NULL}),
                        "apply");
    assert_null(wanted_of((const char *const[]){"udpactl", "--help", NULL}));
    assert_null(wanted_of((const char *const[]){"udpactl", "get", NULL}));
    assert_null(wanted_of((const char *const[]){"udpactl", "get", "--", "--help", NULL}));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verb_has_one_screen),
        cmocka_unit_test(verbs_are_in_groups),
        cmocka_unit_test(several_forms_stand_below_each_other),
        cmocka_unit_test(help_is_asked_for_a_verb),
        cmocka_unit_test(forms_stand_before_what_they_do),
        cmocka_unit_test(each_verb_is_done_by_something),
    };
    return cmocka_run_group_tests_name("ctl help", tests, NULL, NULL);
}
