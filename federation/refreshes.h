/* SPDX-License-Identifier: Apache-2.0 */
/* Among replicas: when this node itself has begun to write what has a ttl.
 *
 * What a publisher publishes again as it is is not written again while less than a third of its ttl
 * is over. Since when, a node knows of its own writes alone: what another replica has written may
 * come late, as behind a time in which this one was stopped, and end soon. */
#ifndef UDPAI_FEDERATION_REFRESHES_H
#define UDPAI_FEDERATION_REFRESHES_H

#include "base/map.h"
#include "base/vector.h"
#include "store/store.h"

/* Zero-initialised there are none. */
typedef struct udpai_refreshes {
    udpai_map all;
    size_t prune_at; /* as many are there: those that count no more are forgotten */
} udpai_refreshes;

/* What is written, by its hash, and until when it need not be written again. */
typedef struct udpai_refresh {
    uint64_t key;
    uint64_t until_ms;
} udpai_refresh;

typedef UDPAI_VECTOR(udpai_refresh) udpai_refresh_list;

uint64_t udpai_refresh_key(udpai_str origin, udpai_str type_url, udpai_str name);
/* Of what is written from now on, those with a ttl. False without memory. */
bool
udpai_refreshes_begin(const udpai_durable_batch *batch, uint64_t now_ms, udpai_refresh_list *list);
/* They were written. What there is no memory for is written again sooner. */
void
udpai_refreshes_end(udpai_refreshes *refreshes, const udpai_refresh_list *list, uint64_t now_ms);
bool udpai_refreshes_have(const udpai_refreshes *refreshes, uint64_t key, uint64_t now_ms);
void udpai_refreshes_done(udpai_refreshes *refreshes);

#endif
