/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/handed_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* One more than there may be: so it is seen when a message has more. */
#define FILES_MAX 2

typedef union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FILES_MAX * sizeof(int))];
} control;

udpa_err
udpai_handing_pair(int ret_ends[2], udpa_error **ret_error)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot make a pair of sockets");
}

udpa_err
udpai_socket_hand(int end, udpai_str label, int file, udpa_error **ret_error)
{
    control room = {0};
    struct iovec bytes = {(void *)(uintptr_t)label.data, label.len};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = CMSG_SPACE(sizeof(int)),
    };
    if (label.len == 0 || label.len > UDPAI_HANDED_LABEL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a socket is handed with a label of 1 to %d bytes",
                          UDPAI_HANDED_LABEL_MAX);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof(file));
    ssize_t n;
    do
        n = sendmsg(end, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)label.len)
        return UDPA_OK;
    char text[128];
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot hand a socket to another process: %s",
                      strerror_r(errno, text, sizeof(text)));
}

/* Closes those that nobody has asked for. How many there were. */
static size_t
files_of(struct msghdr *message, int *ret_file)
{
    size_t n_files = 0;
    *ret_file = -1;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++, n_files++) {
            int file;
            memcpy(&file, CMSG_DATA(at) + i * sizeof(int), sizeof(file));
            if (n_files == 0)
                *ret_file = file;
            else
                close(file);
        }
    }
    return n_files;
}

udpa_err
udpai_socket_take_handed(int end,
                         char room[UDPAI_HANDED_LABEL_MAX],
                         udpai_str *ret_label,
                         int *ret_file,
                         udpa_error **ret_error)
{
    control files = {0};
    struct iovec bytes = {room, UDPAI_HANDED_LABEL_MAX};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = files.bytes,
        .msg_controllen = sizeof(files.bytes),
    };
    ssize_t n;
    do
        n = recvmsg(end, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0 || (n == 0 && message.msg_controllen == 0))
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "no socket was handed to this process");
    int file;
    size_t n_files = files_of(&message, &file);
    if (n > 0 && n_files == 1 && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        *ret_label = (udpai_str){room, (size_t)n};
        *ret_file = file;
        return UDPA_OK;
    }
    if (file >= 0)
        close(file);
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                      "what was handed to this process is not a label and one socket");
}
