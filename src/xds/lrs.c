/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session: the first request has the client's Node; then it is asked for what has
 * subscriptions, and reports it. */
#include "base/alloc.h"
#include "wire/message.h"
#include "wire/node_decode.h"
#include "xds/lrs_internal.h"
#include "xds/reporter.h"

static const udpai_session_ops lrs_ops;

/* ---- beginning and end ---- */

udpa_err
udpai_lrs_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    udpai_lrs *lrs = udpai_alloc(sizeof(*lrs));
    if (!lrs)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&lrs->session, hub, &lrs_ops, info);
    if (err != UDPA_OK) {
        udpai_free(lrs);
        return err;
    }
    lrs->service = info->context;
    udpai_lrs_ask_init(lrs);
    udpai_lrs_take_init(lrs);
    udpai_lrs_gap_init(lrs);
    *ret_session = &lrs->session;
    return UDPA_OK;
}

static void
lrs_free(udpai_session *session)
{
    udpai_lrs *lrs = udpai_lrs_of(session);
    udpai_lrs_take_done(lrs); /* which may have a last word */
    udpai_xds_reporter_end(session, UDPAI_TAKE(lrs->closed));
    udpai_lrs_gap_done(lrs);
    udpai_lrs_ask_done(lrs);
    udpai_xds_leave_audience(lrs->service->server, session->hub, &lrs->belonging);
    udpa_bytes_unref(lrs->segment);
    udpai_node_info_unref(lrs->peer);
    udpa_error_unref(lrs->last_error);
    udpai_free(lrs);
}

/* ---- its identity ---- */

/* To the loop side it is a client that may have something to report, and no node, whatever
 * capabilities it sends. */
static udpa_err
introduce(udpai_lrs *lrs)
{
    const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_CLIENT)};
    return udpai_xds_reporter_introduce(&lrs->session, lrs->peer, features,
                                        UDPAI_ARRAY_LEN(features), &lrs->closed);
}

/* gRPC for Go carries on with the first response that it was sent (seen in 1.85). */
static bool
reads_once(const udpai_node_info *node)
{
    return udpai_str_eq(udpai_node_info_parts(node)->user_agent_name, UDPAI_STR("gRPC Go"));
}

static udpa_err
on_node(udpai_lrs *lrs, const Envoy__Config__Core__V3__Node *node, udpa_error **ret_error)
{
    if (!node)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "the first LoadStatsRequest must have the client's Node");
    udpa_err err = udpai_node_info_from_message(node, &lrs->peer);
    if (err != UDPA_OK)
        return err;
    udpai_str id = udpai_node_info_parts(lrs->peer)->id;
    if (id.len == 0 || id.len > UDPAI_AUTHORITY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the Node of a LoadStatsRequest needs an id, of at most %d bytes",
                          UDPAI_AUTHORITY_MAX);
    lrs->reports_all = udpai_node_info_has_feature(lrs->peer, UDPAI_LRS_FEATURE_ALL);
    lrs->reads_once = lrs->reports_all && reads_once(lrs->peer);
    const udpai_xds_client client = {lrs->session.info.identity, lrs->peer};
    err = udpai_xds_select_audience(lrs->service->server, lrs->session.hub, &client,
                                    &lrs->belonging, ret_error);
    if (err == UDPA_OK)
        err = udpai_session_admit(&lrs->session, NULL, lrs->peer, ret_error);
    if (err == UDPA_OK)
        err = udpai_xds_reporter_segment(lrs->peer, &lrs->segment);
    return err == UDPA_OK ? introduce(lrs) : err;
}

/* The identity cannot change on a stream. */
static udpa_err
on_node_changed(const udpai_lrs *lrs,
                const Envoy__Config__Core__V3__Node *node,
                udpa_error **ret_error)
{
    udpai_str before = udpai_node_info_parts(lrs->peer)->id;
    if (!node || !*node->id || udpai_str_eq(before, udpai_str_from(node->id)))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_ABORTED,
                      "you were '%.*s' on this stream, and are '%.200s' now: connect again",
                      UDPAI_SHOWN(before), node->id);
}

/* ---- messages ---- */

udpa_err
udpai_lrs_unpack(udpai_arena *arena,
                 udpai_str bytes,
                 const udpai_lrs_request **ret_request,
                 udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type =
        &envoy__service__load_stats__v3__load_stats_request__descriptor;
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(arena);
    *ret_request = (const udpai_lrs_request *)protobuf_c_message_unpack(
        type, &arena->allocator, bytes.len, (const uint8_t *)bytes.data);
    if (*ret_request)
        return UDPA_OK;
    if (arena->failed)
        return UDPA_ERR_NOMEM;
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED, /* protobuf-c is stricter with tags */
                      "a malformed LoadStatsRequest: it cannot be unpacked");
}

static udpa_err
lrs_receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_lrs *lrs = udpai_lrs_of(session);
    const udpai_lrs_request *request = NULL;
    bool is_first = !lrs->peer;
    udpai_arena *arena = &udpai_hub_decoder(session->hub)->arena;
    udpa_err err = udpai_lrs_unpack(arena, message, &request, ret_error);
    if (err == UDPA_OK && lrs->peer)
        err = on_node_changed(lrs, request->node, ret_error);
    else if (err == UDPA_OK)
        err = on_node(lrs, request->node, ret_error);
    if (err == UDPA_OK && is_first)
        err = udpai_lrs_gap_hold(lrs, message, request->n_cluster_stats);
    else if (err == UDPA_OK)
        err = udpai_lrs_take(lrs, request->cluster_stats, request->n_cluster_stats, true);
    lrs->n_reports++;
    udpai_arena_reset(arena);
    return udpai_fail_code(ret_error, err);
}

static void
lrs_order(udpai_session *session, udpai_order *order)
{
    udpai_lrs *lrs = udpai_lrs_of(session);
    bool subscribed = order->kind == UDPAI_ORDER_SUBSCRIBE;
    udpa_err err = UDPA_OK;
    if (order->kind == UDPAI_ORDER_ACL && lrs->peer)
        udpai_session_admit_again(session, NULL, lrs->peer);
    else if (order->kind == UDPAI_ORDER_PUBLICATION_DONE && order->publication)
        udpai_lrs_publication_done(lrs, order->publication);
    else if ((subscribed || order->kind == UDPAI_ORDER_UNSUBSCRIBE) && lrs->peer)
        err = udpai_lrs_subscribe(lrs, order->subscription, subscribed);
    if (err != UDPA_OK)
        udpai_session_finish(session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static const udpai_session_ops lrs_ops = {
    .name = "lrs",
    .is_client = true,
    .receive = lrs_receive,
    .next = udpai_lrs_next,
    .order = lrs_order,
    .describe = udpai_lrs_describe,
    .free = lrs_free,
};
