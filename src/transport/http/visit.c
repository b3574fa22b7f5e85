/* SPDX-License-Identifier: Apache-2.0 */
/* What comes by sockets of gRPC (transport/visit.h). A visit is one call of an engine of its own,
 * whose request is there from the beginning, and whose reply goes back to the listener. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/http/engine_internal.h"
#include "transport/http/http_internal.h"

/* That have come and have not begun: each has a head. More are to be tried again. */
#define WAITING_MAX 1024

typedef struct visit {
    udpai_visit base;         /* first */
    udpai_http_engine engine; /* from here on, the HTTP thread's */
    udpai_http_call call;     /* its only one */
    udpai_http_answer answer;
    udpai_http_guest guest; /* its visitor is borrowed */
    udpai_http_message begin, end, at_end;
    const udpai_http_place *place;
    bool is_answered; /* as the listener has it */
    bool is_over;
} visit;

/* ---- its answer ---- */

static void
reply(udpai_http_call *call)
{
    visit *self = UDPAI_CONTAINER_OF(call, visit, call);
    udpai_visit *base = &self->base;
    udpai_http_call_answer(call, &self->answer);
    memcpy(base->status, self->answer.status, sizeof(base->status));
    base->n_fields = self->answer.n_fields;
    for (size_t i = 0; i < base->n_fields; i++) {
        base->fields[i].name = self->answer.fields[i].name;
        base->fields[i].value = self->answer.fields[i].value;
    }
    if (udpai_http_call_rest(call).len)
        base->text = udpa_bytes_ref(call->text);
    base->answered(base);
}

static const udpai_http_engine_ops ops = {.is_second = true, .reply = reply};

/* ---- its life ---- */

static void
end(visit *self, bool is_answered)
{
    if (self->is_over)
        return;
    self->is_over = true;
    udpai_list_remove(&self->at_end.node);
    if (self->call.request)
        udpai_http_call_end(&self->call, is_answered);
    udpai_visit_unref(&self->base);
}

static void
run_end(udpai_http *http, udpai_http_message *message)
{
    (void)http;
    visit *self = UDPAI_CONTAINER_OF(message, visit, end);
    end(self, self->is_answered);
}

/* The listener may be noting just now how it has ended, which nobody reads any more. */
static void
run_at_end(udpai_http *http, udpai_http_message *message)
{
    (void)http;
    end(UDPAI_CONTAINER_OF(message, visit, at_end), false);
}

/* Without memory it has an answer all the same, of the listener's. */
static void
fail(visit *self)
{
    snprintf(self->base.status, sizeof(self->base.status), "503");
    self->base.answered(&self->base);
}

static void
run_begin(udpai_http *http, udpai_http_message *message)
{
    visit *self = UDPAI_CONTAINER_OF(message, visit, begin);
    self->at_end.run = run_at_end;
    udpai_list_append(&http->at_end, &self->at_end.node);
    atomic_fetch_sub_explicit(&http->n_waiting, 1, memory_order_relaxed);
    self->guest = (udpai_http_guest){
        .place = self->place,
        .visitor = self->base.visitor,
    };
    self->engine.ops = &ops;
    self->engine.options.events = &udpai_http_exchange_events;
    self->engine.options.userdata = &self->guest;
    self->engine.options.max_body_bytes = http->limits.max_body_bytes;
    self->engine.options.body_setting = http->body_setting;
    self->engine.head = self->base.head;
    bool has_begun = udpai_http_engine_begin_call(&self->engine, &self->call);
    self->engine.head = self->base.head = udpai_visit_head_free(self->base.head);
    if (!has_begun) {
        fail(self);
        return;
    }
    self->call.body = self->base.body;
    self->base.body = (udpai_strbuf){0};
    if (self->call.has_reply)
        udpai_strbuf_done(&self->call.body);
    udpai_http_call_complete(&self->call);
}

/* ---- for the listener: any thread ---- */

static bool
on_visit(void *userdata, udpai_visit *base)
{
    visit *self = (visit *)base;
    const udpai_http_place *place = userdata;
    self->place = place;
    self->begin.run = run_begin;
    udpai_list_init(&self->at_end.node);
    udpai_list_init(&self->begin.node);
    udpai_list_init(&self->end.node);
    size_t n_waiting = atomic_fetch_add_explicit(&place->http->n_waiting, 1, memory_order_relaxed);
    udpai_visit_ref(base);
    if (n_waiting < WAITING_MAX && udpai_inbox_push(&place->http->inbox, &self->begin.node))
        return true;
    udpai_visit_unref(base);
    atomic_fetch_sub_explicit(&place->http->n_waiting, 1, memory_order_relaxed);
    return false;
}

/* If the thread has ended, so has it. */
static void
on_over(udpai_visit *base, bool is_answered)
{
    visit *self = (visit *)base;
    self->is_answered = is_answered;
    self->end.run = run_end;
    (void)udpai_inbox_push(&self->place->http->inbox, &self->end.node);
}

/* ---- connections ---- */

struct handed_message {
    udpai_http_message message;
    const udpai_http_place *place;
    udpai_handed handed;
};

static void
run_handed(udpai_http *http, udpai_http_message *message)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    struct handed_message *self = UDPAI_CONTAINER_OF(message, struct handed_message, message);
    const udpai_visitor *visitor = &self->handed.visitor;
    const udpai_client client = {.address = udpai_bytes_view(visitor->address)};
    udpai_admitted *admitted = NULL;
    udpa_err err = http->is_stopping
                       ? UDPA_ERR_UNAVAILABLE
                       : udpai_admission_enter(&http->admission, &client, &admitted, &error);
    if (err == UDPA_OK) {
        udpai_http_connection_begin(self->place, &self->handed, admitted);
    } else {
        if (error)
            udpai_http_log_refused(http, error);
        udpai_handed_done(&self->handed);
    }
    udpai_free(self);
}

static void
on_take(void *userdata, udpai_handed *handed)
{
    const udpai_http_place *place = userdata;
    struct handed_message *self = udpai_alloc(sizeof(*self));
    if (!self) {
        udpai_handed_done(handed);
        return;
    }
    self->message.run = run_handed;
    self->place = place;
    self->handed = *handed;
    udpai_list_init(&self->message.node);
    if (udpai_inbox_push(&place->http->inbox, &self->message.node))
        return;
    udpai_handed_done(&self->handed);
    udpai_free(self);
}

/* ---- what is served where ---- */

const udpai_visits *
udpai_http_visits(udpai_http *http, bool rest, bool pages)
{
    const size_t i = rest + 2 * pages;
    http->places[i] = (udpai_http_place){.http = http, .has_rest = rest, .has_pages = pages};
    http->place_visits[i] = (udpai_visits){
        .bytes = sizeof(visit),
        .visit = on_visit,
        .over = on_over,
        .take = on_take,
        .userdata = &http->places[i],
        .max_body_bytes = http->limits.max_body_bytes,
        .max_visits = UDPAI_HTTP_STREAMS,
        .max_waiting = UDPAI_HTTP_WAITING,
        .max_bodies = UDPAI_HTTP_BODIES,
        .body_ms = UDPAI_HTTP_BODY_S * 1000,
        .stall_ms = UDPAI_HTTP_STALL_S * 1000,
        .answer_ms = UDPAI_HTTP_REPLY_S * 1000,
    };
    return &http->place_visits[i];
}
