/* SPDX-License-Identifier: Apache-2.0 */
/* Who is who, how many there may be, and what becomes of those who go. */
#include <stdio.h>

#include "recording.h"
#include "tests/harness/oom.h"

/* ---- identity ---- */

static void
test_one_place_is_one_target(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *one = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_target *same = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_target *others[8] = {0};
    udpa_load_place places[8];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++)
        places[i] = place_of("com.acme/a", "192.0.2.1");
    places[0].cluster = "com.acme/b";
    places[1].address = "192.0.2.2";
    places[2].port = 81;
    places[3].priority = 1;
    places[4].region = "a";
    places[5].region = "a", places[5].zone = NULL;
    places[6].sub_zone = "a";
    places[7].address = NULL, places[7].port = 0;
    assert_ptr_equal(one, same);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        assert_ok(udpa_load_target_get(&others[i], recorder, &places[i], NULL));
        assert_ptr_not_equal(others[i], one);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(others[i], others[j]);
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++)
        udpa_load_target_unref(others[i]);
    udpa_load_target_unref(one);
    udpa_load_target_unref(same);
    udpa_load_recorder_unref(recorder);
}

static void
test_names_are_found_again(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_category *one, *same, *other;
    udpa_load_metric *cost, *same_cost, *size;
    assert_ok(udpa_load_category_get(&one, recorder, "com.acme/a", "throttle", NULL));
    assert_ok(udpa_load_category_get(&same, recorder, "com.acme/a", "throttle", NULL));
    assert_ok(udpa_load_category_get(&other, recorder, "com.acme/b", "throttle", NULL));
    assert_ptr_equal(one, same);
    assert_ptr_not_equal(one, other);
    assert_ok(udpa_load_metric_get(&cost, target, "cost", NULL));
    assert_ok(udpa_load_metric_get(&size, target, "size", NULL));
    assert_ok(udpa_load_metric_get(&same_cost, target, "cost", NULL));
    assert_ptr_equal(cost, same_cost);
    assert_ptr_not_equal(cost, size);
    udpa_load_category_unref(one);
    udpa_load_category_unref(same);
    udpa_load_category_unref(other);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* The handles keep it. */
static void
test_the_recorder_is_given_up_first(void **state)
{
    (void)state;
    unsigned long n_live = udpai_alloc_live();
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_category *category;
    assert_ok(udpa_load_category_get(&category, recorder, "com.acme/a", "throttle", NULL));
    assert_ptr_equal(udpa_load_recorder_ref(recorder), recorder);
    assert_null(udpa_load_recorder_unref(recorder));
    assert_null(udpa_load_recorder_unref(recorder));
    udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
    udpa_load_target_read(target, &figures);
    assert_null(udpa_load_category_unref(category));
    assert_null(udpa_load_target_unref(target));
    assert_int_equal(udpai_alloc_live(), n_live);
    assert_null(udpa_load_recorder_ref(NULL));
    assert_null(udpa_load_recorder_unref(NULL));
    assert_null(udpa_load_target_unref(NULL));
    assert_null(udpa_load_category_unref(NULL));
}

static void
test_counts_outlive_references(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
    count_requests(target, 2, 1);
    udpa_load_target_unref(target);
    target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_target_read(target, &figures);
    assert_int_equal(figures.n_requests_started, 3);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* ---- limits ---- */

static udpa_err
try_target(udpa_load_recorder *recorder, const char *cluster, const char *address)
{
    udpa_load_target *target = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpa_load_place place = place_of(cluster, address);
    udpa_err err = udpa_load_target_get(&target, recorder, &place, &error);
    assert_int_equal(udpa_error_code(error), err);
    udpa_load_target_unref(target);
    return err;
}

static void
test_handles_are_bounded(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 4); /* with the locality */
    udpa_load_target *one = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_target *two = get_target(recorder, "com.acme/a", "192.0.2.2");
    udpa_load_target *three = get_target(recorder, "com.acme/a", "192.0.2.3");
    udpa_load_category *category;
    udpa_load_metric *metric;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(try_target(recorder, "com.acme/a", "192.0.2.4"), UDPA_ERR_LIMIT);
    assert_int_equal(try_target(recorder, "com.acme/b", "192.0.2.4"), UDPA_ERR_LIMIT);
    assert_int_equal(udpa_load_category_get(&category, recorder, "com.acme/a", "x", NULL),
                     UDPA_ERR_LIMIT);
    assert_int_equal(udpa_load_metric_get(&metric, one, "x", &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "max_handles"));
    assert_ok(try_target(recorder, "com.acme/a", "192.0.2.1")); /* it is there */
    udpa_load_target_unref(two);
    assert_ok(try_target(recorder, "com.acme/a", "192.0.2.4")); /* in its place */
    assert_ok(udpa_load_metric_get(&metric, one, "x", NULL));   /* and in that one's */
    udpa_load_target_unref(one);
    udpa_load_target_unref(three);
    udpa_load_recorder_unref(recorder);
}

/* Whoever has something in flight may still come back. */
static void
test_what_is_in_flight_is_not_forgotten(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 2);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_request_started(target);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(udpa_load_recorder_ref(recorder));
    udpa_load_target *other = NULL;
    udpa_load_place place = place_of("com.acme/a", "192.0.2.2");
    udpa_load_category *category; /* keeps the cluster */
    assert_int_equal(udpa_load_category_get(&category, recorder, "com.acme/a", "x", NULL),
                     UDPA_ERR_LIMIT);
    assert_int_equal(udpa_load_target_get(&other, recorder, &place, NULL), UDPA_ERR_LIMIT);
    target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_request_succeeded(target);
    udpa_load_target_unref(target);
    assert_ok(udpa_load_target_get(&other, recorder, &place, NULL));
    udpa_load_target_unref(other);
    udpa_load_recorder_unref(recorder);
}

static void
test_clusters_are_bounded(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(2, 0);
    udpa_load_target *one = get_target(recorder, "com.acme/a", NULL);
    udpa_load_target *two = get_target(recorder, "com.acme/b", NULL);
    assert_int_equal(try_target(recorder, "com.acme/c", NULL), UDPA_ERR_LIMIT);
    udpa_load_target_unref(two);
    assert_ok(try_target(recorder, "com.acme/c", NULL));
    assert_ok(try_target(recorder, "com.acme/d", NULL));
    udpa_load_target_unref(one);
    udpa_load_recorder_unref(recorder);
}

static void
test_names_of_a_cluster_are_bounded(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    unsigned n_categories = 0, n_metrics = 0, n_localities = 1;
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        udpa_load_category *category = NULL;
        udpa_load_metric *metric = NULL;
        udpa_load_target *elsewhere = NULL;
        udpa_load_place place = place_of("com.acme/a", NULL);
        snprintf(name, sizeof(name), "%u", i);
        place.region = name;
        n_categories +=
            udpa_load_category_get(&category, recorder, "com.acme/a", name, NULL) == UDPA_OK;
        n_metrics += udpa_load_metric_get(&metric, target, name, NULL) == UDPA_OK;
        n_localities += udpa_load_target_get(&elsewhere, recorder, &place, NULL) == UDPA_OK;
        udpa_load_category_unref(category);
        udpa_load_target_unref(elsewhere);
    }
    assert_int_equal(n_categories, 64);
    assert_int_equal(n_metrics, 32);
    assert_int_equal(n_localities, 128);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* A process has so many, whatever its recorders may have. */
static void
test_a_process_is_bounded(void **state)
{
    (void)state;

    enum {
        ALL = 65536
    };

    udpa_load_recorder *recorder = new_recorder(0, ALL * 2), *second = new_recorder(0, 0);
    static udpa_load_target *targets[ALL];
    size_t n = 0;
    for (; n < ALL; n++) {
        char address[32];
        snprintf(address, sizeof(address), "host-%zu", n);
        const udpa_load_place place = place_of("com.acme/a", address);
        if (udpa_load_target_get(&targets[n], recorder, &place, NULL) != UDPA_OK)
            break;
    }
    assert_int_equal(n, ALL);
    assert_int_equal(try_target(recorder, "com.acme/a", "one-more"), UDPA_ERR_LIMIT);
    assert_int_equal(try_target(second, "com.acme/a", "one-more"), UDPA_ERR_LIMIT);
    while (n > 0)
        udpa_load_target_unref(targets[--n]);
    udpa_load_recorder_unref(recorder);
    assert_ok(try_target(second, "com.acme/a", "one-more"));
    udpa_load_recorder_unref(second);
}

/* ---- mistakes ---- */

static void
test_bad_places(void **state)
{
    (void)state;
    char long_text[300];
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_place places[9];
    static const char *const words[] = {"cluster",  "no-namespace", "struct_size",
                                        "a region", "a zone",       "an address",
                                        "port",     "port",         "a service_name"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++)
        places[i] = place_of("com.acme/a", "192.0.2.1");
    places[0].cluster = NULL;
    places[1].cluster = "no-namespace";
    places[2].struct_size--;
    places[3].region = long_text;
    places[4].zone = "\xff";
    places[5].address = long_text;
    places[6].port = 65536;
    places[7].address = NULL;
    places[8].service_name = "\xc0\x80";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        udpa_load_target *target = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(udpa_load_target_get(&target, recorder, &places[i], &error),
                         UDPA_ERR_INVAL);
        assert_null(target);
        if (!strstr(udpa_error_message(error), words[i]))
            fail_msg("'%s' does not say '%s'", udpa_error_message(error), words[i]);
    }
    udpa_load_recorder_unref(recorder);
}

static void
test_bad_names(void **state)
{
    (void)state;
    udpa_load_recorder_options options = UDPA_LOAD_RECORDER_OPTIONS_INIT;
    udpa_load_recorder *recorder = new_recorder(0, 0), *none = NULL;
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    udpa_load_category *category;
    udpa_load_metric *metric;
    options.struct_size = 4;
    assert_int_equal(udpa_load_recorder_new(&none, &options, NULL), UDPA_ERR_INVAL);
    static const char *const bad[] = {NULL, "", "\xff"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        assert_int_equal(udpa_load_category_get(&category, recorder, "com.acme/a", bad[i], NULL),
                         UDPA_ERR_INVAL);
        assert_int_equal(udpa_load_metric_get(&metric, target, bad[i], NULL), UDPA_ERR_INVAL);
    }
    assert_int_equal(udpa_load_category_get(&category, recorder, "a", "x", NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpa_load_category_get(&category, recorder, NULL, "x", NULL), UDPA_ERR_INVAL);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

static void
test_a_cluster_has_one_service_name(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_place place = place_of("com.acme/a", NULL);
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL), *same = NULL;
    place.service_name = "service";
    assert_ok(udpa_load_target_get(&same, recorder, &place, NULL));
    assert_ptr_equal(same, target);
    udpa_load_target_unref(same);
    place.service_name = "other";
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_load_target_get(&same, recorder, &place, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "'service', and not 'other'"));
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* ---- without memory ---- */

static bool
want_all(void *userdata, udpai_str cluster)
{
    (void)userdata;
    (void)cluster;
    return true;
}

static bool
note_failure(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    (void)cluster;
    *(udpa_err *)userdata = load ? UDPA_OK : UDPA_ERR_NOMEM;
    return true;
}

static udpa_err
do_everything(void *context)
{
    UDPA_AUTO(udpa_load_recorder_unref) udpa_load_recorder *recorder = NULL;
    UDPA_AUTO(udpa_load_target_unref) udpa_load_target *target = NULL;
    UDPA_AUTO(udpa_load_category_unref) udpa_load_category *category = NULL;
    udpa_load_metric *metric = NULL;
    udpa_load_place place = place_of("com.acme/a", "192.0.2.1");
    (void)context;
    place.service_name = "service";
    udpa_err err = udpa_load_recorder_new(&recorder, NULL, NULL);
    if (err == UDPA_OK)
        err = udpa_load_target_get(&target, recorder, &place, NULL);
    if (err == UDPA_OK)
        err = udpa_load_category_get(&category, recorder, "com.acme/a", "throttle", NULL);
    if (err == UDPA_OK)
        err = udpa_load_metric_get(&metric, target, "cost", NULL);
    if (err != UDPA_OK)
        return err;
    count_requests(target, 1, 1);
    udpa_load_measured(metric, 1);
    udpa_load_request_dropped(category);
    const udpai_load_reading reading = {.max_bytes = SIZE_MAX,
                                        .per_endpoint = true,
                                        .selects = want_all,
                                        .take = note_failure,
                                        .userdata = &err};
    udpai_load_recorder_read(recorder, &reading);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    (void)do_everything(NULL); /* the thread's own counters stay */
    oom_torture(do_everything, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_place_is_one_target),
        cmocka_unit_test(test_names_are_found_again),
        cmocka_unit_test(test_the_recorder_is_given_up_first),
        cmocka_unit_test(test_counts_outlive_references),
        cmocka_unit_test(test_handles_are_bounded),
        cmocka_unit_test(test_what_is_in_flight_is_not_forgotten),
        cmocka_unit_test(test_clusters_are_bounded),
        cmocka_unit_test(test_names_of_a_cluster_are_bounded),
        cmocka_unit_test(test_a_process_is_bounded),
        cmocka_unit_test(test_bad_places),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_a_cluster_has_one_service_name),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("recorder targets", tests, NULL, NULL);
}
