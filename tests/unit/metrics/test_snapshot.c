/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a snapshot, and how many series it can have. */
#include "metrics/snapshot.h"

#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

/* -1: it is not set. */
static double
value_of(const udpai_metric_snapshot *snapshot, udpai_metric metric, const char *label)
{
    UDPAI_LIST_FOREACH (at, udpai_metric_snapshot_samples(snapshot, metric)) {
        const udpai_metric_sample *sample = UDPAI_LIST_ENTRY(at, udpai_metric_sample, node);
        if (udpai_str_eq(udpai_metric_sample_label(sample), udpai_str_from(label)))
            return sample->is_set ? sample->values[0] : -1;
    }
    return -1;
}

static void
what_is_put_twice_is_added_up(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    (void)state;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, UDPAI_STR("com.acme.A"), 2);
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, UDPAI_STR("com.acme.B"), 5);
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, UDPAI_STR("com.acme.A"), 3);
    assert_true(value_of(snapshot, UDPAI_METRIC_RESOURCES, "com.acme.A") == 5);
    assert_true(value_of(snapshot, UDPAI_METRIC_RESOURCES, "com.acme.B") == 5);
    assert_int_equal(udpai_metric_snapshot_n_series(snapshot), 2);
}

static void
the_next_one_begins_empty(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    (void)state;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, UDPAI_STR("com.acme.A"), 2);
    udpai_metric_snapshot_begin(snapshot, 1);
    assert_int_equal(udpai_metric_snapshot_n_series(snapshot), 0);
    assert_true(value_of(snapshot, UDPAI_METRIC_RESOURCES, "com.acme.A") == -1);
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, UDPAI_STR("com.acme.A"), 1);
    assert_true(value_of(snapshot, UDPAI_METRIC_RESOURCES, "com.acme.A") == 1);
}

static void
meters_of_several_threads_are_added_up(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    UDPA_AUTO(udpai_meters_free) udpai_meters *one = NULL;
    UDPA_AUTO(udpai_meters_free) udpai_meters *other = NULL;
    (void)state;
    assert_ok(udpai_meters_new(&one));
    assert_ok(udpai_meters_new(&other));
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_meter_add(udpai_meters_get(one, UDPAI_METRIC_SESSIONS, UDPAI_STR("udpa")), 5);
    udpai_meter_subtract(udpai_meters_get(other, UDPAI_METRIC_SESSIONS, UDPAI_STR("udpa")), 2);
    udpai_meter_set(udpai_meters_get(one, UDPAI_METRIC_OLDEST_UNANSWERED, UDPAI_STR("")), 7);
    udpai_meter_set(udpai_meters_get(other, UDPAI_METRIC_OLDEST_UNANSWERED, UDPAI_STR("")), 4);
    udpai_meter_observe(udpai_meters_get(one, UDPAI_METRIC_LOOP_TURN, UDPAI_STR("")), 1);
    udpai_meter_observe(udpai_meters_get(other, UDPAI_METRIC_LOOP_TURN, UDPAI_STR("")), 2);
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_meters_read(one, udpai_metric_snapshot_take, snapshot);
    udpai_meters_read(other, udpai_metric_snapshot_take, snapshot);
    assert_true(value_of(snapshot, UDPAI_METRIC_SESSIONS, "udpa") == 3);
    assert_true(value_of(snapshot, UDPAI_METRIC_LOOP_TURN, "") == 2);
    assert_true(value_of(snapshot, UDPAI_METRIC_OLDEST_UNANSWERED, "") == 7);
    assert_int_equal(udpai_metric_snapshot_n_series(snapshot), 2 + UDPAI_METRIC_BUCKETS + 3);
}

static void
of_a_ratio_the_largest_counts(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_meter *streams = udpai_meters_get(meters, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("streams"));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_meter_set_ratio(streams, 3, 4);
    udpai_meters_read(meters, udpai_metric_snapshot_take, snapshot);
    udpai_meter_set_ratio(streams, 1, 4);
    udpai_meters_read(meters, udpai_metric_snapshot_take, snapshot);
    assert_true(value_of(snapshot, UDPAI_METRIC_LIMIT_USED, "streams") == 0.75);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("streams"), 0.5);
    assert_true(value_of(snapshot, UDPAI_METRIC_LIMIT_USED, "streams") == 0.75);
    udpai_metric_put(snapshot, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("streams"), 2);
    assert_true(value_of(snapshot, UDPAI_METRIC_LIMIT_USED, "streams") == 2);
    udpai_meter_set_ratio(streams, 1, 0); /* without a limit */
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_meters_read(meters, udpai_metric_snapshot_take, snapshot);
    assert_true(value_of(snapshot, UDPAI_METRIC_LIMIT_USED, "streams") == 0);
}

static void
no_peer_can_make_it_grow(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    uint64_t none[UDPAI_METRIC_VALUES_MAX] = {0};
    size_t n_most = 0;
    char label[32];
    (void)state;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    for (int round = 0; round < 2; round++) {
        udpai_metric_snapshot_begin(snapshot, 1);
        for (int i = 0; i < UDPAI_METRICS; i++)
            for (int k = 0; k < 10000; k++) {
                const udpai_reading reading = {(udpai_metric)i, {label, 0}, none};
                udpai_reading one = reading;
                one.label.len = (size_t)snprintf(label, sizeof(label), "com.acme.T%d", k);
                udpai_metric_snapshot_take(snapshot, &one);
            }
        if (round == 0)
            n_most = udpai_metric_snapshot_n_series(snapshot);
        assert_int_equal(udpai_metric_snapshot_n_series(snapshot), n_most);
    }
    assert_in_range(n_most, UDPAI_METRICS, UDPAI_METRIC_SERIES_MAX);
    assert_false(udpai_metric_snapshot_failed(snapshot));
}

static udpa_err
fill(void *context)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    (void)context;
    udpa_err err = udpai_metric_snapshot_new(&snapshot);
    if (err != UDPA_OK)
        return err;
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_metric_put(snapshot, UDPAI_METRIC_PROCESS_START, UDPAI_STR(""), 2);
    udpai_metric_put(snapshot, UDPAI_METRIC_RUNTIME_KEYS, UDPAI_STR(""), 3);
    return udpai_metric_snapshot_failed(snapshot) ? UDPA_ERR_NOMEM : UDPA_OK;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    oom_torture(fill, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_twice_is_added_up),
        cmocka_unit_test(the_next_one_begins_empty),
        cmocka_unit_test(meters_of_several_threads_are_added_up),
        cmocka_unit_test(of_a_ratio_the_largest_counts),
        cmocka_unit_test(no_peer_can_make_it_grow),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
