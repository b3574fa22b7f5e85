/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies in chunks: the same comes out however the bytes are cut. */
#include "transport/http/chunked.h"

#include <stdio.h>

#include "tests/harness/test.h"

#define MAX 100

/* In pieces of this size; the code of the first mistake. */
static udpa_err
feed(const char *text, size_t size, size_t step, udpai_strbuf *body, udpa_error **ret_error)
{
    udpai_chunked chunked = {0};
    for (size_t at = 0; at < size; at += step) {
        udpai_str piece = {text + at, udpai_min_size(step, size - at)};
        udpa_err err = udpai_chunked_take(&chunked, piece, MAX, body, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    return udpai_chunked_is_done(&chunked) ? UDPA_OK : UDPA_ERR_UNAVAILABLE;
}

static void
check_body(const char *text, const char *expected)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        udpai_strbuf body = {0};
        assert_int_equal(feed(text, strlen(text), step, &body, NULL), UDPA_OK);
        assert_true(udpai_str_eq(udpai_strbuf_view(&body), udpai_str_from(expected)));
        udpai_strbuf_done(&body);
    }
}

static void
check_refused(const char *text, size_t size, udpa_err code, const char *words)
{
    for (size_t step = 1; step <= size; step++) {
        udpai_strbuf body = {0};
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        assert_int_equal(feed(text, size, step, &body, &error), code);
        if (!strstr(udpa_error_message(error), words))
            fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
        assert_true(body.len <= MAX);
        udpai_strbuf_done(&body);
    }
}

#define REFUSED(text, code, words) check_refused(text, sizeof(text) - 1, code, words)

static void
chunks_are_joined(void **state)
{
    (void)state;
    check_body("0\r\n\r\n", "");
    check_body("5\r\nhello\r\n0\r\n\r\n", "hello");
    check_body("5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n", "hello, world");
    check_body("00a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789");
    check_body("2\r\n\r\n\r\n0\r\n\r\n", "\r\n");
}

static void
extensions_and_trailers_are_passed_over(void **state)
{
    (void)state;
    check_body("2;a=b;c=\"d\"\r\nok\r\n0 ;x\r\nA: b\r\nC: d\r\n\r\n", "ok");
}

static void
what_is_behind_the_end_is_not_looked_at(void **state)
{
    (void)state;
    check_body("2\r\nok\r\n0\r\n\r\nPOST / HTTP/1.1\r\n", "ok");
}

static void
mistakes_are_told(void **state)
{
    (void)state;
    REFUSED("\r\nhello", UDPA_ERR_INVAL, "one has no size");
    REFUSED(";x\r\n", UDPA_ERR_INVAL, "one has no size");
    REFUSED("5x\r\n", UDPA_ERR_INVAL, "is no number");
    REFUSED("-5\r\n", UDPA_ERR_INVAL, "one has no size");
    REFUSED("0x5\r\n", UDPA_ERR_INVAL, "is no number");
    REFUSED("2\nok", UDPA_ERR_INVAL, "is no number");
    REFUSED("2\r\nokay\r\n", UDPA_ERR_INVAL, "longer than its length");
    REFUSED("2\r\nok\rx", UDPA_ERR_INVAL, "CR LF");
    REFUSED("2;\n", UDPA_ERR_INVAL, "CR LF");
    REFUSED("2;\0\r\n", UDPA_ERR_INVAL, "CR LF");
    REFUSED("0\r\na: b\n", UDPA_ERR_INVAL, "CR LF");
    REFUSED("00000000000000000\r\n", UDPA_ERR_INVAL, "too many digits");
}

static void
nothing_grows_beyond_its_limit(void **state)
{
    (void)state;
    static char line[UDPAI_CHUNK_LINE_MAX + 16], trailers[UDPAI_CHUNK_TRAILERS_MAX * 8 + 64];
    REFUSED("65\r\n", UDPA_ERR_LIMIT, "larger than 100 bytes");
    REFUSED("ffffffffffffffff\r\n", UDPA_ERR_LIMIT, "larger than 100 bytes");
    REFUSED("a\r\n0123456789\r\n5b\r\n", UDPA_ERR_LIMIT, "larger than 100 bytes");
    memset(line, 'x', sizeof(line));
    memcpy(line, "2;", 2);
    udpai_strbuf body = {0};
    assert_int_equal(feed(line, sizeof(line), 7, &body, NULL), UDPA_ERR_INVAL);
    size_t len = (size_t)snprintf(trailers, sizeof(trailers), "0\r\n");
    for (int i = 0; i <= UDPAI_CHUNK_TRAILERS_MAX; i++)
        len += (size_t)snprintf(trailers + len, sizeof(trailers) - len, "a: b\r\n");
    assert_int_equal(feed(trailers, len, 5, &body, NULL), UDPA_ERR_INVAL);
    udpai_strbuf_done(&body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_joined),
        cmocka_unit_test(extensions_and_trailers_are_passed_over),
        cmocka_unit_test(what_is_behind_the_end_is_not_looked_at),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(nothing_grows_beyond_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
