/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that is being written. */
#include "ctl/words.h"

#include "cli/options.h"
#include "ctl/options.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#define READ(words, ...)                                                                           \
    read_words((words), (const char *const[]){__VA_ARGS__},                                        \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void
read_words(udpai_ctl_words *words, const char *const *given, size_t n)
{
    assert_ok(udpai_ctl_words_read(words, given, n, &udpai_ctl_options_parser,
                                   &udpai_cli_options_parser));
}

static void
arguments_are_behind_the_verb(void **state)
{
    udpai_ctl_words words;
    (void)state;
    READ(&words, "-v", "get", "-n", "com.acme", "cluster", "--all", "a", "b");
    assert_string_equal(words.verb->name, "get");
    assert_int_equal(words.arguments.n, 2);
    assert_string_equal(words.arguments.items[1], "a");
    assert_string_equal(words.last, "b");
    assert_null(words.option);
    udpai_ctl_words_done(&words);
    READ(&words, "get");
    assert_false(words.has_command);
    assert_string_equal(words.last, "get");
    udpai_ctl_words_done(&words);
    READ(&words, "nothing", "");
    assert_true(words.has_command);
    assert_null(words.verb);
    udpai_ctl_words_done(&words);
    assert_ok(udpai_ctl_words_read(&words, NULL, 0, &udpai_ctl_options_parser,
                                   &udpai_cli_options_parser));
    assert_string_equal(words.last, "");
    udpai_ctl_words_done(&words);
}

static void
the_last_word_may_be_a_value(void **state)
{
    static const struct {
        const char *words[3], *option, *value;
    } cases[] = {
        {{"get", "-o", "js"}, "output", "js"},
        {{"get", "--ca", ""}, "ca", ""},
        {{"get", "--all", "x"}, NULL, "x"},
        {{"get", "x", "--output=js"}, "output", "js"},
        {{"get", "x", "-ojs"}, "output", "js"},
        {{"get", "x", "-o"}, NULL, "-o"},
        {{"get", "x", "--outp"}, NULL, "--outp"},
        {{"get", "--", "--ca"}, NULL, "--ca"},
        {{"get", "x", "--all=js"}, NULL, "--all=js"},
        {{"get", "x", "-"}, NULL, "-"},
        {{"get", "x", "--"}, NULL, "--"},
        {{"get", "x", "--=js"}, NULL, "--=js"},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_ctl_words words;
        read_words(&words, cases[i].words, 3);
        assert_string_equal(words.option ? words.option->name : "",
                            cases[i].option ? cases[i].option : "");
        assert_string_equal(words.value, cases[i].value);
        assert_ptr_equal(words.last, cases[i].words[2]);
        udpai_ctl_words_done(&words);
    }
}

/* The node is asked where the line so far says. */
static void
what_is_of_the_connection_is_kept(void **state)
{
    static const char *const kept[] = {"--server", "a:1", "--ca=x", "-v"};
    udpai_ctl_words words;
    (void)state;
    READ(&words, "--server", "a:1", "get", "--ca=x", "-n", "com.acme", "--all", "-v", "--timeout");
    assert_int_equal(words.connection.n, UDPAI_ARRAY_LEN(kept));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kept); i++)
        assert_string_equal(words.connection.items[i], kept[i]);
    udpai_ctl_words_done(&words);
}

static udpa_err
read_some(void *context)
{
    static const char *const given[] = {"--server", "a:1", "get", "cluster", "a", ""};
    udpai_ctl_words words;
    (void)context;
    udpa_err err = udpai_ctl_words_read(&words, given, UDPAI_ARRAY_LEN(given),
                                        &udpai_ctl_options_parser, &udpai_cli_options_parser);
    udpai_ctl_words_done(&words);
    return err;
}

static void
it_needs_memory(void **state)
{
    (void)state;
    oom_torture(read_some, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_behind_the_verb),
        cmocka_unit_test(the_last_word_may_be_a_value),
        cmocka_unit_test(what_is_of_the_connection_is_kept),
        cmocka_unit_test(it_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
