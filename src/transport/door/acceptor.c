/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that stands at the socket: it takes connections, makes handshakes, finds out who it
 * is, and hands over what can carry streams. It runs behind the stream thread, so that a thousand
 * that come at once cost those that are there nothing but their share of the processor. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "transport/door/door_internal.h"
#include "transport/door/proxy_head.h"
#include "transport/local_peer.h"
#include "transport/socket_address.h"
#include "transport/socket_list.h"
#include "transport/tls_identity.h"

#define EVENTS_AT_ONCE 64
#define ACCEPTS_AT_ONCE 64
#define LOOK_MS 200 /* for what takes too long */
#define NICENESS 10 /* behind the stream thread */
#define ROOM_BYTES 16384
/* Handshakes at a time, which bounds the memory that strangers have of us. More connections wait;
 * when one waits and the oldest handshake has lasted for so long, that ends for it. */
#define HANDSHAKES_MAX 256
#define SLOW_MS 1000
#define MANY (HANDSHAKES_MAX / 4) /* connections of one address */
#define HEADS_MAX 1024            /* connections of proxies whose heads have not come */

struct udpai_acceptor {
    udpai_door_listener *listener;
    pthread_t pthread;
    int epoll, wakes; /* the latter: an eventfd */
    atomic_bool is_ending;
    udpai_inbox graves;
    udpai_list waiting;      /* connections, for their handshakes */
    udpai_list waiting_many; /* those of addresses with many: behind all others */
    udpai_list handshaking;  /* the oldest first */
    size_t n_handshaking;
    udpai_list heads; /* connections of proxies whose heads have not come; the oldest first */
    size_t n_heads;
    bool is_deaf; /* connections are not taken, for the time being */
    udpai_log_limit failed_log, refused_log, head_log, files_log;
    udpai_strbuf out;
    char room[ROOM_BYTES];
};

static void
wake(void *userdata)
{
    const udpai_acceptor *self = userdata;
    uint64_t one = 1;
    (void)!write(self->wakes, &one, sizeof(one));
}

static void
bury_all(udpai_acceptor *self)
{
    udpai_list dead, *at;
    udpai_list_init(&dead);
    udpai_inbox_take(&self->graves, &dead);
    while ((at = udpai_list_pop(&dead)))
        udpai_door_connection_free(UDPAI_LIST_ENTRY(at, udpai_door_connection, node));
}

void
udpai_acceptor_bury(udpai_acceptor *self, udpai_door_connection *connection)
{
    (void)udpai_inbox_push(&self->graves, &connection->node);
}

static void
forget(udpai_acceptor *self, udpai_door_connection *connection)
{
    self->n_handshaking -= connection->tls != NULL;
    self->n_heads -= connection->awaits_head;
    udpai_list_remove(&connection->node);
    udpai_door_connection_free(connection);
}

static udpai_connection_refusal
refusal_of(udpai_addresses *all, const udpa_error *why)
{
    if (!why || udpa_error_code(why) == UDPA_ERR_NOMEM)
        return UDPAI_CONNECTION_WITHOUT_MEMORY;
    return udpai_addresses_are_full(all) ? UDPAI_CONNECTION_TOO_MANY
                                         : UDPAI_CONNECTION_TOO_MANY_OF_PEER;
}

static void
log_refused(udpai_acceptor *self, udpai_addresses *all, udpai_str peer, const udpa_error *why)
{
    unsigned n_suppressed;
    udpai_door *door = self->listener->door;
    atomic_fetch_add_explicit(&door->n_refused, 1, memory_order_relaxed);
    udpai_meter_add_shared(door->meters.refused[refusal_of(all, why)], 1);
    if (udpai_log_allow(&self->refused_log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, UDPAI_LOG_DOOR,
            UDPAI_ABOUT({UDPAI_LOG_ADDRESS, peer}, {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "a connection of %.*s is not taken: %s (%u more not shown)", (int)peer.len, peer.data,
            why ? udpa_error_message(why) : "out of memory", n_suppressed);
}

/* Nearly all that strangers do wrong is seen here. */
static void
count_failed(udpai_acceptor *self, udpai_handshake_failure failure)
{
    udpai_door *door = self->listener->door;
    atomic_fetch_add_explicit(&door->n_failed, 1, memory_order_relaxed);
    udpai_meter_add_shared(door->meters.failed[failure], 1);
}

static void
log_failed(udpai_acceptor *self,
           const udpai_door_connection *connection,
           udpai_handshake_failure failure)
{
    static const char *const words[UDPAI_HANDSHAKE_FAILURES] = {
        [UDPAI_HANDSHAKE_LATE] = "it takes too long",
        [UDPAI_HANDSHAKE_CLOSED] = "the peer has closed the connection",
        [UDPAI_HANDSHAKE_MALFORMED] = "what it sends is no good TLS",
    };
    unsigned n_suppressed;
    udpai_str peer = udpai_bytes_view(connection->peer.address);
    const udpa_error *why = udpai_tls_session_why(connection->tls);
    count_failed(self, why ? UDPAI_HANDSHAKE_UNTRUSTED : failure);
    if (udpai_log_allow(&self->failed_log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, UDPAI_LOG_DOOR,
            UDPAI_ABOUT({UDPAI_LOG_ADDRESS, peer}, {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "the TLS handshake with %.*s has failed: %s (%u more not shown)", (int)peer.len,
            peer.data, why ? udpa_error_message(why) : words[failure], n_suppressed);
}

static void
hand_over(udpai_acceptor *self, udpai_door_connection *connection)
{
    self->n_handshaking -= connection->tls != NULL;
    udpai_list_remove(&connection->node);
    if (!udpai_inbox_push(&connection->listener->door->arrivals, &connection->node))
        udpai_door_connection_free(connection);
}

/* It has chosen HTTP/1.1: the door need not see it. */
static void
hand_to_visits(udpai_acceptor *self, udpai_door_connection *connection)
{
    self->n_handshaking--;
    udpai_list_remove(&connection->node);
    udpai_door_connection_hand_over(connection, udpai_strbuf_view(&connection->early));
    udpai_door_connection_free(connection);
}

/* ---- who it is ---- */

static udpa_bytes *
text_of(const struct sockaddr_storage *peer)
{
    char room[UDPAI_SOCKET_ADDRESS_TEXT];
    udpa_bytes *bytes = NULL;
    udpai_str text = udpai_socket_address_text((const struct sockaddr *)peer, room);
    return udpa_bytes_new(&bytes, text.data, text.len) == UDPA_OK ? bytes : NULL;
}

/* By a unix socket: who it was when it connected. False: without memory. */
static bool
know_user(udpai_door_connection *connection)
{
    udpai_door_peer *peer = &connection->peer;
    udpai_local_peer user;
    if (!udpai_local_peer_of(connection->socket, &user))
        return false;
    peer->is_secure = true;
    connection->is_local = true;
    connection->uid = user.uid;
    peer->address = user.address;
    peer->identity = user.identity;
    return true;
}

/* The peer may have a certificate without a clear name: its streams are refused with the reason. */
static bool
know_peer(udpai_door_connection *connection)
{
    udpai_door_peer *peer = &connection->peer;
    SSL *ssl = udpai_tls_session_ssl(connection->tls);
    peer->is_secure = true;
    peer->tls = udpai_tls_session_agreed(connection->tls);
    udpa_err err = udpai_ssl_chain(ssl, "the peer's certificate", &peer->chain, &peer->error);
    if (err == UDPA_OK && peer->chain)
        err = udpai_chain_identity(peer->chain, &peer->identity, &peer->error);
    return err != UDPA_ERR_NOMEM;
}

/* All with one certificate are one, whatever addresses they have. False: there are too many. */
static bool
count_identity(udpai_acceptor *self, udpai_door_connection *connection)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    const udpai_client peer = {.identity = connection->peer.identity};
    size_t n;
    if (!peer.identity ||
        udpai_addresses_enter(&self->listener->door->identities, &peer, udpai_monotonic_ms(),
                              &connection->named, &n, &why) == UDPA_OK)
        return true;
    log_refused(self, &self->listener->door->identities, udpai_bytes_view(connection->peer.address),
                why);
    return false;
}

/* Before it is one of HTTP/2: clients of gRPC wait longer and longer then before they connect
 * again, and not at all behind a GOAWAY. */
static void
close_politely(udpai_acceptor *self, udpai_door_connection *connection)
{
    self->out.len = 0;
    udpai_tls_session_close(connection->tls, &self->out);
    if (self->out.len)
        (void)!send(connection->socket, self->out.data, self->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    forget(self, connection);
}

/* ---- handshakes ---- */

/* False: it has failed. What is sent in a handshake has room in any socket. */
static bool
take(udpai_acceptor *self, udpai_door_connection *connection, udpai_str bytes)
{
    udpai_strbuf *out = &self->out;
    out->len = 0;
    bool is_good = udpai_tls_session_take(connection->tls, bytes, &connection->early, out);
    if (out->len && send(connection->socket, out->data, out->len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
                        (ssize_t)out->len)
        return false;
    return is_good;
}

static void
go_on(udpai_acceptor *self, udpai_door_connection *connection)
{
    ssize_t n = recv(connection->socket, self->room, ROOM_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !take(self, connection, (udpai_str){self->room, (size_t)n})) {
        log_failed(self, connection, n <= 0 ? UDPAI_HANDSHAKE_CLOSED : UDPAI_HANDSHAKE_MALFORMED);
        forget(self, connection);
        return;
    }
    if (!udpai_tls_session_is_open(connection->tls))
        return;
    udpai_meter_add_shared(self->listener->door->meters.handshakes, 1);
    (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
    if (!know_peer(connection))
        forget(self, connection);
    else if (!count_identity(self, connection))
        close_politely(self, connection);
    else if (self->listener->options.visits && udpai_tls_session_is_first(connection->tls))
        hand_to_visits(self, connection);
    else
        hand_over(self, connection);
}

static void
begin_handshake(udpai_acceptor *self, udpai_door_connection *connection)
{
    const udpai_door_listen_options *options = &self->listener->options;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    SSL_CTX *context = options->context(options->userdata);
    connection->tls = context ? udpai_tls_session_new(context) : NULL;
    SSL_CTX_free(context);
    self->n_handshaking += connection->tls != NULL;
    connection->begun_ms = udpai_monotonic_ms();
    udpai_list_append(&self->handshaking, &connection->node);
    if (!connection->tls || epoll_ctl(self->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0)
        forget(self, connection);
}

static void
begin_handshakes(udpai_acceptor *self)
{
    udpai_list *at;
    while (self->n_handshaking < HANDSHAKES_MAX &&
           ((at = udpai_list_pop(&self->waiting)) || (at = udpai_list_pop(&self->waiting_many))))
        begin_handshake(self, UDPAI_LIST_ENTRY(at, udpai_door_connection, node));
}

static void
end_late_handshakes(udpai_acceptor *self)
{
    uint64_t now_ms = udpai_monotonic_ms();
    bool waits = !udpai_list_empty(&self->waiting) || !udpai_list_empty(&self->waiting_many);
    uint64_t most_ms = waits ? SLOW_MS : self->listener->options.limits.handshake_timeout_ms;
    UDPAI_LIST_FOREACH_SAFE (at, &self->handshaking) {
        udpai_door_connection *connection = UDPAI_LIST_ENTRY(at, udpai_door_connection, node);
        if (now_ms - connection->begun_ms < most_ms)
            break;
        log_failed(self, connection, UDPAI_HANDSHAKE_LATE);
        forget(self, connection);
    }
}

/* ---- those whose address is known ---- */

static void
begin(udpai_acceptor *self, udpai_door_connection *connection)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    const udpai_client peer = {
        .address = udpai_bytes_view(connection->peer.address),
        .is_local = connection->is_local,
        .uid = connection->uid,
    };
    size_t n;
    udpa_err err = udpai_addresses_enter(&self->listener->door->addresses, &peer,
                                         udpai_monotonic_ms(), &connection->address, &n, &why);
    if (err != UDPA_OK) {
        log_refused(self, &self->listener->door->addresses, peer.address, why);
        udpai_door_connection_free(connection);
    } else if (self->listener->options.context) {
        udpai_list_append(n > MANY ? &self->waiting_many : &self->waiting, &connection->node);
    } else {
        hand_over(self, connection);
    }
}

/* ---- connections of proxies ---- */

static bool
is_of_proxy(const udpai_acceptor *self, const struct sockaddr_storage *peer)
{
    const udpai_door_listen_options *options = &self->listener->options;
    return udpai_networks_have(options->proxies, options->n_proxies, (const struct sockaddr *)peer);
}

static void
log_bad_head(udpai_acceptor *self, const udpai_door_connection *connection, const char *what)
{
    unsigned n_suppressed;
    udpai_str peer = udpai_bytes_view(connection->peer.address);
    count_failed(self, UDPAI_HANDSHAKE_HEAD);
    if (udpai_log_allow(&self->head_log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_DOOR, UDPAI_ABOUT({UDPAI_LOG_ADDRESS, peer}),
                        "a connection of the proxy %.*s is not taken: %s (%u more not shown)",
                        (int)peer.len, peer.data, what, n_suppressed);
}

/* It counts as its client from now on. What comes behind the head is still in the socket. */
static void
take_head(udpai_acceptor *self, udpai_door_connection *connection)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpai_proxy_head head;
    udpa_err err = udpai_proxy_head_read(udpai_strbuf_view(&connection->early), &head, &why);
    udpa_bytes *client = err == UDPA_OK && head.has_client ? text_of(&head.client) : NULL;
    if (err != UDPA_OK || (head.has_client && !client)) {
        log_bad_head(self, connection, why ? udpa_error_message(why) : "out of memory");
        forget(self, connection);
        return;
    }
    if (client) {
        udpa_bytes_unref(connection->peer.address);
        connection->peer.address = client;
    }
    (void)epoll_ctl(self->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
    udpai_strbuf_done(&connection->early);
    connection->early = (udpai_strbuf){0};
    udpai_list_remove(&connection->node);
    connection->awaits_head = false;
    self->n_heads--;
    begin(self, connection);
}

/* Those of balancers that only look whether there is a listener end without a byte. */
static void
lose_head(udpai_acceptor *self, udpai_door_connection *connection)
{
    if (connection->early.len)
        log_bad_head(self, connection, "it has ended within its head of the PROXY protocol");
    forget(self, connection);
}

/* Not a byte more than the head is read: TLS is another's. */
static void
read_head(udpai_acceptor *self, udpai_door_connection *connection)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpai_strbuf *early = &connection->early;
    size_t size = 0;
    while (udpai_proxy_head_size(udpai_strbuf_view(early), &size, &why) == UDPA_OK) {
        if (early->len == size) {
            take_head(self, connection);
            return;
        }
        ssize_t n = recv(connection->socket, self->room, size - early->len, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n > 0)
            udpai_strbuf_append(early, self->room, (size_t)n);
        if (n <= 0 || udpai_strbuf_failed(early)) {
            lose_head(self, connection);
            return;
        }
    }
    log_bad_head(self, connection, why ? udpa_error_message(why) : "out of memory");
    forget(self, connection);
}

static void
await_head(udpai_acceptor *self, udpai_door_connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    connection->awaits_head = true;
    connection->begun_ms = udpai_monotonic_ms();
    udpai_list_append(&self->heads, &connection->node);
    if (++self->n_heads > HEADS_MAX) {
        log_bad_head(self, connection, "many others have not sent a head of the PROXY protocol");
        forget(self, connection);
    } else if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0) {
        forget(self, connection);
    } else {
        read_head(self, connection);
    }
}

static void
end_late_heads(udpai_acceptor *self)
{
    uint64_t now_ms = udpai_monotonic_ms();
    UDPAI_LIST_FOREACH_SAFE (at, &self->heads) {
        udpai_door_connection *connection = UDPAI_LIST_ENTRY(at, udpai_door_connection, node);
        if (now_ms - connection->begun_ms < self->listener->options.limits.handshake_timeout_ms)
            break;
        log_bad_head(self, connection, "it has sent no head of the PROXY protocol in time");
        forget(self, connection);
    }
}

/* ---- accepting ---- */

static void
take_socket(udpai_acceptor *self, int socket, const struct sockaddr_storage *peer)
{
    int on = 1;
    udpai_door_connection *connection = udpai_door_connection_new(self->listener, socket);
    if (!connection)
        return;
    bool is_known = false;
    if (peer->ss_family == AF_UNIX) {
        is_known = know_user(connection);
    } else {
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        connection->peer.address = text_of(peer);
        is_known = connection->peer.address;
    }
    if (!is_known)
        udpai_door_connection_free(connection);
    else if (is_of_proxy(self, peer))
        await_head(self, connection);
    else
        begin(self, connection);
}

static void
set_deaf(udpai_acceptor *self, bool is_deaf)
{
    struct epoll_event event = {.events = is_deaf ? 0 : EPOLLIN, .data.ptr = self};
    if (is_deaf != self->is_deaf)
        (void)epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->listener->options.socket, &event);
    self->is_deaf = is_deaf;
}

/* Of files or memory: those that wait in the kernel are taken later. */
static void
log_lack(udpai_acceptor *self, int number)
{
    char text[128];
    unsigned n_suppressed;
    if (udpai_log_allow(&self->files_log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_DOOR,
                  "no connection can be taken for the time being: %s: raise the limit of open "
                  "files (LimitNOFILE)",
                  strerror_r(number, text, sizeof(text)));
}

static void
accept_some(udpai_acceptor *self)
{
    if (udpai_socket_list_is_muted()) {
        set_deaf(self, true);
        return;
    }
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof(peer);
        int socket = accept4(self->listener->options.socket, (struct sockaddr *)&peer, &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0) {
            take_socket(self, socket, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_lack(self, errno);
            set_deaf(self, true);
        }
        return;
    }
}

static void
handle(udpai_acceptor *self, void *what)
{
    udpai_door_connection *connection = what; /* if it is none of the two */
    uint64_t n;
    if (what == &self->wakes)
        (void)!read(self->wakes, &n, sizeof(n));
    else if (what == self)
        accept_some(self);
    else if (connection->awaits_head)
        read_head(self, connection);
    else
        go_on(self, connection);
}

static void *
run(void *userdata)
{
    udpai_acceptor *self = userdata;
    struct epoll_event events[EVENTS_AT_ONCE];
    (void)setpriority(PRIO_PROCESS, 0, NICENESS); /* on Linux, of this thread */
    while (!self->is_ending) {
        bool looks = self->is_deaf || self->n_heads || !udpai_list_empty(&self->handshaking);
        int timeout = looks ? LOOK_MS : -1;
        int n = epoll_wait(self->epoll, events, EVENTS_AT_ONCE, timeout);
        for (int i = 0; i < n; i++)
            handle(self, events[i].data.ptr);
        if (n == 0)
            set_deaf(self, false);
        end_late_heads(self);
        end_late_handshakes(self);
        begin_handshakes(self);
        bury_all(self);
    }
    return NULL;
}

/* ---- its life ---- */

static bool
watch(const udpai_acceptor *self, int file, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(self->epoll, EPOLL_CTL_ADD, file, &event) == 0;
}

static bool
open_files(udpai_acceptor *self)
{
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return self->epoll >= 0 && self->wakes >= 0 && watch(self, self->wakes, &self->wakes) &&
           watch(self, self->listener->options.socket, self);
}

static void
close_files(const udpai_acceptor *self)
{
    close(self->epoll);
    close(self->wakes);
}

udpa_err
udpai_acceptor_new(udpai_acceptor **ret_acceptor, udpai_door_listener *listener)
{
    udpai_acceptor *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->listener = listener;
    udpai_list_init(&self->handshaking);
    udpai_list_init(&self->waiting);
    udpai_list_init(&self->waiting_many);
    udpai_list_init(&self->heads);
    if (udpai_inbox_init(&self->graves, wake, self) != UDPA_OK) {
        udpai_free(self);
        return UDPA_ERR_NOMEM;
    }
    if (!open_files(self) || udpai_thread_begin(&self->pthread, "udpa-accept", run, self) != 0) {
        close_files(self);
        udpai_inbox_done(&self->graves);
        udpai_free(self);
        return UDPA_ERR_IO;
    }
    *ret_acceptor = self;
    return UDPA_OK;
}

udpai_acceptor *
udpai_acceptor_free(udpai_acceptor *self)
{
    udpai_list *at;
    if (!self)
        return NULL;
    atomic_store(&self->is_ending, true);
    wake(self);
    pthread_join(self->pthread, NULL);
    udpai_list_splice(&self->handshaking, &self->waiting);
    udpai_list_splice(&self->handshaking, &self->waiting_many);
    udpai_list_splice(&self->handshaking, &self->heads);
    while ((at = self->handshaking.next) != &self->handshaking)
        forget(self, UDPAI_LIST_ENTRY(at, udpai_door_connection, node));
    bury_all(self);
    udpai_inbox_done(&self->graves);
    close_files(self);
    udpai_socket_list_forget(self->listener->options.socket);
    close(self->listener->options.socket);
    udpai_strbuf_done(&self->out);
    udpai_free(self);
    return NULL;
}
