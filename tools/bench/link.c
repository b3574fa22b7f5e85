/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of a connection, and TLS on it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "loop/clock.h"
#include "loop/dial.h"
#include "tools/bench/link_internal.h"

#define ROOM ((size_t)256 << 10)
#define EVENTS 256
#define PATIENCE_MS 10000 /* to connect */
#define READS 4           /* of one connection, before others have their turn */

/* ---- the loop ---- */

udpa_err
udpai_load_loop_open(udpai_load_loop *loop,
                     const udpai_load_options *options,
                     udpa_error **ret_error)
{
    *loop = (udpai_load_loop){
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .room = udpai_alloc(ROOM),
        .progress = {options->progress, options->userdata, udpai_monotonic_ns()},
    };
    if (!loop->room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (loop->epoll < 0)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "epoll_create1: %s", strerror(errno));
    return UDPA_OK;
}

void
udpai_load_loop_close(udpai_load_loop *loop)
{
    if (loop->epoll >= 0)
        close(loop->epoll);
    udpai_free(loop->room);
}

void
udpai_link_break(udpai_link *link, const char *reason)
{
    if (link->is_broken)
        return;
    link->is_broken = true;
    epoll_ctl(link->loop->epoll, EPOLL_CTL_DEL, link->fd, NULL);
    link->events->broken(link->userdata, reason);
}

static void
watch(udpai_link *link, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = link};
    if (link->is_deaf)
        event.events &= ~(uint32_t)EPOLLIN;
    if (event.events != link->watched && !link->is_broken)
        epoll_ctl(link->loop->epoll, EPOLL_CTL_MOD, link->fd, &event);
    link->watched = event.events;
}

/* ---- bytes ---- */

/* 0: not now; below: never again. */
static ssize_t
result_of(const udpai_link *link, ssize_t n)
{
    if (n > 0)
        return n;
    if (!link->ssl)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    int code = SSL_get_error(link->ssl, (int)n);
    ERR_clear_error();
    return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static ssize_t
put_bytes(const udpai_link *link, const void *data, size_t len)
{
    if (link->ssl)
        return result_of(link, SSL_write(link->ssl, data, (int)udpai_min_size(len, ROOM)));
    return result_of(link, send(link->fd, data, len, MSG_NOSIGNAL));
}

static ssize_t
get_bytes(const udpai_link *link, size_t max)
{
    if (link->ssl)
        return result_of(link, SSL_read(link->ssl, link->loop->room, (int)max));
    return result_of(link, recv(link->fd, link->loop->room, max, 0));
}

/* What the socket does not take is held. False: it is broken, or there is no memory for that. */
static bool
send_bytes(udpai_link *link, const char *data, size_t len)
{
    while (len) {
        ssize_t n = put_bytes(link, data, len);
        if (n < 0)
            return false;
        if (n == 0) {
            udpai_strbuf_append(&link->held, data, len);
            return !udpai_strbuf_failed(&link->held);
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool
send_held(udpai_link *link)
{
    udpai_strbuf held = link->held;
    link->held = (udpai_strbuf){0};
    bool is_good = send_bytes(link, held.data, held.len);
    udpai_strbuf_done(&held);
    return is_good;
}

/* Frames are small: they are joined before they go. */
static size_t
join_frames(udpai_link *link, char *room, size_t size)
{
    const uint8_t *frame;
    size_t n = 0;
    ssize_t len;
    while (n + (1 << 15) < size && (len = nghttp2_session_mem_send(link->http, &frame)) > 0) {
        memcpy(room + n, frame, (size_t)len);
        n += (size_t)len;
    }
    return n;
}

void
udpai_link_write(udpai_link *link)
{
    static char room[1 << 17]; /* one thread */
    bool is_good = !link->held.len || send_held(link);
    size_t n;
    while (is_good && !link->held.len && (n = join_frames(link, room, sizeof(room))) > 0)
        is_good = send_bytes(link, room, n);
    if (!is_good)
        udpai_link_break(link, "the connection was closed by the server");
    else
        watch(link, EPOLLIN | (link->held.len ? EPOLLOUT : 0));
}

static void
refuse_bytes(udpai_link *link)
{
    udpai_link_break(link, link->is_ready ? "what the server says is no HTTP/2"
                                          : "the server does not speak HTTP/2");
}

/* What nghttp2 cannot read it answers with GOAWAY, and then reads no more. */
void
udpai_link_flush(udpai_link *link)
{
    if (link->is_broken || link->is_shaking_hands)
        return;
    udpai_link_write(link);
    if (!link->is_broken && !nghttp2_session_want_read(link->http))
        refuse_bytes(link);
}

/* How many there were; 0 too if there will never be more. */
static size_t
read_once(udpai_link *link, size_t max)
{
    ssize_t n = get_bytes(link, max);
    if (n < 0)
        udpai_link_break(link, "the connection was closed by the server");
    if (n <= 0)
        return 0;
    link->loop->now_ns = udpai_monotonic_ns();
    link->loop->n_bytes_read += (uint64_t)n;
    if (nghttp2_session_mem_recv(link->http, (const uint8_t *)link->loop->room, (size_t)n) < 0)
        refuse_bytes(link);
    return (size_t)n;
}

static void
read_bytes(udpai_link *link)
{
    for (int i = 0; i < READS && !link->is_broken && !link->is_deaf; i++) {
        size_t n = read_once(link, ROOM);
        if (n == 0 || (!link->ssl && n < ROOM))
            break;
    }
}

size_t
udpai_link_read(udpai_link *link, size_t max)
{
    size_t n = link->is_broken ? 0 : read_once(link, udpai_min_size(max, ROOM));
    udpai_link_flush(link);
    return n;
}

static void
shake_hands(udpai_link *link)
{
    int done = SSL_do_handshake(link->ssl);
    int code = SSL_get_error(link->ssl, done);
    unsigned long error = ERR_peek_last_error();
    if (done == 1) {
        link->is_shaking_hands = false;
        udpai_link_write(link);
    } else if (code == SSL_ERROR_WANT_WRITE) {
        watch(link, EPOLLIN | EPOLLOUT);
    } else if (code == SSL_ERROR_WANT_READ) {
        watch(link, EPOLLIN);
    } else {
        const char *reason = error ? ERR_reason_error_string(error) : NULL;
        long verified = SSL_get_verify_result(link->ssl);
        if (verified != X509_V_OK)
            reason = X509_verify_cert_error_string(verified);
        char text[128];
        snprintf(text, sizeof(text), "TLS: %s", reason ? reason : "the server has ended it");
        udpai_link_break(link, text);
    }
    ERR_clear_error();
}

static void
on_event(udpai_link *link, uint32_t events)
{
    if (link->is_deaf && events & (EPOLLHUP | EPOLLERR)) {
        udpai_link_break(link, "the connection was closed by the server");
    } else if (link->is_shaking_hands) {
        shake_hands(link);
    } else {
        read_bytes(link);
        udpai_link_flush(link);
    }
}

void
udpai_load_loop_run(udpai_load_loop *loop, int timeout_ms)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(loop->epoll, events, EVENTS, timeout_ms);
    loop->now_ns = udpai_monotonic_ns();
    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            on_event(events[i].data.ptr, events[i].events);
}

void
udpai_load_loop_report(udpai_load_loop *loop, const char *step, size_t n, size_t n_all)
{
    udpai_load_progress_report(&loop->progress, loop->now_ns, step, n, n_all);
}

/* ---- its life ---- */

udpa_err
udpai_load_tls_new(SSL_CTX **ret_context, const udpai_load_tls *tls, udpa_error **ret_error)
{
    static const unsigned char protocols[] = "\x02h2";
    *ret_context = NULL;
    if (!tls->authorities)
        return UDPA_OK;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_context = context;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols) - 1);
    if (SSL_CTX_load_verify_locations(context, tls->authorities, NULL) != 1)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: no certificates could be read",
                          tls->authorities);
    if (tls->certificate &&
        (SSL_CTX_use_certificate_chain_file(context, tls->certificate) != 1 ||
         SSL_CTX_use_PrivateKey_file(context, tls->private_key, SSL_FILETYPE_PEM) != 1))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s and %s could not be read, or do not belong together",
                          tls->certificate, tls->private_key);
    return UDPA_OK;
}

static int
dial(const char *server, udpa_error **ret_error)
{
    udpai_strbuf why = {0};
    int one = 1, fd = udpai_dial(server, PATIENCE_MS, &why);
    if (fd < 0)
        (void)udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "%s: %.*s", server,
                         UDPAI_SHOWN(udpai_strbuf_view(&why)));
    else
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    udpai_strbuf_done(&why);
    return fd;
}

static udpa_err
begin_tls(udpai_link *link, const udpai_link_options *options)
{
    if (!options->tls)
        return UDPA_OK;
    link->ssl = SSL_new(options->tls);
    link->is_shaking_hands = true;
    if (!link->ssl || SSL_set_fd(link->ssl, link->fd) != 1 ||
        SSL_set_tlsext_host_name(link->ssl, options->server_name) != 1 ||
        SSL_set1_host(link->ssl, options->server_name) != 1)
        return UDPA_ERR_NOMEM;
    SSL_set_connect_state(link->ssl);
    if (options->session)
        SSL_set_session(link->ssl, options->session);
    return UDPA_OK;
}

static udpa_err
begin(udpai_link *link, const udpai_link_options *options, udpa_error **ret_error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    link->fd = dial(options->server, ret_error);
    if (link->fd < 0)
        return UDPA_ERR_UNAVAILABLE;
    udpa_err err = udpai_link_http_open(link);
    if (err == UDPA_OK)
        err = begin_tls(link, options);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    link->watched = event.events;
    if (epoll_ctl(link->loop->epoll, EPOLL_CTL_ADD, link->fd, &event) != 0)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "epoll_ctl: %s", strerror(errno));
    if (link->ssl)
        shake_hands(link);
    else
        udpai_link_write(link);
    return UDPA_OK;
}

udpa_err
udpai_link_open(udpai_link **ret_link, const udpai_link_options *options, udpa_error **ret_error)
{
    udpai_link *link = udpai_alloc(sizeof(*link));
    *ret_link = NULL;
    if (!link)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    link->loop = options->loop;
    link->events = options->events;
    link->userdata = options->userdata;
    link->fd = -1;
    udpa_err err = begin(link, options, ret_error);
    if (err == UDPA_OK)
        *ret_link = link;
    else
        udpai_link_close(link);
    return err;
}

udpai_link *
udpai_link_close(udpai_link *link)
{
    if (!link)
        return NULL;
    link->is_broken = true; /* no more callbacks */
    nghttp2_session_del(link->http);
    SSL_free(link->ssl);
    if (link->fd >= 0)
        close(link->fd);
    for (size_t i = 0; i < link->streams.n; i++) {
        udpai_strbuf_done(&link->streams.items[i]->out);
        udpai_strbuf_done(&link->streams.items[i]->message);
        udpai_free(link->streams.items[i]);
    }
    udpai_vector_done(&link->streams);
    udpai_strbuf_done(&link->held);
    udpai_free(link);
    return NULL;
}

SSL_SESSION *
udpai_link_session(const udpai_link *link)
{
    return link->ssl ? SSL_get1_session(link->ssl) : NULL;
}

void
udpai_link_stop_reading(udpai_link *link)
{
    link->is_deaf = true;
    watch(link, link->watched);
}
