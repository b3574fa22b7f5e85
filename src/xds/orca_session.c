/* SPDX-License-Identifier: Apache-2.0 */
/* One request, then a report now and after every interval, for as long as the caller stays. A slow
 * reader gets fewer: one is under way at a time, and the next has what is known then. */
#include "base/alloc.h"
#include "session/status.h"
#include "xds/orca.h"

typedef struct orca_session {
    udpai_session session; /* first */
    udpai_orca_form form;
    udpai_orca_request *request; /* NULL: it has not come yet */
    udpai_timer interval;
    bool is_due;
    udpa_bytes *writing; /* what was written last */
} orca_session;

static orca_session *
self_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, orca_session, session);
}

static void
on_interval(udpai_timer *timer)
{
    orca_session *self = UDPAI_CONTAINER_OF(timer, orca_session, interval);
    udpai_wheel *wheel = udpai_hub_wheel(self->session.hub);
    udpai_timer_set(wheel, timer, wheel->now_ms + self->request->interval_ms);
    self->is_due = true;
    udpai_session_ready(&self->session);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    orca_session *self = self_of(session);
    if (self->request)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "StreamCoreMetrics takes one request, and this is another: for another "
                          "interval begin another stream");
    udpa_err err = udpai_orca_request_decode(udpai_hub_decoder(session->hub), message,
                                             &self->request, ret_error);
    if (err == UDPA_OK)
        on_interval(&self->interval);
    return err;
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return self_of(session)->request
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL,
                            "StreamCoreMetrics needs an OrcaLoadReportRequest");
}

/* NULL without memory. */
static udpa_bytes *
choose_bytes(const orca_session *self, const udpai_orca_metrics *metrics)
{
    const udpai_orca_request *request = self->request;
    return request->n_cost_names
               ? udpai_orca_metrics_encode(metrics, self->form, request->cost_names,
                                           request->n_cost_names)
               : udpa_bytes_ref(udpai_orca_metrics_bytes(metrics, self->form));
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    orca_session *self = self_of(session);
    const udpai_orca_service *service = session->info.context;
    (void)ret_error;
    if (!self->is_due)
        return UDPA_OK;
    self->is_due = false;
    UDPA_AUTO(udpai_orca_metrics_unref)
    udpai_orca_metrics *metrics = service->get(service->userdata);
    if (!metrics)
        return UDPA_OK; /* nothing is known yet: the next interval asks again */
    udpa_bytes_unref(self->writing);
    self->writing = choose_bytes(self, metrics);
    if (!self->writing)
        return UDPA_ERR_NOMEM;
    out->parts = &self->writing;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *given)
{
    (void)session; /* every peer that may connect may ask: there are no rules for it */
    (void)given;
}

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    const orca_session *self = what;
    udpai_status_put_session(writer, &self->session, NULL, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put_status, UDPAI_CONTAINER_OF(session, const orca_session, session));
}

static void
free_session(udpai_session *session)
{
    orca_session *self = self_of(session);
    udpai_timer_cancel(&self->interval);
    udpa_bytes_unref(self->writing);
    udpai_free(self->request);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "orca",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = free_session,
};

static udpa_err
make(udpai_session **ret_session,
     udpai_hub *hub,
     const udpai_stream_info *info,
     udpai_orca_form form)
{
    orca_session *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    self->form = form;
    udpai_timer_init(&self->interval, on_interval);
    *ret_session = &self->session;
    return UDPA_OK;
}

udpa_err
udpai_orca_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    return make(ret_session, hub, info, UDPAI_ORCA_V3);
}

udpa_err
udpai_orca_v1_session_new(udpai_session **ret_session,
                          udpai_hub *hub,
                          const udpai_stream_info *info)
{
    return make(ret_session, hub, info, UDPAI_ORCA_V1);
}

const char *
udpai_orca_absent(void)
{
    return NULL;
}
