/* SPDX-License-Identifier: Apache-2.0 */
/* The surroundings of nodes that are replicas of one: etcd, clocks, disks, and what is noted. */
#ifndef UDPAI_TESTS_REPLICAS_WORLD_H
#define UDPAI_TESTS_REPLICAS_WORLD_H

#include "federation/node.h"
#include "replica/replicator.h"
#include "tests/harness/etcd_model.h"
#include "tests/harness/resources.h"
#include "tests/unit/federation/peer_info.h"
#include "tests/unit/replica/letter_seals.h"

#define PREFIX "/u/"
#define NODES 3
#define STREAMS_MAX 256
#define BARRIERS_MAX 512
#define FLUSH_MS 25      /* after what its own timers do, a node is not flushed more often */
#define PATIENCE_MS 1000 /* of a barrier */

typedef struct stream {
    uint64_t session;
    size_t publisher;
    bool is_open;
} stream;

typedef struct barrier {
    uint64_t asked_ms;
    int64_t asked; /* revision */
    bool is_loose; /* nobody waits at present, or not for longer */
    bool is_answered;
} barrier;

typedef struct replica {
    size_t index;
    udpai_node *node; /* NULL: it is down */
    udpai_replicator *replicator;
    fed_disk disk;
    const char *keys;   /* a letter each; NULL: none */
    udpai_list inbox;   /* udpai_replicated, for the node */
    udpai_list commits; /* udpai_durable_batch, for the engine */
    udpai_list answers; /* udpai_report, of the stream side */
    udpai_timer wake;   /* something of these comes */
    bool is_started, is_slow, has_news;
    uint64_t since_ms;
    stream streams[STREAMS_MAX];
    size_t n_streams;
    barrier barriers[BARRIERS_MAX]; /* by their numbers; the first one is none */
    uint64_t n_barriers;
} replica;

static udpai_wheel wheel;
static etcd_model model;
static replica replicas[NODES];
static uint64_t chance;

/* ---- what the test looks at ---- */

static void take_order(replica *self, udpai_order *order);
/* The node has applied something, and has sent what follows. */
static void look_at(replica *self);

static inline size_t
below(size_t bound)
{
    return test_random_below(&chance, bound);
}

/* ---- surroundings ---- */

static inline void
wake(replica *self)
{
    if (!udpai_timer_is_set(&self->wake))
        udpai_timer_set(&wheel, &self->wake, wheel.now_ms + 1 + below(self->is_slow ? 300 : 4));
}

static inline int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return (int64_t)1700000000 * 1000000 + (int64_t)wheel.now_ms * 1000;
}

static inline uint64_t
on_random(void *userdata)
{
    (void)userdata;
    return test_random(&chance);
}

static inline void
on_order(void *userdata, udpai_order *order)
{
    replica *self = userdata;
    bool is_answered = order->kind == UDPAI_ORDER_CHANGES || order->kind == UDPAI_ORDER_SETTLED;
    udpai_report *answer = is_answered ? UDPAI_TAKE(order->answer) : NULL;
    self->has_news = true;
    take_order(self, order);
    if (!answer)
        return;
    udpai_list_append(&self->answers, &answer->node);
    wake(self);
}

static inline void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    replica *self = userdata;
    batch->ticket = ticket;
    udpai_list_append(&self->commits, &batch->node);
    wake(self);
}

static inline void
on_propose(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    replica *self = userdata;
    udpai_replicated *outcome = udpai_replicated_new(UDPAI_REPLICATED_OUTCOME);
    assert_non_null(outcome);
    outcome->ticket = ticket;
    udpai_replicator_propose(self->replicator, batch, outcome);
}

/* Those before it pass with it. */
static inline void
loosen(replica *self, uint64_t number)
{
    for (uint64_t i = 1; i <= number; i++)
        self->barriers[i].is_loose = true;
}

static inline void
on_barrier(void *userdata, uint64_t number)
{
    replica *self = userdata;
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_BARRIER);
    assert_true(event && number == self->n_barriers);
    event->ticket = number;
    udpai_replicator_barrier(self->replicator, event);
}

static inline void
on_list_again(void *userdata)
{
    udpai_replicator_list_again(((replica *)userdata)->replicator);
}

static inline void
on_hold(void *userdata, udpai_holdings *holdings)
{
    udpai_replicator_hold(((replica *)userdata)->replicator, holdings);
}

static inline void
on_report(void *userdata, udpai_replicated *event)
{
    replica *self = userdata;
    if (event->kind == UDPAI_REPLICATED_BARRIER && !event->is_current)
        loosen(self, event->ticket);
    udpai_list_append(&self->inbox, &event->node);
    wake(self);
}

#endif
