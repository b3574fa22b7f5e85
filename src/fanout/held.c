/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber says it still holds from an earlier stream. */
#include "fanout/variant.h"

/* The bounds are the subscriber's: it may have many subscriptions. */
static bool
has_room(const udpai_subscriber *subscriber, size_t n, size_t bytes)
{
    const udpai_fanout_options *options = &subscriber->fanout->options;
    return subscriber->n_held + n <= options->max_held &&
           subscriber->held_bytes + bytes <= options->max_held_bytes;
}

static size_t
text_size(const udpai_held *held)
{
    return held->name_len + (held->version ? udpa_bytes_size(held->version) : 0);
}

static udpa_err
new_held(udpai_subscription *subscription, udpai_str name, udpai_held **ret_held)
{
    if (!has_room(subscription->subscriber, 1, name.len))
        return UDPA_ERR_LIMIT;
    udpai_held *held = udpai_alloc(sizeof(*held) + name.len);
    if (!held)
        return UDPA_ERR_NOMEM;
    held->name_len = (uint32_t)name.len;
    if (name.len)
        memcpy(held->name, name.data, name.len);
    if (!udpai_map_add(&subscription->held, held)) {
        udpai_free(held);
        return UDPA_ERR_NOMEM;
    }
    subscription->subscriber->n_held++;
    subscription->subscriber->held_bytes += name.len;
    *ret_held = held;
    return UDPA_OK;
}

static void
free_held(udpai_subscription *subscription, udpai_held *held)
{
    if (!held)
        return;
    subscription->subscriber->n_held--;
    subscription->subscriber->held_bytes -= text_size(held);
    udpa_bytes_unref(held->version);
    udpai_free(held);
}

static void
check_when_sent(udpai_subscription *subscription)
{
    subscription->held_unchecked = subscription->held.n > 0;
    subscription->held_seq = subscription->topic->fanout->seq;
}

/* The note of a name, to be filled in: made, or of an earlier message. */
static udpa_err
get_held(udpai_subscription *subscription, udpai_str name, udpai_held **ret_held)
{
    udpai_held *held = udpai_map_get(&subscription->held, name);
    udpa_err err = held ? UDPA_OK : new_held(subscription, name, &held);
    if (err != UDPA_OK)
        return err;
    held->piece = subscription->is_held_ahead ? subscription->n_held_ahead : 0;
    if (!held->piece)
        check_when_sent(subscription);
    *ret_held = held;
    return UDPA_OK;
}

/* What it belongs to has not come yet. */
static bool
is_ahead(const udpai_subscription *subscription, const udpai_held *held)
{
    return subscription->is_held_ahead && held->piece == subscription->n_held_ahead;
}

void
udpai_subscription_hold_ahead(udpai_subscription *subscription, bool ahead)
{
    if (subscription->is_held_ahead == ahead)
        return;
    subscription->is_held_ahead = ahead;
    if (ahead && ++subscription->n_held_ahead == 0) /* 0 is what nobody has sent ahead */
        subscription->n_held_ahead = 1;
    if (!ahead) {
        check_when_sent(subscription);
        udpai_subscription_wake(subscription);
    }
}

void
udpai_held_forget(udpai_subscription *subscription, udpai_str name)
{
    if (subscription->held.n)
        free_held(subscription, udpai_map_remove(&subscription->held, name));
}

void
udpai_held_suspect(udpai_subscription *subscription, udpai_str name)
{
    udpai_held *held = udpai_map_get(&subscription->held, name);
    if (!held && new_held(subscription, name, &held) == UDPA_OK)
        check_when_sent(subscription);
}

/* Who has given a wildcard back keeps nothing of it, so that it must be sent again if it is asked
 * for again. */
udpa_err
udpai_held_forget_uncovered(udpai_subscription *subscription)
{
    udpa_err err = UDPA_OK;
    udpai_map kept;
    udpai_map_init(&kept, subscription->held.key);
    size_t at = 0;
    udpai_held *held;
    while ((held = udpai_map_next(&subscription->held, &at))) {
        udpai_str name = {held->name, held->name_len};
        bool stays = is_ahead(subscription, held) ||
                     udpai_subscription_covers(subscription, name) ||
                     udpai_subscription_has_name(subscription, name);
        if (stays && udpai_map_add(&kept, held))
            continue;
        if (stays)
            err = UDPA_ERR_NOMEM;
        free_held(subscription, held);
    }
    udpai_map_done(&subscription->held);
    subscription->held = kept;
    return err;
}

udpa_err
udpai_subscription_hold_version(udpai_subscription *subscription, udpai_str name, udpai_str version)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    udpai_held *held = NULL;
    udpa_err err = get_held(subscription, name, &held);
    if (err != UDPA_OK)
        return err;
    subscriber->held_bytes -= text_size(held) - held->name_len;
    held->version = udpa_bytes_unref(held->version);
    if (!has_room(subscriber, 0, version.len))
        return UDPA_ERR_LIMIT;
    err = udpa_bytes_new(&held->version, version.data, version.len);
    subscriber->held_bytes += text_size(held) - held->name_len;
    return err;
}

udpa_err
udpai_subscription_hold_digest(udpai_subscription *subscription, udpai_str name, uint64_t digest)
{
    udpai_held *held = NULL;
    udpa_err err = get_held(subscription, name, &held);
    if (err != UDPA_OK)
        return err;
    held->digest = digest;
    held->has_digest = true;
    return UDPA_OK;
}

void
udpai_held_drop_all(udpai_subscription *subscription)
{
    size_t at = 0;
    udpai_held *held;
    while ((held = udpai_map_next(&subscription->held, &at)))
        free_held(subscription, held);
    udpai_map_done(&subscription->held);
    subscription->held_unchecked = false;
}

udpa_err
udpai_subscription_hold_way(udpai_subscription *subscription, udpai_str name, uint64_t way)
{
    udpai_held *held = udpai_map_get(&subscription->held, name);
    if (held) {
        held->way = way;
        held->has_way = true;
    }
    return UDPA_OK;
}

static bool
is_same_payload(const udpai_subscription *subscription,
                const udpai_held *held,
                const udpa_resource *resource)
{
    if (held->has_digest)
        return held->digest == udpai_resource_digest(resource);
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    char room[UDPAI_CONTENT_HASH_HEX];
    return held->version && udpai_str_eq(udpai_bytes_view(held->version),
                                         renderer->version(renderer, resource, room));
}

udpai_held_state
udpai_held_match(udpai_subscription *subscription, const udpa_resource *resource)
{
    if (subscription->held.n == 0)
        return UDPAI_HELD_NOT;
    udpai_str name = udpai_selects_variants(subscription->subscriber)
                         ? udpai_resource_asked_name(resource)
                         : udpai_resource_name(resource);
    udpai_held *held = udpai_map_remove(&subscription->held, name);
    if (!held)
        return UDPAI_HELD_NOT;
    udpai_held_state state =
        is_same_payload(subscription, held, resource) ? UDPAI_HELD_ALL : UDPAI_HELD_NOT;
    if (state == UDPAI_HELD_ALL && held->has_way &&
        held->way != udpai_resource_way_digest(resource, udpa_resource_n_hops(resource)))
        state = UDPAI_HELD_PAYLOAD;
    free_held(subscription, held);
    return state;
}

/* 1: it is settled that it is gone, 0: not certain yet, -1: nobody asked. */
static int
is_gone(udpai_subscription *subscription, udpai_str name)
{
    if (!udpai_subscription_covers(subscription, name))
        return -1; /* names asked for one by one are answered one by one */
    return udpai_subscription_is_settled(subscription, name, subscription->asked_ms);
}

static udpa_err
owe_removal(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = udpai_item_get(subscription->topic, name);
    if (!item)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_owe_extra(subscription, &subscription->removals, item);
    if (err != UDPA_OK)
        udpai_item_release(item);
    return err;
}

/* To be called when everything that there was up to held_seq has been sent: what has found no match
 * by then is not there, or has changed since, or may still come. */
udpa_err
udpai_held_check(udpai_subscription *subscription)
{
    subscription->held_unchecked = false;
    udpai_map uncertain;
    udpai_map_init(&uncertain, subscription->held.key);
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_held *held;
    while ((held = udpai_map_next(&subscription->held, &at))) {
        udpai_str name = {held->name, held->name_len};
        int gone = is_ahead(subscription, held) ? 0 : is_gone(subscription, name);
        if (gone == 0 && udpai_map_add(&uncertain, held))
            continue;
        if (gone == 0)
            err = UDPA_ERR_NOMEM;
        if (gone == 1 && err == UDPA_OK)
            err = owe_removal(subscription, name);
        free_held(subscription, held);
    }
    udpai_map_done(&subscription->held);
    subscription->held = uncertain;
    return err;
}

void
udpai_part_take_over(udpai_subscription *part, const udpai_subscription *old)
{
    const udpai_log *log = old->view ? &old->view->tombstones : NULL;
    for (size_t i = log ? udpai_log_after(log, old->cursor.tombstones) : 0; log && i < log->n; i++)
        if (log->slots[i].item)
            udpai_held_suspect(part, udpai_item_name(log->slots[i].item));
    UDPAI_LIST_FOREACH (node, &old->removals)
        udpai_held_suspect(part, udpai_item_name(UDPAI_LIST_ENTRY(node, udpai_owed, node)->item));
    size_t at = 0;
    const udpai_held *held;
    while ((held = udpai_map_next(&old->held, &at)))
        udpai_held_suspect(part, (udpai_str){held->name, held->name_len});
}
