/* SPDX-License-Identifier: Apache-2.0 */
/* The section validation of the bootstrap file: checked, and as the policy of a node. */
#include "daemon/plan.h"

#include "bootstrap_test.h"

static udpai_plan plan;

static void
make(bootstrap_test *test)
{
    memset(&plan, 0, sizeof(plan));
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
validation_names_its_types(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation:\n"
                              "  checks: [RULES]\n"
                              "  types:\n"
                              "    - {types: [a.B, ''], checks: [PARSE]}\n"
                              "    - {checks: [UNKNOWN_FIELDS]}\n");
    bootstrap_test_assert_mistakes(test,
                                   "test.yaml:4:21: validation.types[0].types[1]: is required\n"
                                   "test.yaml:5:7: validation.types[1].types: is required\n");
}

static void
validation_is_off_unless_asked_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation: {types: [{types: [a.B]}]}");
    make(test);
    assert_false(plan.validates);
    assert_false(udpai_policy_applies(&plan.policy, UDPAI_STR("type.googleapis.com/a.B")));
    udpai_plan_done(&plan);
}

static void
validation_is_by_type(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "validation:\n"
                              "  checks: [RULES]\n"
                              "  refuse_unknown_types: true\n"
                              "  types:\n"
                              "    - {types: [a.B, x/a.C], checks: [UNKNOWN_FIELDS]}\n"
                              "    - {types: [a.D]}\n");
    make(test);
    assert_true(plan.validates);
    assert_int_equal(plan.policy.others.checks, UDPAI_CHECK_PARSE | UDPAI_CHECK_RULES);
    assert_true(plan.policy.others.refuse_unknown_types);
    assert_int_equal(plan.policy.n_types, 3);
    assert_int_equal(plan.policy.types[1].validation.checks,
                     UDPAI_CHECK_PARSE | UDPAI_CHECK_UNKNOWN_FIELDS);
    assert_true(plan.policy.types[1].validation.refuse_unknown_types);
    assert_true(udpai_policy_applies(&plan.policy, UDPAI_STR("type.googleapis.com/a.C")));
    assert_false(udpai_policy_applies(&plan.policy, UDPAI_STR("type.googleapis.com/a.D")));
    assert_true(udpai_policy_applies(&plan.policy, UDPAI_STR("type.googleapis.com/a.E")));
    assert_false(plan.looks_for_deprecated);
    udpai_plan_done(&plan);
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(validation_names_its_types),
        CASE(validation_is_off_unless_asked_for),
        CASE(validation_is_by_type),
    };
    return cmocka_run_group_tests_name("section_validation", tests, NULL, NULL);
}
