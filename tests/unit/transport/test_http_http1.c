/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1: what is answered, in which order, and what is refused because two readers could read it
 * in two ways. Everything holds however the bytes are cut. */
#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/unit/transport/http_bed.h"

#define MAX_BODY 100
#define HOST "host: x\r\n"

static const size_t steps[] = {1, 2, 3, 7, 50, 16384};

static size_t
count(const http_bed *bed, const char *words)
{
    size_t n = 0;
    for (const char *at = bed->out.data; at && (at = strstr(at, words)); at++)
        n++;
    return n;
}

static void
check_answer(const char *text, const char *const *words, bool closes)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(steps); i++) {
        http_bed bed;
        http_bed_open(&bed, false, MAX_BODY);
        http_bed_send(&bed, text, strlen(text), steps[i]);
        const char *at = bed.out.data;
        for (const char *const *word = words; *word; word++) {
            const char *found = at ? strstr(at, *word) : NULL;
            if (!found)
                fail_msg("'%s' is not in '%s'", *word, at);
            at = found + strlen(*word);
        }
        assert_int_equal(udpai_http_engine_is_over(bed.engine), closes);
        assert_false(udpai_http_engine_is_broken(bed.engine));
        http_bed_close(&bed);
    }
}

#define STAYS(text, ...) check_answer(text, (const char *const[]){__VA_ARGS__, NULL}, false)
#define CLOSES(text, ...) check_answer(text, (const char *const[]){__VA_ARGS__, NULL}, true)

static void
requests_are_answered(void **state)
{
    (void)state;
    STAYS("POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi", "HTTP/1.1 200 OK\r\n",
          "content-type: application/json\r\n", "content-length: 5\r\n", "\r\n/a hi");
    STAYS("GET /a?b=c HTTP/1.1\r\n" HOST "\r\n", "200 OK", "\r\n/a ");
    STAYS("\r\nGET /%41%2fb HTTP/1.1\r\n" HOST "\r\n", "\r\n/A/b ");
    STAYS("GET http://x/a HTTP/1.1\r\n" HOST "\r\n", "\r\n/a ");
    STAYS("GET http://x HTTP/1.1\r\n" HOST "\r\n", "\r\n/ ");
    STAYS("POST /c HTTP/1.1\r\n" HOST "transfer-encoding: Chunked\r\n\r\n2;x\r\nhi\r\n0\r\nt: "
          "u\r\n\r\n",
          "\r\n/c hi");
    CLOSES("GET /a HTTP/1.1\r\n" HOST "connection: x, Close\r\n\r\n", "200",
           "connection: close\r\n\r\n/a ");
    CLOSES("GET /a HTTP/1.0\r\n\r\n", "200", "connection: close\r\n");
}

static void
a_head_alone_has_no_text(void **state)
{
    (void)state;
    http_bed bed;
    static const char text[] = "HEAD /a HTTP/1.1\r\n" HOST "\r\nGET /b HTTP/1.1\r\n" HOST "\r\n";
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, text, strlen(text), 1000);
    assert_int_equal(count(&bed, "content-length: 3\r\n"), 2);
    assert_int_equal(count(&bed, "\r\n\r\nHTTP/1.1 200"), 1);
    assert_int_equal(count(&bed, "/a "), 0);
    assert_int_equal(count(&bed, "/b "), 1);
    http_bed_close(&bed);
}

static void
nothing_changed_has_no_content(void **state)
{
    (void)state;
    http_bed bed;
    static const char text[] = "GET /hold HTTP/1.1\r\n" HOST "\r\n";
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, text, strlen(text), 1000);
    assert_int_equal(bed.out.len, 0);
    http_bed_reply(&bed.requests[0], 304, NULL);
    http_bed_give(&bed);
    assert_int_equal(count(&bed, "HTTP/1.1 304 Not Modified\r\n"), 1);
    assert_int_equal(count(&bed, "content-"), 0);
    assert_true(bed.requests[0].is_answered);
    http_bed_close(&bed);
}

/* ---- several on one connection ---- */

static void
requests_that_come_together_are_answered_in_order(void **state)
{
    (void)state;
    static const char text[] = "GET /hold1 HTTP/1.1\r\n" HOST "\r\n"
                               "POST /b HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\n\r\n"
                               "1\r\nx\r\n0\r\n\r\n"
                               "GET /hold2 HTTP/1.1\r\n" HOST "\r\n"
                               "GET /d HTTP/1.1\r\n" HOST "\r\n";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, text, strlen(text), sizeof(text));
    assert_int_equal(bed.n_requests, 1);
    assert_false(udpai_http_engine_may_read(bed.engine));
    http_bed_reply(&bed.requests[0], 200, "first");
    http_bed_give(&bed);
    assert_int_equal(bed.n_requests, 3);
    assert_int_equal(count(&bed, "200 OK"), 2);
    http_bed_reply(&bed.requests[2], 200, "third");
    http_bed_give(&bed);
    const char *first = strstr(bed.out.data, "first"), *b = strstr(bed.out.data, "/b x");
    const char *third = strstr(bed.out.data, "third"), *d = strstr(bed.out.data, "/d ");
    assert_true(first && b && third && d && first < b && b < third && third < d);
    assert_true(udpai_http_engine_may_read(bed.engine));
    http_bed_close(&bed);
}

static void
no_more_is_read_than_one_piece_behind_a_held_request(void **state)
{
    (void)state;
    static const char held[] = "GET /hold HTTP/1.1\r\n" HOST "\r\n";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, held, strlen(held), 100);
    assert_true(udpai_http_engine_may_read(bed.engine));
    http_bed_send(&bed, held, strlen(held), 10);
    assert_false(udpai_http_engine_may_read(bed.engine));
    assert_int_equal(bed.n_requests, 1);
    http_bed_close(&bed);
}

static void
a_long_answer_goes_out_piece_by_piece(void **state)
{
    (void)state;
    static char text[100000];
    static const char asked[] = "GET /a HTTP/1.1\r\n" HOST "\r\n";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    memset(text, 'x', sizeof(text));
    assert_ok(udpa_bytes_new(&bed.answer, text, sizeof(text)));
    udpai_http_engine_take(bed.engine, UDPAI_STR(asked), 0);
    udpai_strbuf piece = {0};
    udpai_http_engine_give(bed.engine, &piece, 1000);
    assert_int_equal(piece.len, 1000);
    assert_int_equal(bed.n_over, 0);
    udpai_strbuf_done(&piece);
    http_bed_give(&bed);
    assert_int_equal(bed.n_over, 1);
    assert_true(bed.requests[0].n_progress > 90);
    http_bed_close(&bed);
}

/* ---- expectations ---- */

static void
who_waits_for_it_is_told_to_go_on(void **state)
{
    (void)state;
    static const char head[] =
        "POST /a HTTP/1.1\r\n" HOST "expect: 100-Continue\r\ncontent-length: 2\r\n\r\n";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, head, strlen(head), 100);
    assert_str(udpai_strbuf_view(&bed.out), "HTTP/1.1 100 Continue\r\n\r\n");
    http_bed_send(&bed, "hi", 2, 1);
    assert_int_equal(count(&bed, "HTTP/1.1 "), 2);
    assert_int_equal(count(&bed, "/a hi"), 1);
    http_bed_close(&bed);
    http_bed_open(&bed, false, MAX_BODY);
    bed.refuses = true;
    http_bed_send(&bed, head, strlen(head), 100);
    assert_int_equal(count(&bed, "100 Continue"), 0);
    assert_int_equal(count(&bed, "HTTP/1.1 404 "), 1);
    assert_true(udpai_http_engine_is_over(bed.engine));
    http_bed_close(&bed);
    CLOSES("POST /a HTTP/1.1\r\n" HOST "expect: more\r\n\r\n", " 417 ", "'more'");
}

/* ---- what is refused ---- */

static void
what_can_be_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "POST /a HTTP/1.1\r\n" HOST "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length: 5\r\ncontent-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length: 5, 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length: +5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length: 0x5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length:\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-length : 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST " content-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "x: y\r\n content-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "x: y\rcontent-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "x: y\ncontent-length: 5\r\n\r\n",
        "POST /a HTTP/1.1\n" HOST "\r\n",
        "POST /a HTTP/1.1\r\n" HOST "\n",
        "POST /a HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n",
        "POST /a  HTTP/1.1\r\n" HOST "\r\n",
        "POST  /a HTTP/1.1\r\n" HOST "\r\n",
        " POST /a HTTP/1.1\r\n" HOST "\r\n",
        "POST /a HTTP/1.1 \r\n" HOST "\r\n",
        "POST\t/a HTTP/1.1\r\n" HOST "\r\n",
        "POST /a HTTP/1.1\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST HOST "\r\n",
        "POST /a HTTP/1.1\r\n" HOST "no colon\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST ": nameless\r\n\r\n",
        "POST /a HTTP/1.1\r\n" HOST "content-type: a\r\ncontent-type: b\r\n\r\n",
        "POST /%zz HTTP/1.1\r\n" HOST "\r\n",
        "POST /%0 HTTP/1.1\r\n" HOST "\r\n",
        "POST /%00 HTTP/1.1\r\n" HOST "\r\n",
        "POST a HTTP/1.1\r\n" HOST "\r\n",
        "POST /a\r\n" HOST "\r\n",
        "CONNECT x:1 HTTP/1.1\r\n" HOST "\r\n",
        "{\"node\": {}}\r\n\r\n",
        "\x16\x03\x01\x02\r\n",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(requests); i++)
        CLOSES(requests[i], "HTTP/1.1 400 Bad Request\r\n", "connection: close\r\n\r\n");
    CLOSES("POST /a HTTP/1.1\r\n" HOST "transfer-encoding: gzip, chunked\r\n\r\n", " 501 ");
    CLOSES("POST /a HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\ntransfer-encoding: "
           "chunked\r\n\r\n",
           " 501 ");
    CLOSES("POST /a HTTP/2.0\r\n" HOST "\r\n", " 505 ", "'HTTP/2.0'");
}

/* A zero byte ends no text here. */
static void
zero_bytes_are_no_text(void **state)
{
    (void)state;
    static const char text[] = "POST /a HTTP/1.1\r\n" HOST "content-length: 5\0006\r\n\r\nhello";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, text, sizeof(text) - 1, 5);
    assert_int_equal(count(&bed, "HTTP/1.1 400 "), 1);
    http_bed_close(&bed);
}

static void
what_follows_a_refusal_is_not_read(void **state)
{
    (void)state;
    static const char text[] = "POST /a HTTP/1.1\r\n" HOST "content-length: 5\r\ncontent-length: "
                               "6\r\n\r\nGET /smuggled HTTP/1.1\r\n" HOST "\r\n";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(steps); i++) {
        http_bed bed;
        http_bed_open(&bed, false, MAX_BODY);
        http_bed_send(&bed, text, strlen(text), steps[i]);
        assert_int_equal(bed.n_requests, 1);
        assert_int_equal(count(&bed, "smuggled"), 0);
        http_bed_close(&bed);
    }
}

static void
an_early_answer_ends_the_connection(void **state)
{
    (void)state;
    static const char text[] = "POST /a HTTP/1.1\r\n" HOST "content-length: 28\r\n\r\n"
                               "GET /b HTTP/1.1\r\n" HOST "\r\n";
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(steps); i++) {
        http_bed bed;
        http_bed_open(&bed, false, MAX_BODY);
        bed.refuses = true;
        http_bed_send(&bed, text, strlen(text), steps[i]);
        assert_int_equal(bed.n_requests, 1);
        assert_true(udpai_http_engine_is_over(bed.engine));
        http_bed_close(&bed);
    }
}

static void
a_body_that_nothing_is_said_of_ends_the_connection(void **state)
{
    (void)state;
    CLOSES("POST /a HTTP/1.1\r\n" HOST "\r\n{}", "connection: close\r\n");
}

/* A head of so many bytes or fields. */
static void
check_large_head(size_t n_fields, size_t value_bytes, bool has_end, bool is_good)
{
    for (size_t i = 1; i < UDPAI_ARRAY_LEN(steps); i++) {
        udpai_strbuf text = {0};
        http_bed bed;
        udpai_strbuf_puts(&text, "GET /a HTTP/1.1\r\n" HOST);
        for (size_t field = 0; field < n_fields; field++)
            udpai_strbuf_printf(&text, "x: %0*d%s", (int)value_bytes, 0, has_end ? "\r\n" : "");
        if (has_end)
            udpai_strbuf_puts(&text, "\r\n");
        http_bed_open(&bed, false, MAX_BODY);
        http_bed_send(&bed, text.data, text.len, steps[i]);
        assert_int_equal(count(&bed, is_good ? " 200 " : " 431 "), 1);
        assert_int_equal(udpai_http_engine_is_over(bed.engine), !is_good);
        http_bed_close(&bed);
        udpai_strbuf_done(&text);
    }
}

static void
heads_are_limited(void **state)
{
    (void)state;
    char path[UDPAI_HTTP_PATH_MAX + 100], value[UDPAI_HTTP_VALUE_MAX + 200];
    check_large_head(90, 1, true, true);
    check_large_head(110, 1, true, false);
    check_large_head(7, 1000, true, true);
    check_large_head(9, 1000, true, false);
    check_large_head(1, 20000, true, false);
    check_large_head(1, 20000, false, false);
    (void)snprintf(path, sizeof(path), "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", UDPAI_HTTP_PATH_MAX,
                   0);
    CLOSES(path, " 414 ");
    (void)snprintf(value, sizeof(value), "GET /a HTTP/1.1\r\n" HOST "content-type: %0*d\r\n\r\n",
                   UDPAI_HTTP_VALUE_MAX, 0);
    CLOSES(value, " 431 ");
    (void)snprintf(value, sizeof(value), "GET /a HTTP/1.1\r\n" HOST "prefer: %0*d\r\n\r\n",
                   UDPAI_HTTP_VALUE_MAX, 0);
    STAYS(value, " 200 ");
}

static void
put_body(udpai_strbuf *text, size_t size, bool in_chunks)
{
    udpai_strbuf_puts(text, "POST /a HTTP/1.1\r\n" HOST);
    if (in_chunks)
        udpai_strbuf_printf(text, "transfer-encoding: chunked\r\n\r\n%zx\r\n%0*d\r\n0\r\n\r\n",
                            size, (int)size, 0);
    else
        udpai_strbuf_printf(text, "content-length: %zu\r\n\r\n%0*d", size, (int)size, 0);
}

static void
check_body_of(size_t size, bool is_good)
{
    for (size_t i = 0; i < 2 * UDPAI_ARRAY_LEN(steps); i++) {
        udpai_strbuf text = {0};
        http_bed bed;
        put_body(&text, size, i % 2);
        http_bed_open(&bed, false, MAX_BODY);
        http_bed_send(&bed, text.data, text.len, steps[i / 2]);
        assert_int_equal(count(&bed, is_good ? " 200 " : " 413 "), 1);
        if (is_good) /* the path, a space, and the body */
            assert_int_equal(count(&bed, "content-length: 103\r\n\r\n/a 000"), 1);
        http_bed_close(&bed);
        udpai_strbuf_done(&text);
    }
}

static void
bodies_are_limited(void **state)
{
    (void)state;
    check_body_of(MAX_BODY, true);
    check_body_of(MAX_BODY + 1, false);
    CLOSES("POST /a HTTP/1.1\r\n" HOST "content-length: 101\r\n\r\nx", " 413 ", "max_body_bytes");
    CLOSES("POST /a HTTP/1.1\r\n" HOST "content-length: 99999999999999999999999\r\n\r\nx", " 413 ");
    CLOSES("POST /a HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\n\r\n65\r\nx", " 413 ");
    CLOSES("POST /a HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\n\r\nx\r\n", " 400 ",
           "chunks");
}

/* ---- the end ---- */

static void
a_shut_down_waits_for_the_answer(void **state)
{
    (void)state;
    static const char held[] = "GET /hold HTTP/1.1\r\n" HOST "\r\n";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, held, strlen(held), 100);
    udpai_http_engine_shut_down(bed.engine);
    assert_false(udpai_http_engine_is_over(bed.engine));
    http_bed_reply(&bed.requests[0], 503, "ending");
    http_bed_give(&bed);
    assert_int_equal(count(&bed, "connection: close\r\n\r\nending"), 1);
    assert_int_equal(count(&bed, "retry-after: 1\r\n"), 1);
    assert_true(udpai_http_engine_is_over(bed.engine));
    http_bed_close(&bed);
    http_bed_open(&bed, false, MAX_BODY);
    udpai_http_engine_shut_down(bed.engine);
    assert_true(udpai_http_engine_is_over(bed.engine));
    http_bed_close(&bed);
}

static void
a_call_that_is_held_is_over_when_its_connection_goes(void **state)
{
    (void)state;
    static const char held[] = "GET /hold HTTP/1.1\r\n" HOST "\r\nGET /";
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    http_bed_send(&bed, held, strlen(held), 100);
    http_bed_close(&bed);
    assert_int_equal(bed.n_over, 1);
    assert_false(bed.requests[0].is_answered);
}

static void
a_head_on_its_way_is_known(void **state)
{
    (void)state;
    http_bed bed;
    http_bed_open(&bed, false, MAX_BODY);
    assert_false(udpai_http_engine_is_in_head(bed.engine));
    http_bed_send(&bed, "GET /a", 6, 1);
    assert_true(udpai_http_engine_is_in_head(bed.engine));
    assert_int_equal(udpai_http_engine_n_heads(bed.engine), 1);
    http_bed_send(&bed, " HTTP/1.1\r\n" HOST "\r\n", 22, 20);
    assert_false(udpai_http_engine_is_in_head(bed.engine));
    http_bed_close(&bed);
}

/* ---- without memory ---- */

static void *
begin_torture(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    udpai_http_call **waiting = userdata;
    *waiting = call;
    assert_int_equal(head->wrong, 0);
    return waiting;
}

static void
complete_torture(void *request, udpai_strbuf *body)
{
    (void)request;
    udpai_strbuf_done(body);
}

static void
over_torture(void *request, bool is_answered)
{
    (void)is_answered;
    *(udpai_http_call **)request = NULL;
}

static udpa_err
talk(void *context)
{
    static const udpai_http_events events = {
        .begin = begin_torture, .complete = complete_torture, .over = over_torture};
    static const char text[] = "POST /a HTTP/1.1\r\n" HOST "content-length: 2\r\n\r\nhi"
                               "POST /b HTTP/1.1\r\n" HOST "transfer-encoding: chunked\r\n\r\n"
                               "1\r\nx\r\n0\r\n\r\nGET /c HTTP/1.1\r\n" HOST "\r\n";
    udpai_http_call *waiting = NULL;
    const udpai_http_engine_options options = {
        .events = &events, .userdata = &waiting, .max_body_bytes = MAX_BODY};
    udpai_http_engine *engine = udpai_http1_new(&options);
    udpai_strbuf out = {0};
    (void)context;
    if (!engine)
        return UDPA_ERR_NOMEM;
    udpai_http_engine_take(engine, UDPAI_STR(text), 0);
    while (waiting && !udpai_http_engine_is_broken(engine)) {
        udpai_http_call_reply(waiting, 304, NULL);
        udpai_http_engine_give(engine, &out, 10000);
    }
    udpa_err err = udpai_http_engine_is_broken(engine) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_http_engine_free(engine);
    udpai_strbuf_done(&out);
    return err;
}

static void
lack_of_memory_breaks_the_connection_alone(void **state)
{
    (void)state;
    http_bed bed;
    static const char text[] = "GET /a HTTP/1.1\r\n" HOST "\r\n";
    assert_true(oom_torture(talk, NULL) > 3);
    http_bed_open(&bed, false, MAX_BODY);
    bed.without_memory = true;
    http_bed_send(&bed, text, strlen(text), 100);
    assert_true(udpai_http_engine_is_broken(bed.engine));
    http_bed_close(&bed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(a_head_alone_has_no_text),
        cmocka_unit_test(nothing_changed_has_no_content),
        cmocka_unit_test(requests_that_come_together_are_answered_in_order),
        cmocka_unit_test(no_more_is_read_than_one_piece_behind_a_held_request),
        cmocka_unit_test(a_long_answer_goes_out_piece_by_piece),
        cmocka_unit_test(who_waits_for_it_is_told_to_go_on),
        cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
        cmocka_unit_test(zero_bytes_are_no_text),
        cmocka_unit_test(what_follows_a_refusal_is_not_read),
        cmocka_unit_test(an_early_answer_ends_the_connection),
        cmocka_unit_test(a_body_that_nothing_is_said_of_ends_the_connection),
        cmocka_unit_test(heads_are_limited),
        cmocka_unit_test(bodies_are_limited),
        cmocka_unit_test(a_shut_down_waits_for_the_answer),
        cmocka_unit_test(a_call_that_is_held_is_over_when_its_connection_goes),
        cmocka_unit_test(a_head_on_its_way_is_known),
        cmocka_unit_test(lack_of_memory_breaks_the_connection_alone),
    };
    return cmocka_run_group_tests_name("http1", tests, NULL, NULL);
}
