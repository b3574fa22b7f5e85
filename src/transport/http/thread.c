/* SPDX-License-Identifier: Apache-2.0 */
/* The thread itself: its loop, what other threads send it, how it begins and ends. */
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "transport/http/http_internal.h"

static const udpai_admission_words connections = {"connections", "http.max_connections",
                                                  "http.max_connections_per_client"};

udpai_http_counts
udpai_http_counts_of(const udpai_http *http)
{
    return (udpai_http_counts){
        .n_connections = atomic_load_explicit(&http->n_connections, memory_order_relaxed),
        .n_rejected = atomic_load_explicit(&http->n_rejected, memory_order_relaxed),
        .n_replaced = atomic_load_explicit(&http->n_replaced, memory_order_relaxed),
    };
}

/* ---- messages ---- */

static void
run_all(udpai_http *http, udpai_list *messages)
{
    udpai_list *at;
    while ((at = udpai_list_pop(messages))) {
        udpai_http_message *message = UDPAI_LIST_ENTRY(at, udpai_http_message, node);
        message->run(http, message);
    }
}

static void
receive(uv_async_t *async)
{
    udpai_http *http = UDPAI_CONTAINER_OF(async, udpai_http, async);
    udpai_list messages;
    udpai_list_init(&messages);
    udpai_inbox_take(&http->inbox, &messages);
    udpai_loop_wheel_advance(http->wheel);
    run_all(http, &messages);
    udpai_http_connections_run(http);
}

static void
wake(void *userdata)
{
    uv_async_send(&((udpai_http *)userdata)->async);
}

void
udpai_http_set_timer(udpai_http *http, udpai_timer *timer, uint64_t due_ms)
{
    udpai_timer_set(udpai_loop_wheel_get(http->wheel), timer, due_ms);
}

static void
on_ticked(void *userdata)
{
    udpai_http_connections_run(userdata);
}

struct tls_message {
    udpai_http_message message;
    udpai_http_listener *listener;
    SSL_CTX *context;
};

static void
run_replace_tls(udpai_http *http, udpai_http_message *message)
{
    struct tls_message *self = UDPAI_CONTAINER_OF(message, struct tls_message, message);
    (void)http;
    SSL_CTX_free(self->listener->current);
    self->listener->current = self->context;
    udpai_free(self);
}

udpa_err
udpai_http_replace_tls(udpai_http *http,
                       size_t index,
                       const udpai_tls_files *files,
                       udpa_error **ret_error)
{
    udpai_http_listener *listener = &http->listeners[index];
    if (listener->asks != (files->authorities != NULL))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "whether clients must present certificates cannot change while the node "
                          "runs: start it again");
    const udpai_tls_options options = {.files = files, .is_optional = listener->is_optional};
    struct tls_message *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_tls_context(&self->context, &options, ret_error);
    self->listener = listener;
    self->message.run = run_replace_tls;
    udpai_list_init(&self->message.node);
    if (err == UDPA_OK)
        udpai_trust_set(listener->trust, files->trust);
    if (err != UDPA_OK || !udpai_inbox_push(&http->inbox, &self->message.node)) {
        SSL_CTX_free(self->context);
        udpai_free(self);
    }
    return err;
}

/* ---- the end ---- */

void
udpai_http_check_end(udpai_http *http)
{
    if (!http->is_stopping || http->admission.n || http->n_bridged || http->bodies.n)
        return;
    http->is_done = true;
    uv_stop(&http->loop);
}

static void
on_stop_timer(udpai_timer *timer)
{
    const udpai_http *http = UDPAI_CONTAINER_OF(timer, udpai_http, stop_timer);
    UDPAI_LIST_FOREACH (at, &http->connections)
        udpai_http_connection_cut(UDPAI_LIST_ENTRY(at, udpai_http_connection, node));
}

static void
answer_all(udpai_http *http)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "this node is shutting down");
    UDPAI_LIST_FOREACH (at, &http->exchanges) {
        udpai_http_exchange *exchange = UDPAI_LIST_ENTRY(at, udpai_http_exchange, node);
        if (exchange->stage == UDPAI_HTTP_READING || exchange->stage == UDPAI_HTTP_ASKING)
            udpai_http_exchange_fail(exchange, 503, error);
        else if (exchange->stage == UDPAI_HTTP_STREAMING)
            exchange->stream_ops->end(exchange, error);
    }
}

static void
run_stop(udpai_http *http, udpai_http_message *message)
{
    (void)message;
    http->is_stopping = true;
    for (size_t i = 0; i < http->n_listeners; i++)
        udpai_http_listener_stop(&http->listeners[i]);
    UDPAI_LIST_FOREACH (at, &http->connections)
        udpai_http_connection_shut_down(UDPAI_LIST_ENTRY(at, udpai_http_connection, node));
    udpai_http_bodies_drop(http);
    answer_all(http);
    udpai_http_set_timer(http, &http->stop_timer, udpai_monotonic_ms() + UDPAI_HTTP_STOP_S * 1000);
    udpai_http_check_end(http);
}

void
udpai_http_stop(udpai_http *http)
{
    if (http->is_stop_asked)
        return;
    http->is_stop_asked = true;
    http->stop_message.run = run_stop;
    udpai_list_init(&http->stop_message.node);
    (void)udpai_inbox_push(&http->inbox, &http->stop_message.node);
}

static void *
run(void *userdata)
{
    udpai_http *http = userdata;
    while (!http->is_done)
        (void)uv_run(&http->loop, UV_RUN_DEFAULT);
    udpai_timer_cancel(&http->stop_timer);
    if (http->stopped)
        http->stopped(http->userdata);
    return NULL;
}

/* ---- making it ---- */

#define DEFAULT_TO(field, value) ((field) = (field) ? (field) : (value))

static udpa_err
open_listeners(udpai_http *http, const udpai_http_options *options, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    http->listeners = udpai_alloc_array(options->n_sockets, sizeof(*http->listeners));
    if (!http->listeners)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < options->n_sockets && err == UDPA_OK; i++) {
        const udpai_http_socket *socket = &options->sockets[i];
        udpai_http_listener *listener = &http->listeners[http->n_listeners++];
        *listener = (udpai_http_listener){
            .place = {.http = http, .has_rest = true, .has_pages = true},
            .http = http,
            .fd = -1,
            .asks = socket->tls && socket->tls->authorities,
            .is_optional = socket->client_certificate_optional,
        };
        err = udpai_http_listener_open(listener, socket->address, ret_error);
        if (err == UDPA_OK && socket->tls)
            err = udpai_tls_context(
                &listener->current,
                &(udpai_tls_options){.files = socket->tls, .is_optional = listener->is_optional},
                ret_error);
        if (err == UDPA_OK && socket->tls &&
            !(listener->trust = udpai_trust_new(socket->tls->trust)))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    return err;
}

static udpa_err
make_loop(udpai_http *http, udpa_error **ret_error)
{
    int number = uv_loop_init(&http->loop);
    http->has_loop = number == 0;
    if (number == 0)
        number = uv_async_init(&http->loop, &http->async, receive);
    http->has_async = number == 0;
    if (number != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot serve HTTP: %s", uv_strerror(number));
    udpai_timer_init(&http->stop_timer, on_stop_timer);
    return udpai_loop_wheel_new(&http->wheel, &http->loop, on_ticked, http, ret_error);
}

static void
close_handle(uv_handle_t *handle, void *userdata)
{
    (void)userdata;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void
close_loop(udpai_http *http)
{
    if (!http->has_loop)
        return;
    if (http->wheel)
        udpai_loop_wheel_close(http->wheel);
    uv_walk(&http->loop, close_handle, NULL);
    (void)uv_run(&http->loop, UV_RUN_DEFAULT);
    uv_loop_close(&http->loop);
}

static udpa_err
start(udpai_http *http, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < http->n_listeners && err == UDPA_OK; i++)
        err = udpai_http_listener_start(&http->listeners[i], ret_error);
    int number =
        err == UDPA_OK ? udpai_thread_begin(&http->pthread, http->thread_name, run, http) : 0;
    if (number != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot start the thread that serves HTTP: %s",
                          strerror(number));
    http->is_started = err == UDPA_OK;
    return err;
}

udpa_err
udpai_http_new(udpai_http **ret_http, const udpai_http_options *options, udpa_error **ret_error)
{
    udpai_http *http = udpai_alloc(sizeof(*http));
    if (!http)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    http->limits = options->limits;
    DEFAULT_TO(http->limits.hold_ms, UDPAI_HTTP_HOLD_MS);
    DEFAULT_TO(http->limits.max_connections, UDPAI_HTTP_MAX_CONNECTIONS);
    DEFAULT_TO(http->limits.max_connections_per_client, (http->limits.max_connections + 1) / 2);
    DEFAULT_TO(http->limits.heartbeat_ms, UDPAI_HTTP_HEARTBEAT_MS);
    DEFAULT_TO(http->limits.max_body_bytes, UDPAI_HTTP_MAX_BODY_BYTES);
    udpai_admission_init(&http->admission, options->words ? options->words : &connections,
                         http->limits.max_connections, http->limits.max_connections_per_client);
    http->routes = options->routes;
    http->n_routes = options->n_routes;
    http->pages = options->pages;
    http->n_pages = options->n_pages;
    http->n_moved = options->n_moved;
    http->moved = options->moved;
    http->body_setting = options->body_setting;
    http->thread_name = options->thread_name ? options->thread_name : "udpa-http";
    http->replaces_idle = options->replaces_idle;
    http->hosts = options->hosts;
    http->n_hosts = options->n_hosts;
    http->read_page = options->read_page;
    http->streams = options->streams;
    http->schema = udpai_schema_ref(options->schema);
    http->stopped = options->stopped;
    http->userdata = options->userdata;
    udpai_list_init(&http->connections);
    udpai_list_init(&http->exchanges);
    udpai_list_init(&http->at_end);
    udpai_list_init(&http->due);
    udpai_list_init(&http->unasked);
    udpa_err err = udpai_inbox_init(&http->inbox, wake, http);
    http->has_inbox = err == UDPA_OK;
    if (err == UDPA_OK)
        err = udpai_http_bodies_init(&http->bodies);
    if (err == UDPA_OK)
        err = open_listeners(http, options, ret_error);
    if (err == UDPA_OK)
        err = make_loop(http, ret_error);
    if (err == UDPA_OK)
        err = start(http, ret_error);
    if (err != UDPA_OK) {
        udpai_http_free(http);
        return udpai_fail_code(ret_error, err);
    }
    *ret_http = http;
    return UDPA_OK;
}

int
udpai_http_port(const udpai_http *http, size_t index)
{
    return http->listeners[index].port;
}

static void
drop_messages(udpai_http *http)
{
    udpai_list left;
    udpai_list_init(&left);
    udpai_inbox_close(&http->inbox, &left);
    run_all(http, &left);
}

void
udpai_http_end(udpai_http *http)
{
    if (!http->is_started)
        return;
    udpai_http_stop(http);
    pthread_join(http->pthread, NULL);
    drop_messages(http);
    run_all(http, &http->at_end);
    http->is_started = false;
}

udpai_http *
udpai_http_free(udpai_http *http)
{
    if (!http)
        return NULL;
    udpai_http_end(http);
    udpai_http_bodies_done(http);
    if (http->has_inbox)
        udpai_inbox_done(&http->inbox);
    close_loop(http);
    for (size_t i = 0; i < http->n_listeners; i++) {
        udpai_http_listener_close(&http->listeners[i]);
        SSL_CTX_free(http->listeners[i].current);
        udpai_trust_unref(http->listeners[i].trust);
    }
    udpai_strbuf_done(&http->plain);
    udpai_http_made_done(http);
    udpai_admission_done(&http->admission);
    udpai_schema_unref(http->schema);
    udpai_free(http->listeners);
    udpai_free(http);
    return NULL;
}
