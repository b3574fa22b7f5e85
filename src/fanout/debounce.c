/* SPDX-License-Identifier: Apache-2.0 */
/* The mirror always has all changes. What waits is a limit: a subscription among those that wait is
 * sent nothing that has changed behind a place of its topic, and nor are the types behind it, of
 * the same subscriber, which may refer to that.
 *
 * When the wait of one type ends, all that its subscribers wait for ends. A resource that changes
 * all the time is always behind the place of the next wait. So that it is sent once for each, its
 * subscriber waits for nothing new before it was sent what was due. */
#include "fanout/debounce.h"

#include "fanout/fanout_internal.h"
#include "model/secret_type.h"

static const udpai_debounce_rule *
find_rule(const udpai_fanout *fanout, udpai_str type_url)
{
    const udpai_debounce_rule *of_others = NULL;
    for (size_t i = 0; i < udpai_debounce_rules_size(fanout->debounce_rules); i++) {
        const udpai_debounce_rule *rule = udpai_debounce_rules_at(fanout->debounce_rules, i);
        if (udpai_str_eq(rule->type_url, type_url))
            return rule;
        if (rule->type_url.len == 0 && !udpai_type_is_secret(type_url))
            of_others = rule;
    }
    return of_others;
}

static uint64_t
due_ms(const udpai_debounce *debounce)
{
    uint64_t quiet = debounce->last_ms + debounce->quiet_ms,
             most = debounce->first_ms + debounce->max_ms;
    return quiet < most ? quiet : most;
}

static void
set_overdue(udpai_subscription *subscription)
{
    if (subscription->debounce_state != UDPAI_DEBOUNCE_OVERDUE)
        subscription->subscriber->n_overdue++;
    subscription->debounce_state = UDPAI_DEBOUNCE_OVERDUE;
}

static void
set_calm(udpai_subscription *subscription)
{
    if (subscription->debounce_state == UDPAI_DEBOUNCE_OVERDUE)
        subscription->subscriber->n_overdue--;
    subscription->debounce_state = UDPAI_DEBOUNCE_CALM;
}

static void
leave_waiting(udpai_subscription *subscription)
{
    if (!udpai_list_linked(&subscription->in_debounce))
        return;
    udpai_list_remove(&subscription->in_debounce);
    subscription->subscriber->n_waiting--;
}

/* All that the subscriber waits for. */
static void
end_waits(udpai_subscriber *subscriber)
{
    if (!subscriber->n_waiting)
        return;
    subscriber->due_seq = subscriber->fanout->seq;
    for (size_t i = 0; i < subscriber->subscriptions.n; i++) {
        udpai_subscription *subscription = subscriber->subscriptions.items[i];
        if (udpai_list_linked(&subscription->in_debounce) ||
            subscription->debounce_state == UDPAI_DEBOUNCE_BEHIND)
            set_overdue(subscription);
        leave_waiting(subscription);
    }
    if (subscriber->woken)
        return;
    subscriber->woken = true;
    subscriber->ops->wake(subscriber);
}

static void
count(const udpai_debounce *debounce, uint64_t now_ms)
{
    if (!debounce->changes || udpai_list_empty(&debounce->waiting))
        return;
    udpai_meter_add(debounce->changes, debounce->n_changes);
    udpai_meter_observe(debounce->seconds, (now_ms - debounce->first_ms) * 1000);
}

static void
on_timer(udpai_timer *timer)
{
    udpai_topic *topic = UDPAI_CONTAINER_OF(timer, udpai_topic, debounce.timer);
    udpai_debounce *debounce = &topic->debounce;
    udpai_wheel *wheel = topic->fanout->wheel;
    if (wheel->now_ms < due_ms(debounce)) { /* there were others since it was set */
        udpai_timer_set(wheel, timer, due_ms(debounce));
        return;
    }
    count(debounce, wheel->now_ms);
    while (!udpai_list_empty(&debounce->waiting))
        end_waits(
            UDPAI_LIST_ENTRY(debounce->waiting.next, udpai_subscription, in_debounce)->subscriber);
}

static void
set_rule(udpai_topic *topic, udpai_str type_url)
{
    udpai_debounce *debounce = &topic->debounce;
    udpai_meters *meters = topic->fanout->meters;
    const udpai_debounce_rule *rule = find_rule(topic->fanout, type_url);
    debounce->quiet_ms = rule ? rule->quiet_ms : 0;
    debounce->max_ms = rule ? rule->max_ms : 0;
    if (!rule || !meters)
        return;
    debounce->changes = udpai_meters_get(meters, UDPAI_METRIC_PUSH_HELD_CHANGES, type_url);
    debounce->seconds = udpai_meters_get(meters, UDPAI_METRIC_PUSH_HELD_TIME, (udpai_str){0});
}

void
udpai_debounce_init(udpai_topic *topic, udpai_str type_url)
{
    udpai_timer_init(&topic->debounce.timer, on_timer);
    udpai_list_init(&topic->debounce.waiting);
    set_rule(topic, type_url);
}

void
udpai_debounce_take_rules(udpai_topic *topic, udpai_str type_url)
{
    udpai_debounce *debounce = &topic->debounce;
    udpai_wheel *wheel = topic->fanout->wheel;
    set_rule(topic, type_url);
    if (!udpai_timer_is_set(&debounce->timer))
        return;
    uint64_t due = due_ms(debounce);
    udpai_timer_set(wheel, &debounce->timer, due > wheel->now_ms ? due : wheel->now_ms);
}

void
udpai_debounce_done(udpai_topic *topic)
{
    udpai_timer_cancel(&topic->debounce.timer);
}

void
udpai_debounce_change(udpai_topic *topic)
{
    udpai_debounce *debounce = &topic->debounce;
    udpai_wheel *wheel = topic->fanout->wheel;
    if (!debounce->max_ms)
        return;
    debounce->last_ms = wheel->now_ms;
    debounce->n_changes++;
    if (udpai_timer_is_set(&debounce->timer))
        return;
    debounce->first_ms = wheel->now_ms;
    debounce->n_changes = 1;
    debounce->after = topic->fanout->applied_after;
    udpai_timer_set(wheel, &debounce->timer, due_ms(debounce));
}

static void
wait(udpai_subscription *subscription)
{
    if (udpai_list_linked(&subscription->in_debounce))
        return;
    udpai_list_append(&subscription->topic->debounce.waiting, &subscription->in_debounce);
    subscription->subscriber->n_waiting++;
}

void
udpai_debounce_asked(udpai_subscription *subscription)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    end_waits(subscriber);
    if (!subscriber->is_debounced || !subscription->topic->debounce.max_ms)
        return;
    set_overdue(subscription);
    subscriber->due_seq = subscriber->fanout->seq;
}

bool
udpai_debounce_waits(udpai_subscription *subscription)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    if (!subscriber->is_debounced)
        return false;
    if (!subscriber->fanout->is_applying)
        udpai_debounce_asked(subscription);
    if (subscriber->n_overdue || !udpai_timer_is_set(&subscription->topic->debounce.timer))
        return false;
    wait(subscription);
    return true;
}

void
udpai_subscription_wait_with_others(udpai_subscription *subscription)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    if (!subscriber->is_debounced)
        return;
    subscription->had_state = true;
    set_calm(subscription);
    if (udpai_timer_is_set(&subscription->topic->debounce.timer))
        wait(subscription);
}

bool
udpai_subscription_is_debounced(const udpai_subscription *subscription)
{
    return udpai_list_linked(&subscription->in_debounce);
}

void
udpai_debounce_leave(udpai_subscription *subscription)
{
    set_calm(subscription);
    leave_waiting(subscription);
}

uint64_t
udpai_debounce_limit(const udpai_subscriber *subscriber, size_t n)
{
    uint64_t limit = UDPAI_NOTHING;
    for (size_t i = 0; subscriber->n_waiting && i < n; i++) {
        const udpai_subscription *subscription = subscriber->subscriptions.items[i];
        uint64_t after = subscription->topic->debounce.after;
        if (udpai_list_linked(&subscription->in_debounce) && after < limit)
            limit = after;
    }
    return limit;
}

void
udpai_debounce_is_behind(udpai_subscription *subscription)
{
    if (subscription->debounce_state == UDPAI_DEBOUNCE_CALM)
        subscription->debounce_state = UDPAI_DEBOUNCE_BEHIND;
}

void
udpai_debounce_turn_ended(udpai_subscription *subscription, uint64_t pending, bool was_sent)
{
    if (subscription->debounce_state == UDPAI_DEBOUNCE_OVERDUE &&
        (pending == UDPAI_NOTHING || (was_sent && pending > subscription->subscriber->due_seq)))
        set_calm(subscription);
}

void
udpai_debounce_is_blocked(udpai_subscription *subscription)
{
    if (subscription->debounce_state == UDPAI_DEBOUNCE_OVERDUE)
        set_calm(subscription);
}
