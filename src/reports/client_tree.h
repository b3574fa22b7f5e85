/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes report clients, and whether all of them have reported all: found out from their
 * resources of udpa.status.v1.ClientStatus. Each node states how many clients it reports, and which
 * nodes are connected below it; so a reader of all that knows what is missing. Pure. */
#ifndef UDPAI_CLIENT_TREE_H
#define UDPAI_CLIENT_TREE_H

#include "base/error.h"
#include "base/map.h"
#include "base/vector.h"
#include "model/resource.h"

/* Reports on more nodes are ignored: then it is not known whether that is all. */
#define UDPAI_CLIENT_TREE_NODES_MAX 4096

typedef enum udpai_client_node_state {
    UDPAI_CLIENT_NODE_WHOLE,   /* all its clients are there */
    UDPAI_CLIENT_NODE_MISSING, /* it is connected, and nothing is there of it */
    UDPAI_CLIENT_NODE_PARTIAL, /* it is connected, and some of its clients are not there (yet) */
    UDPAI_CLIENT_NODE_OTHER,   /* it is not looked at */
    UDPAI_CLIENT_NODE_STALE, /* it is not connected any more: what it has reported holds a while */
} udpai_client_node_state;

/* Of so many epochs clients are counted: a node that was started anew has two. */
#define UDPAI_CLIENT_EPOCHS_MAX 4

typedef struct udpai_client_node {
    udpa_bytes *id;
    udpai_client_node_state state;
    uint64_t n_clients, n_left_out; /* as it reports, … */
    uint64_t epoch;                 /* … and of which epoch its clients are */
    uint64_t n_there;               /* clients of it that are */
    bool has_reported, is_reached;

    struct {
        uint64_t epoch, n;
    } counts[UDPAI_CLIENT_EPOCHS_MAX];

    size_t n_counts;
    UDPAI_VECTOR(struct udpai_client_node *) below;
} udpai_client_node;

typedef struct udpai_client_tree {
    UDPAI_VECTOR(udpai_client_node *) nodes; /* in the order in which they were met */
    udpai_map by_id;
    bool is_cut;
} udpai_client_tree;

void udpai_client_tree_init(udpai_client_tree *tree);
/* As it was at first. */
void udpai_client_tree_clear(udpai_client_tree *tree);

/* Takes a resource into account; what is no ClientStatus, or malformed, is passed over. */
udpa_err udpai_client_tree_add(udpai_client_tree *tree, const udpa_resource *resource);
/* Sets what each node is, seen from this one; nothing may be added after that. @p alone: nodes
 * below it are not looked at, and left out. *ret_settled: no node that is connected has anything
 * left to report. UDPA_ERR_NOMEM. */
udpa_err
udpai_client_tree_evaluate(udpai_client_tree *tree, udpai_str root, bool alone, bool *ret_settled);

/* Is the resource, of a client, still valid: is it not from before its node began to report its
 * clients anew? */
bool udpai_client_tree_counts(const udpai_client_tree *tree, const udpa_resource *resource);

/* "missing: …", for people; NULL: there is nothing to add. */
const char *udpai_client_node_describe(const udpai_client_node *node, char *room, size_t size);

#endif
