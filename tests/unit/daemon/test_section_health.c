/* SPDX-License-Identifier: Apache-2.0 */
/* The section health of the bootstrap file: checked, and as rules of a node. */
#include "daemon/plan.h"

#include "bootstrap_test.h"

static void
a_namespace_stands_once(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "health:\n"
                              "  checks:\n"
                              "  - {}\n"
                              "  - {namespace: com.acme}\n"
                              "  - {namespace: com.acme/shop}\n"
                              "  - {namespace: com.acme.shop}\n"
                              "  - {namespace: com.acme}\n"
                              "  - {namespace: /shop}\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:3:5: health.checks[0].namespace: is required: which clusters are checked, by "
        "which checkers?\n"
        "test.yaml:5:17: health.checks[2].namespace: health.checks[1] is about this namespace "
        "already, and a checker is given its share once\n"
        "test.yaml:7:17: health.checks[4].namespace: health.checks[1] is about this namespace "
        "already, and a checker is given its share once\n"
        "test.yaml:8:17: health.checks[5].namespace: namespace '/shop' has no valid namespace: '' "
        "must be labels of a-z, 0-9 and '-' with dots between, such as com.acme\n");
}

static void
numbers_have_bounds(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "health:\n"
                              "  checks:\n"
                              "  - {namespace: a, redundancy: 17, interval: 0.099s}\n"
                              "  - {namespace: b, redundancy: 16, interval: 0.1s}\n"
                              "  - {namespace: c, interval: -1s}\n"
                              "  - {namespace: d, interval: 86400.001s}\n"
                              "  - {namespace: e, interval: 86400s}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:32: health.checks[0].redundancy: 17 are too many: at most 16\n"
              "test.yaml:3:46: health.checks[0].interval: must lie between 0.1 s and a day\n"
              "test.yaml:5:30: health.checks[2].interval: must lie between 0.1 s and a day\n"
              "test.yaml:6:30: health.checks[3].interval: must lie between 0.1 s and a day\n");
}

static udpai_plan plan;

static void
make(bootstrap_test *test, const char *text)
{
    bootstrap_test_read(test, text);
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
it_is_done_as_the_file_says(void **state)
{
    make(*state, "health: {policy: ANY, checks: [{namespace: com.acme/shop, redundancy: 2, "
                 "interval: 1.5s}, {namespace: com.other}]}");
    assert_int_equal(plan.settings.node.health, UDPAI_HEALTH_ANY);
    assert_int_equal(plan.settings.n_check_rules, 2);
    const udpai_check_rule *rules = plan.settings.check_rules;
    assert_true(udpai_str_eq(rules[0].prefix, UDPAI_STR("com.acme/shop")));
    assert_int_equal(rules[0].redundancy, 2);
    assert_int_equal(rules[0].interval_ms, 1500);
    assert_int_equal(rules[1].redundancy, 1);
    assert_int_equal(rules[1].interval_ms, 1000);
    udpai_plan_done(&plan);
}

static void
without_it_nothing_is_computed(void **state)
{
    make(*state, "{}");
    assert_int_equal(plan.settings.node.health, UDPAI_HEALTH_NONE);
    assert_int_equal(plan.settings.n_check_rules, 0);
    udpai_plan_done(&plan);
}

static void
expect_policy(bootstrap_test *test, const char *text, udpai_health_policy policy)
{
    make(test, text);
    assert_int_equal(plan.settings.node.health, policy);
    udpai_plan_done(&plan);
}

static void
verdicts_count_by_the_policy_for_them(void **state)
{
    expect_policy(*state, "health: {policy: MAJORITY}\n", UDPAI_HEALTH_MAJORITY);
}

static void
one_verdict_is_enough_if_the_policy_says_so(void **state)
{
    expect_policy(*state, "health: {policy: ANY}\n", UDPAI_HEALTH_ANY);
}

static void
without_a_policy_verdicts_change_nothing(void **state)
{
    expect_policy(*state, "health: {}\n", UDPAI_HEALTH_NONE);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_namespace_stands_once),
        CASE(numbers_have_bounds),
        CASE(it_is_done_as_the_file_says),
        CASE(without_it_nothing_is_computed),
        CASE(verdicts_count_by_the_policy_for_them),
        CASE(one_verdict_is_enough_if_the_policy_says_so),
        CASE(without_a_policy_verdicts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
