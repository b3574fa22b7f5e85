/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that listens, at a place as it is written (listen_place.h). Any thread. */
#ifndef UDPAI_LISTENING_H
#define UDPAI_LISTENING_H

#include <stdbool.h>

#include "transport/front/local_socket.h"
#include "transport/front/passed_socket.h"

/* Of sockets of streams in the list of the process (transport/socket_list.h). */
#define UDPAI_LISTENING_USE UDPAI_PASSED_USE
#define UDPAI_LISTENING_SHARED_USE "streams-shared"

typedef struct udpai_listening {
    int socket;            /* neither waits nor is inherited; -1: none, or it is another's now */
    bool is_local;         /* a unix socket */
    udpai_local_file file; /* which was made for it */
} udpai_listening;

/* One that this process was handed for that, or it opens it. @p is_shared: other sockets may listen
 * on the port, too, and each takes its part of the connections. UDPA_ERR_IO: why it cannot be; what
 * is returned is empty then. */
udpa_err udpai_listening_open(udpai_listening *ret_listening,
                              const char *address,
                              bool is_shared,
                              udpa_error **ret_error);
/* One that another process has opened: it is the listening's, whatever comes of it. UDPA_ERR_INVAL:
 * it does not listen. */
udpa_err udpai_listening_take(udpai_listening *ret_listening, int socket, udpa_error **ret_error);
/* Closes the socket, if it still has it, and removes the file. Again does nothing. */
void udpai_listening_close(udpai_listening *listening);

#endif
