/* SPDX-License-Identifier: Apache-2.0 */
/* What a client still warms: clusters that it was sent and did not have, and does not use yet. What
 * may refer to them waits for them, for a bounded time; the clock, and what is known of what they
 * need, are handed in. Belongs to the stream thread. */
#ifndef UDPAI_XDS_HOLD_H
#define UDPAI_XDS_HOLD_H

#include "base/list.h"
#include "base/map.h"
#include "model/resource.h"

/* A client that holds its answer to clusters back warms others, too: how long it is waited for when
 * all else was answered; and how long for a client that does not ask for what a cluster needs. */
#define UDPAI_HOLD_GRACE_MS 1000
/* What is to come is looked for so often. */
#define UDPAI_HOLD_LOOK_MS 250
/* Of so many clusters it is waited for. */
#define UDPAI_HOLD_MAX 65536

typedef struct udpai_hold {
    udpai_map by_name; /* of clusters that are still warming */
    udpai_list oldest_first;
    struct udpai_warming *blocker; /* was waited for last; NULL: nothing */
    uint64_t blocked_last;
    udpai_memory *memory; /* counts it; NULL: nothing does */
} udpai_hold;

void udpai_hold_init(udpai_hold *hold, udpai_memory *memory);
void udpai_hold_done(udpai_hold *hold);
bool udpai_hold_is_empty(const udpai_hold *hold);

/* A response with clusters. */
typedef struct udpai_hold_response {
    const void *stream;
    uint64_t nonce; /* one stream's grow */
} udpai_hold_response;

/* It brings a cluster that the client did not have, changed last here. Without memory, or room for
 * it, nothing waits for it. */
void udpai_hold_add(udpai_hold *hold,
                    udpa_resource *cluster,
                    uint64_t seq,
                    const udpai_hold_response *response);
/* It brings one that has changed: that it warms is no news, unless nothing waits for it any more.
 */
void udpai_hold_change(udpai_hold *hold,
                       udpa_resource *cluster,
                       uint64_t seq,
                       const udpai_hold_response *response);
/* The client has answered it, and those before it. */
void udpai_hold_answer(udpai_hold *hold, const udpai_hold_response *response, uint64_t now_ms);
/* Nothing waits for what this stream has brought. */
void udpai_hold_forget(udpai_hold *hold, const void *stream);

/* What is known of what a cluster needs to be warm: endpoints, and secrets. Of several, the one
 * that comes last here counts. */
typedef enum udpai_hold_needs {
    UDPAI_HOLD_NEEDLESS, /* it needs nothing from here: it is warm when it was answered */
    UDPAI_HOLD_ANSWERED,
    UDPAI_HOLD_UNASKED,  /* the client has not asked for it */
    UDPAI_HOLD_COMING,   /* it will be sent, or was not answered */
    UDPAI_HOLD_HOPELESS, /* the cluster will never be warm, or not by what comes from here; or it
                          * was removed */
} udpai_hold_needs;

/* What is to go out, and what there is to know. */
typedef struct udpai_hold_question {
    uint64_t first, last; /* where what has changed lies */
    uint64_t now_ms;
    uint64_t timeout_ms; /* a cluster is waited for at most so long */
    /* When what it needs was answered, at the latest; if some of it was. */
    udpai_hold_needs (*needs)(void *userdata,
                              const udpa_resource *cluster,
                              uint64_t *ret_answered_ms);
    void *userdata;
} udpai_hold_question;

typedef struct udpai_hold_verdict {
    uint64_t limit;               /* what has changed up to here may go; UINT64_MAX: all of it */
    uint64_t until_ms;            /* if that is not all: ask again then */
    const udpa_resource *cluster; /* that is waited for; borrowed until the next call */
} udpai_hold_verdict;

/* May it go? From now on it counts as waiting. Forgets what is warm; a cluster that was waited for
 * for so long is not waited for again before it changes. */
udpai_hold_verdict udpai_hold_ask(udpai_hold *hold, const udpai_hold_question *question);

#endif
