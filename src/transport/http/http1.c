/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 (RFC 9112), strictly: what two readers could understand in two ways is refused, and ends
 * the connection. Requests that come together are answered one by one, in order. */
#include "base/alloc.h"
#include "transport/http/chunked.h"
#include "transport/http/engine_internal.h"

typedef enum http1_state {
    REQUEST_LINE,
    FIELDS,
    BODY,
    WAITING, /* for the answer, or until it was given */
} http1_state;

typedef struct http1 {
    udpai_http_engine base; /* first */
    http1_state state;
    udpai_strbuf line;  /* of a head, as far as it has come */
    size_t n_head;      /* bytes of this head so far */
    udpai_strbuf later; /* what came behind the request that is being answered */
    udpai_http_call call;
    bool has_call, is_chunked, is_head_given, expects_continue;
    bool closes;   /* behind the answer; what comes until then is dropped */
    uint64_t left; /* of a body with a length */
    udpai_chunked chunked;
} http1;

static http1 *
http1_of(udpai_http_engine *engine)
{
    return (http1 *)engine;
}

/* ---- a call ---- */

/* Nothing behind this request can be read. */
static void
close_behind(http1 *self)
{
    self->closes = true;
    self->state = WAITING;
    self->base.is_full = true;
    udpai_strbuf_done(&self->later);
}

static void
end_body(http1 *self)
{
    self->state = WAITING;
    udpai_http_call_complete(&self->call);
}

/* The head has ended. */
static void
begin_call(http1 *self)
{
    const udpai_http_head *head = self->base.head;
    udpai_http_head_finish(self->base.head);
    bool has_body = head->framing == UDPAI_HTTP_CHUNKED ||
                    (head->framing == UDPAI_HTTP_LENGTH && head->length > 0);
    bool is_wrong = head->wrong, continues = head->continues && has_body;
    self->state = has_body ? BODY : WAITING;
    self->left = head->length;
    self->is_chunked = head->framing == UDPAI_HTTP_CHUNKED;
    self->chunked = (udpai_chunked){0};
    self->is_head_given = false;
    /* A body that was not announced would be taken for the next request. */
    self->closes |= head->closes || (head->is_post && head->framing == UDPAI_HTTP_NO_BODY);
    self->call = (udpai_http_call){0};
    self->has_call = true;
    if (is_wrong)
        close_behind(self);
    bool is_good = udpai_http_engine_begin_call(&self->base, &self->call);
    udpai_http_engine_drop_head(&self->base);
    udpai_strbuf_done(&self->line);
    self->expects_continue = is_good && continues && !self->call.has_reply;
    if (is_good && self->state == WAITING && !is_wrong)
        end_body(self);
}

static void
reply(udpai_http_call *call)
{
    http1 *self = http1_of(call->engine);
    self->expects_continue = false;
    if (self->state == BODY) /* what is left of it would be taken for the next request */
        close_behind(self);
    self->closes |= self->base.is_ending || (call->is_stream && call->is_old);
}

/* ---- heads ---- */

static udpai_str
cut_word(udpai_str *line)
{
    const char *space = memchr(line->data, ' ', line->len);
    size_t n = space ? (size_t)(space - line->data) : line->len;
    udpai_str word = {line->data, n};
    size_t used = space ? n + 1 : n;
    *line = (udpai_str){line->data + used, line->len - used};
    return word;
}

static bool
is_version(udpai_str text)
{
    return text.len == 8 && udpai_str_starts(text, UDPAI_STR("HTTP/")) && text.data[6] == '.';
}

static void
read_version(udpai_http_head *head, udpai_str version)
{
    if (udpai_str_eq(version, UDPAI_STR("HTTP/1.0")))
        head->is_old = true;
    else if (!udpai_str_eq(version, UDPAI_STR("HTTP/1.1")))
        udpai_http_head_fail(head, is_version(version) ? 505 : 400,
                             "the request is not of HTTP/1.1, but of '%.*s'", UDPAI_SHOWN(version));
}

static void
read_request_line(udpai_http_head *head, udpai_str line)
{
    udpai_str method = cut_word(&line), target = cut_word(&line);
    read_version(head, line);
    udpai_http_head_method(head, method);
    if (target.len)
        udpai_http_head_target(head, target);
    else
        udpai_http_head_fail(head, 400, "the request has no path");
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool
has_control(udpai_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static void
read_field(udpai_http_head *head, udpai_str line)
{
    const char *colon = memchr(line.data, ':', line.len);
    udpai_str name = {line.data, colon ? (size_t)(colon - line.data) : 0};
    if (!udpai_http_is_token(name)) { /* such as white space, with which lines were once joined */
        udpai_http_head_fail(head, 400, "a line of the head is no header (RFC 9112, 5)");
        return;
    }
    udpai_str value = {colon + 1, line.len - name.len - 1};
    for (; value.len && is_space(*value.data); value.len--)
        value.data++;
    while (value.len && is_space(value.data[value.len - 1]))
        value.len--;
    if (has_control(value))
        udpai_http_head_fail(head, 400, "a header holds what is no text (RFC 9110, 5.5)");
    udpai_http_head_field(head, name, value);
}

/* A line without its end. */
static void
read_line(http1 *self, udpai_str line)
{
    if (self->state == FIELDS && line.len) {
        read_field(self->base.head, line);
    } else if (self->state == FIELDS) {
        begin_call(self);
        return;
    } else if (line.len) { /* empty ones before the request are passed over */
        read_request_line(self->base.head, line);
        self->state = FIELDS;
    }
    if (self->base.head->wrong)
        begin_call(self);
}

static void
fail_head(http1 *self, unsigned status, const char *why)
{
    udpai_http_head_fail(self->base.head, status, "%s", why);
    begin_call(self);
}

static bool
begin_head(http1 *self)
{
    if (self->base.head)
        return true;
    self->state = REQUEST_LINE;
    self->n_head = 0;
    self->line.len = 0;
    return udpai_http_engine_begin_head(&self->base);
}

/* As far as the end of a line; returns how much that is. */
static size_t
take_line(http1 *self, udpai_str bytes)
{
    if (!begin_head(self))
        return bytes.len;
    const char *end = memchr(bytes.data, '\n', bytes.len);
    size_t n = end ? (size_t)(end - bytes.data) + 1 : bytes.len;
    self->n_head += n;
    if (self->n_head > UDPAI_HTTP_HEAD_MAX) {
        fail_head(self, 431, "the headers of the request are larger than 8192 bytes");
        return n;
    }
    udpai_strbuf_append(&self->line, bytes.data, n);
    udpai_str line = udpai_strbuf_view(&self->line);
    self->base.is_broken |= udpai_strbuf_failed(&self->line);
    if (!end || self->base.is_broken)
        return n;
    self->line.len = 0; /* the bytes stay there */
    if (line.len < 2 || line.data[line.len - 2] != '\r')
        fail_head(self, 400, "a line of the head does not end with CR LF (RFC 9112, 2.2)");
    else
        read_line(self, (udpai_str){line.data, line.len - 2});
    return n;
}

/* ---- bodies ---- */

static size_t
take_counted(http1 *self, udpai_str bytes)
{
    udpai_http_call *call = &self->call;
    size_t n = self->left < bytes.len ? (size_t)self->left : bytes.len;
    if (self->left > self->base.options.max_body_bytes - call->body.len) {
        udpai_http_call_too_large(call);
        return n;
    }
    udpai_strbuf_append(&call->body, bytes.data, n);
    self->base.is_broken |= udpai_strbuf_failed(&call->body);
    self->left -= n;
    if (self->left == 0 && !self->base.is_broken)
        end_body(self);
    return n;
}

static size_t
take_chunks(http1 *self, udpai_str bytes)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    size_t max = self->base.options.max_body_bytes;
    udpa_err err = udpai_chunked_take(&self->chunked, bytes, max, &self->call.body, &error);
    self->base.is_broken |= err == UDPA_ERR_NOMEM;
    if (err == UDPA_ERR_LIMIT)
        udpai_http_call_too_large(&self->call);
    else if (err == UDPA_ERR_INVAL)
        udpai_http_call_broken(&self->call, 400, error);
    else if (err == UDPA_OK && udpai_chunked_is_done(&self->chunked))
        end_body(self);
    return self->chunked.n_taken;
}

static void
keep_for_later(http1 *self, udpai_str bytes)
{
    self->base.is_full = true;
    if (self->closes)
        return;
    udpai_strbuf_str(&self->later, bytes);
    self->base.is_broken |= udpai_strbuf_failed(&self->later);
}

static void
take(udpai_http_engine *engine, udpai_str bytes, uint64_t now_ms)
{
    http1 *self = http1_of(engine);
    (void)now_ms;
    while (bytes.len && !engine->is_over && !engine->is_broken) {
        size_t n = bytes.len;
        if (self->state == WAITING)
            keep_for_later(self, bytes);
        else if (self->state != BODY)
            n = take_line(self, bytes);
        else
            n = self->is_chunked ? take_chunks(self, bytes) : take_counted(self, bytes);
        bytes = (udpai_str){bytes.data + n, bytes.len - n};
    }
}

/* ---- answers ---- */

static const char *
reason_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void
give_head(http1 *self, udpai_strbuf *out)
{
    udpai_http_answer answer;
    udpai_http_call_answer(&self->call, &answer);
    udpai_strbuf_printf(out, "HTTP/1.1 %s %s\r\n", answer.status, reason_of(self->call.status));
    for (size_t i = 0; i < answer.n_fields; i++)
        udpai_strbuf_printf(out, "%s: %s\r\n", answer.fields[i].name, answer.fields[i].value);
    udpai_strbuf_puts(out, self->closes ? "connection: close\r\n\r\n" : "\r\n");
    self->is_head_given = true;
}

/* Else the end of the connection is the end of the text. */
static bool
is_in_chunks(const udpai_http_call *call)
{
    return call->is_stream && !call->is_old && !call->is_head;
}

static void
give_some(http1 *self, udpai_strbuf *out, size_t max)
{
    udpai_http_call *call = &self->call;
    if (!self->is_head_given)
        give_head(self, out);
    udpai_str rest = udpai_http_call_rest(call);
    size_t n = out->len < max ? udpai_min_size(rest.len, max - out->len) : 0;
    if (n == 0)
        return;
    if (is_in_chunks(call))
        udpai_strbuf_printf(out, "%zx\r\n", n);
    udpai_strbuf_append(out, rest.data, n);
    udpai_strbuf_puts(out, is_in_chunks(call) ? "\r\n" : "");
    call->n_given += n;
    self->base.options.events->progress(call->request);
}

/* The answer was given: on to what came behind the request. */
static void
end_call(http1 *self)
{
    self->has_call = false;
    udpai_http_call_end(&self->call, true);
    if (self->closes) {
        self->base.is_over = true;
        return;
    }
    udpai_strbuf later = self->later;
    self->later = (udpai_strbuf){0};
    self->state = REQUEST_LINE;
    self->base.is_full = false;
    take(&self->base, udpai_strbuf_view(&later), 0);
    udpai_strbuf_done(&later);
}

static void
give(udpai_http_engine *engine, udpai_strbuf *out, size_t max)
{
    http1 *self = http1_of(engine);
    if (self->expects_continue)
        udpai_strbuf_puts(out, "HTTP/1.1 100 Continue\r\n\r\n");
    self->expects_continue = false;
    while (self->has_call && self->call.has_reply && out->len < max && !engine->is_broken &&
           !udpai_strbuf_failed(out)) {
        give_some(self, out, max);
        if (udpai_http_call_rest(&self->call).len)
            continue;
        if (!udpai_http_call_is_last(&self->call))
            break;
        if (is_in_chunks(&self->call))
            udpai_strbuf_puts(out, "0\r\n\r\n");
        end_call(self);
    }
}

/* ---- the engine ---- */

static void
shut_down(udpai_http_engine *engine)
{
    http1 *self = http1_of(engine);
    self->closes = true;
    engine->is_over |= !self->has_call;
}

static void
free_engine(udpai_http_engine *engine)
{
    http1 *self = http1_of(engine);
    if (self->has_call)
        udpai_http_call_end(&self->call, false);
    udpai_strbuf_done(&self->line);
    udpai_strbuf_done(&self->later);
    udpai_free(self);
}

udpai_http_engine *
udpai_http1_new(const udpai_http_engine_options *options)
{
    static const udpai_http_engine_ops ops = {
        .take = take,
        .give = give,
        .shut_down = shut_down,
        .reply = reply,
        .free = free_engine,
    };
    http1 *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->base.ops = &ops;
    self->base.options = *options;
    return &self->base;
}
