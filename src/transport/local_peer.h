/* SPDX-License-Identifier: Apache-2.0 */
/* Which user has connected by a unix socket, as the kernel reports it. Any thread. */
#ifndef UDPAI_LOCAL_PEER_H
#define UDPAI_LOCAL_PEER_H

#include <udpa/bytes.h>

#include "model/identity.h"

/* References of its own. */
typedef struct udpai_local_peer {
    uint32_t uid;
    udpa_bytes *address;      /* "process PID", by which logs and status find it */
    udpai_identity *identity; /* unix:UID */
} udpai_local_peer;

/* Who it was when it connected. False: that is not known, or there is no memory. */
bool udpai_local_peer_of(int socket, udpai_local_peer *ret_peer);

#endif
