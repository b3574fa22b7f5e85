/* SPDX-License-Identifier: Apache-2.0 */
/* Places are found again, stand in one order whatever order they came in, and are not too many. */
#include "reports/load_stats.h"

#include <stdio.h>

#include "load_stats_test.h"
#include "tests/harness/oom.h"

static void
what_was_made_is_found_again(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ERROR] = 7;
    stats_locality(stats, "eu", 1)->figures.counts[UDPAI_LOAD_STATS_ERROR] = 8;
    stats_endpoint(stats, "eu", "10.0.0.1", 80)->figures.counts[UDPAI_LOAD_STATS_ISSUED] = 9;
    stats_endpoint(stats, "eu", "10.0.0.1", 81)->figures.counts[UDPAI_LOAD_STATS_ISSUED] = 10;
    stats_metric(stats, "eu", "cpu")->n = 11;
    stats_drop(stats, "overload")->n = 12;
    assert_int_equal(stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ERROR], 7);
    assert_int_equal(stats_locality(stats, "eu", 1)->figures.counts[UDPAI_LOAD_STATS_ERROR], 8);
    assert_int_equal(
        stats_endpoint(stats, "eu", "10.0.0.1", 80)->figures.counts[UDPAI_LOAD_STATS_ISSUED], 9);
    assert_int_equal(
        stats_endpoint(stats, "eu", "10.0.0.1", 81)->figures.counts[UDPAI_LOAD_STATS_ISSUED], 10);
    assert_int_equal(stats_metric(stats, "eu", "cpu")->n, 11);
    assert_int_equal(stats_drop(stats, "overload")->n, 12);
    assert_int_equal(stats->localities.n, 2);
    assert_int_equal(stats->n_endpoints, 2);
    assert_int_equal(stats->n_metrics, 1);
    assert_int_equal(stats->drops.n, 1);
}

/* Each part of a locality's name counts, and none runs into the next. */
static void
names_are_whole(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    const udpai_load_stats_locality names[] = {
        {.region = UDPAI_STR("ab")},
        {.region = UDPAI_STR("a"), .zone = UDPAI_STR("b")},
        {.region = UDPAI_STR("a"), .sub_zone = UDPAI_STR("b")},
        {.zone = UDPAI_STR("ab")},
        {.priority = 1},
        {.priority = 0},
    };
    udpai_load_stats_locality *locality;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++) {
        assert_ok(udpai_load_stats_get_locality(stats, &names[i], &locality, NULL));
        assert_int_equal(stats->localities.n, i + 1);
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++) {
        const udpai_load_stats_locality *found = udpai_load_stats_find_locality(stats, &names[i]);
        assert_non_null(found);
        assert_true(udpai_str_eq(found->zone, names[i].zone));
    }
}

static void
order_is_that_of_the_names(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (size_t round = 0; round < 20; round++) {
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *a = stats_new(1);
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *b = stats_new(1);
        for (size_t i = 0; i < 50; i++) {
            char name[24];
            snprintf(name, sizeof(name), "r%zu", test_random_below(&random, 30));
            stats_figures(a, name)->counts[UDPAI_LOAD_STATS_ISSUED] = 1;
            stats_drop(a, name)->n = 2;
        }
        for (size_t i = 0; i < 30; i++) {
            char name[24];
            snprintf(name, sizeof(name), "r%zu", 29 - i);
            if (!stats_count(a, name, UDPAI_LOAD_STATS_ISSUED))
                continue;
            stats_figures(b, name)->counts[UDPAI_LOAD_STATS_ISSUED] = 1;
            stats_drop(b, name)->n = 2;
        }
        assert_same_stats(a, b);
    }
}

static udpa_err
add_places(udpai_load_stats *stats, size_t n, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%zu", i);
        const udpai_load_stats_locality like = {.region = udpai_str_from(name)};
        udpai_load_stats_locality *locality;
        err = udpai_load_stats_get_locality(stats, &like, &locality, ret_error);
    }
    return err;
}

static void
places_are_not_too_many(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    size_t max = udpai_load_stats_client_limits.localities;
    assert_ok(add_places(stats, max, NULL));
    assert_int_equal(add_places(stats, max + 1, &error), UDPA_ERR_LIMIT);
    assert_string_equal(udpa_error_message(error), "more than 256 localities");
    assert_int_equal(stats->localities.n, max);
    assert_ok(add_places(stats, max, NULL)); /* those are there */
}

static void
endpoints_of_all_localities_are_counted_together(void **state)
{
    (void)state;
    static const udpai_load_stats_limits two = {
        .localities = 4, .endpoints = 2, .metrics = 1, .drops = 1};
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    const udpai_load_stats_endpoint like = {.address = UDPAI_STR("::1")};
    const udpai_load_stats_metric metric = {.name = UDPAI_STR("a")},
                                  other = {.name = UDPAI_STR("b")};
    udpai_load_stats_endpoint *endpoint;
    udpai_load_stats_metric *got;
    udpai_load_stats_drop *drop;
    stats->limits = &two;
    stats_endpoint(stats, "a", "::1", 0);
    stats_endpoint(stats, "b", "::1", 0);
    assert_int_equal(
        udpai_load_stats_get_endpoint(stats, stats_locality(stats, "c", 0), &like, &endpoint, NULL),
        UDPA_ERR_LIMIT);
    assert_ok(udpai_load_stats_get_metric(stats, stats_figures(stats, "a"), &metric, &got, NULL));
    assert_int_equal(
        udpai_load_stats_get_metric(stats, stats_figures(stats, "b"), &other, &got, NULL),
        UDPA_ERR_LIMIT);
    assert_ok(udpai_load_stats_get_drop(stats, UDPAI_STR("x"), &drop, NULL));
    assert_int_equal(udpai_load_stats_get_drop(stats, UDPAI_STR("y"), &drop, NULL), UDPA_ERR_LIMIT);
}

static void
names_are_not_too_long(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    char text[UDPAI_LOAD_STATS_TEXT_MAX + 2];
    memset(text, 'x', sizeof(text));
    const udpai_str fits = {text, UDPAI_LOAD_STATS_TEXT_MAX}, too_long = {text, fits.len + 1};
    udpai_load_stats_drop *drop;
    assert_ok(udpai_load_stats_get_drop(stats, fits, &drop, NULL));
    assert_int_equal(udpai_load_stats_get_drop(stats, too_long, &drop, NULL), UDPA_ERR_LIMIT);
    const udpai_load_stats_locality names[] = {
        {.region = too_long}, {.zone = too_long}, {.sub_zone = too_long}};
    udpai_load_stats_locality *locality;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        assert_int_equal(udpai_load_stats_get_locality(stats, &names[i], &locality, NULL),
                         UDPA_ERR_LIMIT);
    const udpai_load_stats_metric metric = {.name = too_long};
    udpai_load_stats_metric *got;
    assert_int_equal(
        udpai_load_stats_get_metric(stats, stats_figures(stats, "a"), &metric, &got, NULL),
        UDPA_ERR_LIMIT);
    const udpai_load_stats_endpoint like = {.address = too_long};
    udpai_load_stats_endpoint *endpoint;
    assert_int_equal(
        udpai_load_stats_get_endpoint(stats, stats_locality(stats, "a", 0), &like, &endpoint, NULL),
        UDPA_ERR_LIMIT);
}

static udpa_err
make_everything(void *context)
{
    (void)context;
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_stats_client_limits);
    const udpai_load_stats_locality like = {.region = UDPAI_STR("a")};
    const udpai_load_stats_endpoint there = {.address = UDPAI_STR("b")};
    const udpai_load_stats_metric named = {.name = UDPAI_STR("c")};
    udpai_load_stats_locality *locality = NULL;
    udpai_load_stats_endpoint *endpoint = NULL;
    udpai_load_stats_metric *metric = NULL;
    udpai_load_stats_drop *drop = NULL;
    udpa_err err =
        stats ? udpai_load_stats_set_text(&stats->cluster, UDPAI_STR("d")) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_load_stats_get_locality(stats, &like, &locality, NULL);
    if (err == UDPA_OK)
        err = udpai_load_stats_get_endpoint(stats, locality, &there, &endpoint, NULL);
    if (err == UDPA_OK)
        err = udpai_load_stats_get_metric(stats, &endpoint->figures, &named, &metric, NULL);
    if (err == UDPA_OK)
        err = udpai_load_stats_get_drop(stats, UDPAI_STR("e"), &drop, NULL);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    assert_true(oom_torture(make_everything, NULL) > 8);
}

static void
an_endpoint_is_forgotten_alone(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(1);
    const udpai_load_stats_endpoint first = {.address = UDPAI_STR("::1"), .port = 1},
                                    none = {.address = UDPAI_STR("::1"), .port = 3};
    const udpai_load_stats_metric like = {.name = UDPAI_STR("m")};
    udpai_load_stats_metric *metric;
    stats_endpoint(stats, "eu", "::1", 2)->figures.counts[UDPAI_LOAD_STATS_ERROR] = 5;
    assert_ok(udpai_load_stats_get_metric(stats, &stats_endpoint(stats, "eu", "::1", 1)->figures,
                                          &like, &metric, NULL));
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ERROR] = 9;
    const udpai_load_stats_locality *eu = stats_locality(stats, "eu", 0);
    const udpai_load_stats_locality us = {.region = UDPAI_STR("us")};
    udpai_load_stats_forget_endpoint(stats, eu, &none);
    udpai_load_stats_forget_endpoint(stats, &us, &first);
    assert_int_equal(stats->n_endpoints, 2);
    udpai_load_stats_forget_endpoint(stats, eu, &first);
    assert_int_equal(stats->n_endpoints, 1);
    assert_int_equal(stats->n_metrics, 0);
    assert_null(udpai_load_stats_find_endpoint(eu, &first));
    assert_int_equal(stats_endpoint(stats, "eu", "::1", 2)->figures.counts[UDPAI_LOAD_STATS_ERROR],
                     5);
    assert_int_equal(eu->figures.counts[UDPAI_LOAD_STATS_ERROR], 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_is_found_again),
        cmocka_unit_test(names_are_whole),
        cmocka_unit_test(order_is_that_of_the_names),
        cmocka_unit_test(places_are_not_too_many),
        cmocka_unit_test(endpoints_of_all_localities_are_counted_together),
        cmocka_unit_test(names_are_not_too_long),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(an_endpoint_is_forgotten_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
