/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: what knows the contents is asked, and answers when it has the time. */
#include "base/alloc.h"
#include "transport/http/http_internal.h"

/* The question; it outlives an exchange with a client that has left. */
typedef struct udpai_http_page_visit {
    udpai_http_reading reading; /* first */
    udpai_http_message message;
    udpai_http *http;
    udpai_http_exchange *exchange; /* the HTTP thread's; NULL: it has ended */
    bool is_asked, asks_for_token;
    udpai_http_stream_begin_fn begin_stream; /* NULL: the answer is whole */
    udpai_http_streaming streaming;
    unsigned status;
    const char *type;
    udpa_bytes *text;
} bridged;

#define OF(reading) ((bridged *)(reading))

void
udpai_http_streaming_done(udpai_http_streaming *how)
{
    for (size_t i = 0; i < how->n_requests; i++)
        udpa_bytes_unref(how->requests[i]);
    if (how->free)
        how->free(how->userdata);
    *how = (udpai_http_streaming){0};
}

static void
free_bridged(bridged *self)
{
    udpai_http_streaming_done(&self->streaming);
    udpai_identity_unref(self->reading.identity);
    udpa_bytes_unref(self->text);
    udpai_free(self);
}

static void
ask(udpai_http *http, bridged *self)
{
    self->is_asked = true;
    http->n_asked += !self->reading.page->is_prompt;
    http->read_page(http->userdata, &self->reading);
}

/* One that goes on already goes on, or ends: it may not be read any more. */
static void
take_answer(udpai_http_exchange *exchange, bridged *self)
{
    if (exchange->stream && self->begin_stream)
        return;
    if (exchange->stream) {
        exchange->stream_ops->end(exchange, NULL);
    } else if (self->begin_stream) {
        self->begin_stream(exchange, &self->streaming);
    } else {
        udpai_http_call_set_type(exchange->call, self->type);
        if (self->asks_for_token)
            udpai_http_call_ask_for_token(exchange->call);
        udpai_http_exchange_reply(exchange, self->status, self->text);
    }
}

static void
run_answered(udpai_http *http, udpai_http_message *message)
{
    bridged *self = UDPAI_CONTAINER_OF(message, bridged, message);
    udpai_http_exchange *exchange = self->exchange;
    http->n_bridged--;
    http->n_asked -= !self->reading.page->is_prompt;
    udpai_list *next =
        http->n_asked < UDPAI_HTTP_PAGES_ASKED ? udpai_list_pop(&http->unasked) : NULL;
    if (next)
        ask(http, OF(UDPAI_LIST_ENTRY(next, udpai_http_reading, node)));
    if (exchange) {
        exchange->reading = NULL;
        take_answer(exchange, self);
    }
    free_bridged(self);
    udpai_http_check_end(http);
}

void
udpai_http_page_answer(udpai_http_reading *reading,
                       unsigned status,
                       const char *type,
                       udpa_bytes *text)
{
    bridged *self = OF(reading);
    self->status = status;
    self->type = type;
    self->text = udpa_bytes_ref(text);
    (void)udpai_inbox_push(&self->http->inbox, &self->message.node);
}

void
udpai_http_page_go_on(udpai_http_reading *reading,
                      const udpai_http_streaming *streaming,
                      udpai_http_stream_begin_fn begin)
{
    bridged *self = OF(reading);
    self->begin_stream = begin;
    self->streaming = *streaming;
    (void)udpai_inbox_push(&self->http->inbox, &self->message.node);
}

void
udpai_http_page_ask_for_token(udpai_http_reading *reading)
{
    OF(reading)->asks_for_token = true;
}

static bridged *
new_bridged(udpai_http_exchange *exchange, udpai_str body)
{
    udpai_str query = udpai_strbuf_view(&exchange->query);
    udpai_str accept = udpai_strbuf_view(&exchange->accept);
    udpai_str authorization = udpai_strbuf_view(&exchange->authorization);
    udpai_str last_event_id = udpai_strbuf_view(&exchange->last_event_id);
    bridged *self = udpai_alloc(sizeof(*self) + query.len + accept.len + authorization.len +
                                last_event_id.len + body.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    self->reading.page = exchange->page;
    self->reading.query = udpai_str_put(&at, query);
    self->reading.accept = udpai_str_put(&at, accept);
    self->reading.authorization = udpai_str_put(&at, authorization);
    self->reading.last_event_id = udpai_str_put(&at, last_event_id);
    self->reading.has_authorization = exchange->has_authorization;
    self->reading.body = udpai_str_put(&at, body);
    self->reading.identity = udpai_identity_ref(exchange->guest->visitor.identity);
    udpai_list_init(&self->reading.node);
    udpai_list_init(&self->message.node);
    self->message.run = run_answered;
    self->http = exchange->http;
    self->exchange = exchange;
    return self;
}

udpa_err
udpai_http_page_ask(udpai_http_exchange *exchange, udpai_str body, udpa_error **ret_error)
{
    udpai_http *http = exchange->http;
    bridged *self = new_bridged(exchange, body);
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    exchange->reading = self;
    http->n_bridged++;
    if (exchange->page->is_prompt || http->n_asked < UDPAI_HTTP_PAGES_ASKED)
        ask(http, self);
    else
        udpai_list_append(&http->unasked, &self->reading.node);
    return UDPA_OK;
}

void
udpai_http_page_leave(udpai_http_exchange *exchange)
{
    bridged *left = UDPAI_TAKE(exchange->reading);
    if (!left)
        return;
    left->exchange = NULL;
    if (left->is_asked)
        return;
    udpai_list_remove(&left->reading.node);
    exchange->http->n_bridged--;
    free_bridged(left);
    udpai_http_check_end(exchange->http);
}
