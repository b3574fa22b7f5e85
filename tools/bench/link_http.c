/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP/2 side. */
#include <stdlib.h>

#include "tools/bench/link_internal.h"

#define WINDOW INT32_MAX /* nobody waits for us */
#define KEPT_ROOM 4096   /* of what was sent; more is given back */

/* ---- events ---- */

static int
on_data(nghttp2_session *session,
        uint8_t flags,
        int32_t stream_id,
        const uint8_t *data,
        size_t len,
        void *userdata)
{
    udpai_link *link = userdata;
    const udpai_link_stream *stream = nghttp2_session_get_stream_user_data(session, stream_id);
    (void)flags;
    if (stream)
        link->events->data(link->userdata, stream->index, (udpai_str){(const char *)data, len});
    return 0;
}

/* nghttp2 has checked :status, and puts a zero byte behind each value. */
static void
take_header(udpai_link_stream *stream, udpai_str key, udpai_str text)
{
    if (udpai_str_eq(key, UDPAI_STR(":status")))
        stream->http_status = (int)strtol(text.data, NULL, 10);
    else if (udpai_str_eq(key, UDPAI_STR("grpc-status")))
        stream->grpc_status = (int)strtol(text.data, NULL, 10) & INT16_MAX;
    else if (udpai_str_eq(key, UDPAI_STR("grpc-message")) && stream->message.len == 0)
        udpai_strbuf_str(&stream->message, text);
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
    udpai_link_stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    (void)flags;
    (void)userdata;
    if (stream)
        take_header(stream, (udpai_str){(const char *)name, name_len},
                    (udpai_str){(const char *)value, value_len});
    return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    udpai_link *link = userdata;
    bool is_first = frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK) &&
                    !link->is_ready;
    (void)session;
    if (is_first) {
        link->is_ready = true;
        link->events->ready(link->userdata);
    }
    if (frame->hd.type == NGHTTP2_GOAWAY)
        udpai_link_break(link, "the server has sent GOAWAY");
    return 0;
}

static int
on_closed(nghttp2_session *session, int32_t stream_id, uint32_t code, void *userdata)
{
    udpai_link *link = userdata;
    udpai_link_stream *stream = nghttp2_session_get_stream_user_data(session, stream_id);
    if (!stream || link->is_broken)
        return 0;
    udpai_strbuf reason = {0};
    udpai_load_put_reason(&reason, &(udpai_load_end){
                                       .http_status = stream->http_status,
                                       .grpc_status = stream->grpc_status,
                                       .message = udpai_strbuf_view(&stream->message),
                                       .reset = code ? nghttp2_http2_strerror(code) : NULL,
                                   });
    link->events->ended(link->userdata, stream->index,
                        udpai_strbuf_failed(&reason) ? "out of memory" : reason.data);
    udpai_strbuf_done(&reason);
    return 0;
}

static udpa_err
make_session(udpai_link *link)
{
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return UDPA_ERR_NOMEM;
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed);
    int failed = nghttp2_session_client_new(&link->http, callbacks, link);
    nghttp2_session_callbacks_del(callbacks);
    return failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

udpa_err
udpai_link_http_open(udpai_link *link)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    udpa_err err = make_session(link);
    if (err != UDPA_OK)
        return err;
    int failed =
        nghttp2_submit_settings(link->http, NGHTTP2_FLAG_NONE, settings, UDPAI_ARRAY_LEN(settings));
    if (!failed)
        failed = nghttp2_session_set_local_window_size(link->http, NGHTTP2_FLAG_NONE, 0, WINDOW);
    return failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- requests ---- */

static ssize_t
on_read(nghttp2_session *session,
        int32_t stream_id,
        uint8_t *to,
        size_t max,
        uint32_t *flags,
        nghttp2_data_source *source,
        void *userdata)
{
    udpai_link_stream *stream = source->ptr;
    size_t n = udpai_min_size(stream->out.len - stream->n_sent, max);
    (void)session;
    (void)stream_id;
    (void)flags;
    (void)userdata;
    stream->is_waiting = n == 0;
    if (n == 0)
        return NGHTTP2_ERR_DEFERRED;
    memcpy(to, stream->out.data + stream->n_sent, n);
    stream->n_sent += n;
    if (stream->n_sent == stream->out.len) {
        stream->out.len = stream->n_sent = 0;
        if (stream->out.capacity > KEPT_ROOM)
            udpai_strbuf_done(&stream->out);
    }
    return (ssize_t)n;
}

static nghttp2_nv
header_of(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

bool
udpai_link_request(udpai_link *link, const char *path)
{
    const nghttp2_nv headers[] = {
        header_of(":method", "POST"),
        header_of(":scheme", link->ssl ? "https" : "http"),
        header_of(":path", path),
        header_of(":authority", "localhost"),
        header_of("content-type", "application/grpc"),
        header_of("te", "trailers"),
        header_of("user-agent", "udpactl-bench"),
    };
    udpai_link_stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream || !udpai_vector_push(&link->streams, stream)) {
        udpai_free(stream);
        return false;
    }
    stream->link = link;
    stream->index = link->streams.n - 1;
    stream->http_status = stream->grpc_status = UDPAI_LOAD_NO_STATUS;
    const nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = on_read};
    stream->id = nghttp2_submit_request(link->http, NULL, headers, UDPAI_ARRAY_LEN(headers),
                                        &provider, stream);
    return stream->id > 0;
}

udpai_strbuf *
udpai_link_out(udpai_link *link, size_t stream)
{
    udpai_link_stream *to = link->streams.items[stream];
    if (to->is_waiting) {
        to->is_waiting = false;
        (void)nghttp2_session_resume_data(link->http, to->id);
    }
    return &to->out;
}

size_t
udpai_link_n_unsent(const udpai_link *link, size_t stream)
{
    const udpai_link_stream *of = link->streams.items[stream];
    return of->out.len - of->n_sent;
}
