/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/csds_session.h"

#include "base/alloc.h"
#include "session/status.h"
#include "xds/csds.h"

static udpai_csds_session *
of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_csds_session, session);
}

/* ---- how many ask at a time ---- */

udpa_err
udpai_csds_session_count(udpai_csds_session *self, size_t *n_answers, udpa_error **ret_error)
{
    if (*n_answers >= self->answerer->max_answers)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu others are being answered, which is the limit: ask again in a while",
                          *n_answers);
    ++*n_answers;
    self->counts_among = n_answers;
    return UDPA_OK;
}

static void
leave_place(udpai_csds_session *self)
{
    if (self->counts_among)
        --*self->counts_among;
    self->counts_among = NULL;
}

/* ---- a request ---- */

static udpa_err
begin_answer(udpai_csds_session *self, udpai_str message, udpa_error **ret_error)
{
    self->is_answering = true;
    self->n_requests++;
    udpa_err err = self->answerer->begin(self, message, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_session_pause(&self->session, true);
    udpai_session_ready(&self->session);
    return UDPA_OK;
}

static udpa_err
put_off(udpai_csds_session *self, udpai_str message, udpa_error **ret_error)
{
    udpa_bytes *copy = NULL;
    if (self->waiting.n == self->answerer->max_waiting)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "more than %zu requests wait for their answers: ask again when you have "
                          "been answered",
                          self->waiting.n);
    if (message.len > UDPAI_CSDS_REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the request has %zu bytes, and at most %zu are taken", message.len,
                          UDPAI_CSDS_REQUEST_MAX);
    udpa_err err = udpa_bytes_new(&copy, message.data, message.len);
    if (err == UDPA_OK && !udpai_vector_push(&self->waiting, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return udpai_fail_code(ret_error, err);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_csds_session *self = of(session);
    if (self->is_fetch && self->n_requests)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a Fetch is one request: more are for StreamClientStatus");
    return self->is_answering ? put_off(self, message, ret_error)
                              : begin_answer(self, message, ret_error);
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    udpai_csds_session *self = of(session);
    if (self->is_fetch && self->n_requests == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a Fetch needs a ClientStatusRequest");
    self->has_ended = true;
    udpai_session_ready(session);
    return UDPA_OK;
}

/* ---- the answer ---- */

static void
on_patience_end(udpai_timer *timer)
{
    udpai_session_finish(&UDPAI_CONTAINER_OF(timer, udpai_csds_session, patience)->session,
                         udpa_error_new(UDPA_ERR_DEADLINE, NULL,
                                        "nothing of the answer was read within %d s",
                                        UDPAI_CSDS_PATIENCE_MS / 1000));
}

static void
forget_writing(udpai_csds_session *self)
{
    if (self->writing.n)
        udpa_bytes_unref(self->writing.items[0]);
    self->writing.n = 0;
}

udpa_err
udpai_csds_session_put(udpai_csds_session *self, udpa_bytes *part)
{
    if (part && udpai_vector_push(&self->writing, part))
        return UDPA_OK;
    udpa_bytes_unref(part);
    return UDPA_ERR_NOMEM;
}

/* The next request, or the end. */
static udpa_err
go_on(udpai_csds_session *self, udpa_error **ret_error)
{
    leave_place(self);
    self->answerer->end(self);
    self->is_answering = self->is_over = false;
    if (self->waiting.n) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = self->waiting.items[0];
        self->waiting.n--;
        memmove(self->waiting.items, self->waiting.items + 1,
                self->waiting.n * sizeof(self->waiting.items[0]));
        return begin_answer(self, udpai_bytes_view(message), ret_error);
    }
    if (self->has_ended || (self->is_fetch && self->is_answered))
        udpai_session_finish(&self->session, NULL);
    else
        udpai_session_pause(&self->session, false);
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_csds_session *self = of(session);
    udpai_wheel *wheel = udpai_hub_wheel(session->hub);
    forget_writing(self);
    udpai_timer_cancel(&self->patience);
    if (!self->is_answering || self->is_over)
        return go_on(self, ret_error);
    udpa_err err = self->answerer->write(self, &self->is_over, ret_error);
    if (err != UDPA_OK || self->writing.n == 0)
        return udpai_fail_code(ret_error, err);
    self->is_answered |= self->is_over;
    udpai_timer_set(wheel, &self->patience, wheel->now_ms + UDPAI_CSDS_PATIENCE_MS);
    out->parts = self->writing.items;
    out->n_parts = self->writing.n;
    *ret_any = true;
    return UDPA_OK;
}

/* ---- the rest ---- */

static void
order(udpai_session *session, udpai_order *order)
{
    of(session)->answerer->order(of(session), order);
}

void
udpai_csds_session_fail(udpai_csds_session *self, udpa_err err, udpa_error *error)
{
    udpai_session_finish(&self->session,
                         error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    udpai_status_put_session(writer, what, NULL, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put_status, session);
}

static void
free_session(udpai_session *session)
{
    udpai_csds_session *self = of(session);
    udpai_timer_cancel(&self->patience);
    forget_writing(self);
    leave_place(self);
    self->answerer->free(self);
    for (size_t i = 0; i < self->waiting.n; i++)
        udpa_bytes_unref(self->waiting.items[i]);
    udpai_vector_done(&self->waiting);
    udpai_vector_done(&self->writing);
    udpai_free(self);
}

udpa_err
udpai_csds_session_init(udpai_csds_session *self,
                        udpai_hub *hub,
                        const udpai_stream_info *info,
                        const udpai_csds_answerer *answerer)
{
    static const udpai_session_ops ops = {
        .name = "csds",
        .receive = receive,
        .next = next,
        .ended = ended,
        .order = order,
        .describe = describe,
        .free = free_session,
    };
    self->answerer = answerer;
    udpai_timer_init(&self->patience, on_patience_end);
    return udpai_session_init(&self->session, hub, &ops, info);
}
