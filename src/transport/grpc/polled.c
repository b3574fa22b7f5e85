/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on the stream thread whose stream is no call of gRPC, but a server of REST that is asked
 * again and again: to the hub, a stream that was dialled like any other. Somebody else's thread
 * asks (transport/http_client.h); what there is to ask, and when, udpai_polling knows. What the hub
 * must not hear before its call has returned waits in due_polled, as with bridged streams. */
#include <sys/random.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

typedef struct polled_request {
    udpai_http_request base; /* first */
    udpai_polled *polled;
    udpai_request request; /* to the stream thread: it is over */
    size_t index;          /* of its type */
} polled_request;

struct udpai_polled {
    udpai_stream_thread *thread;
    udpai_list node, in_due;
    uint64_t link;
    udpai_grpc_target *target;
    udpai_report *report; /* of a failure to connect; made in time */
    udpai_session *session;
    udpai_polling *polling;
    polled_request *probe; /* is somebody there? NULL: it is known, or not any more */
    polled_request *requests[UDPAI_XDS_POLLS]; /* under way */
    size_t n_requests;                         /* the probe, too */
    bool is_written, is_finished, has_no_memory;
    udpa_error *status; /* with which it was finished */
    uint64_t random;
};

/* The hub knows the stream of a polled server by its address alone. */
static udpai_polled *
polled_of(udpai_stream *stream)
{
    return (udpai_polled *)stream;
}

static void
make_due(udpai_polled *self)
{
    if (!udpai_list_linked(&self->in_due))
        udpai_list_append(&self->thread->due_polled, &self->in_due);
}

static udpai_http_client *
client_of(const udpai_polled *self)
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
    (void)udpai_thread_request(http_request->polled->thread, &http_request->request, run_over);
}

/* NULL: it could not be begun. */
static polled_request *
begin_request(udpai_polled *self, const udpai_question *question, udpa_error **ret_error)
{
    const udpai_stream_thread *thread = self->thread;
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
        question ? udpai_polled_server_options(server)->timeout_ms : thread->timing.dial_timeout_ms;
    http_request->polled = self;
    if (question) {
        http_request->base.path = question->path;
        http_request->base.message = udpa_bytes_ref(question->message);
        http_request->index = question->index;
    }
    udpai_http_client *client = client_of(self);
    if (client->ops->begin(client, &http_request->base, ret_error) != UDPA_OK) {
        free_request(http_request);
        return NULL;
    }
    self->n_requests++;
    return http_request;
}

static void
cancel_request(const udpai_polled *self, polled_request *http_request)
{
    udpai_http_client *client = client_of(self);
    if (http_request)
        client->ops->cancel(client, &http_request->base);
}

static void
cancel_all(const udpai_polled *self)
{
    cancel_request(self, self->probe);
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++)
        cancel_request(self, self->requests[i]);
}

/* ---- what polling asks of it ---- */

static udpa_err
on_ask(void *userdata, const udpai_question *question)
{
    udpai_polled *self = userdata;
    polled_request *http_request = begin_request(self, question, NULL);
    if (!http_request)
        return UDPA_ERR_NOMEM;
    self->requests[question->index] = http_request;
    return UDPA_OK;
}

static void
on_cancel(void *userdata, size_t index)
{
    const udpai_polled *self = userdata;
    cancel_request(self, self->requests[index]);
}

static void
on_deliver(void *userdata, udpai_str response)
{
    udpai_session_receive(((udpai_polled *)userdata)->session, response);
}

static void
on_fail(void *userdata, udpa_error *error)
{
    udpai_session_finish(((udpai_polled *)userdata)->session, error);
}

/* Spreads requests; nothing secret hangs on it. */
static uint64_t
on_random(void *userdata)
{
    udpai_polled *self = userdata;
    uint64_t x = self->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 31);
}

/* ---- what the hub asks of it ---- */

static udpa_err
say(udpai_polled *self, const udpai_outgoing *message)
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
    return udpai_polling_say(self->polling, udpai_bytes_view(whole));
}

static void
polled_write(udpai_stream *stream, const udpai_outgoing *message)
{
    udpai_polled *self = polled_of(stream);
    if (say(self, message) != UDPA_OK)
        self->has_no_memory = true;
    self->is_written = true;
    make_due(self);
}

static void
polled_set_reading(udpai_stream *stream, bool reading)
{
    udpai_polling_set_reading(polled_of(stream)->polling, reading);
}

static void
polled_finish(udpai_stream *stream, const udpa_error *status)
{
    udpai_polled *self = polled_of(stream);
    self->is_finished = true;
    self->status = udpa_error_ref((udpa_error *)(uintptr_t)status);
    udpai_polling_stop(self->polling);
    cancel_all(self);
    make_due(self);
}

static const udpai_stream_ops ops = {
    .write = polled_write,
    .set_reading = polled_set_reading,
    .finish = polled_finish,
};

/* ---- its life ---- */

static void
report_closed(udpai_polled *self)
{
    udpai_stream_thread *thread = self->thread;
    udpai_report *report = UDPAI_TAKE(self->report);
    report->link = self->link;
    report->error = udpa_error_ref(self->status);
    thread->report(thread->userdata, report);
}

static void
end(udpai_polled *self)
{
    udpai_stream_thread *thread = self->thread;
    udpai_list_remove(&self->node);
    udpai_list_remove(&self->in_due);
    if (self->session)
        udpai_session_closed(UDPAI_TAKE(self->session), self->status);
    else
        report_closed(self);
    udpai_polling_free(self->polling);
    udpai_report_free(self->report);
    udpai_grpc_target_unref(self->target);
    udpa_error_unref(self->status);
    udpai_free(self);
    udpai_thread_check_end(thread);
}

bool
udpai_polled_settle(udpai_stream_thread *thread)
{
    udpai_list due, *at;
    udpai_list_init(&due);
    udpai_list_splice(&due, &thread->due_polled);
    if (udpai_list_empty(&due))
        return false;
    while ((at = udpai_list_pop(&due))) {
        udpai_polled *self = UDPAI_LIST_ENTRY(at, udpai_polled, in_due);
        bool is_written = self->is_written;
        self->is_written = false;
        if (self->is_finished && self->n_requests == 0)
            end(self);
        else if (self->has_no_memory && !self->is_finished)
            udpai_session_finish(self->session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "%s",
                                                               udpa_err_text(UDPA_ERR_NOMEM)));
        else if (is_written && !self->is_finished)
            udpai_session_written(self->session);
    }
    return true;
}

/* Before there is a session. Takes the error over. */
static void
give_up(udpai_polled *self, udpa_error *error)
{
    if (self->is_finished) {
        udpa_error_unref(error);
        return;
    }
    self->is_finished = true;
    self->status = error;
    cancel_all(self);
    make_due(self);
}

static void
open_session(udpai_polled *self, udpai_identity *identity)
{
    const udpai_grpc_method *method = udpai_grpc_target_method(self->target);
    udpai_str address = udpai_str_from(udpai_grpc_target_address(self->target));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *peer = NULL;
    udpa_err err = udpa_bytes_new(&peer, address.data, address.len);
    const udpai_stream_info info = {
        .stream = (udpai_stream *)self,
        .ops = &ops,
        .identity = identity,
        .address = peer,
        .link = self->link,
        .context = method->context,
    };
    if (err == UDPA_OK)
        err = method->open(&self->session, self->thread->hub, &info);
    if (err != UDPA_OK)
        give_up(self, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
take_answer(udpai_polled *self, const polled_request *http_request)
{
    const udpa_error *error = http_request->base.error;
    bool is_cancelled = error && udpa_error_code(error) == UDPA_ERR_CANCELLED;
    const udpai_answer answer = {
        .outcome = error                       ? UDPAI_ANSWER_FAILED
                   : http_request->base.answer ? UDPAI_ANSWER_NEW
                                               : UDPAI_ANSWER_SAME,
        .response = http_request->base.answer ? udpai_bytes_view(http_request->base.answer)
                                              : (udpai_str){"", 0},
        .is_held = http_request->base.is_held,
        .error = is_cancelled ? NULL : error,
    };
    udpai_polling_answered(self->polling, http_request->index, &answer);
}

static void
run_over(udpai_request *request)
{
    polled_request *http_request = UDPAI_CONTAINER_OF(request, polled_request, request);
    udpai_polled *self = http_request->polled;
    bool is_probe = http_request == self->probe;
    self->n_requests--;
    if (is_probe)
        self->probe = NULL;
    else
        self->requests[http_request->index] = NULL;
    if (self->is_finished)
        make_due(self);
    else if (!is_probe)
        take_answer(self, http_request);
    else if (http_request->base.error)
        give_up(self, udpa_error_ref(http_request->base.error));
    else
        open_session(self, http_request->base.identity);
    free_request(http_request);
}

/* ---- dialling ---- */

static udpai_polled *
make(udpai_stream_thread *thread, const udpai_order *order)
{
    udpai_polled *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->thread = thread;
    self->link = order->link;
    self->target = udpai_grpc_target_ref(order->target);
    self->random = order->link;
    (void)!getrandom(&self->random, sizeof(self->random), GRND_NONBLOCK);
    udpai_list_init(&self->in_due);
    udpai_list_init(&self->node);
    const udpai_polling_ops polling = {
        .ask = on_ask,
        .cancel = on_cancel,
        .deliver = on_deliver,
        .fail = on_fail,
        .random = on_random,
        .userdata = self,
    };
    self->polling =
        udpai_polling_new(udpai_grpc_target_server(self->target), &thread->wheel, &polling);
    if (self->polling)
        return self;
    udpai_grpc_target_unref(self->target);
    udpai_free(self);
    return NULL;
}

bool
udpai_polled_dial(udpai_stream_thread *thread, const udpai_order *order, udpai_report *report)
{
    udpa_error *error = NULL;
    udpai_polled *self = make(thread, order);
    if (!self)
        return false;
    self->report = report;
    udpai_list_append(&thread->polled, &self->node);
    self->probe = begin_request(self, NULL, &error);
    if (!self->probe)
        give_up(self, error);
    return true;
}

static void
finish(udpai_polled *self, const udpa_error *why)
{
    udpa_error *error = udpa_error_ref((udpa_error *)(uintptr_t)why);
    if (self->session)
        udpai_session_finish(self->session, error);
    else
        give_up(self, error);
}

void
udpai_polled_stop_dialling(udpai_stream_thread *thread, uint64_t link)
{
    UDPAI_LIST_FOREACH (at, &thread->polled) {
        udpai_polled *self = UDPAI_LIST_ENTRY(at, udpai_polled, node);
        if (self->link == link)
            finish(self, NULL);
    }
}

void
udpai_polled_finish(udpai_stream_thread *thread, const udpa_error *why)
{
    UDPAI_LIST_FOREACH (at, &thread->polled)
        finish(UDPAI_LIST_ENTRY(at, udpai_polled, node), why);
}
