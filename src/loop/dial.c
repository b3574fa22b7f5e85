/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/dial.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"

bool
udpai_await_socket(int fd, short event, uint64_t timeout_ms)
{
    uint64_t deadline = udpai_monotonic_ms() + timeout_ms, now;
    struct pollfd about = {.fd = fd, .events = event};
    while ((now = udpai_monotonic_ms()) <= deadline) {
        int n = poll(&about, 1, (int)udpai_min_size(deadline - now, INT32_MAX));
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
    return false;
}

static int
connect_to(const struct addrinfo *to, uint64_t timeout_ms)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int why = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    socklen_t size = sizeof(why);
    if (why == EINPROGRESS && !udpai_await_socket(fd, POLLOUT, timeout_ms))
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
connect_by_name(const char *host, const char *port, uint64_t timeout_ms, udpai_strbuf *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1, number = getaddrinfo(host, port, &hints, &found);
    if (number != 0) {
        udpai_strbuf_puts(why, gai_strerror(number));
        return -1;
    }
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_to(at, timeout_ms);
    if (fd < 0)
        udpai_strbuf_printf(why, "cannot connect: %s", strerror(errno));
    freeaddrinfo(found);
    return fd;
}

int
udpai_dial(const char *address, uint64_t timeout_ms, udpai_strbuf *why)
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
    return connect_by_name(host, colon + 1, timeout_ms, why);
}
