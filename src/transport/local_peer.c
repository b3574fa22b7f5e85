/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/local_peer.h"

#include <stdio.h>
#include <sys/socket.h>

static udpa_bytes *
process_text(pid_t process)
{
    char room[32];
    udpa_bytes *bytes = NULL;
    int len = snprintf(room, sizeof(room), "process %ld", (long)process);
    return udpa_bytes_new(&bytes, room, (size_t)len) == UDPA_OK ? bytes : NULL;
}

bool
udpai_local_peer_of(int socket, udpai_local_peer *ret_peer)
{
    struct ucred user;
    socklen_t size = sizeof(user);
    udpai_local_peer peer = {0};
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &size) != 0)
        return false;
    peer.uid = user.uid;
    peer.address = process_text(user.pid);
    if (!peer.address || udpai_identity_of_user(&peer.identity, user.uid) != UDPA_OK) {
        udpa_bytes_unref(peer.address);
        return false;
    }
    *ret_peer = peer;
    return true;
}
