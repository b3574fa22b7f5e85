/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_journald.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

udpa_err
udpai_journald_open(udpai_journald *ret_journald, const char *path, udpa_error **ret_error)
{
    udpai_journald journald = {.to = {.sun_family = AF_UNIX}};
    const struct timeval patience = {UDPAI_JOURNALD_PATIENCE_MS / 1000,
                                     UDPAI_JOURNALD_PATIENCE_MS % 1000 * 1000};
    size_t len = strlen(path);
    if (len >= sizeof(journald.to.sun_path))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: longer than a socket's path may be",
                          path);
    memcpy(journald.to.sun_path, path, len + 1);
    journald.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (journald.fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a socket for journald: %s",
                          strerror(errno));
    (void)setsockopt(journald.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    *ret_journald = journald;
    return UDPA_OK;
}

void
udpai_journald_close(udpai_journald *journald)
{
    if (journald->fd >= 0)
        close(journald->fd);
    journald->fd = -1;
}

static int
send_message(udpai_journald *journald, struct msghdr *message, bool may_wait)
{
    int flags = MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT);
    ssize_t n;
    message->msg_name = &journald->to;
    message->msg_namelen = sizeof(journald->to);
    do
        n = sendmsg(journald->fd, message, flags);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

static int
send_datagram(udpai_journald *journald, const char *record, size_t len, bool may_wait)
{
    struct iovec part = {(void *)(uintptr_t)record, len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return send_message(journald, &message, may_wait);
}

static int
send_descriptor(udpai_journald *journald, int file, bool may_wait)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof(int));
    return send_message(journald, &message, may_wait);
}

static int
fill(int file, const char *record, size_t len)
{
    while (len) {
        ssize_t n = write(file, record, len);
        if (n < 0 && errno != EINTR)
            return errno;
        record += n < 0 ? 0 : n;
        len -= n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

/* journald takes only a file that nobody can change any more. */
static int
send_file(udpai_journald *journald, const char *record, size_t len, bool may_wait)
{
    int file = memfd_create("udpad-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return errno;
    int number = fill(file, record, len);
    if (!number &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        number = errno;
    if (!number)
        number = send_descriptor(journald, file, may_wait);
    close(file);
    return number;
}

int
udpai_journald_send(udpai_journald *journald, const char *record, size_t len, bool may_wait)
{
    int number = len <= UDPAI_JOURNALD_DATAGRAM_MAX ? send_datagram(journald, record, len, may_wait)
                                                    : EMSGSIZE;
    return number == EMSGSIZE || number == ENOBUFS ? send_file(journald, record, len, may_wait)
                                                   : number;
}
