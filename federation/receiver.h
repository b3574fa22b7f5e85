/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in what peers publish, and what the node itself reports. */
#ifndef UDPAI_FEDERATION_RECEIVER_H
#define UDPAI_FEDERATION_RECEIVER_H

#include "federation/parts.h"
#include "federation/peers.h"
#include "store/staging.h"

typedef struct udpai_receiver udpai_receiver;
typedef struct udpai_twins udpai_twins;

/* A publisher may leave out so many percent at once; 0: the default. */
udpa_err udpai_receiver_new(udpai_receiver **ret_receiver,
                            const udpai_parts *parts,
                            unsigned max_withdrawal);
/* NULL does nothing. */
void udpai_receiver_free(udpai_receiver *receiver);
void udpai_receiver_set_max_withdrawal(udpai_receiver *receiver, unsigned percent);
/* Loops met so far. */
uint64_t udpai_receiver_n_loops(const udpai_receiver *receiver);
udpai_twins *udpai_receiver_twins(const udpai_receiver *receiver);

/* The origin of what the peer publishes; NULL without memory. */
udpai_origin *udpai_intake_origin(udpai_receiver *receiver, udpai_peer *peer);
/* A publication of this peer; what is rejected of it is noted in it. What the durable engine keeps
 * is staged (NULL: made at once). */
void udpai_intake_take(udpai_receiver *receiver,
                       udpai_peer *peer,
                       udpai_publication *publication,
                       udpai_staging *staging);

/* ---- put.c ---- */

/* How a resource becomes a contribution. */
typedef struct udpai_put_options {
    udpai_str authority;    /* of one that names none */
    udpai_str from;         /* the peer that it is taken from; empty: from a file */
    bool keeps_generation;  /* it has one that is valid */
    bool is_stamped;        /* this node's hop is its last one */
    udpai_staging *staging; /* NULL: it is put at once */
} udpai_put_options;

/* Stamps authority, generation and hop, and puts the contribution. */
udpa_err udpai_intake_put(udpai_receiver *receiver,
                          udpai_origin *origin,
                          udpa_resource *resource,
                          const udpai_put_options *options,
                          udpa_error **ret_error);
/* Replicas have another generation for something of this name: what this node has read of it, and
 * is the same content, gets that. */
void udpai_intake_restamp(udpai_receiver *receiver, udpai_str type_url, udpai_str name);
/* What has been stamped is staged, unless the replicas of this node have it as it is. */
udpa_err udpai_intake_stage(const udpai_receiver *receiver,
                            udpai_origin *origin,
                            udpa_resource *resource,
                            uint64_t deadline_ms,
                            udpai_staging *staging,
                            udpa_error **ret_error);
struct udpai_refreshes *udpai_receiver_refreshes(udpai_receiver *receiver);

#endif
