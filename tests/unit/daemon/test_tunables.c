/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the runtime that change a node, and invalid ones. */
#include "daemon/tunables.h"

#include <stdio.h>

#include "base/error.h"
#include "tests/harness/oom.h"

static struct {
    char lines[8][512];
    size_t n;
} told;

static void
note_change(void *userdata, const char *line)
{
    assert_ptr_equal(userdata, &told);
    assert_true(told.n < UDPAI_ARRAY_LEN(told.lines));
    snprintf(told.lines[told.n++], sizeof(told.lines[0]), "%s", line);
}

static void
note(void *userdata, udpai_str key, const char *line)
{
    char named[128];
    snprintf(named, sizeof(named), "%.*s", UDPAI_SHOWN(key));
    assert_non_null(strstr(line, named));
    note_change(userdata, line);
}

static udpai_plan *
plan_new(void)
{
    static udpai_plan plan;
    plan = (udpai_plan){.log_level = UDPA_LOG_INFO};
    udpai_endpoint_settings_init(&plan.settings);
    plan.settings.node.store.max_resources = 12345;
    plan.settings.limits.max_streams = 77;
    return &plan;
}

/* "key", "value", and so on, up to NULL. */
static udpai_runtime_snapshot *
snapshot_of(const char *const *texts)
{
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    for (size_t i = 0; texts[i]; i += 2) {
        udpai_runtime_value value = udpai_runtime_value_read(udpai_str_from(texts[i + 1]));
        assert_ok(udpai_runtime_layer_put(layer, udpai_str_from(texts[i]), &value, NULL));
    }
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(&layer, 1);
    udpai_runtime_layer_unref(layer);
    assert_non_null(snapshot);
    return snapshot;
}

static void
read_texts(udpai_tunables *switches, const char *const *texts)
{
    UDPA_AUTO(udpai_runtime_snapshot_unref)
    udpai_runtime_snapshot *snapshot = snapshot_of(texts);
    memset(&told, 0, sizeof(told));
    udpai_tunables_init(switches, plan_new());
    assert_ok(udpai_tunables_read(switches, snapshot, note, &told));
}

/* A key, something that it may be, and where that is found. */
static const struct one {
    const char *key, *text;
    size_t offset, size;
    uint64_t wanted;
} ones[] = {

#define ONE(key, text, field, wanted)                                                              \
    {                                                                                              \
        key, text, offsetof(udpai_tunables, field), sizeof(((udpai_tunables *)NULL)->field),       \
            wanted                                                                                 \
    }
#define TIME(name, ms) ONE("udpa.timing." #name "_ms", #ms, timing.name##_ms, ms)
    ONE("udpa.log.level", "Error", log_level, UDPA_LOG_ERROR),
    ONE("udpa.acl.dry_run", "true", acl_dry_run, true),
    ONE("udpa.validation.mode", "warn", validation, UDPAI_POLICY_WARN),
    ONE("udpa.validation.mode", "off", validation, UDPAI_POLICY_OFF),
    ONE("udpa.files.quiet_ms", "1000", files_quiet_ms, 1000),
    ONE("udpa.drain.timeout_ms", "70", drain_timeout_ms, 70),
    ONE("udpa.limits.max_streams", "3", max_streams, 3),
    ONE("udpa.limits.max_streams_per_identity", "4", max_streams_per_identity, 4),
    ONE("udpa.limits.max_names_per_stream", "5", fanout.max_names, 5),
    ONE("udpa.limits.max_views", "6", fanout.max_views, 6),
    ONE("udpa.limits.max_views_per_identity", "7", fanout.max_views_per_owner, 7),
    ONE("udpa.limits.max_resources", "8", store.max_resources, 8),
    ONE("udpa.limits.max_bytes", "99999999999", store.max_bytes, 99999999999),
    ONE("udpa.limits.max_resources_per_namespace", "10", store.max_resources_per_namespace, 10),
    ONE("udpa.limits.max_bytes_per_namespace", "11", store.max_bytes_per_namespace, 11),
    ONE("udpa.limits.max_resources_per_publisher", "12", store.max_resources_per_publisher, 12),
    ONE("udpa.limits.max_bytes_per_publisher", "13", store.max_bytes_per_publisher, 13),
    ONE("udpa.limits.max_publishers_per_name", "9", store.max_publishers_per_name, 9),
    TIME(connect_grace, 14),
    TIME(sync_timeout, 15),
    ONE("udpa.timing.cycle_timeout_ms", "16000", fanout.cycle_timeout_ms, 16000),
    TIME(fail_back_delay, 17),
    TIME(backoff_base, 21),
    TIME(backoff_max, 300),
    TIME(interest_linger, 19),
    TIME(fail_over_spread, 0),
    TIME(recover_timeout, 20),
#undef TIME
#undef ONE
};

static uint64_t
number_at(const udpai_tunables *switches, const struct one *one)
{
    uint64_t number = 0; /* the least byte is first */
    memcpy(&number, (const char *)switches + one->offset, one->size);
    return number;
}

static void
each_key_changes_what_it_names_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(ones); i++) {
        const char *const texts[] = {ones[i].key, ones[i].text, "other.key", "7", NULL};
        udpai_tunables before, now;
        udpai_tunables_init(&before, plan_new());
        assert_int_not_equal(number_at(&before, &ones[i]), ones[i].wanted);
        read_texts(&now, texts);
        assert_int_equal(told.n, 0);
        assert_int_equal(number_at(&now, &ones[i]), ones[i].wanted);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(ones); k++)
            if (ones[k].offset != ones[i].offset)
                assert_int_equal(number_at(&now, &ones[k]), number_at(&before, &ones[k]));
        udpai_tunables_report_changes(&before, &now, note_change, &told);
        assert_int_equal(told.n, 1);
        assert_memory_equal(told.lines[0], ones[i].key, strlen(ones[i].key));
    }
}

static void
what_the_file_says_is_the_default(void **state)
{
    const char *const none[] = {"x", "1", NULL};
    udpai_tunables switches;

    (void)state;
    read_texts(&switches, none);
    assert_int_equal(switches.store.max_resources, 12345);
    assert_int_equal(switches.max_streams, 77);
    assert_int_equal(switches.max_streams_per_identity, UDPAI_MAX_STREAMS_PER_IDENTITY);
    assert_int_equal(switches.drain_timeout_ms, UDPAI_FINISH_TIMEOUT_MS);
    const udpai_stream_switches streams = udpai_tunables_of_streams(&switches);
    assert_int_equal(streams.max_streams, 77);
    assert_int_equal(streams.finish_timeout_ms, UDPAI_FINISH_TIMEOUT_MS);
    assert_int_equal(streams.fanout.max_names, plan_new()->settings.fanout.max_names);
}

static void
what_is_wrong_is_told_and_not_heeded(void **state)
{
    static const struct {
        const char *key, *text, *words;
    } wrong[] = {
        {"udpa.log.level", "loud", "not one of debug, info, warning, error"},
        {"udpa.log.level", "a word that is much too long", "is ignored"},
        {"udpa.acl.dry_run", "maybe", "not true or false"},
        {"udpa.validation.mode", "on", "not one of refuse, warn, off"},
        {"udpa.limits.max_streams", "0", "not a number from 1 to 4294967295"},
        {"udpa.limits.max_streams", "-1", "not a number"},
        {"udpa.limits.max_streams", "4294967296", "not a number"},
        {"udpa.limits.max_streams", "many", "'many' is ignored"},
        {"udpa.timing.backoff_base_ms", "19", "not a number from 20 to 86400000"},
        {"udpa.files.quiet_ms", "60001", "not a number from 1 to 60000"},
        {"udpa.limits.max_stream", "1", "did you mean 'udpa.limits.max_streams'?"},
        {"udpa.what", "1", "udpa.what is ignored: no setting of a node has this key"},
        {"udpa.log.levels.file", "loud", "not one of debug, info, warning, error"},
        {"udpa.log.levels.a-component-with-a-name-too-long", "info", "is ignored"},
        {"udpa.log.levels.", "info", "is ignored"},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        const char *const texts[] = {wrong[i].key, wrong[i].text, NULL};
        udpai_tunables before, now;
        udpai_tunables_init(&before, plan_new());
        read_texts(&now, texts);
        assert_int_equal(told.n, 1);
        assert_non_null(strstr(told.lines[0], wrong[i].words));
        assert_non_null(strstr(told.lines[0], wrong[i].key));
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(ones); k++)
            assert_int_equal(number_at(&now, &ones[k]), number_at(&before, &ones[k]));
        assert_int_equal(now.n_log_levels, 0);
    }
}

static void
an_empty_value_says_nothing(void **state)
{
    const char *const texts[] = {"udpa.acl.dry_run", "", "udpa.log.levels.x", "", NULL};
    udpai_tunables switches;

    (void)state;
    read_texts(&switches, texts);
    assert_int_equal(told.n, 0);
    assert_false(switches.acl_dry_run);
}

static void
times_that_do_not_go_together_are_not_heeded(void **state)
{
    const char *const backoff[] = {"udpa.timing.backoff_base_ms", "500",
                                   "udpa.timing.backoff_max_ms", "400", NULL};
    const char *const cycle[] = {"udpa.timing.sync_timeout_ms", "30000", NULL};
    const char *const both[] = {"udpa.timing.sync_timeout_ms", "30000",
                                "udpa.timing.cycle_timeout_ms", "30001", NULL};
    udpai_tunables before, now;

    (void)state;
    udpai_tunables_init(&before, plan_new());
    read_texts(&now, backoff);
    assert_int_equal(told.n, 2); /* either can be the wrong one */
    assert_memory_equal(&now.timing, &before.timing, sizeof(now.timing));
    read_texts(&now, cycle);
    assert_int_equal(told.n, 1);
    assert_memory_equal(&now.timing, &before.timing, sizeof(now.timing));
    read_texts(&now, both);
    assert_int_equal(told.n, 0);
    assert_int_equal(now.timing.sync_timeout_ms, 30000);
    assert_int_equal(now.fanout.cycle_timeout_ms, 30001);
}

static void
components_have_levels(void **state)
{
    const char *const two[] = {"udpa.log.levels.file", "debug", "udpa.log.levels.acl", "error",
                               NULL};
    const char *const one[] = {"udpa.log.levels.file", "debug", NULL};
    udpai_tunables a, b;

    (void)state;
    read_texts(&a, two);
    assert_int_equal(a.n_log_levels, 2);
    assert_string_equal(a.log_levels[0].component, "acl");
    assert_int_equal(a.log_levels[0].level, UDPA_LOG_ERROR);
    assert_string_equal(a.log_levels[1].component, "file");
    read_texts(&b, one);
    assert_false(udpai_tunables_same_log(&a, &b));
    read_texts(&b, two);
    assert_true(udpai_tunables_same_log(&a, &b));
    b.log_levels[1].level = UDPA_LOG_INFO;
    assert_false(udpai_tunables_same_log(&a, &b));
}

static void
more_resources_of_a_namespace_may_be_held(void **state)
{
    const char *const texts[] = {"udpa.limits.max_resources_per_namespace", "100000000", NULL};
    udpai_tunables switches;

    (void)state;
    read_texts(&switches, texts);
    assert_int_equal(switches.fanout.max_held, 100000000);
}

/* ---- for another process ---- */

static udpai_runtime_snapshot *handed_over;

static udpa_err
hand_over(void *context)
{
    udpai_tunables *switches = context;
    udpai_runtime_snapshot *copy = NULL;
    udpai_strbuf bytes = {0};
    udpai_tunables_init(switches, plan_new());
    udpai_tunables_encode(handed_over, &bytes);
    udpa_err err = udpai_strbuf_failed(&bytes)
                       ? UDPA_ERR_NOMEM
                       : udpai_tunables_decode(udpai_strbuf_view(&bytes), &copy);
    if (!err)
        err = udpai_tunables_read(switches, copy, note, &told);
    udpai_runtime_snapshot_unref(copy);
    udpai_strbuf_done(&bytes);
    return err;
}

static void
another_process_reads_the_same(void **state)
{
    const char *const texts[] = {"a", "b", "udpa.acl.dry_run", "true", "udpa.limits.max_streams",
                                 "9", NULL};
    udpai_tunables switches;

    (void)state;
    memset(&told, 0, sizeof(told));
    handed_over = snapshot_of(texts);
    oom_torture(hand_over, &switches);
    udpai_runtime_snapshot_unref(handed_over);
    assert_int_equal(told.n, 0);
    assert_true(switches.acl_dry_run);
    assert_int_equal(switches.max_streams, 9);
}

static void
what_was_cut_is_malformed(void **state)
{
    static const char whole[] = "\x08udpa.a.b\x01x";
    udpai_runtime_snapshot *copy = NULL;

    (void)state;
    for (size_t len = 1; len < sizeof(whole) - 1; len++)
        assert_int_equal(udpai_tunables_decode((udpai_str){whole, len}, &copy), UDPA_ERR_MALFORMED);
    assert_null(copy);
    assert_ok(udpai_tunables_decode((udpai_str){whole, sizeof(whole) - 1}, &copy));
    assert_int_equal(udpai_runtime_snapshot_n_keys(copy), 1);
    udpai_runtime_snapshot_unref(copy);
    assert_int_equal(udpai_tunables_decode(UDPAI_STR("\x01\xff\x01x"), &copy), UDPA_ERR_MALFORMED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_changes_what_it_names_and_nothing_else),
        cmocka_unit_test(what_the_file_says_is_the_default),
        cmocka_unit_test(what_is_wrong_is_told_and_not_heeded),
        cmocka_unit_test(an_empty_value_says_nothing),
        cmocka_unit_test(times_that_do_not_go_together_are_not_heeded),
        cmocka_unit_test(components_have_levels),
        cmocka_unit_test(more_resources_of_a_namespace_may_be_held),
        cmocka_unit_test(another_process_reads_the_same),
        cmocka_unit_test(what_was_cut_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
