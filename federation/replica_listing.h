/* SPDX-License-Identifier: Apache-2.0 */
/* A list of all that the replicas have, before it is applied. Mostly it has what this one has: that
 * is found out in parts, in a turn of the loop each, so that nobody waits for it; what is left is
 * applied in one. */
#ifndef UDPAI_FEDERATION_REPLICA_LISTING_H
#define UDPAI_FEDERATION_REPLICA_LISTING_H

#include "federation/context.h"
#include "federation/places.h"
#include "federation/shares.h"

/* What this replica has of it. */
typedef enum udpai_listed {
    UDPAI_LISTED_NEW,
    UDPAI_LISTED_CHANGED,
    UDPAI_LISTED_SAME, /* nothing need be done */
} udpai_listed;

/* Of a PUT. */
typedef udpai_listed (*udpai_listing_compare_fn)(void *userdata, const udpai_durable_op *op);

typedef struct udpai_replica_listing {
    udpai_context *context;
    udpai_listing_compare_fn compare;
    void *userdata;
    udpai_places there; /* all that the list has */
    size_t n_seen, n_left, n_held;
    udpai_timer next; /* part */
} udpai_replica_listing;

void udpai_replica_listing_init(udpai_replica_listing *listing,
                                udpai_context *context,
                                udpai_listing_compare_fn compare,
                                void *userdata);
void udpai_replica_listing_done(udpai_replica_listing *listing);

/* Another part of the list, or all that is left of it: drops what is the same. True: that was all.
 * Else it goes on with the next call, and has the node flushed for that. */
bool udpai_replica_listing_go_on(udpai_replica_listing *listing,
                                 udpai_durable_batch *list,
                                 bool is_at_once);
/* When all of it is done: ends what the store has of the replicas and is not in the list. @p
 * locked: what is there as well, but cannot be decrypted; NULL: nothing. UDPA_ERR_NOMEM: some may
 * have ended; call it again. */
udpa_err udpai_replica_listing_end_others(udpai_replica_listing *listing,
                                          const udpai_shares *shares,
                                          const udpai_durable_batch *locked);
/* It is applied, or void; the next one begins. */
void udpai_replica_listing_reset(udpai_replica_listing *listing);

#endif
