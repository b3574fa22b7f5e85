/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/reports.h"

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/name.h"

/* Each is asked from every client, and what is asked is kept for those that come. */
#define WISHES_MAX 1000

#define OWN_REPORTS "report"

/* ---- wishes ---- */

/* Something that is asked for; for a while also what nobody wants any more, because he who wanted
 * it may have lost his stream just now. */
typedef struct report_wish {
    udpai_node *node;
    udpai_timer linger;
    bool is_wanted;                /* from clients anywhere below */
    size_t n_direct;               /* or from those alone that have dialled this node */
    bool asks_clients, asks_nodes; /* of those that are there, and come */
    uint32_t type_len, len;        /* of the type; of both, with a blank and the text */
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
    return nodes ? wish->asks_nodes : wish->asks_clients;
}

static bool
has_use(const report_wish *wish, bool nodes)
{
    return wish->is_wanted || (!nodes && wish->n_direct);
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
    udpai_order *order = udpai_order_new(kind);
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return;
    }
    order->session = peer->session;
    udpai_node_order(wish->node, order);
}

static void
tell_all(const report_wish *wish, bool nodes, udpai_order_kind kind)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_map_next(&wish->node->peers, &at)))
        if (peer->has_reports && peer->is_node == nodes)
            tell(wish, peer, kind);
}

/* May ask for something else. */
static void
tell_wanted(const report_wish *wish, bool wanted)
{
    const udpai_node_env *env = &wish->node->env;
    if (env->wanted)
        env->wanted(env->userdata, type_of(wish), text_of(wish), wanted);
}

static void
begin(report_wish *wish, bool nodes)
{
    if (asks(wish, nodes) || !has_use(wish, nodes))
        return;
    *(nodes ? &wish->asks_nodes : &wish->asks_clients) = true;
    tell_all(wish, nodes, UDPAI_ORDER_SUBSCRIBE);
    if (nodes)
        tell_wanted(wish, true);
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
end(report_wish *wish, bool nodes)
{
    if (!asks(wish, nodes) || has_use(wish, nodes))
        return;
    *(nodes ? &wish->asks_nodes : &wish->asks_clients) = false;
    tell_all(wish, nodes, UDPAI_ORDER_UNSUBSCRIBE);
    ask_again(wish, nodes);
    if (nodes)
        tell_wanted(wish, false);
}

static void
on_linger_end(udpai_timer *timer)
{
    report_wish *wish = UDPAI_CONTAINER_OF(timer, report_wish, linger);
    end(wish, true);
    end(wish, false);
    if (wish->asks_clients)
        return;
    udpai_map_remove(&wish->node->report_wishes, wish_key(wish));
    udpai_free(wish);
}

/* At once what is new; what has no use any more, later. */
static void
carry_out(report_wish *wish)
{
    const udpai_node *node = wish->node;
    begin(wish, true);
    begin(wish, false);
    bool has_ended =
        wish->asks_nodes != has_use(wish, true) || wish->asks_clients != has_use(wish, false);
    if (!has_ended)
        udpai_timer_cancel(&wish->linger);
    else if (!udpai_timer_is_set(&wish->linger))
        udpai_timer_set(node->wheel, &wish->linger,
                        udpai_node_now(node) + node->timing.interest_linger_ms);
}

/* ---- wanting ---- */

static void
tell_full(udpai_node *node, udpai_str type_url)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&node->refused_log, udpai_node_now(node), &n_suppressed))
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
udpai_reports_interest(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    if (!udpai_type_is_client(type_url))
        return;
    report_wish *wish = find_or_make(node, type_url, text, wanted);
    if (!wish)
        return;
    wish->is_wanted = wanted;
    carry_out(wish);
}

void
udpai_reports_want_direct(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    report_wish *wish = find_or_make(node, type_url, text, wanted);
    if (!wish || (!wanted && !wish->n_direct))
        return; /* there was no memory or room to want it */
    wish->n_direct += wanted ? 1 : (size_t)-1;
    carry_out(wish);
}

void
udpai_reports_introduce(udpai_node *node, udpai_peer *peer)
{
    bool is_source = peer->source && peer->source->serves_us;
    if (peer->has_reports || is_source || node->is_endpoint ||
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
}

void
udpai_reports_free(udpai_node *node)
{
    size_t at = 0;
    report_wish *wish;
    while ((wish = udpai_map_next(&node->report_wishes, &at))) {
        udpai_timer_cancel(&wish->linger);
        udpai_free(wish);
    }
    udpai_map_done(&node->report_wishes);
}

/* ---- taking in ---- */

static udpa_err
check_ttl(const udpa_resource *resource, udpa_error **ret_error)
{
    if (udpa_resource_ttl_ms(resource))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' has no ttl: what a client reports must end when the client is gone",
                      udpa_resource_name(resource));
}

udpa_err
udpai_reports_check(const udpai_intake *intake,
                    const udpa_resource *resource,
                    udpa_error **ret_error)
{
    const udpai_peer *peer = intake->peer;
    if (!udpai_type_is_client(udpai_resource_type_url(resource)))
        return UDPA_OK;
    udpa_err err = check_ttl(resource, ret_error);
    if (err != UDPA_OK || peer->is_node)
        return err; /* nodes pass on what others have said */
    udpai_str id = peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0};
    return udpai_client_name_check(udpai_resource_name(resource), id, ret_error);
}

/* ---- what this node reports itself ---- */

static udpai_origin *
own_origin(udpai_node *node)
{
    udpai_origin *origin = udpai_store_origin(node->store, UDPAI_STR(OWN_REPORTS));
    if (origin)
        udpai_origin_set_rank(node->store, origin, UDPAI_ORIGIN_NODE, 1);
    return origin;
}

udpa_err
udpai_node_report_own(udpai_node *node, udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str name = udpai_resource_name(resource);
    udpa_err err = check_ttl(resource, ret_error);
    if (err == UDPA_OK && udpai_type_names_client(udpai_resource_type_url(resource)))
        err = udpai_client_name_check(name, udpai_bytes_view(node->id), ret_error);
    if (err == UDPA_OK && udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        err = udpai_fail(ret_error, UDPA_ERR_DENIED, "'%s' lies in the reserved namespace %s",
                         udpa_resource_name(resource), UDPAI_NODE_NAMESPACE);
    if (err != UDPA_OK)
        return err;
    udpai_origin *origin = own_origin(node);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_taking taking = {.authority = udpai_bytes_view(node->authority)};
    return udpai_intake_put(node, origin, resource, &taking, ret_error);
}

void
udpai_node_withdraw_own_report(udpai_node *node, udpai_str type_url, udpai_str name)
{
    udpai_origin *origin = own_origin(node);
    if (origin)
        udpai_store_withdraw(node->store, origin, type_url, name);
}

/* It is of nobody else: it has passed this node alone, and nobody has handed it in. */
bool
udpai_reports_is_own(const udpai_node *node, const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) == 1 &&
           udpai_resource_passed(resource, udpai_bytes_view(node->id)) &&
           udpai_str_eq(udpai_resource_authority(resource), udpai_bytes_view(node->authority));
}

udpa_err
udpai_reports_pick(const udpai_node *node,
                   const udpai_change_set *changes,
                   udpai_change_set **ret_picked)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *picked = NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < udpai_change_set_size(changes) && err == UDPA_OK; i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        if (!udpai_reports_is_own(node, change->resource))
            continue;
        if (!picked && !(picked = udpai_change_set_new()))
            return UDPA_ERR_NOMEM;
        err = udpai_change_set_add(picked, change);
    }
    if (err == UDPA_OK)
        *ret_picked = UDPAI_TAKE(picked);
    return err;
}
