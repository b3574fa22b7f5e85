/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer of the benchmark serves: numbered ClusterLoadAssignments, as bytes of a
 * DeltaDiscoveryResponse. All are of one size, and differ in a few digits alone; so they are not
 * kept, but copied from one and stamped. */
#ifndef PEERS_FLEET_H
#define PEERS_FLEET_H

#include "base/util.h"

#define PEER_MESSAGE_MAX (1024 * 1024) /* of a gRPC message */

/* Where a number stands in an entry. */
typedef struct peer_places {
    size_t in_name, in_cluster_name; /* of the index */
    size_t in_version, in_the_mark;  /* of the serial */
} peer_places;

typedef struct peer_fleet {
    size_t n;
    uint64_t *serials; /* of the change that each came by; 0: by none */
    size_t head_size;  /* what a message begins with */
    size_t entry_size; /* of a resource, as field of a message */
    uint8_t *entry;    /* the first, as it was in the beginning */
    peer_places places;
} peer_fleet;

/* Contents have at least size bytes. Without memory the program ends. */
void peer_fleet_init(peer_fleet *fleet, size_t n, size_t size);
void peer_fleet_done(peer_fleet *fleet);

/* How many of the resources a message may hold. */
size_t peer_fleet_most(const peer_fleet *fleet);

/* Both give the place behind what they have written: head_size bytes, entry_size each. */
uint8_t *peer_put_head(uint8_t *at, const peer_fleet *fleet, uint64_t nonce);
uint8_t *peer_put_entries(uint8_t *at, const peer_fleet *fleet, size_t begin, size_t n);

#endif
