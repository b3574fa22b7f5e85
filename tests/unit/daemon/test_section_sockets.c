/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP has of its own: hosts, and how long a request is held. */
#include "base/alloc.h"
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define NO_HOST                                                                                    \
    "is no name of a host: write it in small letters, without a scheme and a port, such as "       \
    "udpa.acme.com or *.acme.com\n"

static void
hosts_are_names_without_ports(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http:\n"
                              "  hosts:\n"
                              "  - 'udpa.acme.com:80'\n"
                              "  - '*.acme.com'\n"
                              "  - Acme.com\n"
                              "  - ''\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:3:5: http.hosts[0]: 'udpa.acme.com:80' " NO_HOST
                                         "test.yaml:5:5: http.hosts[2]: 'Acme.com' " NO_HOST
                                         "test.yaml:6:5: http.hosts[3]: '' " NO_HOST);
}

static void
a_request_is_held_an_hour_at_most(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "http: {hold: 3600.5s}\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:1:14: http.hold: must lie between 0 s and 3600 s\n");
}

/* 0 would be the default. */
static void
a_request_need_not_be_held(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    assert_non_null(plan);
    bootstrap_test_read(test, "http: {hold: 0s}\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(plan, &test->bootstrap, &(udpai_options){0}, NULL));
    assert_int_equal(plan->http_limits.hold_ms, 1);
    udpai_plan_done(plan);
    udpai_free(plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(hosts_are_names_without_ports),
        CASE(a_request_is_held_an_hour_at_most),
        CASE(a_request_need_not_be_held),
#undef CASE
    };
    return cmocka_run_group_tests_name("section_sockets", tests, NULL, NULL);
}
