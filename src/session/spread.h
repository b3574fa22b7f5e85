/* SPDX-License-Identifier: Apache-2.0 */
/* How replicas share the streams of their clients: what is a fair share, and what a stream side
 * does for it. Only arithmetic: time and random numbers are handed in. */
#ifndef UDPAI_SPREAD_H
#define UDPAI_SPREAD_H

#include "base/bytes.h"
#include "base/error.h"

/* A replica takes so many streams above its share in any case: small sets reject none. */
#define UDPAI_SPREAD_SLACK 50
/* A client that was rejected so often in a row is served: it may have nowhere else to go. One that
 * has may meet another replica that rejects it, so this is no more. */
#define UDPAI_SPREAD_REJECTIONS 1
#define UDPAI_SPREAD_OVER_MS 10000 /* of a rebalance, unless it says otherwise … */
#define UDPAI_SPREAD_OVER_MAX_MS 3600000
#define UDPAI_SPREAD_AFTER_MS 5000 /* … and so long after it streams still come back */

/* Of the sum of all streams, rounded up; without replicas 0. */
uint64_t udpai_spread_share(uint64_t sum, size_t n_replicas);
/* New streams are rejected above it: 20 % above the share, and at least the slack. */
uint64_t udpai_spread_limit(uint64_t share);
/* Is it worth a write to etcd? More than 10 % from what was written, or 20 streams and more. */
bool udpai_spread_is_news(uint64_t written, uint64_t now);
/* An age with up to 10 % less or more. */
uint64_t udpai_spread_jitter(uint64_t age_ms, uint64_t random);

/* ---- what the loop orders a stream side to do ---- */

typedef struct udpai_spread_order {
    uint64_t n_streams; /* of the replica, when it was given: a side has its part of them */
    uint64_t share;
    uint64_t above;     /* new streams are rejected while there are so many … */
    uint64_t reject_ms; /* … for so long; 0: none is */
    uint64_t over_ms;   /* what is above the share is ended, in this time; 0: nothing is */
} udpai_spread_order;

/* NULL without memory. */
udpa_bytes *udpai_spread_encode(const udpai_spread_order *order);
/* UDPA_ERR_MALFORMED */
udpa_err udpai_spread_decode(udpai_str bytes, udpai_spread_order *ret_order);

/* ---- a stream side ---- */

#define UDPAI_SPREAD_MEMORY 4096 /* clients that were rejected: for more there is no place */

/* Zeroes: nothing is ordered. */
typedef struct udpai_spread_side {
    udpai_spread_order order;
    uint64_t share, above; /* its part of them */
    uint64_t begun_ms;
    uint64_t n_begun; /* its streams then */
    uint64_t n_left;  /* of them, and of those that came back, so many may still be ended */
    uint64_t rejected[UDPAI_SPREAD_MEMORY];
} udpai_spread_side;

/* An order replaces the one before. @p n: streams of this side. */
void udpai_spread_begin(udpai_spread_side *side,
                        const udpai_spread_order *order,
                        uint64_t now_ms,
                        uint64_t n);
/* Is there still something to be done by the order? */
bool udpai_spread_is_busy(const udpai_spread_side *side, uint64_t now_ms);
/* Is a new stream rejected, while there are @p n? @p client: a hash of what it is known by. */
bool udpai_spread_rejects(udpai_spread_side *side, uint64_t now_ms, uint64_t n, uint64_t client);
/* So many of @p n streams are to be ended now, and count as ended. */
uint64_t udpai_spread_take_due(udpai_spread_side *side, uint64_t now_ms, uint64_t n);

#endif
