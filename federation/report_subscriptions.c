/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions to what clients report, and which peers are asked for it.
 *
 * Nodes pass requests on, and may have dialled each other in a ring. So that none is kept for ever
 * because the next node keeps it, each request has a distance, how many nodes are between here and
 * the subscriber, and ends where that is more than what is reported could come back over. */
#include "federation/reports.h"

#include "base/alloc.h"
#include "federation/demand.h"
#include "federation/interest.h"
#include "federation/interest_internal.h"
#include "federation/publishers.h"
#include "federation/source.h"
#include "model/client_type.h"

/* Each is asked from every client, and what is asked is kept for those that come. */
#define SUBSCRIPTIONS_MAX 1000
/* No subscriber, or none that it would reach. */
#define FAR UDPAI_HOPS_MAX

/* A node that has this one dial it passes the request on. */
typedef struct passed_on {
    uint64_t session;
    uint32_t distance;
} passed_on;

/* Something that is asked for; for a while also what has no subscriber any more, because the
 * subscriber may have lost its stream just now. */
typedef struct report_subscription {
    udpai_interest *interest;
    udpai_timer linger;
    size_t n_subscribed; /* here, from clients anywhere below */
    size_t n_direct;     /* or from those alone that have dialled this node */
    UDPAI_VECTOR(passed_on) others;
    UDPAI_VECTOR(uint64_t) refused; /* sessions of peers that are asked again in a while */
    uint32_t held; /* distance of the nearest lost subscriber, until the linger ends; FAR: none */
    bool is_direct_held;    /* the same of n_direct */
    uint32_t known;         /* the distance that nodes below know; FAR: they are not asked */
    bool asks_clients;      /* those that are there, and come */
    bool asks_set;          /* other replicas */
    bool is_announced;      /* the demand, to our surroundings */
    uint32_t type_len, len; /* of the type; of both, with a blank and the text */
    char key[];
} report_subscription;

static udpai_str
request_key(const void *item)
{
    const report_subscription *request = item;
    return (udpai_str){request->key, request->len};
}

static udpai_str
type_of(const report_subscription *request)
{
    return (udpai_str){request->key, request->type_len};
}

static udpai_str
text_of(const report_subscription *request)
{
    size_t skip = (size_t)request->type_len + 1;
    return (udpai_str){request->key + skip, request->len - skip};
}

static bool
is_wildcard(const report_subscription *request)
{
    return text_of(request).data[0] == '*';
}

/* Which peers are asked for the same. */
typedef enum side {
    SIDE_CLIENTS,
    SIDE_NODES,
    SIDE_SET, /* other replicas of this node */
} side;

static side
side_of(const udpai_peer *peer)
{
    return peer->is_of_set ? SIDE_SET : peer->is_node ? SIDE_NODES : SIDE_CLIENTS;
}

static bool
asks(const report_subscription *request, side which)
{
    switch (which) {
    case SIDE_NODES:
        return request->known != FAR;
    case SIDE_SET:
        return request->asks_set;
    default:
        return request->asks_clients;
    }
}

/* ---- how far away subscribers are ---- */

static uint32_t
nearest(const report_subscription *request)
{
    uint32_t distance = request->n_subscribed ? 0 : FAR;
    for (size_t i = 0; i < request->others.n; i++)
        if (request->others.items[i].distance < distance)
            distance = request->others.items[i].distance;
    return distance;
}

static uint32_t
distance_of(const report_subscription *request)
{
    uint32_t distance = nearest(request);
    return distance < request->held ? distance : request->held;
}

static bool
is_unused(const report_subscription *request)
{
    return !request->n_subscribed && !request->n_direct && !request->others.n &&
           request->held == FAR && !request->is_direct_held;
}

/* A subscriber of that distance is lost, and may come again. */
static void
hold(report_subscription *request, uint32_t distance)
{
    if (distance >= request->held)
        return;
    request->held = distance;
    udpai_timer_cancel(&request->linger);
}

/* ---- what was reported before ---- */

typedef struct asked_peer {
    udpai_interest *interest;
    const udpai_peer *peer;
} asked_peer;

static bool
is_asked_already(void *userdata, const udpa_resource *resource)
{
    const asked_peer *self = userdata;
    return udpai_reports_asks(self->interest, self->peer, udpai_resource_type_url(resource),
                              udpai_resource_name(resource));
}

/* Of a client that leaves while a peer is not asked, the peer sends no removal: the client would be
 * listed until its ttl ends, and be listed twice if it has moved. Those that are there are sent
 * again. Other reports stay until their ttl ends: health must not change because a stream ends.
 * To be called before the request asks the peer. */
static void
forget_clients(const report_subscription *request, const udpai_peer *peer)
{
    udpai_str type_url = type_of(request), text = text_of(request);
    udpai_interest *interest = request->interest;
    asked_peer self = {interest, peer};
    if (!udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS)))
        return;
    udpai_origin *origin =
        udpai_publisher_find(interest->context, udpai_identity_name(peer->identity), peer->id);
    if (origin && is_wildcard(request))
        udpai_store_withdraw_all(interest->context->store, origin, type_url,
                                 (udpai_str){text.data + 1, text.len - 1}, is_asked_already, &self);
    else if (origin && !udpai_reports_asks(interest, peer, type_url, text))
        udpai_store_withdraw(interest->context->store, origin, type_url, text);
}

static void
forget_clients_of_all(const report_subscription *request, side which)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(request->interest->peers, &at)))
        if (peer->has_reports && side_of(peer) == which)
            forget_clients(request, peer);
}

/* ---- asking ---- */

/* Without memory the client is not asked; it is when it comes again. */
static void
send(const report_subscription *request, const udpai_peer *peer, udpai_order_kind kind)
{
    udpai_str text = text_of(request);
    const udpai_str everything = {"", 0};
    udpai_subscription_message message = {
        .type_url = type_of(request), .names = &text, .n_names = 1};
    if (is_wildcard(request)) {
        message.name_space = (udpai_str){text.data + 1, text.len - 1};
        message.names = &everything;
    }
    if (kind == UDPAI_ORDER_SUBSCRIBE && peer->is_node && peer->is_extended)
        message.distance = peer->is_of_set ? 1 : request->known;
    udpai_order *order = udpai_order_new(kind);
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return;
    }
    order->session = peer->session;
    udpai_context_order(request->interest->context, order);
}

static void
send_all(const report_subscription *request, side which, udpai_order_kind kind)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(request->interest->peers, &at)))
        if (peer->has_reports && side_of(peer) == which)
            send(request, peer, kind);
}

/* Those that know nothing of distances would send all of it again. */
static void
send_distance(const report_subscription *request)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(request->interest->peers, &at)))
        if (peer->has_reports && side_of(peer) == SIDE_NODES && peer->is_extended)
            send(request, peer, UDPAI_ORDER_SUBSCRIBE);
}

/* The end of the wildcard of everything ends all wildcards of the type (see Unsubscribe): those
 * that are still subscribed to are asked for again. */
static void
ask_again(const report_subscription *ended, side which)
{
    size_t at = 0;
    const report_subscription *request;
    if (!is_wildcard(ended) || text_of(ended).len > 1)
        return;
    while ((request = udpai_map_next(&ended->interest->report_subscriptions, &at)))
        if (is_wildcard(request) && asks(request, which) &&
            udpai_str_eq(type_of(request), type_of(ended)))
            send_all(request, which, UDPAI_ORDER_SUBSCRIBE);
}

static void
ask_nodes(report_subscription *request, uint32_t distance)
{
    uint32_t before = request->known;
    if (distance == before)
        return;
    if (before == FAR)
        forget_clients_of_all(request, SIDE_NODES);
    request->known = distance;
    if (distance == FAR) {
        send_all(request, SIDE_NODES, UDPAI_ORDER_UNSUBSCRIBE);
        ask_again(request, SIDE_NODES);
    } else if (before == FAR) {
        send_all(request, SIDE_NODES, UDPAI_ORDER_SUBSCRIBE);
    } else {
        send_distance(request);
    }
}

static void
ask_side(report_subscription *request, side which, bool *is_asked, bool is_asked_now)
{
    if (is_asked_now == *is_asked)
        return;
    if (is_asked_now)
        forget_clients_of_all(request, which);
    *is_asked = is_asked_now;
    send_all(request, which, is_asked_now ? UDPAI_ORDER_SUBSCRIBE : UDPAI_ORDER_UNSUBSCRIBE);
    if (!is_asked_now)
        ask_again(request, which);
}

/* May ask for something else. */
static void
announce(report_subscription *request, bool subscribed)
{
    const udpai_node_env *env = &request->interest->context->env;
    if (subscribed == request->is_announced)
        return;
    request->is_announced = subscribed;
    if (env->demand_changed)
        env->demand_changed(env->userdata, type_of(request), text_of(request), subscribed);
}

/* At once what is new, or subscribed to from farther away; what has no use any more, later. */
static void
carry_out(report_subscription *request)
{
    const udpai_interest *interest = request->interest;
    if (nearest(request) <= request->held)
        request->held = FAR;
    request->is_direct_held = request->is_direct_held && !request->n_direct;
    uint32_t distance = distance_of(request);
    bool is_subscribed = distance != FAR;
    bool waits = request->held != FAR || request->is_direct_held || is_unused(request);
    if (!waits)
        udpai_timer_cancel(&request->linger);
    else if (!udpai_timer_is_set(&request->linger))
        udpai_timer_set(interest->context->wheel, &request->linger,
                        udpai_context_now(interest->context) +
                            interest->context->timing.interest_linger_ms);
    ask_nodes(request, is_subscribed ? distance + 1 : FAR);
    ask_side(request, SIDE_CLIENTS, &request->asks_clients,
             is_subscribed || request->n_direct || request->is_direct_held);
    /* What others have subscribed to, they ask of each replica themselves. */
    ask_side(request, SIDE_SET, &request->asks_set, request->n_subscribed || request->held == 0);
    announce(request, is_subscribed);
}

static void
free_request(report_subscription *request)
{
    udpai_timer_cancel(&request->linger);
    udpai_vector_done(&request->others);
    udpai_vector_done(&request->refused);
    udpai_free(request);
}

static void
on_linger_end(udpai_timer *timer)
{
    report_subscription *request = UDPAI_CONTAINER_OF(timer, report_subscription, linger);
    request->held = FAR;
    request->is_direct_held = false;
    carry_out(request);
    if (!is_unused(request))
        return;
    udpai_map_remove(&request->interest->report_subscriptions, request_key(request));
    free_request(request);
}

/* ---- subscribing ---- */

static void
log_full(udpai_interest *interest, udpai_str type_url)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&interest->context->refused_log, udpai_context_now(interest->context),
                        &n_suppressed))
        udpai_log(
            UDPA_LOG_WARNING, "federation",
            "clients are asked for %d names and namespaces, which is the limit: no more of type "
            "%.*s are subscribed to; subscribe to a namespace, not to names (%u more not shown)",
            SUBSCRIPTIONS_MAX, (int)type_url.len, type_url.data, n_suppressed);
}

static report_subscription *
make_request(udpai_interest *interest, udpai_str type_url, udpai_str key)
{
    if (interest->report_subscriptions.n >= SUBSCRIPTIONS_MAX) {
        log_full(interest, type_url);
        return NULL;
    }
    report_subscription *request = udpai_alloc(sizeof(*request) + key.len);
    if (!request)
        return NULL;
    request->interest = interest;
    request->held = request->known = FAR;
    request->type_len = (uint32_t)type_url.len;
    request->len = (uint32_t)key.len;
    memcpy(request->key, key.data, key.len);
    udpai_timer_init(&request->linger, on_linger_end);
    if (udpai_map_add(&interest->report_subscriptions, request))
        return request;
    udpai_free(request);
    return NULL;
}

static report_subscription *
find_or_make(udpai_interest *interest, udpai_str type_url, udpai_str text, bool makes)
{
    char room[UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX + 1];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return NULL;
    const udpai_str key = {room, type_url.len + 1 + text.len};
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, text.data, text.len);
    report_subscription *request = udpai_map_get(&interest->report_subscriptions, key);
    return request || !makes ? request : make_request(interest, type_url, key);
}

void
udpai_reports_subscribe(udpai_interest *interest,
                        udpai_str type_url,
                        udpai_str text,
                        bool subscribed)
{
    if (!udpai_type_is_client(type_url))
        return;
    report_subscription *request = find_or_make(interest, type_url, text, subscribed);
    if (!request || (!subscribed && !request->n_subscribed))
        return; /* there was no memory or room to subscribe */
    request->n_subscribed += subscribed ? 1 : (size_t)-1;
    if (!request->n_subscribed)
        hold(request, 0);
    carry_out(request);
}

void
udpai_reports_subscribe_direct(udpai_interest *interest,
                               udpai_str type_url,
                               udpai_str text,
                               bool subscribed)
{
    report_subscription *request = find_or_make(interest, type_url, text, subscribed);
    if (!request || (!subscribed && !request->n_direct))
        return;
    request->n_direct += subscribed ? 1 : (size_t)-1;
    request->is_direct_held = !request->n_direct;
    carry_out(request);
}

/* ---- asking again ---- */

static const report_subscription *
asked_by_name(udpai_interest *interest, const udpai_peer *peer, udpai_str type_url, udpai_str name)
{
    const report_subscription *request = find_or_make(interest, type_url, name, false);
    return request && asks(request, side_of(peer)) ? request : NULL;
}

bool
udpai_reports_asks(udpai_interest *interest,
                   const udpai_peer *peer,
                   udpai_str type_url,
                   udpai_str name)
{
    char room[UDPA_NAME_MAX + 1];
    size_t at = 0;
    udpai_str prefix;
    if (!peer->has_reports || name.len > UDPA_NAME_MAX)
        return false;
    bool is_asked = asked_by_name(interest, peer, type_url, name);
    while (!is_asked && udpai_name_next_prefix(name, &at, &prefix))
        is_asked = asked_by_name(interest, peer, type_url, udpai_wildcard_text(room, prefix));
    return is_asked;
}

/* What a wildcard has is asked for by its name, and given back: it stays by the wildcard. That is
 * no subscription, and no node is to pass it on. */
static void
ask_singly(udpai_interest *interest,
           const udpai_peer *peer,
           const udpai_subscription_message *message)
{
    static const udpai_order_kind kinds[] = {UDPAI_ORDER_SUBSCRIBE, UDPAI_ORDER_UNSUBSCRIBE};
    for (size_t i = 0; message->n_names && i < UDPAI_ARRAY_LEN(kinds); i++) {
        udpai_order *order = udpai_order_new(kinds[i]);
        if (order)
            order->subscription = udpai_subscription_message_copy(message);
        if (!order || !order->subscription) {
            udpai_order_free(order);
            return; /* it is refreshed again; and one that stays asked for does no harm */
        }
        order->session = peer->session;
        udpai_context_order(interest->context, order);
    }
}

void
udpai_reports_ask_again(udpai_interest *interest,
                        const udpai_peer *peer,
                        udpai_str type_url,
                        const udpai_str *names,
                        size_t n_names)
{
    UDPAI_VECTOR(udpai_str) singly = {0};
    for (size_t i = 0; i < n_names; i++) {
        const report_subscription *request = asked_by_name(interest, peer, type_url, names[i]);
        if (!request) {
            (void)udpai_vector_push(&singly, names[i]);
            continue;
        }
        send(request, peer, UDPAI_ORDER_UNSUBSCRIBE);
        send(request, peer, UDPAI_ORDER_SUBSCRIBE);
    }
    const udpai_subscription_message message = {
        .type_url = type_url,
        .names = singly.items,
        .n_names = singly.n,
        .distance = peer->is_node && peer->is_extended ? FAR : 0,
    };
    ask_singly(interest, peer, &message);
    udpai_vector_done(&singly);
}

/* ---- what is refused ---- */

static void
ask_refused(report_subscription *request)
{
    for (size_t i = 0; i < request->refused.n; i++) {
        const udpai_peer *peer =
            udpai_peers_find(request->interest->peers, request->refused.items[i]);
        if (peer && peer->has_reports && asks(request, side_of(peer)))
            send(request, peer, UDPAI_ORDER_SUBSCRIBE);
    }
    udpai_vector_done(&request->refused);
}

static void
on_refused(udpai_timer *timer)
{
    udpai_interest *interest = UDPAI_CONTAINER_OF(timer, udpai_interest, refused_reports);
    size_t at = 0;
    report_subscription *request;
    while ((request = udpai_map_next(&interest->report_subscriptions, &at)))
        ask_refused(request);
}

static bool
has_refused(const report_subscription *request, const udpai_peer *peer)
{
    for (size_t i = 0; i < request->refused.n; i++)
        if (request->refused.items[i] == peer->session)
            return true;
    return false;
}

/* Without memory it is asked when it comes again. */
static void
note_refused(udpai_interest *interest, const udpai_peer *peer, udpai_str type_url, udpai_str text)
{
    report_subscription *request = find_or_make(interest, type_url, text, false);
    if (!request || has_refused(request, peer) ||
        !udpai_vector_push(&request->refused, peer->session))
        return;
    if (!udpai_timer_is_set(&interest->refused_reports))
        udpai_timer_set(interest->context->wheel, &interest->refused_reports,
                        udpai_context_now(interest->context) + UDPAI_ASK_AGAIN_MS);
}

void
udpai_reports_refused(udpai_interest *interest,
                      const udpai_peer *peer,
                      const udpai_subscription_message *error)
{
    char room[UDPA_NAME_MAX + 1];
    const udpai_str everything = {"", 0};
    const udpai_str *names = error->n_names ? error->names : &everything;
    size_t n_names = error->n_names ? error->n_names : 1;
    if (error->name_space.len > UDPA_NAME_MAX)
        return;
    for (size_t i = 0; i < n_names; i++)
        note_refused(interest, peer, error->type_url,
                     names[i].len ? names[i] : udpai_wildcard_text(room, error->name_space));
}

/* ---- what nodes pass on ---- */

static passed_on *
find_passed_on(const report_subscription *request, uint64_t session)
{
    for (size_t i = 0; i < request->others.n; i++)
        if (request->others.items[i].session == session)
            return &request->others.items[i];
    return NULL;
}

/* The first one to pass it on is an interest of this node as any other, the last one the end. */
static void
change_interest(const report_subscription *request, bool subscribed)
{
    if (request->others.n == (subscribed ? 1 : 0))
        udpai_interest_change(request->interest, type_of(request), text_of(request), subscribed);
}

static void
drop_passed_on(report_subscription *request, passed_on *one)
{
    udpai_vector_remove_unordered(&request->others, (size_t)(one - request->others.items));
    change_interest(request, false);
}

/* Without memory it is not passed on. */
static void
take_passed_on(report_subscription *request, uint64_t session, uint32_t distance)
{
    passed_on *one = find_passed_on(request, session);
    const passed_on fresh = {session, distance};
    if (one)
        one->distance = distance;
    else if (udpai_vector_push(&request->others, fresh))
        change_interest(request, true);
    carry_out(request);
}

/* Nodes that pass it on have waited for the lost subscriber already. */
static void
end_passed_on(report_subscription *request, uint64_t session)
{
    passed_on *one = find_passed_on(request, session);
    if (!one)
        return;
    drop_passed_on(request, one);
    carry_out(request);
}

static void
end_all_wildcards(const udpai_interest *interest, uint64_t session, udpai_str type_url)
{
    size_t at = 0;
    report_subscription *request;
    while ((request = udpai_map_next(&interest->report_subscriptions, &at)))
        if (is_wildcard(request) && udpai_str_eq(type_of(request), type_url))
            end_passed_on(request, session);
}

void
udpai_reports_passed_on(udpai_interest *interest, const udpai_report *report, udpai_str text)
{
    const udpai_subscription_message *message = report->subscription;
    udpai_str type_url = message->type_url;
    if (!udpai_type_is_client(type_url) || !udpai_peers_find(interest->peers, report->session))
        return;
    if (!report->subscribed && text.len == 1 && text.data[0] == '*') {
        end_all_wildcards(interest, report->session, type_url);
        return;
    }
    report_subscription *request = find_or_make(interest, type_url, text, report->subscribed);
    if (request && report->subscribed)
        take_passed_on(request, report->session, message->distance < FAR ? message->distance : FAR);
    else if (request)
        end_passed_on(request, report->session);
}

void
udpai_reports_closed(udpai_interest *interest, uint64_t session)
{
    size_t at = 0;
    report_subscription *request;
    while ((request = udpai_map_next(&interest->report_subscriptions, &at))) {
        passed_on *one = find_passed_on(request, session);
        if (!one)
            continue;
        hold(request, one->distance);
        drop_passed_on(request, one);
        carry_out(request);
    }
}

size_t
udpai_reports_n_subscriptions(const udpai_interest *interest)
{
    return interest->report_subscriptions.n;
}

/* ---- coming and going ---- */

void
udpai_reports_introduce(udpai_interest *interest, udpai_peer *peer)
{
    bool is_source = udpai_peer_source(peer) != NULL;
    if (peer->has_reports || is_source || interest->context->is_endpoint ||
        !udpai_node_info_has_feature(peer->info, UDPAI_FEATURE_CLIENT))
        return;
    size_t at = 0;
    const report_subscription *request;
    while ((request = udpai_map_next(&interest->report_subscriptions, &at)))
        if (asks(request, side_of(peer))) {
            forget_clients(request, peer);
            send(request, peer, UDPAI_ORDER_SUBSCRIBE);
        }
    peer->has_reports = true; /* until now it was asked for nothing */
}

void
udpai_reports_init(udpai_interest *interest)
{
    udpai_map_init(&interest->report_subscriptions, request_key);
    udpai_timer_init(&interest->refused_reports, on_refused);
}

void
udpai_reports_done(udpai_interest *interest)
{
    size_t at = 0;
    report_subscription *request;
    while ((request = udpai_map_next(&interest->report_subscriptions, &at)))
        free_request(request);
    udpai_map_done(&interest->report_subscriptions);
    udpai_timer_cancel(&interest->refused_reports);
}
