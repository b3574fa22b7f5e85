/* SPDX-License-Identifier: Apache-2.0 */
/* Listening. Each listener is a gRPC server of its own on the one queue, so that one can come and
 * go without the others. */
#include <grpc/support/alloc.h>
#include <limits.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "transport/grpc/grpc_internal.h"

/* What a peer may send ahead of our reading, on a stream. It is fixed: to find out what the network
 * could carry takes pings and timers for every connection, which cost more than they would bring.
 */

#define ACCEPT_AGAIN_MS 100 /* after gRPC has refused to wait for a call */

typedef struct accept_slot {
    udpai_tag tag;
    udpai_listener *listener;
    udpai_timer again; /* nobody else would arm it any more */
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
} accept_slot;

struct udpai_listener {
    udpai_stream_thread *thread;
    udpai_list node;
    grpc_server *server;
    udpai_tls_user tls;
    size_t max_message_bytes;
    int port;
    accept_slot slots[UDPAI_ACCEPTS];
    size_t n_slots_out;
    udpai_list streams;
    udpai_tag shutdown_tag;
    bool is_closing, is_cut, is_shut_down;
    udpai_request start_request, close_request;
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* ---- taking calls ---- */

static void
refuse(udpai_stream *stream, udpa_err err, udpa_error *error)
{
    udpai_stream_thread *thread = stream->thread;
    atomic_fetch_add_explicit(&thread->stat_refused, 1, memory_order_relaxed);
    if (stream->admitted)
        udpai_admission_leave(&thread->admission, UDPAI_TAKE(stream->admitted));
    if (thread->n_refusals < UDPAI_REFUSALS_MAX) {
        stream->is_refusal = true;
        thread->n_refusals++;
        if (!error)
            error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
        udpai_stream_finish(stream, error);
    } else {
        stream->is_broken = true;
        grpc_call_cancel(stream->call, NULL);
        udpai_stream_arm(stream);
    }
    udpa_error_unref(error);
}

static udpa_err
admit(udpai_stream *stream, const udpai_identity *identity, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(stream->call);
    if (!address)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_client client = {.identity = identity, .address = udpai_bytes_view(address)};
    udpai_connection_enter(stream, udpai_bytes_view(address));
    udpai_surge_expect(stream->thread);
    return udpai_admission_enter(&stream->thread->admission, &client, &stream->admitted, ret_error);
}

static udpai_trust *
trust_of(const udpai_listener *listener)
{
    return listener->tls.tls ? udpai_server_tls_trust(listener->tls.tls) : NULL;
}

static void
take_call(udpai_listener *listener, grpc_call *call, udpai_str path)
{
    udpai_stream *stream = listener->is_closing ? NULL : udpai_stream_new(listener->thread, call);
    if (!stream) { /* or no memory: then gRPC sends all that is sent */
        grpc_call_cancel(call, NULL);
        grpc_call_unref(call);
        return;
    }
    stream->listener = listener;
    stream->max_message_bytes = listener->max_message_bytes;
    udpai_list_append(&listener->streams, &stream->in_listener);
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_stream_know_peer(stream, trust_of(listener), &identity, &error);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
        err = UDPA_ERR_UNAUTHENTICATED;
    if (err == UDPA_OK)
        err = admit(stream, identity, &error);
    if (err == UDPA_OK)
        err = udpai_service_open(stream, path, identity, &error);
    if (err != UDPA_OK)
        refuse(stream, err, error);
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
    udpai_wheel *wheel = &slot->listener->thread->wheel;
    if (!slot->listener->is_closing)
        udpai_timer_set(wheel, &slot->again, wheel->now_ms + ACCEPT_AGAIN_MS);
}

static void
ask_for_call(accept_slot *slot)
{
    udpai_listener *listener = slot->listener;
    grpc_call_details_init(&slot->details);
    grpc_metadata_array_init(&slot->metadata);
    slot->call = NULL;
    udpai_tag_begin(listener->thread, &slot->tag);
    grpc_call_error error =
        grpc_server_request_call(listener->server, &slot->call, &slot->details, &slot->metadata,
                                 listener->thread->cq, listener->thread->cq, &slot->tag);
    if (error == GRPC_CALL_OK) {
        listener->n_slots_out++;
        return;
    }
    udpai_tag_forget(listener->thread, &slot->tag);
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
    udpai_listener *listener = slot->listener;
    listener->n_slots_out--;
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

static void
free_listener(udpai_listener *listener)
{
    udpai_stream_thread *thread = listener->thread;
    udpai_list_remove(&listener->node);
    thread->n_listeners--;
    grpc_server_destroy(listener->server);
    udpai_server_tls_unref(listener->tls.tls);
    if (listener->closed)
        listener->closed(listener->closed_userdata);
    udpai_free(listener);
    udpai_thread_check_end(thread);
}

void
udpai_listener_check_end(udpai_listener *listener)
{
    if (!listener->is_closing || !udpai_list_empty(&listener->streams))
        return;
    if (!listener->is_cut) { /* connections without streams would stay as long as they like */
        listener->is_cut = true;
        grpc_server_cancel_all_calls(listener->server);
    }
    if (listener->is_shut_down && listener->n_slots_out == 0)
        free_listener(listener);
}

static void
on_shutdown(udpai_tag *tag, bool ok)
{
    (void)ok;
    udpai_listener *listener = UDPAI_CONTAINER_OF(tag, udpai_listener, shutdown_tag);
    listener->is_shut_down = true;
    udpai_listener_check_end(listener);
}

static void
end_streams(udpai_listener *listener, const udpa_error *why)
{
    UDPAI_LIST_FOREACH (at, &listener->streams) {
        udpai_stream *stream = UDPAI_LIST_ENTRY(at, udpai_stream, in_listener);
        udpai_session *session = udpai_session_of_stream(stream);
        if (session)
            udpai_session_finish(session, udpa_error_ref((udpa_error *)(uintptr_t)why));
        else
            udpai_stream_finish(stream, why);
    }
}

static void
begin_close(udpai_listener *listener, const udpa_error *why)
{
    if (listener->is_closing)
        return;
    listener->is_closing = true;
    for (size_t i = 0; i < UDPAI_ACCEPTS; i++)
        udpai_timer_cancel(&listener->slots[i].again);
    end_streams(listener, why);
    udpai_tag_begin(listener->thread, &listener->shutdown_tag);
    grpc_server_shutdown_and_notify(listener->server, listener->thread->cq,
                                    &listener->shutdown_tag);
    udpai_listener_check_end(listener);
}

void
udpai_listeners_begin_close(udpai_stream_thread *thread, const udpa_error *why)
{
    UDPAI_LIST_FOREACH_SAFE (at, &thread->listeners)
        begin_close(UDPAI_LIST_ENTRY(at, udpai_listener, node), why);
}

static void
run_close(udpai_request *request)
{
    udpai_listener *listener = UDPAI_CONTAINER_OF(request, udpai_listener, close_request);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "this node does not listen here any more");
    begin_close(listener, why);
}

void
udpai_stream_thread_close_listener(udpai_stream_thread *thread,
                                   udpai_listener *listener,
                                   void (*closed)(void *userdata),
                                   void *userdata)
{
    if (thread->is_stop_asked)
        return;
    listener->closed = closed;
    listener->closed_userdata = userdata;
    (void)udpai_thread_request(thread, &listener->close_request, run_close);
}

/* ---- opening ---- */

static void
run_start(udpai_request *request)
{
    udpai_listener *listener = UDPAI_CONTAINER_OF(request, udpai_listener, start_request);
    udpai_list_append(&listener->thread->listeners, &listener->node);
    listener->thread->n_listeners++;
    grpc_server_start(listener->server);
    for (size_t i = 0; i < UDPAI_ACCEPTS; i++) {
        listener->slots[i].listener = listener;
        listener->slots[i].tag.done = on_call;
        udpai_timer_init(&listener->slots[i].again, on_again);
        ask_for_call(&listener->slots[i]);
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

/* Before the first of its streams has its age, a connection takes no new ones (GOAWAY), so that its
 * peer opens the next one on another connection, which a balancer may lead elsewhere. gRPC varies
 * this by 10 % as we vary the age; what is open stays, and is ended by us. 0: never. */
static uint64_t
connection_age(const udpai_stream_timing *timing)
{
    return timing->max_stream_age_ms ? timing->max_stream_age_ms * 8 / 10 : INT_MAX;
}

/* Two processes must not share a port by accident; the number of streams on one connection is bound
 * by that of one peer; idle peers are tried, and may try us, but without a stream they do not stay.
 * Nothing is decompressed: a few bytes could become gigabytes. How long a message may be this gRPC
 * asks only when it has all of it, and then reports it to the peer alone; so stream.c does. */
static grpc_server *
make_server(const udpai_stream_thread *thread, const udpai_keepalive *keepalive)
{
    const udpai_stream_timing *timing = &thread->timing;
    grpc_arg args[] = {
        integer(GRPC_ARG_ALLOW_REUSEPORT, thread->shares_ports),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS, thread->limits.max_streams_per_identity),
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = -1},
        integer(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, thread->timing.handshake_timeout_ms),
        integer(GRPC_ARG_MAX_CONNECTION_IDLE_MS, thread->timing.connection_idle_ms),
        integer(GRPC_ARG_MAX_CONNECTION_AGE_MS, connection_age(timing)),
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
add_port(udpai_listener *listener, const char *address)
{
    grpc_server_credentials *credentials = listener->tls.tls
                                               ? udpai_server_tls_credentials(&listener->tls)
                                               : grpc_insecure_server_credentials_create();
    if (!credentials)
        return 0;
    int port = grpc_server_add_http2_port(listener->server, address, credentials);
    grpc_server_credentials_release(credentials);
    return port;
}

static udpa_err
open_port(udpai_listener *listener, const udpai_listen_options *options, udpa_error **ret_error)
{
    udpai_stream_thread *thread = listener->thread;
    const char *address = options->address;
    udpa_err err = udpai_address_probe(address, thread->shares_ports, ret_error);
    if (err != UDPA_OK)
        return err;
    listener->server = make_server(thread, &options->keepalive);
    grpc_server_register_completion_queue(listener->server, thread->cq, NULL);
    listener->port = add_port(listener, address);
    if (listener->port > 0)
        return UDPA_OK;
    grpc_server_destroy(listener->server);
    return udpai_fail(ret_error, UDPA_ERR_IO,
                      "cannot listen on %s, and gRPC gives no reason; did another program take the "
                      "port this very moment%s?",
                      address,
                      listener->tls.tls ? ", or is something wrong with the certificate" : "");
}

static size_t
most_bytes(const udpai_stream_thread *thread, const udpai_listen_options *options)
{
    if (options->max_message_bytes)
        return options->max_message_bytes;
    if (thread->limits.max_message_bytes)
        return thread->limits.max_message_bytes;
    return udpai_server_tls_knows_clients(options->tls) ? UDPAI_MAX_CERTIFIED_MESSAGE_BYTES
                                                        : UDPAI_MAX_MESSAGE_BYTES;
}

udpa_err
udpai_stream_thread_listen(udpai_stream_thread *thread,
                           const udpai_listen_options *options,
                           udpai_listener **ret_listener,
                           udpa_error **ret_error)
{
    if (thread->is_stop_asked)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "cannot listen on %s: this node is stopping", options->address);
    udpai_listener *listener = udpai_alloc(sizeof(*listener));
    if (!listener)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    listener->thread = thread;
    listener->tls.tls = options->tls;
    listener->max_message_bytes = most_bytes(thread, options);
    listener->shutdown_tag.done = on_shutdown;
    udpai_list_init(&listener->node);
    udpai_list_init(&listener->streams);
    udpa_err err = open_port(listener, options, ret_error);
    if (err != UDPA_OK) {
        udpai_free(listener);
        return err;
    }
    udpai_server_tls_ref(options->tls);
    *ret_listener = listener;
    (void)udpai_thread_request(thread, &listener->start_request, run_start);
    return UDPA_OK;
}

int
udpai_listener_port(const udpai_listener *listener)
{
    return listener->port;
}
