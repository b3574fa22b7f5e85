/* SPDX-License-Identifier: Apache-2.0 */
/* Spans as OpenTelemetry's protocol has them. That a real collector reads them is tested by
 * interop/test_traces.py. */
#include "transport/otlp/message.h"

#include "base/proto.h"
#include "tests/harness/test.h"

static udpa_bytes *
bytes_of(const char *text, size_t len)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, text, len));
    return bytes;
}

static udpai_span *
make_span(void)
{
    udpai_span *span = udpai_span_new();
    assert_non_null(span);
    assert_true(udpai_trace_read(
        UDPAI_STR("00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01"), &span->trace));
    span->begin_us = 1000000;
    span->effective_us = 1000001;
    span->end_us = 2000000;
    span->from = bytes_of("core", 4);
    span->type = bytes_of("a/b.C", 6);
    span->name = bytes_of("com.acme/x", 10);
    span->n_changed = 3;
    span->outcome = "nacked";
    return span;
}

/* How many fields of this number there are. */
static size_t
n_fields(udpai_str message, uint32_t number)
{
    size_t n = 0;
    udpai_proto_field field;
    udpai_proto_reader reader = udpai_proto_read(message);
    while (udpai_proto_next(&reader, &field))
        n += field.number == number;
    assert_false(reader.failed);
    return n;
}

static void
a_span_has_all(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_span_free) udpai_span *span = make_span();
    const udpai_trace link = span->trace;
    assert_true(udpai_vector_push(&span->links, link));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_otlp_span(span);
    udpai_str text = udpai_bytes_view(bytes);
    assert_int_equal(udpai_proto_last_bytes(text, 1).len, UDPAI_TRACE_ID);
    assert_int_equal(udpai_proto_last_bytes(text, 2).len, UDPAI_SPAN_ID);
    assert_int_equal(n_fields(text, 4), 0); /* it has no parent */
    assert_int_equal(n_fields(text, 9), 5); /* of six attributes the last client is not known */
    assert_int_equal(n_fields(text, 11), 1);
    assert_int_equal(n_fields(text, 13), 1);
    udpai_str status = udpai_proto_last_bytes(text, 15);
    assert_memory_equal(status.data, "\x12\x06nacked\x18\x02", status.len);
    span->parent[0] = 1;
    span->effective_us = 0;
    udpa_bytes_unref(bytes);
    bytes = udpai_otlp_span(span);
    assert_int_equal(n_fields(udpai_bytes_view(bytes), 4), 1);
    assert_int_equal(n_fields(udpai_bytes_view(bytes), 11), 0);
}

static void
a_request_has_its_sender_once(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_span_free) udpai_span *span = make_span();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_otlp_span(span);
    udpa_bytes *const spans[] = {bytes, bytes};
    const udpai_otlp_sender sender = {UDPAI_STR("edge"), UDPAI_STR("1.0")};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *request = udpai_otlp_request(&sender, spans, 2);
    udpai_str resource_spans = udpai_proto_last_bytes(udpai_bytes_view(request), 1);
    assert_int_equal(n_fields(udpai_proto_last_bytes(resource_spans, 1), 1), 3);
    udpai_str scope_spans = udpai_proto_last_bytes(resource_spans, 2);
    assert_int_equal(n_fields(scope_spans, 1), 1);
    assert_int_equal(n_fields(scope_spans, 2), 2);
}

static void
what_was_rejected_is_read(void **state)
{
    (void)state;
    assert_int_equal(udpai_otlp_n_rejected(UDPAI_STR("")), 0);
    assert_int_equal(udpai_otlp_n_rejected(UDPAI_STR("\x0a\x05\x08\x07\x12\x01x")), 7);
    assert_int_equal(udpai_otlp_n_rejected(UDPAI_STR("\x0a\x05\x08")), 0);
    assert_int_equal(udpai_otlp_n_rejected(UDPAI_STR("\xff\xff\xff")), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_all),
        cmocka_unit_test(a_request_has_its_sender_once),
        cmocka_unit_test(what_was_rejected_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
