/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks in the bootstrap file: what is wrong with them, and what comes of them. */
#include "daemon/bootstrap_check.h"
#include "daemon/plan.h"
#include "daemon/sinks.h"
#include "tests/unit/daemon/bootstrap_test.h"

static void
a_sink_has_a_kind_and_a_kind_one_sink(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sinks:\n"
                              "- {}\n"
                              "- {kind: TAP}\n"
                              "- {kind: TRACE}\n"
                              "- {kind: TAP}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:3: sinks[0].kind: is required: ACCESS_LOG, METRICS, TRACE, TAP or EVENT\n"
        "test.yaml:5:10: sinks[3].kind: sinks[1] is of this kind already: a kind has one\n");
}

static void
numbers_have_bounds(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sinks:\n"
                              "- {kind: TAP, max_entries: 1000001, max_bytes: 65535,\n"
                              "   file: {path: a, max_bytes: 4095, max_files: 1001}}\n"
                              "- {kind: TRACE, max_entries: 1, max_bytes: 65536,\n"
                              "   file: {path: b, max_bytes: 4096, max_files: 1000}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:28: sinks[0].max_entries: 1000001 must lie between 1 and 1000000\n"
              "test.yaml:2:48: sinks[0].max_bytes: 65535 must lie between 65536 and 1073741824\n"
              "test.yaml:3:31: sinks[0].file.max_bytes: 4095 must lie between 4096 and "
              "9223372036854775807\n"
              "test.yaml:3:48: sinks[0].file.max_files: 1001 must lie between 1 and 1000\n");
}

static void
files_do_not_meet(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sinks:\n"
                              "- {kind: TAP, file: {path: a}}\n"
                              "- {kind: TRACE, file: {}}\n"
                              "- {kind: EVENT, file: {path: a}}\n"
                              "- {kind: METRICS, file: {path: a.12}}\n"
                              "- {kind: ACCESS_LOG, file: {path: a.log}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:23: sinks[1].file.path: is required\n"
              "test.yaml:4:30: sinks[2].file.path: sinks[0] writes this file: choose another one\n"
              "test.yaml:5:32: sinks[3].file.path: sinks[0] writes this file: choose another one\n"
              "test.yaml:5:32: sinks[3].file.path: sinks[2] writes this file: choose another "
              "one\n");
}

static void
forwards_have_an_address_and_certificates(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sinks:\n"
                              "- {kind: TAP, forward: {}}\n"
                              "- {kind: TRACE, forward: {address: 'core:18000', tls: {}}}\n"
                              "- {kind: EVENT, forward: {address: 'core:18000', max_streams: 7}}\n"
                              "workers: 2\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:2:24: sinks[0].forward.address: is required\n"
                                   "test.yaml:3:55: sinks[1].forward.tls.ca_file: is required\n");
}

static void
files_must_be_such_as_can_be_written(void **state)
{
    bootstrap_test *test = *state;
    const udpai_options options = {.program = "udpad", .state = "/tmp"};
    bootstrap_test_read(test, "sinks:\n"
                              "- {kind: TAP, file: {path: /tmp}}\n"
                              "- {kind: TRACE, file: {path: /proc/no/a}}\n"
                              "- {kind: METRICS, file: {path: /dev/null}}\n"
                              "- {kind: EVENT, file: {path: /tmp/udpa-sinks-check}}\n");
    udpai_bootstrap_check_files(test->bootstrap.message, &options, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:28: sinks[0].file.path: /tmp: is no file: Is a directory\n"
              "test.yaml:3:30: sinks[1].file.path: /proc/no/a: cannot be made: No such file or "
              "directory\n");
}

static const udpai_grpc_method *
find_method(const udpai_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->settings.n_methods; i++)
        if (strcmp(plan->settings.methods[i].path, path) == 0)
            return &plan->settings.methods[i];
    fail_msg("there is no %s", path);
    return NULL;
}

static void
make_plan(bootstrap_test *test, udpai_plan *plan, const char *text)
{
    bootstrap_test_read(test, text);
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
methods_are_there_that_are_configured(void **state)
{
    static udpai_plan plan;
    make_plan(*state, &plan, "sinks: [{kind: TAP, file: {path: a, max_files: 2}}]\n");
    const udpai_grpc_method *tap =
        find_method(&plan, "/envoy.service.tap.v3.TapSinkService/StreamTaps");
    assert_non_null(tap->open);
    assert_ptr_equal(tap->context, plan.sinks.all.topics[UDPAI_EVENT_TAP]);
    assert_string_equal(plan.sinks.files[UDPAI_EVENT_TAP].path, "a");
    assert_int_equal(plan.sinks.files[UDPAI_EVENT_TAP].max_files, 2);
    assert_non_null(find_method(&plan, UDPAI_EVENTS_PATH)->open);
    const udpai_grpc_method *log =
        find_method(&plan, "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs");
    assert_null(log->open);
    assert_non_null(strstr(log->context, "sinks: [{kind: ACCESS_LOG}]"));
    udpai_plan_done(&plan);
}

static void
without_sinks_none_is(void **state)
{
    static udpai_plan plan;
    udpai_event_writer *writer = NULL;
    make_plan(*state, &plan, "{}\n");
    assert_non_null(find_method(&plan, UDPAI_EVENTS_PATH)->open); /* of the node's own events */
    assert_ok(udpai_daemon_sinks_open(&writer, &plan, NULL, NULL));
    assert_null(writer); /* no thread is begun */
    udpai_daemon_sinks_close(&plan, writer);
    udpai_plan_done(&plan);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sink_has_a_kind_and_a_kind_one_sink),
        CASE(numbers_have_bounds),
        CASE(files_do_not_meet),
        CASE(forwards_have_an_address_and_certificates),
        CASE(files_must_be_such_as_can_be_written),
        CASE(methods_are_there_that_are_configured),
        CASE(without_sinks_none_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
