/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 (RFC 9113) by nghttp2, and what gRPC makes of it: a response begins with the first
 * message, and ends with trailers that have the status. A stream keeps one body for its life, which
 * is deferred while there is nothing to send. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "transport/door/door_internal.h"

#define ACKS_MAX 1000 /* that wait to be sent */

static udpai_door_stream *
find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- what comes ---- */

static bool
is_request(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int
on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *userdata)
{
    udpai_door_connection *connection = userdata;
    if (frame->type == NGHTTP2_HEADERS && udpai_door_ended_has(connection, frame->stream_id))
        return nghttp2_session_terminate_session(session, NGHTTP2_STREAM_CLOSED);
    return udpai_door_allow_frame(connection, frame) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    udpai_door_connection *connection = userdata;
    if (!is_request(frame))
        return 0;
    if (!udpai_door_visit_begin_head(connection))
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    udpai_door_stream *stream = udpai_door_stream_new(connection, frame->hd.stream_id);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
}

/* "100m": eight digits at most, and a unit. 0: there is none. */
static uint64_t
timeout_of(udpai_str text)
{
    static const struct {
        char unit;
        uint64_t ns;
    } units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
                 {'m', 1000000},       {'u', 1000},        {'n', 1}};

    uint64_t number = 0;
    if (text.len < 2 || text.len > 9)
        return 0;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return 0;
        number = 10 * number + (uint64_t)(text.data[i] - '0');
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(units); i++)
        if (units[i].unit == text.data[text.len - 1])
            return (uint64_t)((double)number * (double)units[i].ns / 1e6) + 1;
    return 0;
}

/* False without memory. */
static bool
take_field(udpai_door_stream *stream, udpai_str key, udpai_str text)
{
    if (udpai_str_eq(key, UDPAI_STR(":path")) && !stream->path)
        stream->path = udpai_strndup(text.data, text.len);
    else if (udpai_str_eq(key, UDPAI_STR(":method")))
        stream->is_post = udpai_str_eq(text, UDPAI_STR("POST"));
    else if (udpai_str_eq(key, UDPAI_STR("content-type")))
        stream->is_grpc = udpai_str_starts(text, UDPAI_STR("application/grpc"));
    else if (udpai_str_eq(key, UDPAI_STR("grpc-timeout")))
        stream->timeout_ms = timeout_of(text);
    else if (udpai_str_eq(key, UDPAI_STR("grpc-encoding")))
        stream->is_encoded = !udpai_str_eq(text, UDPAI_STR("identity"));
    return !stream->connection->listener->options.keeps_metadata ||
           udpai_door_metadata_take(stream, key, text);
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
    udpai_str key = {(const char *)name, name_len}, text = {(const char *)value, value_len};
    udpai_door_stream *stream = is_request(frame) ? find(session, frame->hd.stream_id) : NULL;
    (void)flags;
    if (!stream)
        return 0;
    stream->head_bytes += name_len + value_len + 32;
    if (stream->head_bytes > UDPAI_DOOR_HEAD_MAX)
        return udpai_door_allow_reset(userdata) ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
                                                : NGHTTP2_ERR_CALLBACK_FAILURE;
    udpai_door_visit_field(userdata, key, text);
    return take_field(stream, key, text) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int
on_data(nghttp2_session *session,
        uint8_t flags,
        int32_t id,
        const uint8_t *data,
        size_t len,
        void *userdata)
{
    udpai_door_stream *stream = find(session, id);
    (void)flags;
    (void)userdata;
    if (stream && stream->visit)
        udpai_door_visit_take(stream, (udpai_str){(const char *)data, len});
    else if (stream)
        udpai_door_stream_take(stream, (udpai_str){(const char *)data, len});
    return nghttp2_session_consume_connection(session, len);
}

static int
on_reset(udpai_door_connection *connection, int32_t id)
{
    udpai_door_stream *stream = find(connection->session, id);
    if (stream) /* we have not reset it */
        stream->peer_has_ended = true;
    return udpai_door_allow_reset(connection) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void
open_stream(udpai_door_stream *stream, bool has_body)
{
    udpai_door_connection *connection = stream->connection;
    if (connection->head && !(stream->is_grpc && stream->is_post)) {
        udpai_door_visit_open(stream, has_body);
        return;
    }
    udpai_door_visit_drop_head(connection);
    udpai_door_stream_open(stream);
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    udpai_door_connection *connection = userdata;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        connection->has_begun = true;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        return on_reset(connection, frame->hd.stream_id);
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    udpai_door_stream *stream = find(session, frame->hd.stream_id);
    if (stream && is_request(frame))
        open_stream(stream, !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM));
    if (!stream || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    if (stream->visit)
        udpai_door_visit_ended(stream);
    else
        udpai_door_stream_peer_ended(stream);
    return 0;
}

/* What makes no sense is answered by nghttp2 with a reset, which is as dear as one of theirs. */
static int
on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *userdata)
{
    (void)session;
    (void)frame;
    (void)error;
    return udpai_door_allow_reset(userdata) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *userdata)
{
    udpai_door_stream *stream = find(session, id);
    udpai_door_connection *connection = userdata;
    (void)code;
    if (!stream)
        return 0;
    if (stream->peer_has_ended)
        udpai_door_ended_add(connection, id);
    udpai_door_visit_leave(stream);
    udpai_door_stream_close(stream);
    if (connection->is_going && connection->n_streams == 0)
        udpai_door_connection_dirty(connection);
    return 0;
}

static bool
take(udpai_door_connection *connection, udpai_str bytes)
{
    ssize_t n =
        nghttp2_session_mem_recv(connection->session, (const uint8_t *)bytes.data, bytes.len);
    if (n == NGHTTP2_ERR_FLOODED)
        udpai_door_flooded(connection);
    return n >= 0;
}

/* Of DATA that nghttp2 ignores nothing is reported. It must have seen all resets before that. */
bool
udpai_door_http2_take(udpai_door_connection *connection, udpai_str bytes)
{
    udpai_door_scan *scan = &connection->scan;
    size_t at = 0, n_taken = 0;
    bool has_reset = false;
    while (udpai_door_scan_next(scan, bytes, &at)) {
        has_reset |= scan->type == NGHTTP2_RST_STREAM;
        if (scan->type != NGHTTP2_DATA ||
            !(has_reset || udpai_door_ended_has(connection, scan->id)))
            continue;
        if (!take(connection, (udpai_str){bytes.data + n_taken, at - n_taken}))
            return false;
        n_taken = at;
        has_reset = false;
        if (udpai_door_ended_has(connection, scan->id) &&
            nghttp2_session_terminate_session(connection->session, NGHTTP2_STREAM_CLOSED) != 0)
            return false;
    }
    return n_taken == bytes.len ||
           take(connection, (udpai_str){bytes.data + n_taken, bytes.len - n_taken});
}

/* ---- what goes ---- */

static nghttp2_nv
pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

#define HEAD_MAX (3 + UDPAI_DOOR_METADATA_MAX)
#define TRAILERS_MAX (3 + UDPAI_DOOR_METADATA_MAX)

static size_t
put_head(const udpai_door_stream *stream, nghttp2_nv *fields)
{
    fields[0] = pair(":status", stream->is_grpc ? "200" : "415");
    fields[1] = pair("content-type", "application/grpc");
    fields[2] = pair("grpc-accept-encoding", "identity");
    return udpai_door_metadata_put(stream, UDPAI_DOOR_INITIAL, fields, 3);
}

/* As gRPC over HTTP/2 has it: what is no printable ASCII, and the sign itself, in hexadecimal; also
 * a space at either end, where HTTP/2 allows none (RFC 9113, 8.2.1). */
static void
put_message(char *room, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const char *begin = text; *text; text++) {
        uint8_t byte = (uint8_t)*text;
        bool is_end = text == begin || !text[1];
        if (byte >= (is_end ? '!' : ' ') && byte <= '~' && byte != '%') {
            *room++ = *text;
            continue;
        }
        *room++ = '%';
        *room++ = digits[byte >> 4];
        *room++ = digits[byte & 15];
    }
    *room = '\0';
}

struct trailers {
    nghttp2_nv fields[HEAD_MAX + TRAILERS_MAX];
    char code[16], pushback[16];
    char message[3 * UDPAI_DOOR_STATUS_TEXT_MAX + 1];
};

static size_t
put_trailers(const udpai_door_stream *stream, struct trailers *trailers, size_t n)
{
    char text[UDPAI_DOOR_STATUS_TEXT_MAX];
    udpa_err err = stream->status ? udpa_error_code(stream->status) : UDPA_OK;
    snprintf(trailers->code, sizeof(trailers->code), "%d", udpa_err_to_grpc(err));
    trailers->fields[n++] = pair("grpc-status", trailers->code);
    if (stream->status) {
        snprintf(text, sizeof(text), "%s", udpa_error_message(stream->status));
        udpai_utf8_mend(text); /* the cut may fall into a character */
        put_message(trailers->message, text);
        trailers->fields[n++] = pair("grpc-message", trailers->message);
    }
    if (stream->pushback_ms) {
        snprintf(trailers->pushback, sizeof(trailers->pushback), "%u",
                 (unsigned)stream->pushback_ms);
        trailers->fields[n++] = pair("grpc-retry-pushback-ms", trailers->pushback);
    }
    return udpai_door_metadata_put(stream, UDPAI_DOOR_TRAILING, trailers->fields, n);
}

static int
submit_trailers(udpai_door_stream *stream)
{
    struct trailers trailers;
    size_t n = put_trailers(stream, &trailers, 0);
    stream->has_trailers = true;
    return nghttp2_submit_trailer(stream->connection->session, stream->id, trailers.fields, n);
}

static ssize_t
read_body(nghttp2_session *session,
          int32_t id,
          uint8_t *room,
          size_t len,
          uint32_t *flags,
          nghttp2_data_source *source,
          void *userdata)
{
    udpai_door_stream *stream = source->ptr;
    size_t n = udpai_min_size(stream->out.left, len);
    (void)session;
    (void)id;
    (void)room;
    (void)userdata;
    if (n < stream->out.left || !stream->is_finishing) {
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n)
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream->visit)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return submit_trailers(stream) == 0 ? (ssize_t)n : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int
send_data(nghttp2_session *session,
          nghttp2_frame *frame,
          const uint8_t *head,
          size_t len,
          nghttp2_data_source *source,
          void *userdata)
{
    const udpai_door_connection *connection = userdata;
    udpai_strbuf *out = &connection->listener->door->plain;
    (void)session;
    (void)frame;
    if (out->len >= UDPAI_DOOR_PIECE)
        return NGHTTP2_ERR_WOULDBLOCK; /* it is asked again for the next piece */
    udpai_strbuf_append(out, head, 9);
    udpai_door_stream_give(source->ptr, len, out);
    if (((udpai_door_stream *)source->ptr)->visit)
        udpai_door_visit_progress(source->ptr);
    return udpai_strbuf_failed(out) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int
begin_response(udpai_door_stream *stream)
{
    const nghttp2_data_provider body = {.source.ptr = stream, .read_callback = read_body};
    nghttp2_nv fields[HEAD_MAX];
    size_t n = put_head(stream, fields);
    stream->has_head = true;
    return nghttp2_submit_response(stream->connection->session, stream->id, fields, n, &body);
}

static int
submit_status_alone(udpai_door_stream *stream)
{
    struct trailers trailers;
    size_t n = put_trailers(stream, &trailers, put_head(stream, trailers.fields));
    stream->has_head = stream->has_trailers = true;
    return nghttp2_submit_response(stream->connection->session, stream->id, trailers.fields, n,
                                   NULL);
}

static int
begin_answer(udpai_door_stream *stream)
{
    const nghttp2_data_provider body = {.source.ptr = stream, .read_callback = read_body};
    const udpai_visit *visit = stream->visit;
    nghttp2_nv fields[1 + UDPAI_VISIT_FIELDS];
    fields[0] = pair(":status", visit->status);
    for (size_t i = 0; i < visit->n_fields; i++)
        fields[1 + i] = pair(visit->fields[i].name, visit->fields[i].value);
    stream->has_head = true;
    return nghttp2_submit_response(stream->connection->session, stream->id, fields,
                                   1 + visit->n_fields, stream->out.left ? &body : NULL);
}

static bool
has_begun(const udpai_door_stream *stream)
{
    return stream->is_open || (stream->visit && stream->visit->is_sent);
}

void
udpai_door_http2_submit(udpai_door_stream *stream)
{
    nghttp2_session *session = stream->connection->session;
    int result = 0;
    if (stream->is_cut)
        result =
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id,
                                      has_begun(stream) ? NGHTTP2_CANCEL : NGHTTP2_REFUSED_STREAM);
    else if (stream->has_head)
        (void)nghttp2_session_resume_data(session, stream->id); /* it may be under way */
    else if (stream->visit)
        result = stream->is_finishing ? begin_answer(stream) : 0;
    else if (stream->out.parts ||
             (stream->is_finishing && udpai_door_metadata_has(stream, UDPAI_DOOR_INITIAL)))
        result = begin_response(stream);
    else if (stream->is_finishing)
        result = submit_status_alone(stream);
    if (result != 0)
        udpai_door_connection_break(stream->connection);
}

/* Of a request that is still coming nothing more is needed (RFC 9113, 8.1). */
static int
on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    (void)userdata;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    const udpai_door_stream *stream = find(session, frame->hd.stream_id);
    if (!stream || stream->peer_has_ended)
        return 0;
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
}

bool
udpai_door_http2_give(udpai_door_connection *connection, udpai_strbuf *out)
{
    const uint8_t *bytes;
    size_t before = out->len + 1;
    ssize_t n = 1;
    while ((n > 0 || out->len > before) && out->len < UDPAI_DOOR_PIECE) {
        before = out->len; /* frames with data have gone there by send_data() */
        n = nghttp2_session_mem_send(connection->session, &bytes);
        if (n > 0)
            udpai_strbuf_append(out, bytes, (size_t)n);
        if (n < 0)
            break;
    }
    return n >= 0 && !udpai_strbuf_failed(out);
}

/* ---- sessions ---- */

udpa_err
udpai_door_http2_prepare(udpai_door_listener *listener)
{
    if (nghttp2_session_callbacks_new(&listener->callbacks) != 0 ||
        nghttp2_option_new(&listener->option) != 0)
        return UDPA_ERR_NOMEM;
    nghttp2_session_callbacks *callbacks = listener->callbacks;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_option_set_max_outbound_ack(listener->option, ACKS_MAX);
    nghttp2_option_set_no_closed_streams(listener->option, 1);
    nghttp2_option_set_no_auto_window_update(listener->option, 1);
    return UDPA_OK;
}

udpa_err
udpai_door_http2_begin(udpai_door_connection *connection)
{
    const udpai_door_listener *listener = connection->listener;
    nghttp2_mem memory = udpai_door_memory_of(connection);
    connection->scan.left = NGHTTP2_CLIENT_MAGIC_LEN;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)listener->options.limits.max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, UDPAI_DOOR_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UDPAI_DOOR_HEAD_MAX},
    };
    if (nghttp2_session_server_new3(&connection->session, listener->callbacks, connection,
                                    listener->option, &memory) != 0 ||
        nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
                                UDPAI_ARRAY_LEN(settings)) != 0 ||
        nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
                                              UDPAI_DOOR_CONNECTION_WINDOW) != 0)
        return UDPA_ERR_NOMEM;
    return UDPA_OK;
}
