/* SPDX-License-Identifier: Apache-2.0 */
/* What a source is asked for, and how far it has answered: the wildcard of a prefix (a mirror), or
 * what somebody here wants (on demand). */
#include "federation/node_internal.h"

#include "base/alloc.h"
#include "model/name.h"

/* In one message; a digest with its name takes some 50 bytes, a listener takes 4 MiB. */
#define DIGESTS_MAX 20000
#define NAMES_MAX 20000

static udpai_str
wish_key(const void *item)
{
    const udpai_wish *wish = item;
    return (udpai_str){wish->text, wish->len};
}

/* ---- sending ---- */

static void
send_subscription(udpai_scope *scope,
                  udpai_order_kind kind,
                  const udpai_subscription_message *message)
{
    udpai_node *node = scope->source->node;
    udpai_order *order = udpai_order_new(kind);
    if (order)
        order->subscription = udpai_subscription_message_copy(message);
    if (!order || !order->subscription) {
        /* Without memory nothing is asked; the end of the stream mends what is missing. */
        udpai_order_free(order);
        return;
    }
    order->session = scope->source->session;
    if (kind == UDPAI_ORDER_SUBSCRIBE)
        scope->last_batch++;
    udpai_node_order(node, order);
}

/* What we hold already, as a Subscribe says it. */
typedef struct holdings {
    udpai_scope *scope;
    udpai_subscription_message message;
    UDPAI_VECTOR(udpai_held_digest) digests, ways;
    UDPAI_VECTOR(udpai_held_version) versions;
    bool extended, is_node;
} holdings;

static void
put_holdings(const holdings *held, udpai_subscription_message *message)
{
    message->digests = held->digests.items;
    message->n_digests = held->digests.n;
    message->ways = held->ways.items;
    message->n_ways = held->ways.n;
    message->versions = held->versions.items;
    message->n_versions = held->versions.n;
}

/* What fills a message goes ahead of the Subscribe, in one without names, which changes nothing. */
static void
send_ahead(holdings *held)
{
    udpai_subscription_message ahead = held->message;
    ahead.n_names = 0;
    put_holdings(held, &ahead);
    send_subscription(held->scope, UDPAI_ORDER_SUBSCRIBE, &ahead);
    held->digests.n = held->ways.n = 0;
}

/* A peer without our extensions is told versions, in one message. */
static bool
add_holding(void *userdata, const udpai_contribution *contribution)
{
    holdings *held = userdata;
    const udpa_resource *resource = contribution->resource;
    udpai_str name = udpai_resource_name(resource);
    if (!udpai_prefix_covers(held->message.name_space, name))
        return true;
    if (udpai_resource_is_lazy(resource) && udpai_name_is_wildcard(held->message.names[0]))
        return true; /* its name brought it, and will be asked for by itself */
    if (!held->extended)
        return udpai_vector_push(&held->versions,
                                 ((udpai_held_version){name, udpai_resource_version(resource)}));
    if (held->digests.n == DIGESTS_MAX)
        send_ahead(held);
    /* The last hop is ours: the peer sent those before it. */
    size_t n_hops = udpa_resource_n_hops(resource);
    uint64_t way = udpai_resource_way_digest(resource, n_hops ? n_hops - 1 : 0);
    return udpai_vector_push(&held->digests,
                             ((udpai_held_digest){name, udpai_resource_digest(resource)})) &&
           (!held->is_node || udpai_vector_push(&held->ways, ((udpai_held_digest){name, way})));
}

static void
add_all_holdings(holdings *held)
{
    const udpai_source *source = held->scope->source;
    const udpai_store *store = source->node->store;
    udpai_contribution contribution;
    if (udpai_name_is_wildcard(held->message.names[0])) {
        udpai_store_visit_origin(store, source->origin, held->message.type_url, add_holding, held);
        return;
    }
    for (size_t i = 0; i < held->message.n_names; i++)
        if (udpai_store_get(store, source->origin, held->message.type_url, held->message.names[i],
                            &contribution))
            (void)add_holding(held, &contribution);
}

static void
subscribe(udpai_scope *scope, udpai_str name_space, const udpai_str *names, size_t n_names)
{
    const udpai_node *node = scope->source->node;
    const udpai_peer *peer = udpai_peer_find(node, scope->source->session);
    holdings held = {
        .scope = scope,
        .extended = peer && peer->is_extended,
        .is_node = peer && peer->is_node,
    };
    held.message = (udpai_subscription_message){
        .type_url = udpai_bytes_view(scope->type),
        .name_space = name_space,
        .names = names,
        .n_names = n_names,
    };
    add_all_holdings(&held);
    put_holdings(&held, &held.message);
    send_subscription(scope, UDPAI_ORDER_SUBSCRIBE, &held.message);
    udpai_vector_done(&held.digests);
    udpai_vector_done(&held.ways);
    udpai_vector_done(&held.versions);
    if (!held.extended)
        udpai_timer_set(node->wheel, &scope->silence_max,
                        udpai_node_now(node) + node->timing.silence_max_ms);
    else if (!held.is_node) /* an endpoint publishes what it likes, and has no more to say */
        udpai_timer_set(node->wheel, &scope->silence_max, udpai_node_now(node));
}

static void
unsubscribe(udpai_scope *scope, udpai_str name_space, udpai_str name)
{
    const udpai_subscription_message message = {
        .type_url = udpai_bytes_view(scope->type),
        .name_space = name_space,
        .names = &name,
        .n_names = 1,
    };
    send_subscription(scope, UDPAI_ORDER_UNSUBSCRIBE, &message);
}

/* An Unsubscribe from the wildcard of everything, or any from a peer that knows no namespaces in
 * it, takes all wildcards of the type away. Those that are wanted are asked for again in the next
 * flush. */
static void
forget_wildcards(const udpai_scope *ended)
{
    UDPAI_LIST_FOREACH (node, &ended->source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(node, udpai_scope, in_source);
        if (!udpai_str_eq(udpai_bytes_view(scope->type), udpai_bytes_view(ended->type)))
            continue;
        scope->is_sent = false;
        size_t at = 0;
        udpai_wish *wish;
        while ((wish = udpai_map_next(&scope->wishes, &at))) {
            if (!wish->is_wildcard)
                continue;
            wish->is_sent = false;
            udpai_list_remove(&wish->in_asked);
        }
    }
    udpai_node_touch(ended->source->node);
}

static void
unsubscribe_wildcard(udpai_scope *scope, udpai_str prefix)
{
    const udpai_peer *peer = udpai_peer_find(scope->source->node, scope->source->session);
    unsubscribe(scope, prefix, (udpai_str){"", 0});
    if (prefix.len == 0 || !peer || !peer->is_extended)
        forget_wildcards(scope);
}

/* ---- mirrors ---- */

static void
sync_mirror(udpai_scope *scope)
{
    udpai_str prefix = udpai_bytes_view(scope->prefix), wildcard = {"", 0};
    if (scope->wanted == scope->is_sent)
        return;
    scope->is_sent = scope->wanted;
    scope->is_complete = false;
    if (scope->wanted)
        subscribe(scope, prefix, &wildcard, 1);
    else
        unsubscribe_wildcard(scope, prefix);
}

/* ---- on demand ---- */

static void
free_wish(udpai_wish *wish)
{
    udpai_map_remove(&wish->scope->wishes, wish_key(wish));
    udpai_list_remove(&wish->in_asked);
    udpai_timer_cancel(&wish->linger);
    udpai_free(wish);
}

static bool
is_brought_by_name(const udpa_resource *resource, udpai_str name)
{
    if (udpai_str_eq(name, udpai_resource_name(resource)))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        if (udpai_str_eq(udpai_resource_alias(resource, i), name) ||
            udpai_alias_matches(udpai_resource_alias(resource, i), name))
            return true;
    return false;
}

static bool
is_removed_in(const udpai_publication *publication, udpai_str name)
{
    for (size_t i = 0; i < publication->removals.n; i++)
        if (udpai_str_eq(publication->removals.items[i].name, name))
            return true;
    return false;
}

static bool
brings(const udpai_wish *wish, const udpa_resource *resource)
{
    udpai_str subject = udpai_wish_subject(wish);
    if (!wish->is_wildcard)
        return is_brought_by_name(resource, subject);
    return !udpai_resource_is_lazy(resource) &&
           udpai_prefix_covers(subject, udpai_resource_name(resource));
}

bool
udpai_scope_still_brings(const udpai_scope *scope,
                         const udpa_resource *resource,
                         const udpai_publication *news)
{
    size_t at = 0;
    const udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        if (wish->is_sent && brings(wish, resource) &&
            (wish->is_wildcard || !is_removed_in(news, udpai_wish_subject(wish))))
            return true;
    return false;
}

static bool
keep_wanted(void *userdata, const udpa_resource *resource)
{
    const udpai_scope *scope = userdata;
    size_t at = 0;
    const udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        if (brings(wish, resource))
            return true;
    return false;
}

/* Nobody has wanted it for a while: it is given back, and what came by it goes. */
static void
on_linger_end(udpai_timer *timer)
{
    udpai_wish *wish = UDPAI_CONTAINER_OF(timer, udpai_wish, linger);
    udpai_scope *scope = wish->scope;
    udpai_str subject = udpai_wish_subject(wish);
    if (wish->is_sent && wish->is_wildcard)
        unsubscribe_wildcard(scope, subject);
    else if (wish->is_sent)
        unsubscribe(scope, udpai_bytes_view(scope->prefix), subject);
    free_wish(wish);
    udpai_store_withdraw_all(scope->source->node->store, scope->source->origin,
                             udpai_bytes_view(scope->type), udpai_bytes_view(scope->prefix),
                             keep_wanted, scope);
    udpai_node_touch(scope->source->node);
}

static udpai_wish *
make_wish(udpai_scope *scope, udpai_str text)
{
    udpai_wish *wish = udpai_alloc(sizeof(*wish) + text.len);
    if (!wish)
        return NULL;
    wish->scope = scope;
    wish->is_wildcard = text.data[0] == '*';
    wish->len = (uint32_t)text.len;
    memcpy(wish->text, text.data, text.len);
    udpai_list_init(&wish->in_asked);
    udpai_timer_init(&wish->linger, on_linger_end);
    if (udpai_map_add(&scope->wishes, wish))
        return wish;
    udpai_free(wish);
    return NULL;
}

/* What of a wish lies in the scope, as a text of the same form; false: nothing. */
static bool
cut_to_scope(const udpai_scope *scope, udpai_str text, char *room, udpai_str *ret_text)
{
    udpai_str prefix = udpai_bytes_view(scope->prefix), subject = text;
    bool is_wildcard = text.data[0] == '*';
    if (is_wildcard)
        subject = (udpai_str){text.data + 1, text.len - 1};
    *ret_text = text;
    if (udpai_prefix_covers(prefix, subject))
        return true;
    if (!is_wildcard || !udpai_prefix_covers(subject, prefix))
        return false;
    room[0] = '*';
    memcpy(room + 1, prefix.data, prefix.len);
    *ret_text = (udpai_str){room, prefix.len + 1};
    return true;
}

void
udpai_scope_interest(udpai_scope *scope, udpai_str text, bool wanted)
{
    char room[UDPAI_NAME_MAX + 1];
    const udpai_node *node = scope->source->node;
    if (!scope->on_demand || !cut_to_scope(scope, text, room, &text))
        return;
    udpai_wish *wish = udpai_map_get(&scope->wishes, text);
    if (!wish && wanted)
        wish = make_wish(scope, text);
    if (!wish)
        return;
    wish->wanted = wanted;
    udpai_timer_cancel(&wish->linger);
    if (wanted)
        udpai_scope_sync(scope);
    else
        udpai_timer_set(node->wheel, &wish->linger,
                        udpai_node_now(node) + node->timing.interest_linger_ms);
}

/* It is answered with the Subscribe that was sent last. */
static void
note_asked(udpai_scope *scope, udpai_wish *wish)
{
    wish->is_sent = true;
    wish->batch = scope->last_batch;
    udpai_list_remove(&wish->in_asked);
    udpai_list_append(&scope->asked, &wish->in_asked);
}

static void
ask_wildcard(udpai_scope *scope, udpai_wish *wish)
{
    udpai_str wildcard = {"", 0};
    subscribe(scope, udpai_wish_subject(wish), &wildcard, 1);
    note_asked(scope, wish);
}

/* Names go together, wildcards each by itself. */
static void
sync_wishes(udpai_scope *scope)
{
    UDPAI_VECTOR(udpai_str) names = {0};
    UDPAI_VECTOR(udpai_wish *) asked = {0};
    size_t at = 0;
    udpai_wish *wish;
    while (scope->wanted && names.n < NAMES_MAX && (wish = udpai_map_next(&scope->wishes, &at))) {
        if (wish->is_sent || !wish->wanted)
            continue;
        if (wish->is_wildcard)
            ask_wildcard(scope, wish);
        else if (udpai_vector_reserve(&asked, 1) &&
                 udpai_vector_push(&names, udpai_wish_subject(wish)))
            asked.items[asked.n++] = wish;
    }
    bool is_full = names.n == NAMES_MAX;
    if (names.n)
        subscribe(scope, udpai_bytes_view(scope->prefix), names.items, names.n);
    for (size_t i = 0; i < asked.n; i++)
        note_asked(scope, asked.items[i]);
    udpai_vector_done(&names);
    udpai_vector_done(&asked);
    if (is_full)
        sync_wishes(scope);
}

/* Having nothing to ask for, it has its answer. */
static void
note_all_asked(udpai_scope *scope)
{
    if (scope->is_asked == scope->wanted)
        return;
    scope->is_asked = scope->wanted;
    udpai_node_touch(scope->source->node);
}

void
udpai_scope_sync(udpai_scope *scope)
{
    if (!scope->source->may_ask || !scope->source->serves_us)
        return;
    if (!scope->on_demand) {
        sync_mirror(scope);
        return;
    }
    sync_wishes(scope);
    note_all_asked(scope);
}

/* ---- answers ---- */

udpai_scope *
udpai_source_scope(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    UDPAI_LIST_FOREACH (node, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(node, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), type_url) &&
            udpai_prefix_covers(udpai_bytes_view(scope->prefix), name))
            return scope;
    }
    return NULL;
}

/* Without memory it is not kept: after a restart it is asked for before anything negative is said.
 */
static void
note_known(const udpai_scope *scope)
{
    udpai_origin *origin = scope->source->origin;
    if (udpai_origin_is_durable(origin))
        (void)udpai_store_note(scope->source->node->store, UDPAI_DURABLE_MARK, origin,
                               udpai_bytes_view(scope->type), udpai_bytes_view(scope->prefix));
}

static void
mark_known(udpai_scope *scope)
{
    scope->is_complete = true;
    if (!scope->is_known)
        note_known(scope);
    scope->is_known = true;
    if (udpai_source_has_said_all(scope->source))
        scope->source->is_hung = false;
}

/* Every Subscribe up to this batch is answered. */
static void
answered_up_to(udpai_scope *scope, uint64_t batch)
{
    scope->done_batch = batch;
    UDPAI_LIST_FOREACH_SAFE (node, &scope->asked) {
        udpai_wish *wish = UDPAI_LIST_ENTRY(node, udpai_wish, in_asked);
        if (wish->batch > batch)
            break;
        udpai_list_remove(&wish->in_asked);
        wish->is_known = true;
    }
    if (!scope->on_demand && scope->is_sent && scope->done_batch == scope->last_batch)
        mark_known(scope);
    udpai_node_touch(scope->source->node);
}

void
udpai_source_completed(udpai_source *source, udpai_str type_url, udpai_str prefix)
{
    udpai_scope *scope = udpai_source_scope(source, type_url, prefix);
    if (scope && scope->done_batch < scope->last_batch)
        answered_up_to(scope, scope->done_batch + 1);
}

static void
on_silence(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, silence);
    udpai_timer_cancel(&scope->silence_max);
    answered_up_to(scope, scope->last_batch);
}

static void
on_silence_max(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, silence_max);
    udpai_timer_cancel(&scope->silence);
    answered_up_to(scope, scope->last_batch);
}

/* A peer without our extensions does not say when it has said all: a while after it has begun to
 * speak of a type, and falls silent, it has. */
void
udpai_source_spoke(udpai_source *source, udpai_str type_url)
{
    const udpai_node *node = source->node;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_timer_is_set(&scope->silence_max) &&
            udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            udpai_timer_set(node->wheel, &scope->silence,
                            udpai_node_now(node) + node->timing.silence_ms);
    }
}

void
udpai_scope_ask_again(udpai_scope *scope, const udpai_str *names, size_t n_names)
{
    if (!scope->source->may_ask)
        return;
    const udpai_subscription_message message = {
        .type_url = udpai_bytes_view(scope->type),
        .name_space = udpai_bytes_view(scope->prefix),
        .names = names,
        .n_names = n_names,
    };
    send_subscription(scope, UDPAI_ORDER_SUBSCRIBE, &message);
}

void
udpai_scope_reset(udpai_scope *scope)
{
    scope->is_sent = scope->is_complete = scope->is_asked = false;
    scope->last_batch = scope->done_batch = 0;
    udpai_timer_cancel(&scope->silence);
    udpai_timer_cancel(&scope->silence_max);
    size_t at = 0;
    udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at))) {
        wish->is_sent = false;
        udpai_list_remove(&wish->in_asked);
    }
}

/* ---- making one ---- */

udpai_scope *
udpai_scope_new(udpai_source *source, udpai_str type_url, udpai_str prefix, bool on_demand)
{
    udpai_scope *scope = udpai_alloc(sizeof(*scope));
    if (!scope)
        return NULL;
    if (udpa_bytes_new(&scope->type, type_url.data, type_url.len) != UDPA_OK ||
        udpa_bytes_new(&scope->prefix, prefix.data, prefix.len) != UDPA_OK) {
        udpa_bytes_unref(scope->type);
        udpai_free(scope);
        return NULL;
    }
    scope->source = source;
    scope->on_demand = on_demand;
    udpai_map_init(&scope->wishes, wish_key);
    udpai_list_init(&scope->asked);
    udpai_timer_init(&scope->silence, on_silence);
    udpai_timer_init(&scope->silence_max, on_silence_max);
    udpai_list_init(&scope->in_source);
    udpai_list_append(&source->scopes, &scope->in_source);
    return scope;
}

void
udpai_scope_free(udpai_scope *scope)
{
    udpai_list_remove(&scope->in_source);
    udpai_timer_cancel(&scope->silence);
    udpai_timer_cancel(&scope->silence_max);
    size_t at = 0;
    udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at))) {
        udpai_list_remove(&wish->in_asked);
        udpai_timer_cancel(&wish->linger);
        udpai_free(wish);
    }
    udpai_map_done(&scope->wishes);
    udpa_bytes_unref(scope->type);
    udpa_bytes_unref(scope->prefix);
    udpai_free(scope);
}
