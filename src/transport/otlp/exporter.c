/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/otlp/exporter.h"

#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loop/thread.h"
#include "transport/grpc/channel.h"
#include "transport/otlp/message.h"

#define LOG "traces"
#define METHOD "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define RESPONSE_MAX ((size_t)1 << 20)
/* What the queue and gRPC have for a span besides its bytes. */
#define COST_OF_SPAN 64

struct udpai_otlp_exporter {
    udpai_grpc_target *target;
    udpa_bytes *node_id, *version;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    /* Under the mutex: */
    UDPAI_VECTOR(udpa_bytes *) queue; /* spans, the oldest first */
    udpai_otlp_counts counts;
    bool is_ending;
    struct timespec last; /* when all is over then */
    grpc_call *call;      /* under way; NULL: none is */
    /* Of the thread: */
    grpc_channel *channel; /* NULL: to be dialled */
    grpc_completion_queue *cq;
    bool has_failed; /* the last attempt, which was logged */
};

/* ---- time ---- */

static struct timespec
after(uint64_t ms)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)(ms / 1000);
    time.tv_nsec += (long)(ms % 1000) * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static bool
is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static bool
is_over(const udpai_otlp_exporter *self)
{
    return self->is_ending && is_before(self->last, after(0));
}

/* Under the mutex; until then, or the end. */
static void
wait_until(udpai_otlp_exporter *self, struct timespec time)
{
    int number = 0;
    while (!self->is_ending && number == 0)
        number = pthread_cond_timedwait(&self->wake, &self->mutex, &time);
}

/* ---- one request ---- */

typedef struct exchange {
    grpc_metadata_array headers, trailers;
    grpc_byte_buffer *request, *response;
    grpc_status_code code;
    grpc_slice text;
} exchange;

static grpc_byte_buffer *
buffer_of(const udpa_bytes *bytes)
{
    grpc_slice slice =
        grpc_slice_from_copied_buffer(udpa_bytes_data(bytes), udpa_bytes_size(bytes));
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

/* What ends the exporter may cancel it. */
static void
set_call(udpai_otlp_exporter *self, grpc_call *call)
{
    pthread_mutex_lock(&self->mutex);
    self->call = call;
    if (self->is_ending)
        pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->mutex);
}

static void
carry_out(udpai_otlp_exporter *self, exchange *one, uint64_t timeout_ms)
{
    gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                         gpr_time_from_millis((int64_t)timeout_ms, GPR_TIMESPAN));
    grpc_call *call =
        grpc_channel_create_call(self->channel, NULL, GRPC_PROPAGATE_DEFAULTS, self->cq,
                                 grpc_slice_from_static_string(METHOD), NULL, deadline, NULL);
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = one->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &one->headers},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &one->response},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &one->trailers,
                                        .status = &one->code,
                                        .status_details = &one->text}},
    };
    set_call(self, call);
    if (grpc_call_start_batch(call, ops, UDPAI_ARRAY_LEN(ops), one, NULL) == GRPC_CALL_OK)
        (void)grpc_completion_queue_pluck(self->cq, one, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    set_call(self, NULL);
    grpc_call_unref(call);
}

/* Those that another attempt may help, by the protocol's text. */
static bool
is_worth_another(grpc_status_code code)
{
    switch (code) {
    case GRPC_STATUS_CANCELLED:
    case GRPC_STATUS_DEADLINE_EXCEEDED:
    case GRPC_STATUS_RESOURCE_EXHAUSTED:
    case GRPC_STATUS_ABORTED:
    case GRPC_STATUS_OUT_OF_RANGE:
    case GRPC_STATUS_UNAVAILABLE:
    case GRPC_STATUS_DATA_LOSS:
        return true;
    default:
        return false;
    }
}

/* Once, until it works again. */
static void
log_failure(udpai_otlp_exporter *self, const exchange *one)
{
    udpai_str text = udpai_slice_view(&one->text);
    const char *hint;
    udpai_str reason = udpai_client_reason(text, &hint);
    if (!self->has_failed)
        udpai_log(UDPA_LOG_WARNING, LOG,
                  "the collector %s does not take spans (code %d): %.*s; they are queued up to "
                  "%zu MiB, then dropped",
                  udpai_grpc_target_address(self->target, 0), (int)one->code, UDPAI_SHOWN(reason),
                  UDPAI_OTLP_QUEUE_BYTES >> 20);
    self->has_failed = true;
}

static uint64_t
n_rejected(const exchange *one)
{
    grpc_slice owned;
    if (!one->response || grpc_byte_buffer_length(one->response) > RESPONSE_MAX)
        return 0;
    uint64_t n = udpai_otlp_n_rejected(udpai_slices_join(one->response, &owned));
    grpc_slice_unref(owned);
    return n;
}

/* False: they are to be sent again. */
static bool
note_result(udpai_otlp_exporter *self, const exchange *one, size_t n_spans)
{
    bool is_good = one->code == GRPC_STATUS_OK;
    uint64_t rejected = is_good ? n_rejected(one) : n_spans;
    bool is_done = is_good || !is_worth_another(one->code);
    rejected = rejected < n_spans ? rejected : n_spans;
    if (is_good && self->has_failed)
        udpai_log(UDPA_LOG_INFO, LOG, "the collector %s takes spans again",
                  udpai_grpc_target_address(self->target, 0));
    if (is_good)
        self->has_failed = false;
    else
        log_failure(self, one);
    pthread_mutex_lock(&self->mutex);
    self->counts.n_failures += !is_good;
    if (is_done) {
        self->counts.n_sent += n_spans - rejected;
        self->counts.n_rejected += rejected;
    }
    pthread_mutex_unlock(&self->mutex);
    return is_done;
}

static bool
send(udpai_otlp_exporter *self, udpa_bytes *const *spans, size_t n_spans, uint64_t timeout_ms)
{
    const udpai_otlp_sender sender = {udpai_bytes_view(self->node_id),
                                      udpai_bytes_view(self->version)};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_otlp_request(&sender, spans, n_spans);
    if (!body)
        return false;
    if (!self->channel)
        self->channel = udpai_grpc_target_channel(self->target, 0);
    exchange one = {
        .request = buffer_of(body), .text = grpc_empty_slice(), .code = GRPC_STATUS_UNAVAILABLE};
    grpc_metadata_array_init(&one.headers);
    grpc_metadata_array_init(&one.trailers);
    carry_out(self, &one, timeout_ms);
    bool is_done = note_result(self, &one, n_spans);
    grpc_byte_buffer_destroy(one.request);
    if (one.response)
        grpc_byte_buffer_destroy(one.response);
    grpc_metadata_array_destroy(&one.headers);
    grpc_metadata_array_destroy(&one.trailers);
    grpc_slice_unref(one.text);
    return is_done;
}

/* ---- the thread ---- */

typedef UDPAI_VECTOR(udpa_bytes *) batch;

static size_t
cost_of(const udpa_bytes *span)
{
    return udpa_bytes_size(span) + COST_OF_SPAN;
}

/* Under the mutex. */
static void
take_batch(udpai_otlp_exporter *self, batch *taken)
{
    size_t n = udpai_min_size(self->queue.n, UDPAI_OTLP_BATCH_SPANS);
    if (n == 0 || !udpai_vector_reserve(taken, n))
        return;
    for (size_t i = 0; i < n; i++) {
        taken->items[taken->n++] = self->queue.items[i];
        self->counts.queued_bytes -= cost_of(self->queue.items[i]);
    }
    self->queue.n -= n;
    memmove(self->queue.items, self->queue.items + n, self->queue.n * sizeof(*self->queue.items));
}

static void
drop_channel(udpai_otlp_exporter *self)
{
    if (self->channel)
        grpc_channel_destroy(self->channel);
    self->channel = NULL;
}

/* Until the collector has taken it, or all is over. */
static void
deliver(udpai_otlp_exporter *self, const batch *spans)
{
    uint64_t backoff_ms = UDPAI_OTLP_BACKOFF_MIN_MS;
    pthread_mutex_lock(&self->mutex);
    while (!is_over(self)) {
        uint64_t timeout_ms = self->is_ending ? UDPAI_OTLP_LAST_MS : UDPAI_OTLP_TIMEOUT_MS;
        pthread_mutex_unlock(&self->mutex);
        bool is_done = send(self, spans->items, spans->n, timeout_ms);
        pthread_mutex_lock(&self->mutex);
        if (is_done || self->is_ending)
            break;
        wait_until(self, after(backoff_ms));
        backoff_ms = udpai_min_size(2 * backoff_ms, UDPAI_OTLP_BACKOFF_MAX_MS);
        drop_channel(self); /* its address or its certificate may have changed */
    }
    pthread_mutex_unlock(&self->mutex);
}

/* False: it is the end. */
static bool
turn(udpai_otlp_exporter *self)
{
    batch spans = {0};
    pthread_mutex_lock(&self->mutex);
    while (!self->is_ending && self->queue.n == 0)
        pthread_cond_wait(&self->wake, &self->mutex);
    if (self->queue.n < UDPAI_OTLP_BATCH_SPANS)
        wait_until(self, after(UDPAI_OTLP_BATCH_MS));
    take_batch(self, &spans);
    pthread_mutex_unlock(&self->mutex);
    if (spans.n)
        deliver(self, &spans);
    bool had_any = spans.n > 0;
    while (spans.n)
        udpa_bytes_unref(spans.items[--spans.n]);
    udpai_vector_done(&spans);
    pthread_mutex_lock(&self->mutex);
    bool goes_on = !self->is_ending || (had_any && !is_over(self));
    pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

static void *
run(void *userdata)
{
    udpai_otlp_exporter *self = userdata;
    while (turn(self))
        continue;
    return NULL;
}

/* ---- what others do ---- */

void
udpai_otlp_exporter_take(void *exporter, udpai_span *span)
{
    udpai_otlp_exporter *self = exporter;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_otlp_span(span);
    udpai_span_free(span);
    pthread_mutex_lock(&self->mutex);
    bool fits = bytes && self->counts.queued_bytes + cost_of(bytes) <= UDPAI_OTLP_QUEUE_BYTES &&
                udpai_vector_push(&self->queue, bytes);
    if (fits)
        self->counts.queued_bytes += cost_of(UDPAI_TAKE(bytes));
    else
        self->counts.n_dropped++;
    if (self->queue.n == 1 || self->queue.n == UDPAI_OTLP_BATCH_SPANS)
        pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->mutex);
}

udpai_otlp_counts
udpai_otlp_exporter_counts(udpai_otlp_exporter *exporter)
{
    pthread_mutex_lock(&exporter->mutex);
    udpai_otlp_counts counts = exporter->counts;
    pthread_mutex_unlock(&exporter->mutex);
    return counts;
}

udpa_err
udpai_otlp_exporter_replace_tls(udpai_otlp_exporter *exporter,
                                const udpai_tls_files *files,
                                udpa_error **ret_error)
{
    return udpai_grpc_target_replace_tls(exporter->target, files, ret_error);
}

/* ---- beginning and end ---- */

static void
init_locks(udpai_otlp_exporter *self)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void
free_exporter(udpai_otlp_exporter *self)
{
    drop_channel(self);
    if (self->cq) {
        grpc_completion_queue_shutdown(self->cq);
        grpc_completion_queue_destroy(self->cq);
    }
    udpai_grpc_target_unref(self->target);
    while (self->queue.n)
        udpa_bytes_unref(self->queue.items[--self->queue.n]);
    udpai_vector_done(&self->queue);
    udpa_bytes_unref(self->node_id);
    udpa_bytes_unref(self->version);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self);
}

udpa_err
udpai_otlp_exporter_new(udpai_otlp_exporter **ret_exporter,
                        const udpai_otlp_options *options,
                        udpa_error **ret_error)
{
    const udpai_grpc_target_options target = {
        .address = options->address,
        .tls = options->tls,
        .server_name = options->server_name,
        .max_message_bytes = RESPONSE_MAX,
    };
    udpai_otlp_exporter *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    init_locks(self);
    udpa_err err = udpai_grpc_target_new(&self->target, &target, ret_error);
    if (err == UDPA_OK &&
        (udpa_bytes_new(&self->node_id, options->node_id.data, options->node_id.len) != UDPA_OK ||
         udpa_bytes_new(&self->version, options->version, strlen(options->version)) != UDPA_OK))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        self->cq = grpc_completion_queue_create_for_pluck(NULL);
    int number = err == UDPA_OK ? udpai_thread_begin(&self->thread, "traces", run, self) : 0;
    if (number != 0)
        err = udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "cannot begin a thread: %s",
                         strerror(number));
    if (err != UDPA_OK) {
        free_exporter(self);
        return err;
    }
    *ret_exporter = self;
    return UDPA_OK;
}

udpai_otlp_exporter *
udpai_otlp_exporter_free(udpai_otlp_exporter *exporter)
{
    if (!exporter)
        return NULL;
    pthread_mutex_lock(&exporter->mutex);
    exporter->is_ending = true;
    exporter->last = after(UDPAI_OTLP_LAST_MS);
    pthread_cond_signal(&exporter->wake);
    while (exporter->call && !is_over(exporter))
        (void)pthread_cond_timedwait(&exporter->wake, &exporter->mutex, &exporter->last);
    if (exporter->call)
        (void)grpc_call_cancel(exporter->call, NULL);
    pthread_mutex_unlock(&exporter->mutex);
    pthread_join(exporter->thread, NULL);
    free_exporter(exporter);
    return NULL;
}
