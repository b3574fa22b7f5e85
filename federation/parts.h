/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a node, from the ground up (docs/design/federation.md, "Parts"). Each is made of
 * those before it, which are there by then, and keeps pointers to the ones that it uses. */
#ifndef UDPAI_FEDERATION_PARTS_H
#define UDPAI_FEDERATION_PARTS_H

#include "federation/context.h"

typedef struct udpai_parts {
    udpai_context *context;
    struct udpai_peers *peers;           /* sessions */
    struct udpai_epoch *epoch;           /* which store this node has */
    struct udpai_lapse *lapse;           /* what a restored store knows nothing of */
    struct udpai_freezes *freezes;       /* what operators have frozen */
    struct udpai_traces *traces;         /* changes that are traced; NULL: none are */
    struct udpai_demand *demand;         /* all subscriptions */
    struct udpai_sync *sync;             /* what is synchronized */
    struct udpai_stamps *stamps;         /* generations of a set; NULL: there are no replicas */
    struct udpai_agreement *agreement;   /* directories of a set; NULL: there are no replicas */
    struct udpai_shares *shares;         /* what one of a set reads for all; NULL: the same */
    struct udpai_sources *sources;       /* ConfigSources */
    struct udpai_mesh *mesh;             /* other replicas; NULL: there are none */
    struct udpai_access *access;         /* rules: which peer may publish what */
    struct udpai_signatures *signatures; /* rules: which signatures are trusted */
    struct udpai_providers *providers;   /* ConfigProviders, also of single names */
    struct udpai_groups *groups;         /* of clients, each with sources of its own */
    struct udpai_interest *interest;     /* what follows from demand */
    struct udpai_local *local;           /* subscribers in the process */
    struct udpai_receiver *receiver;     /* takes in what peers publish */
    struct udpai_egress *egress;         /* publishes to sources */
    struct udpai_dynamic *dynamic;       /* what resources configure */
} udpai_parts;

#endif
