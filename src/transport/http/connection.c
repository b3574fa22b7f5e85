/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: bytes from its socket by way of TLS to what speaks HTTP, and back. What it keeps is
 * bounded: nothing is given before what was given last has been sent. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "loop/clock.h"
#include "transport/http/http_internal.h"

#define READS_MAX 4         /* in one turn, so that others have theirs */
#define SENDS_MAX 16        /* the same */
#define GIVE_BYTES 32768    /* at a time */
#define OUT_FULL 65536      /* with so much to be sent, nothing is read */
#define LINGER_BYTES 524288 /* that are thrown away behind the last */
#define GREETING_BYTES 3

static udpai_http *
http_of(const udpai_http_connection *self)
{
    return self->http;
}

void
udpai_http_connection_touch(udpai_http_connection *self)
{
    if (!self->is_closed && !udpai_list_linked(&self->due))
        udpai_list_append(&http_of(self)->due, &self->due);
}

void
udpai_http_connection_cut(udpai_http_connection *self)
{
    self->is_cut = true;
    udpai_http_connection_touch(self);
}

void
udpai_http_connection_shut_down(udpai_http_connection *self)
{
    if (self->engine)
        udpai_http_engine_shut_down(self->engine);
    else
        self->is_cut = true;
    udpai_http_connection_touch(self);
}

/* ---- the end ---- */

static void
on_closed(uv_handle_t *handle)
{
    udpai_free(UDPAI_CONTAINER_OF(handle, udpai_http_connection, poll));
}

static void
close_connection(udpai_http_connection *self)
{
    udpai_http *http = http_of(self);
    self->is_closed = true;
    udpai_list_remove(&self->node);
    udpai_list_remove(&self->due);
    udpai_timer_cancel(&self->timer);
    udpai_admission_leave(&http->admission, self->admitted);
    atomic_fetch_sub_explicit(&http->n_connections, 1, memory_order_relaxed);
    self->engine = udpai_http_engine_free(self->engine);
    self->tls = udpai_tls_session_free(self->tls);
    udpai_strbuf_done(&self->out);
    udpai_visitor_done(&self->guest.visitor);
    uv_poll_stop(&self->poll);
    close(self->fd);
    udpai_handed_leave(self->leave, self->taken);
    uv_close((uv_handle_t *)&self->poll, on_closed);
    udpai_http_check_end(http);
}

/* A socket that is closed while there is something to be read has its peer drop what it has not
 * read yet. So it is sent that nothing more comes, and what it still sends is thrown away. */
static void
linger(udpai_http_connection *self, uint64_t now_ms)
{
    self->lingers = self->is_done = true;
    self->lingers_since_ms = now_ms;
    self->engine = udpai_http_engine_free(self->engine);
    if (self->tls)
        udpai_tls_session_close(self->tls, &self->out);
    if (self->out.len)
        (void)!send(self->fd, self->out.data, self->out.len, MSG_NOSIGNAL);
    self->out.len = 0;
    if (shutdown(self->fd, SHUT_WR) != 0)
        self->is_cut = true;
}

static bool
has_request(const udpai_http_connection *self)
{
    return self->engine && udpai_http_engine_n_calls(self->engine) > 0;
}

bool
udpai_http_connections_end_idle(udpai_http *http)
{
    udpai_http_connection *first = NULL;
    UDPAI_LIST_FOREACH (at, &http->connections) {
        udpai_http_connection *other = UDPAI_LIST_ENTRY(at, udpai_http_connection, node);
        if (!has_request(other) && (!first || other->received_ms < first->received_ms))
            first = other;
    }
    if (first)
        close_connection(first);
    return first;
}

/* ---- reading ---- */

static udpai_http_engine *
new_engine(udpai_http_connection *self, bool is_second)
{
    const udpai_http_engine_options options = {
        .events = &udpai_http_exchange_events,
        .userdata = &self->guest,
        .max_body_bytes = http_of(self)->limits.max_body_bytes,
        .body_setting = http_of(self)->body_setting,
        .now_ms = udpai_monotonic_ms(),
    };
    return is_second ? udpai_http2_new(&options) : udpai_http1_new(&options);
}

/* What HTTP/2 begins with, and no method of HTTP/1. Without ALPN nothing else distinguishes the
 * two. */
static bool
choose_engine(udpai_http_connection *self, udpai_str *bytes)
{
    bool is_second = self->tls && udpai_tls_session_is_second(self->tls);
    for (; !is_second && self->n_greeting < GREETING_BYTES && bytes->len; bytes->len--)
        self->greeting[self->n_greeting++] = *bytes->data++;
    if (!is_second && self->n_greeting < GREETING_BYTES)
        return false;
    is_second |= memcmp(self->greeting, "PRI", GREETING_BYTES) == 0;
    self->engine = new_engine(self, is_second);
    if (!self->engine) {
        self->is_cut = true;
        return false;
    }
    if (http_of(self)->is_stopping)
        udpai_http_engine_shut_down(self->engine);
    udpai_http_engine_take(self->engine, (udpai_str){self->greeting, self->n_greeting},
                           udpai_monotonic_ms());
    return true;
}

static void
take_plain(udpai_http_connection *self, udpai_str bytes)
{
    if (bytes.len && (self->engine || choose_engine(self, &bytes)))
        udpai_http_engine_take(self->engine, bytes, udpai_monotonic_ms());
}

static void
take_bytes(udpai_http_connection *self, udpai_str bytes)
{
    udpai_strbuf *plain = &http_of(self)->plain;
    if (!self->tls) {
        take_plain(self, bytes);
        return;
    }
    plain->len = 0;
    self->is_done |= !udpai_tls_session_take(self->tls, bytes, plain, &self->out);
    take_plain(self, udpai_strbuf_view(plain));
    if (udpai_strbuf_failed(plain) || udpai_strbuf_failed(&self->out)) {
        udpai_strbuf_done(plain);
        self->is_cut = true;
    }
}

static bool
may_read(const udpai_http_connection *self)
{
    if (self->is_cut)
        return false;
    return self->lingers || (!self->is_done && self->out.len - self->n_sent < OUT_FULL &&
                             (!self->engine || udpai_http_engine_may_read(self->engine)));
}

/* False: that was all for now. */
static bool
read_some(udpai_http_connection *self)
{
    udpai_http *http = http_of(self);
    ssize_t n = recv(self->fd, http->room, sizeof(http->room), 0);
    if (n < 0)
        self->is_cut |= errno != EAGAIN && errno != EINTR;
    if (n == 0) /* a peer that reads what it asked for leaves its side open */
        self->is_cut = true;
    if (n <= 0)
        return false;
    self->received_ms = udpai_monotonic_ms();
    if (self->lingers && (self->n_dropped += (size_t)n) > LINGER_BYTES)
        self->is_cut = true;
    if (!self->lingers)
        take_bytes(self, (udpai_str){http->room, (size_t)n});
    return (size_t)n == sizeof(http->room);
}

/* ---- sending ---- */

/* False: the rest must wait, or never goes. */
static bool
send_out(udpai_http_connection *self, uint64_t now_ms)
{
    while (self->n_sent < self->out.len) {
        ssize_t n = send(self->fd, self->out.data + self->n_sent, self->out.len - self->n_sent,
                         MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            self->is_cut |= errno != EAGAIN;
            return false;
        }
        self->n_sent += (size_t)n;
        self->moved_ms = now_ms;
    }
    self->n_sent = self->out.len = 0;
    self->emptied_ms = now_ms;
    return true;
}

/* Puts what the engine has into what is to be sent. */
static void
fill_out(udpai_http_connection *self)
{
    udpai_strbuf *plain = &http_of(self)->plain;
    if (!self->engine)
        return;
    if (!self->tls) {
        udpai_http_engine_give(self->engine, &self->out, GIVE_BYTES);
        return;
    }
    plain->len = 0;
    udpai_http_engine_give(self->engine, plain, GIVE_BYTES);
    if (plain->failed) {
        udpai_strbuf_done(plain);
    } else if (!udpai_tls_session_give(self->tls, udpai_strbuf_view(plain), &self->out)) {
        self->is_cut = true;
    }
}

static void
send_some(udpai_http_connection *self, uint64_t now_ms)
{
    if (self->out.len == 0)
        self->moved_ms = self->emptied_ms = now_ms; /* what comes begins to wait now */
    for (int i = 0; i < SENDS_MAX && !self->is_cut && send_out(self, now_ms); i++) {
        fill_out(self);
        if (self->out.len == 0)
            break;
    }
    if (self->engine && udpai_http_engine_is_broken(self->engine))
        self->is_cut = true;
    if (self->out.len)
        return;
    udpai_strbuf_done(&self->out);
    if (self->is_done || (self->engine && udpai_http_engine_is_over(self->engine)))
        linger(self, now_ms);
}

/* ---- time ---- */

/* Time without a byte from the client, of HTTP/2 also while requests are held. */
static uint64_t
idle_ms(const udpai_http *http)
{
    return udpai_max_size(UDPAI_HTTP_IDLE_S * 1000, http->limits.hold_ms + 60000);
}

static uint64_t
deadline_of(const udpai_http_connection *self)
{
    const udpai_http_engine *engine = self->engine;
    uint64_t until = self->received_ms + idle_ms(http_of(self));
    if (self->lingers)
        return self->lingers_since_ms + UDPAI_HTTP_LINGER_S * 1000;
    if (!engine || udpai_http_engine_is_in_head(engine))
        until = udpai_min_size(until, self->head_since_ms + UDPAI_HTTP_HEADERS_S * 1000);
    else if (udpai_http_engine_n_streams(engine) ||
             (udpai_http_engine_n_calls(engine) && !udpai_http_engine_is_second(engine)))
        until = UDPAI_WHEEL_NEVER; /* a call has its own times */
    if (self->out.len) {
        until = udpai_min_size(until, self->moved_ms + UDPAI_HTTP_STALL_S * 1000);
        until = udpai_min_size(until, self->emptied_ms + UDPAI_HTTP_REPLY_S * 1000);
    }
    return until;
}

static void
note_head(udpai_http_connection *self, uint64_t now_ms)
{
    uint64_t n = self->engine ? udpai_http_engine_n_heads(self->engine) : 0;
    if (n != self->n_heads)
        self->head_since_ms = now_ms;
    self->n_heads = n;
}

static void
set_timer(udpai_http_connection *self)
{
    uint64_t until = deadline_of(self);
    if (until == UDPAI_WHEEL_NEVER)
        udpai_timer_cancel(&self->timer);
    else
        udpai_http_set_timer(http_of(self), &self->timer, until);
}

static void
on_timer(udpai_timer *timer)
{
    udpai_http_connection *self = UDPAI_CONTAINER_OF(timer, udpai_http_connection, timer);
    if (deadline_of(self) <= udpai_monotonic_ms())
        self->is_cut = true;
    udpai_http_connection_touch(self);
}

/* ---- turns ---- */

static void on_poll(uv_poll_t *handle, int status, int events);

/* While nothing is read, it is noticed all the same when the other end has closed. */
static void
watch(udpai_http_connection *self)
{
    int events = may_read(self) ? UV_READABLE : UV_DISCONNECT;
    if (self->out.len)
        events |= UV_WRITABLE;
    if (events == self->watched)
        return;
    self->watched = events;
    if (uv_poll_start(&self->poll, events, on_poll) != 0)
        self->is_cut = true;
}

static void
run(udpai_http_connection *self)
{
    uint64_t now_ms = udpai_monotonic_ms();
    if (!self->is_cut && !self->lingers)
        send_some(self, now_ms);
    note_head(self, now_ms);
    if (!self->is_cut)
        watch(self);
    if (self->is_cut)
        close_connection(self);
    else
        set_timer(self);
}

void
udpai_http_connections_run(udpai_http *http)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&http->due)))
        run(UDPAI_LIST_ENTRY(at, udpai_http_connection, due));
    udpai_loop_wheel_arm(http->wheel);
}

static void
on_poll(uv_poll_t *handle, int status, int events)
{
    udpai_http_connection *self = UDPAI_CONTAINER_OF(handle, udpai_http_connection, poll);
    udpai_http *http = http_of(self);
    if (self->is_closed)
        return;
    udpai_loop_wheel_advance(http->wheel);
    if (status < 0 || (events & UV_DISCONNECT && !(events & UV_READABLE)))
        self->is_cut = true;
    for (int i = 0; events & UV_READABLE && i < READS_MAX && may_read(self) && read_some(self); i++)
        continue;
    udpai_http_connection_touch(self);
    udpai_http_connections_run(http);
}

/* ---- the begin ---- */

static udpai_http_connection *
new_connection(udpai_http *http, int fd)
{
    udpai_http_connection *self = udpai_alloc(sizeof(*self));
    if (!self || uv_poll_init(&http->loop, &self->poll, fd) != 0) {
        udpai_free(self);
        return NULL;
    }
    self->http = http;
    self->fd = fd;
    self->head_since_ms = self->received_ms = udpai_monotonic_ms();
    self->moved_ms = self->emptied_ms = self->received_ms;
    udpai_timer_init(&self->timer, on_timer);
    udpai_list_init(&self->node);
    udpai_list_init(&self->due);
    return self;
}

void
udpai_http_connection_begin(const udpai_http_place *place,
                            udpai_handed *handed,
                            udpai_admitted *admitted)
{
    udpai_http *http = place->http;
    udpai_http_connection *self = new_connection(http, handed->socket);
    if (!self) {
        udpai_handed_done(handed);
        udpai_admission_leave(&http->admission, admitted);
        return;
    }
    self->guest = (udpai_http_guest){
        .place = place,
        .connection = self,
        .visitor = handed->visitor,
    };
    self->admitted = admitted;
    self->tls = handed->tls;
    self->out = handed->unsent;
    memcpy(self->taken, handed->places, sizeof(self->taken));
    self->leave = handed->leave;
    udpai_list_append(&http->connections, &self->node);
    atomic_fetch_add_explicit(&http->n_connections, 1, memory_order_relaxed);
    take_plain(self, udpai_strbuf_view(&handed->early));
    self->is_cut |= udpai_strbuf_failed(&handed->early);
    udpai_strbuf_done(&handed->early);
    udpai_http_connection_touch(self);
}
