/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a node, by number and by the id in their Node: look-up alone. What follows from
 * one that comes or goes is sessions.c's. */
#ifndef UDPAI_PEERS_H
#define UDPAI_PEERS_H

#include "federation/context.h"

typedef struct udpai_source udpai_source;

typedef struct udpai_peer {
    uint64_t session;
    udpai_identity *identity;
    udpa_bytes *address;
    udpai_node_info *info; /* NULL: its Node has not come yet */
    udpai_str id;          /* with which it reports: the Node's, of a replica its own; a view */
    udpai_source *source;  /* NULL: it serves none of ours */
    udpai_origin *origin;  /* of what it publishes unasked; made at first use */
    bool is_extended, is_node;
    bool is_replica;  /* one of several that are its node */
    bool is_of_set;   /* another replica of this node (mesh.h) */
    bool is_client;   /* it reports, and is no ConfigSource, whatever its name */
    bool has_reports; /* it is asked for what clients report */
    bool is_spare;    /* another replica of its node serves the ConfigSource that it would serve */
    uint64_t since_ms;
    udpai_list of_id; /* those that report with the same id, in the order in which they came */
    bool is_replaced; /* it has begun another stream, and this one ends */
} udpai_peer;

typedef struct udpai_peers udpai_peers;

udpa_err udpai_peers_new(udpai_peers **ret_peers, udpai_context *context);
/* Frees all of them. NULL does nothing. */
void udpai_peers_free(udpai_peers *peers);

/* NULL without memory. */
udpai_peer *udpai_peers_add(udpai_peers *peers, uint64_t session);
/* Its Node was received, perhaps anew; takes the reference. */
void udpai_peers_introduce(udpai_peers *peers, udpai_peer *peer, udpai_node_info *info);
/* It is not found any more; NULL: there is none. To be followed by udpai_peer_free(). */
udpai_peer *udpai_peers_take(udpai_peers *peers, uint64_t session);
void udpai_peer_free(udpai_peers *peers, udpai_peer *peer);

/* NULL: there is none; 0 is none. */
udpai_peer *udpai_peers_find(const udpai_peers *peers, uint64_t session);
/* Each of them, from *at = 0 on; NULL behind the last. */
udpai_peer *udpai_peers_next(const udpai_peers *peers, size_t *at);
/* Since when a peer that reports with this id is here, by the wheel, the first of its streams;
 * false: it is not. Takes no longer for thousands of peers: each epoch of one that reports is
 * looked up. */
bool udpai_peers_since(const udpai_peers *peers, udpai_str id, uint64_t *ret_ms);

/* Are both replicas of one set, and not the same one? */
bool udpai_peers_are_replicas(const udpai_peer *a, const udpai_peer *b);
/* The name of the peer: its certificate's, or without one its node id. */
udpai_str udpai_peer_name(const udpai_peer *peer);
/* Each is empty if it is not known. */
udpai_str udpai_peer_node_id(const udpai_peer *peer);
udpai_str udpai_peer_address(const udpai_peer *peer);
/* For UDPAI_ABOUT(). */
#define UDPAI_PEER_FIELDS(peer)                                                                    \
    {UDPAI_LOG_PEER, udpai_peer_node_id(peer)},                                                    \
        {UDPAI_LOG_IDENTITY, udpai_identity_name((peer)->identity)},                               \
    {                                                                                              \
        UDPAI_LOG_ADDRESS, udpai_peer_address(peer)                                                \
    }

#endif
