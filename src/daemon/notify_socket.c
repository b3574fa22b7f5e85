/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/notify_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

udpa_err
udpai_notify_socket_open(udpai_notify_socket *ret_socket,
                         const char *address,
                         udpa_error **ret_error)
{
    udpai_notify_socket made = {.to = {.sun_family = AF_UNIX}};
    size_t len = strlen(address);
    if ((*address != '/' && *address != '@') || len < 2)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "NOTIFY_SOCKET is '%s': neither /PATH nor @NAME", address);
    if (len >= sizeof(made.to.sun_path))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "NOTIFY_SOCKET has %zu bytes, and the address of a socket has at most %zu", len,
            sizeof(made.to.sun_path) - 1);
    memcpy(made.to.sun_path, address, len);
    bool is_abstract = *address == '@';
    if (is_abstract)
        made.to.sun_path[0] = '\0';
    made.to_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + !is_abstract);
    made.file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made.file < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a socket for NOTIFY_SOCKET: %s",
                          strerror(errno));
    *ret_socket = made;
    return UDPA_OK;
}

int
udpai_notify_socket_send(const udpai_notify_socket *socket, const char *text, size_t len)
{
    ssize_t n;
    do
        n = sendto(socket->file, text, len, MSG_NOSIGNAL | MSG_DONTWAIT,
                   (const struct sockaddr *)&socket->to, socket->to_size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

void
udpai_notify_socket_close(udpai_notify_socket *socket)
{
    if (socket->file >= 0)
        close(socket->file);
    socket->file = -1;
}
