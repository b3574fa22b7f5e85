/* SPDX-License-Identifier: Apache-2.0 */
/* Of which nodes an aggregate has counted the clients, and how far. What a node counts grows with
 * its own time, and every aggregate that has it states from when to when; so if a node is reported
 * by one path and then by another that lags behind it, it is known what of that is counted already.
 * Times of two nodes are never compared. Belongs to one thread. */
#ifndef UDPAI_LOAD_STATS_NODES_H
#define UDPAI_LOAD_STATS_NODES_H

#include "base/map.h"
#include "reports/load_stats.h"

/* Of more nodes than this nothing is counted. */
#define UDPAI_LOAD_STATS_NODES_MAX 65536

typedef struct udpai_load_stats_nodes {
    udpai_str own_id; /* borrowed */
    udpai_map map;
    uint64_t n_forgotten;
    uint64_t turn; /* of being listed */
} udpai_load_stats_nodes;

void udpai_load_stats_nodes_init(udpai_load_stats_nodes *nodes, udpai_str own_id);
void udpai_load_stats_nodes_done(udpai_load_stats_nodes *nodes);
/* Begins again, for another aggregate, which counts nothing that this one has; takes what is in @p
 * from.
 */
void udpai_load_stats_nodes_go_on(udpai_load_stats_nodes *nodes, udpai_load_stats_nodes *from);

/* What a sum has grown by since the value that is known of the same epoch (NULL: since that began):
 * is nothing of it counted already? What cannot be known is not new; and it never is what is this
 * node's own. */
bool udpai_load_stats_nodes_are_new(const udpai_load_stats_nodes *nodes,
                                    const udpai_load_stats *stats,
                                    const udpai_load_stats *known);
/* Makes room for what a value has, so that it can be taken. UDPA_ERR_NOMEM: nothing has changed. */
udpa_err udpai_load_stats_nodes_make_room(udpai_load_stats_nodes *nodes,
                                          const udpai_load_stats *stats);
/* It was added, or left out for good. */
void udpai_load_stats_nodes_take(udpai_load_stats_nodes *nodes,
                                 const udpai_load_stats *stats,
                                 bool is_added);

/* All of them, for what keeps them over a restart: is_gone is whether they have been reported. The
 * id is borrowed. False: there are no more. */
bool udpai_load_stats_nodes_next(const udpai_load_stats_nodes *nodes,
                                 size_t *at,
                                 udpai_load_stats_node *ret_node);
/* And back. UDPA_ERR_NOMEM */
udpa_err udpai_load_stats_nodes_restore(udpai_load_stats_nodes *nodes,
                                        const udpai_load_stats_node *node);

/* Lists the nodes in the total: first this one, then those that are there by each of the load
 * stats, and at last those that have left. */
udpa_err udpai_load_stats_nodes_list_own(udpai_load_stats_nodes *nodes, udpai_load_stats *total);
udpa_err udpai_load_stats_nodes_list(udpai_load_stats_nodes *nodes,
                                     const udpai_load_stats *stats,
                                     udpai_load_stats *total);
udpa_err udpai_load_stats_nodes_list_left(udpai_load_stats_nodes *nodes, udpai_load_stats *total);

#endif
