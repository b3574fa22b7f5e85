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
    unsigned status;
    const char *type;
    udpa_bytes *text;
} bridged;

static void
free_bridged(bridged *self)
{
    udpai_identity_unref(self->reading.identity);
    udpa_bytes_unref(self->text);
    udpai_free(self);
}

static void
run_answered(udpai_http *http, udpai_http_message *message)
{
    bridged *self = UDPAI_CONTAINER_OF(message, bridged, message);
    udpai_http_exchange *exchange = self->exchange;
    http->n_bridged--;
    if (exchange) {
        exchange->reading = NULL;
        udpai_http_call_set_type(exchange->call, self->type);
        udpai_http_exchange_reply(exchange, self->status, self->text);
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
    bridged *self = (bridged *)reading;
    self->status = status;
    self->type = type;
    self->text = udpa_bytes_ref(text);
    (void)udpai_inbox_push(&self->http->inbox, &self->message.node);
}

static bridged *
new_bridged(udpai_http_exchange *exchange, udpai_str body)
{
    udpai_str query = udpai_strbuf_view(&exchange->query);
    udpai_str accept = udpai_strbuf_view(&exchange->accept);
    bridged *self = udpai_alloc(sizeof(*self) + query.len + accept.len + body.len);
    if (!self)
        return NULL;
    char *at = (char *)(self + 1);
    self->reading.page = exchange->page;
    self->reading.query = udpai_str_put(&at, query);
    self->reading.accept = udpai_str_put(&at, accept);
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
    http->read_page(http->userdata, &self->reading);
    return UDPA_OK;
}

void
udpai_http_page_leave(udpai_http_exchange *exchange)
{
    bridged *left = UDPAI_TAKE(exchange->reading);
    if (left)
        left->exchange = NULL;
}
