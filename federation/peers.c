/* SPDX-License-Identifier: Apache-2.0 */
/* Among the ids is the stream of each that is here for longest; the others are in a ring with it,
 * in the order in which they have come. */
#include "federation/peers.h"

#include "base/alloc.h"
#include "base/map.h"

struct udpai_peers {
    udpai_context *context;
    udpai_map by_session, by_id;
};

static udpai_str
key_of(const uint64_t *session)
{
    return (udpai_str){(const char *)session, sizeof(*session)};
}

static udpai_str
session_of(const void *item)
{
    return key_of(&((const udpai_peer *)item)->session);
}

/* ---- by id ---- */

static udpai_str
id_of(const void *item)
{
    return ((const udpai_peer *)item)->id;
}

static udpai_peer *
peer_at(udpai_list *link)
{
    return UDPAI_LIST_ENTRY(link, udpai_peer, of_id);
}

/* Without memory it is not there, as far as ids are asked for. Most come in order, so that the last
 * one is it, or not far from it. */
static void
add_id(udpai_peers *peers, udpai_peer *peer)
{
    udpai_peer *first = udpai_map_get(&peers->by_id, id_of(peer));
    udpai_list_init(&peer->of_id);
    if (!first) {
        (void)udpai_map_add(&peers->by_id, peer);
        return;
    }
    if (peer->since_ms < first->since_ms) {
        udpai_list_insert_before(&first->of_id, &peer->of_id);
        udpai_map_replace(&peers->by_id, peer);
        return;
    }
    udpai_list *last = first->of_id.prev;
    while (peer_at(last)->since_ms > peer->since_ms)
        last = last->prev;
    udpai_list_insert_before(last->next, &peer->of_id);
}

static void
remove_id(udpai_peers *peers, udpai_peer *peer)
{
    if (!peer->info)
        return;
    bool is_alone = !udpai_list_linked(&peer->of_id);
    if (udpai_map_get(&peers->by_id, id_of(peer)) == peer) {
        if (is_alone)
            udpai_map_remove(&peers->by_id, id_of(peer));
        else
            udpai_map_replace(&peers->by_id, peer_at(peer->of_id.next));
    }
    udpai_list_remove(&peer->of_id);
}

bool
udpai_peers_since(const udpai_peers *peers, udpai_str id, uint64_t *ret_ms)
{
    const udpai_peer *first = udpai_map_get(&peers->by_id, id);
    if (first)
        *ret_ms = first->since_ms;
    return first;
}

/* ---- by session ---- */

udpai_peer *
udpai_peers_find(const udpai_peers *peers, uint64_t session)
{
    return session ? udpai_map_get(&peers->by_session, key_of(&session)) : NULL;
}

udpai_peer *
udpai_peers_next(const udpai_peers *peers, size_t *at)
{
    return udpai_map_next(&peers->by_session, at);
}

udpai_peer *
udpai_peers_add(udpai_peers *peers, uint64_t session)
{
    udpai_peer *peer = udpai_alloc(sizeof(*peer));
    if (!peer)
        return NULL;
    peer->session = session;
    peer->since_ms = udpai_context_now(peers->context);
    udpai_list_init(&peer->of_id);
    if (udpai_map_add(&peers->by_session, peer))
        return peer;
    udpai_free(peer);
    return NULL;
}

void
udpai_peers_introduce(udpai_peers *peers, udpai_peer *peer, udpai_node_info *info)
{
    remove_id(peers, peer);
    udpai_node_info_unref(peer->info);
    peer->info = info;
    peer->id = udpai_node_info_reporter(info);
    peer->is_replica = udpai_node_info_replica(info).len != 0;
    peer->is_node = udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE);
    add_id(peers, peer);
}

udpai_peer *
udpai_peers_take(udpai_peers *peers, uint64_t session)
{
    return udpai_map_remove(&peers->by_session, key_of(&session));
}

void
udpai_peer_free(udpai_peers *peers, udpai_peer *peer)
{
    remove_id(peers, peer);
    udpai_origin_unref(peers->context->store, peer->origin);
    udpai_identity_unref(peer->identity);
    udpa_bytes_unref(peer->address);
    udpai_node_info_unref(peer->info);
    udpai_free(peer);
}

bool
udpai_peers_are_replicas(const udpai_peer *a, const udpai_peer *b)
{
    return a->is_replica && b->is_replica &&
           udpai_str_eq(udpai_node_info_instance(a->info), udpai_node_info_instance(b->info)) &&
           !udpai_str_eq(a->id, b->id);
}

udpai_str
udpai_peer_node_id(const udpai_peer *peer)
{
    return peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0};
}

udpai_str
udpai_peer_name(const udpai_peer *peer)
{
    udpai_str name = udpai_identity_name(peer->identity);
    return name.len ? name : udpai_peer_node_id(peer);
}

udpai_str
udpai_peer_address(const udpai_peer *peer)
{
    return peer->address ? udpai_bytes_view(peer->address) : (udpai_str){0};
}

/* ---- all ---- */

udpa_err
udpai_peers_new(udpai_peers **ret_peers, udpai_context *context)
{
    udpai_peers *peers = udpai_alloc(sizeof(*peers));
    if (!peers)
        return UDPA_ERR_NOMEM;
    peers->context = context;
    udpai_map_init(&peers->by_session, session_of);
    udpai_map_init(&peers->by_id, id_of);
    *ret_peers = peers;
    return UDPA_OK;
}

void
udpai_peers_free(udpai_peers *peers)
{
    size_t at = 0;
    udpai_peer *peer;
    if (!peers)
        return;
    while ((peer = udpai_peers_next(peers, &at)))
        udpai_peer_free(peers, peer);
    udpai_map_done(&peers->by_session);
    udpai_map_done(&peers->by_id);
    udpai_free(peers);
}
