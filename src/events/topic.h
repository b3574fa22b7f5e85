/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one kind: a ring that is bounded in entries and bytes, of which the oldest are
 * dropped first. */

/* What comes waits until it is handed over: to the writer, batch by batch, each when the last one
 * is done; without a writer, once a second. What was handed over stays to be read until its room is
 * needed. So an event is lost only if its room is needed while it waits, and then it is one of the
 * client that has the most waiting (within a factor of two): it is counted for it, and missing in
 * the sequence.
 *
 * Before that a client is not read any more: when half of its share of the ring waits, which is as
 * large as that of every other client that is connected; and again when that is down to a quarter.
 * So a client that floods is slowed down to the pace at which events are handed over, and loses
 * nothing.
 *
 * Belongs to the stream thread, but for the functions that any thread may call. */
#ifndef UDPAI_TOPIC_H
#define UDPAI_TOPIC_H

#include "base/list.h"
#include "base/wheel.h"
#include "events/event.h"

#define UDPAI_TOPIC_ENTRIES_DEFAULT 10000
#define UDPAI_TOPIC_BYTES_DEFAULT ((size_t)16 << 20)
#define UDPAI_TOPIC_BATCH_EVENTS 256
#define UDPAI_TOPIC_BATCH_BYTES ((size_t)1 << 20)
/* How often it is asked whether a batch is done. */
#define UDPAI_TOPIC_LOOK_MS 10
/* Without a writer. */
#define UDPAI_TOPIC_TURN_MS 1000
#define UDPAI_TOPIC_FOLLOWERS_MAX 64

typedef struct udpai_topic udpai_topic;
typedef struct udpai_topic_client udpai_topic_client;

typedef struct udpai_topic_facts {
    uint64_t n_accepted, n_bytes; /* messages that were taken in */
    uint64_t n_dropped;           /* of these, while they waited */
    uint64_t n_refused;           /* messages */
    uint64_t n_clients;           /* that are connected */
    uint64_t n_held, held_bytes;  /* messages in the ring */
    uint64_t n_written, n_failed; /* lines */
    uint64_t n_readers;           /* followers */
    uint64_t n_missed; /* messages that were overwritten before a follower came to them */
} udpai_topic_facts;

/* What is written at a time; its owner frees it. */
typedef struct udpai_event_batch {
    udpai_list node;
    udpai_topic *topic;
    size_t n;
    udpai_event *events[];
} udpai_event_batch;

udpai_event_batch *udpai_event_batch_free(udpai_event_batch *batch);
UDPA_DEFINE_CLEANUP(udpai_event_batch, udpai_event_batch_free)

typedef struct udpai_topic_options {
    udpai_event_kind kind;
    size_t max_entries, max_bytes; /* 0: the defaults */
    uint64_t begun_us;             /* see udpai_topic_begun_us() */
} udpai_topic_options;

udpa_err udpai_topic_new(udpai_topic **ret_topic, const udpai_topic_options *options);
/* When its streams and followers have left, and its batches are done. */
udpai_topic *udpai_topic_free(udpai_topic *topic);
UDPA_DEFINE_CLEANUP(udpai_topic, udpai_topic_free)
udpai_event_kind udpai_topic_kind(const udpai_topic *topic);
/* When the node began: sequences of another beginning cannot be compared with these. */
uint64_t udpai_topic_begun_us(const udpai_topic *topic);

/* From now on what comes is handed to this, which takes the batch. Before anything has come. */
void udpai_topic_set_writer(udpai_topic *topic,
                            void (*write)(void *userdata, udpai_event_batch *batch),
                            void *userdata);
/* Any thread: the batch is done. So many lines of it were written, and so many lost. */
void udpai_topic_written(udpai_topic *topic, size_t n_lines, size_t n_failed);
/* Hands over all that waits, when this thread alone has the topic: the stream thread has ended.
 */
void udpai_topic_flush(udpai_topic *topic);

/* Nothing is handed over any more: the writer and the wheel are dropped. */
void udpai_topic_stop(udpai_topic *topic);

/* ---- streams ---- */

typedef struct udpai_topic_stream udpai_topic_stream;

struct udpai_topic_stream {
    udpai_list node; /* of the client */
    udpai_topic_client *client;
    void (*pause)(udpai_topic_stream *stream, bool pause);
};

/* A stream begins, of a client that is called so: streams of one name share its part of the ring.
 * The wheel is that of the stream thread. UDPA_ERR_NOMEM. */
udpa_err udpai_topic_join(udpai_topic *topic,
                          udpai_wheel *wheel,
                          udpai_str name,
                          udpai_topic_stream *stream);
/* One that has not joined is fine. */
void udpai_topic_leave(udpai_topic *topic, udpai_topic_stream *stream);

/* Adds a message. UDPA_ERR_LIMIT: it is larger than the ring. May have the stream paused. */
udpa_err udpai_topic_add(udpai_topic *topic,
                         udpai_topic_stream *stream,
                         udpai_event_source *source,
                         udpa_bytes *message,
                         int64_t time_us);
/* So many that were to come do not: they are missing in the sequence. */
void udpai_topic_lose(udpai_topic *topic, uint64_t n);
/* What other processes have counted besides; as unsigned numbers go round, n_clients may also be
 * fewer. A process that joins is one of them then, and no client. */
void udpai_topic_count_others(udpai_topic *topic, const udpai_topic_facts *more);
/* A message was not taken in. */
void udpai_topic_refused(udpai_topic *topic);

/* ---- followers ---- */

typedef struct udpai_topic_follower udpai_topic_follower;

struct udpai_topic_follower {
    udpai_list node;   /* of the topic */
    udpai_list *at;    /* the next entry */
    uint64_t expected; /* its number if nothing is lost; 0: it will be sent (of a copy) */
    void (*wake)(udpai_topic_follower *follower); /* there is another event */
};

/* From the oldest event that is held. UDPA_ERR_LIMIT: there are too many followers. */
udpa_err udpai_topic_follow(udpai_topic *topic, udpai_topic_follower *follower);
/* It has had those up to this one, of those that have been: it goes on behind it. */
void udpai_topic_skip(const udpai_topic *topic, udpai_topic_follower *follower, uint64_t sequence);
/* Has it had all that is held? */
bool udpai_topic_follower_is_done(const udpai_topic *topic, const udpai_topic_follower *follower);
/* The number of the last one that was added. */
uint64_t udpai_topic_last(const udpai_topic *topic);
/* One that does not follow is fine. */
void udpai_topic_unfollow(udpai_topic *topic, udpai_topic_follower *follower);
/* The next event, borrowed until something is added; NULL: it is at the end. *ret_n_lost are
 * missing before it. */
const udpai_event *
udpai_topic_next(udpai_topic *topic, udpai_topic_follower *follower, uint64_t *ret_n_lost);

/* ---- copies: what another process has, as far as it has followers here ---- */

/* From now on it is one. The callback is called when it gets its first follower, and when it loses
 * the last. */
void
udpai_topic_make_copy(udpai_topic *topic,
                      void (*demand_changed)(void *userdata, udpai_topic *topic, bool subscribed),
                      void *userdata);
/* The callback is not called any more. */
void udpai_topic_end_copy(udpai_topic *topic);
/* What comes next begins with this one: a follower that had nothing to begin with misses none
 * before it. */
void udpai_topic_expect(udpai_topic *topic, uint64_t sequence);
/* Adds an event under its own number; one that has been before is left out. UDPA_ERR_NOMEM: it will
 * be missing. */
udpa_err udpai_topic_put(udpai_topic *topic, udpai_event *event);
/* It has now all that the other process has; of which beginning. */
void udpai_topic_set_current(udpai_topic *topic, bool is_current, uint64_t begun_us);
/* True of one that is no copy. */
bool udpai_topic_is_current(const udpai_topic *topic);

/* ---- status ---- */

/* Any thread. */
void udpai_topic_facts_get(const udpai_topic *topic, udpai_topic_facts *ret_facts);

#endif
