/* SPDX-License-Identifier: Apache-2.0 */
/* What is streamed to a sink, streamed on to another receiver of the same service.
 *
 * The receiver sees each client as it would see it itself: every client has a stream of its own
 * there, which begins with the identifier that the client has sent. What waits to be sent is in the
 * ring of the topic, as for any follower: when the receiver is away or slow, what has to leave the
 * ring is not sent, and counted. What was under way when a stream ends is not sent again.
 *
 * Belongs to the stream thread, but for the functions that any thread may call. */
#ifndef UDPAI_FORWARD_H
#define UDPAI_FORWARD_H

#include "session/hub.h"

#define UDPAI_FORWARD_STREAMS_DEFAULT 256
/* Identifiers that are larger are sent with the id of the Node alone. */
#define UDPAI_FORWARD_IDENTIFIER_MAX ((size_t)64 << 10)
/* A client's stream on which nothing was sent for so long is ended. */
#define UDPAI_FORWARD_IDLE_MS 300000
#define UDPAI_FORWARD_RETRY_MS 1000
#define UDPAI_FORWARD_RETRY_MAX_MS 30000

typedef struct udpai_forward udpai_forward;

typedef struct udpai_forward_options {
    udpai_str to;       /* the receiver, for people; copied */
    size_t max_streams; /* at one time; 0: the default */
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
} udpai_forward_options;

udpa_err udpai_forward_new(udpai_forward **ret_forward,
                           udpai_topic *topic,
                           const udpai_forward_options *options);
/* How the receiver is reached; takes the reference. Sessions are begun by the function below, with
 * the forward as their context. Before anything is forwarded. */
void udpai_forward_set_target(udpai_forward *forward, void *target);
/* The stream thread has ended, and its hub is freed. */
void udpai_forward_forget_hub(udpai_forward *forward);
/* When its streams have ended, before its topic. */
udpai_forward *udpai_forward_free(udpai_forward *forward);
UDPA_DEFINE_CLEANUP(udpai_forward, udpai_forward_free)

/* There is a hub, by which the receiver is dialled when there is something to be sent. Harmless
 * twice. */
void udpai_forward_begin(udpai_forward *forward, udpai_hub *hub);
/* The same of all; see udpai_topics. */
void udpai_forwards_begin(const udpai_topics *topics, struct udpai_hub *hub);
udpa_err udpai_forward_session_new(udpai_session **ret_session,
                                   udpai_hub *hub,
                                   const udpai_stream_info *info);

typedef struct udpai_forward_facts {
    uint64_t n_streams;
    uint64_t n_sent;   /* messages */
    uint64_t n_missed; /* messages that were not sent */
} udpai_forward_facts;

/* Any thread. */
void udpai_forward_facts_get(const udpai_forward *forward, udpai_forward_facts *ret_facts);
udpai_str udpai_forward_to(const udpai_forward *forward);

#endif
