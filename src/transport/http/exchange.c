/* SPDX-License-Identifier: Apache-2.0 */
/* A request and its answer: its body is gathered, the stream thread is asked, the answer is written
 * piece by piece. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "loop/clock.h"
#include "transport/http/certificate.h"
#include "transport/http/http_internal.h"

#define PIECE_BYTES 8192
#define HEAD_BYTES 1024

/* What is asked of the stream thread. */
struct udpai_http_visit {
    udpai_visit base; /* first */
    udpai_http_message message;
    udpai_http *http;
    const udpai_http_route *route;
    udpai_http_exchange *exchange; /* the HTTP thread's; NULL: it has ended */
};

static udpai_http *
http_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

/* ---- answering ---- */

/* Until the next piece must have been taken; see late(). */
static void
expect_progress(udpai_http_exchange *self)
{
    uint64_t now = udpai_monotonic_ms(), until = now + UDPAI_HTTP_STALL_S * 1000;
    if (until > self->reply_until_ms)
        until = self->reply_until_ms > now ? self->reply_until_ms : now + 1;
    lws_set_timer_usecs(self->wsi, (lws_usec_t)(until - now) * LWS_US_PER_MS);
}

static void
reply(udpai_http_exchange *self, unsigned status)
{
    self->status = status;
    self->stage = UDPAI_HTTP_REPLYING;
    self->closes |= self->http->is_stopping;
    self->reply_until_ms = udpai_monotonic_ms() + UDPAI_HTTP_REPLY_S * 1000;
    expect_progress(self);
    lws_set_timeout(self->wsi, NO_PENDING_TIMEOUT, 0);
    lws_callback_on_writable(self->wsi);
}

/* There is one answer, so nobody waits for another one. */
static void
leave_visit(udpai_http_exchange *self)
{
    if (!self->visit)
        return;
    self->visit->exchange = NULL;
    udpai_visit_cancel(&self->visit->base);
    self->visit = NULL;
}

void
udpai_http_exchange_fail(udpai_http_exchange *self, unsigned status, const udpa_error *error)
{
    leave_visit(self);
    udpa_bytes_unref(self->text);
    self->text = udpai_http_error_json(error);
    /* A body that nobody reads would be taken for the next request. */
    self->closes |= self->stage == UDPAI_HTTP_READING && !self->is_second;
    reply(self, status);
}

static udpai_str
text_of(const udpai_http_exchange *self)
{
    return self->text ? udpai_bytes_view(self->text) : (udpai_str){0};
}

static bool
put(struct lws *wsi, const char *name, const char *value, unsigned char **at, unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), at,
                                       end) == 0;
}

static bool
put_head(const udpai_http_exchange *self, unsigned char **at, unsigned char *end)
{
    struct lws *wsi = self->wsi;
    bool has_body = self->status != 304;
    return lws_add_http_header_status(wsi, self->status, at, end) == 0 &&
           (!has_body ||
            lws_add_http_header_content_length(wsi, text_of(self).len, at, end) == 0) &&
           (!has_body || put(wsi, "content-type:", "application/json", at, end)) &&
           put(wsi, "cache-control:", "no-store", at, end) &&
           (!self->prefers_wait || put(wsi, "preference-applied:", "wait", at, end)) &&
           (self->status != 405 || put(wsi, "allow:", "POST", at, end)) &&
           (self->status != 503 || put(wsi, "retry-after:", "1", at, end)) &&
           (!self->closes || self->is_second || put(wsi, "connection:", "close", at, end));
}

static int
write_head(udpai_http_exchange *self)
{
    unsigned char room[LWS_PRE + HEAD_BYTES], *begin = room + LWS_PRE, *at = begin;
    unsigned char *end = room + sizeof(room) - 1;
    bool is_all = text_of(self).len == 0;
    if (!put_head(self, &at, end) || lws_finalize_http_header(self->wsi, &at, end) != 0)
        return -1;
    self->is_head_sent = true;
    enum lws_write_protocol how = LWS_WRITE_HTTP_HEADERS;
    if (is_all)
        how |= LWS_WRITE_H2_STREAM_END;
    return lws_write(self->wsi, begin, (size_t)(at - begin), how) < 0 ? -1 : 1;
}

/* 0: nothing can be written until the client has taken something, which calls again; below 0: the
 * connection is broken. */
static int
write_piece(udpai_http_exchange *self)
{
    unsigned char room[LWS_PRE + PIECE_BYTES];
    udpai_str text = text_of(self);
    size_t n = udpai_min_size(text.len - self->n_sent, PIECE_BYTES);
    int allowed = lws_get_peer_write_allowance(self->wsi); /* below 0: any */
    if (allowed == 0)
        return 0;
    if (allowed > 0)
        n = udpai_min_size(n, (size_t)allowed);
    memcpy(room + LWS_PRE, text.data + self->n_sent, n);
    self->n_sent += n;
    bool is_last = self->n_sent == text.len;
    expect_progress(self);
    return lws_write(self->wsi, room + LWS_PRE, n,
                     is_last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0
               ? -1
               : 1;
}

int
udpai_http_exchange_write(udpai_http_exchange *self, bool *ret_all)
{
    if (self->stage != UDPAI_HTTP_REPLYING)
        return 0;
    int result = self->is_head_sent ? write_piece(self) : write_head(self);
    if (result < 0)
        return result;
    *ret_all = self->n_sent == text_of(self).len;
    if (*ret_all) {
        self->stage = UDPAI_HTTP_DONE;
        udpai_http_question_taken(self);
    } else if (result > 0) {
        lws_callback_on_writable(self->wsi);
    }
    return 0;
}

/* ---- asking ---- */

/* On the stream thread. */
static void
on_over(udpai_visit *base)
{
    udpai_http_visit *visit = (udpai_http_visit *)base;
    (void)udpai_inbox_push(&visit->http->inbox, &visit->message.node);
}

static void
on_free(udpai_visit *base)
{
    udpai_free(base);
}

static void
take_answer(udpai_http_exchange *self, const udpai_http_visit *visit)
{
    udpa_error *error = udpa_error_ref(visit->base.error);
    udpa_err err = udpa_error_code(error);
    if (!error && visit->base.parts.n)
        err = udpai_http_to_json(self->http, self->route, &visit->base, &self->text, &error);
    if (error) {
        udpai_http_exchange_fail(self, udpai_http_status_of(err), error);
    } else {
        if (visit->base.parts.n)
            udpai_http_question_answer(self, &visit->base);
        reply(self, visit->base.parts.n ? 200 : 304);
    }
    udpa_error_unref(error);
}

static void
run_over(udpai_http *http, udpai_http_message *message)
{
    udpai_http_visit *visit = UDPAI_CONTAINER_OF(message, udpai_http_visit, message);
    udpai_http_exchange *exchange = visit->exchange;
    http->n_visits--;
    if (exchange) {
        exchange->visit = NULL;
        take_answer(exchange, visit);
    }
    udpai_visit_unref(&visit->base);
    udpai_http_check_end(http);
}

static udpai_http_visit *
new_visit(udpai_http_exchange *self, udpa_bytes *message)
{
    udpai_http_visit *visit = udpai_alloc(sizeof(*visit));
    if (!visit)
        return NULL;
    udpai_visit_init(&visit->base);
    visit->base.method = self->route->method;
    visit->base.identity = udpai_identity_ref(self->connection->identity);
    visit->base.address = udpa_bytes_ref(self->connection->address);
    visit->base.message = udpa_bytes_ref(message);
    visit->base.patience_ms = self->patience_ms;
    visit->base.is_secure = self->connection->listener->current != NULL;
    visit->base.over = on_over;
    visit->base.free = on_free;
    udpai_list_init(&visit->message.node);
    visit->message.run = run_over;
    visit->http = self->http;
    visit->route = self->route;
    visit->exchange = self;
    return visit;
}

static udpa_err
send_visit(udpai_http_exchange *self, udpa_bytes *message, udpa_error **ret_error)
{
    udpai_http_visit *visit = new_visit(self, message);
    if (!visit)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!udpai_stream_thread_visit(self->http->streams, &visit->base)) {
        udpai_visit_unref(&visit->base);
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "this node is shutting down");
    }
    self->http->n_visits++;
    self->visit = visit;
    return UDPA_OK;
}

static udpa_err
know_client(udpai_http_connection *connection, udpa_error **ret_error)
{
    SSL *ssl = connection->listener->current ? lws_get_ssl(connection->wsi) : NULL;
    if (connection->is_known || !ssl)
        return UDPA_OK;
    udpa_err err =
        udpai_ssl_identity(ssl, "the client's certificate", &connection->identity, ret_error);
    connection->is_known = err == UDPA_OK;
    return err == UDPA_OK || err == UDPA_ERR_NOMEM ? err : UDPA_ERR_UNAUTHENTICATED;
}

static udpa_err
ask(udpai_http_exchange *self, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = NULL;
    if (self->http->is_stopping)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "this node is shutting down");
    udpa_err err = know_client(self->connection, ret_error);
    if (err == UDPA_OK)
        err = udpai_http_to_binary(self->http, self->route, udpai_strbuf_view(&self->body),
                                   &message, ret_error);
    if (err == UDPA_ERR_NOT_FOUND || err == UDPA_ERR_LIMIT)
        err = UDPA_ERR_INVAL; /* of what the client wrote */
    if (err != UDPA_OK)
        return err;
    udpai_http_question_note(self, &message);
    return send_visit(self, message, ret_error);
}

void
udpai_http_exchange_ask(udpai_http_exchange *self)
{
    if (self->stage != UDPAI_HTTP_READING)
        return;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    self->stage = UDPAI_HTTP_ASKING;
    udpa_err err = ask(self, &error);
    udpai_strbuf_done(&self->body);
    self->body = (udpai_strbuf){0};
    if (err != UDPA_OK)
        udpai_http_exchange_fail(self, udpai_http_status_of(err), error);
    else /* libwebsockets has yet to set its own limit on the body; see late() */
        lws_set_timer_usecs(self->wsi, LWS_USEC_PER_SEC / 20);
}

/* ---- reading ---- */

static udpa_err
take(udpai_http_exchange *self, udpai_str piece, udpa_error **ret_error)
{
    if (self->is_chunked)
        return udpai_chunked_take(&self->chunked, piece, self->http->limits.max_body_bytes,
                                  &self->body, ret_error);
    if (piece.len > self->left)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the body is longer than its content-length");
    self->left -= piece.len;
    udpai_strbuf_str(&self->body, piece);
    return udpai_strbuf_failed(&self->body) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : UDPA_OK;
}

void
udpai_http_exchange_take(udpai_http_exchange *self, udpai_str piece)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (self->stage != UDPAI_HTTP_READING)
        return;
    udpa_err err = take(self, piece, &error);
    if (err != UDPA_OK) {
        udpai_http_exchange_fail(self, err == UDPA_ERR_LIMIT ? 413 : udpai_http_status_of(err),
                                 error);
    } else if (self->is_chunked && udpai_chunked_is_done(&self->chunked)) {
        self->closes = true; /* libwebsockets goes on waiting for a body */
        udpai_http_exchange_ask(self);
    }
}

void
udpai_http_exchange_late(udpai_http_exchange *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    switch (self->stage) {
    case UDPAI_HTTP_READING:
        udpai_fail(&error, UDPA_ERR_DEADLINE, "the body did not come within %d s",
                   UDPAI_HTTP_BODY_S);
        udpai_http_exchange_fail(self, 408, error);
        break;
    case UDPAI_HTTP_ASKING: /* how long it is held, the session decides */
        lws_set_timeout(self->wsi, NO_PENDING_TIMEOUT, 0);
        break;
    default: /* all of it: a stream of HTTP/2 alone would end without its client being told */
        lws_set_timeout(self->connection->wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
        break;
    }
}

/* ---- begin and end ---- */

udpai_http_exchange *
udpai_http_exchange_begin(struct lws *wsi, udpai_str path)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_http_connection *connection = udpai_http_connection_of(wsi);
    udpai_http_exchange *self = connection ? udpai_alloc(sizeof(*self)) : NULL;
    unsigned status = 500;
    if (!self)
        return NULL;
    self->http = http_of(wsi);
    self->wsi = wsi;
    self->connection = connection;
    self->is_second = lws_get_network_wsi(wsi) != wsi;
    udpai_list_init(&self->node);
    udpai_list_append(&self->http->exchanges, &self->node);
    connection->n_exchanges++;
    lws_set_timer_usecs(wsi, (lws_usec_t)UDPAI_HTTP_BODY_S * LWS_USEC_PER_SEC);
    if (udpai_http_request_read(self, path, &status, &error) != UDPA_OK)
        udpai_http_exchange_fail(self, status, error);
    return self;
}

/* Whoever lets requests begin and drops them has us work for nothing. */
static void
count_abandoned(udpai_http_exchange *self)
{
    udpai_http_connection *connection = self->connection;
    if (self->stage == UDPAI_HTTP_DONE)
        connection->n_abandoned -= connection->n_abandoned > 0;
    else if (++connection->n_abandoned > UDPAI_HTTP_ABANDONED_MAX && connection->wsi)
        lws_set_timeout(connection->wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
}

void
udpai_http_exchange_end(udpai_http_exchange *self)
{
    if (!self)
        return;
    leave_visit(self);
    count_abandoned(self);
    self->connection->n_exchanges--;
    udpai_list_remove(&self->node);
    udpai_strbuf_done(&self->body);
    udpa_bytes_unref(self->text);
    udpai_free(self);
}
