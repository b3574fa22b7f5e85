/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a subscriber is sent changes of all its types: make before break, and no type
 * starves. */

/* In rounds. A round first sends additions, types in order of their rank; a type never runs ahead
 * of those before it: it sends changes up to where all of them have come. Then removals, in the
 * reverse order, up to where all types have come. Then what is complete. A change set lies wholly
 * before or wholly behind any such place, so what refers to something arrives after it, and what is
 * replaced goes after what replaces it.
 *
 * What a subscriber may not be sent yet (may_add) stays where it is. Removals behind it wait for
 * it, as for anything that was not sent. Changes that wait so that others can join them
 * (debounce.c) limit what goes: types behind them, and removals of all types, do not overtake them.
 *
 * A resource that changes all the time is always at the end; so that it does not wait for ever for
 * others before it, a type that had to wait for some rounds overtakes what changed twice meanwhile,
 * and after some more it goes as far as there is. */
#include "fanout/ack_tracker.h"
#include "fanout/fanout_internal.h"
#include "fanout/resume.h"

#define PATIENCE 2
#define REMOVALS_PATIENCE 16
/* A question for names is answered within that time, or its peer is sent what it waits for. */
#define NAMES_WAIT_MS 50
#define ROUNDS_MAX (2 * PATIENCE + 3)

static uint64_t
before_pending(udpai_subscription *subscription)
{
    uint64_t pending = udpai_pending_addition(subscription);
    if (pending == UDPAI_NOTHING)
        return subscription->topic->fanout->seq;
    return pending ? pending - 1 : 0;
}

/* Up to where has everything been sent? What changed twice since it was sent last has the place of
 * its last change, but what came with the first of these changes must not run ahead of it. */
static uint64_t
come_to(udpai_subscription *subscription)
{
    uint64_t reached = before_pending(subscription);
    if (reached <= subscription->synced_seq)
        return reached;
    if (!udpai_pending_changed_twice(subscription, subscription->synced_seq))
        subscription->synced_seq = reached;
    return subscription->synced_seq;
}

typedef uint64_t (*reached_fn)(udpai_subscription *subscription);

/* How far the types before this one have come. */
static uint64_t
limit_for(udpai_subscriber *subscriber, size_t index, reached_fn reached_by)
{
    uint64_t limit = subscriber->fanout->seq;
    for (size_t i = 0; i < index; i++) {
        uint64_t reached = reached_by(subscriber->subscriptions.items[i]);
        limit = reached < limit ? reached : limit;
    }
    return limit;
}

static uint64_t
limit_for_additions(udpai_subscriber *subscriber, size_t index)
{
    unsigned n_deferred = subscriber->subscriptions.items[index]->n_deferred;
    if (n_deferred >= 2 * PATIENCE)
        return subscriber->fanout->seq;
    return limit_for(subscriber, index, n_deferred < PATIENCE ? come_to : before_pending);
}

/* The same for removals, which wait for all types; but not for ever. */
static uint64_t
limit_for_removals(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    size_t n = subscriber->subscriptions.n;
    uint64_t pending = udpai_pending_removal(subscription);
    uint64_t limit = limit_for(subscriber, n, come_to);
    if (pending == UDPAI_NOTHING || pending <= limit ||
        ++subscription->n_removals_deferred <= REMOVALS_PATIENCE)
        return limit;
    return limit_for(subscriber, n, before_pending);
}

static bool
is_too_far_behind(const udpai_subscription *subscription)
{
    const udpai_view *view = subscription->view, *filter = subscription->filter;
    uint64_t place = subscription->cursor.tombstones;
    return subscription->mode == UDPAI_MODE_DELTA && view &&
           (place < view->tombstone_horizon || (filter && place < filter->tombstone_horizon));
}

/* Its place before it is sent the next. Payloads: see collect.c; a refresh that moved one on before
 * it was sent makes the cursor alone too high. */
static udpai_ack_position
place_of(udpai_subscription *subscription)
{
    uint64_t low = subscription->cursor.low, synced = subscription->synced_seq;
    return (udpai_ack_position){
        .additions = udpai_pending_addition(subscription),
        .payloads = low < synced ? low : synced,
        .removals = udpai_pending_removal(subscription),
        .turn = subscription->n_turns + 1,
        .all_additions = subscription->all_additions,
        .all_removals = subscription->all_removals,
    };
}

static udpa_err
give(udpai_delivery *delivery,
     udpai_delivery_kind kind,
     udpai_subscription *subscription,
     udpai_body *body)
{
    if (body) {
        subscription->n_turns++;
        *delivery = (udpai_delivery){
            .kind = kind,
            .subscription = subscription,
            .body = body,
            .place = UDPAI_ACK_POSITION_NONE,
            .head = subscription->topic->fanout->seq,
        };
    }
    return UDPA_OK;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
may_add(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    return subscriber->ops->may_add ? subscriber->ops->may_add(subscriber, subscription)
                                    : UDPAI_NOTHING;
}

/* What it or a type before it waits for is no reason to lose patience. */
static bool
is_debounced(udpai_subscription *subscription, uint64_t debounced_after)
{
    const udpai_send_limits limits = {UDPAI_NOTHING, debounced_after};
    if (udpai_pending_is_sendable(subscription, &limits))
        return false;
    udpai_debounce_is_behind(subscription);
    return true;
}

static udpa_err
additions_turn(udpai_subscriber *subscriber, size_t index, udpai_delivery *delivery)
{
    udpai_subscription *subscription = subscriber->subscriptions.items[index];
    uint64_t head = subscriber->fanout->seq, pending;
    uint64_t debounced_after = udpai_debounce_limit(subscriber, index + 1);
    while (!delivery->body && (pending = udpai_pending_addition(subscription)) != UDPAI_NOTHING) {
        if (is_debounced(subscription, debounced_after))
            break;
        uint64_t limit = limit_for_additions(subscriber, index);
        bool whole = subscription->mode == UDPAI_MODE_STATE; /* cannot stop half-way */
        bool is_next_rounds =
            pending > subscriber->round_limit && subscription->n_deferred < PATIENCE;
        if (is_next_rounds || pending > limit || (whole && limit < head)) {
            subscription->n_deferred++;
            break;
        }
        const udpai_send_limits limits = {
            limit, least(debounced_after, may_add(subscriber, subscription))};
        if (!udpai_pending_is_sendable(subscription, &limits)) {
            udpai_debounce_is_blocked(subscription);
            break;
        }
        udpai_body *body = NULL;
        uint64_t since = whole ? subscription->cursor.low : 0;
        udpai_ack_position place = place_of(subscription);
        udpa_err err = udpai_collect_additions(subscription, &limits, &body);
        if (err != UDPA_OK)
            return err;
        subscription->n_deferred = 0;
        if (udpai_pending_addition(subscription) == UDPAI_NOTHING)
            subscription->synced_seq = subscription->all_additions = head;
        give(delivery, whole ? UDPAI_DELIVERY_STATE : UDPAI_DELIVERY_ADDITIONS, subscription, body);
        delivery->since = since;
        delivery->place = place;
        delivery->place.removals = delivery->place.all_removals = UDPAI_NOTHING;
    }
    udpai_debounce_turn_ended(subscription, udpai_pending_addition(subscription),
                              delivery->body != NULL);
    return UDPA_OK;
}

/* A state has all that was set, so it would bring what is put off. */
static bool
would_bring_too_much(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    if (subscription->mode != UDPAI_MODE_STATE ||
        udpai_pending_addition(subscription) == UDPAI_NOTHING)
        return false;
    uint64_t allowed = least(udpai_debounce_limit(subscriber, subscriber->subscriptions.n),
                             may_add(subscriber, subscription));
    const udpai_send_limits limits = {UDPAI_NOTHING, allowed};
    return !udpai_pending_is_sendable(subscription, &limits);
}

/* May the first of the removals go? Lowers the limit to where all of them may. */
static bool
may_remove(udpai_subscriber *subscriber, udpai_subscription *subscription, uint64_t *limit)
{
    uint64_t pending = udpai_pending_removal(subscription), allowed = UDPAI_NOTHING;
    if (pending > *limit || would_bring_too_much(subscriber, subscription))
        return false;
    if (subscriber->ops->may_remove)
        allowed = subscriber->ops->may_remove(subscriber, subscription);
    if (allowed < *limit)
        *limit = allowed;
    return allowed && pending <= *limit;
}

static udpa_err
removals_turn(udpai_subscriber *subscriber, size_t index, udpai_delivery *delivery)
{
    udpai_subscription *subscription = subscriber->subscriptions.items[index];
    if (subscription->held_unchecked &&
        udpai_pending_addition(subscription) > subscription->held_seq) {
        udpa_err err = udpai_held_check(subscription);
        if (err != UDPA_OK)
            return err;
    }
    if (udpai_pending_removal(subscription) == UDPAI_NOTHING) {
        subscription->time = 0; /* of one that was held back, and is void now */
        come_to(subscription);
        return UDPA_OK;
    }
    uint64_t debounced_after = udpai_debounce_limit(subscriber, subscriber->subscriptions.n);
    if (udpai_pending_removal(subscription) > debounced_after)
        return UDPA_OK;
    uint64_t limit = least(debounced_after, limit_for_removals(subscriber, subscription));
    while (!delivery->body && may_remove(subscriber, subscription, &limit)) {
        subscription->n_removals_deferred = 0;
        udpai_body *body = NULL;
        uint64_t since = subscription->cursor.low;
        udpai_ack_position place = place_of(subscription);
        udpa_err err = udpai_collect_removals(subscription, limit, &body);
        if (err != UDPA_OK)
            return err;
        if (udpai_has_all_removals(subscription))
            subscription->all_removals = subscriber->fanout->seq;
        give(delivery,
             subscription->mode == UDPAI_MODE_STATE ? UDPAI_DELIVERY_STATE
                                                    : UDPAI_DELIVERY_REMOVALS,
             subscription, body);
        delivery->since = since;
        delivery->place = place;
        if (subscription->mode != UDPAI_MODE_STATE)
            delivery->place.additions = delivery->place.payloads = delivery->place.all_additions =
                UDPAI_NOTHING;
    }
    return UDPA_OK;
}

/* By whatever it leads to. */
static bool
is_shown(const udpai_subscription *subscription, udpai_str name)
{
    const udpai_name_sub *sub = udpai_map_get(&subscription->names, name);
    return sub && sub->state == UDPAI_NAME_PRESENT;
}

static bool
await_is_settled(udpai_subscription *subscription, udpai_await *await)
{
    if (await->is_wildcard)
        return udpai_subscription_is_settled(subscription, udpai_bytes_view(await->prefix),
                                             await->asked_ms);
    for (size_t i = 0; i < await->names.n; i++) {
        udpai_str name = udpai_bytes_view(await->names.items[i]);
        if (!(udpai_topic_has(subscription->topic, name) || is_shown(subscription, name) ||
              udpai_subscription_knows_absence(subscription, name)) ||
            !udpai_subscription_is_name_settled(subscription, name, await->asked_ms))
            return false;
    }
    return true;
}

/* Has everything that there was when it was settled been sent? */
static bool
await_is_ready(udpai_subscription *subscription, udpai_await *await)
{
    if (!await->is_settled) {
        if (!await_is_settled(subscription, await))
            return false;
        await->is_settled = true;
        await->target_seq = subscription->topic->fanout->seq;
    }
    return !subscription->held_unchecked &&
           udpai_pending_addition(subscription) > await->target_seq &&
           udpai_pending_removal(subscription) > await->target_seq;
}

static bool
is_there(const void *topic, udpai_str name)
{
    return udpai_topic_has(topic, name);
}

/* NULL: nothing is known, or there is no memory for it. */
static udpa_bytes *
describe_waits(const udpai_subscription *subscription, const udpai_await *await)
{
    udpai_waits waits;
    uint8_t *room;
    udpai_proto_writer writer = {0};
    const udpai_settled *settled = subscription->topic->fanout->settled;
    udpai_str type_url = udpai_topic_url(subscription->topic);
    const udpai_settled_asked asked = {await->names.items, await->names.n, is_there,
                                       subscription->topic};
    bool is_waiting =
        await->is_wildcard
            ? udpai_settled_waits(settled, type_url, udpai_bytes_view(await->prefix), &waits)
            : udpai_settled_waits_names(settled, type_url, &asked, &waits);
    if (!is_waiting)
        return NULL;
    udpai_waits_put(&waits, &writer);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){.at = room};
        udpai_waits_put(&waits, &writer);
    }
    return bytes;
}

/* What a node waits for is sent behind all that there was when that was found out. */
static udpa_err
send_waits(udpai_subscription *subscription, udpai_await *await, udpai_delivery *delivery)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *waits = describe_waits(subscription, await);
    udpai_body *body = NULL;
    if (!waits)
        return UDPA_OK;
    bool is_sent = await->sent_waits &&
                   udpai_str_eq(udpai_bytes_view(await->sent_waits), udpai_bytes_view(waits));
    udpa_err err = is_sent
                       ? UDPA_OK
                       : udpai_collect_waits(subscription, await, udpai_bytes_view(waits), &body);
    if (err != UDPA_OK)
        return err;
    await->sent_settled_nr = subscription->topic->fanout->settled_nr;
    if (is_sent)
        return UDPA_OK;
    udpa_bytes_unref(await->sent_waits);
    await->sent_waits = UDPAI_TAKE(waits);
    return give(delivery, UDPAI_DELIVERY_COMPLETE, subscription, body);
}

/* Most names are answered before. */
static bool
is_due(udpai_subscription *subscription, const udpai_await *await)
{
    uint64_t due_ms = await->asked_ms + (await->is_wildcard ? 0 : NAMES_WAIT_MS);
    if (await->names.n == 0 && !await->is_wildcard)
        return false;
    if (subscription->subscriber->fanout->wheel->now_ms >= due_ms)
        return true;
    udpai_subscription_recheck_at(subscription, due_ms);
    return false;
}

static udpa_err
waits_turn(udpai_subscription *subscription, udpai_delivery *delivery)
{
    bool is_all_sent = !subscription->held_unchecked &&
                       udpai_pending_addition(subscription) == UDPAI_NOTHING &&
                       udpai_pending_removal(subscription) == UDPAI_NOTHING;
    if (!subscription->subscriber->receives_waits || !is_all_sent)
        return UDPA_OK;
    UDPAI_LIST_FOREACH (at, &subscription->awaits) {
        udpai_await *await = UDPAI_LIST_ENTRY(at, udpai_await, node);
        if (await->is_settled || !is_due(subscription, await) ||
            await->sent_settled_nr == subscription->topic->fanout->settled_nr)
            continue;
        udpa_err err = send_waits(subscription, await, delivery);
        if (err != UDPA_OK || delivery->body)
            return err;
    }
    return UDPA_OK;
}

static udpa_err
complete_turn(udpai_subscriber *subscriber, size_t index, udpai_delivery *delivery)
{
    udpai_subscription *subscription = subscriber->subscriptions.items[index];
    if (udpai_list_empty(&subscription->awaits))
        return UDPA_OK;
    udpai_await *await = UDPAI_LIST_ENTRY(subscription->awaits.next, udpai_await, node);
    if (!await_is_ready(subscription, await))
        return waits_turn(subscription, delivery);
    udpai_body *body = NULL;
    udpa_err err = udpai_collect_complete(subscription, udpai_bytes_view(await->prefix), &body);
    if (err != UDPA_OK)
        return err;
    udpai_await_done(subscription, await);
    return give(delivery, UDPAI_DELIVERY_COMPLETE, subscription, body);
}

/* One step of the round: the turn decides whose it is, and for what. */
static udpa_err
take_turn(udpai_subscriber *subscriber, udpai_delivery *delivery)
{
    size_t n = subscriber->subscriptions.n, turn = subscriber->turn;
    if (turn < n)
        return additions_turn(subscriber, turn, delivery);
    if (turn < 2 * n)
        return removals_turn(subscriber, 2 * n - 1 - turn, delivery);
    return complete_turn(subscriber, turn - 2 * n, delivery);
}

static udpa_err
play_round(udpai_subscriber *subscriber, udpai_delivery *delivery)
{
    if (!subscriber->in_round)
        subscriber->round_limit = subscriber->fanout->seq;
    subscriber->in_round = true;
    while (subscriber->turn < 3 * subscriber->subscriptions.n) {
        udpa_err err = take_turn(subscriber, delivery);
        if (err != UDPA_OK || delivery->body)
            return err;
        subscriber->turn++;
    }
    subscriber->turn = 0;
    subscriber->in_round = false;
    return UDPA_OK;
}

static bool
has_pending(udpai_subscriber *subscriber)
{
    for (size_t i = 0; i < subscriber->subscriptions.n; i++) {
        udpai_subscription *subscription = subscriber->subscriptions.items[i];
        if (udpai_pending_addition(subscription) != UDPAI_NOTHING ||
            udpai_pending_removal(subscription) != UDPAI_NOTHING || subscription->held_unchecked)
            return true;
    }
    return false;
}

udpa_err
udpai_subscriber_next(udpai_subscriber *subscriber, udpai_delivery *ret_delivery)
{
    udpai_delivery delivery = {0};
    for (size_t i = 0; i < subscriber->subscriptions.n; i++)
        if (is_too_far_behind(subscriber->subscriptions.items[i]))
            return UDPA_ERR_ABORTED;
    /* The first round may be the rest of one; after it, one must find something, or there is
     * nothing: what had to wait loses its patience within the bound. */
    bool is_rest = subscriber->in_round;
    for (unsigned round = 0; round < ROUNDS_MAX && !delivery.body; round++) {
        udpa_err err = play_round(subscriber, &delivery);
        if (err != UDPA_OK)
            return err;
        if (!delivery.body && !is_rest && !has_pending(subscriber))
            break;
        is_rest = false;
    }
    subscriber->woken = delivery.body != NULL;
    if (delivery.body)
        subscriber->moved_ms = subscriber->fanout->wheel->now_ms;
    *ret_delivery = delivery;
    return UDPA_OK;
}

bool
udpai_subscriber_in_sync(const udpai_subscriber *subscriber)
{
    return !has_pending((udpai_subscriber *)(uintptr_t)subscriber);
}
