/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 (RFC 9113) by nghttp2, which knows frames, HPACK, windows and the rules of heads. Here is
 * what turns its streams into calls, and what keeps a peer from having us work for nothing. */
#include <nghttp2/nghttp2.h>

#include "base/alloc.h"
#include "base/list.h"
#include "transport/http/engine_internal.h"
#include "transport/nghttp2_memory.h"

#define WINDOW_BYTES (1 << 20)                  /* of the connection; a stream has what is usual */
#define HEAD_WIRE_MAX (4 * UDPAI_HTTP_HEAD_MAX) /* bytes until the end of a head */
#define ACKS_MAX 256                            /* that wait to be sent */
/* Frames that ask for nothing, such as pings: so many at once, and so many in a second. */
#define IDLE_FRAMES 2000
#define IDLE_FRAMES_PER_S 200
#define UPDATES_PER_PIECE 4 /* of windows, that a piece of an answer may cause */

typedef struct http2 {
    udpai_http_engine base; /* first */
    nghttp2_session *session;
    udpai_list calls;
    size_t body_bytes;    /* of all calls that are there */
    size_t head_bytes;    /* on the wire, of this head */
    unsigned n_abandoned; /* less those that were answered */
    uint64_t idle_frames, refilled_ms;
} http2;

typedef struct http2_call {
    udpai_http_call base; /* first */
    udpai_list node;
    int32_t id;
    size_t body_bytes;
    bool has_ended;
} http2_call;

static http2 *
http2_of(udpai_http_engine *engine)
{
    return (http2 *)engine;
}

static http2_call *
find_call(const http2 *self, int32_t id)
{
    return nghttp2_session_get_stream_user_data(self->session, id);
}

/* ---- clients that ask too much ---- */

/* It is sent the reason, and nothing more is taken. */
static void
cut(http2 *self)
{
    if (self->base.is_over)
        return;
    self->base.is_over = true;
    if (nghttp2_session_terminate_session(self->session, NGHTTP2_ENHANCE_YOUR_CALM) != 0)
        self->base.is_broken = true;
}

/* A client that lets requests begin and drops them has us work for nothing. */
static void
count_abandoned(http2 *self)
{
    if (++self->n_abandoned > UDPAI_HTTP_ABANDONED_MAX)
        cut(self);
}

static void
refill(http2 *self, uint64_t now_ms)
{
    uint64_t frames = (now_ms - self->refilled_ms) * IDLE_FRAMES_PER_S / 1000;
    if (frames == 0)
        return;
    self->refilled_ms = now_ms;
    self->idle_frames = udpai_min_size(self->idle_frames + frames, IDLE_FRAMES);
}

static bool
asks_for_nothing(const nghttp2_frame_hd *frame)
{
    return frame->type != NGHTTP2_HEADERS &&
           (frame->type != NGHTTP2_DATA ||
            (frame->length == 0 && !(frame->flags & NGHTTP2_FLAG_END_STREAM)));
}

static int
on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *userdata)
{
    http2 *self = userdata;
    (void)session;
    if (!asks_for_nothing(frame))
        return 0;
    if (self->idle_frames == 0)
        cut(self);
    self->idle_frames -= self->idle_frames > 0;
    return 0;
}

static int
on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *userdata)
{
    http2 *self = userdata;
    (void)session;
    (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS)
        udpai_http_engine_drop_head(&self->base);
    count_abandoned(self);
    return 0;
}

/* ---- calls ---- */

static void
end_call(http2 *self, http2_call *call, bool is_answered)
{
    if (call->has_ended)
        return;
    call->has_ended = true;
    self->body_bytes -= call->body_bytes;
    udpai_http_call_end(&call->base, is_answered);
    if (is_answered)
        self->n_abandoned -= self->n_abandoned > 0;
    else
        count_abandoned(self);
}

static void
free_call(http2 *self, http2_call *call)
{
    end_call(self, call, false);
    udpai_list_remove(&call->node);
    udpai_free(call);
}

static int
begin_call(http2 *self, int32_t id)
{
    http2_call *call = udpai_alloc(sizeof(*call));
    if (!call)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    call->id = id;
    udpai_list_init(&call->node);
    udpai_list_append(&self->calls, &call->node);
    nghttp2_session_set_stream_user_data(self->session, id, call);
    bool continues = self->base.head->continues;
    if (!udpai_http_engine_begin_call(&self->base, &call->base))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!continues || call->base.has_reply)
        return 0;
    const nghttp2_nv status = {(uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE};
    return nghttp2_submit_headers(self->session, NGHTTP2_FLAG_NONE, id, NULL, &status, 1, NULL) < 0
               ? NGHTTP2_ERR_CALLBACK_FAILURE
               : 0;
}

/* ---- what comes ---- */

static bool
begins_request(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    http2 *self = userdata;
    (void)session;
    if (!begins_request(frame))
        return 0;
    self->head_bytes = 0;
    if (!udpai_http_engine_begin_head(&self->base))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    self->base.head->is_second = true;
    return 0;
}

static int
on_header(nghttp2_session *session,
          const nghttp2_frame *frame,
          const uint8_t *name,
          size_t name_len,
          const uint8_t *value,
          size_t value_len,
          uint8_t flags,
          void *userdata)
{
    udpai_http_head *head = ((http2 *)userdata)->base.head;
    udpai_str key = {(const char *)name, name_len}, text = {(const char *)value, value_len};
    (void)session;
    (void)flags;
    if (!begins_request(frame) || !head) /* trailers are not needed */
        return 0;
    udpai_http_head_second(head, key, text);
    return 0;
}

/* That of one connection together, too, is limited: they wait for their ends side by side. */
static void
refuse_body(http2 *self, http2_call *call)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (call->body_bytes > self->base.options.max_body_bytes) {
        udpai_http_call_too_large(&call->base);
        return;
    }
    udpai_fail(&error, UDPA_ERR_LIMIT,
               "the requests of this connection together are larger than %zu bytes, %d times the "
               "limit of one (http.max_body_bytes)",
               UDPAI_HTTP_BODIES * self->base.options.max_body_bytes, UDPAI_HTTP_BODIES);
    udpai_http_call_broken(&call->base, 429, error);
}

static int
on_data(nghttp2_session *session,
        uint8_t flags,
        int32_t id,
        const uint8_t *data,
        size_t len,
        void *userdata)
{
    http2 *self = userdata;
    http2_call *call = find_call(self, id);
    size_t max = self->base.options.max_body_bytes;
    (void)session;
    (void)flags;
    if (!call || call->base.has_reply)
        return 0;
    call->body_bytes += len;
    self->body_bytes += len;
    if (call->body_bytes > max || self->body_bytes > UDPAI_HTTP_BODIES * max) {
        refuse_body(self, call);
        return 0;
    }
    udpai_strbuf_append(&call->base.body, data, len);
    return udpai_strbuf_failed(&call->base.body) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    http2 *self = userdata;
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    if (begins_request(frame) && self->base.head) {
        udpai_http_head_finish(self->base.head);
        int result = begin_call(self, frame->hd.stream_id);
        udpai_http_engine_drop_head(&self->base);
        if (result != 0)
            return result;
    }
    http2_call *call = find_call(self, frame->hd.stream_id);
    if (call && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        udpai_http_call_complete(&call->base);
    return 0;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *userdata)
{
    http2 *self = userdata;
    http2_call *call = find_call(self, id);
    (void)session;
    (void)code;
    if (call)
        free_call(self, call);
    else /* there never was one */
        count_abandoned(self);
    return 0;
}

/* nghttp2 takes all of it, and keeps what it must; what it makes of that is bounded. */
static void
take(udpai_http_engine *engine, udpai_str bytes, uint64_t now_ms)
{
    http2 *self = http2_of(engine);
    refill(self, now_ms);
    ssize_t n = nghttp2_session_mem_recv(self->session, (const uint8_t *)bytes.data, bytes.len);
    if (n < 0)
        engine->is_broken = true;
    self->head_bytes += bytes.len;
    if (engine->head && self->head_bytes > HEAD_WIRE_MAX)
        cut(self);
    engine->is_over |= !nghttp2_session_want_read(self->session);
}

/* ---- answers ---- */

static ssize_t
read_text(nghttp2_session *session,
          int32_t id,
          uint8_t *room,
          size_t len,
          uint32_t *flags,
          nghttp2_data_source *source,
          void *userdata)
{
    http2_call *call = source->ptr;
    (void)session;
    (void)id;
    (void)userdata;
    udpai_str rest = udpai_http_call_rest(&call->base);
    size_t n = udpai_min_size(rest.len, len);
    if (n)
        memcpy(room, rest.data, n);
    call->base.n_given += n;
    if (n == rest.len && udpai_http_call_is_last(&call->base))
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (n == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)n;
}

static nghttp2_nv
pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static void
reply(udpai_http_call *base)
{
    http2_call *call = (http2_call *)base;
    http2 *self = http2_of(base->engine);
    const nghttp2_data_provider text = {.source.ptr = call, .read_callback = read_text};
    udpai_http_answer answer;
    nghttp2_nv fields[1 + UDPAI_ARRAY_LEN(answer.fields)];
    udpai_http_call_answer(base, &answer);
    fields[0] = pair(":status", answer.status);
    for (size_t i = 0; i < answer.n_fields; i++)
        fields[1 + i] = pair(answer.fields[i].name, answer.fields[i].value);
    bool has_text = udpai_http_call_rest(base).len > 0 || !udpai_http_call_is_last(base);
    if (nghttp2_submit_response(self->session, call->id, fields, 1 + answer.n_fields,
                                has_text ? &text : NULL) != 0)
        self->base.is_broken = true;
}

/* If nothing was asked of it yet, or its piece is not sent yet, it is looked for anyway. */
static void
resume(udpai_http_call *base)
{
    http2 *self = http2_of(base->engine);
    if (nghttp2_session_resume_data(self->session, ((http2_call *)base)->id) == NGHTTP2_ERR_NOMEM)
        self->base.is_broken = true;
}

/* Of a body that is still coming nothing more is needed (RFC 9113, 8.1). */
static int
stop_body(http2 *self, const http2_call *call)
{
    if (call->base.is_complete)
        return 0;
    return nghttp2_submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, call->id,
                                     NGHTTP2_NO_ERROR) == 0
               ? 0
               : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    http2 *self = userdata;
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    http2_call *call = find_call(self, frame->hd.stream_id);
    if (!call || call->has_ended)
        return 0;
    self->idle_frames = udpai_min_size(self->idle_frames + UPDATES_PER_PIECE, IDLE_FRAMES);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        end_call(self, call, true);
        return stop_body(self, call);
    }
    if (frame->hd.type == NGHTTP2_DATA)
        self->base.options.events->progress(call->base.request);
    return 0;
}

static void
give(udpai_http_engine *engine, udpai_strbuf *out, size_t max)
{
    http2 *self = http2_of(engine);
    const uint8_t *bytes;
    ssize_t n = 1;
    while (n > 0 && out->len < max && !udpai_strbuf_failed(out)) {
        n = nghttp2_session_mem_send(self->session, &bytes);
        if (n > 0)
            udpai_strbuf_append(out, bytes, (size_t)n);
    }
    engine->is_broken |= n < 0;
    engine->is_over |=
        (engine->is_ending && engine->n_calls == 0) || !nghttp2_session_want_read(self->session);
}

/* ---- the engine ---- */

/* Whatever begins from now on is not answered, which its client learns by this. */
static void
shut_down(udpai_http_engine *engine)
{
    http2 *self = http2_of(engine);
    int32_t last = nghttp2_session_get_last_proc_stream_id(self->session);
    if (nghttp2_submit_goaway(self->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0) !=
        0)
        engine->is_broken = true;
    engine->is_over |= engine->n_calls == 0;
}

static void
free_engine(udpai_http_engine *engine)
{
    http2 *self = http2_of(engine);
    udpai_list *at;
    engine->is_over = true;
    while ((at = self->calls.next) != &self->calls)
        free_call(self, UDPAI_LIST_ENTRY(at, http2_call, node));
    nghttp2_session_del(self->session);
    udpai_free(self);
}

static nghttp2_session *
new_session(http2 *self, nghttp2_session_callbacks *callbacks, nghttp2_option *option)
{
    nghttp2_mem memory = udpai_nghttp2_memory();
    nghttp2_session *session = NULL;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
    nghttp2_option_set_no_closed_streams(option, 1);
    return nghttp2_session_server_new3(&session, callbacks, self, option, &memory) == 0 ? session
                                                                                        : NULL;
}

static nghttp2_session *
make_session(http2 *self)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    nghttp2_session *session = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0)
        session = new_session(self, callbacks, option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return session;
}

static bool
begin_session(http2 *self)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, UDPAI_HTTP_STREAMS},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UDPAI_HTTP_HEAD_MAX},
    };
    return nghttp2_submit_settings(self->session, NGHTTP2_FLAG_NONE, settings,
                                   UDPAI_ARRAY_LEN(settings)) == 0 &&
           nghttp2_session_set_local_window_size(self->session, NGHTTP2_FLAG_NONE, 0,
                                                 WINDOW_BYTES) == 0;
}

udpai_http_engine *
udpai_http2_new(const udpai_http_engine_options *options)
{
    static const udpai_http_engine_ops ops = {
        .is_second = true,
        .take = take,
        .give = give,
        .shut_down = shut_down,
        .reply = reply,
        .resume = resume,
        .free = free_engine,
    };
    http2 *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->base.ops = &ops;
    self->base.options = *options;
    self->idle_frames = IDLE_FRAMES;
    self->refilled_ms = options->now_ms;
    udpai_list_init(&self->calls);
    self->session = make_session(self);
    if (!self->session || !begin_session(self)) {
        nghttp2_session_del(self->session);
        udpai_free(self);
        return NULL;
    }
    return &self->base;
}
