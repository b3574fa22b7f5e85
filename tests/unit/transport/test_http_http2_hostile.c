/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 and peers who are not as they should be: frames are written by hand, and come without end.
 */
#include "tests/harness/oom.h"
#include "tests/unit/transport/frames.h"
#include "tests/unit/transport/http_bed.h"

#define MAX_BODY 100000
#define STREAMS UDPAI_HTTP_STREAMS

/* ---- frames ---- */

/* ":method: POST", ":scheme: http", ":path: /hold", ":authority: x" */
#define HEAD "\x83\x86\x00\x05:path\x05/hold\x00\x0a:authority\x01x"

/* The same of "/a", which is answered at once. */
#define ANSWERED_HEAD                                                                              \
    "\x83\x86\x00\x05:path\x02/"                                                                   \
    "a\x00\x0a:authority\x01x"

static void
put_request(udpai_strbuf *to, uint32_t id)
{
    frames_put(to, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id,
               UDPAI_STR(HEAD));
}

/* Is he cut off before all of it was taken, and told to be calm if @p is_told? */
static void
check_cut(http_bed *bed, const udpai_strbuf *text, bool is_told)
{
    http_bed_send(bed, text->data, text->len, 1000);
    assert_true(udpai_http_engine_is_over(bed->engine) || udpai_http_engine_is_broken(bed->engine));
    assert_true(bed->out.len < 200000);
    if (is_told) /* GOAWAY, whose last bytes are a code */
        assert_int_equal(bed->out.data[bed->out.len - 1], NGHTTP2_ENHANCE_YOUR_CALM);
}

static void
rapid_resets_are_cut_off(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    for (uint32_t id = 1; id < 2000; id += 2) {
        put_request(&text, id);
        frames_put(&text, NGHTTP2_RST_STREAM, 0, id, UDPAI_STR("\0\0\0\x8"));
    }
    http_bed_open(&bed, true, MAX_BODY);
    check_cut(&bed, &text, true);
    assert_true(bed.n_requests <= UDPAI_HTTP_ABANDONED_MAX + 50);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

static uint32_t
put_abandoned(udpai_strbuf *to, uint32_t id, unsigned n)
{
    for (; n > 0; n--, id += 2) {
        put_request(to, id);
        frames_put(to, NGHTTP2_RST_STREAM, 0, id, UDPAI_STR("\0\0\0\x8"));
    }
    return id;
}

static uint32_t
put_answered(udpai_strbuf *to, uint32_t id, unsigned n)
{
    for (; n > 0; n--, id += 2)
        frames_put(to, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id,
                   UDPAI_STR(ANSWERED_HEAD));
    return id;
}

/* One that is answered makes up for one that is abandoned, not for all before it. */
static void
answers_among_rapid_resets_change_little(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    uint32_t id = 1;
    frames_put_begin(&text);
    while (id < 2000)
        id = put_answered(&text, put_abandoned(&text, id, 9), 1);
    http_bed_open(&bed, true, MAX_BODY);
    check_cut(&bed, &text, true);
    assert_in_range(bed.n_requests, UDPAI_HTTP_ABANDONED_MAX, 2 * UDPAI_HTTP_ABANDONED_MAX);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

/* Nor is anything saved up for later. */
static void
who_abandons_less_than_are_answered_may_go_on(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    uint32_t id = put_answered(&text, 1, 10);
    id = put_answered(&text, put_abandoned(&text, id, 60), 60);
    id = put_answered(&text, put_abandoned(&text, id, 60), 100);
    http_bed_open(&bed, true, MAX_BODY);
    http_bed_send(&bed, text.data, text.len, 1000);
    assert_false(udpai_http_engine_is_over(bed.engine) || udpai_http_engine_is_broken(bed.engine));
    text.len = 0;
    (void)put_abandoned(&text, id, UDPAI_HTTP_ABANDONED_MAX + 1);
    check_cut(&bed, &text, true);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

/* Streams that are refused cost something, too. */
static void
streams_beyond_the_limit_are_cut_off(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    frames_put(&text, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, (udpai_str){0});
    for (uint32_t id = 1; id < 4000; id += 2)
        put_request(&text, id);
    http_bed_open(&bed, true, MAX_BODY);
    check_cut(&bed, &text, false);
    assert_int_equal(bed.n_requests, STREAMS);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

static void
check_flood(uint8_t type, uint8_t flags, uint32_t id, udpai_str payload)
{
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    put_request(&text, 1);
    for (int i = 0; i < 5000; i++)
        frames_put(&text, type, flags, id, payload);
    http_bed_open(&bed, true, MAX_BODY);
    check_cut(&bed, &text, false);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

static void
floods_are_cut_off(void **state)
{
    (void)state;
    check_flood(NGHTTP2_PING, 0, 0, UDPAI_STR("12345678"));
    check_flood(NGHTTP2_SETTINGS, 0, 0, UDPAI_STR("\0\4\0\1\0\0"));
    check_flood(NGHTTP2_SETTINGS, 0, 0, (udpai_str){0});
    check_flood(NGHTTP2_PRIORITY, 0, 1, UDPAI_STR("\0\0\0\3\1"));
    check_flood(NGHTTP2_WINDOW_UPDATE, 0, 0, UDPAI_STR("\0\0\0\1"));
    check_flood(NGHTTP2_RST_STREAM, 0, 1, UDPAI_STR("\0\0\0\x8"));
    check_flood(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, UDPAI_STR("12345678"));
}

static void
empty_pieces_of_a_body_are_cut_off(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    frames_put(&text, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, UDPAI_STR(HEAD));
    for (int i = 0; i < 5000; i++)
        frames_put(&text, NGHTTP2_DATA, 0, 1, (udpai_str){0});
    http_bed_open(&bed, true, MAX_BODY);
    check_cut(&bed, &text, true);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

/* Who may ask now and then may do so for ever. */
static void
pings_now_and_then_are_answered(void **state)
{
    (void)state;
    udpai_strbuf text = {0}, ping = {0};
    static http_bed bed;
    frames_put_begin(&text);
    frames_put(&ping, NGHTTP2_PING, 0, 0, UDPAI_STR("12345678"));
    http_bed_open(&bed, true, MAX_BODY);
    http_bed_send(&bed, text.data, text.len, 100);
    for (int i = 0; i < 20000; i++) {
        bed.now_ms += 10;
        http_bed_send(&bed, ping.data, ping.len, 100);
    }
    assert_false(udpai_http_engine_is_over(bed.engine));
    assert_true(bed.out.len >= 20000 * 17);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
    udpai_strbuf_done(&ping);
}

/* CONTINUATION frames without end, of nothing or of a little each (CVE-2024-28182). */
static void
heads_without_an_end_are_cut_off(void **state)
{
    (void)state;
    static char field[1000] = "\x00\x01z\x7f\xec\x06"; /* a value of 997 bytes, which never come */
    const udpai_str payloads[] = {{0}, UDPAI_STR("\x00\x01z\x01y"), {field, sizeof(field)}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(payloads); i++) {
        udpai_strbuf text = {0};
        static http_bed bed;
        frames_put_begin(&text);
        frames_put(&text, NGHTTP2_HEADERS, 0, 1, UDPAI_STR(HEAD));
        for (int n = 0; n < 50000; n++)
            frames_put(&text, NGHTTP2_CONTINUATION, 0, 1, payloads[i]);
        http_bed_open(&bed, true, MAX_BODY);
        check_cut(&bed, &text, false);
        assert_int_equal(bed.n_requests, 0);
        http_bed_close(&bed);
        udpai_strbuf_done(&text);
    }
}

static void
a_head_on_its_way_is_known(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    frames_put(&text, NGHTTP2_HEADERS, 0, 1, UDPAI_STR(HEAD));
    http_bed_open(&bed, true, MAX_BODY);
    http_bed_send(&bed, text.data, text.len, 1000);
    assert_true(udpai_http_engine_is_in_head(bed.engine));
    text.len = 0;
    frames_put(&text, NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 1, (udpai_str){0});
    http_bed_send(&bed, text.data, text.len, 1000);
    assert_false(udpai_http_engine_is_in_head(bed.engine));
    assert_int_equal(bed.n_requests, 1);
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

static void
what_is_no_http2_is_broken(void **state)
{
    (void)state;
    static http_bed bed;
    http_bed_open(&bed, true, MAX_BODY);
    http_bed_send(&bed, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 24, 5);
    assert_true(udpai_http_engine_is_broken(bed.engine));
    assert_false(udpai_http_engine_may_read(bed.engine));
    http_bed_close(&bed);
}

/* ---- without memory ---- */

static void *
begin_torture(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    (void)head;
    udpai_http_call_reply(call, 304, NULL);
    return userdata;
}

static void
over_torture(void *request, bool is_answered)
{
    (void)is_answered;
    ++*(int *)request;
}

static udpa_err
talk(void *context)
{
    static const udpai_http_events events = {.begin = begin_torture, .over = over_torture};
    int n_over = 0;
    const udpai_http_engine_options options = {
        .events = &events, .userdata = &n_over, .max_body_bytes = MAX_BODY};
    udpai_http_engine *engine = udpai_http2_new(&options);
    udpai_strbuf out = {0};
    if (!engine)
        return UDPA_ERR_NOMEM;
    udpai_http_engine_take(engine, udpai_strbuf_view(context), 0);
    udpai_http_engine_give(engine, &out, 100000);
    udpa_err err = n_over < 3 || udpai_strbuf_failed(&out) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_http_engine_free(engine);
    udpai_strbuf_done(&out);
    return err;
}

static void
lack_of_memory_breaks_the_connection_alone(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    static http_bed bed;
    frames_put_begin(&text);
    for (uint32_t id = 1; id < 7; id += 2)
        put_request(&text, id);
    assert_true(oom_torture(talk, &text) > 10);
    http_bed_open(&bed, true, MAX_BODY);
    bed.without_memory = true;
    http_bed_send(&bed, text.data, text.len, 10000);
    assert_true(udpai_http_engine_is_broken(bed.engine));
    http_bed_close(&bed);
    udpai_strbuf_done(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rapid_resets_are_cut_off),
        cmocka_unit_test(answers_among_rapid_resets_change_little),
        cmocka_unit_test(who_abandons_less_than_are_answered_may_go_on),
        cmocka_unit_test(streams_beyond_the_limit_are_cut_off),
        cmocka_unit_test(floods_are_cut_off),
        cmocka_unit_test(empty_pieces_of_a_body_are_cut_off),
        cmocka_unit_test(pings_now_and_then_are_answered),
        cmocka_unit_test(heads_without_an_end_are_cut_off),
        cmocka_unit_test(a_head_on_its_way_is_known),
        cmocka_unit_test(what_is_no_http2_is_broken),
        cmocka_unit_test(lack_of_memory_breaks_the_connection_alone),
    };
    return cmocka_run_group_tests_name("http2_hostile", tests, NULL, NULL);
}
