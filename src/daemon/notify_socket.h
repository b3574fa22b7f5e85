/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of the service manager that started this process: one datagram for each message. It
 * never waits. Any thread, one at a time.
 *
 * Source: sd_notify(3) */
#ifndef UDPAI_NOTIFY_SOCKET_H
#define UDPAI_NOTIFY_SOCKET_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

typedef struct udpai_notify_socket {
    struct sockaddr_un to;
    socklen_t to_size;
    int file; /* -1: none */
} udpai_notify_socket;

/* @p address is a path, or @NAME of an abstract socket. Nobody needs to receive there yet.
 * UDPA_ERR_INVAL: it is neither, or too long. */
udpa_err udpai_notify_socket_open(udpai_notify_socket *ret_socket,
                                  const char *address,
                                  udpa_error **ret_error);
/* Lines of NAME=VALUE. 0, or the number of the error: EAGAIN if the manager does not keep up. */
int udpai_notify_socket_send(const udpai_notify_socket *socket, const char *text, size_t len);
void udpai_notify_socket_close(udpai_notify_socket *socket);

#endif
