/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 for one purpose: every stream that has sent something is sent the image, and what comes in
 * the log behind it, as far as the windows of the peer allow. Requests are not understood, nor are
 * headers. A peer that does what it must not is cut off without a word. */
#ifndef FLOOR_CONNECTION_H
#define FLOOR_CONNECTION_H

#include "base/list.h"
#include "base/vector.h"
#include "floor/link.h"
#include "floor/log.h"

#define FLOOR_FRAME_MAX 16384 /* payload of a frame, both ways: what all peers take */
#define FLOOR_FRAME_HEAD 9
#define FLOOR_STREAMS_MAX 100000 /* on one connection */
#define FLOOR_WINDOW_MAX INT32_MAX
#define FLOOR_LATE_MAX (UINT64_C(1) << 30) /* bytes of the log that a stream may have before it */

typedef enum floor_frame_type {
    FLOOR_DATA = 0,
    FLOOR_HEADERS = 1,
    FLOOR_RST_STREAM = 3,
    FLOOR_SETTINGS = 4,
    FLOOR_PING = 6,
    FLOOR_WINDOW_UPDATE = 8,
} floor_frame_type;

#define FLOOR_ACK 1
#define FLOOR_END_STREAM 1
#define FLOOR_END_HEADERS 4

typedef struct floor_stream {
    uint32_t id;
    uint32_t n_received; /* bytes, since its window was opened */
    int64_t window;      /* what the peer takes; below zero when it has made it smaller */
    floor_message *at;   /* what is sent now; NULL: it has not asked. Counts. */
    size_t offset;       /* so much of it is sent */
} floor_stream;

typedef struct floor_connection {
    udpai_list node;
    floor_link link;
    floor_log *log;
    UDPAI_VECTOR(floor_stream) streams; /* by ascending id */
    size_t turn;                        /* the stream to begin with, when next there is room */
    uint32_t last_id;
    uint32_t n_received;
    int64_t window, stream_window; /* of the peer: of all, and of a new stream */
    udpai_strbuf input;            /* the beginning of a frame */
    udpai_strbuf output;           /* before any frame of a message */
    bool has_begun;                /* the peer has sent its preface */
    bool is_blocked;
    uint32_t events; /* of epoll, that it is told of */
} floor_connection;

floor_connection *floor_connection_new(floor_log *log, int fd, SSL_CTX *tls);
void floor_connection_free(floor_connection *connection);

/* Both break the link at the peer's mistakes. */
void floor_connection_read(floor_connection *connection);
/* Writes what there is, until there is nothing more or the peer takes no more. */
void floor_connection_flush(floor_connection *connection);

/* Does one of its streams hold more of the log than may be? */
bool floor_connection_is_late(const floor_connection *connection);

/* ---- for its own files ---- */

/* Takes what has come; false: it is no HTTP/2, or not allowed. */
bool floor_take_input(floor_connection *connection, udpai_str bytes);

/* NULL: there is none with this id. */
floor_stream *floor_find_stream(floor_connection *connection, uint32_t id);

void floor_put_frame_head(uint8_t *at, size_t size, uint8_t type, uint8_t flags, uint32_t id);
/* A frame into the output. */
void floor_put_frame(floor_connection *connection,
                     floor_frame_type type,
                     uint8_t flags,
                     uint32_t id,
                     udpai_str payload);
void floor_put_window_update(floor_connection *connection, uint32_t id, uint32_t more);

#endif
