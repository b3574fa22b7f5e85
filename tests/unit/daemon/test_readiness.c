/* SPDX-License-Identifier: Apache-2.0 */
/* What the page /readyz has, by what was found. */
#include "daemon/readiness.h"

#include "tests/harness/test.h"

static void
expect(const udpai_ready_report *report, bool is_verbose, unsigned status, const char *expected)
{
    udpai_strbuf text = {0};
    assert_int_equal(udpai_ready_report_put(report, is_verbose, &text), status);
    udpai_strbuf_putc(&text, '\0');
    assert_string_equal(text.data, expected);
    udpai_strbuf_done(&text);
}

static void
nothing_found_is_ready(void **state)
{
    (void)state;
    const udpai_ready_report report = {0};
    expect(&report, false, 200, "ready\n");
    expect(&report, true, 200,
           "running: ok\nstore: ok\nsockets: ok\nconfiguration: ok\nsynchronized: ok\n"
           "sources: ok\nready\n");
}

static void
a_degraded_node_stays_in_its_load_balancer(void **state)
{
    (void)state;
    udpai_ready_report report = {0};
    udpai_ready_report_add(&report, UDPAI_READY_SOURCES, UDPAI_DEGRADED, "source %s: %s", "core",
                           "gone");
    udpai_ready_report_add(&report, UDPAI_READY_CONFIGURATION, UDPAI_DEGRADED, "an error");
    expect(&report, false, 200, "degraded: configuration, sources\n");
    expect(&report, true, 200,
           "running: ok\nstore: ok\nsockets: ok\nconfiguration: degraded: an error\n"
           "synchronized: ok\nsources: degraded: source core: gone\n"
           "degraded: configuration, sources\n");
}

static void
one_check_that_fails_is_not_ready(void **state)
{
    (void)state;
    for (int check = 0; check < UDPAI_READY_CHECKS; check++) {
        udpai_ready_report report = {0};
        udpai_strbuf text = {0};
        udpai_ready_report_add(&report, (udpai_ready_check)check, UDPAI_NOT_READY, "why");
        udpai_ready_report_add(&report, UDPAI_READY_SOURCES, UDPAI_DEGRADED, "other");
        assert_int_equal(udpai_ready_report_put(&report, false, &text), 503);
        udpai_strbuf_putc(&text, '\0');
        assert_memory_equal(text.data, "not ready: ", 11);
        assert_null(strchr(text.data, ',')); /* what degrades is not why */
        udpai_strbuf_done(&text);
    }
}

static void
the_first_of_the_worst_reasons_is_shown(void **state)
{
    (void)state;
    udpai_ready_report report = {0};
    udpai_ready_report_add(&report, UDPAI_READY_STORE, UDPAI_DEGRADED, "a");
    udpai_ready_report_add(&report, UDPAI_READY_STORE, UDPAI_NOT_READY, "b");
    udpai_ready_report_add(&report, UDPAI_READY_STORE, UDPAI_NOT_READY, "c");
    expect(&report, true, 503,
           "running: ok\nstore: not ready: b (and 2 more)\nsockets: ok\nconfiguration: ok\n"
           "synchronized: ok\nsources: ok\nnot ready: store\n");
}

static void
expect_line(const udpai_ready_report *report, bool serves, const char *expected)
{
    udpai_strbuf text = {0};
    assert_int_equal(udpai_ready_report_put_line(report, 1, 340, &text), serves);
    udpai_strbuf_putc(&text, '\0');
    assert_string_equal(text.data, expected);
    udpai_strbuf_done(&text);
}

static void
a_line_has_the_worst_with_its_reason(void **state)
{
    (void)state;
    udpai_ready_report report = {0};
    expect_line(&report, true, "ready: 1 stream, 340 resources");
    udpai_ready_report_add(&report, UDPAI_READY_STORE, UDPAI_DEGRADED, "not current");
    expect_line(&report, true, "degraded: 1 stream, 340 resources; store: not current");
    udpai_ready_report_add(&report, UDPAI_READY_SYNCHRONIZED, UDPAI_NOT_READY, "no source");
    expect_line(&report, false, "not ready: 1 stream, 340 resources; synchronized: no source");
    udpai_ready_report_add(&report, UDPAI_READY_RUNNING, UDPAI_NOT_READY, "it ends");
    expect_line(&report, false, "shutting down: 1 stream, 340 resources");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_the_worst_with_its_reason),
        cmocka_unit_test(nothing_found_is_ready),
        cmocka_unit_test(a_degraded_node_stays_in_its_load_balancer),
        cmocka_unit_test(one_check_that_fails_is_not_ready),
        cmocka_unit_test(the_first_of_the_worst_reasons_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
