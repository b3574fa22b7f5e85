/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'push' of the bootstrap file: what is wrong with it, and the rules that it makes. */
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define ENDPOINTS "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

static udpai_plan plan;

static void
make(bootstrap_test *test)
{
    memset(&plan, 0, sizeof(plan));
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"},
                              &test->error));
}

static void
assert_rule(size_t index, const char *type_url, uint64_t quiet_ms, uint64_t max_ms)
{
    const udpai_debounce_rule *rule = udpai_debounce_rules_at(plan.settings.debounce, index);
    assert_true(udpai_str_eq(rule->type_url, udpai_str_from(type_url)));
    assert_int_equal(rule->quiet_ms, quiet_ms);
    assert_int_equal(rule->max_ms, max_ms);
}

static void
nothing_waits_by_default(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "node: {id: a}\n");
    make(test);
    assert_null(plan.settings.debounce);
    udpai_plan_done(&plan);
}

static void
each_type_has_a_rule(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "push:\n"
              "  - {debounce: 0.2s}\n"
              "  - {types: [envoy.config.endpoint.v3.ClusterLoadAssignment, a.B], debounce: 0.1s,\n"
              "     max: 1.5s}\n"
              "  - {types: [a.C], debounce: 5s}\n"
              "  - {types: [type.googleapis.com/a.D], debounce: 0s, max: 1s}\n");
    bootstrap_test_assert_mistakes(test, "");
    make(test);
    assert_int_equal(udpai_debounce_rules_size(plan.settings.debounce), 5);
    assert_rule(0, "", 200, 2000);
    assert_rule(1, ENDPOINTS, 100, 1500);
    assert_rule(2, "type.googleapis.com/a.B", 100, 1500);
    assert_rule(3, "type.googleapis.com/a.C", 5000, 10000);
    assert_rule(4, "type.googleapis.com/a.D", 0, 0);
    udpai_plan_done(&plan);
}

static void
times_are_bounded(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "push:\n"
                              "  - {types: [a.B]}\n"
                              "  - {types: [a.C], debounce: 11s}\n"
                              "  - {types: [a.D], debounce: 1s, max: 0.5s}\n"
                              "  - {types: [a.E], debounce: 1s, max: 10.5s}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:5: push[0].debounce: is required\n"
              "test.yaml:3:30: push[1].debounce: must lie between 0 s and 10 s\n"
              "test.yaml:4:39: push[2].max: is less than debounce, 1s\n"
              "test.yaml:5:39: push[3].max: must lie between 0 s and 10 s\n");
}

static void
a_type_has_one_entry(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "push:\n"
                              "  - {debounce: 1s}\n"
                              "  - {types: [a.B, x, a.B], debounce: 1s}\n"
                              "  - {types: [type.googleapis.com/a.B], debounce: 1s}\n"
                              "  - {debounce: 1s}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:3:19: push[1].types[1]: 'x' is no type: write the whole name, such as "
              "envoy.config.cluster.v3.Cluster\n"
              "test.yaml:3:22: push[1].types[2]: type 'a.B' has an entry already: push[1]\n"
              "test.yaml:4:14: push[2].types[0]: type 'a.B' has an entry already: push[1]\n"
              "test.yaml:5:5: push[3]: only one entry may stand for all types: name the types of "
              "this one\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_waits_by_default),
        CASE(each_type_has_a_rule),
        CASE(times_are_bounded),
        CASE(a_type_has_one_entry),
    };
    return cmocka_run_group_tests_name("section_push", tests, NULL, NULL);
}
