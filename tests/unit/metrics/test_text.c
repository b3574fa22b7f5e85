/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is written as. Names of types come from peers: each is read back as it was, and
 * spoils nothing beside it. */
#include "metrics/text.h"

#include "base/utf8.h"
#include "metrics/labels.h"
#include "tests/harness/test.h"

static udpai_metric_snapshot *
begin(void)
{
    udpai_metric_snapshot *snapshot = NULL;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1700000000.25);
    return snapshot;
}

static void
assert_text(const udpai_metric_snapshot *snapshot, udpai_metric_format format, const char *expected)
{
    udpai_strbuf text = {0};
    udpai_metric_text(snapshot, format, &text);
    assert_false(udpai_strbuf_failed(&text));
    assert_str(udpai_strbuf_view(&text), expected);
    udpai_strbuf_done(&text);
}

static void
nothing_is_an_empty_page(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    (void)state;
    assert_text(snapshot, UDPAI_METRIC_PROMETHEUS, "");
    assert_text(snapshot, UDPAI_METRIC_OPENMETRICS, "# EOF\n");
}

static void
a_counter_has_its_suffix_where_the_format_wants_it(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    (void)state;
    udpai_metric_put(snapshot, UDPAI_METRIC_DELIVERY_BYTES, UDPAI_STR("com.acme.A"), 12);
    udpai_metric_put(snapshot, UDPAI_METRIC_DELIVERY_BYTES, UDPAI_STR("com.acme.B"), 9e15 - 1);
    assert_text(snapshot, UDPAI_METRIC_PROMETHEUS,
                "# HELP udpa_delivery_bytes_total Bytes of what udpa_deliveries_total counts, "
                "before TLS.\n"
                "# TYPE udpa_delivery_bytes_total counter\n"
                "udpa_delivery_bytes_total{type=\"com.acme.A\"} 12\n"
                "udpa_delivery_bytes_total{type=\"com.acme.B\"} 8999999999999999\n");
    assert_text(snapshot, UDPAI_METRIC_OPENMETRICS,
                "# HELP udpa_delivery_bytes Bytes of what udpa_deliveries_total counts, "
                "before TLS.\n"
                "# TYPE udpa_delivery_bytes counter\n"
                "# UNIT udpa_delivery_bytes bytes\n"
                "udpa_delivery_bytes_total{type=\"com.acme.A\"} 12\n"
                "udpa_delivery_bytes_created{type=\"com.acme.A\"} 1700000000.25\n"
                "udpa_delivery_bytes_total{type=\"com.acme.B\"} 8999999999999999\n"
                "udpa_delivery_bytes_created{type=\"com.acme.B\"} 1700000000.25\n"
                "# EOF\n");
}

static void
a_gauge_has_neither(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    (void)state;
    udpai_metric_put(snapshot, UDPAI_METRIC_PROCESS_OPEN_FDS, UDPAI_STR(""), -0.1);
    assert_text(snapshot, UDPAI_METRIC_PROMETHEUS,
                "# HELP process_open_fds Open file descriptors of the node's process.\n"
                "# TYPE process_open_fds gauge\n"
                "process_open_fds -0.1\n");
}

static void
a_histogram_has_all_up_to_each_bound(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    uint64_t values[UDPAI_METRIC_VALUES_MAX] = {[0] = 2, [11] = 3, [13] = 1, [14] = 7500000};
    const udpai_reading reading = {UDPAI_METRIC_LOOP_TURN, {0}, values};
    (void)state;
    udpai_metric_snapshot_take(snapshot, &reading);
    assert_text(snapshot, UDPAI_METRIC_OPENMETRICS,
                "# HELP udpa_loop_turn_seconds How long the node's loop has worked between two "
                "waits.\n"
                "# TYPE udpa_loop_turn_seconds histogram\n"
                "# UNIT udpa_loop_turn_seconds seconds\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.0001\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.00025\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.0005\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.001\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.0025\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.005\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.01\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.025\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.05\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.1\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"0.25\"} 2\n"
                "udpa_loop_turn_seconds_bucket{le=\"1.0\"} 5\n"
                "udpa_loop_turn_seconds_bucket{le=\"5.0\"} 5\n"
                "udpa_loop_turn_seconds_bucket{le=\"+Inf\"} 6\n"
                "udpa_loop_turn_seconds_sum 7.5\n"
                "udpa_loop_turn_seconds_count 6\n"
                "udpa_loop_turn_seconds_created 1700000000.25\n"
                "# EOF\n");
}

/* The last one of a bucket, where the format has room for it; and none that nothing is counted in.
 */
static void
a_bucket_has_an_exemplar(void **state)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    uint64_t values[UDPAI_METRIC_VALUES_MAX] = {[10] = 2, [13] = 1};
    const udpai_reading reading = {UDPAI_METRIC_PROPAGATION_TIME, UDPAI_STR("com.acme.A"), values};
    const udpai_metric_exemplar all[] = {
        {250000, 1700000001.5, {{1}, {2}, true}},
        {101000, 1700000002.0006, {{0xab, [15] = 0xcd}, {3}, true}},
        {100000, 1700000003, {{4}, {5}, true}},
        {9000000, 1700000004, {{[15] = 6}, {7}, true}},
    };
    (void)state;
    udpai_metric_put_exemplar(snapshot, reading.metric, reading.label, &all[0]); /* of no sample */
    for (int i = 0; i < 2; i++) {
        udpai_metric_snapshot_begin(snapshot, 1700000000.25);
        udpai_metric_snapshot_take(snapshot, &reading);
        for (size_t k = 0; i == 0 && k < UDPAI_ARRAY_LEN(all); k++)
            udpai_metric_put_exemplar(snapshot, reading.metric, reading.label, &all[k]);
        udpai_strbuf open = {0}, older = {0};
        udpai_metric_text(snapshot, UDPAI_METRIC_OPENMETRICS, &open);
        udpai_metric_text(snapshot, UDPAI_METRIC_PROMETHEUS, &older);
        const char *text = udpai_strbuf_view(&open).data;
        assert_null(strchr(strchr(udpai_strbuf_view(&older).data, '{'), '#'));
        assert_int_equal(i == 0, strstr(text, "le=\"0.25\"} 2 # {trace_id=\""
                                              "ab0000000000000000000000000000cd\"} "
                                              "0.101 1700000002.001\n") != NULL);
        assert_int_equal(i == 0, strstr(text, "le=\"+Inf\"} 3 # {trace_id=\""
                                              "00000000000000000000000000000006\"} "
                                              "9 1700000004.000\n") != NULL);
        assert_non_null(strstr(text, "le=\"0.1\"} 0\n"));
        udpai_strbuf_done(&open);
        udpai_strbuf_done(&older);
    }
}

/* ---- escaping ---- */

/* What a reader of the format makes of the value behind the first quote; -1: it has no end. */
static long
read_value(const char *text, char *room)
{
    size_t n = 0;
    const char *at = strchr(text, '"') + 1;
    for (; *at != '"'; at++) {
        if (*at == '\0' || *at == '\n')
            return -1;
        bool is_escaped = *at == '\\';
        at += is_escaped;
        room[n++] = (char)(is_escaped && *at == 'n' ? '\n' : *at);
    }
    return strcmp(at, "\"} 1\n# EOF\n") == 0 ? (long)n : -1;
}

/* Of valid text it must be the same; of other bytes something valid. */
static void
check_value(udpai_str value)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = begin();
    udpai_strbuf text = {0};
    char room[4 * UDPAI_LABEL_VALUE_MAX];
    udpai_metric_put(snapshot, UDPAI_METRIC_RESOURCES, value, 1);
    udpai_metric_text(snapshot, UDPAI_METRIC_OPENMETRICS, &text);
    assert_true(udpai_utf8_valid(udpai_strbuf_view(&text)));
    const char *series = strstr(text.data, "\nudpa_resources{");
    assert_non_null(series);
    long n = read_value(series, room);
    assert_true(n >= 0);
    if (udpai_utf8_valid(value))
        assert_true(udpai_str_eq(value, (udpai_str){room, (size_t)n}));
    udpai_strbuf_done(&text);
}

static void
quotes_backslashes_and_lines_are_escaped(void **state)
{
    (void)state;
    check_value(UDPAI_STR("\"\\\n\\n\\\"# HELP\n\r\t"));
    check_value(UDPAI_STR("caf\xc3\xa9 \xf0\x9f\x98\x80 \xff\xc3"));
    check_value(UDPAI_STR("\\"));
    check_value(UDPAI_STR(""));
}

static void
any_bytes_stay_in_their_quotes(void **state)
{
    static const char special[] = "\"\\\n{}#,= a\xc3\xa9\xf0\x9f\x98\x80\xff";
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        char value[40];
        size_t len = test_random(&seed) % sizeof(value);
        for (size_t i = 0; i < len; i++)
            value[i] = round % 2 ? (char)test_random(&seed)
                                 : special[test_random(&seed) % (sizeof(special) - 1)];
        check_value((udpai_str){value, len});
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_an_empty_page),
        cmocka_unit_test(a_counter_has_its_suffix_where_the_format_wants_it),
        cmocka_unit_test(a_gauge_has_neither),
        cmocka_unit_test(a_histogram_has_all_up_to_each_bound),
        cmocka_unit_test(a_bucket_has_an_exemplar),
        cmocka_unit_test(quotes_backslashes_and_lines_are_escaped),
        cmocka_unit_test(any_bytes_stay_in_their_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
