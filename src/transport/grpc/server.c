/* SPDX-License-Identifier: Apache-2.0 */
/* Listening by gRPC's library. Each listener is a server of its own on the one queue, so that one
 * can come and go without the others. */
#include <grpc/support/alloc.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

#define ACCEPT_AGAIN_MS 100 /* after gRPC has refused to wait for a call */

typedef struct server server;

typedef struct accept_slot {
    udpai_tag tag;
    server *server;
    udpai_timer again; /* nobody else would arm it any more */
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
} accept_slot;

struct server {
    udpai_listener listener;
    grpc_server *grpc;
    udpai_tls_user tls;
    accept_slot slots[UDPAI_ACCEPTS];
    size_t n_slots_out;
    udpai_tag shutdown_tag;
    bool is_cut, is_shut_down;
};

static server *
server_of(udpai_listener *listener)
{
    return UDPAI_CONTAINER_OF(listener, server, listener);
}

/* ---- taking calls ---- */

static udpai_trust *
trust_of(const udpai_listener *listener)
{
    return listener->tls ? udpai_server_tls_trust(listener->tls) : NULL;
}

static udpa_err
open_call(udpai_call *call, udpai_str path, udpa_error **ret_error)
{
    udpai_stream *stream = &call->stream;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(call->grpc);
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    if (!address)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_connection_enter(call, udpai_bytes_view(address));
    udpai_surge_expect(stream->thread);
    udpa_err err = udpai_call_know_peer(call, trust_of(stream->listener), &identity, ret_error);
    if (err != UDPA_OK)
        return err == UDPA_ERR_NOMEM ? err : UDPA_ERR_UNAUTHENTICATED;
    const udpai_caller caller = {.identity = identity, .address = address};
    return udpai_service_open(stream, path, &caller, ret_error);
}

static void
take_call(udpai_listener *listener, grpc_call *grpc, udpai_str path)
{
    udpai_call *call =
        listener->is_closing ? NULL : udpai_call_new(listener->thread, listener, grpc);
    if (!call) { /* or no memory: then gRPC sends all that is sent */
        grpc_call_cancel(grpc, NULL);
        grpc_call_unref(grpc);
        return;
    }
    udpa_error *error = NULL;
    udpa_err err = open_call(call, path, &error);
    if (err != UDPA_OK)
        udpai_service_refuse(&call->stream, err, error);
}

static void
forget_call(accept_slot *slot)
{
    grpc_call_details_destroy(&slot->details);
    grpc_metadata_array_destroy(&slot->metadata);
}

static void
ask_again_later(accept_slot *slot)
{
    udpai_listener *listener = &slot->server->listener;
    udpai_wheel *wheel = &listener->thread->wheel;
    if (!listener->is_closing)
        udpai_timer_set(wheel, &slot->again, wheel->now_ms + ACCEPT_AGAIN_MS);
}

static void
ask_for_call(accept_slot *slot)
{
    udpai_stream_thread *thread = slot->server->listener.thread;
    grpc_call_details_init(&slot->details);
    grpc_metadata_array_init(&slot->metadata);
    slot->call = NULL;
    udpai_tag_begin(thread, &slot->tag);
    grpc_call_error error =
        grpc_server_request_call(slot->server->grpc, &slot->call, &slot->details, &slot->metadata,
                                 thread->cq, thread->cq, &slot->tag);
    if (error == GRPC_CALL_OK) {
        slot->server->n_slots_out++;
        return;
    }
    udpai_tag_forget(thread, &slot->tag);
    forget_call(slot);
    udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_GRPC,
              "gRPC refuses to accept calls: %s: it is asked again in %d ms",
              grpc_call_error_to_string(error), ACCEPT_AGAIN_MS);
    ask_again_later(slot);
}

static void
on_again(udpai_timer *timer)
{
    ask_for_call(UDPAI_CONTAINER_OF(timer, accept_slot, again));
}

static void
on_call(udpai_tag *tag, bool ok)
{
    accept_slot *slot = UDPAI_CONTAINER_OF(tag, accept_slot, tag);
    udpai_listener *listener = &slot->server->listener;
    slot->server->n_slots_out--;
    if (ok) {
        const grpc_slice *method = &slot->details.method;
        take_call(
            listener, UDPAI_TAKE(slot->call),
            (udpai_str){(const char *)GRPC_SLICE_START_PTR(*method), GRPC_SLICE_LENGTH(*method)});
    }
    forget_call(slot);
    if (ok && !listener->is_closing)
        ask_for_call(slot);
    else
        ask_again_later(slot);
    udpai_listener_check_end(listener);
}

/* ---- closing ---- */

static bool
is_over(udpai_listener *listener)
{
    server *self = server_of(listener);
    if (!self->is_cut) { /* connections without streams would stay as long as they like */
        self->is_cut = true;
        grpc_server_cancel_all_calls(self->grpc);
    }
    return self->is_shut_down && self->n_slots_out == 0;
}

static void
on_shutdown(udpai_tag *tag, bool ok)
{
    (void)ok;
    server *self = UDPAI_CONTAINER_OF(tag, server, shutdown_tag);
    self->is_shut_down = true;
    udpai_listener_check_end(&self->listener);
}

static void
close_server(udpai_listener *listener)
{
    server *self = server_of(listener);
    for (size_t i = 0; i < UDPAI_ACCEPTS; i++)
        udpai_timer_cancel(&self->slots[i].again);
    udpai_tag_begin(listener->thread, &self->shutdown_tag);
    grpc_server_shutdown_and_notify(self->grpc, listener->thread->cq, &self->shutdown_tag);
    udpai_listener_check_end(listener);
}

static void
release(udpai_listener *listener)
{
    if (server_of(listener)->grpc)
        grpc_server_destroy(server_of(listener)->grpc);
}

/* ---- opening ---- */

static void
start(udpai_listener *listener)
{
    server *self = server_of(listener);
    grpc_server_start(self->grpc);
    for (size_t i = 0; i < UDPAI_ACCEPTS; i++) {
        self->slots[i].server = self;
        self->slots[i].tag.done = on_call;
        udpai_timer_init(&self->slots[i].again, on_again);
        ask_for_call(&self->slots[i]);
    }
}

static grpc_arg
integer(const char *key, uint64_t value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER,
        .key = (char *)(uintptr_t)key,
        .value.integer = value > INT_MAX ? INT_MAX : (int)value,
    };
}

/* Two processes must not share a port by accident; the number of streams on one connection is bound
 * by that of one peer; idle peers are tried, and may try us, but without a stream they do not stay.
 * Nothing is decompressed: a few bytes could become gigabytes. How long a message may be this gRPC
 * asks only when it has all of it, and then reports it to the peer alone; so stream.c does. */
static grpc_server *
make_server(const udpai_stream_thread *thread, const udpai_keepalive *keepalive)
{
    const udpai_stream_timing *timing = &thread->timing;
    uint64_t age_ms = udpai_listener_connection_age_ms(timing); /* which gRPC varies by 10 % */
    grpc_arg args[] = {
        integer(GRPC_ARG_ALLOW_REUSEPORT, thread->shares_ports),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, thread->limits.max_streams_per_identity),
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = -1},
        integer(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, thread->timing.handshake_timeout_ms),
        integer(GRPC_ARG_MAX_CONNECTION_IDLE_MS, thread->timing.connection_idle_ms),
        integer(GRPC_ARG_MAX_CONNECTION_AGE_MS, age_ms ? age_ms : INT_MAX),
        integer(GRPC_ARG_KEEPALIVE_TIME_MS,
                keepalive->interval_ms ? keepalive->interval_ms : timing->keepalive_ms),
        integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                keepalive->timeout_ms ? keepalive->timeout_ms : timing->keepalive_timeout_ms),
        integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0), /* no limit on our own */
        integer(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                timing->min_ping_interval_ms),
        integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1),
        integer(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        integer(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0),
        integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
        integer(GRPC_ARG_HTTP2_BDP_PROBE, 0),
        integer(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, UDPAI_LOOKAHEAD_BYTES),
    };
    const grpc_channel_args all = {UDPAI_ARRAY_LEN(args), args};
    return grpc_server_create(&all, NULL);
}

static int
add_port(server *self, const char *address)
{
    grpc_server_credentials *credentials = self->tls.tls
                                               ? udpai_server_tls_credentials(&self->tls)
                                               : grpc_insecure_server_credentials_create();
    if (!credentials)
        return 0;
    int port = grpc_server_add_http2_port(self->grpc, address, credentials);
    grpc_server_credentials_release(credentials);
    return port;
}

static udpa_err
open_port(udpai_listener *listener, const udpai_listen_options *options, udpa_error **ret_error)
{
    server *self = server_of(listener);
    udpai_stream_thread *thread = listener->thread;
    const char *address = options->address;
    udpa_err err = udpai_address_probe(address, thread->shares_ports, ret_error);
    if (err != UDPA_OK)
        return err;
    self->tls.tls = listener->tls;
    self->shutdown_tag.done = on_shutdown;
    self->grpc = make_server(thread, &options->keepalive);
    grpc_server_register_completion_queue(self->grpc, thread->cq, NULL);
    listener->port = add_port(self, address);
    if (listener->port > 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO,
                      "cannot listen on %s, and gRPC gives no reason; did another program take the "
                      "port this very moment%s?",
                      address, listener->tls ? ", or is something wrong with the certificate" : "");
}

const udpai_listener_kind udpai_grpc_listener_kind = {
    .bytes = sizeof(server),
    .open = open_port,
    .start = start,
    .close = close_server,
    .is_over = is_over,
    .release = release,
};
