/* SPDX-License-Identifier: Apache-2.0 */
/* What is added is what has grown; nothing shrinks, wraps or becomes negative. */
#include <float.h>

#include "reports/load_stats.h"

#include "load_stats_test.h"
#include "tests/harness/oom.h"

static void
add(udpai_load_stats *to, const udpai_load_stats *newer, const udpai_load_stats *older)
{
    assert_ok(udpai_load_stats_make_room(to, newer, NULL));
    udpai_load_stats_add_growth(to, newer, older);
}

static void
growth_is_added_and_gauges_are_not(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *older = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *newer = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *sum = stats_new(1);
    stats_figures(older, "eu")->counts[UDPAI_LOAD_STATS_SUCCESSFUL] = 10;
    stats_figures(newer, "eu")->counts[UDPAI_LOAD_STATS_SUCCESSFUL] = 25;
    stats_figures(newer, "eu")->gauges[UDPAI_LOAD_STATS_ACTIVE] = 3;
    stats_figures(newer, "us")->counts[UDPAI_LOAD_STATS_OPENED] = 4;
    stats_endpoint(newer, "us", "::1", 1)->figures.counts[UDPAI_LOAD_STATS_ERROR] = 5;
    stats_metric(older, "eu", "m")->n = 2;
    stats_metric(older, "eu", "m")->sum = 1.5;
    stats_metric(newer, "eu", "m")->n = 3;
    stats_metric(newer, "eu", "m")->sum = -1;
    stats_drop(older, "x")->n = 1;
    stats_drop(newer, "x")->n = 7;
    older->dropped = 1;
    newer->dropped = 9;
    assert_ok(udpai_load_stats_check_growth(older, newer, NULL));
    add(sum, newer, older);
    assert_int_equal(stats_count(sum, "eu", UDPAI_LOAD_STATS_SUCCESSFUL), 15);
    assert_int_equal(stats_gauge(sum, "eu", UDPAI_LOAD_STATS_ACTIVE), 0);
    assert_int_equal(stats_count(sum, "us", UDPAI_LOAD_STATS_OPENED), 4);
    assert_int_equal(stats_endpoint(sum, "us", "::1", 1)->figures.counts[UDPAI_LOAD_STATS_ERROR],
                     5);
    assert_int_equal(stats_metric(sum, "eu", "m")->n, 1);
    assert_true(stats_metric(sum, "eu", "m")->sum == -2.5);
    assert_int_equal(stats_drop(sum, "x")->n, 6);
    assert_int_equal(sum->dropped, 8);
}

static void
gauges_come_and_go(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *a = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *b = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *sum = stats_new(1);
    stats_figures(a, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 3;
    stats_endpoint(a, "eu", "::1", 1)->figures.gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 2;
    stats_figures(b, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 5;
    assert_ok(udpai_load_stats_make_room(sum, a, NULL));
    assert_ok(udpai_load_stats_make_room(sum, b, NULL));
    udpai_load_stats_add_gauges(sum, a);
    udpai_load_stats_add_gauges(sum, b);
    assert_int_equal(stats_gauge(sum, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 8);
    udpai_load_stats_subtract_gauges(sum, a);
    assert_int_equal(stats_gauge(sum, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 5);
    assert_int_equal(
        stats_endpoint(sum, "eu", "::1", 1)->figures.gauges[UDPAI_LOAD_STATS_IN_PROGRESS], 0);
    udpai_load_stats_subtract_gauges(sum, b);
    udpai_load_stats_subtract_gauges(sum, b); /* never below 0 */
    assert_int_equal(stats_gauge(sum, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 0);
    assert_false(udpai_load_stats_clear_gauges(sum));
    assert_true(udpai_load_stats_clear_gauges(a));
    assert_false(udpai_load_stats_clear_gauges(a));
}

static void
counts_stop_at_their_maximum(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *much = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *sum = stats_new(1);
    stats_figures(much, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = UDPAI_LOAD_STATS_COUNT_MAX - 1;
    stats_metric(much, "eu", "m")->n = 1;
    stats_metric(much, "eu", "m")->sum = -DBL_MAX;
    much->dropped = UDPAI_LOAD_STATS_COUNT_MAX;
    for (size_t i = 0; i < 3; i++)
        add(sum, much, NULL);
    assert_true(stats_count(sum, "eu", UDPAI_LOAD_STATS_ISSUED) == UDPAI_LOAD_STATS_COUNT_MAX);
    assert_true(stats_metric(sum, "eu", "m")->sum == -DBL_MAX);
    assert_true(sum->dropped == UDPAI_LOAD_STATS_COUNT_MAX);
}

typedef void (*shrink_fn)(udpai_load_stats *stats);

static void
fill(udpai_load_stats *stats)
{
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_SUCCESSFUL] = 10;
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_FAILED] = 10;
    stats_endpoint(stats, "eu", "::1", 1)->figures.counts[UDPAI_LOAD_STATS_ISSUED] = 10;
    stats_metric(stats, "eu", "m")->n = 10;
    stats_drop(stats, "x")->n = 10;
    stats->dropped = 10;
}

static void
shrink_requests(udpai_load_stats *stats)
{
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_SUCCESSFUL]--;
}

static void
shrink_connections(udpai_load_stats *stats)
{
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_FAILED]--;
}

static void
shrink_endpoint(udpai_load_stats *stats)
{
    stats_endpoint(stats, "eu", "::1", 1)->figures.counts[UDPAI_LOAD_STATS_ISSUED] = 0;
}

static void
shrink_metric(udpai_load_stats *stats)
{
    stats_metric(stats, "eu", "m")->n--;
}

static void
shrink_drop(udpai_load_stats *stats)
{
    stats_drop(stats, "x")->n--;
}

static void
shrink_dropped(udpai_load_stats *stats)
{
    stats->dropped--;
}

static void
what_shrinks_is_nonsense(void **state)
{
    (void)state;
    static const shrink_fn shrinks[] = {shrink_requests, shrink_connections, shrink_endpoint,
                                        shrink_metric,   shrink_drop,        shrink_dropped};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(shrinks); i++) {
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *older = stats_new(1);
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *newer = stats_new(1);
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        fill(older);
        fill(newer);
        assert_ok(udpai_load_stats_check_growth(older, newer, NULL));
        shrinks[i](newer);
        assert_int_equal(udpai_load_stats_check_growth(older, newer, &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "shrinks from 10 to "));
        assert_ok(udpai_load_stats_check_growth(newer, older, NULL));
    }
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *older = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *nothing = stats_new(1);
    fill(older);
    assert_int_equal(udpai_load_stats_check_growth(older, nothing, NULL), UDPA_ERR_INVAL);
}

/* ---- reports ---- */

static void
reports_add_up_and_replace_gauges(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *total = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *first = stats_new(0);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *second = stats_new(0);
    stats_figures(first, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = 3;
    stats_figures(first, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 2;
    first->elapsed_ns = 10;
    stats_figures(second, "us")->counts[UDPAI_LOAD_STATS_ISSUED] = 4;
    stats_figures(second, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = 1;
    second->elapsed_ns = 11;
    assert_ok(udpai_load_stats_set_text(&second->service, UDPAI_STR("eds")));
    assert_ok(udpai_load_stats_take_report(total, first, NULL));
    assert_int_equal(stats_gauge(total, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 2);
    assert_ok(udpai_load_stats_take_report(total, second, NULL));
    assert_int_equal(stats_gauge(total, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 0);
    assert_int_equal(stats_count(total, "eu", UDPAI_LOAD_STATS_ISSUED), 4);
    assert_int_equal(stats_count(total, "us", UDPAI_LOAD_STATS_ISSUED), 4);
    assert_int_equal(total->elapsed_ns, 21);
    assert_int_equal(total->epoch, 4);
    assert_str(total->service, "eds");
}

static void
difference_is_the_report_between(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *older = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *newer = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = NULL;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *whole = NULL;
    stats_figures(older, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = 3;
    older->elapsed_ns = 170; /* it was said later than it ends */
    older->covered_ns = 100;
    stats_figures(newer, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = 5;
    stats_figures(newer, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 2;
    newer->elapsed_ns = 180;
    newer->covered_ns = 150;
    assert_ok(udpai_load_stats_difference(newer, older, &report, NULL));
    assert_int_equal(stats_count(report, "eu", UDPAI_LOAD_STATS_ISSUED), 2);
    assert_int_equal(stats_gauge(report, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 2);
    assert_int_equal(report->elapsed_ns, 50);
    assert_str(report->cluster, "com.acme/a");
    older->epoch = 3; /* then it says nothing of this one */
    assert_ok(udpai_load_stats_difference(newer, older, &whole, NULL));
    assert_int_equal(stats_count(whole, "eu", UDPAI_LOAD_STATS_ISSUED), 5);
    assert_int_equal(whole->elapsed_ns, 150);
}

static void
difference_of_what_shrinks_is_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *older = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *newer = stats_new(4);
    udpai_load_stats *report = NULL;
    older->dropped = 1;
    assert_int_equal(udpai_load_stats_difference(newer, older, &report, NULL), UDPA_ERR_INVAL);
    assert_null(report);
}

/* Reports that are made of totals, and taken in elsewhere, give the same totals. */
static void
reports_there_and_back(void **state)
{
    (void)state;
    uint64_t random = 11;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *here = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *there = stats_new(4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *before = NULL;
    for (size_t round = 0; round < 300; round++) {
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *come = stats_new(4);
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = NULL;
        for (size_t i = test_random_below(&random, 4); i-- > 0;) {
            char region[4] = {(char)('a' + test_random_below(&random, 5)), '\0'};
            udpai_load_stats_figures *figures = stats_figures(come, region);
            figures->counts[test_random_below(&random, UDPAI_LOAD_STATS_COUNTS)] +=
                test_random_below(&random, 100);
            figures->gauges[test_random_below(&random, UDPAI_LOAD_STATS_GAUGES)] =
                test_random_below(&random, 9);
            stats_drop(come, region)->n += test_random_below(&random, 3);
            stats_metric(come, region, "m")->n += 1;
            stats_metric(come, region, "m")->sum += (double)test_random_below(&random, 1000) / 4;
            stats_endpoint(come, region, "::1", 5)->figures.counts[UDPAI_LOAD_STATS_ERROR] += 1;
        }
        come->elapsed_ns = test_random_below(&random, 1000);
        assert_ok(udpai_load_stats_take_report(here, come, NULL));
        assert_ok(udpai_load_stats_difference(here, before, &report, NULL));
        assert_ok(udpai_load_stats_take_report(there, report, NULL));
        assert_same_stats(here, there);
        udpai_load_stats_free(before);
        before = NULL;
        assert_ok(udpai_load_stats_difference(here, NULL, &before, NULL)); /* a copy */
        assert_same_stats(here, before);
    }
}

static udpa_err
make_difference(void *context)
{
    udpai_load_stats *const *both = context;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = NULL;
    return udpai_load_stats_difference(both[1], both[0], &report, NULL);
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_load_stats *both[] = {stats_new(1), stats_new(1)};
    fill(both[0]);
    fill(both[1]);
    assert_true(oom_torture(make_difference, both) > 8);
    udpai_load_stats_free(both[0]);
    udpai_load_stats_free(both[1]);
}

static void
time_has_an_end(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *sum = stats_new(1);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(1);
    report->elapsed_ns = UDPAI_LOAD_STATS_ELAPSED_MAX_NS - 5;
    udpai_load_stats_add_report(sum, report);
    assert_true(sum->elapsed_ns == UDPAI_LOAD_STATS_ELAPSED_MAX_NS - 5);
    report->elapsed_ns = 10;
    for (int i = 0; i < 3; i++) {
        udpai_load_stats_add_report(sum, report);
        assert_true(sum->elapsed_ns == UDPAI_LOAD_STATS_ELAPSED_MAX_NS);
        assert_true(sum->covered_ns == UDPAI_LOAD_STATS_ELAPSED_MAX_NS);
    }
}

static void
epochs_grow_whatever_the_clock_does(void **state)
{
    (void)state;
    uint64_t last = 0;
    assert_int_equal(udpai_load_epoch_next(&last, 1000), 1000);
    assert_int_equal(udpai_load_epoch_next(&last, 1000), 1001);
    assert_int_equal(udpai_load_epoch_next(&last, 10), 1002);
    assert_int_equal(udpai_load_epoch_next(&last, -10), 1003);
    assert_int_equal(udpai_load_epoch_next(&last, 5000), 5000);
    assert_int_equal(last, 5000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth_is_added_and_gauges_are_not),
        cmocka_unit_test(gauges_come_and_go),
        cmocka_unit_test(counts_stop_at_their_maximum),
        cmocka_unit_test(what_shrinks_is_nonsense),
        cmocka_unit_test(reports_add_up_and_replace_gauges),
        cmocka_unit_test(difference_is_the_report_between),
        cmocka_unit_test(difference_of_what_shrinks_is_refused),
        cmocka_unit_test(reports_there_and_back),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(time_has_an_end),
        cmocka_unit_test(epochs_grow_whatever_the_clock_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
