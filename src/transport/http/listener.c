/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets and connections. They are accepted here, not by libwebsockets: so the system says why a
 * port cannot be had, there is a limit, and the first bytes tell HTTP/2 without TLS from HTTP/1. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "transport/http/http_internal.h"

#define BACKLOG 512
#define ACCEPTS_MAX 64 /* in one turn */

/* ---- the port ---- */

static int
port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char port[8];
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, NULL, 0, port, sizeof(port),
                    NI_NUMERICSERV) != 0)
        return 0;
    return (int)strtol(port, NULL, 10);
}

udpa_err
udpai_http_listener_open(udpai_http_listener *self, const char *address, udpa_error **ret_error)
{
    char text[128];
    udpa_err err = udpai_address_bind(address, &self->fd, ret_error);
    if (err != UDPA_OK)
        return err;
    if (listen(self->fd, BACKLOG) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen on %s: %s", address,
                          strerror_r(errno, text, sizeof(text)));
    self->port = port_of(self->fd);
    return UDPA_OK;
}

/* ---- what libwebsockets needs of it ---- */

/* Time without a byte from the client, of HTTP/2 also while requests are held. */
static int
idle_s(const udpai_http *http)
{
    uint64_t hold_s = http->limits.hold_ms / 1000 + 60;
    return hold_s > UDPAI_HTTP_IDLE_S ? (int)udpai_min_size(hold_s, 1 << 20) : UDPAI_HTTP_IDLE_S;
}

static struct lws_vhost *
make_vhost(udpai_http_listener *self, const char *name, uint64_t options)
{
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .vhost_name = name,
        .protocols = udpai_http_protocols,
        .options = options,
        .user = self,
        .keepalive_timeout = idle_s(self->http),
        .timeout_secs_ah_idle = UDPAI_HTTP_HEADERS_S,
        .server_string = "udpad",
        .http2_settings = {1, 65536, 0, UDPAI_HTTP_STREAMS, 65535, 16384, UDPAI_HTTP_HEADERS_MAX},
    };
    return lws_create_vhost(self->http->context, &info);
}

static bool
start_accepting(udpai_http_listener *self)
{
    const lws_sock_file_fd_type fd = {.filefd = self->fd};
    self->wsi =
        lws_adopt_descriptor_vhost(self->vhost, LWS_ADOPT_RAW_FILE_DESC, fd, "listen", NULL);
    if (!self->wsi)
        return false;
    self->fd = -1; /* libwebsockets closes it */
    return true;
}

udpa_err
udpai_http_listener_start(udpai_http_listener *self, udpa_error **ret_error)
{
    uint64_t tls = self->current ? LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX : 0;
    uint64_t common = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
    self->vhost = make_vhost(self, "http", common | tls);
    if (self->vhost && !self->current)
        self->prior_vhost =
            make_vhost(self, "http2", common | LWS_SERVER_OPTION_H2_PRIOR_KNOWLEDGE);
    if (self->vhost && (self->current || self->prior_vhost) && start_accepting(self))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INTERNAL,
        "cannot serve HTTP: libwebsockets cannot set up a socket; is there memory, and "
        "a file descriptor?");
}

void
udpai_http_listener_stop(udpai_http_listener *self)
{
    if (self->wsi)
        lws_set_timeout(UDPAI_TAKE(self->wsi), PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
}

/* ---- connections ---- */

udpai_http_connection *
udpai_http_connection_of(struct lws *wsi)
{
    return lws_get_opaque_user_data(lws_get_network_wsi(wsi));
}

static udpa_bytes *
address_of(const struct sockaddr_storage *address, socklen_t len)
{
    char host[64], port[8], text[80];
    udpa_bytes *bytes = NULL;
    if (getnameinfo((const struct sockaddr *)address, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return NULL;
    bool is_sixth = address->ss_family == AF_INET6;
    int n = snprintf(text, sizeof(text), "%s%s%s:%s", is_sixth ? "[" : "", host,
                     is_sixth ? "]" : "", port);
    return n > 0 && udpa_bytes_new(&bytes, text, (size_t)n) == UDPA_OK ? bytes : NULL;
}

static void
free_connection(udpai_http_connection *self)
{
    udpai_http *http = self->listener->http;
    udpai_list_remove(&self->node);
    http->n_connections--;
    udpa_bytes_unref(self->address);
    udpai_identity_unref(self->identity);
    udpai_free(self);
    udpai_http_check_end(http);
}

static udpai_http_connection *
new_connection(udpai_http_listener *listener, udpa_bytes *address)
{
    udpai_http_connection *self = address ? udpai_alloc(sizeof(*self)) : NULL;
    if (!self) {
        udpa_bytes_unref(address);
        return NULL;
    }
    self->listener = listener;
    self->address = address;
    udpai_list_init(&self->node);
    udpai_list_append(&listener->http->connections, &self->node);
    listener->http->n_connections++;
    return self;
}

/* Hands the connection to libwebsockets, which closes the socket in any case. */
static void
speak(udpai_http_connection *self, struct lws_vhost *vhost, int fd)
{
    const lws_sock_file_fd_type adopted = {.sockfd = fd};
    const lws_adopt_desc_t info = {
        .vh = vhost,
        .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL,
        .fd = adopted,
        .opaque = self,
    };
    udpai_http *http = self->listener->http;
    size_t n = http->n_connections;
    struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&info);
    if (wsi)
        self->wsi = wsi;
    else if (http->n_connections == n) /* there was no wsi whose end could free this */
        free_connection(self);
}

/* Without TLS nothing says beforehand what will be spoken: its first bytes are waited for. */
static void
greet(udpai_http_connection *self, int fd)
{
    const lws_sock_file_fd_type adopted = {.filefd = fd};
    const lws_adopt_desc_t info = {
        .vh = self->listener->vhost,
        .type = LWS_ADOPT_RAW_FILE_DESC,
        .fd = adopted,
        .vh_prot_name = "greeting",
        .opaque = self,
    };
    self->wsi = lws_adopt_descriptor_vhost_via_info(&info);
    if (!self->wsi) {
        close(fd);
        free_connection(self);
        return;
    }
    lws_set_timeout(self->wsi, PENDING_TIMEOUT_ESTABLISH_WITH_SERVER, UDPAI_HTTP_HEADERS_S);
}

static bool
accept_one(udpai_http_listener *listener, int listening)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int on = 1,
        fd = accept4(listening, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno == ECONNABORTED || errno == EINTR;
    udpai_http *http = listener->http;
    udpai_http_connection *self = NULL;
    if (!http->is_stopping && http->n_connections < http->limits.max_connections)
        self = new_connection(listener, address_of(&address, len));
    if (!self) {
        close(fd);
        return true;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (listener->current)
        speak(self, listener->vhost, fd);
    else
        greet(self, fd);
    return true;
}

int
udpai_http_on_listen(
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    udpai_http_listener *listener = lws_vhost_user(lws_get_vhost(wsi));
    if (reason == LWS_CALLBACK_RAW_RX_FILE)
        for (int i = 0; i < ACCEPTS_MAX && accept_one(listener, lws_get_socket_fd(wsi)); i++)
            continue;
    if (reason == LWS_CALLBACK_RAW_CLOSE_FILE)
        listener->wsi = NULL;
    return 0;
}

/* What HTTP/2 begins with, and no method of HTTP/1 does. */
static bool
is_second(const char *bytes, ssize_t n)
{
    return n >= 2 && memcmp(bytes, "PR", 2) == 0;
}

int
udpai_http_on_greeting(
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len)
{
    (void)user;
    (void)in;
    (void)len;
    char bytes[2];
    udpai_http_connection *self = lws_get_opaque_user_data(wsi);
    if (!self || reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    int fd = lws_get_socket_fd(wsi);
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    int kept = n > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (kept < 0)
        return -1;
    lws_set_opaque_user_data(wsi, NULL);
    self->wsi = NULL;
    speak(self, is_second(bytes, n) ? self->listener->prior_vhost : self->listener->vhost, kept);
    return -1; /* this one goes, the other stays */
}

void
udpai_http_connection_gone(struct lws *wsi)
{
    udpai_http_connection *self =
        lws_get_network_wsi(wsi) == wsi ? lws_get_opaque_user_data(wsi) : NULL;
    if (self)
        free_connection(self);
}
