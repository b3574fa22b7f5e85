/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session: a request is carried out when it comes, and what is to be sent is found when
 * it can be sent. */
#include "base/alloc.h"
#include "model/type_url.h"
#include "model/types.h"
#include "session/client_log.h"
#include "session/status.h"
#include "wire/compose.h"
#include "xds/select_audience.h"
#include "xds/xds_internal.h"

/* The number of the nonce in both kinds of response. */
#define NONCE_FIELD 5
#define LARGE_STATE_BYTES ((size_t)4 * 1024 * 1024)

static void
on_wake(udpai_subscriber *subscriber)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(subscriber, udpai_xds, subscriber)->session);
}

static const udpai_subscriber_ops subscriber_ops = {
    .wake = on_wake,
    .may_remove = udpai_xds_may_remove,
    .may_add = udpai_xds_may_add,
};

udpa_err
udpai_xds_begin(udpai_session **ret_session,
                udpai_hub *hub,
                const udpai_stream_info *info,
                const udpai_xds_protocol *protocol)
{
    const udpai_xds_method *method = info->context;
    udpai_xds *xds = udpai_alloc(sizeof(*xds));
    if (!xds)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&xds->session, hub, &protocol->ops, info);
    if (err != UDPA_OK) {
        udpai_free(xds);
        return err;
    }
    xds->protocol = protocol;
    xds->server = method->server;
    xds->type_url = method->type_url;
    udpai_poll_init(&xds->poll, &xds->session, &protocol->poll_texts);
    udpai_xds_removals_init(xds);
    udpai_list_init(&xds->in_siblings);
    udpai_list_init(&xds->in_waiting);
    *ret_session = &xds->session;
    /* Any renderer will do until the first request decides which. */
    err = udpai_session_init_subscriber(&xds->session, &xds->subscriber, &subscriber_ops,
                                        &method->server->audiences[0].renderers[0].renderer);
    if (err != UDPA_OK)
        udpai_session_finish(&xds->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}

/* Consumes the reference. */
static void
set_peer(udpai_xds *xds, udpai_node_info *peer)
{
    udpai_memory_change(udpai_hub_memory(xds->session.hub), udpai_node_info_size(xds->peer),
                        udpai_node_info_size(peer));
    udpai_node_info_unref(xds->peer);
    xds->peer = peer;
}

void
udpai_xds_free(udpai_session *session)
{
    udpai_xds *xds = udpai_xds_of(session);
    udpai_xds_siblings_leave(xds);
    for (size_t i = 0; i < xds->subscriber.subscriptions.n; i++) {
        udpai_subscription *subscription = xds->subscriber.subscriptions.items[i];
        if (udpai_subscription_label(subscription).len == 0) /* parts share it */
            udpai_xds_type_free(udpai_xds_type_of(subscription));
    }
    udpai_xds_awaited_done_all(xds);
    udpai_xds_removals_done(xds);
    udpai_poll_done(&xds->poll);
    udpai_subscriber_done(&xds->subscriber);
    udpai_body_unref(xds->writing);
    udpai_xds_group_leave(&xds->server->groups, session->hub, xds->group);
    set_peer(xds, NULL);
    udpai_free(xds);
}

void
udpai_xds_order(udpai_session *session, udpai_order *order)
{
    udpai_xds *xds = udpai_xds_of(session);
    udpa_error *error = NULL;
    if (order->kind == UDPAI_ORDER_DRAIN && xds->protocol->poll_texts.what)
        udpai_poll_end_wait(&xds->poll);
    if (order->kind != UDPAI_ORDER_ACL || !xds->audience)
        return;
    udpai_session_admit_again(session, &xds->subscriber, xds->peer);
    if (udpai_xds_ask_barred(xds, &error) != UDPA_OK)
        udpai_session_finish(session, error);
}

const udpai_renderer *
udpai_xds_renderer_for(const udpai_xds *xds, udpai_xds_form form)
{
    const udpai_xds_audience *audience = xds->audience;
    return &(xds->sends_errors ? audience->with_errors : audience->renderers)[form].renderer;
}

/* ---- requests ---- */

static udpai_xds_client
client_of(const udpai_xds *xds)
{
    return (udpai_xds_client){xds->session.info.identity, xds->peer};
}

static udpa_err
choose_audience(udpai_xds *xds, udpa_error **ret_error)
{
    const udpai_xds_client client = client_of(xds);
    udpai_xds_membership belonging;
    udpa_err err =
        udpai_xds_select_audience(xds->server, xds->session.hub, &client, &belonging, ret_error);
    if (err != UDPA_OK)
        return err;
    xds->audience = belonging.audience;
    xds->group = belonging.group;
    return UDPA_OK;
}

static bool
is_node(const udpai_xds *xds)
{
    return xds->peer && udpai_node_info_has_feature(xds->peer, UDPAI_FEATURE_NODE);
}

/* The client of a stream cannot change while it is served. Waits of nodes would add up. */
static udpa_err
on_node(udpai_xds *xds, udpa_error **ret_error)
{
    udpa_err err = udpai_session_check_share(&xds->session, xds->peer, ret_error);
    if (err == UDPA_OK && !xds->audience)
        err = choose_audience(xds, ret_error);
    if (err == UDPA_OK)
        err = udpai_session_admit(&xds->session, &xds->subscriber, xds->peer, ret_error);
    if (err != UDPA_OK)
        return err;
    if (xds->protocol->has_siblings)
        udpai_client_log_node(&xds->session, xds->peer);
    xds->sends_errors =
        xds->audience->resource_errors ||
        (xds->peer && udpai_node_info_has_feature(xds->peer, UDPAI_XDS_FEATURE_ERRORS));
    xds->subscriber.renderer = xds->protocol->choose_renderer(xds);
    xds->subscriber.is_debounced = !is_node(xds);
    return UDPA_OK;
}

/* What was sent for one audience may have other names in another, and a client cannot be sent that:
 * it connects again, with what it holds, and is served as what it has become. */
static udpa_err
on_node_changed(udpai_xds *xds, udpa_error **ret_error)
{
    const udpai_xds_audience *now = udpai_xds_audience_choose(
        xds->server->audiences, xds->server->n_audiences, xds->session.info.identity, xds->peer);
    const udpai_xds_client client = client_of(xds);
    if (!now)
        return udpai_xds_reject_unmatched_client(xds->server, xds->session.hub, &client, ret_error);
    udpa_err admitted = udpai_session_admit(&xds->session, &xds->subscriber, xds->peer, ret_error);
    if (admitted != UDPA_OK)
        return admitted;
    bool stays = now == xds->audience;
    if (xds->group && now == udpai_xds_group_template(xds->group)) {
        udpa_err err = udpai_xds_group_on_node_changed(xds->group, xds->session.hub, &client,
                                                       &stays, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    if (stays && xds->protocol->has_siblings)
        udpai_client_log_node(&xds->session, xds->peer);
    if (stays)
        return udpai_xds_ask_barred(xds, ret_error);
    if (xds->group)
        return udpai_fail(ret_error, UDPA_ERR_ABORTED,
                          "your Node has changed, and with it what you are shown: connect again");
    return udpai_fail(ret_error, UDPA_ERR_ABORTED,
                      "your Node has changed, and with it you belong to audience '%.*s' of this "
                      "node, and no longer to '%.*s': connect again",
                      UDPAI_SHOWN(now->name), UDPAI_SHOWN(xds->audience->name));
}

/* Only the first request need have it. A later one may have it, too, or less of it, which changes
 * nothing; in full, it counts. */
static udpa_err
take_node(udpai_xds *xds, udpai_xds_request *request, udpa_error **ret_error)
{
    bool is_news =
        request->node && (!xds->peer || (udpai_node_info_is_as_full(request->node, xds->peer) &&
                                         !udpai_node_info_equal(request->node, xds->peer)));
    if (!is_news)
        return xds->audience ? UDPA_OK : on_node(xds, ret_error);
    if (udpai_node_info_parts(request->node)->id.len > UDPAI_AUTHORITY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the id of the Node is longer than %d bytes",
                          UDPAI_AUTHORITY_MAX);
    bool is_first = !xds->peer;
    set_peer(xds, UDPAI_TAKE(request->node));
    return is_first ? on_node(xds, ret_error) : on_node_changed(xds, ret_error);
}

/* On a stream of one type the request need not have it. */
static udpa_err
settle_type(const udpai_xds *xds, udpai_str *type_url, udpa_error **ret_error)
{
    if (xds->type_url.len == 0)
        return UDPA_OK;
    if (type_url->len == 0)
        *type_url = xds->type_url;
    if (udpai_str_eq(*type_url, xds->type_url))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "this service is for the type '%s' alone, and type_url is '%.*s': ask the "
                      "service of that type, or the aggregated one",
                      xds->type_url.data, UDPAI_SHOWN(*type_url));
}

static udpa_err
check_type(const udpai_xds *xds, udpai_str type_url, udpa_error **ret_error)
{
    if (type_url.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a request on an aggregated stream must have a type_url, such as "
                          "type.googleapis.com/envoy.config.cluster.v3.Cluster");
    if (type_url.len > UDPAI_TYPE_URL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "type_url is longer than %d bytes: '%.60s…'",
                          UDPAI_TYPE_URL_MAX, type_url.data);
    if (xds->n_types >= UDPAI_XDS_TYPES_MAX && !udpai_subscriber_find(&xds->subscriber, type_url))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "a stream has at most %d types, and '%.*s' is one more",
                          UDPAI_XDS_TYPES_MAX, (int)type_url.len, type_url.data);
    return UDPA_OK;
}

static bool
must_be_named(const udpai_xds_server *server, udpai_str type_url)
{
    for (size_t i = 0; i < server->n_explicit_wildcards; i++)
        if (udpai_str_eq(server->explicit_wildcards[i], type_url))
            return true;
    return false;
}

/* gRPC asks for listeners, for what they name, and so on: it needs no order. */
static void
note_role(udpai_xds *xds, udpai_subscription *subscription)
{
    udpai_xds_role role = udpai_xds_role_of(udpai_subscription_type_url(subscription));
    udpai_xds_type_of(subscription)->role = role;
    xds->roles |= 1U << role;
    if (role != UDPAI_XDS_CLUSTERS)
        return;
    xds->clusters = subscription;
    xds->has_listeners_first =
        udpai_subscriber_find(&xds->subscriber, UDPAI_STR(UDPAI_TYPE_LISTENER)) != NULL;
}

static udpai_subscription *
open_type(udpai_xds *xds, udpai_str type_url)
{
    udpai_memory *memory = udpai_hub_memory(xds->session.hub);
    udpai_xds_type *type = udpai_alloc_in(memory, sizeof(*type));
    if (!type)
        return NULL;
    type->memory = memory;
    udpai_list_init(&type->in_flight);
    udpai_xds_requested_name_init(type);
    type->is_named = must_be_named(xds->server, type_url);
    type->traffic = udpai_hub_traffic(xds->session.hub, type_url);
    udpai_subscription *subscription =
        udpai_subscriber_get(&xds->subscriber, type_url, xds->protocol->choose_mode(xds, type_url));
    if (!subscription) {
        udpai_free_in(memory, type, sizeof(*type));
        return NULL;
    }
    udpai_subscription_set_userdata(subscription, type);
    udpai_xds_delay_absence(xds, subscription);
    note_role(xds, subscription);
    xds->n_types++;
    return subscription;
}

/* In the state of the world it would send a version. A node takes a state for all that there is,
 * and would pass on what it lacks as removed. */
static bool
holds_nothing(const udpai_xds *xds, const udpai_xds_request *request)
{
    return request->version.len == 0 && !is_node(xds);
}

static udpa_err
carry_out(udpai_xds *xds, const udpai_xds_request *request, udpa_error **ret_error)
{
    udpai_subscription *subscription = udpai_subscriber_find(&xds->subscriber, request->type_url);
    bool is_first = !subscription;
    if (xds->protocol->has_siblings && !xds->siblings && udpai_xds_siblings_join(xds) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    if (is_first)
        subscription = open_type(xds, request->type_url);
    if (!subscription)
        return UDPA_ERR_NOMEM;
    if (is_first && holds_nothing(xds, request))
        udpai_subscription_take_unsettled(subscription);
    udpai_xds_note_answer(xds, udpai_xds_type_of(subscription), request);
    udpai_xds_removals_answered(xds);
    return xds->protocol->subscribe(xds, subscription, request, is_first, ret_error);
}

/* Where audiences are configured (they have names), a client may come to belong to another. */
static bool
needs_node(const udpai_xds *xds)
{
    const udpai_xds_audience *first = &xds->server->audiences[0];
    return !xds->peer || first->name.len > 0 || udpai_xds_template_is(first->default_namespace);
}

udpa_err
udpai_xds_receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_xds *xds = udpai_xds_of(session);
    udpai_xds_request request = {0};
    udpa_err err = xds->protocol->decode(udpai_hub_decoder(session->hub), message, needs_node(xds),
                                         &request, ret_error);
    if (err != UDPA_OK)
        return err;
    err = take_node(xds, &request, ret_error);
    if (err == UDPA_OK)
        err = settle_type(xds, &request.type_url, ret_error);
    if (err == UDPA_OK)
        err = check_type(xds, request.type_url, ret_error);
    if (err == UDPA_OK)
        err = carry_out(xds, &request, ret_error);
    session->is_calm =
        err == UDPA_OK && request.nonce.len && !request.is_refusal && xds->asks_nothing_new;
    udpai_xds_request_done(&request);
    udpai_xds_siblings_moved(xds);
    return udpai_fail_code(ret_error, err);
}

/* ---- responses ---- */

static udpa_err
compose_answer(const udpai_xds *xds,
               const udpai_xds_missing *missing,
               size_t n_missing,
               udpai_xds_next_response *ret)
{
    UDPA_AUTO(udpai_body_unref) udpai_body *body = udpai_body_new();
    if (!body)
        return UDPA_ERR_NOMEM;
    const udpai_xds_renderer *renderer =
        UDPAI_CONTAINER_OF(xds->subscriber.renderer, const udpai_xds_renderer, renderer);
    udpa_err err = renderer->compose_answer(renderer, ret->subscription, missing, n_missing, body);
    if (err == UDPA_OK)
        ret->body = UDPAI_TAKE(body);
    return err;
}

static udpa_err
answer_unnameable(udpai_xds *xds, udpai_xds_type *type, udpai_xds_next_response *ret)
{
    udpai_xds_missing missing[UDPAI_XDS_UNNAMEABLE_MAX];
    size_t n = udpai_xds_unreported(type, missing, UDPAI_XDS_UNNAMEABLE_MAX);
    udpa_err err = compose_answer(xds, missing, n, ret);
    udpai_xds_reported(xds, type);
    type->n_removals += n;
    return err;
}

/* Names that cannot be are certainly not there. */
static udpa_err
find_unnameable(udpai_xds *xds, udpai_xds_next_response *ret)
{
    for (size_t i = 0; xds->n_unreported && i < xds->subscriber.subscriptions.n; i++) {
        udpai_subscription *subscription = xds->subscriber.subscriptions.items[i];
        udpai_xds_type *type = udpai_xds_type_of(subscription);
        if (type->n_unreported == 0)
            continue;
        ret->subscription = subscription;
        return answer_unnameable(xds, type, ret);
    }
    return UDPA_OK;
}

/* The members of a collection were sent; that there are none is sent of the collection. */
static udpa_err
complete_glob(udpai_xds *xds, const udpai_delivery *delivery, udpai_xds_next_response *ret)
{
    const udpai_xds_missing missing = {udpai_subscription_label(delivery->subscription),
                                       {0},
                                       UDPA_ERR_NOT_FOUND,
                                       UDPAI_XDS_NOT_THERE};
    if (!udpai_subscription_is_empty(delivery->subscription))
        return UDPA_OK;
    ret->subscription = delivery->subscription;
    udpai_xds_type_of(delivery->subscription)->n_removals++;
    return compose_answer(xds, &missing, 1, ret);
}

/* Of "complete", only a client needs to know that asked for all, and for which there was nothing to
 * send: it waits for that. */
static bool
is_subscribed(const udpai_delivery *delivery)
{
    udpai_xds_type *type = udpai_xds_type_of(delivery->subscription);
    if (delivery->kind != UDPAI_DELIVERY_COMPLETE)
        return delivery->body->parts.n > 0;
    return --type->n_awaited == 0 && !type->is_answered;
}

static void
warn_if_large(udpai_xds *xds, const udpai_delivery *delivery)
{
    unsigned n_suppressed;
    if (delivery->kind != UDPAI_DELIVERY_STATE || delivery->body->size_bytes <= LARGE_STATE_BYTES ||
        !udpai_log_allow(&xds->server->large_states, udpai_hub_wheel(xds->session.hub)->now_ms,
                         &n_suppressed))
        return;
    udpai_str type = udpai_subscription_type_url(delivery->subscription);
    udpai_log_about(
        UDPA_LOG_WARNING, "xds", UDPAI_ABOUT({UDPAI_LOG_TYPE, type}),
        "the state of the world of type %.*s has %zu bytes, and is sent whole with each change: "
        "clients of the delta protocol are sent the change alone (%u more not shown)",
        (int)type.len, type.data, delivery->body->size_bytes, n_suppressed);
}

/* Takes over the delivery's body. */
static udpa_err
take_delivery(udpai_xds *xds, const udpai_delivery *delivery, udpai_xds_next_response *ret)
{
    bool ends_glob = delivery->kind == UDPAI_DELIVERY_COMPLETE &&
                     udpai_subscription_glob(delivery->subscription).len;
    if (ends_glob || !is_subscribed(delivery)) {
        udpai_body_unref(delivery->body);
        return ends_glob ? complete_glob(xds, delivery, ret) : UDPA_OK;
    }
    warn_if_large(xds, delivery);
    udpai_xds_follow(xds, delivery);
    udpai_xds_siblings_sent(xds, delivery);
    ret->subscription = delivery->subscription;
    ret->body = delivery->body;
    if (delivery->kind == UDPAI_DELIVERY_COMPLETE)
        return UDPA_OK;
    ret->kind = delivery->kind;
    ret->place = delivery->place;
    ret->head = delivery->head;
    return UDPA_OK;
}

static udpa_err
find_next(udpai_xds *xds, udpai_xds_next_response *ret, udpa_error **ret_error)
{
    udpa_err err = find_unnameable(xds, ret);
    while (err == UDPA_OK && !ret->body) {
        udpai_delivery delivery;
        err = udpai_subscriber_next(&xds->subscriber, &delivery);
        if (err == UDPA_ERR_ABORTED)
            return udpai_fail(ret_error, err,
                              "too far behind: more was removed than is remembered; connect again "
                              "with initial_resource_versions");
        if (err != UDPA_OK || !delivery.body)
            break;
        err = take_delivery(xds, &delivery, ret);
    }
    return err;
}

udpa_err
udpai_xds_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_xds *xds = udpai_xds_of(session);
    udpai_xds_next_response next = {.place = UDPAI_ACK_POSITION_NONE};
    xds->writing = udpai_body_unref(xds->writing);
    udpa_err err = find_next(xds, &next, ret_error);
    if (err != UDPA_OK || !next.body)
        return udpai_fail_code(ret_error, err);
    xds->writing = next.body;
    out->parts = next.body->parts.items;
    out->n_parts = next.body->parts.n;
    udpai_nonce_tail(++xds->last_nonce, NONCE_FIELD, out->tail);
    out->tail_len = UDPAI_NONCE_TAIL_LEN;
    out->is_answered = true;
    udpai_xds_note_sent(xds, &next);
    udpai_xds_siblings_moved(xds);
    session->is_calm &= udpai_type_is_leaf(udpai_subscription_type_url(next.subscription));
    *ret_any = true;
    return UDPA_OK;
}
