/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on a stream: five bytes of length before each, in frames of any size. A message that
 * has come whole is handed over where it lies; what is not complete, or not read yet, is kept, and
 * the peer is given no more room for it while its owner does not read. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/door/door_internal.h"

#define PREFIX_BYTES 5
#define UNOPENED_MS 5000 /* that the end of a call which was none may take */

static void on_deadline(udpai_timer *timer);
static void fail(udpai_door_stream *stream, udpa_error *error, bool is_greedy);

static const udpai_door_events *
events_of(const udpai_door_stream *stream)
{
    return stream->connection->listener->options.events;
}

static udpai_door *
door_of(const udpai_door_stream *stream)
{
    return stream->connection->listener->door;
}

void
udpai_door_stream_due(udpai_door_stream *stream)
{
    if (!udpai_list_linked(&stream->in_due))
        udpai_list_append(&stream->connection->due, &stream->in_due);
    udpai_door_connection_dirty(stream->connection);
}

static void
set_calm(udpai_door_stream *stream)
{
    bool is_calm = stream->is_open && !stream->is_finishing && !stream->out.parts &&
                   events_of(stream)->is_calm(stream);
    if (is_calm == stream->is_calm)
        return;
    stream->is_calm = is_calm;
    stream->connection->n_restless += is_calm ? (size_t)-1 : 1;
}

/* ---- its life ---- */

udpai_door_stream *
udpai_door_stream_new(udpai_door_connection *connection, int32_t id)
{
    udpai_door_stream *stream = udpai_alloc_in(&connection->listener->door->memory,
                                               connection->listener->options.events->stream_bytes);
    if (!stream)
        return NULL;
    stream->connection = connection;
    stream->id = id;
    udpai_list_init(&stream->in_due);
    udpai_list_init(&stream->in_taken);
    udpai_list_init(&stream->in_room);
    udpai_list_init(&stream->node);
    udpai_list_append(&connection->streams, &stream->node);
    udpai_timer_init(&stream->deadline, on_deadline);
    connection->n_streams++;
    connection->n_restless++;
    connection->listener->door->n_streams++;
    return stream;
}

static void
set_kept_size(udpai_door_stream *stream, size_t size)
{
    udpai_door *door = door_of(stream);
    door->n_kept += size - stream->in_size;
    udpai_memory_change(&door->memory, stream->in_size, size);
    stream->in_size = size;
}

static void
drop_kept(udpai_door_stream *stream)
{
    udpai_free(stream->in);
    stream->in = NULL;
    stream->in_len = 0;
    set_kept_size(stream, 0);
}

static void
drop_message(udpai_door_stream *stream)
{
    udpai_door_message *out = &stream->out;
    for (size_t i = 0; i < out->n_parts; i++)
        udpa_bytes_unref(out->parts[i]);
    if (out->parts != out->few)
        udpai_free(out->parts);
    out->parts = NULL;
    out->n_parts = out->left = 0;
    udpai_list_remove(&stream->in_taken);
}

static void
tell_closed(udpai_door_stream *stream)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    if (!stream->is_finishing)
        why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                             "the peer or the network has cut the stream");
    stream->is_open = false;
    events_of(stream)->closed(stream, stream->is_finishing ? stream->status : why);
}

void
udpai_door_stream_close(udpai_door_stream *stream)
{
    udpai_door_connection *connection = stream->connection;
    if (--connection->n_streams == 0)
        connection->idle_since_ms = door_of(stream)->wheel->now_ms;
    if (connection->is_going || connection->is_closing)
        udpai_door_connection_dirty(connection);
    connection->listener->door->n_streams--;
    connection->n_restless -= !stream->is_calm;
    udpai_timer_cancel(&stream->deadline);
    udpai_list_remove(&stream->node);
    udpai_list_remove(&stream->in_due);
    drop_message(stream);
    drop_kept(stream);
    udpai_door_unfinished_over(stream);
    if (stream->is_open)
        tell_closed(stream);
    udpa_error_unref(stream->status);
    udpai_door_metadata_drop(stream);
    udpai_free(stream->path);
    udpai_free_in(&connection->listener->door->memory, stream,
                  connection->listener->options.events->stream_bytes);
}

void
udpai_door_stream_cut(udpai_door_stream *stream)
{
    stream->is_cut = true;
    if (stream->connection->waits_for_room) /* nothing would get there */
        udpai_door_connection_break(stream->connection);
    udpai_door_stream_due(stream);
}

/* Of the end, or before that the peer's own (grpc-timeout). */
static void
on_deadline(udpai_timer *timer)
{
    udpai_door_stream *stream = UDPAI_CONTAINER_OF(timer, udpai_door_stream, deadline);
    if (stream->is_finishing)
        udpai_door_stream_cut(stream);
    else
        fail(stream,
             udpa_error_new(UDPA_ERR_DEADLINE, NULL,
                            "the time that the caller has given is over (grpc-timeout)"),
             false);
}

void
udpai_door_stream_hurry(udpai_door_stream *stream, uint64_t ms)
{
    udpai_wheel *wheel = door_of(stream)->wheel;
    udpai_timer_set(wheel, &stream->deadline, wheel->now_ms + ms);
}

void
udpai_door_stream_finish(udpai_door_stream *stream, const udpa_error *status)
{
    if (stream->is_finishing)
        return;
    stream->is_finishing = true;
    stream->status = udpa_error_ref((udpa_error *)(uintptr_t)status);
    set_calm(stream);
    udpai_door_stream_due(stream);
}

void
udpai_door_stream_refuse(udpai_door_stream *stream, const udpa_error *status)
{
    udpai_door_stream_finish(stream, status);
    if (!udpai_door_allow_refusal(stream->connection))
        udpai_door_connection_go(stream->connection);
}

/* Nothing more of it is read; its owner ends it, if it has one. Consumes the error. */
static void
fail(udpai_door_stream *stream, udpa_error *error, bool is_greedy)
{
    stream->has_failed = true;
    udpai_door_stream_due(stream);
    if (stream->is_open)
        events_of(stream)->failed(stream, error, is_greedy);
    else
        udpai_door_stream_finish(stream, error);
    if (!stream->is_open)
        udpai_door_stream_hurry(stream, UNOPENED_MS);
    udpa_error_unref(error);
}

/* Why it is no call that could be opened; NULL: it is one. */
static udpa_error *
fault_of(const udpai_door_stream *stream, const char *path)
{
    if (!path || !stream->is_grpc || !stream->is_post)
        return udpa_error_new(UDPA_ERR_INVAL, NULL,
                              "here is gRPC: a request is a POST with the content-type "
                              "application/grpc");
    if (stream->has_bad_metadata)
        return udpa_error_new(UDPA_ERR_INTERNAL, NULL,
                              "metadata whose name ends in -bin is not base64");
    return NULL;
}

void
udpai_door_stream_open(udpai_door_stream *stream)
{
    char *path = UDPAI_TAKE(stream->path);
    udpai_door *door = door_of(stream);
    udpa_error *fault = fault_of(stream, path);
    if (fault) {
        stream->is_grpc &= stream->is_post;
        fail(stream, fault, false);
        if (!udpai_door_allow_refusal(stream->connection))
            udpai_door_connection_go(stream->connection);
    } else {
        stream->is_open = true;
        if (stream->timeout_ms)
            udpai_timer_set(door->wheel, &stream->deadline,
                            door->wheel->now_ms + stream->timeout_ms);
        events_of(stream)->opened(stream, stream->connection->listener->options.userdata,
                                  udpai_str_from(path));
    }
    udpai_free(path);
}

bool
udpai_door_stream_is_alone(const udpai_door_stream *stream)
{
    return stream->connection->n_streams == 1;
}

bool
udpai_door_stream_is_beside(const udpai_door_stream *stream, const udpai_door_stream *other)
{
    return stream->connection == other->connection;
}

void
udpai_door_stream_close_after(udpai_door_stream *stream, bool closes)
{
    stream->connection->is_closing = closes;
}

const udpai_door_peer *
udpai_door_stream_peer(const udpai_door_stream *stream)
{
    return &stream->connection->peer;
}

/* ---- what comes ---- */

static uint32_t
message_size(const char *prefix)
{
    const uint8_t *byte = (const uint8_t *)prefix;
    return (uint32_t)byte[1] << 24 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 8 | byte[4];
}

static bool
is_reading(const udpai_door_stream *stream)
{
    return stream->is_open && !stream->is_paused && !stream->has_failed && !stream->is_finishing &&
           !stream->is_cut;
}

static bool
is_acceptable(udpai_door_stream *stream, const char *prefix)
{
    size_t most = stream->connection->listener->options.max_message_bytes;
    if (prefix[0] != 0 && (prefix[0] != 1 || !stream->is_encoded))
        fail(stream,
             udpa_error_new(UDPA_ERR_INTERNAL, NULL,
                            "a message begins with %u instead of 0, and no compression was agreed "
                            "on for it (grpc-encoding)",
                            (unsigned)(uint8_t)prefix[0]),
             false);
    else if (prefix[0] != 0)
        fail(stream,
             udpa_error_new(UDPA_ERR_UNIMPLEMENTED, NULL,
                            "a message is compressed, and nothing is decompressed here: "
                            "send it as it is (grpc-encoding: identity)"),
             false);
    else if (message_size(prefix) > most)
        fail(stream,
             udpa_error_new(UDPA_ERR_LIMIT, NULL,
                            "a message of %" PRIu32 " bytes is too large: at most %zu are "
                            "taken here (max_message_bytes of the socket)",
                            message_size(prefix), most),
             true);
    return !stream->has_failed;
}

/* Hands over what is complete; returns what is left. */
static udpai_str
deliver(udpai_door_stream *stream, udpai_str bytes)
{
    while (is_reading(stream) && bytes.len >= PREFIX_BYTES && is_acceptable(stream, bytes.data)) {
        size_t size = message_size(bytes.data);
        if (bytes.len - PREFIX_BYTES < size)
            break;
        udpai_door_unfinished_over(stream);
        events_of(stream)->receive(stream, (udpai_str){bytes.data + PREFIX_BYTES, size});
        bytes = (udpai_str){bytes.data + PREFIX_BYTES + size, bytes.len - PREFIX_BYTES - size};
    }
    return bytes;
}

/* What is reserved for a message is its room. */
static size_t
room_for(const udpai_door_stream *stream, size_t needed)
{
    size_t whole = udpai_door_unfinished_size(stream);
    size_t twice = 2 * stream->in_size;
    if (needed <= whole && stream->reserved)
        return whole;
    return needed < twice ? twice : needed;
}

static bool
grow(udpai_door_stream *stream, size_t needed)
{
    size_t size = room_for(stream, needed);
    char *grown = NULL;
    if (!udpai_door_may_keep(door_of(stream), size - stream->in_size)) {
        fail(stream,
             udpa_error_new(UDPA_ERR_LIMIT, NULL,
                            "too much is sent to this node at once: try again"),
             true);
        return false;
    }
    grown = udpai_realloc_array(stream->in, size, 1);
    if (!grown) {
        fail(stream, NULL, false);
        return false;
    }
    stream->in = grown;
    set_kept_size(stream, size);
    return true;
}

static bool
keep(udpai_door_stream *stream, udpai_str bytes)
{
    size_t needed = stream->in_len + bytes.len;
    if (needed > stream->in_size && !grow(stream, needed))
        return false;
    memcpy(stream->in + stream->in_len, bytes.data, bytes.len);
    stream->in_len = needed;
    return true;
}

size_t
udpai_door_unfinished_size(const udpai_door_stream *stream)
{
    return stream->in_len < PREFIX_BYTES ? 0 : PREFIX_BYTES + (size_t)message_size(stream->in);
}

void
udpai_door_stream_stalled(udpai_door_stream *stream, unsigned seconds)
{
    fail(stream,
         udpa_error_new(UDPA_ERR_LIMIT, NULL,
                        "after %zu bytes nothing of a message has come for %u seconds, "
                        "while there is no room for others: try again",
                        stream->in_len, seconds),
         true);
}

static void
deliver_kept(udpai_door_stream *stream)
{
    udpai_str rest = deliver(stream, (udpai_str){stream->in, stream->in_len});
    if (rest.len && rest.data != stream->in)
        memmove(stream->in, rest.data, rest.len);
    stream->in_len = rest.len;
    if (rest.len)
        udpai_door_unfinished_begin(stream);
    else
        drop_kept(stream);
}

/* What comes behind a failure is dropped. */
static bool
may_keep(const udpai_door_stream *stream)
{
    return stream->is_open && !stream->is_finishing && !stream->has_failed;
}

/* The peer may send as much again: always while it is read, since a message may be larger than the
 * window. */
static void
give_back(udpai_door_stream *stream)
{
    size_t n = stream->withheld;
    bool may_come = is_reading(stream) && !stream->is_waiting;
    if (n == 0 || !(may_come || !may_keep(stream)))
        return;
    stream->withheld = 0;
    (void)nghttp2_session_consume_stream(stream->connection->session, stream->id, n);
}

static void
tell_end(udpai_door_stream *stream)
{
    if (!stream->peer_has_ended || stream->has_reported_end || !is_reading(stream))
        return;
    stream->has_reported_end = true;
    if (stream->in_len)
        fail(stream,
             udpa_error_new(UDPA_ERR_MALFORMED, NULL, "the stream has ended within a message"),
             false);
    else
        events_of(stream)->ended(stream);
}

void
udpai_door_stream_take(udpai_door_stream *stream, udpai_str bytes)
{
    stream->withheld += bytes.len;
    if (!stream->in_len)
        bytes = deliver(stream, bytes);
    if (bytes.len && may_keep(stream) && keep(stream, bytes))
        deliver_kept(stream);
    give_back(stream);
    set_calm(stream);
}

void
udpai_door_stream_peer_ended(udpai_door_stream *stream)
{
    stream->peer_has_ended = true;
    if (stream->in_len && is_reading(stream)) /* it is read again since, and not resumed yet */
        deliver_kept(stream);
    tell_end(stream);
}

/* What was kept follows when it is due: this may not call back. */
void
udpai_door_stream_set_reading(udpai_door_stream *stream, bool reading)
{
    stream->is_paused = !reading;
    if (reading)
        udpai_door_stream_due(stream);
}

/* ---- what goes ---- */

static bool
refer(udpai_door_message *out, const udpai_outgoing *message)
{
    out->parts = message->n_parts <= UDPAI_ARRAY_LEN(out->few)
                     ? out->few
                     : udpai_alloc_array(message->n_parts, sizeof(*out->parts));
    if (!out->parts)
        return false;
    out->n_parts = message->n_parts;
    out->left = message->tail_len;
    for (size_t i = 0; i < message->n_parts; i++) {
        out->parts[i] = udpa_bytes_ref(message->parts[i]);
        out->left += udpa_bytes_size(message->parts[i]);
    }
    return true;
}

void
udpai_door_stream_write(udpai_door_stream *stream, const udpai_outgoing *message)
{
    udpai_door_message *out = &stream->out;
    if (stream->is_finishing || stream->is_cut)
        return;
    if (!refer(out, message)) {
        stream->is_cut = true;
    } else {
        size_t size = out->left;
        out->prefix[0] = 0;
        for (int i = 0; i < 4; i++)
            out->prefix[1 + i] = (uint8_t)(size >> (24 - 8 * i));
        memcpy(out->tail, message->tail, message->tail_len);
        out->tail_len = (uint8_t)message->tail_len;
        out->left += PREFIX_BYTES;
        out->part = out->offset = 0;
    }
    udpai_door_stream_due(stream);
}

/* The pieces are the prefix, the parts, the tail. */
static udpai_str
piece(const udpai_door_message *out)
{
    if (out->part == 0)
        return (udpai_str){(const char *)out->prefix, PREFIX_BYTES};
    if (out->part <= out->n_parts)
        return udpai_bytes_view(out->parts[out->part - 1]);
    return (udpai_str){(const char *)out->tail, out->tail_len};
}

void
udpai_door_stream_give(udpai_door_stream *stream, size_t n, udpai_strbuf *to)
{
    udpai_door_message *out = &stream->out;
    char *room = udpai_strbuf_extend(to, n);
    const size_t n_given = n;
    if (!room)
        return;
    out->left -= n;
    while (n) {
        udpai_str from = piece(out);
        size_t now = udpai_min_size(n, from.len - out->offset);
        memcpy(room, from.data + out->offset, now);
        room += now;
        n -= now;
        out->offset += now;
        if (out->offset == from.len) {
            out->part++;
            out->offset = 0;
        }
    }
    if (out->left == 0)
        udpai_list_append(&stream->connection->taken, &stream->in_taken);
    udpai_door_expect_answers(stream->connection, n_given);
}

void
udpai_door_stream_written(udpai_door_stream *stream)
{
    drop_message(stream);
    if (stream->is_open && !stream->is_finishing)
        events_of(stream)->written(stream);
    set_calm(stream);
}

/* It is due: what was kept is handed over, if it may be. */
void
udpai_door_stream_resume(udpai_door_stream *stream)
{
    if (stream->in && !may_keep(stream)) { /* not before: it may have been within a message */
        drop_kept(stream);
        udpai_door_unfinished_over(stream);
    }
    if (stream->in_len && is_reading(stream))
        deliver_kept(stream);
    give_back(stream);
    tell_end(stream);
}
