/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.testing.TestService, which gRPC's public interop clients call, on the listener that udpad
 * has with `transport: OWN`: the door itself, without sessions. Prints where it listens, and how
 * each call has ended. SIGTERM ends it in good order. It serves one method of its own, Cut, which
 * resets the stream of the first message. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/vector.h"
#include "grpc_testing.pb-c.h"
#include "loop/clock.h"
#include "transport/door/door.h"
#include "transport/grpc/listener.h"
#include "transport/socket_address.h"
#include "transport/tls.h"
#include "transport/tls_crypto.h"

#define PAYLOAD_MAX (64 << 20)
#define END_MS 5000 /* that a peer has to take the end of a call */
#define ECHO_INITIAL UDPAI_STR("x-grpc-test-echo-initial")
#define ECHO_TRAILING UDPAI_STR("x-grpc-test-echo-trailing-bin")

static struct server {
    udpai_wheel wheel;
    udpai_door *door;
    udpai_door_listener *listener; /* NULL: it is over */
    SSL_CTX *tls;                  /* NULL: plaintext */
} server;

static volatile sig_atomic_t is_stopping;

/* ---- a call ---- */

typedef struct call call;

typedef struct method {
    const char *name;
    bool (*receive)(call *self, const uint8_t *message, size_t len); /* false: malformed */
    void (*ended)(call *self);
    bool is_unary; /* of its request */
} method;

typedef struct output {
    int32_t size, interval_us; /* the latter: to be waited before it */
    bool has_server_id;
} output;

struct call {
    udpai_door_stream stream; /* first */
    const method *method;     /* NULL: there is no such */
    UDPAI_VECTOR(output) outputs;
    size_t n_sent, n_messages;
    uint64_t n_received; /* bytes of payloads */
    udpai_timer pause;
    udpa_error *status; /* to end with, behind the outputs; NULL: OK */
    bool ends, is_writing;
};

static void
finish(call *self, const udpa_error *status)
{
    udpai_timer_cancel(&self->pause);
    udpai_door_stream_finish(&self->stream, status);
    udpai_door_stream_hurry(&self->stream, END_MS);
}

static void
fail(call *self, udpa_err code, const char *words)
{
    udpa_error *error = udpa_error_new(code, NULL, "%s", words);
    finish(self, error);
    udpa_error_unref(error);
}

static void
send_message(call *self, const ProtobufCMessage *message)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(protobuf_c_message_get_packed_size(message), &room);
    if (!bytes) {
        fail(self, UDPA_ERR_NOMEM, "out of memory");
        return;
    }
    (void)protobuf_c_message_pack(message, room);
    self->is_writing = true;
    udpai_door_stream_write(&self->stream, &(udpai_outgoing){.parts = &bytes, .n_parts = 1});
    udpa_bytes_unref(bytes);
}

/* A SimpleResponse and a StreamingOutputCallResponse have their payload in the same field. */
static void
send_output(call *self, const output *one)
{
    static char server_id[] = "udpa";
    Grpc__Testing__Payload payload = GRPC__TESTING__PAYLOAD__INIT;
    Grpc__Testing__SimpleResponse response = GRPC__TESTING__SIMPLE_RESPONSE__INIT;
    payload.body.len = (size_t)one->size;
    payload.body.data = udpai_alloc(payload.body.len);
    if (!payload.body.data) {
        fail(self, UDPA_ERR_NOMEM, "out of memory");
        return;
    }
    response.payload = &payload;
    if (one->has_server_id)
        response.server_id = server_id;
    send_message(self, &response.base);
    udpai_free(payload.body.data);
}

/* Sends what is to be sent, one after the other; then the end, or it reads on. */
static void
go_on(call *self)
{
    if (self->is_writing || udpai_timer_is_set(&self->pause))
        return;
    if (self->n_sent < self->outputs.n) {
        output *next = &self->outputs.items[self->n_sent];
        if (next->interval_us) {
            udpai_timer_set(&server.wheel, &self->pause,
                            server.wheel.now_ms + (uint64_t)next->interval_us / 1000);
            next->interval_us = 0;
            return;
        }
        self->n_sent++;
        send_output(self, next);
    } else if (self->ends) {
        finish(self, self->status);
    } else {
        udpai_door_stream_set_reading(&self->stream, true);
    }
}

static void
end_behind_outputs(call *self)
{
    self->ends = true;
    go_on(self);
}

static void
on_pause_over(udpai_timer *timer)
{
    go_on(UDPAI_CONTAINER_OF(timer, call, pause));
}

static void
put(call *self, output one)
{
    if (one.size < 0 || one.size > PAYLOAD_MAX || one.interval_us < 0)
        fail(self, UDPA_ERR_INVAL, "a response has no such size");
    else if (!udpai_vector_push(&self->outputs, one))
        fail(self, UDPA_ERR_NOMEM, "out of memory");
}

static void
set_status(call *self, const Grpc__Testing__EchoStatus *status)
{
    if (!status || !status->code)
        return;
    udpa_error_unref(self->status);
    self->status = udpa_error_new(udpa_err_from_grpc(status->code), NULL, "%s", status->message);
}

/* Nothing that is compressed comes that far. */
static void
check_compression(call *self, const Grpc__Testing__BoolValue *expected)
{
    if (expected && expected->value)
        fail(self, UDPA_ERR_INVAL, "the message is not compressed");
}

/* ---- methods ---- */

static bool
empty_receive(call *self, const uint8_t *message, size_t len)
{
    (void)self;
    Grpc__Testing__Empty *request = grpc__testing__empty__unpack(NULL, len, message);
    grpc__testing__empty__free_unpacked(request, NULL);
    return request != NULL;
}

static void
empty_ended(call *self)
{
    Grpc__Testing__Empty response = GRPC__TESTING__EMPTY__INIT;
    self->ends = true;
    send_message(self, &response.base);
}

static bool
unary_receive(call *self, const uint8_t *message, size_t len)
{
    Grpc__Testing__SimpleRequest *request =
        grpc__testing__simple_request__unpack(NULL, len, message);
    if (!request)
        return false;
    check_compression(self, request->expect_compressed);
    set_status(self, request->response_status);
    if (!self->status)
        put(self, (output){request->response_size, 0, request->fill_server_id});
    grpc__testing__simple_request__free_unpacked(request, NULL);
    return true;
}

static bool
output_receive(call *self, const uint8_t *message, size_t len)
{
    Grpc__Testing__StreamingOutputCallRequest *request =
        grpc__testing__streaming_output_call_request__unpack(NULL, len, message);
    if (!request)
        return false;
    set_status(self, request->response_status);
    for (size_t i = 0; i < request->n_response_parameters; i++) {
        const Grpc__Testing__ResponseParameters *one = request->response_parameters[i];
        put(self, (output){one->size, one->interval_us, false});
    }
    grpc__testing__streaming_output_call_request__free_unpacked(request, NULL);
    return true;
}

/* Answers each request before it reads the next one. */
static bool
duplex_receive(call *self, const uint8_t *message, size_t len)
{
    if (!output_receive(self, message, len))
        return false;
    udpai_door_stream_set_reading(&self->stream, false);
    self->ends = self->status != NULL;
    go_on(self);
    return true;
}

static bool
input_receive(call *self, const uint8_t *message, size_t len)
{
    Grpc__Testing__StreamingInputCallRequest *request =
        grpc__testing__streaming_input_call_request__unpack(NULL, len, message);
    if (!request)
        return false;
    check_compression(self, request->expect_compressed);
    self->n_received += request->payload ? request->payload->body.len : 0;
    grpc__testing__streaming_input_call_request__free_unpacked(request, NULL);
    return true;
}

static void
input_ended(call *self)
{
    Grpc__Testing__StreamingInputCallResponse response =
        GRPC__TESTING__STREAMING_INPUT_CALL_RESPONSE__INIT;
    response.aggregated_payload_size = (int32_t)self->n_received;
    self->ends = true;
    send_message(self, &response.base);
}

static bool
cut_receive(call *self, const uint8_t *message, size_t len)
{
    (void)message;
    (void)len;
    udpai_door_stream_cut(&self->stream);
    return true;
}

static const method methods[] = {
    {"EmptyCall", empty_receive, empty_ended, true},
    {"UnaryCall", unary_receive, end_behind_outputs, true},
    {"StreamingOutputCall", output_receive, end_behind_outputs, true},
    {"StreamingInputCall", input_receive, input_ended, false},
    {"FullDuplexCall", duplex_receive, end_behind_outputs, false},
    {"HalfDuplexCall", output_receive, end_behind_outputs, false},
    {"Cut", cut_receive, end_behind_outputs, false},
};

static const method *
find_method(udpai_str path)
{
    const udpai_str service = UDPAI_STR("/grpc.testing.TestService/");
    if (!udpai_str_starts(path, service))
        return NULL;
    const udpai_str name = {path.data + service.len, path.len - service.len};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(methods); i++)
        if (udpai_str_eq(name, udpai_str_from(methods[i].name)))
            return &methods[i];
    return NULL;
}

/* ---- what the door reports ---- */

static void
echo(call *self, udpai_str name, udpai_door_metadata when)
{
    udpai_str value;
    if (udpai_door_stream_metadata(&self->stream, name, &value) &&
        udpai_door_stream_add_metadata(&self->stream, when, name, value) != UDPA_OK)
        fail(self, UDPA_ERR_INTERNAL, "the metadata cannot be sent");
}

static void
on_opened(udpai_door_stream *stream, void *userdata, udpai_str path)
{
    call *self = (call *)stream;
    (void)userdata;
    udpai_timer_init(&self->pause, on_pause_over);
    self->method = find_method(path);
    if (self->method) {
        echo(self, ECHO_INITIAL, UDPAI_DOOR_INITIAL);
        echo(self, ECHO_TRAILING, UDPAI_DOOR_TRAILING);
        return;
    }
    udpa_error *error =
        udpa_error_new(UDPA_ERR_UNIMPLEMENTED, NULL, "there is no %.*s", (int)path.len, path.data);
    udpai_door_stream_refuse(stream, error);
    udpai_door_stream_hurry(stream, END_MS);
    udpa_error_unref(error);
}

static void
on_receive(udpai_door_stream *stream, udpai_str message)
{
    call *self = (call *)stream;
    if (self->n_messages++ && self->method->is_unary)
        fail(self, UDPA_ERR_UNIMPLEMENTED, "a second message: this method takes one");
    else if (!self->method->receive(self, (const uint8_t *)message.data, message.len))
        fail(self, UDPA_ERR_MALFORMED, "a message is malformed");
}

static void
on_written(udpai_door_stream *stream)
{
    call *self = (call *)stream;
    self->is_writing = false;
    go_on(self);
}

static void
on_ended(udpai_door_stream *stream)
{
    call *self = (call *)stream;
    if (self->method->is_unary && !self->n_messages)
        fail(self, UDPA_ERR_UNIMPLEMENTED, "no message: this method takes one");
    else
        self->method->ended(self);
}

static void
on_failed(udpai_door_stream *stream, const udpa_error *why, bool is_greedy)
{
    (void)is_greedy;
    finish((call *)stream, why);
}

static void
on_closed(udpai_door_stream *stream, const udpa_error *why)
{
    call *self = (call *)stream;
    udpai_str address = udpai_bytes_view(udpai_door_stream_peer(stream)->address);
    printf("%s %.*s: %s\n", self->method ? self->method->name : "(none)", (int)address.len,
           address.data, why ? udpa_error_message(why) : "OK");
    udpai_timer_cancel(&self->pause);
    udpai_vector_done(&self->outputs);
    udpa_error_unref(self->status);
}

static udpai_reservation
on_reserve(udpai_door_stream *stream, size_t bytes)
{
    (void)stream;
    (void)bytes;
    return UDPAI_RESERVED;
}

static void
on_release(udpai_door_stream *stream, size_t bytes)
{
    (void)stream;
    (void)bytes;
}

static bool
is_calm(const udpai_door_stream *stream)
{
    (void)stream;
    return false;
}

static bool
is_open_to_all(void *userdata)
{
    (void)userdata;
    return true;
}

static const udpai_door_events events = {
    .stream_bytes = sizeof(call),
    .opened = on_opened,
    .receive = on_receive,
    .written = on_written,
    .ended = on_ended,
    .failed = on_failed,
    .reserve = on_reserve,
    .release = on_release,
    .closed = on_closed,
    .is_calm = is_calm,
    .is_open_to_all = is_open_to_all,
};

/* ---- the server ---- */

static void
on_signal(int number)
{
    int saved = errno;
    (void)number;
    is_stopping = 1;
    udpai_door_wake(server.door);
    errno = saved;
}

static void
on_woken(void *userdata)
{
    (void)userdata;
    if (!is_stopping || !server.listener)
        return;
    printf("closing\n");
    udpai_door_listener_close(server.listener);
}

static void
on_listener_closed(void *userdata)
{
    (void)userdata;
    server.listener = NULL;
}

static SSL_CTX *
context_of(void *userdata)
{
    (void)userdata;
    return SSL_CTX_up_ref(server.tls) ? server.tls : NULL;
}

static udpa_err
open_tls(const char *certificate, const char *private_key, udpa_error **ret_error)
{
    const udpai_tls_paths paths = {.certificate = certificate, .private_key = private_key};
    udpai_tls_files files;
    udpa_err err = udpai_tls_files_read(&files, &paths, udpai_wall_us() / 1000000, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_tls_options options = {
        .files = &files, .is_second = true, .crypto = udpai_tls_crypto()};
    err = udpai_tls_context(&server.tls, &options, ret_error);
    udpai_tls_files_done(&files);
    return err;
}

static udpa_err
open_server(const udpai_door_limits *limits, udpa_error **ret_error)
{
    const udpai_door_options options = {
        .wheel = &server.wheel,
        .woken = on_woken,
        .max_unfinished_bytes = 256 << 20,
        .max_connections = 1000,
        .max_connections_per_address = 1000,
    };
    udpai_door_listen_options listen_options = {
        .events = &events,
        .context = server.tls ? context_of : NULL,
        .max_message_bytes = 4 << 20,
        .keeps_metadata = true,
        .limits = *limits,
        .closed = on_listener_closed,
    };
    udpai_wheel_init(&server.wheel, udpai_monotonic_ms());
    udpa_err err = udpai_door_new(&server.door, &options);
    if (err == UDPA_OK)
        err = udpai_address_bind("127.0.0.1:0", &listen_options.socket, ret_error);
    if (err != UDPA_OK)
        return err;
    int port = udpai_socket_port(listen_options.socket);
    if (listen(listen_options.socket, 100) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen");
    err = udpai_door_listen(server.door, &listen_options, &server.listener, ret_error);
    if (err == UDPA_OK)
        printf("listening on 127.0.0.1:%d\n", port);
    return err;
}

/* KEEPALIVE_MS AGE_MS [CERTIFICATE PRIVATE_KEY] */
int
main(int argc, char **argv)
{
    udpa_error *error = NULL;
    udpa_err err = argc == 3 || argc == 5 ? UDPA_OK : UDPA_ERR_INVAL;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (err == UDPA_OK && argc == 5)
        err = open_tls(argv[3], argv[4], &error);
    if (err == UDPA_OK) {
        const udpai_door_limits limits = {
            .max_streams = 100,
            .handshake_timeout_ms = 10000,
            .keepalive_ms = strtoull(argv[1], NULL, 10),
            .keepalive_timeout_ms = 10 * strtoull(argv[1], NULL, 10),
            .idle_ms = 300000,
            .age_ms = strtoull(argv[2], NULL, 10),
        };
        err = open_server(&limits, &error);
    }
    if (err != UDPA_OK) {
        fprintf(stderr, "%s\n", error ? udpa_error_message(error) : udpa_err_text(err));
        return EXIT_FAILURE;
    }
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGTERM, &action, NULL);
    while (server.listener) {
        udpai_door_wait(server.door, udpai_wheel_next(&server.wheel), NULL);
        udpai_door_flush(server.door);
    }
    server.door = udpai_door_free(server.door);
    SSL_CTX_free(server.tls);
    return EXIT_SUCCESS;
}
