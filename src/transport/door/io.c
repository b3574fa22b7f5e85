/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through a connection: what comes by its socket goes through TLS to nghttp2, and back.
 * It keeps bytes only while the kernel has no room for them. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "transport/door/door_internal.h"

/* Of what TLS alone has to say, while the kernel has no room, there is not more. */
#define UNSENT_MAX (4 * UDPAI_DOOR_PIECE)
#define LINGER_MS 2000
#define AGED_MS 1000 /* that a peer has to see that it is to open no new streams */

static udpai_door *
door_of(const udpai_door_connection *connection)
{
    return connection->listener->door;
}

static uint64_t
now_of(const udpai_door_connection *connection)
{
    return door_of(connection)->wheel->now_ms;
}

/* ---- sending ---- */

static void
set_waiting(udpai_door_connection *connection, bool waits)
{
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = connection};
    if (waits == connection->waits_for_room)
        return;
    udpai_door_unpark(connection);
    connection->waits_for_room = waits;
    if (epoll_ctl(door_of(connection)->epoll, EPOLL_CTL_MOD, connection->socket, &event) != 0)
        udpai_door_connection_break(connection);
}

static size_t
send_now(udpai_door_connection *connection, udpai_str bytes)
{
    ssize_t n = send(connection->socket, bytes.data, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        udpai_door_connection_break(connection);
    return n < 0 ? 0 : (size_t)n;
}

/* What the kernel does not take now is kept. */
static void
send_all(udpai_door_connection *connection, udpai_str bytes)
{
    size_t n = connection->waits_for_room ? 0 : send_now(connection, bytes);
    connection->n_written += n;
    if (n == bytes.len || connection->is_broken)
        return;
    udpai_strbuf_append(&connection->unsent, bytes.data + n, bytes.len - n);
    if (udpai_strbuf_failed(&connection->unsent) || connection->unsent.len > UNSENT_MAX)
        udpai_door_connection_break(connection);
    else
        set_waiting(connection, true);
}

/* True: there may be more. */
static bool
send_piece(udpai_door_connection *connection)
{
    udpai_door *door = door_of(connection);
    udpai_strbuf *plain = &door->plain, *cipher = &door->cipher;
    plain->len = cipher->len = 0;
    if (!udpai_door_http2_give(connection, plain))
        udpai_door_connection_break(connection);
    udpai_str bytes = udpai_strbuf_view(plain);
    if (bytes.len && connection->tls) {
        if (!udpai_tls_session_give(connection->tls, bytes, cipher))
            udpai_door_connection_break(connection);
        bytes = udpai_strbuf_view(cipher);
    }
    if (bytes.len && !connection->is_broken)
        send_all(connection, bytes);
    return plain->len >= UDPAI_DOOR_PIECE && !connection->is_broken && !connection->waits_for_room;
}

static void
tell_written(udpai_door_connection *connection)
{
    udpai_list *at;
    while (!connection->waits_for_room && (at = udpai_list_pop(&connection->taken)))
        udpai_door_stream_written(UDPAI_LIST_ENTRY(at, udpai_door_stream, in_taken));
}

static bool
is_over(const udpai_door_connection *connection)
{
    bool has_gone = (connection->is_going || connection->is_closing) && !connection->n_streams;
    return !connection->waits_for_room &&
           (has_gone || (!nghttp2_session_want_read(connection->session) &&
                         !nghttp2_session_want_write(connection->session)));
}

/* What was sent must arrive: if it were closed now, what the peer is just sending would make the
 * kernel drop it. So its peer closes first, or has had the time to. */
static void
linger(udpai_door_connection *connection)
{
    udpai_strbuf *cipher = &door_of(connection)->cipher;
    if (connection->is_lingering)
        return;
    udpai_door_unpark(connection);
    cipher->len = 0;
    if (connection->tls)
        udpai_tls_session_close(connection->tls, cipher);
    if (cipher->len)
        (void)send_now(connection, udpai_strbuf_view(cipher));
    connection->is_lingering = true;
    (void)shutdown(connection->socket, SHUT_WR);
    udpai_timer_set(door_of(connection)->wheel, &connection->timer, now_of(connection) + LINGER_MS);
}

void
udpai_door_connection_flush(udpai_door_connection *connection)
{
    udpai_list *at;
    udpai_list_remove(&connection->in_dirty);
    while (!connection->is_broken && (at = udpai_list_pop(&connection->due))) {
        udpai_door_stream *stream = UDPAI_LIST_ENTRY(at, udpai_door_stream, in_due);
        udpai_door_stream_resume(stream);
        udpai_door_http2_submit(stream);
    }
    if (connection->is_broken || connection->waits_for_room || connection->is_lingering ||
        !connection->session)
        return;
    connection->written_ms = now_of(connection);
    while (send_piece(connection))
        continue;
    tell_written(connection);
    if (!connection->is_broken && is_over(connection))
        linger(connection);
    else if (!connection->is_broken)
        udpai_door_park(connection);
}

void
udpai_door_connection_resume(udpai_door_connection *connection)
{
    udpai_strbuf *unsent = &connection->unsent;
    if (connection->is_broken || !connection->waits_for_room)
        return;
    size_t n = send_now(connection, udpai_strbuf_view(unsent));
    connection->n_written += n;
    memmove(unsent->data, unsent->data + n, unsent->len - n);
    unsent->len -= n;
    if (unsent->len || connection->is_broken)
        return;
    udpai_strbuf_done(unsent);
    *unsent = (udpai_strbuf){0};
    set_waiting(connection, false);
    udpai_door_connection_dirty(connection);
}

/* ---- reading ---- */

static udpai_str
decipher(udpai_door_connection *connection, udpai_str bytes)
{
    udpai_strbuf *plain = &door_of(connection)->plain, *cipher = &door_of(connection)->cipher;
    if (!connection->tls)
        return bytes;
    plain->len = cipher->len = 0;
    bool is_good = udpai_tls_session_take(connection->tls, bytes, plain, cipher);
    if (cipher->len)
        send_all(connection, udpai_strbuf_view(cipher));
    if (!is_good)
        udpai_door_connection_break(connection);
    return udpai_strbuf_view(plain);
}

/* Those of HTTP/2, as far as they have come? Without ALPN nothing else distinguishes it. */
static bool
is_greeting(const udpai_door_connection *connection)
{
    return memcmp(connection->greeting, "PRI", connection->n_greeting) == 0;
}

static void
hand_over(udpai_door_connection *connection, udpai_str bytes)
{
    udpai_strbuf early = {0};
    udpai_strbuf_append(&early, connection->greeting, connection->n_greeting);
    udpai_strbuf_str(&early, bytes);
    (void)epoll_ctl(door_of(connection)->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
    if (!udpai_strbuf_failed(&early))
        udpai_door_connection_hand_over(connection, udpai_strbuf_view(&early));
    udpai_strbuf_done(&early);
    udpai_door_connection_break(connection);
}

/* False: it is not one of HTTP/2, or not known to be one. */
static bool
greet(udpai_door_connection *connection, udpai_str *bytes)
{
    for (; connection->n_greeting < UDPAI_DOOR_GREETING && bytes->len; bytes->len--)
        connection->greeting[connection->n_greeting++] = *bytes->data++;
    if (!is_greeting(connection)) {
        hand_over(connection, *bytes);
        return false;
    }
    if (connection->n_greeting < UDPAI_DOOR_GREETING)
        return false;
    const udpai_str greeting = {connection->greeting, UDPAI_DOOR_GREETING};
    if (udpai_door_http2_begin(connection) == UDPA_OK &&
        udpai_door_http2_take(connection, greeting))
        return true;
    udpai_door_connection_break(connection);
    return false;
}

static void
take(udpai_door_connection *connection, udpai_str bytes)
{
    if (!connection->session && (connection->is_broken || !greet(connection, &bytes)))
        return;
    if (bytes.len && !udpai_door_http2_take(connection, bytes))
        udpai_door_connection_break(connection);
    if (nghttp2_session_want_write(connection->session) ||
        !nghttp2_session_want_read(connection->session))
        udpai_door_connection_dirty(connection);
}

void
udpai_door_connection_read(udpai_door_connection *connection)
{
    char *room = door_of(connection)->room;
    if (connection->is_broken)
        return;
    size_t most = udpai_door_is_suspect(connection) ? UDPAI_DOOR_SMALL_PIECE : UDPAI_DOOR_PIECE;
    ssize_t n = recv(connection->socket, room, most, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        udpai_door_connection_break(connection);
    if (n <= 0 || connection->is_lingering)
        return;
    connection->read_ms = now_of(connection);
    connection->is_pinged = false;
    connection->n_written = 0;
    take(connection, decipher(connection, (udpai_str){room, (size_t)n}));
}

/* ---- its life ---- */

static const udpai_door_limits *
limits_of(const udpai_door_connection *connection)
{
    return &connection->listener->options.limits;
}

/* Returns when to look again. */
static uint64_t
try_peer(udpai_door_connection *connection, uint64_t silent_ms)
{
    const udpai_door_limits *limits = limits_of(connection);
    if (silent_ms < limits->keepalive_ms)
        return limits->keepalive_ms - silent_ms;
    if (!connection->is_pinged &&
        nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL) != 0)
        udpai_door_connection_break(connection);
    connection->is_pinged = true;
    udpai_door_connection_dirty(connection);
    return limits->keepalive_timeout_ms;
}

/* First it is asked to open no new streams; those that are on their way by then are
 * taken. Returns when to look again. */
static uint64_t
get_older(udpai_door_connection *connection, uint64_t age_ms)
{
    uint64_t most_ms = limits_of(connection)->age_ms;
    if (!most_ms || connection->is_going)
        return UINT64_MAX;
    if (age_ms < most_ms)
        return most_ms - age_ms;
    if (connection->is_aged) {
        udpai_door_connection_go(connection);
        return UINT64_MAX;
    }
    connection->is_aged = true;
    if (nghttp2_submit_shutdown_notice(connection->session) != 0)
        udpai_door_connection_break(connection);
    udpai_door_connection_dirty(connection);
    return AGED_MS;
}

/* Returns when to look again. */
static uint64_t
idle(udpai_door_connection *connection)
{
    uint64_t most_ms = limits_of(connection)->idle_ms;
    uint64_t idle_ms = now_of(connection) - connection->idle_since_ms;
    if (connection->n_streams)
        return most_ms;
    if (idle_ms < most_ms)
        return most_ms - idle_ms;
    udpai_door_connection_go(connection);
    return most_ms;
}

static uint64_t
sooner(uint64_t ms, uint64_t other_ms)
{
    return ms < other_ms ? ms : other_ms;
}

static bool
is_dead(const udpai_door_connection *connection, uint64_t silent_ms)
{
    const udpai_door_limits *limits = limits_of(connection);
    uint64_t old_ms = now_of(connection) - connection->begun_ms;
    return (connection->is_pinged &&
            silent_ms >= limits->keepalive_ms + limits->keepalive_timeout_ms) ||
           (!connection->has_begun && old_ms >= limits->handshake_timeout_ms);
}

/* A connection without streams is not kept for ever; one that is silent is tried. */
static void
on_timer(udpai_timer *timer)
{
    udpai_door_connection *connection = UDPAI_CONTAINER_OF(timer, udpai_door_connection, timer);
    uint64_t now_ms = now_of(connection), silent_ms = now_ms - connection->read_ms;
    if (connection->is_lingering || is_dead(connection, silent_ms)) {
        udpai_door_connection_break(connection);
        return;
    }
    if (!connection->session) {
        udpai_timer_set(door_of(connection)->wheel, timer,
                        connection->begun_ms + limits_of(connection)->handshake_timeout_ms);
        return;
    }
    uint64_t next_ms = try_peer(connection, silent_ms);
    next_ms = sooner(next_ms, get_older(connection, now_ms - connection->begun_ms));
    next_ms = sooner(next_ms, idle(connection));
    udpai_timer_set(door_of(connection)->wheel, timer, now_ms + next_ms);
}

/* How long after it has begun. */
static uint64_t
first_look_ms(const udpai_door_limits *limits)
{
    uint64_t ms =
        sooner(limits->idle_ms, sooner(limits->handshake_timeout_ms, limits->keepalive_ms));
    return limits->age_ms ? sooner(ms, limits->age_ms) : ms;
}

void
udpai_door_connection_enter(udpai_door_connection *connection)
{
    udpai_door_listener *listener = connection->listener;
    const udpai_door_limits *limits = &listener->options.limits;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    udpai_list_append(&listener->connections, &connection->node);
    listener->n_connections++;
    udpai_door_count_connection(connection, true);
    connection->read_ms = connection->written_ms = connection->begun_ms =
        connection->idle_since_ms = now_of(connection);
    udpai_door_allowances_init(connection);
    udpai_timer_init(&connection->timer, on_timer);
    udpai_timer_set(listener->door->wheel, &connection->timer,
                    connection->read_ms + first_look_ms(limits));
    bool is_greeted = listener->options.visits &&
                      !(connection->tls && udpai_tls_session_is_second(connection->tls));
    if (listener->is_closing || (!is_greeted && udpai_door_http2_begin(connection) != UDPA_OK) ||
        epoll_ctl(listener->door->epoll, EPOLL_CTL_ADD, connection->socket, &event) != 0) {
        udpai_door_connection_break(connection);
        return;
    }
    take(connection, udpai_strbuf_view(&connection->early));
    udpai_strbuf_done(&connection->early);
    connection->early = (udpai_strbuf){0};
}

void
udpai_door_connection_leave(udpai_door_connection *connection)
{
    udpai_list *at;
    connection->is_broken = true;
    udpai_list_remove(&connection->in_parked);
    while ((at = connection->streams.next) != &connection->streams) {
        udpai_door_stream *stream = UDPAI_LIST_ENTRY(at, udpai_door_stream, node);
        udpai_door_visit_leave(stream);
        udpai_door_stream_close(stream);
    }
    udpai_timer_cancel(&connection->timer);
    udpai_list_remove(&connection->node);
    udpai_list_remove(&connection->in_dirty);
    udpai_door_count_connection(connection, false);
}
