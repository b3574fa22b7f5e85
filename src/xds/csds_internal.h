/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS's inside: the request, the walk over the clients, and the report of each resource. */
#ifndef UDPAI_CSDS_INTERNAL_H
#define UDPAI_CSDS_INTERNAL_H

#include "base/strbuf.h"
#include "session/acknowledgement.h"
#include "wire/arena.h"
#include "xds/csds.h"
#include "xds/node_matcher.h"

/* ---- csds_request.c ---- */

typedef struct udpai_csds_request {
    udpai_arena arena; /* what the matchers are in */
    udpai_node_matchers matchers;
    udpai_node_info *node; /* of the client; NULL: it sent none */
    bool excludes_contents;
} udpai_csds_request;

/* To be given to udpai_csds_request_done() in any case. */
void udpai_csds_request_init(udpai_csds_request *request);
/* Once; views of @p bytes are not kept. */
udpa_err udpai_csds_request_decode(udpai_csds_request *request,
                                   udpai_str bytes,
                                   const udpai_regex_ops *regex,
                                   udpa_error **ret_error);
void udpai_csds_request_done(udpai_csds_request *request);

/* ---- csds_entry.c ---- */

/* Which bodies the client may see. */
typedef struct udpai_csds_viewer {
    const udpai_csds *csds;
    udpai_access *access;
    uint64_t visibility;
    bool excludes_contents;
} udpai_csds_viewer;

/* As envoy.service.status.v3.ConfigStatus. */
typedef enum udpai_csds_status {
    UDPAI_CSDS_UNREPORTED, /* none: it is not reported */
    UDPAI_CSDS_SYNCED,
    UDPAI_CSDS_NOT_SENT,
    UDPAI_CSDS_STALE,
    UDPAI_CSDS_ERROR,
    UDPAI_CSDS_STATUSES,
} udpai_csds_status;

/* Appends a GenericXdsConfig, as a field of a ClientConfig; nothing if the session's protocol does
 * not send its peer the resource: then it is UNREPORTED. False: no memory. */
bool udpai_csds_put_entry(udpai_strbuf *out,
                          const udpai_session *session,
                          const udpai_taken *taken,
                          const udpai_csds_viewer *viewer,
                          udpai_csds_status *ret_status);
/* Appends the Node; of one that is larger its id alone. False: no memory. */
bool udpai_csds_put_node(udpai_strbuf *out, const udpai_node_info *node, size_t max_bytes);

/* ---- csds_walk.c ---- */

/* A session that is there when the walk begins. */
typedef struct udpai_csds_client {
    uint64_t key; /* sessions of one client have the same */
    uint64_t session;
} udpai_csds_client;

typedef struct udpai_csds_tree udpai_csds_tree;

/* What a walk has counted of one client. */
typedef struct udpai_csds_count {
    uint64_t of[UDPAI_CSDS_STATUSES]; /* resources of each status, those left out, too */
    uint64_t n_left_out;
    uint64_t digest; /* changes with anything that was reported, but not with its order */
} udpai_csds_count;

/* Takes clients one by one, instead of a response of all. */
typedef struct udpai_csds_consumer {
    void (*begin)(void *userdata, const udpai_session *first); /* of its sessions */
    /* Fields of its ClientConfig, and what was counted of it; false: no memory. */
    bool (*end)(void *userdata, udpai_str config, const udpai_csds_count *count);
    void *userdata;
    size_t node_bytes; /* a larger Node is left out but for its id */
    /* What is SYNCED is left out of what is larger than the first, anything above the second. */
    size_t synced_bytes, max_bytes;
} udpai_csds_consumer;

/* Over all clients, each with all its sessions; keeps no session, for they come and go. */
typedef struct udpai_csds_walk {
    udpai_hub *hub;
    const udpai_csds_request *request;
    udpai_csds_viewer viewer;
    size_t response_bytes;               /* that is full at this size; 0: never */
    const udpai_csds_consumer *consumer; /* NULL: what is visited becomes responses */
    udpai_csds_tree *tree; /* others are reported, too, behind these; NULL: no others */
    UDPAI_VECTOR(udpai_csds_client) clients;
    size_t at, n_done; /* the session that is next; clients that were reported */
    /* In the client of that session: */
    bool is_begun, is_match; /* it was looked at; it is one that was asked about */
    size_t subscription;
    udpai_taken_place place;
    udpai_csds_count count;
    udpai_strbuf config;   /* the fields of its ClientConfig up to here; empty: none yet */
    udpai_strbuf response; /* whole ones */
    size_t budget;         /* of the slice, in bytes looked at or written */
    bool failed;           /* for lack of memory */
} udpai_csds_walk;

/* How a slice of the walk has ended. */
typedef enum udpai_csds_progress {
    UDPAI_CSDS_GOES_ON, /* it is long enough */
    UDPAI_CSDS_FULL,    /* the response is, or holds the last of it: */
    UDPAI_CSDS_OVER,
} udpai_csds_progress;

/* All that is zero is filled in but what comes first: hub, request, viewer, response_bytes,
 * consumer, tree. */
udpa_err udpai_csds_walk_begin(udpai_csds_walk *walk);
/* @p n_walks: so many share the time of one slice. UDPA_ERR_NOMEM: it must be ended. */
udpa_err
udpai_csds_walk_on(udpai_csds_walk *walk, size_t n_walks, udpai_csds_progress *ret_progress);
/* How large the response is that has been made up to here. */
size_t udpai_csds_walk_size(const udpai_csds_walk *walk);
/* The response, which another one replaces; NULL without memory. */
udpa_bytes *udpai_csds_walk_take(udpai_csds_walk *walk);
void udpai_csds_walk_done(udpai_csds_walk *walk);
/* Adds a ClientConfig, or a piece of one, to the response. */
void udpai_csds_walk_put(udpai_csds_walk *walk, udpai_str config);
void udpai_csds_walk_spend(udpai_csds_walk *walk, size_t bytes);

/* ---- csds_tree.c: clients that sessions of this stream side are not ---- */

/* Those of other processes of this node, or of all nodes below it, by what they report of them. As
 * long as it exists, they are asked to. For one session, and one walk at a time. */
udpa_err udpai_csds_tree_new(udpai_csds_tree **ret_tree,
                             udpai_session *session,
                             const udpai_csds *csds,
                             udpa_error **ret_error);
/* NULL is fine. */
void udpai_csds_tree_free(udpai_csds_tree *tree);
/* Another walk is about to be begun: once they have reported all, or it is too late for more. */
void udpai_csds_tree_begin(udpai_csds_tree *tree);
/* Has that come? If not, *ret_again_ms is when to ask again, from now. UDPA_ERR_NOMEM. */
udpa_err udpai_csds_tree_look(udpai_csds_tree *tree, bool *ret_settled, uint64_t *ret_again_ms);
/* Puts the next of them into the response of the walk, and behind them what is known of nodes that
 * have not reported all clients; false: that was all. */
bool udpai_csds_tree_put_next(udpai_csds_tree *tree, udpai_csds_walk *walk);
/* Appends the client_scope of this node's own clients. False: no memory. */
bool udpai_csds_put_scope(udpai_strbuf *out, const udpai_csds_tree *tree);

#endif
