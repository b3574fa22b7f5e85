/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session: a request has the client's Node and capabilities, then come answers. */
#include "base/alloc.h"
#include "base/proto.h"
#include "envoy/service/health/v3/hds.pb-c.h"
#include "wire/message.h"
#include "xds/hds_internal.h"
#include "xds/notice.h"
#include "xds/reporter.h"

enum { /* field numbers of the public types */
    MESSAGE_REQUEST = 1,
    MESSAGE_ANSWER = 2,
    REQUEST_NODE = 1,
    REQUEST_CAPABILITY = 2,
};

static const udpai_session_ops stream_ops, fetch_ops;

const char *
udpai_hds_absent(void)
{
    return NULL;
}

void
udpai_hds_init(udpai_hds_service *service, udpai_xds_server *server)
{
    *service = (udpai_hds_service){
        .server = server,
        .methods =
            {
                {UDPAI_HDS_STREAM_PATH, false, service},
                {UDPAI_HDS_FETCH_PATH, true, service},
            },
    };
    udpai_hds_announce_setup(service);
}

/* ---- what has changed ---- */

static void
on_wake(udpai_subscriber *subscriber)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(subscriber, udpai_hds, subscriber)->session);
}

static const udpai_subscriber_ops subscriber_ops = {.wake = on_wake};

/* ---- beginning and end ---- */

static const udpai_poll_texts poll_texts = {
    "a FetchHealthCheck is one request",
    "a FetchHealthCheck needs a health_check_request with the client's Node",
    "is to be checked",
};

udpa_err
udpai_hds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    const udpai_hds_method *method = info->context;
    udpai_hds *hds = udpai_alloc(sizeof(*hds));
    if (!hds)
        return UDPA_ERR_NOMEM;
    udpa_err err =
        udpai_session_init(&hds->session, hub, method->is_fetch ? &fetch_ops : &stream_ops, info);
    if (err != UDPA_OK) {
        udpai_free(hds);
        return err;
    }
    hds->service = method->service;
    hds->is_fetch = method->is_fetch;
    udpai_poll_init(&hds->poll, &hds->session, &poll_texts);
    udpai_hds_announce_init(hds);
    *ret_session = &hds->session;
    err = udpai_session_init_subscriber(&hds->session, &hds->subscriber, &subscriber_ops,
                                        &udpai_xds_notice_renderer);
    if (err != UDPA_OK)
        udpai_session_finish(&hds->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}

static void
hds_free(udpai_session *session)
{
    udpai_hds *hds = udpai_hds_of(session);
    udpai_hds_announce_end(hds);
    udpai_xds_reporter_end(session, UDPAI_TAKE(hds->closed));
    udpai_poll_done(&hds->poll);
    udpai_subscriber_done(&hds->subscriber);
    udpai_xds_leave_audience(hds->service->server, session->hub, &hds->belonging);
    udpai_hds_forget_removed(hds);
    for (size_t i = 0; i < UDPAI_HDS_NAMES; i++) {
        udpa_bytes_unref(hds->names[i]);
        udpa_resource_unref(hds->held[i]);
    }
    udpa_resource_unref(hds->looked_at);
    udpai_health_table_free(hds->table);
    udpai_health_table_free(hds->before);
    udpa_bytes_unref(hds->writing);
    udpa_bytes_unref(hds->segment);
    udpai_node_info_unref(hds->peer);
    udpa_error_unref(hds->last_error);
    udpai_free(hds);
}

/* ---- its identity ---- */

/* To the loop side it is a publisher that may be asked to announce itself, and no node, whatever
 * capabilities it sends. */
static udpa_err
introduce(udpai_hds *hds)
{
    if (hds->is_fetch)
        return UDPA_OK;
    const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_CLIENT)};
    return udpai_xds_reporter_introduce(&hds->session, hds->peer, features,
                                        UDPAI_ARRAY_LEN(features), &hds->closed);
}

static udpa_err
on_node(udpai_hds *hds, udpai_node_info *node, udpa_error **ret_error)
{
    udpai_str id = udpai_node_info_parts(node)->id;
    if (id.len == 0 || id.len > UDPAI_AUTHORITY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the Node of a HealthCheckRequest needs an id, of at most %d bytes",
                          UDPAI_AUTHORITY_MAX);
    hds->peer = udpai_node_info_ref(node);
    const udpai_xds_client client = {hds->session.info.identity, hds->peer};
    udpa_err err = udpai_xds_select_audience(hds->service->server, hds->session.hub, &client,
                                             &hds->belonging, ret_error);
    if (err == UDPA_OK)
        err = udpai_session_admit(&hds->session, &hds->subscriber, hds->peer, ret_error);
    if (err == UDPA_OK)
        err = udpai_xds_reporter_segment(hds->peer, &hds->segment);
    if (err == UDPA_OK)
        err = udpai_hds_subscribe(hds, ret_error);
    if (err == UDPA_OK)
        err = udpai_hds_announce_begin(hds);
    return err == UDPA_OK ? introduce(hds) : err;
}

/* Later requests may have other capabilities; not another identity. */
static udpa_err
on_node_changed(const udpai_hds *hds, const udpai_node_info *node, udpa_error **ret_error)
{
    udpai_str before = udpai_node_info_parts(hds->peer)->id, now = udpai_node_info_parts(node)->id;
    if (now.len == 0 || udpai_str_eq(before, now))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_ABORTED,
                      "you were '%.*s' on this stream, and are '%.*s' now: connect again",
                      UDPAI_SHOWN(before), UDPAI_SHOWN(now));
}

/* ---- messages ---- */

static udpai_str
find_field(udpai_str message, uint32_t number, bool *ret_found)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    udpai_str found = {0};
    *ret_found = false;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES) {
            found = field.bytes;
            *ret_found = true;
        }
    return found;
}

static udpa_err
take_node(udpai_hds *hds, udpai_str bytes, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *node = NULL;
    udpai_decoder *decoder = udpai_hub_decoder(hds->session.hub);
    udpai_arena_reset(&decoder->arena);
    udpa_err err = udpai_node_info_decode(decoder, bytes, &node, ret_error);
    if (err != UDPA_OK)
        return err;
    return hds->peer ? on_node_changed(hds, node, ret_error) : on_node(hds, node, ret_error);
}

static udpa_err
take_request(udpai_hds *hds, udpai_str request, udpa_error **ret_error)
{
    bool has_node, has_capability;
    udpai_str node = find_field(request, REQUEST_NODE, &has_node);
    udpai_str text = find_field(request, REQUEST_CAPABILITY, &has_capability);
    unsigned capability = udpai_health_capability_read(text);
    udpa_err err = hds->is_fetch ? udpai_poll_begin(&hds->poll, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    if (has_node)
        err = take_node(hds, node, ret_error);
    else if (!hds->peer)
        err = udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                         "the first HealthCheckRequest must have the client's Node");
    if (err != UDPA_OK)
        return err;
    hds->has_looked &= capability == hds->capability;
    hds->capability = capability;
    udpai_session_ready(&hds->session);
    return UDPA_OK;
}

static udpa_err
take_answer(udpai_hds *hds, udpai_str answer, udpa_error **ret_error)
{
    if (hds->is_fetch)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "FetchHealthCheck gives out what is to be checked, and takes no answers: "
                          "nothing would tie them to it; they are for StreamHealthCheck");
    if (!hds->peer)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "a stream begins with a health_check_request, and its Node");
    return udpai_hds_answer(hds, answer, ret_error);
}

static udpa_err
hds_receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_hds *hds = udpai_hds_of(session);
    udpa_err err = udpai_scan(
        &envoy__service__health__v3__health_check_request_or_endpoint_health_response__descriptor,
        message, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    bool is_request, is_answer;
    udpai_str request = find_field(message, MESSAGE_REQUEST, &is_request);
    udpai_str answer = find_field(message, MESSAGE_ANSWER, &is_answer);
    if (is_request)
        err = take_request(hds, request, ret_error);
    else if (is_answer)
        err = take_answer(hds, answer, ret_error);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
fetch_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    return udpai_poll_next(&udpai_hds_of(session)->poll, udpai_hds_next, out, ret_any, ret_error);
}

static udpa_err
fetch_ended(udpai_session *session, udpa_error **ret_error)
{
    return udpai_poll_ended(&udpai_hds_of(session)->poll, ret_error);
}

static void
hds_order(udpai_session *session, udpai_order *order)
{
    udpai_hds *hds = udpai_hds_of(session);
    bool subscribed = order->kind == UDPAI_ORDER_SUBSCRIBE;
    udpa_err err = UDPA_OK;
    if (order->kind == UDPAI_ORDER_ACL && hds->peer)
        udpai_session_admit_again(session, &hds->subscriber, hds->peer);
    else if (order->kind == UDPAI_ORDER_PUBLICATION_DONE && order->publication)
        udpai_hds_publication_done(hds, order->publication);
    else if ((subscribed || order->kind == UDPAI_ORDER_UNSUBSCRIBE) && hds->called)
        err = udpai_hds_demand(hds, order->subscription, subscribed);
    if (err != UDPA_OK)
        udpai_session_finish(session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static const udpai_session_ops stream_ops = {
    .name = "hds",
    .is_client = true,
    .receive = hds_receive,
    .next = udpai_hds_next,
    .order = hds_order,
    .describe = udpai_hds_describe,
    .free = hds_free,
};

static const udpai_session_ops fetch_ops = {
    .name = "hds-fetch",
    .is_client = true,
    .receive = hds_receive,
    .next = fetch_next,
    .ended = fetch_ended,
    .order = hds_order,
    .describe = udpai_hds_describe,
    .free = hds_free,
};
