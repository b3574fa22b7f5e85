/* SPDX-License-Identifier: Apache-2.0 */
/* Freezing names of a node, for operators: how to begin and end it, and what waits meanwhile. */
#ifndef UDPAI_FREEZE_OF_NODE_H
#define UDPAI_FREEZE_OF_NODE_H

#include "federation/freezes.h"
#include "federation/node.h"
#include "store/freeze.h"

/* Of a node that has replicas it is so once all have committed it: the result shows in
 * udpai_node_visit_freezes(). UDPA_ERR_INVAL, UDPA_ERR_LIMIT: see udpai_freezes_begin();
 * UDPA_ERR_UNAVAILABLE: this replica is not current, so it can change nothing. */
udpa_err udpai_node_freeze(udpai_node *node, const udpai_freeze *freeze, udpa_error **ret_error);
/* What waits becomes effective with the next flush. UDPA_ERR_NOT_FOUND: that prefix is not frozen.
 */
udpa_err udpai_node_thaw(udpai_node *node, udpai_str prefix, udpa_error **ret_error);

typedef void (*udpai_freeze_fn)(void *userdata, const udpai_freeze *freeze);
void udpai_node_visit_freezes(const udpai_node *node, udpai_freeze_fn visit, void *userdata);
/* What waits. False: it is enough. */
void udpai_node_visit_waiting(const udpai_node *node, udpai_frozen_fn visit, void *userdata);
/* How many changes wait. */
size_t udpai_node_n_waiting(const udpai_node *node);

#endif
