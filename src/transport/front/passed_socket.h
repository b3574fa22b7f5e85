/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen, and that this process was started with: by systemd, or by a program that
 * passes them in the same way. Any thread; the environment must not change meanwhile.
 *
 * Source: sd_listen_fds(3) */
#ifndef UDPAI_PASSED_SOCKET_H
#define UDPAI_PASSED_SOCKET_H

#include <sys/un.h>

#include "base/error.h"
#include "base/util.h"

#define UDPAI_PASSED_FIRST 3 /* the first descriptor */
#define UDPAI_PASSED_MAX 64
#define UDPAI_PASSED_NAME_MAX 255
#define UDPAI_PASSED_ADDRESS (sizeof(struct sockaddr_un) + 16)

/* The variables of the environment; NULL: not there. */
typedef struct udpai_passed {
    const char *process; /* LISTEN_PID: for which one they are */
    const char *count;   /* LISTEN_FDS */
    const char *names;   /* LISTEN_FDNAMES, with colons between */
} udpai_passed;

udpai_passed udpai_passed_here(void);
/* Is it a name that a descriptor may have? */
udpa_err udpai_passed_name_check(const char *name, udpa_error **ret_error);
/* The descriptor of this name, by the text of the variables alone. UDPA_ERR_PRECONDITION: none was
 * passed to the process. UDPA_ERR_INVAL: none of this name, or several. */
udpa_err udpai_passed_find(const udpai_passed *passed,
                           long process,
                           const char *name,
                           int *ret_file,
                           udpa_error **ret_error);

/* What they are for, in the list of sockets of the process. */
#define UDPAI_PASSED_USE "streams"

typedef struct udpai_passed_socket {
    int file;                           /* not owned */
    bool is_local;                      /* a unix socket */
    char address[UDPAI_PASSED_ADDRESS]; /* ADDRESS:PORT, or unix:PATH */
} udpai_passed_socket;

/* What a descriptor is that was passed by whomever; false: no socket that listens for TCP or on a
 * unix socket. */
bool udpai_passed_describe(int file, udpai_passed_socket *ret_socket);
/* The one of this name, which listens; nothing of it is changed, but that it is not inherited.
 * Errors as above. */
udpa_err
udpai_passed_look(const char *name, udpai_passed_socket *ret_socket, udpa_error **ret_error);

#endif
