/* SPDX-License-Identifier: Apache-2.0 */
/* What a node knows of itself, as metrics. It looks at types, sources and directories, and at no
 * resource. */
#ifndef UDPAI_NODE_METRICS_H
#define UDPAI_NODE_METRICS_H

#include "federation/node.h"
#include "metrics/snapshot.h"

/* What the loop counts: the node's, for others that run on it, too. */
udpai_meters *udpai_node_meters(const udpai_node *node);
/* Fills the snapshot with that, and with what there is now. */
void udpai_node_put_metrics(const udpai_node *node, udpai_metric_snapshot *snapshot);

#endif
