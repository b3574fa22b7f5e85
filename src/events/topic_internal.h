/* SPDX-License-Identifier: Apache-2.0 */
/* The topic's inside, for topic.c and client.c. */
#ifndef UDPAI_TOPIC_INTERNAL_H
#define UDPAI_TOPIC_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "events/topic.h"

/* Clients lie in them by the binary logarithm of the part of the ring that they have waiting, in
 * parts of a million. */
#define UDPAI_TOPIC_BUCKETS 22

/* An event in the ring. */
typedef struct udpai_topic_entry {
    udpai_list node;
    udpai_list in_client;       /* while it waits */
    udpai_topic_client *client; /* NULL: it was handed over */
    udpai_event *event;
} udpai_topic_entry;

/* A streaming client, as long as it has streams or something waits. */
struct udpai_topic_client {
    udpa_bytes *name;
    udpai_list waiting; /* the oldest first */
    size_t n, bytes;    /* of these */
    udpai_list streams;
    udpai_list in_bucket;
    bool is_paused;
    uint64_t n_dropped;
};

/* Written on the stream thread but for the last two; read on any. */
typedef struct udpai_topic_counters {
    atomic_uint_fast64_t n_accepted, n_bytes, n_dropped, n_refused, n_clients, n_held, held_bytes;
    atomic_uint_fast64_t n_readers, n_missed;
    atomic_uint_fast64_t n_written, n_failed;
} udpai_topic_counters;

struct udpai_topic {
    udpai_event_kind kind;
    size_t max_entries, max_bytes;
    udpai_list entries; /* the oldest first */
    udpai_list *next;   /* the first that waits; the list itself: none does */
    size_t n, bytes;
    uint64_t last_sequence;
    udpai_map clients;
    size_t n_connected; /* of these */
    bool has_others;    /* they are processes that clients are connected to */
    udpai_list buckets[UDPAI_TOPIC_BUCKETS];
    uint32_t occupied; /* a bit for each of these */
    udpai_list followers;
    size_t n_followers;
    udpai_wheel *wheel; /* NULL: no client has come yet */
    udpai_timer timer;
    void (*write)(void *userdata, udpai_event_batch *batch); /* NULL: there is no writer */
    void *userdata;
    atomic_bool is_writing; /* a batch was handed over, and is not done */
    uint64_t begun_us;
    bool is_stale; /* it is a copy, and has not all yet */
    /* NULL: it is no copy. */
    void (*demand_changed)(void *userdata, udpai_topic *topic, bool subscribed);
    void *demand_userdata;
    udpai_log_limit log;
    udpai_topic_counters counters;
};

/* ---- client.c ---- */

void udpai_topic_clients_init(udpai_topic *topic);
/* An entry of the client begins to wait, or does not any more: the client is paused or resumed, and
 * freed if nothing is left of it. */
void udpai_topic_client_add(udpai_topic *topic, udpai_topic_entry *entry);
void udpai_topic_client_remove(udpai_topic *topic, udpai_topic_entry *entry);
/* The client with the most waiting; there is one. */
udpai_topic_client *udpai_topic_heaviest(const udpai_topic *topic);

#endif
