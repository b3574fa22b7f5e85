/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica decides by what it knows of the others: its share, and when it rejects new streams
 * for it. Only arithmetic, as session/spread.h. */
#ifndef UDPAI_SPREAD_PLAN_H
#define UDPAI_SPREAD_PLAN_H

#include "session/spread.h"

/* Until then what others have written may be older than streams that all have been opened. */
#define UDPAI_SPREAD_WAIT_MS 3000
/* New streams are rejected until then, at most, after a replica has too many … */
#define UDPAI_SPREAD_REJECT_MS 10000
/* … and not again so soon after that began, or while there still are too many. */
#define UDPAI_SPREAD_PAUSE_MS 60000

/* A replica that lives, as far as etcd knows, and states how many streams it has. */
typedef struct udpai_spread_replica {
    uint64_t n_streams;
    int64_t written; /* the revision at which it has stated that */
    bool is_own;
} udpai_spread_replica;

/* What is known of the set. */
typedef struct udpai_spread_view {
    const udpai_spread_replica *replicas; /* borrowed */
    size_t n_replicas;
    uint64_t n_own;  /* streams of this one, now */
    bool is_current; /* with etcd */
} udpai_spread_view;

typedef struct udpai_spread_facts {
    size_t n_replicas; /* fewer than two: there is nothing to share */
    uint64_t share;
} udpai_spread_facts;

/* Without this replica among them, or with etcd away: of none. */
udpai_spread_facts udpai_spread_facts_of(const udpai_spread_view *view);

typedef enum udpai_spread_state {
    UDPAI_SPREAD_EVEN,
    UDPAI_SPREAD_WAITING,   /* too many: has another one room, and lives? */
    UDPAI_SPREAD_REJECTING, /* new streams, as ordered */
    UDPAI_SPREAD_RESTING,   /* all are served, even if there are too many */
} udpai_spread_state;

/* Zeroes at first. */
typedef struct udpai_spread_plan {
    udpai_spread_state state;
    uint64_t since_ms; /* there were too many, or a rebalance was asked for */
    uint64_t rest_ms;  /* from then on so long none is rejected again */
    int64_t newest;    /* that another one had written by then */
} udpai_spread_plan;

/* Now and then, and when something has changed. True: this is to be ordered. */
bool udpai_spread_plan_tick(udpai_spread_plan *plan,
                            uint64_t now_ms,
                            const udpai_spread_view *view,
                            udpai_spread_order *ret_order);
/* A rebalance is asked for. True: this replica has too many, and this is to be ordered. */
bool udpai_spread_plan_rebalance(udpai_spread_plan *plan,
                                 uint64_t now_ms,
                                 const udpai_spread_view *view,
                                 uint64_t over_ms,
                                 udpai_spread_order *ret_order);

#endif
