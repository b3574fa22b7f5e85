/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the next response, and what counts as sent once it is made. */
#include "fanout/first_answer.h"
#include "fanout/kept_removals.h"
#include "fanout/resume.h"
#include "fanout/variant.h"

/* Bodies of removals lie in the same cache as those of additions. */
#define REMOVALS_BIT ((uint64_t)1 << 63)

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- additions ---- */

/* Up to where has it been sent all payloads? The cursor alone does not suffice: it also passes the
 * place of a payload whose item has been refreshed, and so moved on, before it was sent. */
static uint64_t
payloads_sent(const udpai_subscription *subscription)
{
    return least(subscription->cursor.low, subscription->synced_seq);
}

static bool
holds_payload(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_item_payload_seq(item, subscription) <= payloads_sent(subscription);
}

/* If pending besides, it was not sent yet, or is to be sent again, wherever the cursor is. */
static bool
add_from_view(udpai_collection *collection, udpai_item *item, udpa_err *ret_err)
{
    udpai_subscription *subscription = collection->subscription;
    if (udpai_filtered_view_hides(udpai_filtered_view_of(subscription), item)) {
        collection->is_filtered = true;
        return true;
    }
    udpai_pending *pending = udpai_pending_of_item(subscription, item);
    udpai_held_state held = udpai_held_match(subscription, item);
    if (held == UDPAI_HELD_ALL)
        return true;
    bool refresh = held == UDPAI_HELD_PAYLOAD || (!pending && holds_payload(subscription, item));
    if (!udpai_collection_add(collection, item, item->resource, refresh, ret_err))
        return false;
    if (pending)
        udpai_pending_done(subscription, pending);
    return true;
}

/* From the old end on; returns how far it came. */
static uint64_t
collect_oldest(udpai_collection *collection, uint64_t limit, udpa_err *ret_err)
{
    const udpai_cursor *cursor = &collection->subscription->cursor;
    const udpai_log *log = &collection->subscription->view->live;
    uint64_t reached = cursor->low;
    for (size_t i = udpai_log_after(log, cursor->low); i < log->n; i++) {
        const udpai_log_slot *slot = &log->slots[i];
        if (slot->seq > limit)
            break;
        if (slot->item && !udpai_cursor_in_window(cursor, slot->seq) &&
            !add_from_view(collection, slot->item, ret_err))
            return reached;
        reached = slot->seq;
    }
    return limit;
}

/* From the newest end back; returns behind what it came to a stop. */
static uint64_t
collect_newest(udpai_collection *collection, uint64_t limit, udpa_err *ret_err)
{
    const udpai_cursor *cursor = &collection->subscription->cursor;
    const udpai_log *log = &collection->subscription->view->live;
    uint64_t start = cursor->window_to > cursor->low ? cursor->window_to : cursor->low;
    for (size_t i = udpai_log_after(log, limit); i-- > 0;) {
        const udpai_log_slot *slot = &log->slots[i];
        if (slot->seq <= start)
            break;
        if (slot->item && !add_from_view(collection, slot->item, ret_err))
            return slot->seq;
    }
    return start;
}

static void
advance_oldest(udpai_cursor *cursor, uint64_t reached, uint64_t limit)
{
    cursor->newest_turn = reached < limit;
    cursor->low = reached;
    if (udpai_cursor_has_window(cursor) && reached >= cursor->window_from)
        cursor->low = reached > cursor->window_to ? reached : cursor->window_to;
    if (!udpai_cursor_has_window(cursor))
        cursor->window_from = cursor->window_to = 0;
}

static void
advance_newest(udpai_cursor *cursor, uint64_t stopped, uint64_t limit)
{
    bool extends_window = udpai_cursor_has_window(cursor) && stopped == cursor->window_to;
    cursor->newest_turn = false;
    if (stopped == cursor->low) { /* everything there was */
        cursor->low = limit;
        cursor->window_from = cursor->window_to = 0;
        return;
    }
    /* What was sent in the old window may go out once more; what is never forgotten is what was not
     * sent. */
    if (!extends_window && cursor->sent_before < cursor->window_to)
        cursor->sent_before = cursor->window_to;
    if (!extends_window)
        cursor->window_from = stopped;
    cursor->window_to = limit;
}

static void
advance(udpai_cursor *cursor, uint64_t to, const udpai_body_range *range)
{
    if (range->newest_first)
        advance_newest(cursor, to, range->limit);
    else
        advance_oldest(cursor, to, range->limit);
}

static void
note_range(udpai_body *body, const udpai_body_range *range, uint64_t to)
{
    body->range = *range;
    body->to = to;
}

/* A page of a large view is kept for others that follow; without others the cache would fill with
 * the whole view. */
static bool
is_worth_keeping(const udpai_subscription *subscription, uint64_t limit)
{
    const udpai_cursor *cursor = &subscription->cursor;
    bool is_all = cursor->low >= limit && !udpai_cursor_has_window(cursor);
    return is_all || !udpai_view_has_one(subscription->view);
}

/* Is what it gets the same as what others at this place get? */
static bool
is_shareable(const udpai_subscription *subscription)
{
    return !udpai_held_any(subscription) && subscription->pending_items.n == 0 &&
           subscription->mode == UDPAI_MODE_DELTA;
}

/* A response that may be shared must not depend on the names that its first receiver asked for. */
static udpai_set_hash
hash_of_all(const udpai_subscription *subscription)
{
    if (subscription->mode != UDPAI_MODE_DELTA)
        return udpai_subscription_set_hash(subscription);
    return subscription->view ? subscription->view->set_hash : (udpai_set_hash){0};
}

static udpa_err
render_additions(udpai_collection *collection, udpai_body **ret_body)
{
    if (collection->items.n == 0 && collection->lost.n == 0)
        return UDPA_OK;
    udpai_render what = {.state_hash = hash_of_all(collection->subscription)};
    return udpai_collection_render(collection, &what, ret_body);
}

static udpa_err
collect_from_view(udpai_subscription *subscription, uint64_t limit, udpai_body **ret_body)
{
    udpai_cursor *cursor = &subscription->cursor;
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    bool shareable = is_shareable(subscription);
    const udpai_body_range range = {
        .from = cursor->low,
        .limit = limit,
        .held = payloads_sent(subscription),
        .window_from = cursor->window_from,
        .window_to = cursor->window_to,
        .newest_first = cursor->newest_turn,
    };
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    bool is_shared = udpai_filtered_view_shares_payloads(filtered, range.held);
    if (shareable) {
        udpai_body *body = udpai_view_find_body(filtered, is_shared, renderer, &range);
        if (body) {
            advance(cursor, body->to, &range);
            *ret_body = body;
            return UDPA_OK;
        }
    }
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    udpa_err err = UDPA_OK;
    uint64_t reached = range.newest_first ? collect_newest(&collection, limit, &err)
                                          : collect_oldest(&collection, limit, &err);
    if (err == UDPA_OK)
        err = render_additions(&collection, ret_body);
    if (err == UDPA_OK)
        advance(cursor, reached, &range);
    if (err == UDPA_OK && *ret_body && shareable && is_worth_keeping(subscription, limit)) {
        note_range(*ret_body, &range, reached);
        udpai_view_keep_body(filtered, is_shared && !collection.is_filtered, *ret_body);
    }
    udpai_collection_done(&collection);
    return err;
}

/* It has changed since it was marked: it may refer to what comes with that change. */
static bool
put_off(udpai_subscription *subscription, udpai_pending *pending, uint64_t limit)
{
    if (udpai_pending_change(pending) <= limit)
        return false;
    pending->mark_seq = subscription->topic->fanout->seq;
    if (pending->is_of_item)
        subscription->pending_item_seq = pending->mark_seq;
    udpai_list_remove(&pending->node);
    udpai_list_append(&subscription->additions, &pending->node);
    return true;
}

/* What is pending besides names is what the wildcards hold, and they may hold it no longer. */
static bool
is_still_pending(const udpai_subscription *subscription,
                 const udpai_name_sub *sub,
                 const udpai_item *item)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    if (sub)
        return item && udpai_is_visible(item, subscriber);
    return udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item) ||
           (udpai_variant_is_asked(subscription, item) && udpai_is_visible(item, subscriber));
}

/* False: the response is full. */
static bool
add_pending(udpai_collection *collection, udpai_pending *pending, udpa_err *ret_err)
{
    udpai_subscription *subscription = collection->subscription;
    udpai_name_sub *sub = udpai_pending_name_sub(pending);
    udpai_item *item = sub ? udpai_target(sub) : pending->item;
    bool is_shown_still = is_still_pending(subscription, sub, item);
    uint64_t payload_seq = item ? udpai_item_payload_seq(item, subscription) : 0;
    udpai_held_state held = is_shown_still ? udpai_held_match(subscription, item) : UDPAI_HELD_ALL;
    if (held != UDPAI_HELD_ALL) {
        bool refresh = held == UDPAI_HELD_PAYLOAD || (sub && sub->sent_payload_seq == payload_seq);
        if (!udpai_collection_add(collection, item, item->resource, refresh, ret_err))
            return false;
    }
    if (is_shown_still && sub) {
        sub->sent_seq = item->seq;
        udpai_name_sub_sent(sub, payload_seq);
        udpai_name_sub_set_turn(sub, subscription->n_turns + (held != UDPAI_HELD_ALL));
        *ret_err = udpai_variant_refs_sent(sub, collection);
    }
    udpai_pending_done(subscription, pending);
    return *ret_err == UDPA_OK;
}

static udpa_err
collect_pending(udpai_subscription *subscription,
                const udpai_send_limits *limits,
                udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    udpa_err err = UDPA_OK;
    UDPAI_LIST_FOREACH_SAFE (node, &subscription->additions) {
        udpai_pending *pending = UDPAI_LIST_ENTRY(node, udpai_pending, node);
        if (pending->mark_seq > limits->place)
            break;
        if (udpai_pending_change(pending) <= limits->change &&
            !put_off(subscription, pending, limits->place) &&
            !add_pending(&collection, pending, &err))
            break;
    }
    if (err == UDPA_OK)
        err = render_additions(&collection, ret_body);
    udpai_collection_done(&collection);
    return err;
}

udpa_err
udpai_collect_additions(udpai_subscription *subscription,
                        const udpai_send_limits *limits,
                        udpai_body **ret_body)
{
    *ret_body = NULL;
    if (subscription->mode == UDPAI_MODE_STATE)
        return udpai_collect_state(subscription, 0, ret_body);
    uint64_t in_view = udpai_pending_in_view(subscription),
             limit = least(limits->place, limits->change);
    if (udpai_first_pending_within(subscription, limits) <
        (in_view > limit ? UDPAI_NOTHING : in_view))
        return collect_pending(subscription, limits, ret_body);
    return collect_from_view(subscription, limit, ret_body);
}

/* ---- removals ---- */

static bool
is_led_to(const udpai_subscription *subscription, const udpai_item *item)
{
    UDPAI_LIST_FOREACH (node, udpai_item_alias_subs(item))
        if (udpai_alias_sub_of(node)->subscription == subscription)
            return true;
    return false;
}

/* It has this name from before this stream, and where it has it from may know more: what was
 * removed here may be there again. It is looked at again when that is certain. */
static bool
is_held_from_elsewhere(udpai_subscription *subscription, udpai_str name)
{
    return udpai_held_any(subscription) && udpai_held_has(subscription, name) &&
           !udpai_subscription_knows_absence(subscription, name);
}

static bool
may_hold_from_elsewhere(udpai_subscription *subscription)
{
    return udpai_held_any(subscription) &&
           !udpai_subscription_knows_absence(subscription, (udpai_str){0});
}

/* What it gets by a name, its own or another, it does not lose with the wildcard, or by a name
 * that leads elsewhere now. */
static bool
keeps_it(udpai_subscription *subscription, const udpai_item *item)
{
    const udpai_name_sub *sub = udpai_map_get(&subscription->names, udpai_item_name(item));
    if ((sub && udpai_target(sub)) || is_led_to(subscription, item) ||
        is_held_from_elsewhere(subscription, udpai_item_name(item)))
        return true;
    return udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item);
}

static uint64_t
collect_tombstones(udpai_collection *collection, uint64_t limit, udpa_err *ret_err)
{
    udpai_subscription *subscription = collection->subscription;
    uint64_t reached = subscription->cursor.tombstones, seq;
    udpai_removals removals = udpai_removals_after(udpai_filtered_view_of(subscription), reached);
    while ((seq = udpai_removals_next_seq(&removals)) != UDPAI_NOTHING && seq <= limit) {
        udpai_item *item = udpai_removals_next(&removals);
        if (item && !keeps_it(subscription, item) &&
            !udpai_collection_remove(collection, item, ret_err))
            return reached;
        reached = seq;
    }
    return reached > limit ? reached : limit;
}

/* False: the response is full. */
static bool
remove_pending(udpai_collection *collection,
               udpai_item *item,
               udpai_name_sub *sub,
               udpa_err *ret_err)
{
    if (sub && collection->subscription->distinguishes_variants) {
        size_t room = item->topic->fanout->options.response_bytes;
        collection->is_full = collection->lost.n && collection->bytes >= room;
        if (collection->is_full)
            return false;
        *ret_err = udpai_variant_refs_missing(sub, collection);
        return *ret_err == UDPA_OK;
    }
    return keeps_it(collection->subscription, item) ||
           udpai_collection_remove(collection, item, ret_err);
}

static void
collect_pending_removals(udpai_collection *collection, uint64_t limit, udpa_err *ret_err)
{
    udpai_subscription *subscription = collection->subscription;
    while (!udpai_list_empty(&subscription->removals)) {
        udpai_pending *pending = UDPAI_LIST_ENTRY(subscription->removals.next, udpai_pending, node);
        if (pending->mark_seq > limit)
            return;
        udpai_name_sub *sub = udpai_pending_name_sub(pending);
        if (!remove_pending(collection, pending->item, sub, ret_err))
            return;
        if (sub)
            udpai_name_sub_set_turn(sub, subscription->n_turns + 1);
        udpai_pending_done(subscription, pending);
    }
}

udpa_err
udpai_collect_removals(udpai_subscription *subscription, uint64_t limit, udpai_body **ret_body)
{
    *ret_body = NULL;
    if (subscription->mode == UDPAI_MODE_STATE)
        return udpai_collect_state(subscription, limit ? limit : 1, ret_body);
    udpai_view *view = subscription->mode == UDPAI_MODE_DELTA ? subscription->view : NULL;
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    const udpai_body_range range = {.from = subscription->cursor.tombstones | REMOVALS_BIT,
                                    .limit = limit};
    bool shareable = view && !renderer->removals_are_private && subscription->names.n == 0 &&
                     udpai_list_empty(&subscription->removals) &&
                     !may_hold_from_elsewhere(subscription);
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    bool is_shared = udpai_filtered_view_shares_removals(filtered, subscription->cursor.tombstones);
    if (shareable) {
        *ret_body = udpai_view_find_body(filtered, is_shared, renderer, &range);
        if (*ret_body) {
            subscription->cursor.tombstones = (*ret_body)->to;
            return UDPA_OK;
        }
    }
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    udpa_err err = UDPA_OK;
    uint64_t reached = view ? collect_tombstones(&collection, limit, &err) : 0;
    if (err == UDPA_OK && !collection.is_full)
        collect_pending_removals(&collection, limit, &err);
    udpai_render what = {.state_hash = hash_of_all(subscription)};
    if (err == UDPA_OK && (collection.removed.n || collection.lost.n))
        err = udpai_collection_render(&collection, &what, ret_body);
    if (err == UDPA_OK && view)
        subscription->cursor.tombstones = reached;
    if (err == UDPA_OK && *ret_body && shareable) {
        note_range(*ret_body, &range, reached);
        udpai_view_keep_body(filtered, is_shared, *ret_body);
    }
    udpai_collection_done(&collection);
    return err;
}
