/* SPDX-License-Identifier: Apache-2.0 */
/* journald's socket: a record is a datagram, or a file in memory that is passed with an empty one.
 * The socket is found by its path with each record, so a journald that was restarted receives the
 * next one. One thread at a time. */
#ifndef UDPAI_LOG_JOURNALD_H
#define UDPAI_LOG_JOURNALD_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"
#include "base/util.h"

#define UDPAI_JOURNALD_SOCKET "/run/systemd/journal/socket"
/* Larger records go by a file: how large a datagram may be differs between machines, and what waits
 * in a socket is the kernel's memory. */
#define UDPAI_JOURNALD_DATAGRAM_MAX ((size_t)4 << 10)
/* How long a journald that does not read holds up the one who sends. */
#define UDPAI_JOURNALD_PATIENCE_MS 1000

typedef struct udpai_journald {
    int fd;
    struct sockaddr_un to;
} udpai_journald;

/* It need not be there. */
udpa_err
udpai_journald_open(udpai_journald *ret_journald, const char *path, udpa_error **ret_error);
void udpai_journald_close(udpai_journald *journald);

/* 0, or why it was not sent. @p may_wait: for as long as UDPAI_JOURNALD_PATIENCE_MS. */
int udpai_journald_send(udpai_journald *journald, const char *record, size_t len, bool may_wait);

#endif
