/* SPDX-License-Identifier: Apache-2.0 */
/* A node that was built without HDS: who configures it, or calls it, is told so. */
#include "bootstrap_test.h"
#include "daemon/plan.h"
#include "xds/hds.h"

#define WITHOUT "this program was built without HDS (meson -Dhds=false)"

static void
its_section_is_a_mistake(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "health: {policy: ANY}\n");
    bootstrap_test_assert_mistakes(test, "test.yaml:1:9: health: " WITHOUT "\n");
}

static void
expect_told(const udpai_grpc_method *method)
{
    assert_null(method->open);
    assert_string_equal(method->context, WITHOUT);
}

static void
callers_are_told_by_name(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {0};
    unsigned n = 0;
    bootstrap_test_read(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
    for (size_t i = 0; i < plan.settings.n_methods; i++)
        if (strstr(plan.settings.methods[i].path, "HealthDiscoveryService/")) {
            expect_told(&plan.settings.methods[i]);
            n++;
        }
    assert_int_equal(n, 2);
    expect_told(&plan.http_routes[UDPAI_XDS_POLLS + 2].method);
    udpai_plan_done(&plan);
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(its_section_is_a_mistake),
        daemon_test(callers_are_told_by_name),
    };
    return cmocka_run_group_tests_name("hds_absent", tests, NULL, NULL);
}
