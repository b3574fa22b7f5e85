/* SPDX-License-Identifier: Apache-2.0 */
/* The control connection: whoever measures says by it which resource changes, and nothing is
 * answered. A record has 12 bytes: the index of the resource (4, big endian) and the serial of the
 * change (8, big endian). One connection at a time; another one takes its place when it has been
 * read. */
#ifndef PEERS_CONTROL_H
#define PEERS_CONTROL_H

#include "peers/fleet.h"

#define PEER_RECORD_SIZE 12

typedef struct peer_control {
    int listener, connection; /* connection: -1: there is none */
    uint8_t part[PEER_RECORD_SIZE];
    size_t n_part; /* of a record that has not come whole */
    size_t n_resources;
    void (*change)(void *userdata, size_t index, uint64_t serial);
    void *userdata;
} peer_control;

/* Listens; what is to be called has been set. */
void peer_control_open(peer_control *control, unsigned *ret_port);
/* Both for when their descriptor can be read; true: there is a connection that was not there. */
bool peer_control_accept(peer_control *control);
void peer_control_read(peer_control *control);
void peer_control_close(peer_control *control);

#endif
