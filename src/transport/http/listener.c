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
#include "transport/local_peer.h"
#include "transport/socket_address.h"
#include "transport/socket_list.h"

#define BACKLOG 512
#define ACCEPTS_MAX 64 /* in one turn */
#define REST_MS 200    /* until the system may have descriptors again */
#define LOCAL "unix:"
#define USE "http" /* in the list of sockets of the process */
#define LOCAL_MODE 0600
/* More connections than others have, for users of this machine; as of sockets of gRPC. */
#define KEPT_FOR_USERS(max) ((max) / 20 + 4)

static udpa_err
open_place(udpai_http_listener *self, const char *address, udpa_error **ret_error)
{
    char text[128];
    if (strncmp(address, LOCAL, strlen(LOCAL)) == 0) {
        return udpai_local_socket_listen(address + strlen(LOCAL), LOCAL_MODE, BACKLOG, &self->fd,
                                         &self->file, ret_error);
    }
    udpa_err err = udpai_address_bind(address, &self->fd, ret_error);
    if (err != UDPA_OK)
        return err;
    if (listen(self->fd, BACKLOG) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen on %s: %s", address,
                          strerror_r(errno, text, sizeof(text)));
    return UDPA_OK;
}

udpa_err
udpai_http_listener_open(udpai_http_listener *self, const char *address, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    self->place.is_local = strncmp(address, LOCAL, strlen(LOCAL)) == 0;
    self->fd = udpai_socket_list_take(USE, address);
    if (self->fd < 0)
        err = open_place(self, address, ret_error);
    else if (self->place.is_local)
        udpai_local_file_adopt(&self->file, address + strlen(LOCAL));
    if (err != UDPA_OK)
        return err;
    udpai_socket_list_note(USE, address, self->fd);
    self->port = self->place.is_local ? 0 : udpai_socket_port(self->fd);
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
    atomic_fetch_add_explicit(&http->n_rejected, 1, memory_order_relaxed);
    if (udpa_error_code(error) == UDPA_ERR_LIMIT &&
        udpai_log_allow(&http->refusals, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_HTTP,
                        UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "rejected a connection: %s (%u more not shown)", udpa_error_message(error),
                        n_suppressed);
}

static udpa_err
enter(udpai_http *http,
      const udpai_client *client,
      udpai_admitted **ret_admitted,
      udpa_error **ret_error)
{
    const size_t max = http->limits.max_connections;
    http->admission.max = client->is_local ? max + KEPT_FOR_USERS(max) : max;
    return udpai_admission_enter(&http->admission, client, ret_admitted, ret_error);
}

/* Users of this machine may have more: where they have, several end for one from elsewhere. */
static bool
admit(udpai_http *http, const udpai_client *client, udpai_admitted **ret_admitted)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = enter(http, client, ret_admitted, &error);
    while (err == UDPA_ERR_LIMIT && http->replaces_idle && udpai_http_connections_end_idle(http)) {
        atomic_fetch_add_explicit(&http->n_replaced, 1, memory_order_relaxed);
        udpa_error_unref(UDPAI_TAKE(error));
        err = enter(http, client, ret_admitted, &error);
    }
    if (err == UDPA_OK)
        return true;
    udpai_http_log_refused(http, error);
    return false;
}

/* False: that is not known, or there is no memory. */
static bool
know_peer(const udpai_http_listener *self,
          int fd,
          const struct sockaddr_storage *address,
          socklen_t len,
          udpai_visitor *visitor,
          udpai_client *client)
{
    udpai_local_peer user;
    visitor->is_secure = self->current || self->place.is_local;
    if (!self->place.is_local) {
        visitor->address = address_of(address, len);
    } else if (udpai_local_peer_of(fd, &user)) {
        visitor->address = user.address;
        visitor->identity = user.identity;
        client->is_local = true;
        client->uid = user.uid;
    }
    if (visitor->address)
        client->address = udpai_bytes_view(visitor->address);
    return visitor->address;
}

/* What is waiting would have the loop turn without end while it cannot be accepted. */
static void
rest(udpai_http_listener *self)
{
    uv_poll_stop(&self->poll);
    udpai_http_set_timer(self->http, &self->rest, udpai_monotonic_ms() + REST_MS);
}

/* Takes the descriptor, what is known of the peer, and the place. */
static void
begin(udpai_http_listener *self, int fd, const udpai_visitor *visitor, udpai_admitted *admitted)
{
    udpai_handed handed = {
        .socket = fd,
        .tls = self->current ? udpai_tls_session_new(self->current) : NULL,
        .visitor = *visitor,
    };
    handed.visitor.trust = self->trust ? udpai_trust_ref(self->trust) : NULL;
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
    udpai_visitor visitor = {0};
    udpai_client client = {0};
    if (self->http->is_stopping || !know_peer(self, fd, &address, len, &visitor, &client) ||
        !admit(self->http, &client, &admitted)) {
        udpai_visitor_done(&visitor);
        close(fd);
        return true;
    }
    if (!self->place.is_local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    begin(self, fd, &visitor, admitted);
    return true;
}

static void
on_poll(uv_poll_t *handle, int status, int events)
{
    udpai_http_listener *self = UDPAI_CONTAINER_OF(handle, udpai_http_listener, poll);
    (void)events;
    if (status < 0 || udpai_socket_list_is_muted()) {
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
udpai_http_listener_close(udpai_http_listener *self)
{
    udpai_local_file_remove(&self->file);
    udpai_socket_list_forget(self->fd);
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

void
udpai_http_listener_stop(udpai_http_listener *self)
{
    udpai_timer_cancel(&self->rest);
    uv_poll_stop(&self->poll);
    udpai_http_listener_close(self);
}
