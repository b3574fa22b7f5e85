/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to listen on. gRPC does not report why it cannot; so the address is tried first, in the
 * same way, and the system does. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/grpc/grpc_internal.h"

struct parts {
    char host[64], port[8];
};

static bool
copy_part(char *room, size_t size, const char *from, size_t len)
{
    if (len == 0 || len >= size)
        return false;
    memcpy(room, from, len);
    room[len] = '\0';
    return true;
}

static bool
split(const char *address, struct parts *ret_parts)
{
    const char *colon = strrchr(address, ':');
    if (!colon)
        return false;
    const char *host = address;
    size_t len = (size_t)(colon - address);
    bool in_brackets = len >= 2 && host[0] == '[' && host[len - 1] == ']';
    if (in_brackets) {
        host++;
        len -= 2;
    } else if (memchr(host, ':', len)) {
        return false;
    }
    return copy_part(ret_parts->host, sizeof(ret_parts->host), host, len) &&
           copy_part(ret_parts->port, sizeof(ret_parts->port), colon + 1, strlen(colon + 1)) &&
           strspn(ret_parts->port, "0123456789") == strlen(ret_parts->port) &&
           strtol(ret_parts->port, NULL, 10) <= UINT16_MAX;
}

static udpa_err
resolve(const char *address, struct addrinfo **ret_found, udpa_error **ret_error)
{
    const struct addrinfo hints = {
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
        .ai_socktype = SOCK_STREAM,
    };
    struct parts parts;
    if (split(address, &parts) && getaddrinfo(parts.host, parts.port, &hints, ret_found) == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no address to listen on: write ADDRESS:PORT, such as "
                      "127.0.0.1:18000 or [::1]:18000",
                      address);
}

udpa_err
udpai_listen_address_check(const char *address, udpa_error **ret_error)
{
    struct addrinfo *found = NULL;
    udpa_err err = resolve(address, &found, ret_error);
    if (err == UDPA_OK)
        freeaddrinfo(found);
    return err;
}

static const char *
hint_for(int number)
{
    switch (number) {
    case EADDRINUSE:
        return "; is another udpad running there? 'ss -ltnp' shows who listens";
    case EACCES:
        return "; ports below 1024 need a privilege (CAP_NET_BIND_SERVICE): take another port, or "
               "grant it";
    case EADDRNOTAVAIL:
        return "; this machine does not have that address: 'ip address' shows those it has";
    case EAFNOSUPPORT:
        return "; this machine does not speak that family of addresses";
    default:
        return "";
    }
}

/* 0, or an errno. */
static int
try_to_bind(const struct addrinfo *at, bool is_shared, int *ret_fd)
{
    int on = 1, off = 0;
    int socket_fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0)
        return errno;
    /* What is left of connections of an earlier process is no obstacle. */
    setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (is_shared)
        setsockopt(socket_fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (at->ai_family == AF_INET6)
        setsockopt(socket_fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(socket_fd, at->ai_addr, at->ai_addrlen) != 0) {
        int number = errno;
        close(socket_fd);
        return number;
    }
    *ret_fd = socket_fd;
    return 0;
}

static udpa_err
bind_address(const char *address, bool is_shared, int *ret_fd, udpa_error **ret_error)
{
    struct addrinfo *found = NULL;
    udpa_err err = resolve(address, &found, ret_error);
    if (err != UDPA_OK)
        return err;
    int number = try_to_bind(found, is_shared, ret_fd);
    freeaddrinfo(found);
    if (number == 0)
        return UDPA_OK;
    char text[128];
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen on %s: %s%s", address,
                      strerror_r(number, text, sizeof(text)), hint_for(number));
}

udpa_err
udpai_address_bind(const char *address, int *ret_fd, udpa_error **ret_error)
{
    return bind_address(address, false, ret_fd, ret_error);
}

udpa_err
udpai_address_bind_shared(const char *address, int *ret_fd, udpa_error **ret_error)
{
    return bind_address(address, true, ret_fd, ret_error);
}

udpa_err
udpai_address_probe(const char *address, bool is_shared, udpa_error **ret_error)
{
    int fd = -1;
    udpa_err err = bind_address(address, is_shared, &fd, ret_error);
    if (err == UDPA_OK)
        close(fd);
    return err;
}
