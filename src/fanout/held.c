/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber says it still holds from an earlier stream. */
#include "fanout/fanout_internal.h"

static udpai_held *
get_held(udpai_subscription *subscription, udpai_str name)
{
    udpai_held *held = udpai_map_get(&subscription->held, name);
    if (held)
        return held;
    held = udpai_alloc(sizeof(*held) + name.len);
    if (!held)
        return NULL;
    held->name_len = (uint32_t)name.len;
    if (name.len)
        memcpy(held->name, name.data, name.len);
    if (!udpai_map_add(&subscription->held, held)) {
        udpai_free(held);
        return NULL;
    }
    subscription->held_unchecked = true;
    subscription->held_seq = subscription->topic->fanout->seq;
    return held;
}

static void
free_held(udpai_held *held)
{
    if (held)
        udpa_bytes_unref(held->version);
    udpai_free(held);
}

void
udpai_held_forget(udpai_subscription *subscription, udpai_str name)
{
    if (subscription->held.n)
        free_held(udpai_map_remove(&subscription->held, name));
}

void
udpai_held_suspect(udpai_subscription *subscription, udpai_str name)
{
    if (subscription->held.n < subscription->topic->fanout->options.max_names)
        (void)get_held(subscription, name);
}

/* Who has given a wildcard back keeps nothing of it, so that it must be sent again if it is asked
 * for again. */
void
udpai_held_forget_uncovered(udpai_subscription *subscription)
{
    udpai_map kept;
    udpai_map_init(&kept, subscription->held.key);
    size_t at = 0;
    udpai_held *held;
    while ((held = udpai_map_next(&subscription->held, &at))) {
        udpai_str name = {held->name, held->name_len};
        bool stays = udpai_subscription_covers(subscription, name) ||
                     udpai_subscription_has_name(subscription, name);
        if (!stays || !udpai_map_add(&kept, held))
            free_held(held);
    }
    udpai_map_done(&subscription->held);
    subscription->held = kept;
}

udpa_err
udpai_subscription_hold_version(udpai_subscription *subscription, udpai_str name, udpai_str version)
{
    if (subscription->held.n >= subscription->topic->fanout->options.max_names)
        return UDPA_ERR_LIMIT;
    udpai_held *held = get_held(subscription, name);
    if (!held)
        return UDPA_ERR_NOMEM;
    held->version = udpa_bytes_unref(held->version);
    return udpa_bytes_new(&held->version, version.data, version.len);
}

udpa_err
udpai_subscription_hold_digest(udpai_subscription *subscription, udpai_str name, uint64_t digest)
{
    if (subscription->held.n >= subscription->topic->fanout->options.max_names)
        return UDPA_ERR_LIMIT;
    udpai_held *held = get_held(subscription, name);
    if (!held)
        return UDPA_ERR_NOMEM;
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
        free_held(held);
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
    udpai_held *held = udpai_map_remove(&subscription->held, udpai_resource_name(resource));
    if (!held)
        return UDPAI_HELD_NOT;
    udpai_held_state state =
        is_same_payload(subscription, held, resource) ? UDPAI_HELD_ALL : UDPAI_HELD_NOT;
    if (state == UDPAI_HELD_ALL && held->has_way &&
        held->way != udpai_resource_way_digest(resource, udpa_resource_n_hops(resource)))
        state = UDPAI_HELD_PAYLOAD;
    free_held(held);
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
        int gone = is_gone(subscription, name);
        if (gone == 0 && udpai_map_add(&uncertain, held))
            continue;
        if (gone == 1 && err == UDPA_OK)
            err = owe_removal(subscription, name);
        free_held(held);
    }
    udpai_map_done(&subscription->held);
    subscription->held = uncertain;
    return err;
}
