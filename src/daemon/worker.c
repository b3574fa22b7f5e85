/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "daemon/certificates.h"
#include "daemon/liveness.h"
#include "daemon/log_sink.h"
#include "daemon/rest.h"
#include "daemon/tunables.h"
#include "daemon/worker_counts.h"
#include "daemon/worker_link.h"
#include "daemon/worker_sockets.h"
#include "loop/clock.h"
#include "loop/loop_inbox.h"
#include "session/transfer.h"
#include "session/worker_pool.h"
#include "transport/socket_list.h"

#define LOG "worker"
/* A change set of everything that a node may hold is larger than any message of a peer. */
#define MAX_ORDER_BYTES ((size_t)1 << 30)
#define COUNTS_MS 500

typedef struct worker {
    const udpai_plan *plan;
    const udpai_options *options;
    udpai_plan *values;  /* limits, times and the log of the present bootstrap file */
    udpa_bytes *runtime; /* what the node has sent of it last; NULL: nothing */
    uv_loop_t loop;
    udpai_stream_thread *streams;
    udpai_rest *rest;                 /* NULL: no socket serves it */
    udpai_loop_inbox *reports, *ends; /* of the stream thread */
    udpai_list stopped;               /* sent once */
    udpai_worker_link *link;
    udpai_transfer transfer;
    UDPAI_VECTOR(udpai_server_tls *) tls; /* of each socket; NULL: plaintext */
    uv_timer_t counting, beating;
    udpa_error *why; /* it has failed */
    bool is_stopping;
} worker;

/* ---- the end ---- */

/* The stream thread reports when it has ended. */
static void
on_rest_closed(void *userdata)
{
    udpai_stream_thread_stop(((worker *)userdata)->streams, "the endpoint is shutting down");
}

/* Requests by REST are served by the stream thread, so that ends last. */
static void
stop(worker *self, const udpa_error *why)
{
    if (why && !self->why)
        self->why = udpa_error_ref((udpa_error *)(uintptr_t)why);
    if (self->is_stopping)
        return;
    self->is_stopping = true;
    udpai_rest_close(self->rest, on_rest_closed, self);
}

static void
free_reports(udpai_list *left)
{
    udpai_list *at;
    while ((at = udpai_list_pop(left)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
}

static void
take_end(void *userdata, udpai_list *messages)
{
    worker *self = userdata;
    udpai_list left;
    udpai_list_init(&left);
    while (udpai_list_pop(messages))
        continue;
    self->streams = udpai_stream_thread_free(self->streams);
    self->rest = udpai_rest_free(self->rest);
    udpai_loop_inbox_close(UDPAI_TAKE(self->reports), &left);
    free_reports(&left);
    udpai_loop_inbox_close(UDPAI_TAKE(self->ends), &left);
    udpai_worker_link_close(UDPAI_TAKE(self->link));
    uv_close((uv_handle_t *)&self->counting, NULL);
    uv_close((uv_handle_t *)&self->beating, NULL);
}

/* ---- what it reports ---- */

static void
send_report(worker *self, const udpai_report *report)
{
    udpai_strbuf bytes = {0};
    udpa_err err = udpai_report_encode(report, &bytes);
    if (err == UDPA_OK) {
        (void)udpai_worker_link_send(self->link, UDPAI_FRAME_REPORT, udpai_strbuf_view(&bytes));
    } else {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *why =
            udpa_error_new(err, NULL, "a report cannot be sent: %s", udpa_err_text(err));
        stop(self, why);
    }
    udpai_strbuf_done(&bytes);
}

static void
take_reports(void *userdata, udpai_list *messages)
{
    worker *self = userdata;
    udpai_list *at;
    while ((at = udpai_list_pop(messages))) {
        udpai_report *report = UDPAI_LIST_ENTRY(at, udpai_report, node);
        send_report(self, report);
        udpai_report_free(report);
    }
}

/* Also if nothing has changed: a worker of which nothing is received does not run. */
static void
send_counts(uv_timer_t *timer)
{
    worker *self = timer->data;
    udpai_strbuf bytes = {0};
    const udpai_stream_counts counts = udpai_stream_counts_of(self->streams);
    udpai_worker_counts_encode(&counts, &bytes);
    udpai_stream_thread_read_meters(self->streams, udpai_reading_encode, &bytes);
    if (!udpai_strbuf_failed(&bytes))
        (void)udpai_worker_link_send(self->link, UDPAI_FRAME_COUNTS, udpai_strbuf_view(&bytes));
    udpai_strbuf_done(&bytes);
}

/* On the stream thread. */
static void
on_report(void *userdata, udpai_report *report)
{
    udpai_loop_inbox_push(((worker *)userdata)->reports, &report->node);
}

/* On the stream thread. */
static void
on_stopped(void *userdata)
{
    worker *self = userdata;
    udpai_loop_inbox_push(self->ends, &self->stopped);
}

/* That it turns. */
static void
send_beat(uv_timer_t *timer)
{
    worker *self = timer->data;
    bool turns = udpai_liveness_streams_turn(self->streams, udpai_monotonic_ms());
    (void)udpai_worker_link_send(self->link, UDPAI_FRAME_ALIVE,
                                 turns ? UDPAI_STR("1") : UDPAI_STR("0"));
}

/* ---- what it is sent ---- */

static udpa_err
listen_on(worker *self, size_t index, const char *address, udpa_error **ret_error)
{
    udpai_server_tls *tls = NULL;
    udpai_listener *listener = NULL;
    if (index >= self->plan->sockets.n)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "the bootstrap file has changed");
    udpa_err err = udpai_certificates_server(self->plan->sockets.items[index].tls, &tls, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_vector_push(&self->tls, tls)) {
        udpai_server_tls_unref(tls);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpai_listen_options options =
        udpai_plan_listen_options(&self->plan->sockets.items[index], address, tls);
    if (!self->plan->settings.acceptance) /* gRPC's library opens it */
        return udpai_stream_thread_listen(self->streams, &options, &listener, ret_error);
    int socket = -1;
    err = udpai_worker_sockets_take(UDPAI_WORKER_SOCKETS_FD, address, &socket, ret_error);
    if (err != UDPA_OK)
        return err;
    options.socket = &socket;
    options.visits = udpai_rest_visits(self->rest, &self->plan->sockets.items[index]);
    err = udpai_stream_thread_listen(self->streams, &options, &listener, ret_error);
    close(socket);
    return err;
}

/* Addresses, each with a NUL. */
static void
begin_to_listen(worker *self, udpai_str addresses)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = UDPA_OK;
    for (size_t at = 0, i = 0; at < addresses.len && err == UDPA_OK; i++) {
        err = listen_on(self, i, addresses.data + at, &error);
        at += strnlen(addresses.data + at, addresses.len - at) + 1;
    }
    if (err == UDPA_OK)
        (void)udpai_worker_link_send(self->link, UDPAI_FRAME_LISTENING, (udpai_str){0});
    else
        (void)udpai_worker_link_send(self->link, UDPAI_FRAME_FAILED,
                                     udpai_str_from(udpa_error_message(error)));
}

static void
take_order(worker *self, udpai_str payload)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_order *order = NULL;
    if (udpai_order_decode(&self->transfer, payload, &order, &error) == UDPA_OK)
        udpai_stream_thread_order(self->streams, order);
    else
        stop(self, error); /* it would never be up to date again */
}

static void
read_certificates(worker *self)
{
    for (size_t i = 0; i < self->tls.n; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpa_err err = self->tls.items[i]
                           ? udpai_certificates_server_again(self->plan->sockets.items[i].tls,
                                                             self->tls.items[i], &error)
                           : UDPA_OK;
        if (err != UDPA_OK)
            udpai_log(UDPA_LOG_ERROR, LOG, "%s", udpa_error_message(error));
    }
    udpai_stream_thread_verify(self->streams);
}

/* The node has reported what is wrong in it. */
static void
on_complaint(void *userdata, udpai_str key, const char *line)
{
    (void)userdata;
    (void)key;
    (void)line;
}

/* The bootstrap file's values, with those of the runtime in their place. */
static udpa_err
read_tunables(const worker *self, udpai_tunables *ret_tunables)
{
    UDPA_AUTO(udpai_runtime_snapshot_unref) udpai_runtime_snapshot *snapshot = NULL;
    udpai_tunables_init(ret_tunables, self->values ? self->values : self->plan);
    if (!self->runtime)
        return UDPA_OK;
    udpa_err err = udpai_tunables_decode(udpai_bytes_view(self->runtime), &snapshot);
    return err ? err : udpai_tunables_read(ret_tunables, snapshot, on_complaint, NULL);
}

static udpa_err
use_tunables(const worker *self)
{
    udpai_tunables tunables;
    udpa_err err = read_tunables(self, &tunables);
    if (err)
        return err;
    const udpai_stream_switches streams = udpai_tunables_of_streams(&tunables);
    udpai_tunables_apply_log(&tunables);
    udpai_xds_groups_set_max((udpai_xds_groups *)(uintptr_t)&self->plan->xds.groups,
                             tunables.max_groups, tunables.max_groups_of_identity);
    return udpai_stream_thread_switch(self->streams, &streams);
}

static void
follow_runtime(worker *self, udpai_str payload)
{
    udpa_bytes *runtime = NULL;
    udpa_err err = udpa_bytes_new(&runtime, payload.data, payload.len);
    if (!err) {
        udpa_bytes_unref(self->runtime);
        self->runtime = runtime;
        err = use_tunables(self);
    }
    if (err)
        udpai_log(UDPA_LOG_ERROR, LOG, "the runtime is not followed: %s", udpa_err_text(err));
}

/* Rules come as orders, certificates by themselves. */
static void
follow_bootstrap(worker *self, udpai_str payload)
{
    udpai_plan *values = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_plan_values_new(&values, payload, self->options, &error);
    if (!err)
        err = udpai_log_change(&values->log_target, &error);
    if (err) {
        udpai_plan_free(values);
    } else {
        udpai_plan_free(self->values);
        self->values = values;
        err = use_tunables(self);
    }
    if (err)
        udpai_log(UDPA_LOG_ERROR, LOG, "limits, times and the log stay as they were: %s",
                  error ? udpa_error_message(error) : udpa_err_text(err));
}

static void
on_frame(void *userdata, udpai_frame_kind kind, udpai_str payload)
{
    worker *self = userdata;
    if (kind == UDPAI_FRAME_LISTEN)
        begin_to_listen(self, payload);
    else if (kind == UDPAI_FRAME_ORDER)
        take_order(self, payload);
    else if (kind == UDPAI_FRAME_CERTIFICATES)
        read_certificates(self);
    else if (kind == UDPAI_FRAME_SWITCHES)
        follow_runtime(self, payload);
    else if (kind == UDPAI_FRAME_BOOTSTRAP)
        follow_bootstrap(self, payload);
    else if (kind == UDPAI_FRAME_SERVING)
        (void)udpai_stream_thread_set_serving(self->streams, udpai_str_eq(payload, UDPAI_STR("1")));
    else if (kind == UDPAI_FRAME_MUTE)
        udpai_socket_list_set_muted(udpai_str_eq(payload, UDPAI_STR("1")));
    else if (kind == UDPAI_FRAME_REOPEN_LOG)
        udpai_log_reopen();
}

static void
on_ended(void *userdata, const udpa_error *why)
{
    stop(userdata, why);
}

/* ---- its life ---- */

static udpa_err
begin(worker *self, size_t number, udpa_error **ret_error)
{
    const udpai_streams_env streams = {
        .report = on_report,
        .stopped = on_stopped,
        .userdata = self,
        .first_session = number,
        .session_step = UDPAI_WORKER_POOL_STEP,
        .shares_ports = true,
        .is_worker = true,
    };
    const udpai_worker_link_env link = {on_frame, on_ended, self, MAX_ORDER_BYTES};
    udpa_err err = udpai_loop_inbox_new(&self->reports, &self->loop, take_reports, self, ret_error);
    if (err == UDPA_OK)
        err = udpai_loop_inbox_new(&self->ends, &self->loop, take_end, self, ret_error);
    if (err == UDPA_OK)
        err = udpai_worker_link_open(&self->link, &self->loop, UDPAI_WORKER_FD, &link, ret_error);
    if (err == UDPA_OK)
        err =
            udpai_endpoint_make_streams(&self->streams, &self->plan->settings, &streams, ret_error);
    if (err == UDPA_OK)
        err = udpai_rest_open(&self->rest,
                              &(udpai_rest_env){
                                  .loop = &self->loop,
                                  .streams = self->streams,
                                  .schema = self->plan->schema,
                                  .plan = self->plan,
                              },
                              ret_error);
    if (err != UDPA_OK)
        return err;
    uv_timer_init(&self->loop, &self->counting); /* neither can fail */
    self->counting.data = self;
    uv_timer_start(&self->counting, send_counts, COUNTS_MS, COUNTS_MS);
    uv_timer_init(&self->loop, &self->beating);
    self->beating.data = self;
    uv_timer_start(&self->beating, send_beat, 0, UDPAI_LIVENESS_BEAT_MS);
    return err;
}

/* The end of the node ends its workers: they see it hang up. It also sends them what SIGUSR1 is
 * for. */
static void
ignore_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        signal(numbers[i], SIG_IGN);
}

static udpa_err
read_all(int fd, char *to, size_t size)
{
    size_t n = 0;
    while (n < size) {
        ssize_t more = pread(fd, to + n, size - n, (off_t)n);
        if (more <= 0)
            return UDPA_ERR_IO;
        n += (size_t)more;
    }
    return UDPA_OK;
}

udpa_err
udpai_worker_read_bootstrap(udpai_bootstrap *ret_bootstrap, udpa_error **ret_error)
{
    struct stat info;
    int fd = UDPAI_WORKER_BOOTSTRAP_FD;
    size_t size = fstat(fd, &info) == 0 ? (size_t)info.st_size : 0;
    UDPAI_AUTO_FREE char *room = udpai_alloc(size + 1);
    udpa_err err = room ? read_all(fd, room, size) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_bootstrap_unpack(ret_bootstrap, (udpai_str){room, size});
    close(fd);
    return err == UDPA_OK ? err
                          : udpai_fail(ret_error, err,
                                       "worker: the bootstrap file of the node is not there: %s",
                                       udpa_err_text(err));
}

udpa_err
udpai_worker_run(const udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    static worker self; /* the process has one */
    self.plan = plan;
    self.options = options;
    udpai_list_init(&self.stopped);
    udpai_transfer_init(&self.transfer);
    ignore_signals();
    int failure = uv_loop_init(&self.loop);
    if (failure != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make an event loop: %s",
                          uv_strerror(failure));
    udpa_err err = begin(&self, options->worker, ret_error);
    if (err != UDPA_OK)
        return err;
    uv_run(&self.loop, UV_RUN_DEFAULT);
    uv_loop_close(&self.loop);
    udpai_transfer_done(&self.transfer);
    for (size_t i = 0; i < self.tls.n; i++)
        udpai_server_tls_unref(self.tls.items[i]);
    udpai_vector_done(&self.tls);
    udpa_bytes_unref(self.runtime);
    udpai_plan_free(self.values);
    if (!self.why)
        return UDPA_OK;
    err = udpa_error_code(self.why);
    *ret_error = UDPAI_TAKE(self.why);
    return err;
}
