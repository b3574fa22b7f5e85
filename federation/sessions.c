/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when a UDPA session begins, sends its Node, or ends: which ConfigSource it serves,
 * and which parts of the node are notified. */
#include "federation/access.h"
#include "federation/egress.h"
#include "federation/mesh.h"
#include "federation/node_internal.h"
#include "federation/receiver.h"
#include "federation/reporting.h"
#include "federation/reports.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "federation/twins.h"
#include "store/audit.h"

udpai_str
udpai_node_speaker(const udpai_node *node, uint64_t session)
{
    const udpai_peer *peer = udpai_peers_find(node->parts.peers, session);
    if (!peer)
        return (udpai_str){0};
    return peer->source ? udpai_source_name(peer->source) : udpai_peer_name(peer);
}

void
udpai_node_visit_nodes_below(const udpai_node *node,
                             void (*visit)(void *userdata, udpai_str id),
                             void *userdata)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(node->parts.peers, &at)))
        if (peer->is_node && peer->has_reports && peer->info && !peer->is_replaced)
            visit(userdata, peer->id);
}

/* The ConfigSource that waits for this peer to dial us; else one that has an earlier stream of it,
 * of which the end is not known yet. */
static udpai_source *
source_that_listens(const udpai_node *node, const udpai_peer *peer)
{
    size_t at = 0;
    udpai_source *source, *busy = NULL;
    while ((source = udpai_sources_next(node->parts.sources, &at))) {
        udpai_str expected;
        if (!udpai_source_listens_for(source, &expected))
            continue;
        bool is_it = peer->identity ? udpai_identity_matches(peer->identity, expected)
                                    : node->context.peers_are_anonymous &&
                                          udpai_str_eq(udpai_peer_name(peer), expected);
        if (is_it && !udpai_source_session(source))
            return source;
        if (is_it)
            busy = source;
    }
    return busy;
}

/* The peer has come again. */
static void
end_earlier_stream(udpai_node *node, udpai_source *source)
{
    udpai_peer *earlier = udpai_peers_find(node->parts.peers, udpai_source_session(source));
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_ABORTED, NULL, "the peer has begun another stream");
    if (earlier) {
        earlier->source = NULL;
        earlier->is_replaced = true;
    }
    (void)udpai_source_hang_up(source);
    udpai_source_closed(source, error);
}

static void
attach(udpai_node *node, udpai_peer *peer, udpai_source *source)
{
    if (udpai_source_session(source))
        end_earlier_stream(node, source);
    udpai_source_opened(source, peer);
    udpai_source_alive(source);
    udpai_source_introduced(source, peer);
}

/* Replicas of one node dial us: one of them serves the source, until its stream ends. */
static bool
is_served_by_replica(const udpai_node *node, const udpai_source *source, const udpai_peer *peer)
{
    const udpai_peer *now = udpai_peers_find(node->parts.peers, udpai_source_session(source));
    return now && now != peer && udpai_peers_are_replicas(now, peer);
}

/* Another replica takes its place. */
static void
attach_spare(udpai_node *node, udpai_source *source)
{
    size_t at = 0;
    udpai_peer *peer;
    while ((peer = udpai_peers_next(node->parts.peers, &at)))
        if (peer->is_spare && !peer->is_replaced && source_that_listens(node, peer) == source) {
            peer->is_spare = false;
            attach(node, peer, source);
            udpai_access_know_source(node->parts.access, peer);
            return;
        }
}

void
udpai_node_session_opened(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_add(node->parts.peers, report->session);
    if (!peer)
        return; /* nothing it publishes can be checked; it stops reading before long */
    peer->identity = UDPAI_TAKE(report->identity);
    peer->address = UDPAI_TAKE(report->address);
    peer->is_client = report->is_client;
    udpai_source *source =
        report->link ? udpai_sources_at(node->parts.sources, report->link) : NULL;
    if (!report->link)
        udpai_recovery_hurry(node->parts.sources);
    peer->is_replaced = report->link && !source; /* it was given up, and hung up */
    if (source)
        udpai_source_opened(source, peer);
}

void
udpai_node_session_introduced(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_find(node->parts.peers, report->session);
    if (!peer)
        return;
    udpai_twins_review(udpai_receiver_twins(node->parts.receiver), peer->info);
    udpai_peers_introduce(node->parts.peers, peer, UDPAI_TAKE(report->info));
    udpai_twins_review(udpai_receiver_twins(node->parts.receiver), peer->info);
    peer->is_extended = report->is_extended;
    if (udpai_mesh_introduce(node->parts.mesh, peer) == UDPAI_MESH_REFUSED ||
        udpai_twins_refuse(udpai_receiver_twins(node->parts.receiver), peer))
        return;
    udpai_source *listening =
        peer->source || peer->is_client || peer->is_of_set ? NULL : source_that_listens(node, peer);
    peer->is_spare = listening && is_served_by_replica(node, listening, peer);
    if (peer->is_spare)
        return;
    if (listening)
        attach(node, peer, listening);
    else if (peer->source)
        udpai_source_introduced(peer->source, peer);
    if (udpai_peer_source(peer))
        udpai_access_know_source(node->parts.access, peer);
    udpai_reports_introduce(node->parts.interest, peer);
}

/* The same peer, in the eyes of rules and signatures. */
static bool
is_same(const udpai_peer *a, const udpai_peer *b)
{
    return a->info && b->info &&
           udpai_str_eq(udpai_identity_name(a->identity), udpai_identity_name(b->identity)) &&
           udpai_str_eq(udpai_node_info_parts(a->info)->id, udpai_node_info_parts(b->info)->id);
}

static bool
is_here_again(const udpai_node *node, const udpai_peer *closed)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(node->parts.peers, &at)))
        if (is_same(peer, closed))
            return true;
    return false;
}

/* The end of a stream withdraws nothing; but if its certificate was revoked, another peer may have
 * used it. A peer that is here by another certificate has published, or will publish, what holds.
 */
static void
disown(udpai_node *node, const udpai_peer *peer)
{
    udpai_str name = udpai_peer_name(peer);
    if (!peer->origin || is_here_again(node, peer))
        return;
    udpai_log_about(UDPA_LOG_WARNING, "federation",
                    UDPAI_ABOUT(UDPAI_PEER_FIELDS(peer),
                                {UDPAI_LOG_CODE, udpai_log_code_of(UDPA_ERR_UNAUTHENTICATED)}),
                    "withdrawn all that %.*s has published: its certificate was revoked",
                    UDPAI_SHOWN(name));
    udpai_store *store = node->context.store;
    udpai_cause before = udpai_store_set_cause(store, UDPAI_CAUSE_REVOKED);
    udpai_store_withdraw_all(store, peer->origin, (udpai_str){0}, (udpai_str){0}, NULL, NULL);
    (void)udpai_store_set_cause(store, before);
}

void
udpai_node_session_closed(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_take(node->parts.peers, report->session);
    udpai_source *source = peer           ? peer->source
                           : report->link ? udpai_sources_at(node->parts.sources, report->link)
                                          : NULL;
    if (source)
        udpai_source_closed(source, report->error);
    udpai_publishing_ended(node->parts.egress, report->session, report->error);
    udpai_reports_closed(node->parts.interest, report->session);
    if (peer && report->is_disowned)
        disown(node, peer);
    if (!peer)
        return;
    udpai_mesh_closed(node->parts.mesh, peer);
    udpai_twins_review(udpai_receiver_twins(node->parts.receiver), peer->info);
    udpai_peer_free(node->parts.peers, peer);
    if (source)
        attach_spare(node, source);
}

void
udpai_node_recall_peer(udpai_node *node, const udpai_peer *peer)
{
    bool may_serve = peer->info && !peer->source && !peer->is_client && !peer->is_of_set &&
                     !peer->is_replaced && !peer->is_spare;
    udpai_order *order =
        may_serve && source_that_listens(node, peer) ? udpai_order_new(UDPAI_ORDER_HANG_UP) : NULL;
    if (!order)
        return;
    order->session = peer->session;
    udpai_context_order(&node->context, order);
}
