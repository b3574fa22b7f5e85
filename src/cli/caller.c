/* SPDX-License-Identifier: Apache-2.0 */
/* One completion queue for all calls, turned by the call that waits. */
#include "cli/caller.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/messages.h"
#include "loop/clock.h"
#include "model/server_list.h"
#include "transport/grpc/stream_thread.h"
#include "transport/tls_files.h"

#define MESSAGE_BYTES_MAX (64 << 20)
#define SEND_PATIENCE_MS 20000 /* a server that reads nothing for so long is given up */
#define END_PATIENCE_MS 5000
#define BACKOFF_MS 50

struct udpai_caller {
    const udpai_cli_options *options;
    grpc_completion_queue *cq;
    grpc_channel_credentials *credentials;
    grpc_channel *channel; /* to the server that is tried, or was reached */
};

typedef struct tag {
    bool is_out, ok;
} tag;

typedef struct call {
    udpai_caller *caller;
    grpc_call *call;
    tag begin, headers_in, read, write, status;
    grpc_metadata_array headers, trailers;
    grpc_byte_buffer *received;
    grpc_byte_buffer *sent; /* may be read until its operation is over */
    grpc_slice message;     /* that was received last */
    grpc_status_code code;
    grpc_slice text;
} call;

/* ---- the queue ---- */

static uint64_t
now_ms(void *self)
{
    (void)self;
    return udpai_monotonic_ms();
}

static gpr_timespec
timespec_of(uint64_t ms)
{
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis((int64_t)ms, GPR_TIMESPAN));
}

/* Until one of these has come back, or the time is over. */
static bool
turn_until(udpai_caller *caller, const tag *one, const tag *other, uint64_t timeout_ms)
{
    gpr_timespec until = timespec_of(timeout_ms);
    while (one->is_out && (!other || other->is_out)) {
        grpc_event event = grpc_completion_queue_next(caller->cq, until, NULL);
        if (event.type != GRPC_OP_COMPLETE)
            return false;
        tag *done = event.tag;
        done->is_out = false;
        done->ok = event.success;
    }
    return true;
}

static void
start(call *self, grpc_op op, tag *with)
{
    with->is_out = true;
    with->ok = false;
    if (grpc_call_start_batch(self->call, &op, 1, with, NULL) != GRPC_CALL_OK)
        with->is_out = false;
}

/* ---- a call ---- */

static void
start_reading(call *self)
{
    if (!self->read.is_out && !self->received)
        start(self,
              (grpc_op){.op = GRPC_OP_RECV_MESSAGE,
                        .data.recv_message.recv_message = &self->received},
              &self->read);
}

static void *
open_call(void *self, const char *path)
{
    udpai_caller *caller = self;
    call *made = udpai_alloc(sizeof(*made));
    if (!made)
        return NULL;
    made->caller = caller;
    made->text = made->message = grpc_empty_slice();
    grpc_metadata_array_init(&made->headers);
    grpc_metadata_array_init(&made->trailers);
    grpc_slice method = grpc_slice_from_copied_string(path);
    made->call =
        grpc_channel_create_call(caller->channel, NULL, GRPC_PROPAGATE_DEFAULTS, caller->cq, method,
                                 NULL, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_slice_unref(method);
    start(made, (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA}, &made->begin);
    start(made,
          (grpc_op){.op = GRPC_OP_RECV_INITIAL_METADATA,
                    .data.recv_initial_metadata.recv_initial_metadata = &made->headers},
          &made->headers_in);
    grpc_op status = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    status.data.recv_status_on_client.trailing_metadata = &made->trailers;
    status.data.recv_status_on_client.status = &made->code;
    status.data.recv_status_on_client.status_details = &made->text;
    start(made, status, &made->status);
    start_reading(made);
    return made;
}

static void
send_message(void *of, udpai_str message)
{
    call *self = of;
    if (!turn_until(self->caller, &self->begin, NULL, SEND_PATIENCE_MS) ||
        !turn_until(self->caller, &self->write, NULL, SEND_PATIENCE_MS))
        return; /* the server will be found to send nothing */
    grpc_slice slice = grpc_slice_from_copied_buffer(message.data ? message.data : "", message.len);
    grpc_byte_buffer_destroy(self->sent);
    self->sent = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    op.data.send_message.send_message = self->sent;
    start(self, op, &self->write);
    (void)turn_until(self->caller, &self->write, &self->status, SEND_PATIENCE_MS);
    grpc_slice_unref(slice);
}

static void
end_call(void *of)
{
    call *self = of;
    if (turn_until(self->caller, &self->write, NULL, SEND_PATIENCE_MS))
        start(self, (grpc_op){.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, &self->write);
}

static udpai_received
take_message(call *self, udpai_str *ret_message)
{
    grpc_byte_buffer_reader reader;
    grpc_slice_unref(self->message);
    self->message = grpc_empty_slice();
    if (grpc_byte_buffer_reader_init(&reader, self->received)) {
        self->message = grpc_byte_buffer_reader_readall(&reader);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    grpc_byte_buffer_destroy(self->received);
    self->received = NULL;
    *ret_message = (udpai_str){(const char *)GRPC_SLICE_START_PTR(self->message),
                               GRPC_SLICE_LENGTH(self->message)};
    return UDPAI_RECEIVED_MESSAGE;
}

static udpai_received
receive(void *of, uint64_t timeout_ms, udpai_str *ret_message)
{
    call *self = of;
    start_reading(self);
    if (!turn_until(self->caller, &self->read, NULL, timeout_ms))
        return UDPAI_RECEIVED_NOTHING;
    if (self->received)
        return take_message(self, ret_message);
    /* No more messages: the status is here, or on its way. */
    (void)turn_until(self->caller, &self->status, NULL, END_PATIENCE_MS);
    return UDPAI_RECEIVED_END;
}

static udpai_call_status
status(const void *of)
{
    const call *self = of;
    return (udpai_call_status){
        .code = self->status.is_out ? GRPC_STATUS_UNKNOWN : (int)self->code,
        .text = {(const char *)GRPC_SLICE_START_PTR(self->text), GRPC_SLICE_LENGTH(self->text)},
    };
}

static void
close_call(void *of)
{
    call *self = of;
    tag *const tags[] = {&self->begin, &self->headers_in, &self->read, &self->write, &self->status};
    grpc_call_cancel(self->call, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(tags); i++)
        while (!turn_until(self->caller, tags[i], NULL, END_PATIENCE_MS))
            ; /* a call that is cancelled gives all its tags back */
    grpc_byte_buffer_destroy(self->received);
    grpc_byte_buffer_destroy(self->sent);
    grpc_slice_unref(self->message);
    grpc_slice_unref(self->text);
    grpc_metadata_array_destroy(&self->headers);
    grpc_metadata_array_destroy(&self->trailers);
    grpc_call_unref(self->call);
    udpai_free(self);
}

udpai_peer
udpai_caller_peer(udpai_caller *caller)
{
    return (udpai_peer){open_call, send_message, end_call, receive,
                        status,    close_call,   now_ms,   caller};
}

/* ---- the channel ---- */

static udpa_err
make_credentials(const udpai_cli_options *options,
                 grpc_channel_credentials **ret_credentials,
                 udpa_error **ret_error)
{
    udpai_tls_files files;
    if (!options->ca) {
        *ret_credentials = grpc_insecure_credentials_create();
        return UDPA_OK;
    }
    const udpai_tls_paths paths = {.certificate = options->certificate,
                                   .private_key = options->key,
                                   .authorities = options->ca};
    udpa_err err = udpai_tls_files_read(&files, &paths, (int64_t)time(NULL), ret_error);
    if (err != UDPA_OK)
        return err;
    grpc_ssl_pem_key_cert_pair pair = {files.private_key, files.certificate};
    *ret_credentials = grpc_ssl_credentials_create_ex(files.authorities,
                                                      files.certificate ? &pair : NULL, NULL, NULL);
    udpai_tls_files_done(&files);
    return *ret_credentials
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL, "gRPC refuses the certificate or its key");
}

static grpc_arg
integer(const char *key, int value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

/* NULL without memory. */
static grpc_channel *
make_channel(const udpai_caller *caller, udpai_str server)
{
    const char *name = caller->options->server_name;
    UDPAI_AUTO_FREE char *address = udpai_strndup(server.data, server.len);
    grpc_arg args[] = {
        integer(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        integer(GRPC_ARG_ENABLE_RETRIES, 0),
        integer(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        integer(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_BYTES_MAX),
        integer(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, BACKOFF_MS),
        integer(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, BACKOFF_MS),
        integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
        {.type = GRPC_ARG_STRING,
         .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
         .value.string = (char *)(uintptr_t)name},
    };
    const grpc_channel_args all = {UDPAI_ARRAY_LEN(args) - !name, args};
    return address ? grpc_channel_create(address, caller->credentials, &all) : NULL;
}

udpa_err
udpai_caller_new(udpai_caller **ret_caller,
                 const udpai_cli_options *options,
                 udpa_error **ret_error)
{
    udpa_err err = udpai_dial_list_check(options->server, ret_error);
    udpai_caller *caller = err == UDPA_OK ? udpai_alloc(sizeof(*caller)) : NULL;
    if (err != UDPA_OK || !caller)
        return err != UDPA_OK ? err : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    grpc_init();
    err = make_credentials(options, &caller->credentials, ret_error);
    if (err != UDPA_OK) {
        udpai_free(caller);
        grpc_shutdown();
        return err;
    }
    caller->options = options;
    caller->cq = grpc_completion_queue_create_for_next(NULL);
    caller->channel =
        make_channel(caller, udpai_server_list_at(udpai_str_from(options->server), 0));
    if (!caller->channel) {
        udpai_caller_free(caller);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_caller = caller;
    return UDPA_OK;
}

udpai_caller *
udpai_caller_free(udpai_caller *caller)
{
    if (!caller)
        return NULL;
    if (caller->channel)
        grpc_channel_destroy(caller->channel);
    grpc_channel_credentials_release(caller->credentials);
    grpc_completion_queue_shutdown(caller->cq);
    while (grpc_completion_queue_next(caller->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        ;
    grpc_completion_queue_destroy(caller->cq);
    udpai_free(caller);
    grpc_shutdown_blocking(); /* a handshake that was given up ends now, not while the program does
                               */
    return NULL;
}

static bool
connect_until(udpai_caller *caller, uint64_t deadline, bool is_hurried)
{
    grpc_connectivity_state state = grpc_channel_check_connectivity_state(caller->channel, 1);
    while (state != GRPC_CHANNEL_READY) {
        uint64_t at = now_ms(NULL);
        tag changed = {.is_out = true};
        if (at >= deadline || (is_hurried && state == GRPC_CHANNEL_TRANSIENT_FAILURE))
            return false;
        grpc_channel_watch_connectivity_state(caller->channel, state, timespec_of(deadline - at),
                                              caller->cq, &changed);
        (void)turn_until(caller, &changed, NULL, deadline - at + END_PATIENCE_MS);
        state = grpc_channel_check_connectivity_state(caller->channel, 1);
    }
    return true;
}

/* Each of several servers has an equal part of the time, and not more than a node gives one. gRPC
 * does not report why one cannot be reached. */
udpa_err
udpai_caller_connect(udpai_caller *caller, uint64_t timeout_ms, udpa_error **ret_error)
{
    udpai_str list = udpai_str_from(caller->options->server);
    size_t n = udpai_server_list_size(list);
    uint64_t each_ms = n > 1 ? udpai_min_size(timeout_ms / n, UDPAI_DIAL_HURRIED_MS) : timeout_ms;
    for (size_t i = 0; i < n; i++) {
        udpai_str server = udpai_server_list_at(list, i);
        grpc_channel *channel = i ? make_channel(caller, server) : caller->channel;
        if (!channel)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        if (channel != caller->channel)
            grpc_channel_destroy(caller->channel);
        caller->channel = channel;
        if (connect_until(caller, now_ms(NULL) + each_ms, n > 1))
            return UDPA_OK;
        if (caller->options->is_verbose)
            udpai_cli_note("%.*s: no connection", UDPAI_SHOWN(server));
    }
    return n > 1 ? udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "no connection to any of them")
                 : udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "no connection within %g s",
                              (double)timeout_ms / 1000);
}
