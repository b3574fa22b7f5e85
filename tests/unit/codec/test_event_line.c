/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines of JSON: one for each entry, base64 where the type is not known, and gaps. */
#include "codec/event_line.h"

#include "codec_test.h"
#include "tests/harness/wire.h"

#define TIME_US INT64_C(1767322999000006)
#define DURATION "type.googleapis.com/google.protobuf.Duration"

static size_t n_taken;

static void
on_take(void *userdata, udpai_strbuf *out)
{
    (void)userdata;
    assert_true(out->data[out->len - 1] == '\n');
    n_taken += out->len;
    out->len = 0;
}

static const udpai_line_consumer taker = {on_take, NULL};

static void
expect(udpai_event_kind kind, udpai_str message, size_t n, const char *expected)
{
    const udpai_event_view event = {
        .kind = kind,
        .time_us = TIME_US,
        .node_id = UDPAI_STR("edge\"1"),
        .message = message,
    };
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &event, &taker), n);
    assert_str(udpai_strbuf_view(&out), expected);
    udpai_strbuf_done(&out);
}

#define HEAD(kind)                                                                                 \
    "{\"kind\":\"" kind "\",\"time\":\"2026-01-02T03:03:19.000006Z\",\"node\":\"edge\\\"1\","

static void
each_entry_has_a_line(void **state)
{
    (void)state;
    udpai_str any = W_MESSAGE(2, W_TEXT(1, DURATION), W_MESSAGE(2, W_VARINT(1, 5)));
    expect(UDPAI_EVENT_REPORT, W_JOIN(any, any), 2,
           HEAD("event") "\"type\":\"google.protobuf.Any\",\"entry\":{\"@type\":\"" DURATION
                         "\",\"value\":\"5s\"}}\n" HEAD("event") "\"type\":\"google.protobuf.Any\","
                                                                 "\"entry\":{\"@type\":\"" DURATION
                                                                 "\",\"value\":\"5s\"}}\n");
    expect(UDPAI_EVENT_REPORT, W_NOTHING, 0, "");
    expect(UDPAI_EVENT_REPORT, W_TEXT(9, "something newer"), 0, "");
}

static void
names_are_there_if_they_are_known(void **state)
{
    (void)state;
    udpai_str any = W_MESSAGE(2, W_TEXT(1, DURATION));
    const udpai_event_view event = {
        .kind = UDPAI_EVENT_REPORT,
        .time_us = -1,
        .identity = UDPAI_STR("spiffe://a"),
        .name = UDPAI_STR("n"),
        .message = any,
    };
    udpai_strbuf out = {0};
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &event, &taker), 1);
    assert_non_null(strstr(out.data, "\"time\":\"1969-12-31T23:59:59.999999Z\","
                                     "\"identity\":\"spiffe://a\",\"name\":\"n\",\"type\""));
    udpai_strbuf_done(&out);
}

static void
what_has_no_descriptor_is_base64(void **state)
{
    (void)state;
    udpai_str message = W_MESSAGE(2, W_TEXT(1, "abc"), W_TEXT(1, ""));
    const char *const type = "envoy.data.accesslog.v3.HTTPAccessLogEntry";
    const udpai_event_view event = {.kind = UDPAI_EVENT_ACCESS_LOG, .message = message};
    udpai_strbuf out = {0};
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &event, &taker), 2);
    assert_non_null(strstr(out.data, "\"base64\":\"YWJj\",\"error\":\""));
    assert_non_null(strstr(out.data, "\"base64\":\"\",\"error\":\""));
    assert_non_null(strstr(strstr(out.data, "\"error\""), type)); /* it says what is missing */
    udpai_strbuf_done(&out);
}

static void
what_cannot_be_read_is_base64(void **state)
{
    (void)state;
    /* Entries behind the piece that is malformed cannot be told apart. */
    const udpai_event_view log = {
        .kind = UDPAI_EVENT_ACCESS_LOG,
        .message = W_MESSAGE(2, W_TEXT(1, "a"), UDPAI_STR("\x0a\x7f")),
    };
    const udpai_event_view report = {.kind = UDPAI_EVENT_REPORT, .message = W_BYTES(2, "\x0a\x7f")};
    udpai_strbuf out = {0};
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &log, &taker), 2);
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &report, &taker), 1);
    assert_non_null(strstr(out.data, "\"base64\":\"Cn8=\",\"error\":\""));
    udpai_strbuf_done(&out);
}

/* A message of entries without anything in them is small. */
static void
many_lines_are_taken_away(void **state)
{
    size_t n = 40000;
    char *entries = wire_room(2 * n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        memcpy(entries + 2 * i, "\x12\x00", 2);
    const udpai_event_view event = {.kind = UDPAI_EVENT_REPORT, .message = {entries, 2 * n}};
    udpai_strbuf out = {0};
    n_taken = 0;
    assert_int_equal(udpai_event_lines_put(&out, test_schema, &event, &taker), n);
    assert_true(n_taken > n * 50 && out.len <= UDPAI_LINES_MAX);
    udpai_strbuf_done(&out);
}

static void
a_gap_is_a_line(void **state)
{
    (void)state;
    udpai_strbuf out = {0};
    udpai_event_gap_put(&out, UDPAI_EVENT_TAP, 12345678901);
    assert_str(udpai_strbuf_view(&out), "{\"kind\":\"tap\",\"lost\":12345678901}\n");
    udpai_strbuf_done(&out);
}

static int
free_pieces(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

#define CASE(name) cmocka_unit_test_teardown(name, free_pieces)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_entry_has_a_line),
        CASE(names_are_there_if_they_are_known),
        CASE(what_has_no_descriptor_is_base64),
        CASE(what_cannot_be_read_is_base64),
        CASE(many_lines_are_taken_away),
        CASE(a_gap_is_a_line),
    };
    return cmocka_run_group_tests(tests, setup_schema, teardown_schema);
}
