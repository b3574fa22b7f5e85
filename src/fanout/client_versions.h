/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber states that it holds, in the version that is here: no more is noted of it than
 * the item. Thousands of clients come back at once, each with thousands of versions, and nearly all
 * of those are such. */
#ifndef UDPAI_CLIENT_VERSIONS_H
#define UDPAI_CLIENT_VERSIONS_H

#include "base/util.h"

typedef struct udpai_item udpai_item;

/* A hash table as udpai_map is one, by item; its order depends on names, never on addresses.
 * Zero-initialised is empty. */
typedef struct udpai_client_versions {
    udpai_item **slots;
    size_t capacity; /* 0 or a power of two */
    size_t n;
    uint64_t seq; /* for its user: of the fan-out, when the subscriber held what there was */
} udpai_client_versions;

bool udpai_client_versions_has(const udpai_client_versions *versions, const udpai_item *item);
/* Adds an item, if it is not there yet (*ret_added). False without memory. */
bool udpai_client_versions_add(udpai_client_versions *versions, udpai_item *item, bool *ret_added);
/* False: it is not there. */
bool udpai_client_versions_remove(udpai_client_versions *versions, const udpai_item *item);
/* As udpai_map_next(). */
udpai_item *udpai_client_versions_next(const udpai_client_versions *versions, size_t *position);
/* Frees the table, which is empty then. */
void udpai_client_versions_done(udpai_client_versions *versions);

#endif
