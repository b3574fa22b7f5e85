/* SPDX-License-Identifier: Apache-2.0 */
/* The replicas of a set have one node id. Where they must be distinguished, in what their clients
 * report and in their own reports, each has another id: <node id>~<first digits of the replica>. */
#ifndef UDPAI_REPLICA_ID_H
#define UDPAI_REPLICA_ID_H

#include "base/bytes.h"

#define UDPAI_REPLICA_DIGITS 8 /* of a replica in its id */

/* "edge~6c1b9a0e", of the replica 6c1b9a0e5f0f…; of none (fewer digits) the node id itself. NULL
 * without memory. */
udpa_bytes *udpai_replica_id(udpai_str node_id, udpai_str replica);
/* Is it the id of a replica of this node? */
bool udpai_replica_id_is_of(udpai_str id, udpai_str node_id);
/* The node id in it, or all of it, if it is no id of a replica: a view. */
udpai_str udpai_replica_id_node(udpai_str id);

#endif
