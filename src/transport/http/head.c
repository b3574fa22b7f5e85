/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/http/head.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELD_OVERHEAD 32 /* of each field: RFC 9113, 6.5.2 */

static udpa_err
error_of(unsigned status)
{
    if (status == 408)
        return UDPA_ERR_DEADLINE;
    if (status == 413 || status == 429)
        return UDPA_ERR_LIMIT;
    return status >= 500 ? UDPA_ERR_UNIMPLEMENTED : UDPA_ERR_INVAL;
}

void
udpai_http_head_fail(udpai_http_head *self, unsigned status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (self->wrong)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    self->wrong = status;
    (void)udpai_fail(&self->error, error_of(status), "%s", text);
}

/* ---- what it is made of ---- */

static bool
is_token_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool
udpai_http_is_token(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_token_byte((unsigned char)text.data[i]))
            return false;
    return text.len > 0;
}

void
udpai_http_head_method(udpai_http_head *self, udpai_str method)
{
    if (self->wrong)
        return;
    if (!udpai_http_is_token(method))
        udpai_http_head_fail(self, 400, "the request has no method");
    self->n_bytes += method.len;
    self->is_get = udpai_str_eq(method, UDPAI_STR("GET"));
    self->is_post = udpai_str_eq(method, UDPAI_STR("POST"));
    self->is_head = udpai_str_eq(method, UDPAI_STR("HEAD"));
}

/* What is behind "http://host", if that is how it begins (RFC 9112, 3.2.2). */
static udpai_str
without_host(udpai_str target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (target.len < len || strncasecmp(target.data, schemes[i], len) != 0)
            continue;
        const char *slash = memchr(target.data + len, '/', target.len - len);
        return slash ? (udpai_str){slash, target.len - (size_t)(slash - target.data)}
                     : UDPAI_STR("/");
    }
    return target;
}

/* The byte at this place, which may be written as %XX; -1: it is wrong. */
static int
read_byte(udpai_str target, size_t *at)
{
    unsigned char c = (unsigned char)target.data[(*at)++];
    if (c <= ' ' || c >= 0x7f)
        return -1;
    if (c != '%')
        return c;
    if (target.len - *at < 2)
        return -1;
    int high = udpai_hex_value(target.data[*at]), low = udpai_hex_value(target.data[*at + 1]);
    *at += 2;
    return high < 0 || low < 0 || high * 16 + low == 0 ? -1 : high * 16 + low;
}

static void
keep_query(udpai_http_head *self, udpai_str target)
{
    const char *mark = target.len ? memchr(target.data, '?', target.len) : NULL;
    size_t len = mark ? target.len - (size_t)(mark + 1 - target.data) : 0;
    self->query_len = udpai_min_size(len, sizeof(self->query));
    self->is_query_cut = len > self->query_len;
    if (self->query_len)
        memcpy(self->query, mark + 1, self->query_len);
}

void
udpai_http_head_target(udpai_http_head *self, udpai_str target)
{
    if (self->wrong)
        return;
    self->n_bytes += target.len;
    self->has_target = true;
    target = without_host(target);
    if (!udpai_str_starts(target, UDPAI_STR("/")) && !udpai_str_eq(target, UDPAI_STR("*"))) {
        udpai_http_head_fail(self, 400, "what is requested must begin with a '/'");
        return;
    }
    keep_query(self, target);
    for (size_t at = 0; at < target.len && target.data[at] != '?';) {
        int c = read_byte(target, &at);
        if (c < 0) {
            udpai_http_head_fail(self, 400, "the path of the request is malformed");
            return;
        }
        if (self->path_len + 1 == sizeof(self->path)) {
            udpai_http_head_fail(self, 414, "the path is longer than %zu bytes",
                                 sizeof(self->path) - 1);
            return;
        }
        self->path[self->path_len++] = (char)c;
    }
}

static udpai_http_field
find_field(udpai_str name)
{
    static const char *const names[UDPAI_HTTP_N_FIELDS] = {
        [UDPAI_HTTP_ACCEPT] = "accept",
        [UDPAI_HTTP_AUTHORIZATION] = "authorization",
        [UDPAI_HTTP_CONNECTION] = "connection",
        [UDPAI_HTTP_CONTENT_ENCODING] = "content-encoding",
        [UDPAI_HTTP_CONTENT_LENGTH] = "content-length",
        [UDPAI_HTTP_CONTENT_TYPE] = "content-type",
        [UDPAI_HTTP_EXPECT] = "expect",
        [UDPAI_HTTP_HOST] = "host",
        [UDPAI_HTTP_LAST_EVENT_ID] = "last-event-id",
        [UDPAI_HTTP_ORIGIN] = "origin",
        [UDPAI_HTTP_PREFER] = "prefer",
        [UDPAI_HTTP_SITE] = "sec-fetch-site",
        [UDPAI_HTTP_TIMEOUT] = "x-envoy-expected-rq-timeout-ms",
        [UDPAI_HTTP_TRANSFER_ENCODING] = "transfer-encoding",
    };
    unsigned i = 0;
    while (i < UDPAI_HTTP_N_FIELDS &&
           (strlen(names[i]) != name.len || strncasecmp(names[i], name.data, name.len) != 0))
        i++;
    return (udpai_http_field)i;
}

/* A header that sets how long to wait, or what is preferred, is advice, and left out if it is too
 * long. So are credentials: no token of ours is as long, and discovery uses none. */
static bool
is_advice(udpai_http_field field)
{
    return field == UDPAI_HTTP_ACCEPT || field == UDPAI_HTTP_AUTHORIZATION ||
           field == UDPAI_HTTP_LAST_EVENT_ID || field == UDPAI_HTTP_PREFER ||
           field == UDPAI_HTTP_TIMEOUT;
}

static void
keep(udpai_http_head *self, udpai_http_field field, udpai_str value)
{
    char *kept = self->values[field];
    size_t len = strlen(kept), joint = self->n_seen[field]++ && len ? 2 : 0;
    if (memchr(value.len ? value.data : "", '\0', value.len)) {
        udpai_http_head_fail(self, 400, "a header of the request holds a zero byte");
    } else if (len + joint + value.len >= UDPAI_HTTP_VALUE_MAX) {
        if (!is_advice(field))
            udpai_http_head_fail(self, 431, "a header of the request is longer than can be meant");
    } else if (value.len) {
        memcpy(kept + len, ", ", joint);
        memcpy(kept + len + joint, value.data, value.len);
    }
}

/* HTTP/2 has :authority, beside which the same may be there as host (RFC 9113, 8.3.1). */
static bool
is_repeated(const udpai_http_head *self, udpai_http_field field, udpai_str value)
{
    return self->is_second && field == UDPAI_HTTP_HOST && self->n_seen[field] == 1 &&
           udpai_str_eq(udpai_str_from(self->values[field]), value);
}

void
udpai_http_head_field(udpai_http_head *self, udpai_str name, udpai_str value)
{
    if (self->wrong)
        return;
    self->n_bytes += name.len + value.len + FIELD_OVERHEAD;
    if (self->n_bytes > UDPAI_HTTP_HEAD_MAX || ++self->n_fields > UDPAI_HTTP_FIELDS_MAX) {
        udpai_http_head_fail(self, 431,
                             "the headers of the request are more than %d, or larger than %d bytes",
                             UDPAI_HTTP_FIELDS_MAX, UDPAI_HTTP_HEAD_MAX);
        return;
    }
    udpai_http_field field = find_field(name);
    if (field != UDPAI_HTTP_N_FIELDS && !is_repeated(self, field, value))
        keep(self, field, value);
}

const char *
udpai_http_head_value(const udpai_http_head *self, udpai_http_field field)
{
    return self->values[field];
}

void
udpai_http_head_second(udpai_http_head *self, udpai_str name, udpai_str value)
{
    if (udpai_str_eq(name, UDPAI_STR(":method")))
        udpai_http_head_method(self, value);
    else if (udpai_str_eq(name, UDPAI_STR(":path")))
        udpai_http_head_target(self, value);
    else if (udpai_str_eq(name, UDPAI_STR(":authority")))
        udpai_http_head_field(self, UDPAI_STR("host"), value);
    else
        udpai_http_head_field(self, name, value);
}

/* ---- what it means ---- */

static bool
has(const udpai_http_head *self, udpai_http_field field)
{
    return self->n_seen[field] > 0;
}

static void
read_length(udpai_http_head *self)
{
    const char *length = udpai_http_head_value(self, UDPAI_HTTP_CONTENT_LENGTH);
    if (!*length || strspn(length, "0123456789") != strlen(length)) {
        udpai_http_head_fail(self, 400, "content-length must be a number, and is '%.100s'", length);
        return;
    }
    self->length = strlen(length) > 18 ? UINT64_MAX : strtoull(length, NULL, 10);
    self->framing = UDPAI_HTTP_LENGTH;
}

/* A body with an end that two readers may see in two places is none. */
static void
read_framing(udpai_http_head *self)
{
    const char *coding = udpai_http_head_value(self, UDPAI_HTTP_TRANSFER_ENCODING);
    unsigned n_lengths = self->n_seen[UDPAI_HTTP_CONTENT_LENGTH];
    self->framing = self->is_second ? UDPAI_HTTP_STREAM : UDPAI_HTTP_NO_BODY;
    if (n_lengths > 1)
        udpai_http_head_fail(self, 400, "a request has one content-length");
    else if (n_lengths && has(self, UDPAI_HTTP_TRANSFER_ENCODING))
        udpai_http_head_fail(self, 400,
                             "a request has either a content-length or a transfer-encoding");
    else if (n_lengths)
        read_length(self);
    if (!has(self, UDPAI_HTTP_TRANSFER_ENCODING))
        return;
    if (self->is_second || self->is_old)
        udpai_http_head_fail(self, 400, "a transfer-encoding is HTTP/1.1's alone");
    else if (strcasecmp(coding, "chunked") != 0)
        udpai_http_head_fail(self, 501, "a transfer-encoding of '%.100s' is not understood",
                             coding);
    self->framing = UDPAI_HTTP_CHUNKED;
}

/* Is this word in a list "a, b"? */
static bool
lists(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; *at;) {
        at += strspn(at, ", \t");
        size_t n = strcspn(at, ", \t");
        if (n == len && strncasecmp(at, word, len) == 0)
            return true;
        at += n;
    }
    return false;
}

static void
read_connection(udpai_http_head *self)
{
    const char *options = udpai_http_head_value(self, UDPAI_HTTP_CONNECTION);
    self->closes = self->is_old || lists(options, "close");
}

static void
read_expectation(udpai_http_head *self)
{
    const char *expected = udpai_http_head_value(self, UDPAI_HTTP_EXPECT);
    if (!*expected || self->is_old)
        return;
    if (strcasecmp(expected, "100-continue") != 0)
        udpai_http_head_fail(self, 417, "what the request expects is not understood: '%.100s'",
                             expected);
    self->continues = true;
}

void
udpai_http_head_finish(udpai_http_head *self)
{
    unsigned n_hosts = self->n_seen[UDPAI_HTTP_HOST];
    if (!self->has_target)
        udpai_http_head_fail(self, 400, "the request has no path");
    if (n_hosts > 1 || (n_hosts == 0 && !self->is_second && !self->is_old))
        udpai_http_head_fail(self, 400, "a request has one host header (RFC 9112, 3.2)");
    if (self->n_seen[UDPAI_HTTP_CONTENT_TYPE] > 1 || self->n_seen[UDPAI_HTTP_CONTENT_ENCODING] > 1)
        udpai_http_head_fail(self, 400, "a request has one content-type and one content-encoding");
    read_framing(self);
    read_connection(self);
    read_expectation(self);
}

void
udpai_http_head_done(udpai_http_head *self)
{
    udpa_error_unref(UDPAI_TAKE(self->error));
}
