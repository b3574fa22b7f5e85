/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams there are of who has this id in its Node, without looking at all peers: one that
 * reports is looked up with each of its epochs, and thousands may come at once. */
#ifndef UDPAI_PEER_IDS_H
#define UDPAI_PEER_IDS_H

#include "federation/node_internal.h"

void udpai_peer_ids_init(udpai_node *node);
/* When all are removed. */
void udpai_peer_ids_done(udpai_node *node);
/* It has said who it is. Without memory it is not there, as far as this is asked. */
void udpai_peer_ids_add(udpai_node *node, udpai_peer *peer);
/* Before it is somebody else, or gone; one that was not added does no harm. */
void udpai_peer_ids_remove(udpai_node *node, udpai_peer *peer);

#endif
