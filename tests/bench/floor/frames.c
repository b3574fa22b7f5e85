/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer sends. */
#include "floor/connection.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTING_STREAMS 3
#define SETTING_WINDOW 4
#define SETTING_SIZE 6
#define PING_SIZE 8
#define PADDED 8
#define WINDOW_REFILL (1u << 30) /* received: the window is opened again */
/* :status 200; content-type, by its place in the static table */
#define RESPONSE                                                                                   \
    "\x88\x0f\x10\x10"                                                                             \
    "application/grpc"
#define TRAILERS                                                                                   \
    "\x00\x0b"                                                                                     \
    "grpc-status"                                                                                  \
    "\x01"                                                                                         \
    "0"

struct frame {
    udpai_str payload;
    uint8_t type, flags;
    uint32_t id;
};

static uint32_t
big_endian(const char *bytes, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | (uint8_t)bytes[i];
    return value;
}

/* ---- streams ---- */

static void
forget_stream(floor_connection *connection, floor_stream *stream)
{
    floor_message_unref(stream->at);
    size_t behind = (size_t)(connection->streams.items + --connection->streams.n - stream);
    memmove(stream, stream + 1, behind * sizeof(*stream));
}

/* The peer has nothing more to ask, so it is told no more. */
static void
end_stream(floor_connection *connection, floor_stream *stream)
{
    floor_put_frame(connection, FLOOR_HEADERS, FLOOR_END_STREAM | FLOOR_END_HEADERS, stream->id,
                    UDPAI_STR(TRAILERS));
    forget_stream(connection, stream);
}

static bool
begin_stream(floor_connection *connection, uint32_t id)
{
    const floor_stream stream = {.id = id, .window = connection->stream_window};
    if (id % 2 == 0 || connection->streams.n == FLOOR_STREAMS_MAX)
        return false;
    if (!udpai_vector_push(&connection->streams, stream))
        peer_fail("no memory for a stream");
    connection->last_id = id;
    floor_put_frame(connection, FLOOR_HEADERS, FLOOR_END_HEADERS, id, UDPAI_STR(RESPONSE));
    return true;
}

/* Of a stream that is there they are trailers, which end it. */
static bool
take_headers(floor_connection *connection, const struct frame *frame)
{
    if (frame->id > connection->last_id && !begin_stream(connection, frame->id))
        return false;
    floor_stream *stream = floor_find_stream(connection, frame->id);
    if (stream && frame->flags & FLOOR_END_STREAM)
        end_stream(connection, stream);
    return true;
}

static bool
take_reset(floor_connection *connection, const struct frame *frame)
{
    floor_stream *stream = floor_find_stream(connection, frame->id);
    if (stream)
        forget_stream(connection, stream);
    return true;
}

/* ---- data ---- */

/* Only the window of a stream that lasts is worth opening again. */
static void
count_received(floor_connection *connection, floor_stream *stream, uint32_t n)
{
    connection->n_received += n;
    if (connection->n_received > WINDOW_REFILL) {
        floor_put_window_update(connection, 0, connection->n_received);
        connection->n_received = 0;
    }
    if (!stream)
        return;
    stream->n_received += n;
    if (stream->n_received > WINDOW_REFILL) {
        floor_put_window_update(connection, stream->id, stream->n_received);
        stream->n_received = 0;
    }
}

/* The first thing that it sends is taken for its request, whatever it is. */
static bool
take_data(floor_connection *connection, const struct frame *frame)
{
    floor_stream *stream = floor_find_stream(connection, frame->id);
    count_received(connection, stream, (uint32_t)frame->payload.len);
    if (stream && !stream->at && frame->payload.len)
        stream->at = floor_message_ref(floor_log_image(connection->log));
    if (stream && frame->flags & FLOOR_END_STREAM)
        end_stream(connection, stream);
    return true;
}

/* ---- flow control ---- */

static bool
open_window(int64_t *window, int64_t more)
{
    *window += more;
    return *window <= FLOOR_WINDOW_MAX;
}

static bool
take_window_update(floor_connection *connection, const struct frame *frame)
{
    if (frame->payload.len != 4)
        return false;
    uint32_t more = big_endian(frame->payload.data, 4) & FLOOR_WINDOW_MAX;
    if (frame->id == 0)
        return open_window(&connection->window, more);
    floor_stream *stream = floor_find_stream(connection, frame->id);
    return !stream || open_window(&stream->window, more);
}

static bool
set_stream_window(floor_connection *connection, uint32_t size)
{
    if (size > FLOOR_WINDOW_MAX)
        return false;
    int64_t more = (int64_t)size - connection->stream_window;
    connection->stream_window = size;
    for (size_t i = 0; i < connection->streams.n; i++)
        if (!open_window(&connection->streams.items[i].window, more))
            return false;
    return true;
}

static bool
take_settings(floor_connection *connection, const struct frame *frame)
{
    udpai_str left = frame->payload;
    if (frame->flags & FLOOR_ACK)
        return left.len == 0;
    for (; left.len >= SETTING_SIZE; left.data += SETTING_SIZE, left.len -= SETTING_SIZE)
        if (big_endian(left.data, 2) == SETTING_WINDOW &&
            !set_stream_window(connection, big_endian(left.data + 2, 4)))
            return false;
    floor_put_frame(connection, FLOOR_SETTINGS, FLOOR_ACK, 0, (udpai_str){0});
    return left.len == 0;
}

/* ---- the connection ---- */

static bool
take_ping(floor_connection *connection, const struct frame *frame)
{
    if (frame->payload.len != PING_SIZE)
        return false;
    if (!(frame->flags & FLOOR_ACK))
        floor_put_frame(connection, FLOOR_PING, FLOOR_ACK, 0, frame->payload);
    return true;
}

static bool
take_frame(floor_connection *connection, const struct frame *frame)
{
    switch (frame->type) {
    case FLOOR_DATA:
        return take_data(connection, frame);
    case FLOOR_HEADERS:
        return take_headers(connection, frame);
    case FLOOR_RST_STREAM:
        return take_reset(connection, frame);
    case FLOOR_SETTINGS:
        return take_settings(connection, frame);
    case FLOOR_PING:
        return take_ping(connection, frame);
    case FLOOR_WINDOW_UPDATE:
        return take_window_update(connection, frame);
    default:
        return true; /* nothing that matters here */
    }
}

/* Whatever is sent to us fits: our windows are as large as they can be. */
static void
begin(floor_connection *connection)
{
    static const char settings[] = {0,
                                    SETTING_STREAMS,
                                    0,
                                    FLOOR_STREAMS_MAX >> 16,
                                    (char)(FLOOR_STREAMS_MAX >> 8 & 255),
                                    (char)(FLOOR_STREAMS_MAX & 255),
                                    0,
                                    SETTING_WINDOW,
                                    0x7f,
                                    (char)0xff,
                                    (char)0xff,
                                    (char)0xff};
    floor_put_frame(connection, FLOOR_SETTINGS, 0, 0, (udpai_str){settings, sizeof(settings)});
    floor_put_window_update(connection, 0, FLOOR_WINDOW_MAX - 65535);
    connection->has_begun = true;
}

/* What became of the first thing in the input. */
enum taken {
    TAKEN,
    INCOMPLETE,
    WRONG,
};

static enum taken
take_preface(floor_connection *connection, udpai_str *left)
{
    const udpai_str preface = UDPAI_STR(PREFACE);
    udpai_str found = {left->data, udpai_min_size(left->len, preface.len)};
    if (!udpai_str_starts(preface, found))
        return WRONG;
    if (found.len < preface.len)
        return INCOMPLETE;
    begin(connection);
    *left = (udpai_str){left->data + preface.len, left->len - preface.len};
    return TAKEN;
}

static enum taken
take_whole_frame(floor_connection *connection, udpai_str *left)
{
    const char *head = left->data;
    if (left->len < FLOOR_FRAME_HEAD)
        return INCOMPLETE;
    const struct frame frame = {
        .payload = {head + FLOOR_FRAME_HEAD, big_endian(head, 3)},
        .type = (uint8_t)head[3],
        .flags = (uint8_t)head[4],
        .id = big_endian(head + 5, 4) & INT32_MAX,
    };
    size_t size = FLOOR_FRAME_HEAD + frame.payload.len;
    if (frame.payload.len > FLOOR_FRAME_MAX)
        return WRONG;
    if (left->len < size)
        return INCOMPLETE;
    *left = (udpai_str){head + size, left->len - size};
    return take_frame(connection, &frame) ? TAKEN : WRONG;
}

/* Leaves what is incomplete. */
static bool
take_all(floor_connection *connection, udpai_str *left)
{
    enum taken taken;
    do {
        taken = connection->has_begun ? take_whole_frame(connection, left)
                                      : take_preface(connection, left);
    } while (taken == TAKEN);
    return taken == INCOMPLETE;
}

bool
floor_take_input(floor_connection *connection, udpai_str bytes)
{
    udpai_strbuf *input = &connection->input;
    bool is_joined = input->len > 0;
    if (is_joined) {
        udpai_strbuf_str(input, bytes);
        bytes = udpai_strbuf_view(input);
    }
    if (udpai_strbuf_failed(input) || !take_all(connection, &bytes))
        return false;
    if (is_joined) {
        memmove(input->data, bytes.data, bytes.len);
        input->len = bytes.len;
    } else {
        udpai_strbuf_str(input, bytes);
    }
    return !udpai_strbuf_failed(input);
}
