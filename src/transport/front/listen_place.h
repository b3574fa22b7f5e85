/* SPDX-License-Identifier: Apache-2.0 */
/* Where the own listener listens, as it is written: ADDRESS:PORT, unix:PATH, or fd:NAME for a
 * socket that the process was started with. Any thread. */
#ifndef UDPAI_LISTEN_PLACE_H
#define UDPAI_LISTEN_PLACE_H

#include "base/error.h"

typedef enum udpai_listen_place {
    UDPAI_LISTEN_PLACE_PORT,
    UDPAI_LISTEN_PLACE_PATH,   /* of a unix socket */
    UDPAI_LISTEN_PLACE_PASSED, /* passed_socket.h */
} udpai_listen_place;

udpai_listen_place udpai_listen_place_of(const char *address);
/* What is behind unix: or fd:. */
const char *udpai_listen_place_name(const char *address);
/* Reports how to write one. */
udpa_err udpai_listen_place_check(const char *address, udpa_error **ret_error);

#endif
