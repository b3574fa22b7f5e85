/* SPDX-License-Identifier: Apache-2.0 */
/* What is wanted of what clients report, and whom it is asked from.
 *
 * Nodes pass wishes on, and may have dialled each other in a ring: so that none wants something for
 * ever because the next one does, each wish has a distance, how many nodes are between here and who
 * wants it, and ends where that is more than what is reported could come back over. */
#include "federation/reports.h"

#include "base/alloc.h"
#include "federation/interest.h"
#include "model/client_type.h"

/* Each is asked from every client, and what is asked is kept for those that come. */
#define WISHES_MAX 1000
/* Nobody wants it, or nobody whom it would reach. */
#define FAR UDPAI_HOPS_MAX

/* A node that has this one dial it passes the wish on. */
typedef struct passed_on {
    uint64_t session;
    uint32_t distance;
} passed_on;

/* Something that is asked for; for a while also what nobody wants any more, because he who wanted
 * it may have lost his stream just now. */
typedef struct report_wish {
    udpai_node *node;
    udpai_timer linger;
    size_t n_wanted; /* by somebody here, from clients anywhere below */
    size_t n_direct; /* or from those alone that have dialled this node */
    UDPAI_VECTOR(passed_on) others;
    UDPAI_VECTOR(uint64_t) refused; /* sessions of those who are asked again in a while */
    uint32_t held;          /* how near one was who is lost, until the linger ends; FAR: none */
    bool is_direct_held;    /* the same of n_direct */
    uint32_t told;          /* the distance that nodes below know; FAR: they are not asked */
    bool asks_clients;      /* those that are there, and come */
    bool is_announced;      /* that it is wanted, to our surroundings */
    uint32_t type_len, len; /* of the type; of both, with a blank and the text */
    char key[];
} report_wish;

static udpai_str
wish_key(const void *item)
{
    const report_wish *wish = item;
    return (udpai_str){wish->key, wish->len};
}

static udpai_str
type_of(const report_wish *wish)
{
    return (udpai_str){wish->key, wish->type_len};
}

static udpai_str
text_of(const report_wish *wish)
{
    size_t skip = (size_t)wish->type_len + 1;
    return (udpai_str){wish->key + skip, wish->len - skip};
}

static bool
is_wildcard(const report_wish *wish)
{
    return text_of(wish).data[0] == '*';
}

static bool
asks(const report_wish *wish, bool nodes)
{
    return nodes ? wish->told != FAR : wish->asks_clients;
}

/* ---- how far away who wants it is ---- */

static uint32_t
nearest(const report_wish *wish)
{
    uint32_t distance = wish->n_wanted ? 0 : FAR;
    for (size_t i = 0; i < wish->others.n; i++)
        if (wish->others.items[i].distance < distance)
            distance = wish->others.items[i].distance;
    return distance;
}

static uint32_t
distance_of(const report_wish *wish)
{
    uint32_t distance = nearest(wish);
    return distance < wish->held ? distance : wish->held;
}

static bool
is_unused(const report_wish *wish)
{
    return !wish->n_wanted && !wish->n_direct && !wish->others.n && wish->held == FAR &&
           !wish->is_direct_held;
}

/* Who was so near is lost, and may come again. */
static void
hold(report_wish *wish, uint32_t distance)
{
    if (distance >= wish->held)
        return;
    wish->held = distance;
    udpai_timer_cancel(&wish->linger);
}

/* ---- asking ---- */

/* Without memory the client is not asked; it is when it comes again. */
static void
tell(const report_wish *wish, const udpai_peer *peer, udpai_order_kind kind)
{
    udpai_str text = text_of(wish);
    const udpai_str everything = {"", 0};
    udpai_subscription_message message = {.type_url = type_of(wish), .names = &text, .n_names = 1};
    if (is_wildcard(wish)) {
        message.name_space = (udpai_str){text.data + 1, text.len - 1};
        message.names = &everything;
    }
    if (kind == UDPAI_ORDER_SUBSCRIBE && peer->is_node && peer->is_extended)
        message.distance = wish->told;
    udpai_order *order = udpai_order_new(kind);
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return;
    }
    order->session = peer->session;
    udpai_context_order(&wish->node->context, order);
}

static void
tell_all(const report_wish *wish, bool nodes, udpai_order_kind kind)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(wish->node->peers, &at)))
        if (peer->has_reports && peer->is_node == nodes)
            tell(wish, peer, kind);
}

/* Those that know nothing of distances would send all of it again. */
static void
tell_distance(const report_wish *wish)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(wish->node->peers, &at)))
        if (peer->has_reports && peer->is_node && peer->is_extended)
            tell(wish, peer, UDPAI_ORDER_SUBSCRIBE);
}

/* The end of the wildcard of everything ends all wildcards of the type (see Unsubscribe): those
 * that are wanted are asked for again. */
static void
ask_again(const report_wish *ended, bool nodes)
{
    size_t at = 0;
    const report_wish *wish;
    if (!is_wildcard(ended) || text_of(ended).len > 1)
        return;
    while ((wish = udpai_map_next(&ended->node->report_wishes, &at)))
        if (is_wildcard(wish) && asks(wish, nodes) && udpai_str_eq(type_of(wish), type_of(ended)))
            tell_all(wish, nodes, UDPAI_ORDER_SUBSCRIBE);
}

static void
ask_nodes(report_wish *wish, uint32_t distance)
{
    uint32_t before = wish->told;
    if (distance == before)
        return;
    wish->told = distance;
    if (distance == FAR) {
        tell_all(wish, true, UDPAI_ORDER_UNSUBSCRIBE);
        ask_again(wish, true);
    } else if (before == FAR) {
        tell_all(wish, true, UDPAI_ORDER_SUBSCRIBE);
    } else {
        tell_distance(wish);
    }
}

static void
ask_clients(report_wish *wish, bool asked)
{
    if (asked == wish->asks_clients)
        return;
    wish->asks_clients = asked;
    tell_all(wish, false, asked ? UDPAI_ORDER_SUBSCRIBE : UDPAI_ORDER_UNSUBSCRIBE);
    if (!asked)
        ask_again(wish, false);
}

/* May ask for something else. */
static void
announce(report_wish *wish, bool wanted)
{
    const udpai_node_env *env = &wish->node->context.env;
    if (wanted == wish->is_announced)
        return;
    wish->is_announced = wanted;
    if (env->wanted)
        env->wanted(env->userdata, type_of(wish), text_of(wish), wanted);
}

/* At once what is new, and what is wanted from farther away; what has no use any more, later. */
static void
carry_out(report_wish *wish)
{
    const udpai_node *node = wish->node;
    if (nearest(wish) <= wish->held)
        wish->held = FAR;
    wish->is_direct_held = wish->is_direct_held && !wish->n_direct;
    uint32_t distance = distance_of(wish);
    bool is_wanted = distance != FAR;
    bool waits = wish->held != FAR || wish->is_direct_held || is_unused(wish);
    if (!waits)
        udpai_timer_cancel(&wish->linger);
    else if (!udpai_timer_is_set(&wish->linger))
        udpai_timer_set(node->context.wheel, &wish->linger,
                        udpai_context_now(&node->context) +
                            node->context.timing.interest_linger_ms);
    ask_nodes(wish, is_wanted ? distance + 1 : FAR);
    ask_clients(wish, is_wanted || wish->n_direct || wish->is_direct_held);
    announce(wish, is_wanted);
}

static void
free_wish(report_wish *wish)
{
    udpai_timer_cancel(&wish->linger);
    udpai_vector_done(&wish->others);
    udpai_vector_done(&wish->refused);
    udpai_free(wish);
}

static void
on_linger_end(udpai_timer *timer)
{
    report_wish *wish = UDPAI_CONTAINER_OF(timer, report_wish, linger);
    wish->held = FAR;
    wish->is_direct_held = false;
    carry_out(wish);
    if (!is_unused(wish))
        return;
    udpai_map_remove(&wish->node->report_wishes, wish_key(wish));
    free_wish(wish);
}

/* ---- wanting ---- */

static void
tell_full(udpai_node *node, udpai_str type_url)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&node->refused_log, udpai_context_now(&node->context), &n_suppressed))
        udpai_log(
            UDPA_LOG_WARNING, "federation",
            "clients are asked for %d things already, which is the limit: nothing more of type "
            "%.*s is asked for; subscribe to a namespace, not to names (%u more not shown)",
            WISHES_MAX, (int)type_url.len, type_url.data, n_suppressed);
}

static report_wish *
make_wish(udpai_node *node, udpai_str type_url, udpai_str key)
{
    if (node->report_wishes.n >= WISHES_MAX) {
        tell_full(node, type_url);
        return NULL;
    }
    report_wish *wish = udpai_alloc(sizeof(*wish) + key.len);
    if (!wish)
        return NULL;
    wish->node = node;
    wish->held = wish->told = FAR;
    wish->type_len = (uint32_t)type_url.len;
    wish->len = (uint32_t)key.len;
    memcpy(wish->key, key.data, key.len);
    udpai_timer_init(&wish->linger, on_linger_end);
    if (udpai_map_add(&node->report_wishes, wish))
        return wish;
    udpai_free(wish);
    return NULL;
}

static report_wish *
find_or_make(udpai_node *node, udpai_str type_url, udpai_str text, bool makes)
{
    char room[UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX + 1];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return NULL;
    const udpai_str key = {room, type_url.len + 1 + text.len};
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, text.data, text.len);
    report_wish *wish = udpai_map_get(&node->report_wishes, key);
    return wish || !makes ? wish : make_wish(node, type_url, key);
}

void
udpai_reports_want(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    if (!udpai_type_is_client(type_url))
        return;
    report_wish *wish = find_or_make(node, type_url, text, wanted);
    if (!wish || (!wanted && !wish->n_wanted))
        return; /* there was no memory or room to want it */
    wish->n_wanted += wanted ? 1 : (size_t)-1;
    if (!wish->n_wanted)
        hold(wish, 0);
    carry_out(wish);
}

void
udpai_reports_want_direct(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    report_wish *wish = find_or_make(node, type_url, text, wanted);
    if (!wish || (!wanted && !wish->n_direct))
        return;
    wish->n_direct += wanted ? 1 : (size_t)-1;
    wish->is_direct_held = !wish->n_direct;
    carry_out(wish);
}

/* ---- asking again ---- */

static const report_wish *
asked_by_name(udpai_node *node, const udpai_peer *peer, udpai_str type_url, udpai_str name)
{
    const report_wish *wish = find_or_make(node, type_url, name, false);
    return wish && asks(wish, peer->is_node) ? wish : NULL;
}

bool
udpai_reports_asks(udpai_node *node, const udpai_peer *peer, udpai_str type_url, udpai_str name)
{
    char room[UDPA_NAME_MAX + 1];
    size_t at = 0;
    udpai_str prefix;
    if (!peer->has_reports || name.len > UDPA_NAME_MAX)
        return false;
    bool is_asked = asked_by_name(node, peer, type_url, name);
    while (!is_asked && udpai_name_next_prefix(name, &at, &prefix))
        is_asked = asked_by_name(node, peer, type_url, udpai_wildcard_text(room, prefix));
    return is_asked;
}

/* What a wildcard has is asked for by its name, and given back: it stays by the wildcard. That is
 * nobody's wish, and no node is to pass it on. */
static void
ask_singly(udpai_node *node, const udpai_peer *peer, const udpai_subscription_message *message)
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
        udpai_context_order(&node->context, order);
    }
}

void
udpai_reports_ask_again(udpai_node *node,
                        const udpai_peer *peer,
                        udpai_str type_url,
                        const udpai_str *names,
                        size_t n_names)
{
    UDPAI_VECTOR(udpai_str) singly = {0};
    for (size_t i = 0; i < n_names; i++) {
        const report_wish *wish = asked_by_name(node, peer, type_url, names[i]);
        if (!wish) {
            (void)udpai_vector_push(&singly, names[i]);
            continue;
        }
        tell(wish, peer, UDPAI_ORDER_UNSUBSCRIBE);
        tell(wish, peer, UDPAI_ORDER_SUBSCRIBE);
    }
    const udpai_subscription_message message = {
        .type_url = type_url,
        .names = singly.items,
        .n_names = singly.n,
        .distance = peer->is_node && peer->is_extended ? FAR : 0,
    };
    ask_singly(node, peer, &message);
    udpai_vector_done(&singly);
}

/* ---- what is refused ---- */

static void
ask_who_refused(report_wish *wish)
{
    for (size_t i = 0; i < wish->refused.n; i++) {
        const udpai_peer *peer = udpai_peers_find(wish->node->peers, wish->refused.items[i]);
        if (peer && peer->has_reports && asks(wish, peer->is_node))
            tell(wish, peer, UDPAI_ORDER_SUBSCRIBE);
    }
    udpai_vector_done(&wish->refused);
}

static void
on_refused(udpai_timer *timer)
{
    udpai_node *node = UDPAI_CONTAINER_OF(timer, udpai_node, refused_reports);
    size_t at = 0;
    report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at)))
        ask_who_refused(wish);
}

static bool
has_refused(const report_wish *wish, const udpai_peer *peer)
{
    for (size_t i = 0; i < wish->refused.n; i++)
        if (wish->refused.items[i] == peer->session)
            return true;
    return false;
}

/* Without memory it is asked when it comes again. */
static void
note_refused(udpai_node *node, const udpai_peer *peer, udpai_str type_url, udpai_str text)
{
    report_wish *wish = find_or_make(node, type_url, text, false);
    if (!wish || has_refused(wish, peer) || !udpai_vector_push(&wish->refused, peer->session))
        return;
    if (!udpai_timer_is_set(&node->refused_reports))
        udpai_timer_set(node->context.wheel, &node->refused_reports,
                        udpai_context_now(&node->context) + UDPAI_ASK_AGAIN_MS);
}

void
udpai_reports_refused(udpai_node *node,
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
        note_refused(node, peer, error->type_url,
                     names[i].len ? names[i] : udpai_wildcard_text(room, error->name_space));
}

/* ---- what nodes pass on ---- */

static passed_on *
find_passed_on(const report_wish *wish, uint64_t session)
{
    for (size_t i = 0; i < wish->others.n; i++)
        if (wish->others.items[i].session == session)
            return &wish->others.items[i];
    return NULL;
}

/* The first one to pass it on is an interest of this node as any other, the last one the end. */
static void
change_interest(const report_wish *wish, bool wanted)
{
    if (wish->others.n == (wanted ? 1 : 0))
        udpai_interest_change(wish->node, type_of(wish), text_of(wish), wanted);
}

static void
drop_passed_on(report_wish *wish, passed_on *one)
{
    udpai_vector_remove_unordered(&wish->others, (size_t)(one - wish->others.items));
    change_interest(wish, false);
}

/* Without memory it is not passed on. */
static void
take_passed_on(report_wish *wish, uint64_t session, uint32_t distance)
{
    passed_on *one = find_passed_on(wish, session);
    const passed_on fresh = {session, distance};
    if (one)
        one->distance = distance;
    else if (udpai_vector_push(&wish->others, fresh))
        change_interest(wish, true);
    carry_out(wish);
}

/* They who pass it on have waited for who was lost already. */
static void
end_passed_on(report_wish *wish, uint64_t session)
{
    passed_on *one = find_passed_on(wish, session);
    if (!one)
        return;
    drop_passed_on(wish, one);
    carry_out(wish);
}

static void
end_all_wildcards(const udpai_node *node, uint64_t session, udpai_str type_url)
{
    size_t at = 0;
    report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at)))
        if (is_wildcard(wish) && udpai_str_eq(type_of(wish), type_url))
            end_passed_on(wish, session);
}

void
udpai_reports_passed_on(udpai_node *node, const udpai_report *report, udpai_str text)
{
    const udpai_subscription_message *message = report->subscription;
    udpai_str type_url = message->type_url;
    if (!udpai_type_is_client(type_url) || !udpai_peers_find(node->peers, report->session))
        return;
    if (!report->wanted && text.len == 1 && text.data[0] == '*') {
        end_all_wildcards(node, report->session, type_url);
        return;
    }
    report_wish *wish = find_or_make(node, type_url, text, report->wanted);
    if (wish && report->wanted)
        take_passed_on(wish, report->session, message->distance < FAR ? message->distance : FAR);
    else if (wish)
        end_passed_on(wish, report->session);
}

void
udpai_reports_gone(udpai_node *node, uint64_t session)
{
    size_t at = 0;
    report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at))) {
        passed_on *one = find_passed_on(wish, session);
        if (!one)
            continue;
        hold(wish, one->distance);
        drop_passed_on(wish, one);
        carry_out(wish);
    }
}

size_t
udpai_node_n_report_wishes(const udpai_node *node)
{
    return node->report_wishes.n;
}

/* ---- coming and going ---- */

void
udpai_reports_introduce(udpai_node *node, udpai_peer *peer)
{
    bool is_source = peer->source && peer->source->serves_us;
    if (peer->has_reports || is_source || node->context.is_endpoint ||
        !udpai_node_info_has_feature(peer->info, UDPAI_FEATURE_CLIENT))
        return;
    peer->has_reports = true;
    size_t at = 0;
    const report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at)))
        if (asks(wish, peer->is_node))
            tell(wish, peer, UDPAI_ORDER_SUBSCRIBE);
}

void
udpai_reports_init(udpai_node *node)
{
    udpai_map_init(&node->report_wishes, wish_key);
    udpai_timer_init(&node->refused_reports, on_refused);
}

void
udpai_reports_free(udpai_node *node)
{
    size_t at = 0;
    report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at)))
        free_wish(wish);
    udpai_map_done(&node->report_wishes);
    udpai_timer_cancel(&node->refused_reports);
}
