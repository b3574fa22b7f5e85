/* SPDX-License-Identifier: Apache-2.0 */
/* The thread itself: what it is made of, what libwebsockets tells it, how it ends. */
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "transport/http/http_internal.h"

/* ---- what libwebsockets tells ---- */

/* What each wsi that speaks HTTP has. */
struct wsi_user {
    udpai_http_exchange *exchange; /* NULL: none */
};

static void
end_exchange(struct wsi_user *user)
{
    if (user)
        udpai_http_exchange_end(UDPAI_TAKE(user->exchange));
}

/* Below 0 has libwebsockets close the connection, or the stream of HTTP/2. */
static int
begin_exchange(struct lws *wsi, struct wsi_user *user, udpai_str path)
{
    end_exchange(user);
    user->exchange = udpai_http_exchange_begin(wsi, path);
    return user->exchange ? 0 : -1;
}

/* Comes again when there is more behind a body of HTTP/1. libwebsockets would keep all of it until
 * the answer was written, so who does not wait for that is cut off (RFC 9112, 9.3.2: behind a POST
 * nothing is to be sent). */
static int
complete_body(udpai_http_exchange *exchange)
{
    if (exchange->stage == UDPAI_HTTP_ASKING)
        return -1;
    udpai_http_exchange_ask(exchange);
    return 0;
}

static int
write_some(struct lws *wsi, struct wsi_user *user)
{
    bool is_all = false;
    if (!user->exchange)
        return 0;
    if (udpai_http_exchange_write(user->exchange, &is_all) < 0)
        return -1;
    if (!is_all)
        return 0;
    bool closes = user->exchange->closes;
    lws_set_timer_usecs(wsi, LWS_SET_TIMER_USEC_CANCEL);
    end_exchange(user);
    return closes || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* A client may offer to change to HTTP/2, and need not be heard: with other words in the header,
 * libwebsockets takes no notice of it. */
static void
ignore_upgrade(char *protocol)
{
    if (protocol && *protocol)
        *protocol = '-';
}

static int
on_exchange(struct lws *wsi,
            enum lws_callback_reasons reason,
            struct wsi_user *user,
            udpai_str data)
{
    udpai_http_exchange *exchange = user ? user->exchange : NULL;
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return begin_exchange(wsi, user, data);
    case LWS_CALLBACK_HTTP_BODY:
        if (exchange)
            udpai_http_exchange_take(exchange, data);
        return 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return exchange ? complete_body(exchange) : 0;
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return user ? write_some(wsi, user) : 0;
    case LWS_CALLBACK_TIMER:
        if (exchange)
            udpai_http_exchange_late(exchange);
        return 0;
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        end_exchange(user);
        return 0;
    default:
        return 0;
    }
}

static int
on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    switch (reason) {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS: /* of the vhost `in` */
        udpai_http_tls_adopt(user, lws_vhost_user(in));
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        udpai_http_receive(lws_context_user(lws_get_context(wsi)));
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        ignore_upgrade(in);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        udpai_http_connection_gone(wsi);
        return 0;
    case LWS_CALLBACK_HTTP:
    case LWS_CALLBACK_HTTP_BODY:
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    case LWS_CALLBACK_HTTP_WRITEABLE:
    case LWS_CALLBACK_TIMER:
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        return on_exchange(wsi, reason, user, (udpai_str){in, in ? len : 0});
    case LWS_CALLBACK_RAW_ADOPT: /* CONNECT, and what is no HTTP */
    case LWS_CALLBACK_RAW_CONNECTED:
    case LWS_CALLBACK_RAW_RX:
    case LWS_CALLBACK_RAW_WRITEABLE:
        return -1;
    default: /* what it does by itself for most others is not wanted: it would accept anything */
        return 0;
    }
}

const struct lws_protocols udpai_http_protocols[] = {
    {.name = "http", .callback = on_http, .per_session_data_size = sizeof(struct wsi_user)},
    {.name = "listen", .callback = udpai_http_on_listen},
    {.name = "greeting", .callback = udpai_http_on_greeting},
    {0},
};

/* What peers send provokes most of it. */
static void
on_lws_log(int level, const char *line)
{
    (void)level;
    udpai_log(UDPA_LOG_DEBUG, UDPAI_LOG_HTTP, "libwebsockets: %.*s", (int)strcspn(line, "\n"),
              line);
}

/* Memory of libwebsockets: by a function of ours, so that what it leaks (in 4.1.6 some bytes now
 * and then, when a peer breaks off in the middle) can be told from what we leak. */
void *
udpai_http_lws_memory(void *at, size_t size, const char *reason)
{
    (void)reason;
    if (size)
        return realloc(at, size);
    free(at);
    return NULL;
}

/* ---- messages ---- */

void
udpai_http_receive(udpai_http *http)
{
    udpai_list messages, *at;
    udpai_list_init(&messages);
    udpai_inbox_take(&http->inbox, &messages);
    while ((at = udpai_list_pop(&messages))) {
        udpai_http_message *message = UDPAI_LIST_ENTRY(at, udpai_http_message, node);
        message->run(http, message);
    }
}

static void
wake(void *userdata)
{
    const udpai_http *http = userdata;
    lws_cancel_service(http->context);
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
    struct tls_message *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_http_tls_new(&self->context, files, ret_error);
    self->listener = listener;
    self->message.run = run_replace_tls;
    udpai_list_init(&self->message.node);
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
    if (!http->is_stopping || http->n_connections || http->n_visits)
        return;
    http->is_done = true;
    lws_cancel_service(http->context);
}

static void
cut(udpai_http *http)
{
    UDPAI_LIST_FOREACH (at, &http->connections) {
        const udpai_http_connection *connection = UDPAI_LIST_ENTRY(at, udpai_http_connection, node);
        if (connection->wsi)
            lws_set_timeout(connection->wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
    }
}

static void
on_stop_timer(lws_sorted_usec_list_t *timer)
{
    cut(UDPAI_CONTAINER_OF(timer, udpai_http, stop_timer));
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
        exchange->closes = true;
    }
}

static void
run_stop(udpai_http *http, udpai_http_message *message)
{
    (void)message;
    http->is_stopping = true;
    for (size_t i = 0; i < http->n_listeners; i++)
        udpai_http_listener_stop(&http->listeners[i]);
    answer_all(http);
    UDPAI_LIST_FOREACH (at, &http->connections) {
        const udpai_http_connection *connection = UDPAI_LIST_ENTRY(at, udpai_http_connection, node);
        if (connection->n_exchanges == 0 && connection->wsi)
            lws_set_timeout(connection->wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
    }
    lws_sul_schedule(http->context, 0, &http->stop_timer, on_stop_timer,
                     (lws_usec_t)UDPAI_HTTP_STOP_S * LWS_USEC_PER_SEC);
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
    pthread_setname_np(pthread_self(), "udpa-http");
    while (!http->is_done)
        (void)lws_service(http->context, 0);
    lws_sul_cancel(&http->stop_timer);
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
            .http = http,
            .fd = -1,
            .asks = socket->tls && socket->tls->authorities,
            .is_optional = socket->client_certificate_optional,
        };
        err = udpai_http_listener_open(listener, socket->address, ret_error);
        if (err == UDPA_OK && socket->tls)
            err = udpai_http_tls_new(&listener->current, socket->tls, ret_error);
    }
    return err;
}

static udpa_err
make_context(udpai_http *http, udpa_error **ret_error)
{
    const struct lws_context_creation_info info = {
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT |
                   LWS_SERVER_OPTION_NO_LWS_SYSTEM_STATES,
        .user = http,
        .timeout_secs = UDPAI_HTTP_BODY_S + 5, /* ours come first */
        .max_http_header_data = UDPAI_HTTP_HEADERS_MAX,
        .pt_serv_buf_size = 16384,
    };
    lws_set_log_level(LLL_ERR | LLL_WARN, on_lws_log);
    lws_set_allocator(udpai_http_lws_memory);
    http->context = lws_create_context(&info);
    return http->context ? UDPA_OK
                         : udpai_fail(ret_error, UDPA_ERR_INTERNAL,
                                      "cannot serve HTTP: libwebsockets cannot be set up; is there "
                                      "memory, and a file descriptor?");
}

static udpa_err
start(udpai_http *http, udpa_error **ret_error)
{
    sigset_t all, before;
    udpa_err err = UDPA_OK;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (size_t i = 0; i < http->n_listeners && err == UDPA_OK; i++)
        err = udpai_http_listener_start(&http->listeners[i], ret_error);
    int number = err == UDPA_OK ? pthread_create(&http->pthread, NULL, run, http) : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    DEFAULT_TO(http->limits.max_body_bytes, UDPAI_HTTP_MAX_BODY_BYTES);
    http->routes = options->routes;
    http->n_routes = options->n_routes;
    http->streams = options->streams;
    http->schema = udpai_schema_ref(options->schema);
    http->stopped = options->stopped;
    http->userdata = options->userdata;
    udpai_list_init(&http->connections);
    udpai_list_init(&http->exchanges);
    udpa_err err = udpai_inbox_init(&http->inbox, wake, http);
    http->has_inbox = err == UDPA_OK;
    if (err == UDPA_OK)
        err = open_listeners(http, options, ret_error);
    if (err == UDPA_OK)
        err = make_context(http, ret_error);
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
    udpai_list left, *at;
    udpai_list_init(&left);
    udpai_inbox_close(&http->inbox, &left);
    while ((at = udpai_list_pop(&left))) {
        udpai_http_message *message = UDPAI_LIST_ENTRY(at, udpai_http_message, node);
        message->run(http, message);
    }
}

udpai_http *
udpai_http_free(udpai_http *http)
{
    if (!http)
        return NULL;
    if (http->is_started) {
        udpai_http_stop(http);
        pthread_join(http->pthread, NULL);
        drop_messages(http);
    }
    if (http->has_inbox)
        udpai_inbox_done(&http->inbox);
    if (http->context)
        lws_context_destroy(http->context);
    for (size_t i = 0; i < http->n_listeners; i++) {
        if (http->listeners[i].fd >= 0)
            close(http->listeners[i].fd);
        SSL_CTX_free(http->listeners[i].current);
    }
    udpai_http_made_done(http);
    udpai_schema_unref(http->schema);
    udpai_free(http->listeners);
    udpai_free(http);
    return NULL;
}
