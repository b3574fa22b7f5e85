/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd has of the replicas that hold, and what follows from it. Whatever is there was written
 * by a peer: it is bounded, and what cannot be read counts as a disagreement. */
#include <inttypes.h>

#include "base/proto.h"
#include "model/digest.h"
#include "replica/held_internal.h"
#include "replica/members.h"
#include "replica/set.h"

#define MEMBER_KEY "m/"
#define MEMBER_FIELD_ID 1
#define ASK_AN_OPERATOR                                                                            \
    " run 'udpactl store accept' at each replica that holds, or 'udpactl store push' at the one "  \
    "that is right"

/* ---- asking ---- */

udpa_bytes *
udpai_held_key(const udpai_held *held, const char *head, udpai_str tail)
{
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(held->prefix));
    udpai_strbuf_puts(&key, head);
    udpai_strbuf_str(&key, tail);
    return udpai_bytes_of(&key);
}

static udpai_etcd_op
range_of(udpa_bytes *key, udpa_bytes *end)
{
    return (udpai_etcd_op){
        .kind = UDPAI_ETCD_OP_RANGE,
        .key = udpai_bytes_view(key),
        .end = end ? udpai_bytes_view(end) : (udpai_str){0},
    };
}

/* One transaction, which reads all at one revision. */
udpa_err
udpai_held_view_ask(udpai_held *held)
{
    udpai_etcd *etcd = held->env.etcd;
    const udpai_str none = {0};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *set = udpai_held_key(held, UDPAI_SET_KEY, none);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *back = udpai_held_key(held, UDPAI_BACK_KEY, none);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *holds = udpai_held_key(held, UDPAI_HOLD_KEY, none);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *members = udpai_held_key(held, MEMBER_KEY, none);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *holds_end = holds ? udpai_etcd_prefix_end(udpai_bytes_view(holds)) : NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *members_end = members ? udpai_etcd_prefix_end(udpai_bytes_view(members)) : NULL;
    if (!set || !back || !holds_end || !members_end)
        return UDPA_ERR_NOMEM;
    const udpai_etcd_op ops[] = {
        range_of(set, NULL),
        range_of(back, NULL),
        range_of(holds, holds_end),
        range_of(members, members_end),
    };
    const udpai_etcd_txn txn = {.ops = ops, .n_ops = UDPAI_ARRAY_LEN(ops)};
    held->call.is_repeatable = true;
    return etcd->ops->txn(etcd, &held->call, &txn);
}

/* ---- the answer ---- */

void
udpai_held_view_clear(udpai_held_view *view)
{
    for (size_t i = 0; i < view->peers.n; i++)
        udpa_bytes_unref(view->peers.items[i].id);
    udpai_vector_done(&view->peers);
    udpa_bytes_unref(view->server);
    *view = (udpai_held_view){0};
}

static bool
take_peer(udpai_held *held, udpai_str id, udpai_str value)
{
    udpai_held_view *view = &held->view;
    udpai_held_peer peer = {.is_own = udpai_str_eq(id, udpai_bytes_view(held->own))};
    bool is_good = id.len && id.len <= UDPAI_HELD_ID_MAX &&
                   udpai_hold_state_read(value, &peer.state) &&
                   view->peers.n < UDPAI_HELD_PEERS_MAX;
    view->has_too_many |= !is_good;
    if (!is_good)
        return true;
    if (udpa_bytes_new(&peer.id, id.data, id.len) == UDPA_OK &&
        udpai_vector_push(&view->peers, peer))
        return true;
    udpa_bytes_unref(peer.id);
    return false;
}

static bool
holds(const udpai_held_view *view, udpai_str id)
{
    for (size_t i = 0; i < view->peers.n; i++)
        if (udpai_str_eq(udpai_bytes_view(view->peers.items[i].id), id))
            return true;
    return false;
}

/* Of a snapshot: its lease ends in time, if it is not this replica's own. */
static bool
take_member(udpai_held *held, udpai_str value)
{
    udpai_held_view *view = &held->view;
    udpai_str id = udpai_proto_last_bytes(value, MEMBER_FIELD_ID);
    if (view->server || udpai_str_eq(id, udpai_bytes_view(held->own)) || holds(view, id))
        return true;
    id.len = udpai_min_size(id.len, UDPAI_HELD_ID_MAX);
    return udpa_bytes_new(&view->server, id.data, id.len) == UDPA_OK;
}

static void
take_set(udpai_held *held, const udpai_etcd_kv *kv)
{
    const udpai_holdings *own = held->compared ? held->compared->holdings : NULL;
    bool is_own = own && udpai_set_is(kv->value, udpai_bytes_view(own->set_id),
                                      udpai_bytes_view(own->node_id));
    held->view.set = is_own ? UDPAI_HELD_SET_OWN : UDPAI_HELD_SET_OTHER;
    held->view.set_revision = kv->mod_revision;
}

static void
take_back(udpai_held_view *view, const udpai_etcd_kv *kv)
{
    view->has_back = udpai_back_read(kv->value, &view->back);
    view->back.writer = (udpai_str){0};
    view->back_revision = kv->mod_revision;
}

/* Members behind those that hold, of which they may be. */
static bool
take(udpai_held *held, const udpai_etcd_kv *kv, bool is_second)
{
    size_t before = udpa_bytes_size(held->prefix);
    if (!udpai_str_starts(kv->key, udpai_bytes_view(held->prefix)))
        return true;
    udpai_str key = {kv->key.data + before, kv->key.len - before};
    if (is_second)
        return !udpai_members_is_key(key) || take_member(held, kv->value);
    if (udpai_str_eq(key, UDPAI_STR(UDPAI_SET_KEY)))
        take_set(held, kv);
    else if (udpai_str_eq(key, UDPAI_STR(UDPAI_BACK_KEY)))
        take_back(&held->view, kv);
    else if (udpai_str_starts(key, UDPAI_STR(UDPAI_HOLD_KEY)))
        return take_peer(held, (udpai_str){key.data + 2, key.len - 2}, kv->value);
    return true;
}

static uint64_t
digest_of(const udpai_held_view *view)
{
    uint64_t digest = view->peers.n + view->has_too_many;
    for (size_t i = 0; i < view->peers.n; i++) {
        const udpai_held_peer *peer = &view->peers.items[i];
        const uint64_t state[] = {peer->state.cluster_id, peer->state.number, peer->state.digest,
                                  peer->state.is_partial};
        digest = udpai_digest_behind(digest, udpai_bytes_view(peer->id));
        digest = udpai_digest_behind(digest, (udpai_str){(const char *)state, sizeof(state)});
    }
    return digest;
}

bool
udpai_held_view_take(udpai_held *held, const udpai_etcd_result *result)
{
    bool has_memory = true;
    udpai_held_view_clear(&held->view);
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < result->n_kvs && has_memory; i++)
            has_memory = take(held, &result->kvs[i], pass);
    if (!has_memory) {
        udpai_held_view_clear(&held->view);
        return false;
    }
    held->view.revision = result->header.revision;
    uint64_t digest = digest_of(&held->view);
    if (digest != held->peers_digest)
        held->since_ms = held->env.wheel->now_ms;
    held->peers_digest = digest;
    return true;
}

/* ---- what follows ---- */

/* One that had not all may have left out what this one has. */
bool
udpai_held_is_covered(const udpai_held *held)
{
    const udpai_back *back = &held->view.back;
    const udpai_hold_state *own = &held->state, *written = &back->state;
    bool is_same = written->number == own->number && written->digest == own->digest;
    bool has_more =
        written->number > own->number || (written->number == own->number && own->is_partial);
    return held->view.has_back && back->is_done && written->cluster_id == own->cluster_id &&
           (is_same || (has_more && !written->is_partial));
}

/* The replica that this one disagrees with, and why. */
static bool
find_disagreement(const udpai_held *held, udpai_strbuf *text)
{
    for (size_t i = 0; i < held->view.peers.n; i++) {
        const udpai_held_peer *peer = &held->view.peers.items[i];
        bool is_of_other = peer->state.cluster_id != held->state.cluster_id;
        bool is_partial = peer->state.is_partial || held->state.is_partial;
        bool differs = !is_partial && peer->state.number == held->state.number &&
                       peer->state.digest != held->state.digest;
        if (!is_of_other && !differs)
            continue;
        udpai_strbuf_printf(
            text, "replica %.*s has %s, so nothing is written back:" ASK_AN_OPERATOR,
            UDPAI_SHOWN(udpai_bytes_view(peer->id)),
            is_of_other ? "the state of another etcd" : "other resources, though as many changes");
        return true;
    }
    return false;
}

static bool
goes_first(const udpai_held_peer *a, const udpai_held_peer *b)
{
    if (a->state.number != b->state.number)
        return a->state.number > b->state.number;
    if (a->state.is_partial != b->state.is_partial)
        return b->state.is_partial;
    return udpai_str_cmp(udpai_bytes_view(a->id), udpai_bytes_view(b->id)) < 0;
}

/* The newest, and of several the first that has all. */
static const udpai_held_peer *
find_newest(const udpai_held_view *view)
{
    const udpai_held_peer *newest = NULL;
    for (size_t i = 0; i < view->peers.n; i++)
        if (!newest || goes_first(&view->peers.items[i], newest))
            newest = &view->peers.items[i];
    return newest;
}

static bool
is_own_there(const udpai_held *held)
{
    for (size_t i = 0; i < held->view.peers.n; i++) {
        const udpai_held_peer *peer = &held->view.peers.items[i];
        if (peer->is_own)
            return peer->state.number == held->state.number &&
                   peer->state.digest == held->state.digest &&
                   peer->state.is_partial == held->state.is_partial &&
                   peer->state.cluster_id == held->state.cluster_id;
    }
    return false;
}

static bool
is_in_grace(const udpai_held *held, udpai_strbuf *text)
{
    uint64_t due_ms = held->since_ms + UDPAI_HELD_GRACE_MS, now_ms = held->env.wheel->now_ms;
    if (now_ms >= due_ms)
        return false;
    udpai_strbuf_printf(text,
                        "this replica writes back what is missing in %" PRIu64
                        " s; if what etcd has is right, run 'udpactl store accept' at all replicas",
                        (due_ms - now_ms + 999) / 1000);
    return true;
}

bool
udpai_held_may_write(const udpai_held *held, udpai_strbuf *text)
{
    const udpai_held_view *view = &held->view;
    const udpai_held_peer *newest = find_newest(view);
    if (view->has_too_many)
        udpai_strbuf_puts(text, "there are more replicas that hold than a set has, or keys of "
                                "theirs that cannot be read:" ASK_AN_OPERATOR);
    else if (view->server)
        udpai_strbuf_printf(text, "replica %.*s serves what that etcd has:" ASK_AN_OPERATOR,
                            UDPAI_SHOWN(udpai_bytes_view(view->server)));
    else if (find_disagreement(held, text))
        return false;
    else if (!is_own_there(held))
        udpai_strbuf_puts(text, "this replica looks for the others that hold");
    else if (newest && newest->state.is_partial)
        udpai_strbuf_printf(text,
                            "replica %.*s has the newest state, but cannot decrypt all secrets, or "
                            "its rules hide resources, so nothing is written back: add the keys to "
                            "its store.keys, and send SIGHUP to it; else" ASK_AN_OPERATOR,
                            UDPAI_SHOWN(udpai_bytes_view(newest->id)));
    else if (newest && !newest->is_own)
        udpai_strbuf_printf(text,
                            "replica %.*s has the newest state, and writes back what is "
                            "missing",
                            UDPAI_SHOWN(udpai_bytes_view(newest->id)));
    else
        return !is_in_grace(held, text);
    return false;
}
