/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners, whatever carries what they accept. */
#include "base/alloc.h"
#include "transport/grpc/grpc_internal.h"

#define GOES "this node does not listen here any more: connect again, or elsewhere"

/* ---- closing ---- */

static void
free_listener(udpai_listener *listener)
{
    listener->kind->release(listener);
    udpai_server_tls_unref(listener->tls);
    udpai_free(listener);
}

void
udpai_listener_check_end(udpai_listener *listener)
{
    udpai_stream_thread *thread = listener->thread;
    if (!listener->is_closing || !udpai_list_empty(&listener->streams) ||
        !listener->kind->is_over(listener))
        return;
    const udpai_listener_drain how = listener->how;
    udpai_list_remove(&listener->node);
    udpai_drain_done(&listener->drain);
    thread->n_listeners--;
    free_listener(listener);
    if (how.closed)
        how.closed(how.userdata);
    udpai_thread_check_end(thread);
}

static void
begin_close(udpai_listener *listener, const udpa_error *why)
{
    if (listener->is_closing)
        return;
    listener->is_closing = true;
    UDPAI_LIST_FOREACH (at, &listener->streams)
        udpai_stream_end(UDPAI_LIST_ENTRY(at, udpai_stream, in_listener),
                         udpa_error_ref((udpa_error *)(uintptr_t)why));
    listener->kind->close(listener);
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
    listener->how = (udpai_listener_drain){.closed = closed, .userdata = userdata};
    (void)udpai_thread_request(thread, &listener->close_request, run_close);
}

/* The transport closes its connections, and by and by what is on them is ended. */
static void
run_drain(udpai_request *request)
{
    udpai_listener *listener = UDPAI_CONTAINER_OF(request, udpai_listener, close_request);
    const udpai_listener_drain *how = &listener->how;
    if (listener->is_closing)
        return;
    listener->is_closing = true;
    if (how->successor && listener->kind->inherit)
        listener->kind->inherit(how->successor, listener);
    udpai_drain_begin(&listener->drain, how->over_ms);
    listener->kind->close(listener);
}

void
udpai_stream_thread_drain_listener(udpai_stream_thread *thread,
                                   udpai_listener *listener,
                                   const udpai_listener_drain *how)
{
    if (thread->is_stop_asked)
        return;
    listener->how = *how;
    (void)udpai_thread_request(thread, &listener->close_request, run_drain);
}

/* ---- opening ---- */

static size_t
most_bytes(const udpai_listener *listener)
{
    if (listener->own_max_message_bytes)
        return listener->own_max_message_bytes;
    if (listener->thread->limits.max_message_bytes)
        return listener->thread->limits.max_message_bytes;
    return udpai_server_tls_knows_clients(listener->tls) ? UDPAI_MAX_CERTIFIED_MESSAGE_BYTES
                                                         : UDPAI_MAX_MESSAGE_BYTES;
}

static void
run_start(udpai_request *request)
{
    udpai_listener *listener = UDPAI_CONTAINER_OF(request, udpai_listener, start_request);
    listener->max_message_bytes = most_bytes(listener);
    udpai_list_append(&listener->thread->listeners, &listener->node);
    listener->thread->n_listeners++;
    listener->kind->start(listener);
}

uint64_t
udpai_listener_connection_age_ms(const udpai_stream_timing *timing)
{
    return timing->max_stream_age_ms * 8 / 10;
}

void
udpai_listeners_take_limits(udpai_stream_thread *thread)
{
    UDPAI_LIST_FOREACH (at, &thread->listeners) {
        udpai_listener *listener = UDPAI_LIST_ENTRY(at, udpai_listener, node);
        listener->max_message_bytes = most_bytes(listener);
        if (listener->kind->changed)
            listener->kind->changed(listener);
    }
}

udpa_err
udpai_stream_thread_bind(udpai_stream_thread *thread,
                         const udpai_listen_options *options,
                         udpai_listener **ret_listener,
                         udpa_error **ret_error)
{
    const udpai_listener_kind *kind = thread->listener_kind;
    if (thread->is_stop_asked)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "cannot listen on %s: this node is stopping", options->address);
    udpai_listener *listener = udpai_alloc(kind->bytes);
    if (!listener)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    listener->thread = thread;
    listener->kind = kind;
    listener->tls = udpai_server_tls_ref(options->tls);
    listener->own_max_message_bytes = options->max_message_bytes;
    listener->socket = -1;
    udpai_drain_init(&listener->drain, thread, listener, GOES);
    udpai_list_init(&listener->node);
    udpai_list_init(&listener->streams);
    udpa_err err = kind->open(listener, options, ret_error);
    if (err != UDPA_OK) {
        free_listener(listener);
        return err;
    }
    *ret_listener = listener;
    return UDPA_OK;
}

void
udpai_listener_start(udpai_listener *listener)
{
    (void)udpai_thread_request(listener->thread, &listener->start_request, run_start);
}

void
udpai_listener_discard(udpai_listener *listener)
{
    free_listener(listener);
}

udpa_err
udpai_stream_thread_listen(udpai_stream_thread *thread,
                           const udpai_listen_options *options,
                           udpai_listener **ret_listener,
                           udpa_error **ret_error)
{
    udpa_err err = udpai_stream_thread_bind(thread, options, ret_listener, ret_error);
    if (err == UDPA_OK)
        udpai_listener_start(*ret_listener);
    return err;
}

int
udpai_listener_port(const udpai_listener *listener)
{
    return listener->port;
}

int
udpai_listener_socket(const udpai_listener *listener)
{
    return listener->socket;
}

size_t
udpai_listener_n_served(const udpai_listener *listener)
{
    return atomic_load_explicit(&listener->n_served, memory_order_relaxed);
}
