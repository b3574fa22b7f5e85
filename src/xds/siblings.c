/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/siblings.h"

#include "base/alloc.h"
#include "session/acknowledgement.h"
#include "xds/hold.h"
#include "xds/peek.h"
#include "xds/xds_internal.h"

struct udpai_xds_siblings {
    udpai_list streams; /* by udpai_xds.in_siblings */
    size_t n_streams;
    udpai_list waiting; /* by udpai_xds.in_waiting: to be asked again */
    udpai_hold hold;
    udpai_timer timer;
    size_t key_len;
    char key[];
};

static udpai_str
siblings_key(const void *item)
{
    const udpai_xds_siblings *siblings = item;
    return (udpai_str){siblings->key, siblings->key_len};
}

void
udpai_xds_siblings_init(udpai_map *siblings_by_client)
{
    udpai_map_init(siblings_by_client, siblings_key);
}

udpai_xds_role
udpai_xds_role_of(udpai_str type_url)
{
    static const struct {
        const char *type_url;
        udpai_xds_role role;
    } roles[] = {
        {UDPAI_TYPE_CLUSTER, UDPAI_XDS_CLUSTERS},
        {UDPAI_TYPE_ENDPOINTS, UDPAI_XDS_ENDPOINTS},
        {UDPAI_TYPE_SECRET, UDPAI_XDS_SECRETS},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(roles); i++)
        if (udpai_str_eq(type_url, udpai_str_from(roles[i].type_url)))
            return roles[i].role;
    const udpai_type_info *type = udpai_type_of_url(type_url);
    return type && type->waits_for_clusters ? UDPAI_XDS_WAITS : UDPAI_XDS_BESIDE;
}

static udpai_wheel *
wheel_of(const udpai_xds *xds)
{
    return udpai_hub_wheel(xds->session.hub);
}

/* ---- coming and going ---- */

static void
wake_all(udpai_xds_siblings *siblings)
{
    udpai_list *node;
    while ((node = udpai_list_pop(&siblings->waiting)))
        udpai_session_ready(&UDPAI_LIST_ENTRY(node, udpai_xds, in_waiting)->session);
    udpai_timer_cancel(&siblings->timer); /* a stream that still waits sets it again */
}

static void
on_timer(udpai_timer *timer)
{
    wake_all(UDPAI_CONTAINER_OF(timer, udpai_xds_siblings, timer));
}

/* Where the address is not known, connections cannot be distinguished, and each stream is alone. */
static size_t
put_key(const udpai_xds *xds, char *room)
{
    udpai_str alone = {(const char *)&xds->session.id, sizeof(xds->session.id)};
    udpai_str address =
        xds->session.info.address ? udpai_bytes_view(xds->session.info.address) : alone;
    udpai_str id = xds->peer ? udpai_node_info_parts(xds->peer)->id : (udpai_str){0};
    char *at = room;
    if (!room)
        return address.len + 1 + id.len;
    udpai_str_put(&at, address);
    *at++ = '\0';
    udpai_str_put(&at, id);
    return (size_t)(at - room);
}

static udpai_xds_siblings *
new_siblings(const udpai_xds *xds, size_t key_len, const char *key)
{
    udpai_memory *memory = udpai_hub_memory(xds->session.hub);
    udpai_xds_siblings *siblings = udpai_alloc_in(memory, sizeof(*siblings) + key_len);
    if (!siblings)
        return NULL;
    siblings->key_len = key_len;
    memcpy(siblings->key, key, key_len);
    udpai_list_init(&siblings->streams);
    udpai_list_init(&siblings->waiting);
    udpai_hold_init(&siblings->hold, memory);
    udpai_timer_init(&siblings->timer, on_timer);
    if (udpai_map_add(&xds->server->siblings_by_client, siblings))
        return siblings;
    udpai_free_in(memory, siblings, sizeof(*siblings) + key_len);
    return NULL;
}

udpa_err
udpai_xds_siblings_join(udpai_xds *xds)
{
    udpai_map *siblings_by_client = &xds->server->siblings_by_client;
    size_t key_len = put_key(xds, NULL);
    UDPAI_AUTO_FREE char *key = udpai_alloc(key_len);
    if (!key)
        return UDPA_ERR_NOMEM;
    put_key(xds, key);
    xds->siblings = udpai_map_get(siblings_by_client, (udpai_str){key, key_len});
    if (!xds->siblings)
        xds->siblings = new_siblings(xds, key_len, key);
    if (!xds->siblings)
        return UDPA_ERR_NOMEM;
    udpai_list_append(&xds->siblings->streams, &xds->in_siblings);
    xds->siblings->n_streams++;
    return UDPA_OK;
}

void
udpai_xds_siblings_leave(udpai_xds *xds)
{
    udpai_xds_siblings *siblings = UDPAI_TAKE(xds->siblings);
    if (!siblings)
        return;
    udpai_list_remove(&xds->in_siblings);
    udpai_list_remove(&xds->in_waiting);
    udpai_hold_forget(&siblings->hold, xds);
    wake_all(siblings);
    if (--siblings->n_streams)
        return;
    udpai_map *siblings_by_client = &xds->server->siblings_by_client;
    udpai_map_remove(siblings_by_client, siblings_key(siblings));
    if (siblings_by_client->n == 0)
        udpai_map_done(siblings_by_client);
    udpai_hold_done(&siblings->hold);
    udpai_free_in(udpai_hub_memory(xds->session.hub), siblings,
                  sizeof(*siblings) + siblings->key_len);
}

void
udpai_xds_siblings_moved(udpai_xds *xds)
{
    if (xds->siblings && !udpai_list_empty(&xds->siblings->waiting))
        wake_all(xds->siblings);
}

static void
wait_until(udpai_xds *xds, uint64_t until_ms)
{
    udpai_xds_siblings *siblings = xds->siblings;
    if (!udpai_list_linked(&xds->in_waiting))
        udpai_list_append(&siblings->waiting, &xds->in_waiting);
    if (until_ms != UINT64_MAX &&
        !(udpai_timer_is_set(&siblings->timer) && siblings->timer.due_ms <= until_ms))
        udpai_timer_set(wheel_of(xds), &siblings->timer, until_ms);
}

/* ---- what the client has of what a cluster needs ---- */

/* How far a subscription has come with what it asks for. */
static udpai_hold_needs
needs_of_taken(const udpai_xds *xds, const udpai_taken *taken)
{
    udpai_acknowledgement status;
    if (!taken->ack.resource)
        return taken->is_missing ? UDPAI_HOLD_HOPELESS : UDPAI_HOLD_COMING;
    udpai_xds_ack_status(&xds->session, &taken->ack, &status);
    switch (status.state) {
    case UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN:
        return UDPAI_HOLD_HOPELESS;
    case UDPAI_ACKNOWLEDGEMENT_BEHIND:
    case UDPAI_ACKNOWLEDGEMENT_UNANSWERED:
        return UDPAI_HOLD_COMING;
    default: /* a refusal is an answer */
        return UDPAI_HOLD_ANSWERED;
    }
}

/* One of the resources that a cluster is not warm without. */
struct need {
    udpai_xds_role role;
    udpai_str type_url, name;
};

/* The first subscription of the stream that asks for it counts. */
static udpai_hold_needs
needs_in_stream(const udpai_xds *xds, const struct need *need, uint64_t *ret_answered_ms)
{
    udpai_xds_name resolved;
    if (!(xds->roles & (1U << need->role)) ||
        udpai_xds_name_resolve(xds->audience, need->type_url, need->name, &resolved, NULL) !=
            UDPA_OK)
        return UDPAI_HOLD_UNASKED;
    for (size_t i = 0; i < xds->subscriber.subscriptions.n; i++) {
        udpai_subscription *subscription = xds->subscriber.subscriptions.items[i];
        const udpai_xds_type *type = udpai_xds_type_of(subscription);
        udpai_taken taken;
        if (type->role != need->role ||
            !udpai_subscription_find_taken(subscription, resolved.full, &taken))
            continue;
        *ret_answered_ms = type->answered_ms;
        return needs_of_taken(xds, &taken);
    }
    return UDPAI_HOLD_UNASKED;
}

static udpai_hold_needs
needs_unasked(const udpai_xds *xds, const struct need *need)
{
    udpai_xds_name resolved;
    bool is_absent =
        udpai_xds_name_resolve(xds->audience, need->type_url, need->name, &resolved, NULL) !=
            UDPA_OK ||
        udpai_subscriber_presence(&xds->subscriber, need->type_url, resolved.full) == UDPAI_ABSENT;
    return is_absent ? UDPAI_HOLD_HOPELESS : UDPAI_HOLD_UNASKED;
}

static udpai_hold_needs
needs_anywhere(const udpai_xds *asking, const struct need *need, uint64_t *ret_answered_ms)
{
    udpai_hold_needs best = UDPAI_HOLD_UNASKED;
    UDPAI_LIST_FOREACH (node, &asking->siblings->streams) {
        const udpai_xds *xds = UDPAI_LIST_ENTRY(node, udpai_xds, in_siblings);
        udpai_hold_needs one = needs_in_stream(xds, need, ret_answered_ms);
        if (one == UDPAI_HOLD_ANSWERED)
            return one;
        if (one != UDPAI_HOLD_UNASKED)
            best = one;
    }
    return best == UDPAI_HOLD_UNASKED ? needs_unasked(asking, need) : best;
}

/* What is worst of all that a cluster needs. */
struct needs {
    const udpai_xds *xds;
    udpai_hold_needs worst;
    uint64_t answered_ms; /* the last of what was */
};

static void
look_at(struct needs *needs, const struct need *need)
{
    uint64_t answered_ms = 0;
    udpai_hold_needs one = needs_anywhere(needs->xds, need, &answered_ms);
    if (one > needs->worst)
        needs->worst = one;
    if (one == UDPAI_HOLD_ANSWERED && answered_ms > needs->answered_ms)
        needs->answered_ms = answered_ms;
}

static void
look_at_secret(void *userdata, udpai_str name)
{
    const struct need need = {UDPAI_XDS_SECRETS, UDPAI_STR(UDPAI_TYPE_SECRET), name};
    look_at(userdata, &need);
}

static udpai_hold_needs
needs_of(void *userdata, const udpa_resource *cluster, uint64_t *ret_answered_ms)
{
    const udpai_xds *xds = userdata;
    struct needs needs = {xds, UDPAI_HOLD_NEEDLESS, 0};
    udpai_str payload = udpai_resource_value(cluster);
    udpai_xds_eds eds;
    if (udpai_subscriber_presence(&xds->subscriber, udpai_resource_type_url(cluster),
                                  udpai_resource_name(cluster)) != UDPAI_PRESENT)
        return UDPAI_HOLD_HOPELESS;
    if (udpai_xds_peek_eds(payload, &eds)) {
        const struct need need = {UDPAI_XDS_ENDPOINTS, UDPAI_STR(UDPAI_TYPE_ENDPOINTS), eds.name};
        if (eds.is_elsewhere)
            return UDPAI_HOLD_HOPELESS;
        look_at(&needs, &need);
    }
    udpai_xds_peek_secrets(payload, look_at_secret, &needs);
    *ret_answered_ms = needs.answered_ms;
    return needs.worst;
}

static udpai_hold_verdict
ask(udpai_xds *xds, uint64_t first, uint64_t last)
{
    const udpai_hold_question question = {
        .first = first,
        .last = last,
        .now_ms = wheel_of(xds)->now_ms,
        .timeout_ms = xds->server->warm_timeout_ms,
        .needs = needs_of,
        .userdata = xds,
    };
    return udpai_hold_ask(&xds->siblings->hold, &question);
}

/* ---- what is sent, and answered ---- */

static bool
counts(const udpai_xds *xds, const udpai_xds_type *type)
{
    return xds->siblings && xds->server->warm_timeout_ms && type->role == UDPAI_XDS_CLUSTERS &&
           !xds->has_listeners_first;
}

void
udpai_xds_siblings_sent(udpai_xds *xds, const udpai_delivery *delivery)
{
    const udpai_body *body = delivery->body;
    udpai_xds_type *type = udpai_xds_type_of(delivery->subscription);
    const udpai_hold_response response = {xds, xds->last_nonce + 1};
    if (!counts(xds, type) || body->resources.n == 0)
        return;
    if (!type->first_head)
        type->first_head = delivery->head;
    bool is_steady = delivery->place.payloads >= type->first_head;
    for (size_t i = 0; i < body->resources.n; i++) {
        udpa_resource *cluster = body->resources.items[i];
        uint64_t seq = body->seqs.items[i];
        if (seq == 0 || seq <= delivery->since || udpai_resource_is_redirect(cluster))
            continue;
        if (udpai_subscription_is_new(delivery->subscription, udpai_resource_name(cluster),
                                      delivery->place, is_steady))
            udpai_hold_add(&xds->siblings->hold, cluster, seq, &response);
        else
            udpai_hold_change(&xds->siblings->hold, cluster, seq, &response);
    }
}

void
udpai_xds_siblings_answered(udpai_xds *xds, udpai_xds_type *type, uint64_t nonce)
{
    const udpai_hold_response response = {xds, nonce};
    type->answered_ms = wheel_of(xds)->now_ms;
    if (!counts(xds, type) || udpai_hold_is_empty(&xds->siblings->hold))
        return;
    udpai_hold_answer(&xds->siblings->hold, &response, type->answered_ms);
    (void)ask(xds, 0, 0); /* what is warm by now need not be kept */
}

/* ---- what waits ---- */

static udpa_error *
why_held(const udpai_xds *xds, const udpa_resource *cluster)
{
    udpai_str name = {0};
    if (!cluster)
        return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                              "held: waits for clusters that another stream is to bring");
    if (!udpai_xds_name_to_client(xds->audience, udpai_resource_name(cluster), &name))
        name = udpai_resource_name(cluster);
    return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "held: waits for cluster %.*s",
                          UDPAI_SHOWN(name));
}

static void
note_held(udpai_xds *xds, udpai_subscription *subscription, const udpa_resource *cluster)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    if (type->held && type->held_by == cluster)
        return;
    udpa_error_unref(type->held);
    type->held = why_held(xds, cluster);
    type->held_by = cluster;
    type->is_held = subscription;
}

static void
note_free(udpai_subscription *subscription)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    if (type->is_held != subscription)
        return;
    type->held = udpa_error_unref(type->held);
    type->is_held = NULL;
}

const udpa_error *
udpai_xds_held(udpai_subscription *subscription)
{
    const udpai_xds_type *type = udpai_xds_type_of(subscription);
    return type->is_held == subscription &&
                   udpai_subscription_first_pending(subscription) != UINT64_MAX
               ? type->held
               : NULL;
}

/* What another stream has not even brought yet, it brings first; but a stream that does not read it
 * does not stop the others for long. */
static void
limit_by_streams(udpai_xds *xds, udpai_xds_type *type, uint64_t last, udpai_hold_verdict *verdict)
{
    uint64_t now_ms = wheel_of(xds)->now_ms, limit = UINT64_MAX, first, clusters_last;
    UDPAI_LIST_FOREACH (node, &xds->siblings->streams) {
        const udpai_xds *other = UDPAI_LIST_ENTRY(node, udpai_xds, in_siblings);
        if (other == xds || !other->clusters || other->has_listeners_first ||
            udpai_subscription_first_pending(other->clusters) > last ||
            !udpai_subscription_pending_changes(other->clusters, &first, &clusters_last))
            continue;
        limit = first - 1 < limit ? first - 1 : limit;
    }
    if (limit >= last) {
        type->behind_until_ms = 0;
        return;
    }
    if (!type->behind_until_ms)
        type->behind_until_ms = now_ms + xds->server->warm_timeout_ms;
    if (now_ms >= type->behind_until_ms || limit >= verdict->limit)
        return;
    *verdict = (udpai_hold_verdict){
        .limit = limit,
        .until_ms =
            type->behind_until_ms < verdict->until_ms ? type->behind_until_ms : verdict->until_ms,
    };
}

uint64_t
udpai_xds_may_add(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    udpai_xds *xds = UDPAI_CONTAINER_OF(subscriber, udpai_xds, subscriber);
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    uint64_t first, last;
    if (type->role != UDPAI_XDS_WAITS || !xds->siblings || !xds->server->warm_timeout_ms)
        return UINT64_MAX;
    bool is_alone = xds->siblings->n_streams == 1;
    udpai_hold_verdict verdict = {.limit = UINT64_MAX, .until_ms = UINT64_MAX};
    if ((!is_alone || !udpai_hold_is_empty(&xds->siblings->hold)) &&
        udpai_subscription_pending_changes(subscription, &first, &last)) {
        verdict = ask(xds, first, last);
        if (!is_alone)
            limit_by_streams(xds, type, last, &verdict);
        if (verdict.limit < last) {
            note_held(xds, subscription, verdict.cluster);
            wait_until(xds, verdict.until_ms);
            return verdict.limit;
        }
    }
    note_free(subscription);
    return verdict.limit;
}

static void
add_references(udpai_xds_references *found, const udpai_xds *other, unsigned rank)
{
    for (size_t i = other->subscriber.subscriptions.n; i-- > 0;) {
        udpai_subscription *one = other->subscriber.subscriptions.items[i];
        if (udpai_type_rank(udpai_subscription_type_url(one)) <= rank)
            return;
        uint64_t pending = udpai_subscription_first_pending(one);
        bool is_debounced = udpai_subscription_is_debounced(one);
        if (is_debounced && udpai_subscription_first_removal(one) < pending)
            pending = udpai_subscription_first_removal(one);
        if (pending < found->unsent)
            found->unsent = pending;
        if (pending < found->held && (is_debounced || udpai_xds_held(one)))
            found->held = pending;
        found->is_unanswered |= udpai_xds_type_of(one)->n_in_flight > 0;
    }
}

udpai_xds_references
udpai_xds_siblings_references(udpai_xds *xds, udpai_subscription *subscription)
{
    unsigned rank = udpai_type_rank(udpai_subscription_type_url(subscription));
    udpai_xds_references found = {UINT64_MAX, UINT64_MAX, false};
    if (!xds->siblings || xds->siblings->n_streams == 1)
        return found;
    UDPAI_LIST_FOREACH (node, &xds->siblings->streams) {
        const udpai_xds *other = UDPAI_LIST_ENTRY(node, udpai_xds, in_siblings);
        if (other != xds)
            add_references(&found, other, rank);
    }
    if (found.is_unanswered || found.unsent != UINT64_MAX)
        wait_until(xds, UINT64_MAX);
    return found;
}
