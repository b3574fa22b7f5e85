/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that go on: sessions on the stream thread, of which each message is a piece of the answer.
 * A session has one message under way, and the client one piece: who does not read is not written
 * to, and misses what its session drops. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "loop/clock.h"
#include "transport/http/http_internal.h"

#define PIECE_BYTES 32768 /* of several messages together */

/* A session; it outlives the stream until it has ended. */
typedef struct feed {
    udpai_bridged_stream base; /* first */
    udpai_http_message wrote, over;
    udpai_http *http;
    udpai_http_stream *stream; /* the HTTP thread's; NULL: it has ended */
    size_t index;
    bool is_waiting; /* its message, for room */
} feed;

struct udpai_http_stream {
    udpai_http_exchange *exchange;
    udpai_http_streaming how;
    feed *feeds[UDPAI_HTTP_FEEDS_MAX]; /* NULL: it has ended */
    size_t n_feeds;
    uint64_t beat_ms;
    bool is_ending;
    udpa_error *why; /* it ends, and the client has yet to be sent that; NULL: in peace */
};

/* ---- pieces ---- */

static void
set_timer(const udpai_http_stream *self, uint64_t due_ms)
{
    udpai_http_set_timer(self->exchange->http, &self->exchange->timer, due_ms);
}

static void
touch(const udpai_http_stream *self)
{
    udpai_http_connection_touch(self->exchange->guest->connection);
}

/* Takes the text; the piece before must have been given. */
static void
push(udpai_http_stream *self, udpai_strbuf *text)
{
    if (text->len == 0 && !text->failed)
        return;
    udpa_bytes *piece = udpai_bytes_of(text);
    if (piece) {
        udpai_http_call_push(self->exchange->call, piece);
        set_timer(self, udpai_monotonic_ms() + UDPAI_HTTP_STALL_S * 1000);
        touch(self);
    } else {
        udpai_http_connection_cut(self->exchange->guest->connection);
    }
    udpa_bytes_unref(piece);
}

static void
put_message(const udpai_http_stream *self, feed *from, udpai_strbuf *out)
{
    udpai_strbuf whole = {0};
    for (size_t i = 0; i < from->base.parts.n; i++)
        udpai_strbuf_str(&whole, udpai_bytes_view(from->base.parts.items[i]));
    if (udpai_strbuf_failed(&whole))
        out->failed = true;
    else
        self->how.put(self->how.userdata, from->index, udpai_strbuf_view(&whole), out);
    udpai_strbuf_done(&whole);
    from->is_waiting = false;
    udpai_bridged_stream_taken(&from->base);
}

static void
pump(udpai_http_stream *self)
{
    udpai_strbuf out = {0};
    if (self->is_ending || !udpai_http_call_is_drained(self->exchange->call))
        return;
    for (size_t i = 0; i < self->n_feeds && out.len < PIECE_BYTES; i++)
        if (self->feeds[i] && self->feeds[i]->is_waiting)
            put_message(self, self->feeds[i], &out);
    push(self, &out);
}

/* ---- the end ---- */

static void
leave_feeds(udpai_http_stream *self)
{
    for (size_t i = 0; i < self->n_feeds; i++) {
        feed *left = UDPAI_TAKE(self->feeds[i]);
        if (!left)
            continue;
        left->stream = NULL;
        udpai_bridged_stream_cancel(&left->base);
    }
}

/* What is under way is sent first. */
static void
finish(udpai_http_stream *self)
{
    udpai_strbuf text = {0};
    if (!udpai_http_call_is_drained(self->exchange->call))
        return;
    if (self->why)
        self->how.put_error(self->how.userdata, self->why, &text);
    self->why = udpa_error_unref(self->why);
    push(self, &text);
    udpai_http_call_end_stream(self->exchange->call);
    touch(self);
}

static void
end_stream(udpai_http_exchange *exchange, const udpa_error *why)
{
    udpai_http_stream *self = exchange->stream;
    if (self->is_ending)
        return;
    self->is_ending = true;
    self->why = udpa_error_ref((udpa_error *)(uintptr_t)why);
    leave_feeds(self);
    set_timer(self, udpai_monotonic_ms() + UDPAI_HTTP_STALL_S * 1000);
    finish(self);
}

static void
leave(udpai_http_exchange *exchange)
{
    udpai_http_stream *self = UDPAI_TAKE(exchange->stream);
    if (!self)
        return;
    leave_feeds(self);
    exchange->http->n_streams--;
    udpai_http_streaming_done(&self->how);
    udpa_error_unref(self->why);
    udpai_free(self);
}

/* ---- what the stream thread sends ---- */

static void
run_wrote(udpai_http *http, udpai_http_message *message)
{
    feed *from = UDPAI_CONTAINER_OF(message, feed, wrote);
    (void)http;
    if (!from->stream)
        return;
    from->is_waiting = true;
    pump(from->stream);
}

static void
end_feed(udpai_http_stream *self, const feed *ended)
{
    const udpa_error *error = ended->base.bridge.error;
    bool is_any_left = false;
    self->feeds[ended->index] = NULL;
    for (size_t i = 0; i < self->n_feeds; i++)
        is_any_left |= self->feeds[i] != NULL;
    if (error || !is_any_left)
        end_stream(self->exchange, error);
}

static void
run_over(udpai_http *http, udpai_http_message *message)
{
    feed *ended = UDPAI_CONTAINER_OF(message, feed, over);
    http->n_bridged--;
    if (ended->stream)
        end_feed(ended->stream, ended);
    udpai_bridged_stream_unref(&ended->base);
    udpai_http_check_end(http);
}

/* On the stream thread, as the next one. */
static void
on_wrote(udpai_bridged_stream *base)
{
    feed *from = (feed *)base;
    (void)udpai_inbox_push(&from->http->inbox, &from->wrote.node);
}

static void
on_over(udpai_bridged_stream *base)
{
    feed *ended = (feed *)base;
    (void)udpai_inbox_push(&ended->http->inbox, &ended->over.node);
}

static void
on_free(udpai_bridged_stream *base)
{
    udpai_free(base);
}

/* ---- while it lasts ---- */

static uint64_t
next_beat(const udpai_http_exchange *exchange)
{
    return udpai_monotonic_ms() + exchange->http->limits.heartbeat_ms;
}

static void
progress(udpai_http_exchange *exchange)
{
    udpai_http_stream *self = exchange->stream;
    bool is_drained = udpai_http_call_is_drained(exchange->call);
    set_timer(self, is_drained && !self->is_ending
                        ? self->beat_ms
                        : udpai_monotonic_ms() + UDPAI_HTTP_STALL_S * 1000);
    if (self->is_ending)
        finish(self);
    else
        pump(self);
}

/* Whether the client may still read it is asked again: rules and tokens change. */
static void
tick(udpai_http_exchange *exchange)
{
    udpai_http_stream *self = exchange->stream;
    udpai_strbuf text = {0};
    if (self->is_ending || !udpai_http_call_is_drained(exchange->call)) {
        udpai_http_connection_cut(exchange->guest->connection);
        return;
    }
    self->beat_ms = next_beat(exchange);
    udpai_strbuf_puts(&text, self->how.heartbeat);
    push(self, &text);
    if (!exchange->reading && udpai_http_page_ask(exchange, (udpai_str){0}, NULL) != UDPA_OK)
        end_stream(exchange, NULL);
}

/* ---- the begin ---- */

static feed *
new_feed(udpai_http_stream *self, size_t index)
{
    const udpai_visitor *visitor = &self->exchange->guest->visitor;
    feed *made = udpai_alloc(sizeof(*made));
    if (!made)
        return NULL;
    udpai_bridged_stream_init(&made->base);
    made->base.method = self->how.method;
    made->base.identity = udpai_identity_ref(visitor->identity);
    made->base.chain = udpai_chain_ref(visitor->chain);
    made->base.trust = udpai_trust_ref(visitor->trust);
    made->base.address = udpa_bytes_ref(visitor->address);
    made->base.message = udpa_bytes_ref(self->how.requests[index]);
    made->base.is_secure = visitor->is_secure;
    made->base.tls = visitor->tls;
    made->base.wrote = on_wrote;
    made->base.over = on_over;
    made->base.free = on_free;
    udpai_list_init(&made->wrote.node);
    udpai_list_init(&made->over.node);
    made->wrote.run = run_wrote;
    made->over.run = run_over;
    made->http = self->exchange->http;
    made->stream = self;
    made->index = index;
    return made;
}

static udpa_err
begin_feeds(udpai_http_stream *self, udpa_error **ret_error)
{
    udpai_http *http = self->exchange->http;
    for (; self->n_feeds < self->how.n_requests; self->n_feeds++) {
        feed *made = new_feed(self, self->n_feeds);
        if (!made)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        if (!udpai_stream_thread_bridge(http->streams, &made->base)) {
            udpai_bridged_stream_unref(&made->base);
            return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "this node is shutting down");
        }
        http->n_bridged++;
        self->feeds[self->n_feeds] = made;
    }
    return UDPA_OK;
}

static const udpai_http_stream_ops ops = {end_stream, leave, progress, tick};

/* Takes it, whatever comes. */
static udpa_err
begin(udpai_http_exchange *exchange, udpai_http_streaming *how, udpa_error **ret_error)
{
    udpai_http *http = exchange->http;
    udpai_http_streaming taken = *how;
    *how = (udpai_http_streaming){0};
    bool is_here = exchange->guest->connection != NULL;
    udpai_http_stream *self =
        is_here && http->n_streams < UDPAI_HTTP_STREAMS_MAX ? udpai_alloc(sizeof(*self)) : NULL;
    if (!self) {
        udpai_http_streaming_done(&taken);
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          is_here ? "%d clients follow this node already, or it has no memory"
                                  : "this page is served by sockets of HTTP alone",
                          UDPAI_HTTP_STREAMS_MAX);
    }
    self->exchange = exchange;
    self->how = taken;
    self->beat_ms = next_beat(exchange);
    http->n_streams++;
    exchange->stream = self;
    exchange->stream_ops = &ops;
    udpa_err err = begin_feeds(self, ret_error);
    if (err != UDPA_OK)
        leave(exchange);
    return err;
}

static void
begin_stream(udpai_http_exchange *exchange, udpai_http_streaming *how)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const char *type = how->type;
    udpa_err err = begin(exchange, how, &error);
    if (err != UDPA_OK) {
        udpai_http_exchange_fail(exchange, 503, error);
        return;
    }
    exchange->stage = UDPAI_HTTP_STREAMING;
    udpai_http_call_set_type(exchange->call, type);
    udpai_http_call_begin_stream(exchange->call, 200);
    set_timer(exchange->stream, exchange->stream->beat_ms);
    touch(exchange->stream);
}

void
udpai_http_page_stream(udpai_http_reading *reading, const udpai_http_streaming *streaming)
{
    udpai_http_page_go_on(reading, streaming, begin_stream);
}
