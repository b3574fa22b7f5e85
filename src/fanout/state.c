/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the world as one response, and the empty response that means "complete".
 *
 * What is to be removed stays in the state that announces what replaces it; a second state, after
 * all other types have had their turn, leaves it out, as far as its turn has come. So nothing is
 * taken away before what replaces it has arrived, though a state can only contain what is there. */
#include "fanout/variant.h"

static udpa_err
add_live(udpai_collection *collection, udpai_filtered_view filtered)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; filtered.view && i < filtered.view->live.n && err == UDPA_OK; i++) {
        udpai_item *item = filtered.view->live.slots[i].item;
        bool is_hidden = item && udpai_filtered_view_hides(filtered, item);
        collection->is_filtered |= is_hidden;
        if (item && !is_hidden)
            udpai_collection_add(collection, item, item->resource, false, &err);
    }
    return err;
}

/* Behind this, what was removed is in the state still. */
static uint64_t
left_out_to(const udpai_subscription *subscription, uint64_t removals)
{
    uint64_t before = subscription->cursor.tombstones;
    return removals > before ? removals : before;
}

static udpa_err
add_last(udpai_collection *collection, const udpai_subscription *subscription, uint64_t removals)
{
    udpa_err err = UDPA_OK;
    udpai_removals walk = udpai_removals_after(udpai_filtered_view_of(subscription),
                                               left_out_to(subscription, removals));
    while (err == UDPA_OK && udpai_removals_next_seq(&walk) != UDPAI_NOTHING) {
        udpai_item *item = udpai_removals_next(&walk);
        if (item && udpai_item_last(item))
            udpai_collection_add(collection, item, udpai_item_last(item), false, &err);
    }
    return err;
}

static udpa_err
add_names(udpai_collection *collection, udpai_subscription *subscription, uint64_t removals)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_name_sub *sub;
    while (err == UDPA_OK && (sub = udpai_map_next(&subscription->names, &at))) {
        udpai_item *item = udpai_target(sub);
        bool with_removed = !removals || sub->pending.mark_seq > removals;
        if (item)
            udpai_collection_add(collection, item, item->resource, false, &err);
        else if (with_removed && sub->shows_last && udpai_item_last(udpai_asked(sub)))
            udpai_collection_add(collection, udpai_asked(sub), udpai_item_last(udpai_asked(sub)),
                                 false, &err);
        if (err == UDPA_OK)
            err = udpai_variants_add_all(collection, sub);
        uint64_t payload_seq = item ? udpai_item_payload_seq(item, subscription) : 0;
        bool loses_last = sub->shows_last && !with_removed;
        if (payload_seq != sub->sent_payload_seq || loses_last)
            udpai_name_sub_set_turn(sub, subscription->n_turns + 1);
        sub->sent_seq = item ? item->seq : 0;
        udpai_name_sub_sent(sub, payload_seq);
        sub->shows_last &= with_removed;
    }
    return err;
}

static udpai_set_hash
hash_of(const udpai_collection *collection)
{
    udpai_set_hash hash = {0};
    for (size_t i = 0; i < collection->items.n; i++) {
        const udpa_resource *resource = collection->items.items[i].resource;
        udpai_set_hash_add(&hash, udpai_resource_name(resource),
                           udpai_resource_content_hash(resource));
    }
    return hash;
}

static udpa_err
compose(udpai_subscription *subscription,
        uint64_t removals,
        bool *ret_is_filtered,
        udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    collection.is_whole = true;
    udpa_err err = add_live(&collection, udpai_filtered_view_of(subscription));
    *ret_is_filtered = collection.is_filtered;
    if (err == UDPA_OK)
        err = add_last(&collection, subscription, removals);
    if (err == UDPA_OK)
        err = add_names(&collection, subscription, removals);
    udpai_render what = {.is_state = true};
    if (err == UDPA_OK) {
        what.state_hash = hash_of(&collection);
        err = udpai_collection_render(&collection, &what, ret_body);
    }
    udpai_collection_done(&collection);
    return err;
}

static udpa_err
find_or_compose(udpai_subscription *subscription, uint64_t removals, udpai_body **ret_body)
{
    const udpai_view *view = subscription->view;
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    udpai_removals removed = udpai_removals_after(filtered, left_out_to(subscription, removals));
    bool has_removed = udpai_removals_next_seq(&removed) != UDPAI_NOTHING;
    bool shareable = view && subscription->names.n == 0 && !has_removed, is_filtered = false;
    bool is_shared = udpai_filtered_view_shares_payloads(filtered, 0);
    const udpai_body_range range = {.from = view ? view->changed_seq : 0, .limit = UDPAI_NOTHING};
    if (shareable)
        *ret_body =
            udpai_view_find_body(filtered, is_shared, subscription->subscriber->renderer, &range);
    udpa_err err = *ret_body ? UDPA_OK : compose(subscription, removals, &is_filtered, ret_body);
    if (err == UDPA_OK && shareable && !(*ret_body)->view) {
        (*ret_body)->range = range;
        udpai_view_keep_body(filtered, is_shared && !is_filtered, *ret_body);
    }
    return err;
}

/* ---- when nothing has changed but what refreshes send ---- */

static bool
has_news(const udpai_subscription *subscription)
{
    const udpai_view *view = subscription->view;
    uint64_t low = subscription->cursor.low;
    if (subscription->state_forced)
        return true;
    for (size_t i = view ? udpai_log_after(&view->live, low) : 0; view && i < view->live.n; i++) {
        const udpai_item *item = view->live.slots[i].item;
        if (item && !udpai_filtered_view_hides(udpai_filtered_view_of(subscription), item) &&
            udpai_item_payload_seq(item, subscription) > low)
            return true;
    }
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        if (udpai_target(sub)
                ? sub->sent_payload_seq != udpai_item_payload_seq(udpai_target(sub), subscription)
                : sub->sent_payload_seq != 0)
            return true;
    return false;
}

static udpa_err
add_refreshed(udpai_collection *collection, udpai_subscription *subscription)
{
    const udpai_view *view = subscription->view;
    uint64_t low = subscription->cursor.low;
    udpa_err err = UDPA_OK;
    size_t i = view ? udpai_log_after(&view->live, low) : 0;
    for (; view && i < view->live.n && err == UDPA_OK; i++) {
        udpai_item *item = view->live.slots[i].item;
        if (item && !udpai_filtered_view_hides(udpai_filtered_view_of(subscription), item))
            udpai_collection_add(collection, item, item->resource, true, &err);
    }
    size_t at = 0;
    const udpai_name_sub *sub;
    while (err == UDPA_OK && (sub = udpai_map_next(&subscription->names, &at)))
        if (udpai_target(sub) && sub->sent_seq != udpai_target(sub)->seq)
            udpai_collection_add(collection, udpai_target(sub), udpai_target(sub)->resource, true,
                                 &err);
    return err;
}

static void
note_names_sent(udpai_subscription *subscription)
{
    size_t at = 0;
    udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        sub->sent_seq = udpai_target(sub) ? udpai_target(sub)->seq : 0;
}

/* If the protocol sends refreshes, the whole state goes out: they could go alone by the text of
 * xDS, but an Envoy takes what is not among them for removed. */
static udpa_err
collect_refreshes(udpai_subscription *subscription, udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    collection.is_whole = true;
    udpa_err err = add_refreshed(&collection, subscription);
    bool any = collection.items.n > 0;
    udpai_collection_done(&collection);
    if (err == UDPA_OK && any)
        return find_or_compose(subscription, 0, ret_body);
    if (err == UDPA_OK)
        note_names_sent(subscription);
    return err;
}

/* Something came and went meanwhile, or is not sent by this protocol. A ttl does not count in the
 * hash, so with one of them it goes out. */
static bool
is_same_as_last(const udpai_subscription *subscription, const udpai_body *body)
{
    return !subscription->state_forced && !body->has_ttl && !subscription->state_has_ttl &&
           body->state_hash.high == subscription->state_hash.high &&
           body->state_hash.low == subscription->state_hash.low;
}

/* What was left in the state though it was removed: where the first of it was marked. */
static uint64_t
first_name_still_in_state(const udpai_subscription *subscription)
{
    uint64_t first = UDPAI_NOTHING;
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        if (sub->shows_last && sub->pending.mark_seq < first)
            first = sub->pending.mark_seq;
    return first;
}

static void
note_sent(udpai_subscription *subscription, uint64_t removals)
{
    uint64_t now = subscription->topic->fanout->seq;
    subscription->cursor.low = now;
    subscription->state_due_seq = UDPAI_NOTHING;
    subscription->state_forced = false;
    if (removals) {
        subscription->cursor.tombstones =
            left_out_to(subscription, removals < now ? removals : now);
        subscription->state_removal_seq =
            removals < now ? first_name_still_in_state(subscription) : UDPAI_NOTHING;
    }
}

/* Nothing is kept in the first state that was removed before it: the client may have come from
 * another replica, where it had the removal already. */
static void
leave_out_what_was_removed(udpai_subscription *subscription)
{
    bool is_first = !subscription->state_hash.high && !subscription->state_hash.low;
    if (is_first && subscription->cursor.low == 0)
        subscription->cursor.tombstones = subscription->topic->fanout->seq;
}

udpa_err
udpai_collect_state(udpai_subscription *subscription, uint64_t removals, udpai_body **ret_body)
{
    leave_out_what_was_removed(subscription);
    bool refreshes_only = !removals && !has_news(subscription);
    udpa_err err = refreshes_only ? collect_refreshes(subscription, ret_body)
                                  : find_or_compose(subscription, removals, ret_body);
    if (err != UDPA_OK)
        return err;
    if (*ret_body && is_same_as_last(subscription, *ret_body))
        *ret_body = udpai_body_unref(*ret_body);
    if (*ret_body) {
        subscription->state_hash = (*ret_body)->state_hash;
        subscription->state_has_ttl = (*ret_body)->has_ttl;
    }
    note_sent(subscription, removals);
    return UDPA_OK;
}

static udpa_err
render_alone(udpai_subscription *subscription, udpai_render *what, udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    if (subscription->view)
        what->state_hash = subscription->view->set_hash;
    udpa_err err = udpai_collection_render(&collection, what, ret_body);
    udpai_collection_done(&collection);
    return err;
}

udpa_err
udpai_collect_complete(udpai_subscription *subscription, udpai_str scope, udpai_body **ret_body)
{
    udpai_render what = {.complete = true, .scope = scope};
    return render_alone(subscription, &what, ret_body);
}

udpa_err
udpai_collect_waits(udpai_subscription *subscription,
                    const udpai_await *await,
                    udpai_str waits,
                    udpai_body **ret_body)
{
    udpai_str scope = udpai_bytes_view(await->prefix);
    udpai_render what = {.waits = waits, .scope = scope};
    UDPAI_LIST_FOREACH (at, &subscription->awaits) {
        const udpai_await *older = UDPAI_LIST_ENTRY(at, udpai_await, node);
        if (older == await)
            break;
        what.waits_behind += udpai_str_eq(udpai_bytes_view(older->prefix), scope);
    }
    return render_alone(subscription, &what, ret_body);
}
