/* SPDX-License-Identifier: Apache-2.0 */
/* Clients in the order of a hash, so that the sessions of one are adjacent. What is done in one
 * slice is bounded in bytes, looked at and written; between two slices sessions come and go, so
 * they are looked up by number. */
#include "xds/csds_internal.h"

#include <stdlib.h>

#include "base/map.h"

#define SLICE_BYTES ((size_t)128 << 10)
#define VISIT_BYTES ((size_t)64) /* what to look at anything at all counts */
#define STATUS_TYPES UDPAI_STR("type.googleapis.com/udpa.status.v1.")
#define RESPONSE_CONFIG 1 /* the number in ClientStatusResponse */

/* ---- what is a client ---- */

/* A peer that asks a node about itself only reads, and is not served by it. */
static bool
is_of_status(const udpai_subscription *subscription)
{
    return udpai_str_starts(udpai_subscription_type_url(subscription), STATUS_TYPES);
}

static bool
looks_on(const udpai_session *session)
{
    const udpai_subscriber *subscriber = session->ops->subscriber(session);
    size_t n = 0;
    for (size_t i = 0; i < subscriber->subscriptions.n; i++)
        n += is_of_status(subscriber->subscriptions.items[i]);
    return n && n == subscriber->subscriptions.n;
}

/* A peer that has asked for nothing publishes, or has just come. A management node serves clients
 * of its own, and reports them itself. */
static bool
is_client(const udpai_session *session)
{
    if (!session->ops->ack_status || session->is_finishing || session->info.is_source)
        return false;
    const udpai_node_info *peer = session->ops->peer(session);
    return session->ops->subscriber(session)->subscriptions.n > 0 &&
           !(peer && udpai_node_info_has_feature(peer, UDPAI_FEATURE_NODE)) && !looks_on(session);
}

/* A client is what has this identity, Node id and address: some have a stream for each type, on one
 * connection, and others one name for all their replicas. */
static uint64_t
client_key(const udpai_session *session)
{
    const udpai_node_info *peer = session->ops->peer(session);
    udpai_str parts[] = {
        udpai_identity_name(session->info.identity),
        peer ? udpai_node_info_parts(peer)->id : (udpai_str){0},
        session->info.address ? udpai_bytes_view(session->info.address) : (udpai_str){0},
    };
    uint64_t hashes[UDPAI_ARRAY_LEN(parts)];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++)
        hashes[i] = udpai_hash(parts[i]);
    return udpai_hash((udpai_str){(const char *)hashes, sizeof(hashes)});
}

static int
compare(const void *a, const void *b)
{
    const udpai_csds_client *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return (one->session > two->session) - (one->session < two->session);
}

udpa_err
udpai_csds_walk_begin(udpai_csds_walk *walk)
{
    size_t at = 0;
    const udpai_session *session;
    while ((session = udpai_hub_next_session(walk->hub, &at))) {
        if (!is_client(session))
            continue;
        const udpai_csds_client client = {client_key(session), session->id};
        if (!udpai_vector_push(&walk->clients, client))
            return UDPA_ERR_NOMEM;
    }
    if (walk->clients.n > 1)
        qsort(walk->clients.items, walk->clients.n, sizeof(walk->clients.items[0]), compare);
    return UDPA_OK;
}

void
udpai_csds_walk_done(udpai_csds_walk *walk)
{
    udpai_vector_done(&walk->clients);
    udpai_strbuf_done(&walk->config);
    udpai_strbuf_done(&walk->response);
    *walk = (udpai_csds_walk){0};
}

/* ---- one client ---- */

void
udpai_csds_walk_spend(udpai_csds_walk *walk, size_t bytes)
{
    walk->budget -= udpai_min_size(bytes, walk->budget);
}

static bool
is_full(const udpai_csds_walk *walk)
{
    return walk->response_bytes && udpai_csds_walk_size(walk) >= walk->response_bytes;
}

void
udpai_csds_walk_put(udpai_csds_walk *walk, udpai_str config)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(&size, RESPONSE_CONFIG, config);
    udpai_proto_writer writer = {udpai_strbuf_extend(&walk->response, size.size), 0};
    walk->failed |= !writer.at;
    if (writer.at)
        udpai_proto_put_bytes(&writer, RESPONSE_CONFIG, config);
}

/* What is there of the client becomes a ClientConfig; if there comes more, it has one more. */
static void
close_config(udpai_csds_walk *walk)
{
    const udpai_csds_consumer *consumer = walk->consumer;
    if (walk->config.len == 0)
        return;
    if (walk->tree)
        walk->failed |= !udpai_csds_put_scope(&walk->config, walk->tree);
    if (consumer)
        walk->failed |=
            !consumer->end(consumer->userdata, udpai_strbuf_view(&walk->config), &walk->count);
    else
        udpai_csds_walk_put(walk, udpai_strbuf_view(&walk->config));
    walk->config.len = 0;
    walk->count = (udpai_csds_count){0};
}

static void
begin_config(udpai_csds_walk *walk, const udpai_session *session)
{
    const udpai_node_info *peer = session->ops->peer(session);
    size_t max_bytes = walk->consumer ? walk->consumer->node_bytes : UDPAI_CSDS_NODE_MAX;
    if (!peer || walk->config.len)
        return;
    walk->failed |= !udpai_csds_put_node(&walk->config, peer, max_bytes);
    walk->count.digest += udpai_hash(udpai_strbuf_view(&walk->config));
}

static void
begin_client(udpai_csds_walk *walk, const udpai_session *session)
{
    const udpai_node_info *peer = session->ops->peer(session);
    const udpai_node_matchers *matchers = &walk->request->matchers;
    udpai_csds_walk_spend(walk, udpai_node_matchers_cost(matchers, peer));
    walk->is_begun = true;
    walk->is_match = udpai_node_matchers_fit(matchers, peer);
    if (walk->is_match && walk->consumer)
        walk->consumer->begin(walk->consumer->userdata, session);
    if (walk->is_match)
        begin_config(walk, session);
}

static void
leave_session(udpai_csds_walk *walk)
{
    const udpai_csds_client *client = &walk->clients.items[walk->at++];
    walk->subscription = 0;
    walk->place = (udpai_taken_place){0};
    if (walk->at < walk->clients.n && client[1].key == client[0].key)
        return;
    close_config(walk);
    walk->n_done += walk->is_begun && walk->is_match;
    walk->is_begun = walk->is_match = false;
}

/* ---- its resources ---- */

struct visit {
    udpai_csds_walk *walk;
    const udpai_session *session;
};

/* What is as it should be is left out first. */
static bool
has_room(const udpai_csds_walk *walk, udpai_csds_status status)
{
    const udpai_csds_consumer *consumer = walk->consumer;
    return !consumer || walk->config.len <= (status == UDPAI_CSDS_SYNCED ? consumer->synced_bytes
                                                                         : consumer->max_bytes);
}

static void
put_entry(udpai_csds_walk *walk, const udpai_session *session, const udpai_taken *taken)
{
    udpai_csds_status status;
    size_t before = walk->config.len;
    walk->failed |= !udpai_csds_put_entry(&walk->config, session, taken, &walk->viewer, &status);
    udpai_csds_walk_spend(walk, VISIT_BYTES + walk->config.len - before);
    if (status == UDPAI_CSDS_UNREPORTED || walk->failed)
        return;
    walk->count.of[status]++;
    walk->count.digest +=
        udpai_hash((udpai_str){walk->config.data + before, walk->config.len - before});
    if (has_room(walk, status))
        return;
    walk->count.n_left_out++;
    walk->config.len = before;
}

static bool
on_taken(void *userdata, const udpai_taken *taken)
{
    const struct visit *self = userdata;
    udpai_csds_walk *walk = self->walk;
    begin_config(walk, self->session);
    put_entry(walk, self->session, taken);
    return walk->budget && !walk->failed && !is_full(walk);
}

static void
visit_session(udpai_csds_walk *walk)
{
    const udpai_session *session =
        udpai_hub_find_session(walk->hub, walk->clients.items[walk->at].session);
    udpai_csds_walk_spend(walk, VISIT_BYTES);
    if (session && is_client(session) && !walk->is_begun)
        begin_client(walk, session);
    const udpai_subscriber *subscriber =
        session && is_client(session) ? session->ops->subscriber(session) : NULL;
    if (!subscriber || !walk->is_match || walk->subscription >= subscriber->subscriptions.n) {
        leave_session(walk);
        return;
    }
    udpai_subscription *subscription = subscriber->subscriptions.items[walk->subscription];
    struct visit self = {walk, session};
    if (!is_of_status(subscription) &&
        udpai_subscription_visit_taken(subscription, &walk->place, on_taken, &self))
        return;
    walk->subscription++;
    walk->place = (udpai_taken_place){0};
}

udpa_err
udpai_csds_walk_on(udpai_csds_walk *walk, size_t n_walks, udpai_csds_progress *ret_progress)
{
    walk->budget = SLICE_BYTES / udpai_max_size(n_walks, 1);
    bool is_over = false;
    while (!is_over && walk->budget && !walk->failed && !is_full(walk)) {
        if (walk->at < walk->clients.n)
            visit_session(walk);
        else
            is_over = !walk->tree || !udpai_csds_tree_put_next(walk->tree, walk);
    }
    if (walk->failed)
        return UDPA_ERR_NOMEM;
    is_over |= walk->at >= walk->clients.n && !walk->tree;
    *ret_progress = is_full(walk) ? UDPAI_CSDS_FULL : UDPAI_CSDS_GOES_ON;
    if (is_over)
        *ret_progress = UDPAI_CSDS_OVER;
    return UDPA_OK;
}

size_t
udpai_csds_walk_size(const udpai_csds_walk *walk)
{
    return walk->response.len + walk->config.len;
}

udpa_bytes *
udpai_csds_walk_take(udpai_csds_walk *walk)
{
    udpa_bytes *bytes = NULL;
    close_config(walk);
    if (walk->failed || udpa_bytes_new(&bytes, walk->response.len ? walk->response.data : "",
                                       walk->response.len) != UDPA_OK)
        return NULL;
    walk->response.len = 0;
    return bytes;
}
