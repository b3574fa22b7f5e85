/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come in pieces, of both versions of HTTP: a piece is given once, the next one when
 * it was, and nothing is lost where a client takes its time. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>

#include "base/bytes.h"
#include "tests/unit/transport/http_bed.h"

#define HOLD "GET /hold HTTP/1.1\r\nhost: x\r\n\r\n"
#define HEAD_1                                                                                     \
    "HTTP/1.1 200 OK\r\nserver: udpad\r\ncache-control: no-store\r\n"                              \
    "content-type: text/event-stream\r\n"

static http_bed bed;

static void
begin_1(const char *request)
{
    http_bed_open(&bed, false, 100);
    http_bed_send(&bed, request, strlen(request), 1000);
    assert_int_equal(bed.n_requests, 1);
    udpai_http_call_set_type(bed.requests[0].call, "text/event-stream");
    udpai_http_call_begin_stream(bed.requests[0].call, 200);
    http_bed_give(&bed);
}

static void
push(const char *text)
{
    udpa_bytes *piece = NULL;
    assert_ok(udpa_bytes_new(&piece, text, strlen(text)));
    udpai_http_call_push(bed.requests[0].call, piece);
    udpa_bytes_unref(piece);
}

static void
expect_out(const char *text)
{
    udpai_strbuf_putc(&bed.out, '\0');
    assert_string_equal(bed.out.data, text);
    bed.out.len = 0;
}

/* ---- HTTP/1.1 ---- */

static void
pieces_are_chunks(void **state)
{
    (void)state;
    begin_1(HOLD);
    expect_out(HEAD_1 "transfer-encoding: chunked\r\n\r\n");
    assert_int_equal(udpai_http_engine_n_streams(bed.engine), 1);
    assert_true(udpai_http_call_is_drained(bed.requests[0].call));
    push("data: one\n\n");
    assert_false(udpai_http_call_is_drained(bed.requests[0].call));
    http_bed_give(&bed);
    expect_out("b\r\ndata: one\n\n\r\n");
    assert_true(udpai_http_call_is_drained(bed.requests[0].call));
    assert_int_equal(bed.requests[0].n_progress, 1);
    push("2");
    http_bed_give(&bed);
    expect_out("1\r\n2\r\n");
    assert_int_equal(bed.n_over, 0);
    udpai_http_call_end_stream(bed.requests[0].call);
    http_bed_give(&bed);
    expect_out("0\r\n\r\n");
    assert_int_equal(bed.n_over, 1);
    assert_true(bed.requests[0].is_answered);
    assert_int_equal(udpai_http_engine_n_streams(bed.engine), 0);
    assert_false(udpai_http_engine_is_over(bed.engine)); /* the connection may be used again */
    http_bed_send(&bed, HOLD, strlen(HOLD), 1000);
    assert_int_equal(bed.n_requests, 2);
    http_bed_close(&bed);
}

/* No more is given than there is room for. */
static void
a_large_piece_is_given_bit_by_bit(void **state)
{
    char text[5000];
    udpai_strbuf out = {0};
    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    begin_1(HOLD);
    push(text);
    udpai_http_engine_give(bed.engine, &out, 1000);
    assert_in_range(out.len, 1000, 1100);
    assert_false(udpai_http_call_is_drained(bed.requests[0].call));
    for (int i = 0; i < 6; i++) {
        out.len = 0;
        udpai_http_engine_give(bed.engine, &out, 1000);
    }
    assert_true(udpai_http_call_is_drained(bed.requests[0].call));
    udpai_strbuf_done(&out);
    http_bed_close(&bed);
    assert_false(bed.requests[0].is_answered);
}

static void
the_last_piece_comes_before_the_end(void **state)
{
    (void)state;
    begin_1(HOLD);
    bed.out.len = 0;
    push("last");
    udpai_http_call_end_stream(bed.requests[0].call);
    push("too late");
    http_bed_give(&bed);
    expect_out("4\r\nlast\r\n0\r\n\r\n");
    http_bed_close(&bed);
}

static void
an_old_client_has_the_end_of_the_connection(void **state)
{
    (void)state;
    begin_1("GET /hold HTTP/1.0\r\n\r\n");
    expect_out(HEAD_1 "connection: close\r\n\r\n");
    push("one");
    http_bed_give(&bed);
    expect_out("one");
    udpai_http_call_end_stream(bed.requests[0].call);
    http_bed_give(&bed);
    assert_int_equal(bed.out.len, 0);
    assert_true(udpai_http_engine_is_over(bed.engine));
    http_bed_close(&bed);
}

static void
a_head_alone_ends_at_once(void **state)
{
    (void)state;
    begin_1("HEAD /hold HTTP/1.1\r\nhost: x\r\n\r\n");
    expect_out(HEAD_1 "transfer-encoding: chunked\r\n\r\n");
    assert_int_equal(bed.n_over, 1);
    http_bed_close(&bed);
}

static void
a_shut_down_waits_for_the_end(void **state)
{
    (void)state;
    begin_1(HOLD);
    udpai_http_engine_shut_down(bed.engine);
    assert_false(udpai_http_engine_is_over(bed.engine));
    udpai_http_call_end_stream(bed.requests[0].call);
    http_bed_give(&bed);
    assert_true(udpai_http_engine_is_over(bed.engine));
    http_bed_close(&bed);
}

/* ---- HTTP/2 ---- */

typedef struct client {
    nghttp2_session *session;
    char text[16384];
    size_t size, n_sent, n_fields;
    bool has_length, is_closed;
} client;

static client peer;

static int
on_header(nghttp2_session *session,
          const nghttp2_frame *frame,
          const uint8_t *name,
          size_t name_len,
          const uint8_t *value,
          size_t value_len,
          uint8_t flags,
          void *userdata)
{
    (void)session, (void)frame, (void)value, (void)value_len, (void)flags, (void)userdata;
    udpai_str key = {(const char *)name, name_len};
    peer.n_fields++;
    peer.has_length |= udpai_str_eq(key, UDPAI_STR("content-length")) ||
                       udpai_str_eq(key, UDPAI_STR("transfer-encoding"));
    return 0;
}

static int
on_data(nghttp2_session *session,
        uint8_t flags,
        int32_t id,
        const uint8_t *data,
        size_t len,
        void *userdata)
{
    (void)flags, (void)id, (void)userdata;
    assert_true(peer.size + len < sizeof(peer.text));
    memcpy(peer.text + peer.size, data, len);
    peer.size += len;
    return nghttp2_session_consume_connection(session, len);
}

static int
on_close(nghttp2_session *session, int32_t id, uint32_t code, void *userdata)
{
    (void)session, (void)id, (void)code, (void)userdata;
    peer.is_closed = true;
    return 0;
}

static void
pass(void)
{
    for (size_t before = SIZE_MAX; before != bed.out.len + peer.n_sent;) {
        const uint8_t *bytes;
        ssize_t n;
        before = bed.out.len + peer.n_sent;
        while ((n = nghttp2_session_mem_send(peer.session, &bytes)) > 0)
            http_bed_send(&bed, bytes, (size_t)n, 16384);
        http_bed_give(&bed);
        n = nghttp2_session_mem_recv(peer.session, (const uint8_t *)bed.out.data + peer.n_sent,
                                     bed.out.len - peer.n_sent);
        assert_int_equal(n, bed.out.len - peer.n_sent);
        peer.n_sent = bed.out.len;
    }
}

static nghttp2_nv
field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

/* @p window: bytes of the stream that the client takes, until it consumes them. */
static void
begin_2(uint32_t window)
{
    const nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};
    const nghttp2_nv fields[] = {field(":method", "GET"), field(":scheme", "http"),
                                 field(":path", "/hold"), field(":authority", "x")};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    peer = (client){0};
    http_bed_open(&bed, true, 100);
    assert_ok(nghttp2_session_callbacks_new(&callbacks));
    assert_ok(nghttp2_option_new(&option));
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    assert_ok(nghttp2_session_client_new2(&peer.session, callbacks, NULL, option));
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    assert_ok(nghttp2_submit_settings(peer.session, NGHTTP2_FLAG_NONE, &settings, 1));
    assert_int_equal(nghttp2_submit_request(peer.session, NULL, fields, 4, NULL, NULL), 1);
    pass();
    assert_int_equal(bed.n_requests, 1);
    udpai_http_call_begin_stream(bed.requests[0].call, 200);
    pass();
}

static void
end_2(void)
{
    nghttp2_session_del(peer.session);
    http_bed_close(&bed);
}

static void
expect_text(const char *text)
{
    assert_int_equal(peer.size, strlen(text));
    assert_memory_equal(peer.text, text, peer.size);
    peer.size = 0;
}

static void
pieces_are_frames(void **state)
{
    (void)state;
    begin_2(65535);
    assert_true(peer.n_fields > 0);
    assert_false(peer.has_length);
    push("one");
    pass();
    expect_text("one");
    assert_true(udpai_http_call_is_drained(bed.requests[0].call));
    assert_int_equal(bed.requests[0].n_progress, 1);
    push("two");
    udpai_http_call_end_stream(bed.requests[0].call);
    pass();
    expect_text("two");
    assert_true(peer.is_closed);
    assert_int_equal(bed.n_over, 1);
    assert_true(bed.requests[0].is_answered);
    end_2();
}

static void
an_end_without_a_piece_is_one(void **state)
{
    (void)state;
    begin_2(65535);
    udpai_http_call_end_stream(bed.requests[0].call);
    pass();
    expect_text("");
    assert_true(peer.is_closed);
    end_2();
}

/* A client that takes nothing more has no more pending than its piece. */
static void
a_closed_window_holds_the_piece(void **state)
{
    (void)state;
    begin_2(4);
    push("123456789");
    pass();
    expect_text("1234");
    assert_false(udpai_http_call_is_drained(bed.requests[0].call));
    assert_ok(nghttp2_session_consume_stream(peer.session, 1, 4));
    pass();
    expect_text("5678");
    assert_ok(nghttp2_session_consume_stream(peer.session, 1, 4));
    pass();
    expect_text("9");
    assert_true(udpai_http_call_is_drained(bed.requests[0].call));
    end_2();
}

static void
a_client_that_leaves_is_over(void **state)
{
    (void)state;
    begin_2(65535);
    assert_ok(nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, 1, NGHTTP2_CANCEL));
    pass();
    assert_int_equal(bed.n_over, 1);
    assert_false(bed.requests[0].is_answered);
    assert_int_equal(udpai_http_engine_n_streams(bed.engine), 0);
    end_2();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_chunks),
        cmocka_unit_test(a_large_piece_is_given_bit_by_bit),
        cmocka_unit_test(the_last_piece_comes_before_the_end),
        cmocka_unit_test(an_old_client_has_the_end_of_the_connection),
        cmocka_unit_test(a_head_alone_ends_at_once),
        cmocka_unit_test(a_shut_down_waits_for_the_end),
        cmocka_unit_test(pieces_are_frames),
        cmocka_unit_test(an_end_without_a_piece_is_one),
        cmocka_unit_test(a_closed_window_holds_the_piece),
        cmocka_unit_test(a_client_that_leaves_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
