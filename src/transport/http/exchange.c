/* SPDX-License-Identifier: Apache-2.0 */
/* A request and its answer, behind what speaks HTTP: the stream thread is asked, its answer is
 * made into JSON, and all of it has its time. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "loop/clock.h"
#include "transport/http/http_internal.h"
#include "transport/tls_identity.h"

/* What is asked of the stream thread. */
struct udpai_http_bridged {
    udpai_bridged_stream base; /* first */
    udpai_http_message message;
    udpai_http *http;
    const udpai_http_route *route;
    udpai_http_exchange *exchange; /* the HTTP thread's; NULL: it has ended */
};

/* ---- answering ---- */

static void
set_timer(udpai_http_exchange *self, uint64_t due_ms)
{
    udpai_http_set_timer(self->http, &self->timer, due_ms);
}

/* Until the next piece must have been taken; see on_late(). Of a visit that is the listener's. */
static void
expect_progress(udpai_http_exchange *self)
{
    if (!self->guest->connection)
        return;
    uint64_t until = udpai_monotonic_ms() + UDPAI_HTTP_STALL_S * 1000;
    set_timer(self, until < self->reply_until_ms ? until : self->reply_until_ms);
}

void
udpai_http_exchange_reply(udpai_http_exchange *self, unsigned status, udpa_bytes *text)
{
    self->stage = UDPAI_HTTP_REPLYING;
    self->reply_until_ms = udpai_monotonic_ms() + UDPAI_HTTP_REPLY_S * 1000;
    expect_progress(self);
    udpai_http_call_reply(self->call, status, text);
    if (self->guest->connection)
        udpai_http_connection_touch(self->guest->connection);
}

/* There is one answer, so nobody waits for another one. */
static void
leave_bridged(udpai_http_exchange *self)
{
    udpai_http_page_leave(self);
    if (self->stream)
        self->stream_ops->leave(self);
    udpai_http_body_leave(self);
    if (!self->bridged)
        return;
    self->bridged->exchange = NULL;
    udpai_bridged_stream_cancel(&self->bridged->base);
    self->bridged = NULL;
}

void
udpai_http_exchange_fail(udpai_http_exchange *self, unsigned status, const udpa_error *error)
{
    leave_bridged(self);
    udpa_bytes *text = udpai_http_error_json(error);
    udpai_http_exchange_reply(self, status, text);
    udpa_bytes_unref(text);
}

/* ---- asking ---- */

/* On the stream thread. */
static void
on_over(udpai_bridged_stream *base)
{
    udpai_http_bridged *bridged = (udpai_http_bridged *)base;
    (void)udpai_inbox_push(&bridged->http->inbox, &bridged->message.node);
}

static void
on_free(udpai_bridged_stream *base)
{
    udpai_free(base);
}

static void
take_answer(udpai_http_exchange *self, const udpai_http_bridged *bridged)
{
    udpa_error *error = udpa_error_ref(bridged->base.bridge.error);
    udpa_err err = udpa_error_code(error);
    udpa_bytes *text = NULL;
    if (!error && bridged->base.parts.n)
        err = udpai_http_to_json(self->http, self->route, &bridged->base, &text, &error);
    if (error) {
        udpai_http_exchange_fail(self, udpai_http_status_of(err), error);
    } else {
        if (bridged->base.parts.n)
            udpai_http_question_answer(self, &bridged->base);
        udpai_http_exchange_reply(self, bridged->base.parts.n ? 200 : 304, text);
    }
    udpa_bytes_unref(text);
    udpa_error_unref(error);
}

static void
run_over(udpai_http *http, udpai_http_message *message)
{
    udpai_http_bridged *bridged = UDPAI_CONTAINER_OF(message, udpai_http_bridged, message);
    udpai_http_exchange *exchange = bridged->exchange;
    http->n_bridged--;
    if (exchange) {
        exchange->bridged = NULL;
        take_answer(exchange, bridged);
    }
    udpai_bridged_stream_unref(&bridged->base);
    udpai_http_check_end(http);
}

static udpai_http_bridged *
new_bridged(udpai_http_exchange *self, udpa_bytes *message)
{
    const udpai_visitor *visitor = &self->guest->visitor;
    udpai_http_bridged *bridged = udpai_alloc(sizeof(*bridged));
    if (!bridged)
        return NULL;
    udpai_bridged_stream_init(&bridged->base);
    bridged->base.method = self->route->method;
    bridged->base.identity = udpai_identity_ref(visitor->identity);
    bridged->base.chain = udpai_chain_ref(visitor->chain);
    bridged->base.trust = udpai_trust_ref(visitor->trust);
    bridged->base.address = udpa_bytes_ref(visitor->address);
    bridged->base.message = udpa_bytes_ref(message);
    bridged->base.patience_ms = self->patience_ms;
    bridged->base.is_secure = visitor->is_secure;
    bridged->base.tls = visitor->tls;
    bridged->base.over = on_over;
    bridged->base.free = on_free;
    udpai_list_init(&bridged->message.node);
    bridged->message.run = run_over;
    bridged->http = self->http;
    bridged->route = self->route;
    bridged->exchange = self;
    return bridged;
}

static udpa_err
begin_bridged(udpai_http_exchange *self, udpa_bytes *message, udpa_error **ret_error)
{
    udpai_http_bridged *bridged = new_bridged(self, message);
    if (!bridged)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!udpai_stream_thread_bridge(self->http->streams, &bridged->base)) {
        udpai_bridged_stream_unref(&bridged->base);
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "this node is shutting down");
    }
    self->http->n_bridged++;
    self->bridged = bridged;
    return UDPA_OK;
}

/* Until now it has counted as one of its address. A client that has too many may have no more
 * requests, either. */
static udpa_err
count_by_identity(udpai_http_guest *guest, udpa_error **ret_error)
{
    udpai_http_connection *connection = guest->connection;
    udpai_http *http = connection->http;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_client client = {.identity = guest->visitor.identity,
                                 .address = udpai_bytes_view(guest->visitor.address)};
    udpa_err err = udpai_admission_rename(&http->admission, &client, &connection->admitted, &error);
    if (err == UDPA_OK)
        return err;
    udpai_http_log_refused(http, error);
    udpai_http_connection_shut_down(connection);
    if (ret_error)
        *ret_error = udpa_error_ref(error);
    return err;
}

static udpa_err
look_at_certificate(udpai_http_guest *guest, udpa_error **ret_error)
{
    udpai_visitor *visitor = &guest->visitor;
    const udpai_tls_session *tls = guest->connection->tls;
    udpa_err err = UDPA_OK;
    visitor->tls = udpai_tls_session_agreed(tls);
    if (!visitor->chain)
        err = udpai_ssl_chain(udpai_tls_session_ssl(tls), "the client's certificate",
                              &visitor->chain, ret_error);
    if (err == UDPA_OK && visitor->chain)
        err = udpai_chain_identity(visitor->chain, &visitor->identity, ret_error);
    return err == UDPA_OK || err == UDPA_ERR_NOMEM ? err : UDPA_ERR_UNAUTHENTICATED;
}

udpa_err
udpai_http_know_client(udpai_http_guest *guest, udpa_error **ret_error)
{
    udpai_visitor *visitor = &guest->visitor;
    udpa_err err = UDPA_OK;
    if (visitor->error)
        return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED, "%s",
                          udpa_error_message(visitor->error));
    if (guest->is_known || !guest->connection)
        return UDPA_OK;
    if (guest->connection->tls && !visitor->identity)
        err = look_at_certificate(guest, ret_error);
    if (err == UDPA_OK && visitor->identity)
        err = count_by_identity(guest, ret_error);
    guest->is_known = err == UDPA_OK;
    return err;
}

void
udpai_http_exchange_read(udpai_http_exchange *self,
                         udpa_err err,
                         udpa_bytes *message,
                         const udpa_error *error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *failure = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *asked = message ? udpa_bytes_ref(message) : NULL;
    if (err == UDPA_ERR_NOT_FOUND || err == UDPA_ERR_LIMIT)
        err = UDPA_ERR_INVAL; /* of what the client wrote */
    if (err == UDPA_OK) {
        udpai_http_question_note(self, &asked);
        err = begin_bridged(self, asked, &failure);
    }
    if (err != UDPA_OK)
        udpai_http_exchange_fail(self, udpai_http_status_of(err), failure ? failure : error);
}

/* Answers, or has somebody answer. */
static void
read_body(udpai_http_exchange *self, udpai_str body)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_http_to_binary(self->http, self->route, body, &message, &error);
    udpai_http_exchange_read(self, err, message, error);
}

static udpa_err
ask(udpai_http_exchange *self, udpai_strbuf *body, udpa_error **ret_error)
{
    udpai_str text = udpai_strbuf_view(body);
    if (self->http->is_stopping)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "this node is shutting down");
    udpa_err err = udpai_http_know_client(self->guest, ret_error);
    if (err == UDPA_OK && self->page)
        return udpai_http_page_ask(self, text, ret_error);
    if (err == UDPA_OK && udpai_http_body_is_long(text))
        return udpai_http_bodies_read(self, body, ret_error);
    if (err == UDPA_OK)
        read_body(self, text);
    return err;
}

static void
on_complete(void *request, udpai_strbuf *body)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_http_exchange *self = request;
    self->stage = UDPAI_HTTP_ASKING;
    udpai_timer_cancel(&self->timer); /* how long it is held, the session decides */
    bool is_refused = self->page && self->refuses_body && body->len;
    udpa_err err = is_refused ? udpai_fail(&error, UDPA_ERR_INVAL,
                                           "a body must be application/json, by its content-type, "
                                           "and come as it is: a browser sends anything else for "
                                           "any page")
                              : ask(self, body, &error);
    udpai_strbuf_done(body);
    if (err != UDPA_OK)
        udpai_http_exchange_fail(self, is_refused ? 415 : udpai_http_status_of(err), error);
}

/* ---- what else the engine reports ---- */

static void
on_late(udpai_timer *timer)
{
    udpai_http_exchange *self = UDPAI_CONTAINER_OF(timer, udpai_http_exchange, timer);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (self->stage == UDPAI_HTTP_STREAMING) {
        self->stream_ops->tick(self);
    } else if (self->stage == UDPAI_HTTP_READING) {
        udpai_fail(&error, UDPA_ERR_DEADLINE, "the body did not come within %d s",
                   UDPAI_HTTP_BODY_S);
        udpai_http_exchange_fail(self, 408, error);
    } else { /* of HTTP/2, too: the end of a stream alone would not be noticed by its client */
        udpai_http_connection_cut(self->guest->connection);
    }
}

static void *
on_begin(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_http_guest *guest = userdata;
    udpai_http_exchange *self = udpai_alloc(sizeof(*self));
    unsigned status = 500;
    if (!self)
        return NULL;
    self->http = guest->place->http;
    self->guest = guest;
    self->call = call;
    self->stage = UDPAI_HTTP_READING;
    udpai_timer_init(&self->timer, on_late);
    udpai_list_init(&self->node);
    udpai_list_append(&self->http->exchanges, &self->node);
    if (guest->connection)
        set_timer(self, udpai_monotonic_ms() + UDPAI_HTTP_BODY_S * 1000);
    if (udpai_http_request_read(self, head, &status, &error) != UDPA_OK)
        udpai_http_exchange_fail(self, status, error);
    return self;
}

static void
on_broken(void *request, unsigned status, const udpa_error *error)
{
    udpai_http_exchange_fail(request, status, error);
}

static void
on_progress(void *request)
{
    udpai_http_exchange *self = request;
    if (self->stage == UDPAI_HTTP_STREAMING)
        self->stream_ops->progress(self);
    else
        expect_progress(self);
}

static void
on_closed(void *request, bool is_answered)
{
    udpai_http_exchange *self = request;
    leave_bridged(self);
    if (is_answered)
        udpai_http_question_taken(self);
    udpai_timer_cancel(&self->timer);
    udpai_list_remove(&self->node);
    udpai_strbuf_done(&self->query);
    udpai_strbuf_done(&self->accept);
    udpai_strbuf_done(&self->last_event_id);
    udpai_strbuf_done(&self->authorization);
    udpai_free(self);
}

const udpai_http_events udpai_http_exchange_events = {
    .begin = on_begin,
    .complete = on_complete,
    .broken = on_broken,
    .progress = on_progress,
    .over = on_closed,
};
