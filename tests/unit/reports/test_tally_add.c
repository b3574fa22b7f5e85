/* SPDX-License-Identifier: Apache-2.0 */
/* What is added is what has grown; nothing shrinks, wraps or becomes negative. */
#include <float.h>

#include "reports/tally.h"

#include "tally_test.h"
#include "tests/harness/oom.h"

static void
add(udpai_tally *to, const udpai_tally *newer, const udpai_tally *older)
{
    assert_ok(udpai_tally_make_room(to, newer, NULL));
    udpai_tally_add_growth(to, newer, older);
}

static void
growth_is_added_and_gauges_are_not(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *older = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *newer = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *sum = tally_new(1);
    tally_figures(older, "eu")->counts[UDPAI_TALLY_SUCCESSFUL] = 10;
    tally_figures(newer, "eu")->counts[UDPAI_TALLY_SUCCESSFUL] = 25;
    tally_figures(newer, "eu")->gauges[UDPAI_TALLY_ACTIVE] = 3;
    tally_figures(newer, "us")->counts[UDPAI_TALLY_OPENED] = 4;
    tally_endpoint(newer, "us", "::1", 1)->figures.counts[UDPAI_TALLY_ERROR] = 5;
    tally_metric(older, "eu", "m")->n = 2;
    tally_metric(older, "eu", "m")->sum = 1.5;
    tally_metric(newer, "eu", "m")->n = 3;
    tally_metric(newer, "eu", "m")->sum = -1;
    tally_drop(older, "x")->n = 1;
    tally_drop(newer, "x")->n = 7;
    older->dropped = 1;
    newer->dropped = 9;
    assert_ok(udpai_tally_check_growth(older, newer, NULL));
    add(sum, newer, older);
    assert_int_equal(tally_count(sum, "eu", UDPAI_TALLY_SUCCESSFUL), 15);
    assert_int_equal(tally_gauge(sum, "eu", UDPAI_TALLY_ACTIVE), 0);
    assert_int_equal(tally_count(sum, "us", UDPAI_TALLY_OPENED), 4);
    assert_int_equal(tally_endpoint(sum, "us", "::1", 1)->figures.counts[UDPAI_TALLY_ERROR], 5);
    assert_int_equal(tally_metric(sum, "eu", "m")->n, 1);
    assert_true(tally_metric(sum, "eu", "m")->sum == -2.5);
    assert_int_equal(tally_drop(sum, "x")->n, 6);
    assert_int_equal(sum->dropped, 8);
}

static void
gauges_come_and_go(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *a = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *b = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *sum = tally_new(1);
    tally_figures(a, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = 3;
    tally_endpoint(a, "eu", "::1", 1)->figures.gauges[UDPAI_TALLY_IN_PROGRESS] = 2;
    tally_figures(b, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = 5;
    assert_ok(udpai_tally_make_room(sum, a, NULL));
    assert_ok(udpai_tally_make_room(sum, b, NULL));
    udpai_tally_add_gauges(sum, a);
    udpai_tally_add_gauges(sum, b);
    assert_int_equal(tally_gauge(sum, "eu", UDPAI_TALLY_IN_PROGRESS), 8);
    udpai_tally_subtract_gauges(sum, a);
    assert_int_equal(tally_gauge(sum, "eu", UDPAI_TALLY_IN_PROGRESS), 5);
    assert_int_equal(tally_endpoint(sum, "eu", "::1", 1)->figures.gauges[UDPAI_TALLY_IN_PROGRESS],
                     0);
    udpai_tally_subtract_gauges(sum, b);
    udpai_tally_subtract_gauges(sum, b); /* never below 0 */
    assert_int_equal(tally_gauge(sum, "eu", UDPAI_TALLY_IN_PROGRESS), 0);
    assert_false(udpai_tally_clear_gauges(sum));
    assert_true(udpai_tally_clear_gauges(a));
    assert_false(udpai_tally_clear_gauges(a));
}

static void
counts_stop_at_their_maximum(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *much = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *sum = tally_new(1);
    tally_figures(much, "eu")->counts[UDPAI_TALLY_ISSUED] = UDPAI_TALLY_COUNT_MAX - 1;
    tally_metric(much, "eu", "m")->n = 1;
    tally_metric(much, "eu", "m")->sum = -DBL_MAX;
    much->dropped = UDPAI_TALLY_COUNT_MAX;
    for (size_t i = 0; i < 3; i++)
        add(sum, much, NULL);
    assert_true(tally_count(sum, "eu", UDPAI_TALLY_ISSUED) == UDPAI_TALLY_COUNT_MAX);
    assert_true(tally_metric(sum, "eu", "m")->sum == -DBL_MAX);
    assert_true(sum->dropped == UDPAI_TALLY_COUNT_MAX);
}

typedef void (*shrink_fn)(udpai_tally *tally);

static void
fill(udpai_tally *tally)
{
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_SUCCESSFUL] = 10;
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_FAILED] = 10;
    tally_endpoint(tally, "eu", "::1", 1)->figures.counts[UDPAI_TALLY_ISSUED] = 10;
    tally_metric(tally, "eu", "m")->n = 10;
    tally_drop(tally, "x")->n = 10;
    tally->dropped = 10;
}

static void
shrink_requests(udpai_tally *tally)
{
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_SUCCESSFUL]--;
}

static void
shrink_connections(udpai_tally *tally)
{
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_FAILED]--;
}

static void
shrink_endpoint(udpai_tally *tally)
{
    tally_endpoint(tally, "eu", "::1", 1)->figures.counts[UDPAI_TALLY_ISSUED] = 0;
}

static void
shrink_metric(udpai_tally *tally)
{
    tally_metric(tally, "eu", "m")->n--;
}

static void
shrink_drop(udpai_tally *tally)
{
    tally_drop(tally, "x")->n--;
}

static void
shrink_dropped(udpai_tally *tally)
{
    tally->dropped--;
}

static void
what_shrinks_is_nonsense(void **state)
{
    (void)state;
    static const shrink_fn shrinks[] = {shrink_requests, shrink_connections, shrink_endpoint,
                                        shrink_metric,   shrink_drop,        shrink_dropped};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(shrinks); i++) {
        UDPA_AUTO(udpai_tally_free) udpai_tally *older = tally_new(1);
        UDPA_AUTO(udpai_tally_free) udpai_tally *newer = tally_new(1);
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        fill(older);
        fill(newer);
        assert_ok(udpai_tally_check_growth(older, newer, NULL));
        shrinks[i](newer);
        assert_int_equal(udpai_tally_check_growth(older, newer, &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "shrinks from 10 to "));
        assert_ok(udpai_tally_check_growth(newer, older, NULL));
    }
    UDPA_AUTO(udpai_tally_free) udpai_tally *older = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *nothing = tally_new(1);
    fill(older);
    assert_int_equal(udpai_tally_check_growth(older, nothing, NULL), UDPA_ERR_INVAL);
}

/* ---- reports ---- */

static void
reports_add_up_and_replace_gauges(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *total = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *first = tally_new(0);
    UDPA_AUTO(udpai_tally_free) udpai_tally *second = tally_new(0);
    tally_figures(first, "eu")->counts[UDPAI_TALLY_ISSUED] = 3;
    tally_figures(first, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = 2;
    first->elapsed_ns = 10;
    tally_figures(second, "us")->counts[UDPAI_TALLY_ISSUED] = 4;
    tally_figures(second, "eu")->counts[UDPAI_TALLY_ISSUED] = 1;
    second->elapsed_ns = 11;
    assert_ok(udpai_tally_set_text(&second->service, UDPAI_STR("eds")));
    assert_ok(udpai_tally_take_report(total, first, NULL));
    assert_int_equal(tally_gauge(total, "eu", UDPAI_TALLY_IN_PROGRESS), 2);
    assert_ok(udpai_tally_take_report(total, second, NULL));
    assert_int_equal(tally_gauge(total, "eu", UDPAI_TALLY_IN_PROGRESS), 0);
    assert_int_equal(tally_count(total, "eu", UDPAI_TALLY_ISSUED), 4);
    assert_int_equal(tally_count(total, "us", UDPAI_TALLY_ISSUED), 4);
    assert_int_equal(total->elapsed_ns, 21);
    assert_int_equal(total->epoch, 4);
    assert_str(total->service, "eds");
}

static void
difference_is_the_report_between(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *older = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *newer = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *report = NULL;
    UDPA_AUTO(udpai_tally_free) udpai_tally *whole = NULL;
    tally_figures(older, "eu")->counts[UDPAI_TALLY_ISSUED] = 3;
    older->elapsed_ns = 170; /* it was said later than it ends */
    older->covered_ns = 100;
    tally_figures(newer, "eu")->counts[UDPAI_TALLY_ISSUED] = 5;
    tally_figures(newer, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = 2;
    newer->elapsed_ns = 180;
    newer->covered_ns = 150;
    assert_ok(udpai_tally_difference(newer, older, &report, NULL));
    assert_int_equal(tally_count(report, "eu", UDPAI_TALLY_ISSUED), 2);
    assert_int_equal(tally_gauge(report, "eu", UDPAI_TALLY_IN_PROGRESS), 2);
    assert_int_equal(report->elapsed_ns, 50);
    assert_str(report->cluster, "com.acme/a");
    older->epoch = 3; /* then it says nothing of this one */
    assert_ok(udpai_tally_difference(newer, older, &whole, NULL));
    assert_int_equal(tally_count(whole, "eu", UDPAI_TALLY_ISSUED), 5);
    assert_int_equal(whole->elapsed_ns, 150);
}

static void
difference_of_what_shrinks_is_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *older = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *newer = tally_new(4);
    udpai_tally *report = NULL;
    older->dropped = 1;
    assert_int_equal(udpai_tally_difference(newer, older, &report, NULL), UDPA_ERR_INVAL);
    assert_null(report);
}

/* Reports that are made of totals, and taken in elsewhere, give the same totals. */
static void
reports_there_and_back(void **state)
{
    (void)state;
    uint64_t random = 11;
    UDPA_AUTO(udpai_tally_free) udpai_tally *here = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *there = tally_new(4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *before = NULL;
    for (size_t round = 0; round < 300; round++) {
        UDPA_AUTO(udpai_tally_free) udpai_tally *come = tally_new(4);
        UDPA_AUTO(udpai_tally_free) udpai_tally *report = NULL;
        for (size_t i = test_random_below(&random, 4); i-- > 0;) {
            char region[4] = {(char)('a' + test_random_below(&random, 5)), '\0'};
            udpai_tally_figures *figures = tally_figures(come, region);
            figures->counts[test_random_below(&random, UDPAI_TALLY_COUNTS)] +=
                test_random_below(&random, 100);
            figures->gauges[test_random_below(&random, UDPAI_TALLY_GAUGES)] =
                test_random_below(&random, 9);
            tally_drop(come, region)->n += test_random_below(&random, 3);
            tally_metric(come, region, "m")->n += 1;
            tally_metric(come, region, "m")->sum += (double)test_random_below(&random, 1000) / 4;
            tally_endpoint(come, region, "::1", 5)->figures.counts[UDPAI_TALLY_ERROR] += 1;
        }
        come->elapsed_ns = test_random_below(&random, 1000);
        assert_ok(udpai_tally_take_report(here, come, NULL));
        assert_ok(udpai_tally_difference(here, before, &report, NULL));
        assert_ok(udpai_tally_take_report(there, report, NULL));
        assert_same_tally(here, there);
        udpai_tally_free(before);
        before = NULL;
        assert_ok(udpai_tally_difference(here, NULL, &before, NULL)); /* a copy */
        assert_same_tally(here, before);
    }
}

static udpa_err
make_difference(void *context)
{
    udpai_tally *const *both = context;
    UDPA_AUTO(udpai_tally_free) udpai_tally *report = NULL;
    return udpai_tally_difference(both[1], both[0], &report, NULL);
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpai_tally *both[] = {tally_new(1), tally_new(1)};
    fill(both[0]);
    fill(both[1]);
    assert_true(oom_torture(make_difference, both) > 8);
    udpai_tally_free(both[0]);
    udpai_tally_free(both[1]);
}

static void
time_has_an_end(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *sum = tally_new(1);
    UDPA_AUTO(udpai_tally_free) udpai_tally *report = tally_new(1);
    report->elapsed_ns = UDPAI_TALLY_ELAPSED_MAX_NS - 5;
    udpai_tally_add_report(sum, report);
    assert_true(sum->elapsed_ns == UDPAI_TALLY_ELAPSED_MAX_NS - 5);
    report->elapsed_ns = 10;
    for (int i = 0; i < 3; i++) {
        udpai_tally_add_report(sum, report);
        assert_true(sum->elapsed_ns == UDPAI_TALLY_ELAPSED_MAX_NS);
        assert_true(sum->covered_ns == UDPAI_TALLY_ELAPSED_MAX_NS);
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
