/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the world as one response, and the empty response that says "complete".
 *
 * What is to be removed stays in the state that announces what replaces it; a second state, after
 * all other types have had their turn, leaves it out. So nothing is taken away before what replaces
 * it has arrived, though a state can only say what is there. */
#include "fanout/fanout_internal.h"

static udpa_err
add_live(udpai_collection *collection, const udpai_view *view)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; view && i < view->live.n && err == UDPA_OK; i++) {
        udpai_item *item = view->live.slots[i].item;
        if (item)
            udpai_collection_add(collection, item, item->resource, false, &err);
    }
    return err;
}

static udpa_err
add_last(udpai_collection *collection, const udpai_subscription *subscription)
{
    udpa_err err = UDPA_OK;
    const udpai_view *view = subscription->view;
    size_t i = view ? udpai_log_after(&view->tombstones, subscription->cursor.tombstones) : 0;
    for (; view && i < view->tombstones.n && err == UDPA_OK; i++) {
        udpai_item *item = view->tombstones.slots[i].item;
        if (item && item->last)
            udpai_collection_add(collection, item, item->last, false, &err);
    }
    return err;
}

static udpa_err
add_names(udpai_collection *collection, udpai_subscription *subscription, bool with_removed)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    udpai_name_sub *sub;
    while (err == UDPA_OK && (sub = udpai_map_next(&subscription->names, &at))) {
        udpai_item *item = sub->target;
        if (item)
            udpai_collection_add(collection, item, item->resource, false, &err);
        else if (with_removed && sub->shows_last && sub->asked->last)
            udpai_collection_add(collection, sub->asked, sub->asked->last, false, &err);
        sub->sent_seq = item ? item->seq : 0;
        sub->sent_payload_seq = item ? item->payload_seq : 0;
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
compose(udpai_subscription *subscription, bool with_removed, udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    collection.is_whole = true;
    udpa_err err = add_live(&collection, subscription->view);
    if (err == UDPA_OK && with_removed)
        err = add_last(&collection, subscription);
    if (err == UDPA_OK)
        err = add_names(&collection, subscription, with_removed);
    udpai_render what = {.is_state = true};
    if (err == UDPA_OK) {
        what.state_hash = hash_of(&collection);
        err = udpai_collection_render(&collection, &what, ret_body);
    }
    udpai_collection_done(&collection);
    return err;
}

static void
note_sent(udpai_subscription *subscription, bool with_removed)
{
    uint64_t now = subscription->topic->fanout->seq;
    subscription->cursor.low = now;
    subscription->state_due_seq = UDPAI_NOTHING;
    if (!with_removed) {
        subscription->cursor.tombstones = now;
        subscription->state_removal_seq = UDPAI_NOTHING;
    }
}

udpa_err
udpai_collect_state(udpai_subscription *subscription, bool with_removed, udpai_body **ret_body)
{
    udpai_view *view = subscription->view;
    const udpai_renderer *renderer = subscription->subscriber->renderer;
    const udpai_cursor *cursor = &subscription->cursor;
    bool has_removed =
        with_removed && view && udpai_log_first_after(&view->tombstones, cursor->tombstones);
    bool shareable = view && subscription->names.n == 0 && !has_removed;
    udpa_err err = UDPA_OK;
    if (shareable)
        *ret_body = udpai_view_find_body(view, renderer, view->changed_seq, UDPAI_NOTHING);
    if (!*ret_body)
        err = compose(subscription, with_removed, ret_body);
    if (err != UDPA_OK)
        return err;
    if (shareable && !(*ret_body)->view) {
        (*ret_body)->from = view->changed_seq;
        (*ret_body)->limit = UDPAI_NOTHING;
        udpai_view_keep_body(view, *ret_body);
    }
    note_sent(subscription, with_removed);
    return UDPA_OK;
}

udpa_err
udpai_collect_complete(udpai_subscription *subscription, udpai_str scope, udpai_body **ret_body)
{
    udpai_collection collection;
    udpai_collection_init(&collection, subscription);
    udpai_render what = {.complete = true, .scope = scope};
    udpa_err err = udpai_collection_render(&collection, &what, ret_body);
    udpai_collection_done(&collection);
    return err;
}
