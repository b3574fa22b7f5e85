/* SPDX-License-Identifier: Apache-2.0 */
/* Counting, reading meanwhile, and sending what was read to another process. */
#include "metrics/meters.h"

#include <pthread.h>
#include <stdio.h>

#include "metrics/snapshot.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

typedef struct seen {
    size_t n;
    uint64_t acks, sum_us, fast, slow;
    char label[64];
} seen;

static void
look(void *userdata, const udpai_reading *reading)
{
    seen *all = userdata;
    all->n++;
    if (reading->metric == UDPAI_METRIC_ACKS) {
        all->acks += reading->values[0];
        snprintf(all->label, sizeof(all->label), "%.*s", UDPAI_SHOWN(reading->label));
    }
    if (reading->metric != UDPAI_METRIC_LOOP_TURN)
        return;
    all->fast = reading->values[0];
    all->slow = reading->values[UDPAI_METRIC_BUCKETS];
    all->sum_us = reading->values[UDPAI_METRIC_BUCKETS + 1];
}

static void
one_series_has_one_meter(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter *meter = udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A"));
    assert_ptr_equal(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A")), meter);
    assert_ptr_not_equal(udpai_meters_get(meters, UDPAI_METRIC_NACKS, UDPAI_STR("com.acme.A")),
                         meter);
    udpai_meter_add(meter, 2);
    udpai_meter_add(meter, 3);
    seen all = {0};
    udpai_meters_read(meters, look, &all);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.acks, 5);
    assert_string_equal(all.label, "com.acme.A");
}

static void
a_histogram_counts_up_to_its_bounds(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    seen all = {0};
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter *meter = udpai_meters_get(meters, UDPAI_METRIC_LOOP_TURN, UDPAI_STR(""));
    udpai_meter_observe(meter, 0);
    udpai_meter_observe(meter, udpai_metric_bounds_us[0]);
    udpai_meter_observe(meter, udpai_metric_bounds_us[UDPAI_METRIC_BUCKETS - 1] + 1);
    udpai_meters_read(meters, look, &all);
    assert_int_equal(all.fast, 2);
    assert_int_equal(all.slow, 1);
    assert_int_equal(all.sum_us, udpai_metric_bounds_us[0] +
                                     udpai_metric_bounds_us[UDPAI_METRIC_BUCKETS - 1] + 1);
}

static void
what_is_encoded_is_read_the_same(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    udpai_strbuf bytes = {0};
    seen all = {0};
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A")), 300);
    udpai_meter_observe(udpai_meters_get(meters, UDPAI_METRIC_LOOP_TURN, UDPAI_STR("")), 7);
    udpai_meters_read(meters, udpai_reading_encode, &bytes);
    assert_ok(udpai_readings_decode(udpai_strbuf_view(&bytes), look, &all));
    assert_int_equal(all.n, 2);
    assert_int_equal(all.acks, 300);
    assert_int_equal(all.sum_us, 7);
    assert_string_equal(all.label, "com.acme.A");
    udpai_strbuf_done(&bytes);
}

/* All that is cut off is malformed, unless a reading ends just there. */
static void
what_is_cut_is_malformed(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    udpai_strbuf bytes = {0};
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A")), 300);
    udpai_meters_read(meters, udpai_reading_encode, &bytes);
    for (size_t len = 1; len < bytes.len; len++) {
        seen all = {0};
        assert_int_equal(udpai_readings_decode((udpai_str){bytes.data, len}, look, &all),
                         UDPA_ERR_MALFORMED);
        assert_int_equal(all.n, 0);
    }
    udpai_strbuf_done(&bytes);
}

static void
any_bytes_are_taken_or_rejected(void **state)
{
    uint64_t seed = 20261130;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        seen all = {0};
        size_t len = test_random(&seed) % sizeof(bytes);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)(test_random(&seed) % (round % 2 ? 256 : 16));
        udpa_err err = udpai_readings_decode((udpai_str){bytes, len}, look, &all);
        assert_true(err == UDPA_OK || err == UDPA_ERR_MALFORMED);
    }
}

/* ---- threads ---- */

#define TIMES 200000

static void *
count(void *userdata)
{
    udpai_meters *meters = userdata;
    char type[] = "com.acme.A";
    for (int i = 0; i < TIMES; i++) {
        type[sizeof(type) - 2] = (char)('A' + i % 26);
        udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR(type)), 1);
    }
    return NULL;
}

static void
another_thread_may_read(void **state)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    pthread_t thread;
    uint64_t before = 0;
    (void)state;
    assert_ok(udpai_meters_new(&meters));
    assert_int_equal(pthread_create(&thread, NULL, count, meters), 0);
    do {
        seen all = {0};
        udpai_meters_read(meters, look, &all);
        assert_true(all.acks >= before && all.acks <= TIMES);
        before = all.acks;
    } while (before < TIMES);
    pthread_join(thread, NULL);
}

/* ---- lack of memory ---- */

static udpa_err
count_one(void *context)
{
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    seen all = {0};
    (void)context;
    udpa_err err = udpai_meters_new(&meters);
    if (err != UDPA_OK)
        return err;
    udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A")), 1);
    udpai_meter_observe(udpai_meters_get(meters, UDPAI_METRIC_LOOP_TURN, UDPAI_STR("")), 1);
    udpai_meters_read(meters, look, &all);
    bool is_all = all.acks == 1 && all.sum_us == 1 && strcmp(all.label, "com.acme.A") == 0;
    return is_all ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
what_there_is_no_memory_for_is_counted_nowhere(void **state)
{
    (void)state;
    oom_torture(count_one, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_series_has_one_meter),
        cmocka_unit_test(a_histogram_counts_up_to_its_bounds),
        cmocka_unit_test(what_is_encoded_is_read_the_same),
        cmocka_unit_test(what_is_cut_is_malformed),
        cmocka_unit_test(any_bytes_are_taken_or_rejected),
        cmocka_unit_test(another_thread_may_read),
        cmocka_unit_test(what_there_is_no_memory_for_is_counted_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
