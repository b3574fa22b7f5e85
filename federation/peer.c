/* SPDX-License-Identifier: Apache-2.0 */
/* UDPA sessions as the loop side sees them: who is there, and which ConfigSource they serve. */
#include "federation/access.h"
#include "federation/peer_ids.h"
#include "federation/recovery.h"
#include "federation/reporting.h"
#include "federation/reports.h"
#include "federation/twins.h"

#include "base/alloc.h"
#include "base/percent.h"

#define PUBLISHER "publisher:"

udpai_peer *
udpai_peer_find(const udpai_node *node, uint64_t session)
{
    return session
               ? udpai_map_get(&node->peers, (udpai_str){(const char *)&session, sizeof(session)})
               : NULL;
}

udpai_str
udpai_peer_name(const udpai_peer *peer)
{
    udpai_str name = udpai_identity_name(peer->identity);
    if (name.len == 0 && peer->info)
        name = udpai_node_info_parts(peer->info)->id;
    return name;
}

udpai_str
udpai_node_speaker(const udpai_node *node, uint64_t session)
{
    const udpai_peer *peer = udpai_peer_find(node, session);
    if (!peer)
        return (udpai_str){0};
    return peer->source ? udpai_bytes_view(peer->source->name) : udpai_peer_name(peer);
}

void
udpai_node_visit_nodes_below(const udpai_node *node,
                             void (*visit)(void *userdata, udpai_str id),
                             void *userdata)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_map_next(&node->peers, &at)))
        if (peer->is_node && peer->has_reports && peer->info && !peer->is_replaced)
            visit(userdata, udpai_node_info_parts(peer->info)->id);
}

static udpai_source *
source_of_link(const udpai_node *node, uint64_t link)
{
    return udpai_map_get(&node->links, (udpai_str){(const char *)&link, sizeof(link)});
}

/* The ConfigSource that waits for this peer to dial us; else one that has an earlier stream of it,
 * whose end has not been seen yet. */
static udpai_source *
source_that_listens(const udpai_node *node, const udpai_peer *peer)
{
    size_t at = 0;
    udpai_source *source, *busy = NULL;
    while ((source = udpai_map_next(&node->sources, &at))) {
        if (source->kind != UDPAI_SOURCE_UDPA_LISTEN)
            continue;
        udpai_str wanted = udpai_bytes_view(source->peer_name);
        bool is_it = peer->identity ? udpai_identity_matches(peer->identity, wanted)
                                    : node->context.peers_are_anonymous &&
                                          udpai_str_eq(udpai_peer_name(peer), wanted);
        if (is_it && !source->session)
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
    udpai_peer *earlier = udpai_peer_find(node, source->session);
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
    if (source->session)
        end_earlier_stream(node, source);
    udpai_source_opened(source, peer);
    udpai_source_alive(source);
    udpai_source_introduced(source, peer);
}

void
udpai_peer_opened(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_alloc(sizeof(*peer));
    if (peer) {
        peer->since_ms = udpai_context_now(&node->context);
        udpai_list_init(&peer->of_id);
    }
    if (!peer || (peer->session = report->session, !udpai_map_add(&node->peers, peer))) {
        udpai_free(peer);
        return; /* nothing it publishes can be judged; it stops reading before long */
    }
    peer->identity = UDPAI_TAKE(report->identity);
    peer->address = UDPAI_TAKE(report->address);
    peer->is_client = report->is_client;
    udpai_source *source = report->link ? source_of_link(node, report->link) : NULL;
    if (!report->link)
        udpai_recovery_hurry(node);
    peer->is_replaced = report->link && !source; /* it was given up, and hung up */
    if (source)
        udpai_source_opened(source, peer);
}

void
udpai_peer_node(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peer_find(node, report->session);
    if (!peer)
        return;
    udpai_peer_ids_remove(node, peer);
    udpai_twins_review(node, peer->info);
    udpai_node_info_unref(peer->info);
    peer->info = UDPAI_TAKE(report->info);
    udpai_peer_ids_add(node, peer);
    udpai_twins_review(node, peer->info);
    peer->is_extended = report->is_extended;
    peer->is_node = udpai_node_info_has_feature(peer->info, UDPAI_FEATURE_NODE);
    if (udpai_twins_refuse(node, peer))
        return;
    udpai_source *listening =
        peer->source || peer->is_client ? NULL : source_that_listens(node, peer);
    if (listening)
        attach(node, peer, listening);
    else if (peer->source)
        udpai_source_introduced(peer->source, peer);
    if (peer->source && peer->source->serves_us)
        udpai_access_know_source(node, peer);
    udpai_reports_introduce(node, peer);
}

/* The '/' behind the name is the first one of the key, so that no two peers have one key. */
static udpai_strbuf
publisher_key(udpai_str name, udpai_str id)
{
    udpai_strbuf key = {0};
    udpai_strbuf_puts(&key, PUBLISHER);
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '/' || name.data[i] == '%')
            udpai_strbuf_puts(&key, name.data[i] == '/' ? "%2F" : "%25");
        else
            udpai_strbuf_append(&key, &name.data[i], 1);
    }
    udpai_strbuf_puts(&key, "/");
    udpai_strbuf_str(&key, id);
    return key;
}

udpai_origin *
udpai_publisher_find(const udpai_node *node, udpai_str name, udpai_str id)
{
    udpai_strbuf key = publisher_key(name, id);
    udpai_origin *origin =
        udpai_strbuf_failed(&key)
            ? NULL
            : udpai_store_find_origin(node->context.store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

udpai_origin *
udpai_publisher_origin(const udpai_node *node, udpai_str name, udpai_str id)
{
    udpai_strbuf key = publisher_key(name, id);
    udpai_origin *origin = udpai_strbuf_failed(&key)
                               ? NULL
                               : udpai_store_origin(node->context.store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

char *
udpai_publisher_key_read(udpai_str key, udpai_str *ret_name, udpai_str *ret_id)
{
    udpai_str head = UDPAI_STR(PUBLISHER);
    const char *slash =
        udpai_str_starts(key, head) ? memchr(key.data + head.len, '/', key.len - head.len) : NULL;
    char *room = slash ? udpai_alloc(key.len) : NULL, *at = room;
    if (!room)
        return NULL;
    const udpai_str name = {key.data + head.len, (size_t)(slash - key.data) - head.len};
    if (!udpai_percent_decode(name, &at, ret_name)) {
        udpai_free(room);
        return NULL;
    }
    *ret_id = (udpai_str){slash + 1, key.len - (size_t)(slash + 1 - key.data)};
    return room;
}

/* What a peer publishes unasked is its own as long as it has the same name and node id, whatever
 * the stream. */
udpai_origin *
udpai_peer_origin(udpai_node *node, udpai_peer *peer)
{
    if (peer->source && peer->source->serves_us)
        return peer->source->origin;
    if (peer->origin)
        return peer->origin;
    udpai_str id = peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0};
    peer->origin = udpai_publisher_origin(node, udpai_identity_name(peer->identity), id);
    if (peer->origin) {
        udpai_origin_ref(peer->origin);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *instance = NULL;
        udpai_str which = peer->info ? udpai_node_info_instance(peer->info) : id;
        udpai_origin_set_durable(peer->origin, node->context.is_durable);
        udpai_access_know(node, peer->origin, peer->identity);
        if (peer->is_node && udpa_bytes_new(&instance, which.data, which.len) == UDPA_OK)
            udpai_origin_set_node(node->context.store, peer->origin, instance);
    }
    return peer->origin;
}

static void
free_peer(udpai_node *node, udpai_peer *peer)
{
    udpai_peer_ids_remove(node, peer);
    udpai_twins_review(node, peer->info);
    udpai_origin_unref(node->context.store, peer->origin);
    udpai_identity_unref(peer->identity);
    udpa_bytes_unref(peer->address);
    udpai_node_info_unref(peer->info);
    udpai_free(peer);
}

/* The same peer, to those who ask who has said something. */
static bool
is_same(const udpai_peer *a, const udpai_peer *b)
{
    return a->info && b->info &&
           udpai_str_eq(udpai_identity_name(a->identity), udpai_identity_name(b->identity)) &&
           udpai_str_eq(udpai_node_info_parts(a->info)->id, udpai_node_info_parts(b->info)->id);
}

static bool
is_here_again(const udpai_node *node, const udpai_peer *gone)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_map_next(&node->peers, &at)))
        if (is_same(peer, gone))
            return true;
    return false;
}

/* The end of a stream withdraws nothing; but that its certificate was revoked says that somebody
 * else may have spoken. Who is here by another certificate has said, or will say, what holds. */
static void
disown(udpai_node *node, const udpai_peer *peer)
{
    udpai_str name = udpai_peer_name(peer);
    if (!peer->origin || is_here_again(node, peer))
        return;
    udpai_log(UDPA_LOG_WARNING, "federation",
              "what %.*s has published is withdrawn: its certificate was revoked",
              UDPAI_SHOWN(name));
    udpai_store_withdraw_all(node->context.store, peer->origin, (udpai_str){0}, (udpai_str){0},
                             NULL, NULL);
}

void
udpai_peer_closed(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_map_remove(
        &node->peers, (udpai_str){(const char *)&report->session, sizeof(report->session)});
    udpai_source *source = peer           ? peer->source
                           : report->link ? source_of_link(node, report->link)
                                          : NULL;
    if (source)
        udpai_source_closed(source, report->error);
    udpai_publishing_ended(node, report->session, report->error);
    udpai_reports_gone(node, report->session);
    if (peer && report->is_disowned)
        disown(node, peer);
    if (peer)
        free_peer(node, peer);
}

void
udpai_peers_free(udpai_node *node)
{
    size_t at = 0;
    udpai_peer *peer;
    while ((peer = udpai_map_next(&node->peers, &at)))
        free_peer(node, peer);
    udpai_map_done(&node->peers);
    udpai_peer_ids_done(node);
}
