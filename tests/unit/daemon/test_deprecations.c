/* SPDX-License-Identifier: Apache-2.0 */
/* What is logged of deprecated features, what is remembered of that, and what the runtime says. */
#include "daemon/deprecations.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

static udpai_deprecations *deprecations;
static udpai_runtime runtime;
static atomic_uint n_lines;
static char last_line[1024]; /* while one thread logs */
static bool keeps_lines;

static void
take_line(udpa_log_level level, const char *component, const char *line, void *userdata)
{
    (void)level;
    (void)userdata;
    assert_string_equal(component, "validation");
    atomic_fetch_add(&n_lines, 1);
    if (keeps_lines)
        snprintf(last_line, sizeof(last_line), "%s", line);
}

static int
setup(void **state)
{
    (void)state;
    deprecations = udpai_deprecations_new();
    udpa_log_set_sink(UDPA_LOG_WARNING, take_line, NULL);
    atomic_store(&n_lines, 0);
    last_line[0] = '\0';
    keeps_lines = true;
    return deprecations && udpai_runtime_init(&runtime, NULL, 0, NULL) == UDPA_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    udpai_deprecations_free(deprecations);
    udpai_runtime_done(&runtime);
    return 0;
}

static const char *const names[] = {"a.b.old", "a.b.older", "a.OLDEST"};

static void
use(const char *resource_name, const char *feature_name)
{
    udpa_resource *resource = RESOURCE(resource_name, .type = "type.googleapis.com/a.B");
    const udpai_inspected by = {resource, UDPAI_STR("publisher")};
    const udpai_deprecated feature = {.name = feature_name, .path = "x[1].old", .n_uses = 3};
    udpai_deprecations_used(deprecations, &by, &feature);
    udpa_resource_unref(resource);
}

static void
forget(const char *name)
{
    udpa_resource *resource = RESOURCE(name, .type = "type.googleapis.com/a.B");
    udpai_deprecations_forget(deprecations, resource);
    udpa_resource_unref(resource);
}

static void
each_feature_of_each_resource_is_logged_once(void **state)
{
    (void)state;
    udpai_deprecations_set_runtime(deprecations, &runtime);
    use("local/a", names[0]);
    assert_string_equal(last_line, "using deprecated option 'a.b.old' from a.B 'local/a' of "
                                   "publisher, at x[1].old");
    use("local/a", names[0]);
    assert_int_equal(n_lines, 1);
    use("local/a", names[1]);
    use("local/b", names[0]);
    assert_int_equal(n_lines, 3);
    use("local/b", names[0]);
    use("local/a", names[1]);
    assert_int_equal(n_lines, 3);
    assert_int_equal(udpai_deprecations_n_remembered(deprecations), 3);
    assert_int_equal(udpai_runtime_statistics_of(&runtime).deprecated_feature_use, 6 * 3);
}

static void
what_is_removed_is_forgotten(void **state)
{
    (void)state;
    use("local/a", names[0]);
    use("local/a", names[1]);
    use("local/b", names[0]);
    forget("local/c");
    forget("local/a");
    assert_int_equal(udpai_deprecations_n_remembered(deprecations), 1);
    use("local/b", names[0]);
    assert_int_equal(n_lines, 3);
    use("local/a", names[0]);
    assert_int_equal(n_lines, 4);
}

static void
a_line_says_what_it_is(void **state)
{
    (void)state;
    udpa_resource *resource = RESOURCE("local/a", .type = "type.googleapis.com/a.B");
    const udpai_inspected by = {resource, {NULL, 0}};
    const udpai_deprecated feature = {
        .name = names[2],
        .holder = "a.B.age",
        .is_default = true,
        .is_disallowed = true,
        .path = "age",
        .n_uses = 1,
    };
    udpai_deprecations_used(deprecations, &by, &feature);
    assert_string_equal(last_line,
                        "using deprecated value 'a.OLDEST' from a.B 'local/a' of a peer without a "
                        "name, at age, which was left out and has it by default; it is disallowed, "
                        "but the runtime allows it");
    udpa_resource_unref(resource);
}

/* Nobody makes it grow; and in ten seconds there are so many lines and no more. */
static void
lines_and_memory_are_bounded(void **state)
{
    (void)state;
    char name[32];
    for (size_t i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "local/%zu", i);
        use(name, names[i % 3]);
    }
    assert_true(n_lines >= 100 && n_lines < 2000);
    /* What was not logged is not remembered either. */
    assert_int_equal(udpai_deprecations_n_remembered(deprecations), n_lines);
}

static bool
allows(const char *name, bool is_disallowed)
{
    const udpai_deprecated feature = {.name = name, .is_disallowed = is_disallowed};
    return udpai_deprecations_allows(deprecations, &feature);
}

static void
the_runtime_counts_as_it_is_now(void **state)
{
    (void)state;
    udpai_runtime_change change = {UDPAI_STR("envoy.deprecated_features:a.b.older"),
                                   UDPAI_STR("true")};
    assert_false(allows(names[1], true));
    assert_true(allows(names[1], false));
    udpai_deprecations_set_runtime(deprecations, &runtime);
    assert_false(allows(names[1], true));
    assert_ok(udpai_runtime_modify(&runtime, &change, 1, NULL));
    assert_true(allows(names[1], true));
    assert_false(allows(names[0], true));
    change.value = UDPAI_STR("");
    assert_ok(udpai_runtime_modify(&runtime, &change, 1, NULL));
    assert_false(allows(names[1], true));
}

enum {
    N_ROUNDS = 2000
};

static void *
use_and_forget(void *userdata)
{
    size_t seed = (size_t)userdata;
    char name[32];
    for (size_t i = 0; i < N_ROUNDS; i++) {
        snprintf(name, sizeof(name), "local/%zu", (i * 7 + seed) % 13);
        if (i % 5 == 0)
            forget(name);
        else
            use(name, names[i % 3]);
        (void)allows(names[i % 3], i % 2);
    }
    return NULL;
}

static void
threads_may_do_all_this_together(void **state)
{
    (void)state;
    pthread_t threads[4];
    keeps_lines = false;
    udpai_deprecations_set_runtime(deprecations, &runtime);
    for (size_t i = 0; i < 4; i++)
        assert_ok(pthread_create(&threads[i], NULL, use_and_forget, (void *)i));
    udpai_runtime_change change = {UDPAI_STR("envoy.deprecated_features:a.b.older"),
                                   UDPAI_STR("true")};
    for (size_t i = 0; i < 200; i++)
        assert_ok(udpai_runtime_modify(&runtime, &change, 1, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_ok(pthread_join(threads[i], NULL));
    assert_true(udpai_deprecations_n_remembered(deprecations) <= 13 * 3);
    assert_int_equal(udpai_runtime_statistics_of(&runtime).deprecated_feature_use,
                     4 * 3 * (N_ROUNDS - N_ROUNDS / 5));
}

/* What there is no memory for is not remembered, and nothing else happens. */
static void
without_memory_nothing_is_lost_but_memory(void **state)
{
    (void)state;
    udpa_resource *resource = RESOURCE("local/a");
    const udpai_inspected by = {resource, UDPAI_STR("publisher")};
    const udpai_deprecated feature = {.name = names[0], .path = "x", .n_uses = 1};
    size_t n_before = 0;
    for (long n = 0; n < 30; n++) {
        udpai_alloc_fail_after(n);
        udpai_deprecations_used(deprecations, &by, &feature);
        udpai_deprecations_forget(deprecations, resource);
        udpai_alloc_fail_after(-1);
        n_before = udpai_deprecations_n_remembered(deprecations);
        assert_true(n_before <= 1);
    }
    assert_int_equal(n_before, 0);
    assert_true(n_lines > 0);
    udpa_resource_unref(resource);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    static const struct CMUnitTest tests[] = {
        CASE(each_feature_of_each_resource_is_logged_once),
        CASE(what_is_removed_is_forgotten),
        CASE(a_line_says_what_it_is),
        CASE(lines_and_memory_are_bounded),
        CASE(the_runtime_counts_as_it_is_now),
        CASE(threads_may_do_all_this_together),
        CASE(without_memory_nothing_is_lost_but_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
