/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber states that it holds, in the version that is here: no more is noted of it than
 * a bit. Thousands of clients come back at once, each with thousands of versions, and nearly all
 * of those are such. */
#ifndef UDPAI_CLIENT_VERSIONS_H
#define UDPAI_CLIENT_VERSIONS_H

#include "fanout/numbers.h"

typedef struct udpai_versions_piece udpai_versions_piece;

/* A set of numbers of items, in pieces, of which those that have none are not there.
 * Zero-initialised is empty. */
typedef struct udpai_client_versions {
    UDPAI_VECTOR(udpai_versions_piece *) pieces;
    size_t n;
    udpai_memory *memory; /* counts it; NULL: nothing does */
    uint64_t seq; /* for its user: of the fan-out, when the subscriber held what there was */
} udpai_client_versions;

bool udpai_client_versions_has(const udpai_client_versions *versions, uint32_t number);
/* Adds a number, if it is not there yet (*ret_added). False without memory. */
bool udpai_client_versions_add(udpai_client_versions *versions, uint32_t number, bool *ret_added);
/* False: it is not there. The last one takes the memory with it. */
bool udpai_client_versions_remove(udpai_client_versions *versions, uint32_t number);
/* The item whose number is the next from *position on, which is moved past it; NULL: none. What it
 * has given may be removed meanwhile. */
udpai_item *udpai_client_versions_next(const udpai_client_versions *versions,
                                       const udpai_numbers *numbers,
                                       size_t *position);
/* Frees all; it is empty then. */
void udpai_client_versions_done(udpai_client_versions *versions);

#endif
