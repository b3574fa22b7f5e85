/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'log' of the bootstrap file: what is wrong with it, and where lines go by it. */
#include "daemon/bootstrap_check.h"
#include "daemon/log_journald.h"
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"

static void
a_misspelled_target_is_no_file(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "log: {to: stdout}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:11: log.to: 'stdout' must be stderr, journald, or the path of a file: "
              "./stdout is one in the current directory\n");
}

static void
a_socket_is_an_absolute_path_and_of_journald(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "log:\n  to: journald\n  journald_socket: journal/socket\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:3:20: log.journald_socket: 'journal/socket' must "
                                   "begin with '/', and have at most 107 bytes\n");
}

static void
a_socket_is_used_for_journald(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "log:\n  journald_socket: /run/socket\n");
    bootstrap_test_assert_mistakes(test,
                                   "warning: test.yaml:2:20: log.journald_socket: is not used, "
                                   "since log.to is not journald\n");
}

static void
a_file_must_be_one_that_can_be_written(void **state)
{
    bootstrap_test *test = *state;
    const udpai_options options = {.program = "udpad", .state = "/tmp"};
    bootstrap_test_read(test, "log: {to: /proc/no/log}\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:1:11: log.to: /proc/no/log: cannot be made: No such file or directory\n");
}

static void
what_is_no_file_is_not_looked_for(void **state)
{
    bootstrap_test *test = *state;
    const udpai_options options = {.program = "udpad", .state = "/tmp"};
    bootstrap_test_read(test, "log: {to: journald}\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(test, "");
}

static udpai_plan plan;

static void
make_plan(bootstrap_test *test, const char *text)
{
    bootstrap_test_read(test, text);
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
expect(udpai_log_format format, const char *file, const char *journald)
{
    assert_int_equal(plan.log_target.format, format);
    assert_string_equal(plan.log_target.file ? plan.log_target.file : "-", file);
    assert_string_equal(plan.log_target.journald ? plan.log_target.journald : "-", journald);
    udpai_plan_done(&plan);
    plan = (udpai_plan){0};
}

static void
without_it_lines_go_to_standard_error_as_text(void **state)
{
    make_plan(*state, "node: {id: a}\n");
    expect(UDPAI_LOG_TEXT, "-", "-");
}

static void
standard_error_has_a_word(void **state)
{
    make_plan(*state, "log: {to: stderr, format: JSON}\n");
    expect(UDPAI_LOG_JSON, "-", "-");
}

static void
a_path_is_a_file(void **state)
{
    make_plan(*state, "log: {to: ./journald, format: LOGFMT}");
    expect(UDPAI_LOG_LOGFMT, "./journald", "-");
}

static void
journald_has_a_socket(void **state)
{
    make_plan(*state, "log: {to: journald}");
    expect(UDPAI_LOG_TEXT, "-", UDPAI_JOURNALD_SOCKET);
}

static void
the_socket_of_journald_may_be_another(void **state)
{
    make_plan(*state, "log: {to: journald, journald_socket: /x/socket}");
    expect(UDPAI_LOG_TEXT, "-", "/x/socket");
}

#define CASE(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_misspelled_target_is_no_file),
        CASE(a_socket_is_an_absolute_path_and_of_journald),
        CASE(a_socket_is_used_for_journald),
        CASE(what_is_no_file_is_not_looked_for),
        CASE(standard_error_has_a_word),
        CASE(the_socket_of_journald_may_be_another),
        CASE(a_file_must_be_one_that_can_be_written),
        CASE(without_it_lines_go_to_standard_error_as_text),
        CASE(a_path_is_a_file),
        CASE(journald_has_a_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
