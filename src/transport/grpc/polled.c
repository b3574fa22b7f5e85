/* SPDX-License-Identifier: Apache-2.0 */
/* A bridge to a server of REST that is polled: to the hub, a stream that was dialled like any
 * other. Requests are carried by another thread (transport/http_client.h); which, and when,
 * udpai_polling knows. */
#include <sys/random.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

typedef struct polled polled;

typedef struct polled_request {
    udpai_http_request base; /* first */
    polled *owner;
    udpai_request request; /* to the stream thread: it is over */
    size_t index;          /* of its type */
} polled_request;

struct polled {
    udpai_bridge bridge; /* first */
    udpai_grpc_target *target;
    udpai_report *report; /* of a failure to connect; made in time; NULL: there is a session */
    udpai_polling *polling;
    polled_request *probe; /* is somebody there? NULL: it is known, or not any more */
    polled_request *requests[UDPAI_XDS_POLLS]; /* under way */
    uint64_t random;
};

static udpai_http_client *
client_of(const polled *self)
{
    return udpai_grpc_target_http_client(self->target);
}

/* ---- requests ---- */

static void
free_request(polled_request *http_request)
{
    udpa_bytes_unref(http_request->base.message);
    udpa_bytes_unref(http_request->base.answer);
    udpa_error_unref(http_request->base.error);
    udpai_identity_unref(http_request->base.identity);
    udpai_free(http_request);
}

static void run_over(udpai_request *request);

/* On the client's thread. The stream thread does not end while one is under way. */
static void
on_over(udpai_http_request *base)
{
    polled_request *http_request = (polled_request *)base;
    (void)udpai_thread_request(http_request->owner->bridge.thread, &http_request->request,
                               run_over);
}

/* @p of: NULL for the probe. NULL: it could not be begun. */
static polled_request *
begin_request(polled *self, const udpai_polling_request *of, udpa_error **ret_error)
{
    const udpai_stream_thread *thread = self->bridge.thread;
    const udpai_polled_server *server = udpai_grpc_target_server(self->target);
    polled_request *http_request = udpai_alloc(sizeof(*http_request));
    if (!http_request) {
        udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        return NULL;
    }
    udpai_list_init(&http_request->base.node);
    atomic_init(&http_request->base.is_cancelled, false);
    http_request->base.over = on_over;
    http_request->base.max_bytes = thread->limits.max_source_message_bytes;
    http_request->base.timeout_ms =
        of ? udpai_polled_server_options(server)->timeout_ms : thread->timing.dial_timeout_ms;
    http_request->owner = self;
    if (of) {
        http_request->base.path = of->path;
        http_request->base.message = udpa_bytes_ref(of->message);
        http_request->index = of->index;
    }
    udpai_http_client *client = client_of(self);
    if (client->ops->begin(client, &http_request->base, ret_error) != UDPA_OK) {
        free_request(http_request);
        return NULL;
    }
    self->bridge.n_requests++;
    return http_request;
}

static void
cancel_request(const polled *self, polled_request *http_request)
{
    udpai_http_client *client = client_of(self);
    if (http_request)
        client->ops->cancel(client, &http_request->base);
}

static void
on_stop(udpai_bridge *bridge)
{
    const polled *self = (const polled *)bridge;
    udpai_polling_stop(self->polling);
    cancel_request(self, self->probe);
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++)
        cancel_request(self, self->requests[i]);
}

/* ---- what polling needs ---- */

static udpa_err
on_begin(void *userdata, const udpai_polling_request *request)
{
    polled *self = userdata;
    self->requests[request->index] = begin_request(self, request, NULL);
    return self->requests[request->index] ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
on_cancel(void *userdata, size_t index)
{
    const polled *self = userdata;
    cancel_request(self, self->requests[index]);
}

static void
on_deliver(void *userdata, udpai_str response, const udpai_trace *trace)
{
    udpai_session *session = ((udpai_bridge *)userdata)->session;
    session->trace = *trace;
    udpai_session_receive(session, response);
}

static void
on_fail(void *userdata, udpa_error *error)
{
    udpai_session_finish(((udpai_bridge *)userdata)->session, error);
}

/* Spreads requests; nothing secret hangs on it. */
static uint64_t
on_random(void *userdata)
{
    polled *self = userdata;
    uint64_t x = self->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 31);
}

static const udpai_polling_ops polling_ops = {
    .begin = on_begin,
    .cancel = on_cancel,
    .deliver = on_deliver,
    .fail = on_fail,
    .random = on_random,
};

/* ---- what the hub asks of it ---- */

static udpa_err
send_message(const polled *self, const udpai_outgoing *message)
{
    size_t size = message->tail_len;
    uint8_t *room;
    for (size_t i = 0; i < message->n_parts; i++)
        size += udpa_bytes_size(message->parts[i]);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *whole = udpai_bytes_make(size, &room);
    if (!whole)
        return UDPA_ERR_NOMEM;
    char *at = (char *)room;
    for (size_t i = 0; i < message->n_parts; i++)
        udpai_str_put(&at, udpai_bytes_view(message->parts[i]));
    udpai_str_put(&at, (udpai_str){(const char *)message->tail, message->tail_len});
    return udpai_polling_send(self->polling, udpai_bytes_view(whole));
}

static void
polled_write(udpai_stream *stream, const udpai_outgoing *message)
{
    polled *self = (polled *)stream;
    bool is_sent = send_message(self, message) == UDPA_OK;
    udpai_bridge_written(&self->bridge, is_sent ? UDPA_OK : UDPA_ERR_NOMEM);
}

static void
polled_set_reading(udpai_stream *stream, bool reading)
{
    udpai_polling_set_reading(((polled *)stream)->polling, reading);
}

static const udpai_stream_ops ops = {
    .write = polled_write,
    .set_reading = polled_set_reading,
    .finish = udpai_bridge_stream_finish,
};

/* ---- its life ---- */

static void
on_ended(udpai_bridge *bridge)
{
    polled *self = (polled *)bridge;
    if (self->report)
        udpai_client_report_closed(bridge->thread, self->report, bridge->link,
                                   udpa_error_ref(bridge->error));
    udpai_polling_free(self->polling);
    udpai_grpc_target_unref(self->target);
    udpa_error_unref(bridge->error);
    udpai_free(self);
}

static void
open_session(polled *self, udpai_identity *identity)
{
    const udpai_grpc_method *method = udpai_grpc_target_method(self->target);
    udpai_str address = udpai_str_from(udpai_grpc_target_address(self->target, 0));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *peer = NULL;
    udpa_err err = udpa_bytes_new(&peer, address.data, address.len);
    const udpai_stream_info info = {
        .stream = (udpai_stream *)self,
        .ops = &ops,
        .identity = identity,
        .address = peer,
        .link = self->bridge.link,
        .context = method->context,
    };
    if (err == UDPA_OK)
        err = method->open(&self->bridge.session, self->bridge.thread->hub, &info);
    if (err == UDPA_OK)
        self->report = udpai_report_free(self->report);
    else
        udpai_bridge_finish(&self->bridge, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
receive(polled *self, const polled_request *http_request)
{
    const udpai_http_request *base = &http_request->base;
    const udpai_polling_response response = {
        .outcome = base->error    ? UDPAI_POLLING_FAILED
                   : base->answer ? UDPAI_POLLING_NEW
                                  : UDPAI_POLLING_SAME,
        .message = base->answer ? udpai_bytes_view(base->answer) : (udpai_str){"", 0},
        .server_holds = base->server_holds,
        .trace = base->trace,
        .error = base->error,
    };
    udpai_polling_receive(self->polling, http_request->index, &response);
}

static void
run_over(udpai_request *request)
{
    polled_request *http_request = UDPAI_CONTAINER_OF(request, polled_request, request);
    polled *self = http_request->owner;
    bool is_probe = http_request == self->probe;
    self->bridge.n_requests--;
    if (is_probe)
        self->probe = NULL;
    else
        self->requests[http_request->index] = NULL;
    if (self->bridge.is_finished)
        udpai_bridge_due(&self->bridge);
    else if (!is_probe)
        receive(self, http_request);
    else if (http_request->base.error)
        udpai_bridge_finish(&self->bridge, udpa_error_ref(http_request->base.error));
    else
        open_session(self, http_request->base.identity);
    free_request(http_request);
}

/* ---- dialling ---- */

static polled *
make(udpai_stream_thread *thread, const udpai_order *order)
{
    polled *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    udpai_polling_ops with = polling_ops;
    with.userdata = self;
    self->polling =
        udpai_polling_new(udpai_grpc_target_server(order->target), &thread->wheel, &with);
    if (!self->polling) {
        udpai_free(self);
        return NULL;
    }
    self->target = udpai_grpc_target_ref(order->target);
    self->random = order->link;
    (void)!getrandom(&self->random, sizeof(self->random), GRND_NONBLOCK);
    udpai_bridge_init(&self->bridge);
    self->bridge.thread = thread;
    self->bridge.link = order->link;
    self->bridge.stop = on_stop;
    self->bridge.ended = on_ended;
    return self;
}

bool
udpai_polled_dial(udpai_stream_thread *thread, const udpai_order *order, udpai_report *report)
{
    udpa_error *error = NULL;
    polled *self = make(thread, order);
    if (!self)
        return false;
    self->report = report;
    udpai_list_append(&thread->bridges, &self->bridge.node);
    self->probe = begin_request(self, NULL, &error);
    if (!self->probe)
        udpai_bridge_finish(&self->bridge, error);
    return true;
}
