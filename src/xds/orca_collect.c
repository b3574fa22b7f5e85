/* SPDX-License-Identifier: Apache-2.0 */
/* A backend is asked once, and read for as long as it answers. Between two reports it is not read
 * for half an interval, so one that sends more than it was asked for costs no more. */
#include "base/alloc.h"
#include "session/status.h"
#include "xds/orca_internal.h"

typedef struct collect_session {
    udpai_session session; /* first */
    udpai_report *closed;  /* made in time, for it must be given */
    bool has_asked;
    udpa_bytes *request;
    udpai_timer rest; /* until it is read again */
    uint64_t n_received;
} collect_session;

static collect_session *
self_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, collect_session, session);
}

static const udpai_orca_question *
question_of(const collect_session *self)
{
    return self->session.info.context;
}

/* ---- reports ---- */

static void
on_rest_end(udpai_timer *timer)
{
    udpai_session_pause(&UDPAI_CONTAINER_OF(timer, collect_session, rest)->session, false);
}

static void
rest(collect_session *self)
{
    udpai_wheel *wheel = udpai_hub_wheel(self->session.hub);
    udpai_session_pause(&self->session, true);
    udpai_timer_set(wheel, &self->rest, wheel->now_ms + question_of(self)->backend.interval_ms / 2);
}

static udpa_err
hand_up(collect_session *self, const udpai_orca_metrics *metrics)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_orca_question_answer(question_of(self), metrics, &resource);
    if (err == UDPA_OK)
        err = udpai_publication_add(publication, resource, false);
    return err == UDPA_OK
               ? udpai_session_report_publication(&self->session, UDPAI_TAKE(publication))
               : err;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    collect_session *self = self_of(session);
    UDPA_AUTO(udpai_orca_metrics_unref) udpai_orca_metrics *metrics = NULL;
    udpa_err err =
        udpai_orca_report_decode(udpai_hub_decoder(session->hub), message, &metrics, ret_error);
    if (err == UDPA_OK)
        err = hand_up(self, metrics);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    self->n_received++;
    rest(self);
    return UDPA_OK;
}

/* ---- the question ---- */

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    collect_session *self = self_of(session);
    (void)ret_error;
    if (self->has_asked)
        return UDPA_OK;
    self->has_asked = true;
    out->parts = &self->request;
    out->n_parts = 1;
    out->is_last = true;
    *ret_any = true;
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *given)
{
    (void)session; /* its reports are this node's own: no rule and no receipt is about them */
    (void)given;
}

/* ---- coming and going ---- */

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    const collect_session *self = what;
    udpai_status_put_session(writer, &self->session, NULL, self->n_received);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put_status,
                              UDPAI_CONTAINER_OF(session, const collect_session, session));
}

static void
free_session(udpai_session *session)
{
    collect_session *self = self_of(session);
    udpai_session_report_closed(session, self->closed);
    udpai_timer_cancel(&self->rest);
    udpa_bytes_unref(self->request);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "orca-collect",
    .receive = receive,
    .next = next,
    .order = order,
    .describe = describe,
    .free = free_session,
};

udpa_err
udpai_orca_collect_session_new(udpai_session **ret_session,
                               udpai_hub *hub,
                               const udpai_stream_info *info)
{
    collect_session *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->closed = udpai_report_new(UDPAI_REPORT_CLOSED);
    self->request = self->closed ? udpai_orca_question_encode(info->context) : NULL;
    udpa_err err =
        self->request ? udpai_session_init(&self->session, hub, &ops, info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_report_free(self->closed);
        udpa_bytes_unref(self->request);
        udpai_free(self);
        return err;
    }
    udpai_timer_init(&self->rest, on_rest_end);
    *ret_session = &self->session;
    err = udpai_session_report_opened(&self->session);
    if (err == UDPA_OK)
        udpai_session_ready(&self->session);
    else
        udpai_session_finish(&self->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}
