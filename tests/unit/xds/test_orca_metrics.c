/* SPDX-License-Identifier: Apache-2.0 */
/* What may be said of a load, and its forms on the wire, there and back. */
#include <math.h>
#include <stdio.h>

#include "orca_test.h"
#include "tests/harness/oom.h"

#define V(name, value)                                                                             \
    {                                                                                              \
        {name, sizeof(name) - 1}, value                                                            \
    }

static const udpai_orca_value costs[] = {V("db", 3.5), V("cache", 0), V("disk", 1)};
static const udpai_orca_value utilizations[] = {V("gpu", 0.25)};
static const udpai_orca_value named[] = {V("temperature", -4.5), V("queue", 1e300)};

static const udpai_orca_parts full = {
    .figures =
        {
            [UDPAI_ORCA_CPU] = 1.5,
            [UDPAI_ORCA_MEM] = 0.5,
            [UDPAI_ORCA_APPLICATION] = 2.25,
            [UDPAI_ORCA_RPS] = 1000.75,
            [UDPAI_ORCA_EPS] = 0.125,
        },
    .values =
        {
            [UDPAI_ORCA_REQUEST_COSTS] = {costs, UDPAI_ARRAY_LEN(costs)},
            [UDPAI_ORCA_UTILIZATIONS] = {utilizations, UDPAI_ARRAY_LEN(utilizations)},
            [UDPAI_ORCA_NAMED_METRICS] = {named, UDPAI_ARRAY_LEN(named)},
        },
};

static void
expect_refused(const udpai_orca_parts *parts, udpa_err code, const char *words)
{
    udpai_orca_metrics *metrics = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_orca_metrics_new(&metrics, parts, &error), code);
    assert_null(metrics);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

/* ---- what may be ---- */

static void
each_figure_has_its_range(void **state)
{
    static const struct {
        udpai_orca_figure figure;
        const char *name;
        bool has_top;
    } figures[] = {
        {UDPAI_ORCA_CPU, "cpu_utilization", false},
        {UDPAI_ORCA_MEM, "mem_utilization", true},
        {UDPAI_ORCA_APPLICATION, "application_utilization", false},
        {UDPAI_ORCA_RPS, "rps", false},
        {UDPAI_ORCA_EPS, "eps", false},
    };

    char words[100];
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(figures); i++) {
        udpai_orca_parts parts = {.figures = {0}};
        double *figure = &parts.figures[figures[i].figure];
        snprintf(words, sizeof(words), "%s is -0.5, and may not be negative", figures[i].name);
        *figure = -0.5;
        expect_refused(&parts, UDPA_ERR_INVAL, words);
        snprintf(words, sizeof(words), "%s is inf, which is no finite number", figures[i].name);
        *figure = INFINITY;
        expect_refused(&parts, UDPA_ERR_INVAL, words);
        *figure = -INFINITY;
        expect_refused(&parts, UDPA_ERR_INVAL, "no finite number");
        *figure = NAN;
        expect_refused(&parts, UDPA_ERR_INVAL, "nan, which is no finite number");
        *figure = 1.5;
        if (figures[i].has_top)
            expect_refused(&parts, UDPA_ERR_INVAL, "is 1.5, and may be at most 1");
        else
            udpai_orca_metrics_unref(orca_made(&parts));
        *figure = 1;
        udpai_orca_metrics_unref(orca_made(&parts));
    }
}

static void
values_with_names_have_theirs(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < UDPAI_ORCA_KINDS; kind++) {
        udpai_orca_value value = V("x", NAN);
        udpai_orca_parts parts = {.figures = {0}};
        parts.values[kind] = (udpai_orca_values){&value, 1};
        expect_refused(&parts, UDPA_ERR_INVAL, "'x' is nan");
        value.value = -1;
        if (kind == UDPAI_ORCA_NAMED_METRICS)
            udpai_orca_metrics_unref(orca_made(&parts));
        else
            expect_refused(&parts, UDPA_ERR_INVAL, "'x' is -1, and may not be negative");
        value.value = 1.5;
        if (kind == UDPAI_ORCA_UTILIZATIONS)
            expect_refused(&parts, UDPA_ERR_INVAL, "utilization 'x' is 1.5, and may be at most 1");
        else
            udpai_orca_metrics_unref(orca_made(&parts));
    }
}

static void
names_are_texts_and_there_once(void **state)
{
    char longer[UDPAI_ORCA_NAME_MAX + 1];
    udpai_orca_value values[] = {V("b", 0), V("a", 0), V("b", 0)};
    udpai_orca_parts parts = {
        .values = {[UDPAI_ORCA_UTILIZATIONS] = {values, UDPAI_ARRAY_LEN(values)}}};
    (void)state;
    expect_refused(&parts, UDPA_ERR_INVAL, "utilization 'b' is there twice");
    values[0].name = UDPAI_STR("");
    expect_refused(&parts, UDPA_ERR_INVAL, "is empty");
    values[0].name = UDPAI_STR("\xff");
    expect_refused(&parts, UDPA_ERR_INVAL, "not UTF-8");
    memset(longer, 'x', sizeof(longer));
    values[0].name = (udpai_str){longer, sizeof(longer)};
    expect_refused(&parts, UDPA_ERR_INVAL, "longer than 256 bytes");
    values[0].name.len--;
    udpai_orca_metrics_unref(orca_made(&parts));
}

static void
they_are_bounded(void **state)
{
    udpai_orca_value values[UDPAI_ORCA_NAMED_MAX + 1];
    char names[UDPAI_ORCA_NAMED_MAX + 1][8];
    udpai_orca_parts parts = {
        .values = {[UDPAI_ORCA_NAMED_METRICS] = {values, UDPAI_ARRAY_LEN(values)}}};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(values); i++) {
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        values[i] = (udpai_orca_value){udpai_str_from(names[i]), (double)i};
    }
    expect_refused(&parts, UDPA_ERR_LIMIT, "257 values of kind 'named metric': at most 256");
    parts.values[UDPAI_ORCA_NAMED_METRICS].n--;
    udpai_orca_metrics_unref(orca_made(&parts));
}

/* ---- on the wire ---- */

static void
v3_has_all_of_it(void **state)
{
    (void)state;
    udpai_orca_metrics *metrics = orca_made(&full);
    Xds__Data__Orca__V3__OrcaLoadReport *report =
        orca_unpacked(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V3));
    assert_true(report->cpu_utilization == 1.5 && report->mem_utilization == 0.5);
    assert_true(report->application_utilization == 2.25);
    assert_true(report->rps_fractional == 1000.75 && report->eps == 0.125);
    assert_int_equal(report->rps, 0); /* which rps_fractional has replaced */
    assert_int_equal(report->n_request_cost, 3);
    assert_string_equal(report->request_cost[0]->key, "cache");
    assert_true(report->request_cost[0]->value == 0);
    assert_string_equal(report->request_cost[1]->key, "db");
    assert_true(report->request_cost[1]->value == 3.5);
    assert_int_equal(report->n_utilization, 1);
    assert_true(report->utilization[0]->value == 0.25);
    assert_int_equal(report->n_named_metrics, 2);
    assert_true(report->named_metrics[0]->value == 1e300);
    assert_true(report->named_metrics[1]->value == -4.5);
    orca_free_unpacked(report);
    udpai_orca_metrics_unref(metrics);
}

static void
v1_has_what_it_knows(void **state)
{
    (void)state;
    udpai_orca_metrics *metrics = orca_made(&full);
    Xds__Data__Orca__V3__OrcaLoadReport *report =
        orca_unpacked(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V1));
    assert_true(report->cpu_utilization == 1.5 && report->mem_utilization == 0.5);
    assert_int_equal(report->rps, 1001);
    assert_int_equal(report->n_request_cost, 3);
    assert_int_equal(report->n_utilization, 1);
    assert_int_equal(report->n_named_metrics, 0);
    assert_true(report->rps_fractional == 0 && report->eps == 0);
    assert_true(report->application_utilization == 0);
    orca_free_unpacked(report);
    udpai_orca_metrics_unref(metrics);
    udpai_orca_parts much = {.figures = {[UDPAI_ORCA_RPS] = 1e300}};
    metrics = orca_made(&much);
    report = orca_unpacked(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V1));
    assert_true(report->rps == UINT64_C(1) << 63);
    orca_free_unpacked(report);
    udpai_orca_metrics_unref(metrics);
}

static void
costs_can_be_chosen(void **state)
{
    static const udpai_str names[] = {{"cache", 5}, {"db", 2}, {"other", 5}};
    (void)state;
    udpai_orca_metrics *metrics = orca_made(&full);
    udpa_bytes *bytes = udpai_orca_metrics_encode(metrics, UDPAI_ORCA_V3, names, 3);
    assert_non_null(bytes);
    Xds__Data__Orca__V3__OrcaLoadReport *report = orca_unpacked(bytes);
    assert_int_equal(report->n_request_cost, 2);
    assert_string_equal(report->request_cost[0]->key, "cache");
    assert_string_equal(report->request_cost[1]->key, "db");
    assert_int_equal(report->n_utilization, 1);
    orca_free_unpacked(report);
    udpa_bytes_unref(bytes);
    udpai_orca_metrics_unref(metrics);
}

static void
nothing_is_no_bytes(void **state)
{
    static const udpai_orca_parts nothing;
    (void)state;
    udpai_orca_metrics *metrics = orca_made(&nothing);
    assert_int_equal(udpa_bytes_size(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V3)), 0);
    assert_int_equal(udpa_bytes_size(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V1)), 0);
    udpai_orca_metrics_unref(metrics);
}

/* ---- what peers send ---- */

static udpa_err
decode(udpai_str message, udpai_orca_metrics **ret_metrics, udpa_error **ret_error)
{
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpa_err err = udpai_orca_report_decode(&decoder, message, ret_metrics, ret_error);
    udpai_decoder_done(&decoder);
    return err;
}

static void
expect_malformed(udpai_str message, udpa_err code, const char *words)
{
    udpai_orca_metrics *metrics = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(decode(message, &metrics, &error), code);
    assert_null(metrics);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
a_report_comes_back_as_it_was(void **state)
{
    (void)state;
    udpai_orca_metrics *metrics = orca_made(&full), *again = NULL;
    udpa_bytes *bytes = udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V3);
    assert_ok(decode(udpai_bytes_view(bytes), &again, NULL));
    assert_true(udpai_str_eq(udpai_bytes_view(udpai_orca_metrics_bytes(again, UDPAI_ORCA_V3)),
                             udpai_bytes_view(bytes)));
    assert_memory_equal(udpai_orca_metrics_parts(again)->figures, full.figures,
                        sizeof(full.figures));
    udpai_orca_metrics_unref(again);
    udpai_orca_metrics_unref(metrics);
}

static void
whole_requests_count_if_there_are_no_others(void **state)
{
    udpai_orca_metrics *metrics = NULL;
    (void)state;
    assert_ok(decode(W_VARINT(3, 70), &metrics, NULL));
    assert_true(udpai_orca_metrics_parts(metrics)->figures[UDPAI_ORCA_RPS] == 70);
    metrics = udpai_orca_metrics_unref(metrics);
    assert_ok(decode(W_JOIN(W_VARINT(3, 70), orca_double(6, 70.5)), &metrics, NULL));
    assert_true(udpai_orca_metrics_parts(metrics)->figures[UDPAI_ORCA_RPS] == 70.5);
    udpai_orca_metrics_unref(metrics);
}

static void
nonsense_is_refused(void **state)
{
    (void)state;
    expect_malformed(orca_double(1, NAN), UDPA_ERR_INVAL, "cpu_utilization is nan");
    expect_malformed(orca_double(7, -1), UDPA_ERR_INVAL, "eps is -1");
    expect_malformed(orca_entry(5, "gpu", 2), UDPA_ERR_INVAL, "utilization 'gpu' is 2");
    expect_malformed(orca_entry(4, "", 2), UDPA_ERR_INVAL, "is empty");
    expect_malformed(W_JOIN(orca_entry(4, "a", 2), orca_entry(4, "a", 2)), UDPA_ERR_INVAL, "twice");
    expect_malformed(W_VARINT(1, 1), UDPA_ERR_MALFORMED, "");
    expect_malformed(UDPAI_STR("\x22\x7f"), UDPA_ERR_MALFORMED, "");
    expect_malformed(orca_entry(4, "\xff", 2), UDPA_ERR_MALFORMED, "UTF-8");
    udpai_str many = W_NOTHING;
    char name[16];
    for (unsigned i = 0; i <= UDPAI_ORCA_NAMED_MAX; i++) {
        snprintf(name, sizeof(name), "%u", i);
        many = W_JOIN(many, orca_entry(8, name, 1));
    }
    expect_malformed(many, UDPA_ERR_LIMIT, "257 values");
}

/* ---- requests ---- */

static udpai_orca_request *
requested(udpai_str message)
{
    udpai_decoder decoder;
    udpai_orca_request *request = NULL;
    udpai_decoder_init(&decoder);
    assert_ok(udpai_orca_request_decode(&decoder, message, &request, NULL));
    udpai_decoder_done(&decoder);
    return request;
}

static void
intervals_have_bounds(void **state)
{
    const struct {
        udpai_str message;
        uint64_t interval_ms;
    } cases[] = {
        {W_NOTHING, 10000},
        {W_EMPTY(1), 10000},
        {orca_request(0, 1), 100},
        {orca_request(0, 99999999), 100},
        {orca_request(0, 250000000), 250},
        {orca_request(30, 500000000), 30500},
        {orca_request(3599, 999000000), 3599999},
        {orca_request(3600, 1), 3600000},
        {orca_request(INT64_MAX, 999999999), 3600000},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_orca_request *request = requested(cases[i].message);
        assert_int_equal(request->interval_ms, cases[i].interval_ms);
        assert_int_equal(request->n_cost_names, 0);
        udpai_free(request);
    }
}

static void
names_of_costs_are_sorted(void **state)
{
    (void)state;
    udpai_orca_request *request =
        requested(W_JOIN(W_TEXT(2, "disk"), W_TEXT(2, "db"), W_TEXT(2, "cache")));
    assert_int_equal(request->n_cost_names, 3);
    assert_str(request->cost_names[0], "cache");
    assert_str(request->cost_names[1], "db");
    assert_str(request->cost_names[2], "disk");
    udpai_free(request);
}

static void
expect_bad_request(udpai_str message, udpa_err code, const char *words)
{
    udpai_decoder decoder;
    udpai_orca_request *request = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_decoder_init(&decoder);
    assert_int_equal(udpai_orca_request_decode(&decoder, message, &request, &error), code);
    udpai_decoder_done(&decoder);
    assert_null(request);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
bad_requests_are_refused(void **state)
{
    char longer[UDPAI_ORCA_NAME_MAX + 2] = {0};
    udpai_str many = W_NOTHING;
    (void)state;
    expect_bad_request(orca_request(-1, 0), UDPA_ERR_INVAL, "report_interval is -1 s");
    expect_bad_request(orca_request(0, -1), UDPA_ERR_INVAL, "-1 ns");
    expect_bad_request(orca_request(1, 1000000000), UDPA_ERR_INVAL, "1000000000 ns");
    expect_bad_request(W_TEXT(2, ""), UDPA_ERR_INVAL, "is empty");
    memset(longer, 'x', sizeof(longer) - 1);
    expect_bad_request(W_TEXT(2, longer), UDPA_ERR_INVAL, "longer than 256 bytes");
    for (unsigned i = 0; i <= UDPAI_ORCA_NAMED_MAX; i++)
        many = W_JOIN(many, W_TEXT(2, "x"));
    expect_bad_request(many, UDPA_ERR_LIMIT, "257 request_cost_names");
    expect_bad_request(UDPAI_STR("\x0a\x7f"), UDPA_ERR_MALFORMED, "");
}

/* ---- memory ---- */

static udpa_err
there_and_back(void *context)
{
    static const udpai_str names[] = {{"db", 2}};
    udpai_decoder decoder;
    UDPA_AUTO(udpai_orca_metrics_unref) udpai_orca_metrics *metrics = NULL;
    UDPA_AUTO(udpai_orca_metrics_unref) udpai_orca_metrics *again = NULL;
    udpai_orca_request *request = NULL;
    udpa_err err = udpai_orca_metrics_new(&metrics, &full, NULL);
    if (err != UDPA_OK)
        return err;
    udpa_bytes *bytes = udpai_orca_metrics_encode(metrics, UDPAI_ORCA_V3, names, 1);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    udpai_decoder_init(&decoder);
    err = udpai_orca_report_decode(&decoder, udpai_bytes_view(bytes), &again, NULL);
    if (err == UDPA_OK)
        err = udpai_orca_request_decode(&decoder, *(udpai_str *)context, &request, NULL);
    udpai_decoder_done(&decoder);
    udpa_bytes_unref(bytes);
    udpai_free(request);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    udpai_str request = W_JOIN(orca_request(1, 0), W_TEXT(2, "db"));
    (void)state;
    oom_torture(there_and_back, &request);
}

static int
clean(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_figure_has_its_range),
        cmocka_unit_test(values_with_names_have_theirs),
        cmocka_unit_test(names_are_texts_and_there_once),
        cmocka_unit_test(they_are_bounded),
        cmocka_unit_test(v3_has_all_of_it),
        cmocka_unit_test(v1_has_what_it_knows),
        cmocka_unit_test(costs_can_be_chosen),
        cmocka_unit_test(nothing_is_no_bytes),
        cmocka_unit_test_teardown(a_report_comes_back_as_it_was, clean),
        cmocka_unit_test_teardown(whole_requests_count_if_there_are_no_others, clean),
        cmocka_unit_test_teardown(nonsense_is_refused, clean),
        cmocka_unit_test_teardown(intervals_have_bounds, clean),
        cmocka_unit_test_teardown(names_of_costs_are_sorted, clean),
        cmocka_unit_test_teardown(bad_requests_are_refused, clean),
        cmocka_unit_test_teardown(without_memory_nothing_is_left, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
