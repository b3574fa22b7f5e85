/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of HTTP/1.1: the end of the body, incomplete ones, and invalid ones. */
#include "tools/conform/http_answer.h"

#include "tests/harness/test.h"

static udpai_http_answer answer;
static udpai_strbuf body;

static udpai_http_state
read_text(const char *text, bool is_over)
{
    body.len = 0;
    return udpai_http_answer_read(udpai_str_from(text), is_over, &answer, &body, NULL);
}

static void
expect_whole(const char *text, bool is_over, int status, const char *content, const char *rest)
{
    assert_int_equal(read_text(text, is_over), UDPAI_HTTP_WHOLE);
    assert_int_equal(answer.status, status);
    assert_str(udpai_strbuf_view(&body), content);
    assert_string_equal(text + answer.size, rest);
    udpai_strbuf_done(&body);
}

static void
a_body_ends_as_its_head_says(void **state)
{
    (void)state;
    expect_whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-type:  a/b \r\n\r\nhiHTTP", false,
                 200, "hi", "HTTP");
    assert_true(answer.is_kept);
    assert_str(answer.content_type, "a/b");
    expect_whole("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=y\r\ni\r\n0\r\n"
                 "\r\nmore",
                 false, 200, "hi", "more");
    expect_whole("HTTP/1.1 400 Bad\r\nconnection: close\r\n\r\nuntil the end", true, 400,
                 "until the end", "");
    assert_false(answer.is_kept);
    expect_whole("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false, 200, "", "");
    assert_false(answer.is_kept);
}

/* What follows that has no body is the next response. */
static void
some_have_no_body(void **state)
{
    (void)state;
    expect_whole("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\nHTTP/", false, 304, "",
                 "HTTP/");
    expect_whole("HTTP/1.1 204 \r\n\r\n", false, 204, "", "");
    expect_whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
                 false, 200, "x", "");
}

static void
what_is_not_all_there_is_waited_for(void **state)
{
    static const char *const texts[] = {
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n",
    };
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        assert_int_equal(read_text(texts[i], false), UDPAI_HTTP_PARTIAL);
        assert_int_equal(read_text(texts[i], true), UDPAI_HTTP_BROKEN);
    }
    assert_int_equal(read_text("HTTP/1.1 200 OK\r\n\r\nhi", false), UDPAI_HTTP_PARTIAL);
}

static void
what_is_no_response_is_said_so(void **state)
{
    static const char *const texts[] = {
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\n",
        "\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        if (read_text(texts[i], false) != UDPAI_HTTP_BROKEN)
            fail_msg("'%s' is taken for a response", texts[i]);
    char *long_head = malloc(UDPAI_HTTP_HEAD_MAX + 2);
    memset(long_head, 'x', UDPAI_HTTP_HEAD_MAX + 1);
    long_head[UDPAI_HTTP_HEAD_MAX + 1] = '\0';
    assert_int_equal(read_text(long_head, false), UDPAI_HTTP_BROKEN);
    free(long_head);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_ends_as_its_head_says),
        cmocka_unit_test(some_have_no_body),
        cmocka_unit_test(what_is_not_all_there_is_waited_for),
        cmocka_unit_test(what_is_no_response_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
