/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/http/engine_internal.h"

udpai_http_engine *
udpai_http_engine_free(udpai_http_engine *self)
{
    if (!self)
        return NULL;
    udpai_http_engine_drop_head(self);
    self->ops->free(self);
    return NULL;
}

void
udpai_http_engine_take(udpai_http_engine *self, udpai_str bytes, uint64_t now_ms)
{
    if (!self->is_over && !self->is_broken && bytes.len)
        self->ops->take(self, bytes, now_ms);
}

void
udpai_http_engine_give(udpai_http_engine *self, udpai_strbuf *out, size_t max)
{
    if (!self->is_broken)
        self->ops->give(self, out, max);
    self->is_broken |= udpai_strbuf_failed(out);
}

void
udpai_http_engine_shut_down(udpai_http_engine *self)
{
    if (self->is_ending)
        return;
    self->is_ending = true;
    self->ops->shut_down(self);
}

bool
udpai_http_engine_may_read(const udpai_http_engine *self)
{
    return !self->is_over && !self->is_broken && !self->is_full;
}

bool
udpai_http_engine_is_over(const udpai_http_engine *self)
{
    return self->is_over;
}

bool
udpai_http_engine_is_broken(const udpai_http_engine *self)
{
    return self->is_broken;
}

bool
udpai_http_engine_is_in_head(const udpai_http_engine *self)
{
    return self->head != NULL;
}

uint64_t
udpai_http_engine_n_heads(const udpai_http_engine *self)
{
    return self->n_heads;
}

size_t
udpai_http_engine_n_calls(const udpai_http_engine *self)
{
    return self->n_calls;
}

bool
udpai_http_engine_is_second(const udpai_http_engine *self)
{
    return self->ops->is_second;
}

size_t
udpai_http_engine_n_streams(const udpai_http_engine *self)
{
    return self->n_streams;
}

/* ---- heads ---- */

bool
udpai_http_engine_begin_head(udpai_http_engine *self)
{
    udpai_http_engine_drop_head(self);
    self->n_heads++;
    self->head = udpai_alloc(sizeof(*self->head));
    self->is_broken |= !self->head;
    return self->head != NULL;
}

void
udpai_http_engine_drop_head(udpai_http_engine *self)
{
    if (self->head)
        udpai_http_head_done(self->head);
    udpai_free(UDPAI_TAKE(self->head));
}

/* ---- calls ---- */

bool
udpai_http_engine_begin_call(udpai_http_engine *self, udpai_http_call *call)
{
    call->engine = self;
    call->is_head = self->head->is_head;
    call->is_old = self->head->is_old;
    self->n_calls++;
    call->request = self->options.events->begin(self->options.userdata, call, self->head);
    self->is_broken |= !call->request;
    return call->request != NULL;
}

void
udpai_http_call_end(udpai_http_call *self, bool is_answered)
{
    void *request = UDPAI_TAKE(self->request);
    self->engine->n_calls--;
    self->engine->n_streams -= self->is_stream;
    udpai_strbuf_done(&self->body);
    udpa_bytes_unref(UDPAI_TAKE(self->text));
    if (request)
        self->engine->options.events->over(request, is_answered);
}

void
udpai_http_call_complete(udpai_http_call *self)
{
    self->is_complete = true;
    if (self->has_reply)
        return;
    udpai_strbuf body = self->body;
    self->body = (udpai_strbuf){0};
    self->engine->options.events->complete(self->request, &body);
}

void
udpai_http_call_broken(udpai_http_call *self, unsigned status, const udpa_error *error)
{
    udpai_strbuf_done(&self->body);
    if (!self->has_reply)
        self->engine->options.events->broken(self->request, status, error);
}

void
udpai_http_call_reply(udpai_http_call *self, unsigned status, udpa_bytes *text)
{
    if (self->has_reply)
        return;
    self->has_reply = true;
    self->status = status;
    self->text = udpa_bytes_ref(text);
    self->engine->ops->reply(self);
}

void
udpai_http_call_begin_stream(udpai_http_call *self, unsigned status)
{
    if (self->has_reply)
        return;
    self->is_stream = true;
    self->is_stream_ended = self->is_head; /* which has no text */
    self->engine->n_streams++;
    udpai_http_call_reply(self, status, NULL);
}

bool
udpai_http_call_is_drained(const udpai_http_call *self)
{
    return udpai_http_call_rest(self).len == 0;
}

bool
udpai_http_call_is_last(const udpai_http_call *self)
{
    return !self->is_stream || self->is_stream_ended;
}

static void
resume(udpai_http_call *self)
{
    if (self->engine->ops->resume)
        self->engine->ops->resume(self);
}

void
udpai_http_call_push(udpai_http_call *self, udpa_bytes *piece)
{
    if (!self->is_stream || self->is_stream_ended)
        return;
    udpa_bytes_unref(self->text);
    self->text = udpa_bytes_ref(piece);
    self->n_given = 0;
    resume(self);
}

void
udpai_http_call_end_stream(udpai_http_call *self)
{
    if (!self->is_stream || self->is_stream_ended)
        return;
    self->is_stream_ended = true;
    resume(self);
}

void
udpai_http_call_too_large(udpai_http_call *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const char *setting = self->engine->options.body_setting;
    udpai_fail(&error, UDPA_ERR_LIMIT,
               "the body is larger than %zu bytes, which is the limit of this node%s%s%s",
               self->engine->options.max_body_bytes, setting ? " (" : "", setting ? setting : "",
               setting ? ")" : "");
    udpai_http_call_broken(self, 413, error);
}

static bool
has_content(const udpai_http_call *self)
{
    return self->status != 304;
}

udpai_str
udpai_http_call_rest(const udpai_http_call *self)
{
    udpai_str text = self->text ? udpai_bytes_view(self->text) : (udpai_str){0};
    if (self->is_head || !has_content(self) || text.len == self->n_given)
        return (udpai_str){0};
    return (udpai_str){text.data + self->n_given, text.len - self->n_given};
}

static void
put(udpai_http_answer *answer, const char *name, const char *value)
{
    answer->fields[answer->n_fields].name = name;
    answer->fields[answer->n_fields++].value = value;
}

void
udpai_http_call_answer(const udpai_http_call *self, udpai_http_answer *answer)
{
    *answer = (udpai_http_answer){0};
    (void)snprintf(answer->status, sizeof(answer->status), "%u", self->status);
    (void)snprintf(answer->length, sizeof(answer->length), "%zu",
                   self->text ? udpa_bytes_size(self->text) : 0);
    put(answer, "server", "udpad");
    put(answer, "cache-control", "no-store");
    if (has_content(self)) {
        put(answer, "content-type", self->type ? self->type : "application/json");
        if (!self->is_stream)
            put(answer, "content-length", answer->length);
        else if (!self->is_old && !self->engine->ops->is_second)
            put(answer, "transfer-encoding", "chunked");
    }
    if (self->confirms_wait)
        put(answer, "preference-applied", "wait");
    if (self->status == 401 && self->asks_for_token)
        put(answer, "www-authenticate", "Bearer realm=\"udpad\"");
    if (self->status == 405)
        put(answer, "allow", self->allowed ? self->allowed : "POST");
    if (self->status == 503)
        put(answer, "retry-after", "1");
}

void
udpai_http_call_set_type(udpai_http_call *self, const char *type)
{
    self->type = type;
}

void
udpai_http_call_ask_for_token(udpai_http_call *self)
{
    self->asks_for_token = true;
}

void
udpai_http_call_set_allowed(udpai_http_call *self, const char *methods)
{
    self->allowed = methods;
}

void
udpai_http_call_confirm_wait(udpai_http_call *self)
{
    self->confirms_wait = true;
}
