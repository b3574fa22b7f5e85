/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.health.v1: for load balancers and orchestrators. Check answers once, Watch again with each
 * change. The empty service name means the whole server. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "grpc/health/v1/health.pb-c.h"
#include "transport/grpc/grpc_internal.h"
#include "wire/scan.h"

typedef enum serving {
    NOTHING_SENT = -1,
    SERVING = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING,
    NOT_SERVING = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING,
    SERVICE_UNKNOWN = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN,
} serving;

struct watch {
    udpai_list node; /* linked once it was asked */
    udpai_stream *stream;
    bool is_known, is_writing;
    serving sent;
};

static void
send(udpai_stream *stream, serving status)
{
    udpai_outgoing message = {0};
    udpai_proto_writer writer = {message.tail, 0};
    udpai_proto_put_varint(&writer, 1, (uint64_t)status);
    message.tail_len = writer.size;
    udpai_stream_write(stream, &message);
}

static udpa_err
read_request(udpai_str request, udpai_str *ret_service, udpa_error **ret_error)
{
    udpa_err err =
        udpai_scan(&grpc__health__v1__health_check_request__descriptor, request, NULL, ret_error);
    udpai_proto_reader reader = udpai_proto_read(request);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == 1)
            *ret_service = field.bytes;
    return err;
}

static bool
is_known(const udpai_stream *stream, udpai_str service)
{
    return service.len == 0 || udpai_service_exists(stream->thread, service);
}

static void
fail(udpai_stream *stream, udpa_err err, udpa_error *error)
{
    if (!error)
        error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
    udpai_stream_finish(stream, error);
    udpa_error_unref(error);
}

static void
ended_before_request(udpai_stream *stream)
{
    fail(stream, UDPA_ERR_INVAL,
         udpa_error_new(UDPA_ERR_INVAL, NULL, "the call has ended without a HealthCheckRequest"));
}

/* ---- Check ---- */

static void
check_receive(udpai_stream *stream, udpai_str request)
{
    udpai_str service = {0};
    udpa_error *error = NULL;
    udpa_err err = read_request(request, &service, &error);
    if (err == UDPA_OK && !is_known(stream, service))
        err = udpai_fail(&error, UDPA_ERR_NOT_FOUND, "there is no service %.*s here",
                         UDPAI_SHOWN(service));
    if (err != UDPA_OK) {
        fail(stream, err, error);
        return;
    }
    send(stream, stream->thread->is_serving ? SERVING : NOT_SERVING);
    udpai_stream_finish(stream, NULL);
}

static void
check_closed(udpai_stream *stream, const udpa_error *why)
{
    (void)stream;
    (void)why;
}

static const udpai_stream_handler check_handler = {
    .receive = check_receive,
    .ended = ended_before_request,
    .closed = check_closed,
};

udpa_err
udpai_health_check_open(udpai_stream *stream, udpa_error **ret_error)
{
    (void)ret_error;
    udpai_stream_open(stream, &check_handler, NULL);
    return UDPA_OK;
}

/* ---- Watch ---- */

/* A change that comes while one is being written is sent after it, if it still is one. */
static void
send_status(struct watch *watch)
{
    serving now = !watch->is_known                    ? SERVICE_UNKNOWN
                  : watch->stream->thread->is_serving ? SERVING
                                                      : NOT_SERVING;
    if (now == watch->sent || watch->is_writing)
        return;
    watch->sent = now;
    watch->is_writing = true;
    send(watch->stream, now);
}

static void
watch_receive(udpai_stream *stream, udpai_str request)
{
    struct watch *watch = stream->context;
    udpai_str service = {0};
    udpa_error *error = NULL;
    udpa_err err = read_request(request, &service, &error);
    if (err == UDPA_OK && udpai_list_linked(&watch->node))
        err = udpai_fail(&error, UDPA_ERR_INVAL, "a Watch takes one HealthCheckRequest, not two");
    if (err != UDPA_OK) {
        fail(stream, err, error);
        return;
    }
    watch->is_known = is_known(stream, service);
    udpai_list_append(&stream->thread->health_watches, &watch->node);
    send_status(watch);
}

static void
watch_written(udpai_stream *stream)
{
    struct watch *watch = stream->context;
    watch->is_writing = false;
    send_status(watch);
}

/* Its one request is all that a watcher sends. */
static void
watch_ended(udpai_stream *stream)
{
    const struct watch *watch = stream->context;
    if (!udpai_list_linked(&watch->node))
        ended_before_request(stream);
}

static void
watch_closed(udpai_stream *stream, const udpa_error *why)
{
    (void)why;
    struct watch *watch = UDPAI_TAKE(stream->context);
    udpai_list_remove(&watch->node);
    udpai_free(watch);
}

static const udpai_stream_handler watch_handler = {
    .receive = watch_receive,
    .written = watch_written,
    .ended = watch_ended,
    .closed = watch_closed,
};

udpa_err
udpai_health_watch_open(udpai_stream *stream, udpa_error **ret_error)
{
    struct watch *watch = udpai_alloc(sizeof(*watch));
    if (!watch)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_list_init(&watch->node);
    watch->stream = stream;
    watch->sent = NOTHING_SENT;
    udpai_stream_open(stream, &watch_handler, watch);
    return UDPA_OK;
}

void
udpai_health_notify(udpai_stream_thread *thread)
{
    UDPAI_LIST_FOREACH (at, &thread->health_watches)
        send_status(UDPAI_LIST_ENTRY(at, struct watch, node));
}
