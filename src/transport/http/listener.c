/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen. */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/clock.h"
#include "transport/http/http_internal.h"
#include "transport/socket_address.h"

#define BACKLOG 512
#define ACCEPTS_MAX 64 /* in one turn */
#define REST_MS 200    /* until the system may have descriptors again */

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
    self->port = udpai_socket_port(self->fd);
    return UDPA_OK;
}

/* ---- accepting ---- */

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

void
udpai_http_log_refused(udpai_http *http, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpa_error_code(error) == UDPA_ERR_LIMIT &&
        udpai_log_allow(&http->refusals, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_HTTP,
                        UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "rejected a connection: %s (%u more not shown)", udpa_error_message(error),
                        n_suppressed);
}

static bool
admit(udpai_http *http, udpa_bytes *address, udpai_admitted **ret_admitted)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_client client = {.address = udpai_bytes_view(address)};
    if (udpai_admission_enter(&http->admission, &client, ret_admitted, &error) == UDPA_OK)
        return true;
    udpai_http_log_refused(http, error);
    return false;
}

/* What is waiting would have the loop turn without end while it cannot be accepted. */
static void
rest(udpai_http_listener *self)
{
    uv_poll_stop(&self->poll);
    udpai_http_set_timer(self->http, &self->rest, udpai_monotonic_ms() + REST_MS);
}

/* Takes the descriptor, the address and the place. */
static void
begin(udpai_http_listener *self, int fd, udpa_bytes *address, udpai_admitted *admitted)
{
    udpai_handed handed = {
        .socket = fd,
        .tls = self->current ? udpai_tls_session_new(self->current) : NULL,
        .visitor =
            {
                .address = address,
                .trust = self->trust ? udpai_trust_ref(self->trust) : NULL,
                .is_secure = self->current != NULL,
            },
    };
    if (!self->current || handed.tls) {
        udpai_http_connection_begin(&self->place, &handed, admitted);
        return;
    }
    udpai_handed_done(&handed);
    udpai_admission_leave(&self->http->admission, admitted);
}

/* False: that was all for now. */
static bool
accept_one(udpai_http_listener *self)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    int on = 1,
        fd = accept4(self->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        rest(self);
    if (fd < 0)
        return errno == ECONNABORTED || errno == EINTR;
    udpai_admitted *admitted = NULL;
    udpa_bytes *text = self->http->is_stopping ? NULL : address_of(&address, len);
    if (!text || !admit(self->http, text, &admitted)) {
        udpa_bytes_unref(text);
        close(fd);
        return true;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    begin(self, fd, text, admitted);
    return true;
}

static void
on_poll(uv_poll_t *handle, int status, int events)
{
    udpai_http_listener *self = UDPAI_CONTAINER_OF(handle, udpai_http_listener, poll);
    (void)events;
    if (status < 0) {
        rest(self);
        return;
    }
    for (int i = 0; i < ACCEPTS_MAX && accept_one(self); i++)
        continue;
    udpai_http_connections_run(self->http);
}

static void
on_rested(udpai_timer *timer)
{
    udpai_http_listener *self = UDPAI_CONTAINER_OF(timer, udpai_http_listener, rest);
    if (uv_poll_start(&self->poll, UV_READABLE, on_poll) != 0)
        rest(self);
}

udpa_err
udpai_http_listener_start(udpai_http_listener *self, udpa_error **ret_error)
{
    udpai_timer_init(&self->rest, on_rested);
    int number = uv_poll_init(&self->http->loop, &self->poll, self->fd);
    if (number == 0)
        number = uv_poll_start(&self->poll, UV_READABLE, on_poll);
    return number == 0 ? UDPA_OK
                       : udpai_fail(ret_error, UDPA_ERR_IO, "cannot wait for connections: %s",
                                    uv_strerror(number));
}

void
udpai_http_listener_stop(udpai_http_listener *self)
{
    udpai_timer_cancel(&self->rest);
    uv_poll_stop(&self->poll);
    close(self->fd);
    self->fd = -1;
}
