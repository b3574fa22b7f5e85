/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer is sent. Heads of frames are made when they are written, payloads are those of the
 * log: nothing is copied but the end of a frame that was torn. */
#include "floor/connection.h"

#define FRAMES_MAX 512 /* at once: IOV_MAX is twice that */
#define OUTPUT_MAX (1024 * 1024)

struct frame {
    floor_stream *stream;
    uint8_t head[FLOOR_FRAME_HEAD];
    struct iovec payload;
};

struct batch {
    struct frame frames[FRAMES_MAX];
    size_t n;
    size_t size, most; /* bytes */
    int64_t window;    /* of the connection, behind them */
};

/* ---- frames of control ---- */

void
floor_put_frame_head(uint8_t *at, size_t size, uint8_t type, uint8_t flags, uint32_t id)
{
    const uint8_t head[FLOOR_FRAME_HEAD] = {
        (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size,      type,        flags,
        (uint8_t)(id >> 24),   (uint8_t)(id >> 16),  (uint8_t)(id >> 8), (uint8_t)id,
    };
    memcpy(at, head, sizeof(head));
}

/* A peer that asks for answers and does not read them is cut off. */
void
floor_put_frame(floor_connection *connection,
                floor_frame_type type,
                uint8_t flags,
                uint32_t id,
                udpai_str payload)
{
    uint8_t *at = udpai_strbuf_extend(&connection->output, FLOOR_FRAME_HEAD);
    if (at)
        floor_put_frame_head(at, payload.len, (uint8_t)type, flags, id);
    udpai_strbuf_str(&connection->output, payload);
    if (udpai_strbuf_failed(&connection->output) || connection->output.len > OUTPUT_MAX)
        connection->link.is_broken = true;
}

void
floor_put_window_update(floor_connection *connection, uint32_t id, uint32_t more)
{
    const char payload[] = {(char)(more >> 24), (char)(more >> 16), (char)(more >> 8), (char)more};
    floor_put_frame(connection, FLOOR_WINDOW_UPDATE, 0, id, (udpai_str){payload, sizeof(payload)});
}

/* ---- messages ---- */

/* From the end of a message to the beginning of the next. */
static void
skip_sent(floor_message **at, size_t *offset)
{
    while (*offset == (*at)->size && (*at)->next) {
        *at = (*at)->next;
        *offset = 0;
    }
}

/* 0: all is sent, or the window is closed. */
static size_t
next_frame_size(const floor_message *at, size_t offset, int64_t window)
{
    size_t left = udpai_min_size(at->size - offset, FLOOR_FRAME_MAX);
    return window > 0 ? udpai_min_size(left, (size_t)window) : 0;
}

static void
add_frame(struct batch *batch, floor_stream *stream, uint8_t *payload, size_t size)
{
    struct frame *frame = &batch->frames[batch->n++];
    frame->stream = stream;
    frame->payload = (struct iovec){payload, size};
    floor_put_frame_head(frame->head, size, FLOOR_DATA, 0, stream->id);
    batch->size += FLOOR_FRAME_HEAD + size;
    batch->window -= (int64_t)size;
}

/* false: no more fits into the batch. */
static bool
gather_stream(struct batch *batch, floor_stream *stream)
{
    floor_message *at = stream->at;
    size_t offset = stream->offset;
    int64_t window = stream->window;
    while (at) {
        skip_sent(&at, &offset);
        size_t size = next_frame_size(at, offset, window < batch->window ? window : batch->window);
        if (size == 0)
            return true;
        if (batch->n == FRAMES_MAX || batch->size >= batch->most)
            return false;
        add_frame(batch, stream, at->bytes + offset, size);
        window -= (int64_t)size;
        offset += size;
    }
    return true;
}

/* Begins with the stream that had no room the last time. */
static void
gather(struct batch *batch, floor_connection *connection)
{
    size_t n = connection->streams.n;
    batch->n = 0;
    batch->size = 0;
    batch->most = floor_link_most(&connection->link);
    batch->window = connection->window;
    for (size_t i = 0; i < n; i++) {
        size_t place = (connection->turn + i) % n;
        if (!gather_stream(batch, &connection->streams.items[place])) {
            connection->turn = place;
            return;
        }
    }
}

static void
move_on(floor_connection *connection, const struct frame *frame)
{
    floor_stream *stream = frame->stream;
    floor_message *before = stream->at;
    skip_sent(&stream->at, &stream->offset);
    if (stream->at != before) {
        floor_message_ref(stream->at);
        floor_message_unref(before);
    }
    stream->offset += frame->payload.iov_len;
    stream->window -= (int64_t)frame->payload.iov_len;
    connection->window -= (int64_t)frame->payload.iov_len;
}

/* What is left of it goes first when there is room again. */
static void
keep_end(floor_connection *connection, const struct frame *frame, size_t n_written)
{
    if (n_written < FLOOR_FRAME_HEAD)
        udpai_strbuf_append(&connection->output, frame->head + n_written,
                            FLOOR_FRAME_HEAD - n_written);
    size_t skipped = n_written > FLOOR_FRAME_HEAD ? n_written - FLOOR_FRAME_HEAD : 0;
    udpai_strbuf_append(&connection->output, (char *)frame->payload.iov_base + skipped,
                        frame->payload.iov_len - skipped);
    if (udpai_strbuf_failed(&connection->output))
        connection->link.is_broken = true;
}

static void
commit(floor_connection *connection, const struct batch *batch, size_t n_written)
{
    for (size_t i = 0; i < batch->n && n_written > 0; i++) {
        const struct frame *frame = &batch->frames[i];
        size_t size = FLOOR_FRAME_HEAD + frame->payload.iov_len;
        move_on(connection, frame);
        if (n_written < size)
            keep_end(connection, frame, n_written);
        n_written -= udpai_min_size(size, n_written);
    }
}

static size_t
write_batch(floor_connection *connection, struct batch *batch)
{
    static struct iovec parts[2 * FRAMES_MAX];
    for (size_t i = 0; i < batch->n; i++) {
        parts[2 * i] = (struct iovec){batch->frames[i].head, FLOOR_FRAME_HEAD};
        parts[2 * i + 1] = batch->frames[i].payload;
    }
    return floor_link_write(&connection->link, parts, 2 * batch->n);
}

/* ---- writing ---- */

static bool
flush_output(floor_connection *connection)
{
    udpai_strbuf *output = &connection->output;
    const struct iovec all = {output->data, output->len};
    if (output->len == 0)
        return true;
    size_t n = floor_link_write(&connection->link, &all, 1);
    memmove(output->data, output->data + n, output->len - n);
    output->len -= n;
    return output->len == 0;
}

/* false: the peer takes no more for now. */
static bool
flush(floor_connection *connection)
{
    static struct batch batch;
    while (flush_output(connection) && floor_link_flush(&connection->link)) {
        gather(&batch, connection);
        if (batch.n == 0)
            return true;
        size_t n = write_batch(connection, &batch);
        commit(connection, &batch, n);
        if (n < batch.size)
            return false;
    }
    return false;
}

void
floor_connection_flush(floor_connection *connection)
{
    if (!connection->link.is_broken)
        connection->is_blocked = !flush(connection);
}

bool
floor_connection_is_late(const floor_connection *connection)
{
    for (size_t i = 0; i < connection->streams.n; i++) {
        const floor_message *at = connection->streams.items[i].at;
        if (at && connection->log->last->end - at->end > FLOOR_LATE_MAX)
            return true;
    }
    return false;
}
