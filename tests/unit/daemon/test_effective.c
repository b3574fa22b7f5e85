/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in effect is that of the start, then that of the last reload. */
#include "daemon/effective.h"

#include "base/alloc.h"
#include "tests/harness/oom.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define BYTES_MAX ((size_t)1 << 20)

static udpai_plan started;

static udpai_bootstrap
read_text(bootstrap_test *test, const char *text)
{
    bootstrap_test_read_unchecked(test, text);
    udpai_diagnostics_done(&test->diagnostics);
    test->diagnostics = (udpai_diagnostics){0};
    udpai_bootstrap taken = test->bootstrap;
    test->bootstrap = (udpai_bootstrap){0};
    return taken;
}

static udpai_effective
start(bootstrap_test *test, const char *text)
{
    started.bootstrap = read_text(test, text);
    return (udpai_effective){.plan = &started};
}

static void
done(udpai_effective *effective)
{
    udpai_effective_done(effective);
    udpai_bootstrap_done(&started.bootstrap);
}

/* As a reload makes it. */
static udpai_plan *
plan_of(bootstrap_test *test, const char *text)
{
    static const udpai_options options;
    udpai_bootstrap read = read_text(test, text);
    udpai_plan *plan = NULL;
    assert_ok(udpai_plan_new(&plan, &read, &options, test->schema, NULL));
    return plan;
}

static void
expect_cluster(const udpai_effective *effective, const char *wanted)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_arena_init(&arena);
    assert_ok(udpai_effective_read(effective, BYTES_MAX, &arena, &now));
    assert_string_equal(now->node->cluster, wanted);
    udpai_arena_done(&arena);
}

static void
it_begins_as_the_file_was(void **state)
{
    udpai_effective effective = start(*state, "node: {cluster: one}\n");
    expect_cluster(&effective, "one");
    assert_true(effective.again_us == 0);
    assert_ptr_equal(udpai_effective_plan(&effective), &started);
    done(&effective);
}

static void
the_last_reload_is_in_effect(void **state)
{
    const udpai_bootstrap first = {.read_us = 7, .sha256 = "abc"}, second = {.read_us = 8};
    udpai_effective effective = start(*state, "node: {cluster: one}\n");
    udpai_effective_take(&effective, plan_of(*state, "node: {cluster: two}\n"), &first,
                         udpai_strdup("workers"));
    expect_cluster(&effective, "two");
    assert_string_equal(effective.restart, "workers");
    assert_string_equal(effective.again_sha256, "abc");
    udpai_effective_take(&effective, plan_of(*state, "node: {cluster: three}\n"), &second, NULL);
    expect_cluster(&effective, "three");
    assert_null(effective.restart);
    assert_true(effective.again_us == 8 && effective.n_reloads == 2);
    done(&effective);
}

static void
a_rejected_file_changes_nothing(void **state)
{
    const udpai_bootstrap good = {.read_us = 7}, bad = {.read_us = 8}, worse = {.read_us = 9};
    udpai_effective effective = start(*state, "node: {cluster: one}\n");
    udpai_effective_take(&effective, plan_of(*state, "node: {cluster: two}\n"), &good,
                         udpai_strdup("workers"));
    udpai_effective_reject(&effective, &bad);
    udpai_effective_reject(&effective, &worse);
    expect_cluster(&effective, "two");
    assert_true(effective.is_rejected && effective.rejected_us == 8 && effective.n_rejected == 2);
    assert_true(effective.again_us == 9);
    assert_null(effective.restart);
    udpai_effective_take(&effective, plan_of(*state, "node: {cluster: three}\n"), &good, NULL);
    assert_true(!effective.is_rejected && effective.rejected_us == 0);
    done(&effective);
}

static void
it_is_bounded(void **state)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_effective effective = start(*state, "node: {cluster: one}\n");
    udpai_arena_init(&arena);
    assert_int_equal(udpai_effective_read(&effective, 4, &arena, &now), UDPA_ERR_LIMIT);
    assert_null(now);
    udpai_arena_done(&arena);
    done(&effective);
}

static udpa_err
read_it(void *effective)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_arena_init(&arena);
    udpa_err err = udpai_effective_read(effective, BYTES_MAX, &arena, &now);
    udpai_arena_done(&arena);
    return err;
}

static void
without_memory_nothing_is_shown(void **state)
{
    udpai_effective effective = start(*state, "node: {cluster: one}\n");
    assert_true(oom_torture(read_it, &effective) > 0);
    done(&effective);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(it_begins_as_the_file_was),       CASE(the_last_reload_is_in_effect),
        CASE(a_rejected_file_changes_nothing), CASE(it_is_bounded),
        CASE(without_memory_nothing_is_shown),
#undef CASE
    };
    return cmocka_run_group_tests_name("effective", tests, NULL, NULL);
}
