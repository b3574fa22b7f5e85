/* SPDX-License-Identifier: Apache-2.0 */
/* Of which nodes a sum has counted the clients, and how far. What a node counts grows with its own
 * time, and every sum that has it says from when to when; so whoever hears of a node by one way
 * and then by another that lags behind it knows what of that is counted already. Times of two nodes
 * are never compared. Belongs to one thread. */
#ifndef UDPAI_TALLY_NODES_H
#define UDPAI_TALLY_NODES_H

#include "base/map.h"
#include "reports/tally.h"

/* Of more nodes than this nothing is counted. */
#define UDPAI_TALLY_NODES_MAX 65536

typedef struct udpai_tally_nodes {
    udpai_str own_id; /* borrowed */
    udpai_map map;
    uint64_t n_forgotten;
    uint64_t turn; /* of being listed */
} udpai_tally_nodes;

void udpai_tally_nodes_init(udpai_tally_nodes *nodes, udpai_str own_id);
void udpai_tally_nodes_done(udpai_tally_nodes *nodes);
/* Begins again, for another sum, which counts nothing that this one has; takes what is in @p from.
 */
void udpai_tally_nodes_go_on(udpai_tally_nodes *nodes, udpai_tally_nodes *from);

/* What a sum has grown by since the tally that is known of the same epoch (NULL: since that began):
 * is nothing of it counted already? What cannot be known is not new; and it never is what is this
 * node's own. */
bool udpai_tally_nodes_are_new(const udpai_tally_nodes *nodes,
                               const udpai_tally *tally,
                               const udpai_tally *known);
/* Makes room for what a tally has, so that it can be taken. UDPA_ERR_NOMEM: nothing has changed. */
udpa_err udpai_tally_nodes_make_room(udpai_tally_nodes *nodes, const udpai_tally *tally);
/* It was added, or left out for good. */
void udpai_tally_nodes_take(udpai_tally_nodes *nodes, const udpai_tally *tally, bool is_added);

/* All of them, for what keeps them over a restart: is_gone is whether they have been said. The id
 * is borrowed. False: there are no more. */
bool udpai_tally_nodes_next(const udpai_tally_nodes *nodes, size_t *at, udpai_tally_node *ret_node);
/* And back. UDPA_ERR_NOMEM */
udpa_err udpai_tally_nodes_restore(udpai_tally_nodes *nodes, const udpai_tally_node *node);

/* Lists the nodes in the total: first this one, then those that are there by each of the tallies,
 * and at last those that have gone. */
udpa_err udpai_tally_nodes_list_own(udpai_tally_nodes *nodes, udpai_tally *total);
udpa_err
udpai_tally_nodes_list(udpai_tally_nodes *nodes, const udpai_tally *tally, udpai_tally *total);
udpa_err udpai_tally_nodes_list_gone(udpai_tally_nodes *nodes, udpai_tally *total);

#endif
