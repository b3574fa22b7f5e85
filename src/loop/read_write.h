/* SPDX-License-Identifier: Apache-2.0 */
/* All of what is small, with calls that may do a part of it. */
#ifndef UDPAI_READ_WRITE_H
#define UDPAI_READ_WRITE_H

#include <errno.h>
#include <unistd.h>

#include "base/util.h"

/* Until the end, or until the room is full; the number of bytes, or -1 with errno. */
static inline ssize_t
udpai_read_all(int fd, char *room, size_t size)
{
    size_t n = 0;
    while (n < size) {
        ssize_t got = read(fd, room + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

/* False, with errno: it was not all written. */
static inline bool
udpai_write_all(int fd, udpai_str bytes)
{
    while (bytes.len) {
        ssize_t n = write(fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = (udpai_str){bytes.data + n, bytes.len - (size_t)n};
    }
    return true;
}

#endif
