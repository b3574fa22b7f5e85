/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that come, fail and are mended, and what the administrator sets. */
#include "base/alloc.h"
#include "runtime/layers.h"

#include "tests/harness/oom.h"

static const udpai_runtime_layer_options some[] = {
    {{"base", 4}, UDPAI_RUNTIME_STATIC},
    {{"disk", 4}, UDPAI_RUNTIME_DISK},
    {{"mine", 4}, UDPAI_RUNTIME_ADMIN},
};

static unsigned n_changes;

static void
count_change(void *userdata)
{
    (void)userdata;
    n_changes++;
}

static udpai_runtime_load
loaded(size_t index, const char *key, const char *text)
{
    udpai_runtime_load load = {.index = index, .layer = udpai_runtime_layer_new(some[index].name)};
    udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(text));
    assert_ok(udpai_runtime_layer_put(load.layer, udpai_str_from(key), &value, NULL));
    return load;
}

static uint64_t
integer(udpai_runtime *runtime, const char *key)
{
    return udpai_runtime_integer(udpai_runtime_current_peek(&runtime->current), udpai_str_from(key),
                                 0);
}

static udpa_err
modify(udpai_runtime *runtime, const char *key, const char *text, udpa_error **ret_error)
{
    udpai_runtime_change change = {udpai_str_from(key), udpai_str_from(text)};
    return udpai_runtime_modify(runtime, &change, 1, ret_error);
}

static void
begin(udpai_runtime *runtime)
{
    assert_ok(udpai_runtime_init(runtime, some, UDPAI_ARRAY_LEN(some), NULL));
    runtime->changed = count_change;
    n_changes = 0;
}

static void
test_an_error_leaves_a_layer_out(void **state)
{
    (void)state;
    udpai_runtime runtime;
    begin(&runtime);
    assert_int_equal(runtime.statistics.num_layers, 1);
    udpai_runtime_load loads[] = {loaded(0, "a", "1"), loaded(1, "a", "2")};
    assert_ok(udpai_runtime_take_loads(&runtime, loads, 2));
    assert_int_equal(n_changes, 1); /* one snapshot for both */
    assert_int_equal(integer(&runtime, "a"), 2);
    assert_int_equal(runtime.statistics.num_layers, 3);
    assert_int_equal(runtime.statistics.num_keys, 1);
    assert_int_equal(runtime.statistics.load_success, 1);

    udpai_runtime_load load = {.index = 1,
                               .error = udpa_error_new(UDPA_ERR_IO, NULL, "cannot read it")};
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_int_equal(integer(&runtime, "a"), 1);
    assert_int_equal(runtime.statistics.num_layers, 2);
    assert_int_equal(runtime.statistics.load_error, 1);
    assert_string_equal(udpa_error_message(udpai_runtime_layer_error(&runtime, 1)),
                        "cannot read it");
    assert_null(udpai_runtime_layer_error(&runtime, 0));

    load = loaded(1, "a", "3");
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_int_equal(integer(&runtime, "a"), 3);
    assert_null(udpai_runtime_layer_error(&runtime, 1));
    assert_int_equal(runtime.statistics.load_success, 2);

    load = (udpai_runtime_load){.index = 1}; /* it is not there, which is no error */
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_int_equal(integer(&runtime, "a"), 1);
    assert_int_equal(runtime.statistics.load_success, 3);
    udpai_runtime_done(&runtime);
}

static void
test_an_error_may_leave_a_layer_as_it_was(void **state)
{
    (void)state;
    udpai_runtime runtime;
    begin(&runtime);
    udpai_runtime_load load = loaded(1, "a", "2");
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    load = loaded(1, "a", "2");
    load.error = udpa_error_new(UDPA_ERR_INVAL, NULL, "it makes no sense");
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_int_equal(integer(&runtime, "a"), 2);
    assert_int_equal(runtime.statistics.num_layers, 2);
    assert_int_equal(runtime.statistics.load_error, 1);
    assert_string_equal(udpa_error_message(udpai_runtime_layer_error(&runtime, 1)),
                        "it makes no sense");
    assert_non_null(udpai_runtime_layer_at(&runtime, 1));
    load = loaded(1, "a", "3");
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_int_equal(integer(&runtime, "a"), 3);
    assert_null(udpai_runtime_layer_error(&runtime, 1));
    assert_int_equal(runtime.statistics.load_success, 2);
    udpai_runtime_done(&runtime);
}

/* With memory for so many allocations. */
static udpa_err
take_two(udpai_runtime *runtime, long memory)
{
    udpai_runtime_load loads[] = {loaded(0, "a", "7"), loaded(1, "b", "7")};
    loads[1].error = udpa_error_new(UDPA_ERR_INVAL, NULL, "it makes no sense");
    udpai_alloc_fail_after(memory);
    udpa_err err = udpai_runtime_take_loads(runtime, loads, 2);
    udpai_alloc_fail_after(-1);
    return err;
}

static void
test_without_memory_all_stays_as_it_was(void **state)
{
    (void)state;
    udpai_runtime runtime;
    begin(&runtime);
    udpai_runtime_load loads[] = {loaded(0, "a", "1"), loaded(1, "b", "2")};
    assert_ok(udpai_runtime_take_loads(&runtime, loads, 2));
    long memory = 0;
    for (; take_two(&runtime, memory) != UDPA_OK; memory++) {
        assert_int_equal(integer(&runtime, "a"), 1);
        assert_int_equal(integer(&runtime, "b"), 2);
        assert_null(udpai_runtime_layer_error(&runtime, 1));
        assert_ok(modify(&runtime, "c", "3", NULL)); /* it makes the snapshot of all layers anew */
        assert_int_equal(integer(&runtime, "a"), 1);
        assert_int_equal(integer(&runtime, "b"), 2);
    }
    assert_true(memory > 0);
    assert_int_equal(integer(&runtime, "a"), 7);
    assert_int_equal(integer(&runtime, "b"), 7);
    assert_non_null(udpai_runtime_layer_error(&runtime, 1));
    udpai_runtime_done(&runtime);
}

static void
test_administrator(void **state)
{
    (void)state;
    udpai_runtime runtime;
    begin(&runtime);
    udpai_runtime_load load = loaded(0, "a", "1");
    assert_ok(udpai_runtime_take_loads(&runtime, &load, 1));
    assert_ok(modify(&runtime, "a", "7", NULL));
    assert_int_equal(integer(&runtime, "a"), 7);
    assert_int_equal(runtime.statistics.admin_overrides_active, 1);
    udpai_runtime_change changes[] = {{UDPAI_STR("a"), UDPAI_STR("8")},
                                      {UDPAI_STR("numerator"), UDPAI_STR("1")}};
    udpa_error *error = NULL;
    assert_int_equal(udpai_runtime_modify(&runtime, changes, 2, &error), UDPA_ERR_INVAL);
    udpa_error_unref(error);
    assert_int_equal(integer(&runtime, "a"), 7); /* all or nothing */
    assert_ok(modify(&runtime, "a", "", NULL));
    assert_int_equal(integer(&runtime, "a"), 1);
    assert_int_equal(runtime.statistics.admin_overrides_active, 0);
    assert_ok(modify(&runtime, "never", "", NULL));
    udpai_runtime_done(&runtime);
}

static void
test_without_an_administrator(void **state)
{
    (void)state;
    udpai_runtime runtime;
    assert_ok(udpai_runtime_init(&runtime, some, 2, NULL));
    udpa_error *error = NULL;
    assert_int_equal(modify(&runtime, "a", "7", &error), UDPA_ERR_UNAVAILABLE);
    assert_non_null(strstr(udpa_error_message(error), "no layer for the administrator"));
    udpa_error_unref(error);
    udpai_runtime_done(&runtime);
}

static void
test_nothing_configured(void **state)
{
    (void)state;
    udpai_runtime runtime;
    assert_ok(udpai_runtime_init(&runtime, NULL, 0, NULL));
    assert_int_equal(integer(&runtime, "a"), 0);
    assert_ok(modify(&runtime, "a", "7", NULL));
    assert_int_equal(integer(&runtime, "a"), 7);
    udpai_runtime_done(&runtime);
}

static void
expect_refused(const udpai_runtime_layer_options *layers, size_t n, const char *words)
{
    udpai_runtime runtime;
    udpa_error *error = NULL;
    assert_int_not_equal(udpai_runtime_init(&runtime, layers, n, &error), UDPA_OK);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
}

static void
test_what_may_not_be(void **state)
{
    (void)state;
    const udpai_runtime_layer_options admins[] = {{UDPAI_STR("a"), UDPAI_RUNTIME_ADMIN},
                                                  {UDPAI_STR("b"), UDPAI_RUNTIME_ADMIN}},
                                      same[] = {{UDPAI_STR("a"), UDPAI_RUNTIME_STATIC},
                                                {UDPAI_STR("a"), UDPAI_RUNTIME_DISK}},
                                      nameless[] = {{UDPAI_STR(""), UDPAI_RUNTIME_DISK}};
    static udpai_runtime_layer_options many[UDPAI_RUNTIME_LAYERS_MAX + 1];
    expect_refused(admins, 2, "at most one");
    expect_refused(same, 2, "are called a");
    expect_refused(nameless, 1, "no name");
    expect_refused(many, UDPAI_ARRAY_LEN(many), "at most 64");
}

static void
test_deprecated(void **state)
{
    (void)state;
    udpai_runtime runtime;
    begin(&runtime);
    udpai_runtime_count_deprecated(&runtime, 1);
    udpai_runtime_count_deprecated(&runtime, 41);
    const udpai_runtime_statistics all = udpai_runtime_statistics_of(&runtime);
    assert_int_equal(all.deprecated_feature_use, 42);
    assert_int_equal(all.deprecated_feature_seen_since_process_start, 42);
    assert_int_equal(all.num_layers, runtime.statistics.num_layers);
    udpai_runtime_done(&runtime);
}

static udpa_err
begin_and_modify(void *context)
{
    (void)context;
    udpai_runtime runtime;
    udpa_err err = udpai_runtime_init(&runtime, some, UDPAI_ARRAY_LEN(some), NULL);
    if (err)
        return err;
    err = modify(&runtime, "a", "7", NULL);
    if (err && runtime.statistics.num_keys != 0)
        err = UDPA_ERR_INTERNAL;
    udpai_runtime_done(&runtime);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(begin_and_modify, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_error_leaves_a_layer_out),
        cmocka_unit_test(test_an_error_may_leave_a_layer_as_it_was),
        cmocka_unit_test(test_without_memory_all_stays_as_it_was),
        cmocka_unit_test(test_administrator),
        cmocka_unit_test(test_without_an_administrator),
        cmocka_unit_test(test_nothing_configured),
        cmocka_unit_test(test_what_may_not_be),
        cmocka_unit_test(test_deprecated),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
