/* SPDX-License-Identifier: Apache-2.0 */
/* In the map is the stream of each id that is here for longest; the others are in a ring with it,
 * in the order in which they have come. */
#include "federation/peer_ids.h"
#include "federation/reporting.h"

static udpai_str
id_of(const void *item)
{
    return udpai_node_info_parts(((const udpai_peer *)item)->info)->id;
}

static udpai_peer *
peer_at(udpai_list *link)
{
    return UDPAI_LIST_ENTRY(link, udpai_peer, of_id);
}

void
udpai_peer_ids_init(udpai_node *node)
{
    udpai_map_init(&node->peer_ids, id_of);
}

void
udpai_peer_ids_done(udpai_node *node)
{
    udpai_map_done(&node->peer_ids);
}

/* Most come in order, so that the last one is it, or not far from it. */
void
udpai_peer_ids_add(udpai_node *node, udpai_peer *peer)
{
    udpai_peer *first = udpai_map_get(&node->peer_ids, id_of(peer));
    udpai_list_init(&peer->of_id);
    if (!first) {
        (void)udpai_map_add(&node->peer_ids, peer);
        return;
    }
    if (peer->since_ms < first->since_ms) {
        udpai_list_insert_before(&first->of_id, &peer->of_id);
        udpai_map_replace(&node->peer_ids, peer);
        return;
    }
    udpai_list *last = first->of_id.prev;
    while (peer_at(last)->since_ms > peer->since_ms)
        last = last->prev;
    udpai_list_insert_before(last->next, &peer->of_id);
}

void
udpai_peer_ids_remove(udpai_node *node, udpai_peer *peer)
{
    if (!peer->info)
        return;
    bool is_alone = !udpai_list_linked(&peer->of_id);
    if (udpai_map_get(&node->peer_ids, id_of(peer)) == peer) {
        if (is_alone)
            udpai_map_remove(&node->peer_ids, id_of(peer));
        else
            udpai_map_replace(&node->peer_ids, peer_at(peer->of_id.next));
    }
    udpai_list_remove(&peer->of_id);
}

bool
udpai_node_peer_since(const udpai_node *node, udpai_str id, uint64_t *ret_ms)
{
    const udpai_peer *first = udpai_map_get(&node->peer_ids, id);
    if (first)
        *ret_ms = first->since_ms;
    return first;
}
