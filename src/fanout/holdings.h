/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber says it holds and what is just so here: no more is noted of it than the item.
 * Thousands of clients come back at once, each with thousands of versions, and nearly all of those
 * are such. */
#ifndef UDPAI_HOLDINGS_H
#define UDPAI_HOLDINGS_H

#include "base/util.h"

typedef struct udpai_item udpai_item;

/* A hash table as udpai_map is one, by item; its order depends on names, never on addresses.
 * Zero-initialised is empty. */
typedef struct udpai_holdings {
    udpai_item **slots;
    size_t capacity; /* 0 or a power of two */
    size_t n;
    uint64_t seq; /* for its user: of the fan-out, when the subscriber held what there was */
} udpai_holdings;

bool udpai_holdings_has(const udpai_holdings *holdings, const udpai_item *item);
/* Adds an item, if it is not there yet (*ret_added). False without memory. */
bool udpai_holdings_add(udpai_holdings *holdings, udpai_item *item, bool *ret_added);
/* False: it is not there. */
bool udpai_holdings_remove(udpai_holdings *holdings, const udpai_item *item);
/* As udpai_map_next(). */
udpai_item *udpai_holdings_next(const udpai_holdings *holdings, size_t *position);
/* Frees the table, which is empty then. */
void udpai_holdings_done(udpai_holdings *holdings);

#endif
