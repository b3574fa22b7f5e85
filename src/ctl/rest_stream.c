/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/rest_stream.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "loop/clock.h"

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

/* False: not in this time. */
static bool
await(int fd, short events, uint64_t timeout_ms)
{
    uint64_t deadline = udpai_monotonic_ms() + timeout_ms, now;
    struct pollfd about = {.fd = fd, .events = events};
    while ((now = udpai_monotonic_ms()) <= deadline) {
        int n = poll(&about, 1, (int)udpai_min_size(deadline - now, INT32_MAX));
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
    return false;
}

/* ---- connecting ---- */

static int
connect_to(const struct addrinfo *to)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int why = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    socklen_t size = sizeof(why);
    if (why == EINPROGRESS && !await(fd, POLLOUT, PATIENCE_MS))
        why = ETIMEDOUT;
    else if (why == EINPROGRESS && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        why = errno;
    if (why == 0)
        return fd;
    close(fd);
    errno = why;
    return -1;
}

static int
connect_by_name(const char *host, const char *port, udpai_strbuf *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1, number = getaddrinfo(host, port, &hints, &found);
    if (number != 0) {
        udpai_strbuf_puts(why, gai_strerror(number));
        return -1;
    }
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(at);
    if (fd < 0)
        udpai_strbuf_printf(why, "cannot connect: %s", strerror(errno));
    freeaddrinfo(found);
    return fd;
}

/* HOST:PORT, or [HOST]:PORT. */
static int
connect_to_address(const char *address, udpai_strbuf *why)
{
    const char *colon = strrchr(address, ':');
    bool in_brackets = colon && colon - address > 2 && *address == '[' && colon[-1] == ']';
    if (!colon || colon == address || !colon[1]) {
        udpai_strbuf_puts(why, "write HOST:PORT");
        return -1;
    }
    size_t len = (size_t)(colon - address) - (in_brackets ? 2 : 0);
    UDPAI_AUTO_FREE char *host = udpai_strndup(address + (in_brackets ? 1 : 0), len);
    if (!host)
        return -1;
    return connect_by_name(host, colon + 1, why);
}

static void *
open_stream(void *self, udpai_strbuf *why)
{
    rest_stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream)
        return NULL;
    stream->fd = connect_to_address(self, why);
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
                 (errno != EAGAIN || !await(stream->fd, POLLOUT, PATIENCE_MS)))
            return false;
    }
    return true;
}

static udpai_heard
receive(void *of, uint64_t timeout_ms, udpai_strbuf *to)
{
    rest_stream *stream = of;
    char room[STEP_BYTES];
    if (!await(stream->fd, POLLIN, timeout_ms))
        return UDPAI_HEARD_NOTHING;
    ssize_t n = recv(stream->fd, room, sizeof(room), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return UDPAI_HEARD_NOTHING;
    if (n <= 0)
        return UDPAI_HEARD_END;
    udpai_strbuf_append(to, room, (size_t)n);
    return UDPAI_HEARD_MESSAGE;
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
