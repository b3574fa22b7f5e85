/* SPDX-License-Identifier: Apache-2.0 */
/* The page of metrics as udpactl reads it: that it reads what a node writes, and nothing else. */
#include "cli/series.h"

#include <math.h>
#include <stdio.h>

#include "metrics/snapshot.h"
#include "metrics/text.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static const char page_text[] = "# HELP a_total What.\n"
                                "# TYPE a_total counter\n"
                                "a_total{type=\"x\"} 3\n"
                                "a_total{type=\"y\"} 4.5\n"
                                "\n"
                                "b 1e3 1700000000000\r\n"
                                "c{l=\"1\",m=\"2\"} NaN\n"
                                "d{source=\"p\\\\q\\\"\\n\x1b[2J\"} -1\n"
                                "h_bucket{type=\"x\",le=\"0.1\"} 5\n"
                                "h_bucket{type=\"x\",le=\"0.5\"} 9\n"
                                "h_bucket{type=\"x\",le=\"+Inf\"} 10\n"
                                "h_bucket{type=\"y\",le=\"0.1\"} 5\n"
                                "h_bucket{type=\"y\",le=\"0.5\"} 9\n"
                                "h_bucket{type=\"y\",le=\"+Inf\"} 10";

static void
values_are_found(void **state)
{
    (void)state;
    udpai_cli_page page;
    double value = -1;
    assert_ok(udpai_cli_page_read(&page, udpai_str_from(page_text), NULL));
    assert_true(udpai_cli_page_value(&page, "a_total", "y", &value));
    assert_true(value == 4.5);
    assert_true(udpai_cli_page_sum(&page, "a_total") == 7.5);
    assert_true(udpai_cli_page_value(&page, "b", NULL, &value));
    assert_true(value == 1000);
    assert_false(udpai_cli_page_value(&page, "a_total", "z", &value));
    assert_false(udpai_cli_page_value(&page, "c", NULL, &value)); /* is no number */
    assert_false(udpai_cli_page_value(&page, "a", NULL, &value));
    assert_true(udpai_cli_page_sum(&page, "none") == 0);
    udpai_cli_page_done(&page);
}

static void
a_label_is_safe_for_a_terminal(void **state)
{
    (void)state;
    udpai_cli_page page;
    udpai_strbuf out = {0};
    size_t at = 0;
    assert_ok(udpai_cli_page_read(&page, udpai_str_from(page_text), NULL));
    udpai_cli_series_put_label(&out, udpai_cli_page_next(&page, "d", &at));
    assert_str(udpai_strbuf_view(&out), "p\\q\"??[2J");
    udpai_strbuf_done(&out);
    udpai_cli_page_done(&page);
}

static bool
quantile_of(const udpai_cli_page *page,
            const udpai_cli_page *before,
            double quantile,
            double *ret_value)
{
    const udpai_cli_page none = {0};
    const udpai_cli_histogram now = udpai_cli_page_histogram(page, "h_bucket");
    const udpai_cli_histogram then = udpai_cli_page_histogram(before ? before : &none, "h_bucket");
    return udpai_cli_quantile(&now, before ? &then : NULL, quantile, ret_value);
}

static void
expect_quantile(const udpai_cli_page *page,
                const udpai_cli_page *before,
                double quantile,
                double wanted)
{
    double value = -1;
    assert_true(quantile_of(page, before, quantile, &value));
    if (fabs(value - wanted) > 1e-9)
        fail_msg("%g: %g, not %g", quantile, value, wanted);
}

/* As histogram_quantile() of Prometheus: linear within a bucket. */
static void
quantiles_are_those_of_prometheus(void **state)
{
    static const char before_text[] = "h_bucket{type=\"x\",le=\"0.1\"} 5\n"
                                      "h_bucket{type=\"x\",le=\"0.5\"} 5\n"
                                      "h_bucket{type=\"x\",le=\"+Inf\"} 5\n"
                                      "h_bucket{type=\"y\",le=\"0.1\"} 5\n"
                                      "h_bucket{type=\"y\",le=\"0.5\"} 9\n"
                                      "h_bucket{type=\"y\",le=\"+Inf\"} 10\n";
    (void)state;
    double value;
    udpai_cli_page page, before;
    assert_ok(udpai_cli_page_read(&page, udpai_str_from(page_text), NULL));
    assert_ok(udpai_cli_page_read(&before, udpai_str_from(before_text), NULL));
    expect_quantile(&page, NULL, 0.25, 0.05);
    expect_quantile(&page, NULL, 0.5, 0.1);
    expect_quantile(&page, NULL, 0.7, 0.3);
    expect_quantile(&page, NULL, 0.99, 0.5);
    expect_quantile(&page, &before, 0.4, 0.3);
    assert_false(quantile_of(&page, &page, 0.5, &value));
    const udpai_cli_histogram none = udpai_cli_page_histogram(&page, "a_total");
    assert_false(udpai_cli_quantile(&none, NULL, 0.5, &value));
    /* A node that was started again has counted less. */
    assert_false(quantile_of(&before, &page, 0.5, &value));
    udpai_cli_page_done(&before);
    udpai_cli_page_done(&page);
}

static void
what_is_none_is_an_error(void **state)
{
    static const char *const bad[] = {
        "a",
        "a 1 2 3",
        "1a 1",
        "a{l} 1",
        "a{l=\"x\" 1",
        "a{l=x} 1",
        "a{l=\"x\"m=\"y\"} 1",
        "a 0x1 z",
        "a  1",
        "a x",
        "a{le=\"x\"} 1",
        "<html>",
        "a{l=\"\\\"} 1",
        "a 1\nb\n",
        "{} 1",
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        udpai_cli_page page;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (udpai_cli_page_read(&page, udpai_str_from(bad[i]), &error) != UDPA_ERR_MALFORMED)
            fail_msg("'%s' is read", bad[i]);
        assert_int_equal(page.series.n, 0);
        assert_non_null(strstr(udpa_error_message(error), "line "));
        udpai_cli_page_done(&page);
    }
}

static void
a_page_is_bounded(void **state)
{
    (void)state;
    udpai_cli_page page;
    udpai_strbuf text = {0};
    for (int i = 0; i < UDPAI_CLI_SERIES_MAX; i++)
        udpai_strbuf_printf(&text, "a%d 1\n", i);
    assert_ok(udpai_cli_page_read(&page, udpai_strbuf_view(&text), NULL));
    udpai_cli_page_done(&page);
    udpai_strbuf_puts(&text, "b 1\n");
    assert_int_equal(udpai_cli_page_read(&page, udpai_strbuf_view(&text), NULL), UDPA_ERR_LIMIT);
    udpai_strbuf_done(&text);
    text = (udpai_strbuf){0};
    udpai_strbuf_puts(&text, "a{l=\"");
    for (size_t i = 0; i < UDPAI_CLI_SERIES_LINE_MAX; i++)
        udpai_strbuf_putc(&text, 'x');
    udpai_strbuf_puts(&text, "\"} 1\n");
    assert_int_equal(udpai_cli_page_read(&page, udpai_strbuf_view(&text), NULL), UDPA_ERR_LIMIT);
    udpai_strbuf_done(&text);
}

/* Whatever the label of a source: what a node writes is read as it was. */
static void
what_a_node_writes_is_read(void **state)
{
    (void)state;
    udpai_metric_snapshot *snapshot = NULL;
    udpai_strbuf text = {0}, label = {0};
    udpai_cli_page page;
    size_t at = 0;
    const udpai_str source = UDPAI_STR("a\\b\"c d,e}");
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_metric_put(snapshot, UDPAI_METRIC_SOURCE_ACTIVE, source, 1);
    udpai_metric_put(snapshot, UDPAI_METRIC_CLOCK, UDPAI_STR(""), 1700000000.25);
    udpai_metric_text(snapshot, UDPAI_METRIC_PROMETHEUS, &text);
    assert_ok(udpai_cli_page_read(&page, udpai_strbuf_view(&text), NULL));
    double value = 0;
    assert_true(udpai_cli_page_value(&page, "udpa_clock_timestamp_seconds", NULL, &value));
    assert_true(value == 1700000000.25);
    udpai_cli_series_put_label(&label, udpai_cli_page_next(&page, "udpa_source_active", &at));
    assert_str(udpai_strbuf_view(&label), source.data);
    udpai_strbuf_done(&label);
    udpai_cli_page_done(&page);
    udpai_strbuf_done(&text);
    udpai_metric_snapshot_free(snapshot);
}

static udpa_err
read_page(void *context)
{
    udpai_cli_page page;
    (void)context;
    udpa_err err = udpai_cli_page_read(&page, udpai_str_from(page_text), NULL);
    udpai_cli_page_done(&page);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    oom_torture(read_page, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(a_label_is_safe_for_a_terminal),
        cmocka_unit_test(quantiles_are_those_of_prometheus),
        cmocka_unit_test(what_is_none_is_an_error),
        cmocka_unit_test(a_page_is_bounded),
        cmocka_unit_test(what_a_node_writes_is_read),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
