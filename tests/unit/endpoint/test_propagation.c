/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are marked, and what is counted of what stream sides report. */
#include "endpoint/propagation.h"

#include <stdio.h>

#include "tests/harness/resources.h"

static udpai_wheel wheel;
static udpai_meters *meters;
static udpai_service *service;
static uint64_t n_clients;

static uint64_t
count(void *userdata)
{
    (void)userdata;
    return n_clients;
}

static udpai_span *ended; /* the last one */
static size_t n_ended;

static void
take_span(void *userdata, udpai_span *span)
{
    (void)userdata;
    udpai_span_free(ended);
    ended = span;
    n_ended++;
}

static void
begin_with(size_t n_sides)
{
    udpai_wheel_init(&wheel, 1000);
    n_clients = 10;
    assert_ok(udpai_meters_new(&meters));
    const udpai_propagation_options options = {
        .wheel = &wheel,
        .meters = meters,
        .n_sides = n_sides,
        .count = count,
        .take_span = take_span,
    };
    assert_ok(udpai_propagation_new(&service, &options));
}

static int
begin(void **state)
{
    (void)state;
    begin_with(1);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    service = udpai_service_free(service);
    meters = udpai_meters_free(meters);
    return 0;
}

static void
advance(uint64_t ms)
{
    udpai_wheel_advance(&wheel, wheel.now_ms + ms);
}

/* ---- what is marked ---- */

static void
add(udpai_order *order, udpai_change_kind kind, const char *type)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a", .type = type, .value = "1");
    assert_non_null(resource);
    assert_ok(
        udpai_change_set_add(order->changes, &(udpai_change){.kind = kind, .resource = resource}));
}

/* "CCE~C": two clusters, an endpoint assignment, and a cluster that is refreshed. */
static udpai_order *
make_order(const char *changes)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    assert_non_null(order);
    order->changes = udpai_change_set_new();
    for (const char *at = changes; *at; at++) {
        bool is_refresh = *at == '~';
        at += is_refresh;
        add(order, is_refresh ? UDPAI_CHANGE_REFRESH : UDPAI_CHANGE_SET,
            *at == 'C' ? TEST_CDS : TEST_EDS);
    }
    return order;
}

/* The number of its one mark, or the last of its marks; 0: it has none. */
static uint64_t
mark(const char *changes, const char *expected)
{
    UDPA_AUTO(udpai_order_free) udpai_order *order = make_order(changes);
    char text[256] = "";
    udpai_propagation_mark(service, order);
    for (size_t i = 0; i < order->marks.n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%zu", i ? " " : "",
                 order->marks.items[i].change);
    assert_string_equal(text, expected);
    return order->marks.n ? order->marks.items[order->marks.n - 1].number : 0;
}

static void
report(uint64_t number, udpai_mark_outcome outcome, uint64_t took_ms)
{
    udpai_report *of = udpai_report_new(UDPAI_REPORT_MARK);
    assert_non_null(of);
    of->ticket = number;
    of->outcome = outcome;
    of->took_ms = took_ms;
    assert_true(udpai_service_report(service, of));
}

/* ---- spans ---- */

static void
add_span(udpai_order *order, size_t change)
{
    udpai_span *span = udpai_span_new();
    assert_non_null(span);
    span->trace = (udpai_trace){{1}, {(uint8_t)(change + 1)}, true};
    span->effective_us = 1000000;
    span->change = change;
    udpai_list_append(&order->spans, &span->node);
}

static void
report_last(uint64_t number, udpai_mark_outcome outcome, uint64_t took_ms, const char *last)
{
    udpai_report *of = udpai_report_new(UDPAI_REPORT_MARK);
    assert_non_null(of);
    of->ticket = number;
    of->outcome = outcome;
    of->took_ms = took_ms;
    if (last)
        assert_ok(udpa_bytes_new(&of->address, last, strlen(last)));
    assert_true(udpai_service_report(service, of));
}

static uint64_t
mark_span_of(size_t change)
{
    UDPA_AUTO(udpai_order_free) udpai_order *order = make_order("CE");
    add_span(order, change);
    udpai_propagation_mark(service, order);
    assert_true(udpai_list_empty(&order->spans));
    const udpai_change_mark *first = &order->marks.items[0];
    assert_int_equal(first->change, change);
    assert_int_equal(first->trace.span[0], change + 1);
    assert_int_equal(order->marks.n, 3); /* and those that are counted */
    assert_false(udpai_trace_is_set(&order->marks.items[1].trace));
    return first->number;
}

/* ---- what is counted ---- */

static uint64_t
n_of(const char *outcome)
{
    return udpai_meters_get(meters, UDPAI_METRIC_PROPAGATIONS, udpai_str_from(outcome))->values[0];
}

/* "acknowledged nacked gone open". */
static void
expect_counts(const char *expected)
{
    char text[128];
    snprintf(text, sizeof(text), "%llu %llu %llu %llu", (unsigned long long)n_of("acknowledged"),
             (unsigned long long)n_of("nacked"), (unsigned long long)n_of("gone"),
             (unsigned long long)n_of("open"));
    assert_string_equal(text, expected);
}

/* In the bucket up to this bound. */
static uint64_t
n_within(const char *type, uint64_t bound_us)
{
    const udpai_meter *meter =
        udpai_meters_get(meters, UDPAI_METRIC_PROPAGATION_TIME, udpai_str_from(type));
    for (size_t i = 0; i < UDPAI_METRIC_BUCKETS; i++)
        if (udpai_metric_bounds_us[i] == bound_us)
            return meter->values[i];
    fail();
    return 0;
}

static void
each_type_of_a_set_has_a_mark(void **state)
{
    (void)state;
    uint64_t last = mark("CCE~C", "1 2");
    report(last - 1, UDPAI_MARK_ACKNOWLEDGED, 5);
    expect_counts("2 0 0 0"); /* both clusters */
    report(last, UDPAI_MARK_ACKNOWLEDGED, 60);
    expect_counts("3 0 0 0");
    assert_int_equal(n_within(TEST_CDS, 5000), 2);
    assert_int_equal(n_within(TEST_EDS, 100000), 1);
    assert_int_equal(n_within(TEST_EDS, 50000), 0);
}

static void
a_refresh_is_no_change(void **state)
{
    (void)state;
    assert_int_equal(mark("~C~E", ""), 0);
}

static void
what_becomes_of_a_change_is_counted(void **state)
{
    (void)state;
    report(mark("C", "0"), UDPAI_MARK_NACKED, 5);
    report(mark("C", "0"), UDPAI_MARK_GONE, 5);
    report(mark("C", "0"), UDPAI_MARK_OPEN, 60000);
    report(mark("C", "0"), UDPAI_MARK_UNSUBSCRIBED, 0);
    expect_counts("0 1 1 1");
    assert_int_equal(n_within(TEST_CDS, 5000), 0); /* only what was acknowledged has a time */
}

static void
the_last_side_counts(void **state)
{
    (void)state;
    end(state);
    begin_with(3);
    uint64_t one = mark("C", "0"), two = mark("C", "0");
    report(one, UDPAI_MARK_ACKNOWLEDGED, 200);
    report(two, UDPAI_MARK_NACKED, 1);
    report(one, UDPAI_MARK_UNSUBSCRIBED, 0);
    report(two, UDPAI_MARK_ACKNOWLEDGED, 1);
    expect_counts("0 0 0 0");
    report(one, UDPAI_MARK_GONE, 3);
    report(two, UDPAI_MARK_GONE, 1);
    expect_counts("1 1 0 0");
    assert_int_equal(n_within(TEST_CDS, 250000), 1);
}

/* A side that does not report is not waited for for ever. */
static void
a_silent_side_leaves_it_open(void **state)
{
    (void)state;
    uint64_t one = mark("C", "0");
    advance(1000);
    (void)mark("C", "0");
    advance(69000);
    expect_counts("0 0 0 1");
    advance(1000);
    expect_counts("0 0 0 2");
    report(one, UDPAI_MARK_ACKNOWLEDGED, 1); /* late */
    expect_counts("0 0 0 2");
}

/* With a hundred changes a millisecond one of many is marked, and counts for the others. */
static void
of_many_one_counts_for_all(void **state)
{
    (void)state;
    uint64_t n_marked = 0, number;
    n_clients = 1000;
    for (int i = 0; i < 20000; i++) {
        UDPA_AUTO(udpai_order_free) udpai_order *order = make_order("C");
        udpai_propagation_mark(service, order);
        number = order->marks.n ? order->marks.items[0].number : 0;
        n_marked += order->marks.n;
        if (number)
            report(number, UDPAI_MARK_ACKNOWLEDGED, 1);
        advance(i % 2);
    }
    /* 10 s of looks, and what was there at first */
    uint64_t n_expected = 11 * UDPAI_PROPAGATION_LOOKS_MAX / 1100;
    assert_in_range(n_marked, n_expected - 10, n_expected);
    assert_in_range(n_of("acknowledged"), 20000 - 250, 20000);
    assert_int_equal(n_within(TEST_CDS, 1000), n_of("acknowledged"));
}

static void
so_many_are_open_at_most(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < UDPAI_PROPAGATION_OPEN_MAX; i++) {
        last = mark("C", "0");
        advance(11);
    }
    assert_int_equal(mark("C", ""), 0);
    report(last, UDPAI_MARK_ACKNOWLEDGED, 1);
    report(mark("C", "0"), UDPAI_MARK_ACKNOWLEDGED, 1);
    expect_counts("3 0 0 0"); /* the last one, and two at once */
}

/* More clients than may be looked at in a second. */
static void
a_crowd_is_looked_at_all_the_same(void **state)
{
    (void)state;
    n_clients = 1000000;
    assert_true(mark("C", "0"));
    assert_false(mark("C", ""));
    advance(1000);
    assert_true(mark("C", "0"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void
a_span_ends_with_the_last_side(void **state)
{
    (void)state;
    udpai_span_free(UDPAI_TAKE(ended));
    n_ended = 0;
    assert_int_equal(end(state), 0);
    begin_with(2);
    uint64_t number = mark_span_of(1);
    report_last(number, UDPAI_MARK_ACKNOWLEDGED, 40, "slow");
    assert_int_equal(n_ended, 0);
    report_last(number, UDPAI_MARK_ACKNOWLEDGED, 5, "quick");
    assert_int_equal(n_ended, 1);
    assert_string_equal(ended->outcome, "acknowledged");
    assert_int_equal(ended->end_us, 1040000);
    assert_true(udpai_str_eq(udpai_bytes_view(ended->last), UDPAI_STR("slow")));
    expect_counts("0 0 0 0"); /* it is none of those that are counted */
    number = mark_span_of(0);
    report_last(number, UDPAI_MARK_UNSUBSCRIBED, 0, NULL);
    report_last(number, UDPAI_MARK_NACKED, 3, "other");
    assert_string_equal(ended->outcome, "nacked");
    (void)mark_span_of(0);
    assert_int_equal(end(state), 0);
    assert_int_equal(n_ended, 3); /* what is open at the end, too */
    assert_string_equal(ended->outcome, "gone");
    udpai_span_free(UDPAI_TAKE(ended));
    begin_with(1);
}

static void
put_exemplars(udpai_metric_snapshot *snapshot)
{
    udpai_metric_snapshot_begin(snapshot, 0);
    udpai_meters_read(meters, udpai_metric_snapshot_take, snapshot);
    udpai_propagation_put_exemplars(service, snapshot);
}

/* Of the only sample in that bucket; zero: there is none. */
static uint8_t
exemplar_in(const udpai_metric_snapshot *snapshot, uint64_t us)
{
    const udpai_list *all = udpai_metric_snapshot_samples(snapshot, UDPAI_METRIC_PROPAGATION_TIME);
    const udpai_metric_sample *sample = UDPAI_LIST_ENTRY(all->next, udpai_metric_sample, node);
    const udpai_metric_exemplar *of =
        sample->exemplars ? &sample->exemplars[udpai_metric_bucket(us)] : NULL;
    return of && of->at_seconds != 0 ? of->trace.id[0] : 0;
}

static void
end_traced(uint8_t id, udpai_mark_outcome outcome, uint64_t took_ms)
{
    UDPA_AUTO(udpai_order_free) udpai_order *order = make_order("C");
    add_span(order, 0);
    udpai_span *span = UDPAI_LIST_ENTRY(order->spans.next, udpai_span, node);
    span->trace.id[0] = id;
    span->type = udpai_bytes_cstring(
        udpai_resource_type_url(udpai_change_set_at(order->changes, 0)->resource));
    assert_non_null(span->type);
    udpai_propagation_mark(service, order);
    report(order->marks.items[0].number, outcome, took_ms);
    report(order->marks.items[1].number, UDPAI_MARK_ACKNOWLEDGED, took_ms);
}

static void
what_was_traced_is_an_exemplar(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    (void)state;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    end_traced(1, UDPAI_MARK_ACKNOWLEDGED, 40);
    end_traced(2, UDPAI_MARK_ACKNOWLEDGED, 45);
    end_traced(3, UDPAI_MARK_NACKED, 45);
    end_traced(4, UDPAI_MARK_ACKNOWLEDGED, 2000);
    put_exemplars(snapshot);
    assert_int_equal(exemplar_in(snapshot, 40000), 2);
    assert_int_equal(exemplar_in(snapshot, 2000000), 4);
    assert_int_equal(exemplar_in(snapshot, 1000), 0);
    for (int i = 0; i < UDPAI_PROPAGATION_EXEMPLARS; i++)
        end_traced((uint8_t)(10 + i), UDPAI_MARK_ACKNOWLEDGED, 40);
    put_exemplars(snapshot);
    assert_int_equal(exemplar_in(snapshot, 40000), 9 + UDPAI_PROPAGATION_EXEMPLARS);
    assert_int_equal(exemplar_in(snapshot, 2000000), 0); /* there have been so many since */
    udpai_span_free(UDPAI_TAKE(ended));
}

static void
not_more_spans_than_a_bound(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_order_free) udpai_order *order = make_order("C");
    n_ended = 0;
    for (size_t i = 0; i <= UDPAI_TRACED_MAX; i++)
        add_span(order, 0);
    udpai_propagation_mark(service, order);
    assert_int_equal(order->marks.n, UDPAI_TRACED_MAX + 1);
    assert_int_equal(n_ended, 1);
    assert_string_equal(ended->outcome, "unmeasured");
    for (size_t i = 0; i < UDPAI_TRACED_MAX; i++)
        report(order->marks.items[i].number, UDPAI_MARK_GONE, 1);
    assert_int_equal(n_ended, UDPAI_TRACED_MAX + 1);
    udpai_span_free(UDPAI_TAKE(ended));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_type_of_a_set_has_a_mark),
        TEST(a_refresh_is_no_change),
        TEST(what_becomes_of_a_change_is_counted),
        TEST(the_last_side_counts),
        TEST(a_silent_side_leaves_it_open),
        TEST(of_many_one_counts_for_all),
        TEST(so_many_are_open_at_most),
        TEST(a_crowd_is_looked_at_all_the_same),
        TEST(a_span_ends_with_the_last_side),
        TEST(what_was_traced_is_an_exemplar),
        TEST(not_more_spans_than_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
