/* SPDX-License-Identifier: Apache-2.0 */
/* The node's inside, for the files that put its parts together: no part includes this. */
#ifndef UDPAI_NODE_INTERNAL_H
#define UDPAI_NODE_INTERNAL_H

#include "base/vector.h"
#include "federation/commits.h"
#include "federation/node.h"
#include "federation/outbox.h"
#include "federation/parts.h"

struct udpai_node {
    udpai_context context;
    udpai_parts parts;
    udpai_commits *commits;               /* what is published, on its way to the durable engine */
    struct udpai_replica *replica;        /* NULL: this node has no replicas */
    struct udpai_barriers *barriers;      /* of streams */
    udpai_outbox *outbox;                 /* what changes, on its way to the stream side */
    uint64_t last_ticket;                 /* of the durable engine */
    UDPAI_VECTOR(udpa_bytes *) forgotten; /* keys of origins that are configured no more */
    udpai_durable_batch *over;            /* while it is loaded: DELETEs; NULL: of nothing */
};

/* ---- restore.c ---- */

/* All is loaded: what has ended meanwhile goes, before anything is served, and the durable engine
 * forgets what belongs to nothing any more. */
void udpai_restore_end(udpai_node *node);

/* ---- files.c ---- */

/* What most replicas have read by now. */
void udpai_node_use_agreed_files(udpai_node *node);

/* ---- shared_files.c ---- */

/* What etcd has of what one replica reads for all counts as read. */
void udpai_node_use_marks(udpai_node *node);
/* As the elected replica: proposes what it has read, where etcd has something else. */
void udpai_node_propose_shares(udpai_node *node);

/* ---- sessions.c ---- */

void udpai_node_session_opened(udpai_node *node, udpai_report *report);
void udpai_node_session_introduced(udpai_node *node, udpai_report *report);
void udpai_node_session_closed(udpai_node *node, udpai_report *report);
/* It is known, and a source waits for it now that did not when it came: ends its stream, so that it
 * comes again. Without memory it stays what it is. */
void udpai_node_recall_peer(udpai_node *node, const udpai_peer *peer);

#endif
