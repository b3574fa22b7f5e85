/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/rest_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "loop/clock.h"
#include "loop/dial.h"

#define PATIENCE_MS 5000 /* to connect, and of a server that takes nothing */
#define STEP_BYTES 16384

typedef struct rest_stream {
    int fd;
} rest_stream;

static uint64_t
now_ms(void *self)
{
    (void)self;
    return udpai_monotonic_ms();
}

static void *
open_stream(void *self, udpai_strbuf *why)
{
    rest_stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream)
        return NULL;
    stream->fd = udpai_dial(self, PATIENCE_MS, why);
    if (stream->fd >= 0)
        return stream;
    udpai_free(stream);
    return NULL;
}

static void
close_stream(void *of)
{
    rest_stream *stream = of;
    close(stream->fd);
    udpai_free(stream);
}

/* ---- bytes ---- */

static bool
send_bytes(void *of, udpai_str bytes)
{
    rest_stream *stream = of;
    while (bytes.len) {
        ssize_t n = send(stream->fd, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (n > 0)
            bytes = (udpai_str){bytes.data + n, bytes.len - (size_t)n};
        else if (n < 0 && errno != EINTR &&
                 (errno != EAGAIN || !udpai_await_socket(stream->fd, POLLOUT, PATIENCE_MS)))
            return false;
    }
    return true;
}

static udpai_received
receive(void *of, uint64_t timeout_ms, udpai_strbuf *to)
{
    rest_stream *stream = of;
    char room[STEP_BYTES];
    if (!udpai_await_socket(stream->fd, POLLIN, timeout_ms))
        return UDPAI_RECEIVED_NOTHING;
    ssize_t n = recv(stream->fd, room, sizeof(room), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return UDPAI_RECEIVED_NOTHING;
    if (n <= 0)
        return UDPAI_RECEIVED_END;
    udpai_strbuf_append(to, room, (size_t)n);
    return UDPAI_RECEIVED_MESSAGE;
}

udpai_byte_peer
udpai_rest_stream_peer(const char *address)
{
    return (udpai_byte_peer){
        .open = open_stream,
        .send = send_bytes,
        .receive = receive,
        .close = close_stream,
        .now_ms = now_ms,
        .address = address,
        .self = (void *)(uintptr_t)address,
    };
}
