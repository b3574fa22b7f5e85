/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/http_answer.h"

#include <strings.h>

#include "transport/http/chunked.h"

typedef struct head {
    udpai_http_answer answer;
    bool has_length, is_chunked, has_body;
    size_t length;
} head;

static udpai_http_state
broken(udpa_error **ret_error, const char *why)
{
    (void)udpai_fail(ret_error, UDPA_ERR_MALFORMED, "this is no response of HTTP/1.1: %s", why);
    return UDPAI_HTTP_BROKEN;
}

/* ---- the head ---- */

/* Up to and with the empty line; 0: it has not come. */
static size_t
head_size(udpai_str bytes)
{
    const char *end = bytes.len ? memmem(bytes.data, bytes.len, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - bytes.data) + 4 : 0;
}

static bool
take_line(udpai_str *rest, udpai_str *ret_line)
{
    const char *end = rest->len ? memmem(rest->data, rest->len, "\r\n", 2) : NULL;
    if (!end || end == rest->data)
        return false;
    size_t len = (size_t)(end - rest->data);
    *ret_line = (udpai_str){rest->data, len};
    *rest = (udpai_str){rest->data + len + 2, rest->len - len - 2};
    return true;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
read_status(udpai_str line, head *to)
{
    if (line.len < 12 || memcmp(line.data, "HTTP/1.", 7) != 0 || !is_digit(line.data[7]) ||
        line.data[8] != ' ' || (line.len > 12 && line.data[12] != ' '))
        return false;
    for (size_t i = 9; i < 12; i++) {
        if (!is_digit(line.data[i]))
            return false;
        to->answer.status = to->answer.status * 10 + (line.data[i] - '0');
    }
    to->answer.is_kept = line.data[7] != '0';
    return to->answer.status >= 100;
}

/* The value of a header of this name, without space around it. */
static bool
has_name(udpai_str line, const char *name, udpai_str *ret_value)
{
    size_t len = strlen(name);
    if (line.len <= len || line.data[len] != ':' || strncasecmp(line.data, name, len) != 0)
        return false;
    udpai_str value = {line.data + len + 1, line.len - len - 1};
    while (value.len && strchr(" \t", *value.data))
        value = (udpai_str){value.data + 1, value.len - 1};
    while (value.len && strchr(" \t", value.data[value.len - 1]))
        value.len--;
    *ret_value = value;
    return true;
}

static bool
read_length(udpai_str value, head *to)
{
    to->length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.data[i]) || to->length > UDPAI_HTTP_BODY_MAX)
            return false;
        to->length = to->length * 10 + (size_t)(value.data[i] - '0');
    }
    to->has_length = value.len > 0;
    return to->has_length;
}

static bool
is_word(udpai_str value, const char *word)
{
    return value.len == strlen(word) && strncasecmp(value.data, word, value.len) == 0;
}

static bool
read_header(udpai_str line, head *to)
{
    udpai_str value;
    if (has_name(line, "content-length", &value))
        return read_length(value, to);
    if (has_name(line, "content-type", &value))
        to->answer.content_type = value;
    else if (has_name(line, "transfer-encoding", &value))
        to->is_chunked = is_word(value, "chunked");
    else if (has_name(line, "connection", &value) && is_word(value, "close"))
        to->answer.is_kept = false;
    return memchr(line.data, ':', line.len) != NULL;
}

static bool
read_head(udpai_str text, head *to)
{
    udpai_str line;
    *to = (head){.answer.content_type = {"", 0}};
    if (!take_line(&text, &line) || !read_status(line, to))
        return false;
    while (take_line(&text, &line))
        if (!read_header(line, to))
            return false;
    to->has_body = to->answer.status >= 200 && to->answer.status != 204 && to->answer.status != 304;
    return true;
}

/* ---- the body ---- */

static udpai_http_state
read_chunks(udpai_str rest, head *of, udpai_strbuf *body, udpa_error **ret_error)
{
    udpai_chunked chunked = {0};
    udpai_strbuf taken = {0};
    udpai_http_state state = UDPAI_HTTP_PARTIAL;
    size_t at = 0;
    /* Byte by byte near the end, to know where it ends; bodies here are small. */
    while (at < rest.len && state == UDPAI_HTTP_PARTIAL) {
        udpai_str piece = {rest.data + at++, 1};
        if (udpai_chunked_take(&chunked, piece, UDPAI_HTTP_BODY_MAX, &taken, ret_error) != UDPA_OK)
            state = UDPAI_HTTP_BROKEN;
        else if (udpai_chunked_is_done(&chunked))
            state = UDPAI_HTTP_WHOLE;
    }
    if (state == UDPAI_HTTP_WHOLE)
        udpai_strbuf_str(body, udpai_strbuf_view(&taken));
    udpai_strbuf_done(&taken);
    of->answer.size += at;
    return state;
}

static udpai_http_state
read_body(udpai_str rest, bool is_over, head *of, udpai_strbuf *body, udpa_error **ret_error)
{
    if (!of->has_body)
        return UDPAI_HTTP_WHOLE;
    if (of->is_chunked)
        return read_chunks(rest, of, body, ret_error);
    size_t length = of->has_length ? of->length : rest.len;
    if (length > UDPAI_HTTP_BODY_MAX)
        return broken(ret_error, "its body is too long");
    if (length > rest.len || (!of->has_length && !is_over))
        return UDPAI_HTTP_PARTIAL;
    of->answer.is_kept = of->answer.is_kept && of->has_length;
    of->answer.size += length;
    udpai_strbuf_str(body, (udpai_str){rest.data, length});
    return UDPAI_HTTP_WHOLE;
}

udpai_http_state
udpai_http_answer_read(udpai_str bytes,
                       bool is_over,
                       udpai_http_answer *ret_answer,
                       udpai_strbuf *body,
                       udpa_error **ret_error)
{
    size_t at = 0;
    head of = {0};
    do {
        udpai_str rest = {bytes.data + at, bytes.len - at};
        size_t size = head_size(rest);
        if (!size && rest.len > UDPAI_HTTP_HEAD_MAX)
            return broken(ret_error, "its headers are too long");
        if (!size && !is_over)
            return UDPAI_HTTP_PARTIAL;
        if (!size)
            return broken(ret_error, "the connection ended within its headers");
        if (!read_head((udpai_str){rest.data, size}, &of))
            return broken(ret_error, "its headers cannot be read");
        at += size;
    } while (of.answer.status < 200);
    of.answer.size = at;
    udpai_http_state state =
        read_body((udpai_str){bytes.data + at, bytes.len - at}, is_over, &of, body, ret_error);
    if (state == UDPAI_HTTP_PARTIAL && is_over)
        return broken(ret_error, "the connection ended within its body");
    if (state == UDPAI_HTTP_WHOLE)
        *ret_answer = of.answer;
    return state;
}
