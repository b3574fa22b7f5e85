/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.reflection: lets people look at and call what is served, with grpcurl and the like. v1 and
 * v1alpha have the same messages. One answer at a time: the next request is not read before it was
 * written. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/proto.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "transport/grpc/descriptors.h"
#include "transport/grpc/grpc_internal.h"
#include "wire/scan.h"

#define REQUEST_MAX 4096 /* bytes; each comes back with its answer */

/* Field numbers of ServerReflectionRequest. */
typedef enum question {
    FILE_BY_FILENAME = 3,
    FILE_CONTAINING_SYMBOL = 4,
    FILE_CONTAINING_EXTENSION = 5,
    ALL_EXTENSION_NUMBERS = 6,
    LIST_SERVICES = 7,
} question;

/* Field numbers of ServerReflectionResponse. */
enum answer {
    VALID_HOST = 1,
    ORIGINAL_REQUEST = 2,
    FILE_DESCRIPTORS = 4,
    LIST_OF_SERVICES = 6,
    ERROR = 7,
};

struct exchange {
    const udpai_stream_thread *thread;
    udpai_str request, host, argument;
    question question;
    udpai_str file; /* the answer to most; empty: there is none */
};

/* ---- writing ---- */

static void
put_name(void *writer, udpai_str service)
{
    udpai_proto_put_head(writer, 1, udpai_proto_bytes_size(1, service.len));
    udpai_proto_put_bytes(writer, 1, service);
}

static void
put_services(udpai_proto_writer *writer, const udpai_stream_thread *thread)
{
    udpai_proto_writer size = {0};
    udpai_service_visit(thread, put_name, &size);
    udpai_proto_put_head(writer, LIST_OF_SERVICES, size.size);
    udpai_service_visit(thread, put_name, writer);
}

static void
put_error(udpai_proto_writer *writer, const struct exchange *exchange)
{
    bool asks_for_extension = exchange->question == FILE_CONTAINING_EXTENSION ||
                              exchange->question == ALL_EXTENSION_NUMBERS;
    udpa_err err = exchange->question ? UDPA_ERR_NOT_FOUND : UDPA_ERR_INVAL;
    char text[320];
    if (!exchange->question)
        snprintf(text, sizeof(text), "the request asks for nothing that is known here");
    else if (asks_for_extension)
        snprintf(text, sizeof(text), "there are no extensions here");
    else
        snprintf(text, sizeof(text), "there is no %s %.*s here",
                 exchange->question == FILE_BY_FILENAME ? "file" : "symbol",
                 UDPAI_SHOWN(exchange->argument));
    udpai_str words = udpai_str_from(text);
    uint64_t code = (uint64_t)udpa_err_to_grpc(err);
    udpai_proto_writer size = {0};
    udpai_proto_put_varint(&size, 1, code);
    udpai_proto_put_head(writer, ERROR, size.size + udpai_proto_bytes_size(2, words.len));
    udpai_proto_put_varint(writer, 1, code);
    udpai_proto_put_bytes(writer, 2, words);
}

static void
put_answer(udpai_proto_writer *writer, const void *what)
{
    const struct exchange *exchange = what;
    udpai_proto_put_bytes_opt(writer, VALID_HOST, exchange->host);
    udpai_proto_put_bytes(writer, ORIGINAL_REQUEST, exchange->request);
    if (exchange->question == LIST_SERVICES) {
        put_services(writer, exchange->thread);
    } else if (exchange->file.len) {
        udpai_proto_put_head(writer, FILE_DESCRIPTORS,
                             udpai_proto_bytes_size(1, exchange->file.len));
        udpai_proto_put_bytes(writer, 1, exchange->file);
    } else {
        put_error(writer, exchange);
    }
}

static udpa_err
answer(udpai_stream *stream, const struct exchange *exchange)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_proto_encode(put_answer, exchange);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    const udpai_outgoing message = {.parts = &bytes, .n_parts = 1};
    udpai_stream_write(stream, &message);
    return UDPA_OK;
}

/* ---- reading ---- */

static udpa_err
read_request(struct exchange *exchange, udpa_error **ret_error)
{
    if (exchange->request.len > REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a reflection request has %d bytes at most",
                          REQUEST_MAX);
    udpa_err err = udpai_scan(&grpc__reflection__v1__server_reflection_request__descriptor,
                              exchange->request, NULL, ret_error);
    udpai_proto_reader reader = udpai_proto_read(exchange->request);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.number == 1) {
            exchange->host = field.bytes;
        } else if (field.number >= FILE_BY_FILENAME && field.number <= LIST_SERVICES) {
            exchange->question = (question)field.number;
            exchange->argument = field.bytes;
        }
    }
    return err;
}

static void
receive(udpai_stream *stream, udpai_str request)
{
    struct exchange exchange = {.thread = stream->thread, .request = request};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = read_request(&exchange, &error);
    if (exchange.question == FILE_BY_FILENAME)
        exchange.file = udpai_descriptors_file(exchange.argument);
    else if (exchange.question == FILE_CONTAINING_SYMBOL)
        exchange.file = udpai_descriptors_file_of(exchange.argument);
    if (err == UDPA_OK)
        err = answer(stream, &exchange);
    if (err == UDPA_OK) {
        udpai_stream_set_reading(stream, false);
        return;
    }
    if (!error)
        error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
    udpai_stream_finish(stream, error);
}

static void
written(udpai_stream *stream)
{
    udpai_stream_set_reading(stream, true);
}

static void
ended(udpai_stream *stream)
{
    udpai_stream_finish(stream, NULL);
}

static void
closed(udpai_stream *stream, const udpa_error *why)
{
    (void)stream;
    (void)why;
}

static const udpai_stream_handler handler = {receive, written, ended, closed};

udpa_err
udpai_reflection_open(udpai_stream *stream, udpa_error **ret_error)
{
    (void)ret_error;
    udpai_stream_open(stream, &handler, NULL);
    return UDPA_OK;
}
