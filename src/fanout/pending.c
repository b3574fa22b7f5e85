/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscription is to be sent besides what its cursor covers, and whether what is not there
 * is certain. */
#include "fanout/fanout_internal.h"

#include "fanout/variant.h"

static udpai_str
pending_key(const void *item)
{
    const udpai_pending *pending = item;
    return (udpai_str){(const char *)&pending->item, sizeof(pending->item)};
}

void
udpai_pending_init(udpai_subscription *subscription)
{
    udpai_map_init_in(&subscription->pending_items, pending_key,
                      udpai_subscription_memory(subscription));
}

void
udpai_subscription_wake(udpai_subscription *subscription)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    if (udpai_debounce_waits(subscription) || subscriber->woken)
        return;
    subscriber->woken = true;
    subscriber->ops->wake(subscriber);
}

/* Can the protocol send this? */
static bool
can_send(const udpai_subscription *subscription,
         const udpai_list *list,
         const udpai_pending *pending)
{
    return list != &subscription->removals || subscription->mode == UDPAI_MODE_DELTA ||
           (subscription->mode == UDPAI_MODE_ERRORS && !pending->is_of_item);
}

void
udpai_mark_pending(udpai_subscription *subscription, udpai_list *list, udpai_pending *pending)
{
    uint64_t now = subscription->topic->fanout->seq;
    pending->mark_seq = now;
    udpai_list_remove(&pending->node);
    if (subscription->mode == UDPAI_MODE_STATE) {
        uint64_t *due = list == &subscription->removals ? &subscription->state_removal_seq
                                                        : &subscription->state_due_seq;
        if (*due == UDPAI_NOTHING)
            *due = now;
    } else if (can_send(subscription, list, pending)) {
        udpai_list_append(list, &pending->node);
    }
    udpai_subscription_wake(subscription);
}

static udpai_pending *
new_pending(udpai_subscription *subscription, udpai_item *item)
{
    udpai_pending *pending =
        udpai_alloc_in(udpai_subscription_memory(subscription), sizeof(*pending));
    if (!pending)
        return NULL;
    udpai_list_init(&pending->node);
    pending->item = item;
    pending->is_of_item = true;
    if (!udpai_map_add(&subscription->pending_items, pending)) {
        udpai_free_in(udpai_subscription_memory(subscription), pending, sizeof(*pending));
        return NULL;
    }
    item->n_pins++;
    return pending;
}

udpai_pending *
udpai_pending_of_item(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_map_get(&subscription->pending_items,
                         (udpai_str){(const char *)&item, sizeof(item)});
}

udpa_err
udpai_pending_reserve(udpai_subscription *subscription, udpai_item *item)
{
    return udpai_pending_of_item(subscription, item) || new_pending(subscription, item)
               ? UDPA_OK
               : UDPA_ERR_NOMEM;
}

udpa_err
udpai_mark_item_pending(udpai_subscription *subscription, udpai_list *list, udpai_item *item)
{
    udpai_pending *pending = udpai_pending_of_item(subscription, item);
    if (!pending)
        pending = new_pending(subscription, item);
    if (!pending)
        return UDPA_ERR_NOMEM;
    udpai_mark_pending(subscription, list, pending);
    subscription->pending_item_seq = pending->mark_seq;
    if (!udpai_list_linked(&pending->node))
        udpai_pending_done(subscription, pending);
    return UDPA_OK;
}

void
udpai_pending_done(udpai_subscription *subscription, udpai_pending *pending)
{
    udpai_list_remove(&pending->node);
    if (!pending->is_of_item)
        return;
    udpai_item *item = pending->item;
    udpai_map_remove(&subscription->pending_items, pending_key(pending));
    udpai_free_in(udpai_subscription_memory(subscription), pending, sizeof(*pending));
    item->n_pins--;
    udpai_item_release(item);
}

void
udpai_subscription_resend_all(udpai_subscription *subscription)
{
    if (subscription->mode == UDPAI_MODE_STATE) {
        udpai_subscription_resend_state(subscription);
        return;
    }
    udpai_cursor *cursor = &subscription->cursor;
    uint64_t sent = cursor->window_to > cursor->low ? cursor->window_to : cursor->low;
    if (cursor->sent_before < sent)
        cursor->sent_before = sent;
    cursor->low = cursor->window_from = cursor->window_to = subscription->synced_seq = 0;
    udpai_subscription_wake(subscription);
}

void
udpai_subscription_resend_state(udpai_subscription *subscription)
{
    subscription->state_due_seq = subscription->topic->fanout->seq;
    subscription->state_forced = true;
    udpai_subscription_wake(subscription);
}

/* ---- settled ---- */

static void
wait_for_settled(udpai_subscription *subscription)
{
    if (!udpai_list_linked(&subscription->in_waiting))
        udpai_list_append(&subscription->topic->fanout->waiting, &subscription->in_waiting);
}

void
udpai_subscription_recheck_at(udpai_subscription *subscription, uint64_t at_ms)
{
    udpai_timer *timer = &subscription->cycle;
    if (!udpai_timer_is_set(timer) || at_ms < timer->due_ms)
        udpai_timer_set(subscription->subscriber->fanout->wheel, timer, at_ms);
}

static bool
is_settled(udpai_subscription *subscription, udpai_str scope, bool as_name, uint64_t asked_ms)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    const udpai_fanout *fanout = subscriber->fanout;
    udpai_str except = udpai_subscriber_except(subscriber);
    udpai_str type_url = udpai_topic_url(subscription->topic);
    udpai_settled_state state =
        !as_name ? udpai_settled_query(fanout->settled, type_url, scope, except)
        : udpai_topic_has(subscription->topic, scope)
            ? udpai_settled_query_held(fanout->settled, type_url, scope, except)
            : udpai_settled_query_name(fanout->settled, type_url, scope, except);
    if (state == UDPAI_SETTLED)
        return true;
    uint64_t since_ms = udpai_settled_since(fanout->settled, type_url, scope, except);
    uint64_t end_ms =
        (asked_ms > since_ms ? asked_ms : since_ms) + fanout->options.cycle_timeout_ms;
    if (state == UDPAI_SETTLED_AFTER_WAIT && fanout->wheel->now_ms >= end_ms)
        return true;
    if (state == UDPAI_SETTLED_AFTER_WAIT)
        udpai_subscription_recheck_at(subscription, end_ms);
    wait_for_settled(subscription);
    return false;
}

bool
udpai_subscription_is_settled(udpai_subscription *subscription, udpai_str scope, uint64_t asked_ms)
{
    return is_settled(subscription, scope, false, asked_ms);
}

bool
udpai_subscription_is_name_settled(udpai_subscription *subscription,
                                   udpai_str name,
                                   uint64_t asked_ms)
{
    return is_settled(subscription, name, true, asked_ms);
}

/* A state, and what is sent like one, has no word for what is not known. */
bool
udpai_subscription_knows_absence(udpai_subscription *subscription, udpai_str name)
{
    bool sends_absence =
        subscription->mode == UDPAI_MODE_DELTA || subscription->mode == UDPAI_MODE_ERRORS;
    const udpai_fanout *fanout = subscription->subscriber->fanout;
    if (!sends_absence ||
        udpai_settled_knows_absence(fanout->settled, udpai_topic_url(subscription->topic), name))
        return true;
    wait_for_settled(subscription);
    return false;
}

bool
udpai_subscription_is_known(udpai_subscription *subscription, size_t index)
{
    return is_settled(subscription, udpai_bytes_view(subscription->prefixes.items[index]), false,
                      subscription->asked_ms);
}
