/* SPDX-License-Identifier: Apache-2.0 */
/* How a change set gets into the topics and their items. */
#include "fanout/kept_removals.h"
#include "fanout/variant.h"

#include "model/types.h"

/* What subscribed to the name, or reaches the item by another one, looks again. A name sub may move
 * to another item's list while it does, so the lists are taken apart first. */
static void
update_name_subs(udpai_item *item)
{
    udpai_item_more *more = item->more;
    if (!more)
        return;
    udpai_list subs;
    udpai_list_init(&subs);
    udpai_list_splice(&subs, &more->alias_subs);
    udpai_list *node;
    while ((node = udpai_list_pop(&subs))) {
        udpai_list_append(&more->alias_subs, node);
        udpai_name_sub_update(udpai_alias_sub_of(node), false);
    }
    UDPAI_LIST_FOREACH_SAFE (own, &more->name_subs)
        udpai_name_sub_update(udpai_name_sub_of(own), false);
}

static void
count_change(udpai_item *item, const udpa_resource *before)
{
    if (!before && item->resource) {
        item->topic->n_live++;
        item->topic->fanout->n_resources++;
    } else if (before && !item->resource) {
        item->topic->n_live--;
        item->topic->fanout->n_resources--;
    }
}

/* Is what it shows still the same, but for a ttl that runs anew? */
static bool
same_content(const udpai_item *item, const udpai_change *change)
{
    if (!item->resource || change->kind == UDPAI_CHANGE_REMOVE)
        return false;
    udpai_content_hash before = udpai_resource_content_hash(item->resource),
                       now = udpai_resource_content_hash(change->resource);
    return before.high == now.high && before.low == now.low &&
           !(udpai_item_deadline(item) && !change->deadline_ms) &&
           udpai_resource_same_aliases(item->resource, change->resource);
}

static void
replace(udpa_bytes **place, udpa_bytes *bytes)
{
    udpa_bytes_ref(bytes);
    udpa_bytes_unref(*place);
    *place = bytes;
}

static void
set_item(udpai_item *item, const udpai_change *change)
{
    udpai_fanout *fanout = item->topic->fanout;
    bool is_removed = change->kind == UDPAI_CHANGE_REMOVE;
    bool is_same = same_content(item, change);
    item->previous_seq = item->seq;
    item->seq = ++fanout->seq;
    if (!is_same)
        udpai_item_note_former(item, item->seq, is_removed);
    if (change->kind != UDPAI_CHANGE_REFRESH || !item->resource)
        item->payload_seq = item->seq;
    if (!is_same)
        item->content_seq = item->seq;
    udpai_item_set_resource(item, is_removed ? NULL : udpa_resource_ref(change->resource));
    if (item->more) { /* it was made for these, if they are there */
        item->more->deadline_ms = change->deadline_ms;
        replace(&item->more->visible_to, change->visible_to);
    }
    replace(&item->from_node, change->from_node);
}

/* Others may be led to what has aliases while memory must not be needed. */
static bool
needs_more(const udpai_change *change)
{
    return change->kind == UDPAI_CHANGE_REMOVE || change->deadline_ms || change->visible_to ||
           udpa_resource_n_aliases(change->resource);
}

/* A change of an item that there is, as far as memory is needed for it. On failure nothing has
 * changed. */
static udpa_err
reserve(udpai_item *item, const udpai_change *change, size_t *ret_n_joining)
{
    bool is_removed = change->kind == UDPAI_CHANGE_REMOVE;
    if (needs_more(change) && !udpai_item_more_of(item))
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_alias_reserve_subs(item, is_removed ? NULL : change->resource);
    if (err == UDPA_OK)
        err = udpai_views_reserve(item, change, ret_n_joining);
    if (err == UDPA_OK)
        err = udpai_variants_reserve(item, is_removed ? NULL : change->resource);
    if (err != UDPA_OK || is_removed)
        return err;
    err = udpai_alias_reserve(item->topic, item->resource, change->resource);
    if (err != UDPA_OK)
        udpai_variants_release(item, change->resource);
    return err;
}

static void
set_last(udpai_item *item, udpa_resource *before)
{
    bool is_needed = !item->resource && item->topic->n_state_subscriptions;
    udpa_resource_unref(item->more->last);
    item->more->last = is_needed ? udpa_resource_ref(before) : NULL;
}

/* Of those that it is the target of, whatever they are led to by the change. */
static void
change_hashes(const udpai_item *item, udpai_set_hash before, udpai_set_hash now)
{
    udpai_set_hash_leave(&now, before);
    UDPAI_LIST_FOREACH (node, udpai_item_alias_subs(item))
        udpai_set_hash_join(&udpai_alias_sub_of(node)->subscription->names_hash, now);
    UDPAI_LIST_FOREACH (own, udpai_item_name_subs(item))
        if (udpai_target(udpai_name_sub_of(own)) == item)
            udpai_set_hash_join(&udpai_name_sub_of(own)->subscription->names_hash, now);
}

static void
commit(udpai_item *item, const udpai_change *change, size_t n_joining)
{
    udpa_resource *before = item->resource;
    if (change->kind != UDPAI_CHANGE_REFRESH)
        udpai_debounce_change(item->topic);
    udpai_coalesced_count(item, change);
    udpai_set_hash hash_before = udpai_item_alone(item);
    set_item(item, change);
    change_hashes(item, hash_before, udpai_item_alone(item));
    if (item->more) /* it was made for a removal */
        set_last(item, before);
    count_change(item, before);
    udpai_alias_update(item, before, item->resource);
    udpai_views_update(item, before, n_joining);
    update_name_subs(item);
    udpai_variants_changed(item, before);
    udpai_item_drop_idle_more(item);
    udpa_resource_unref(before);
}

/* All or nothing: what fails can be done again. */
static udpa_err
change_item(udpai_item *item, const udpai_change *change)
{
    size_t n_joining;
    item->n_pins++; /* it must not go while we are at it */
    udpa_err err = reserve(item, change, &n_joining);
    if (err == UDPA_OK)
        commit(item, change, n_joining);
    item->n_pins--;
    udpai_item_release(item);
    return err;
}

static udpa_err
apply_set(udpai_fanout *fanout, const udpai_change *change)
{
    udpai_topic *topic = udpai_topic_get(fanout, udpai_resource_type_url(change->resource));
    if (!topic)
        return UDPA_ERR_NOMEM;
    udpai_item *item = udpai_item_get(topic, udpai_resource_name(change->resource));
    if (item)
        return change_item(item, change);
    udpai_topic_release(topic);
    return UDPA_ERR_NOMEM;
}

/* An authority's removal goes to all peers but the one that it came from; also to the one that
 * the resource had come from, which was not offered it and may have it from elsewhere. So the
 * resource moves to where the removal comes from, before it goes. */
static udpa_err
move_to_source_of_removal(udpai_item *item, const udpai_change *removal)
{
    const udpai_change moved = {
        .kind = UDPAI_CHANGE_REFRESH,
        .resource = item->resource,
        .deadline_ms = udpai_item_deadline(item),
        .from_node = removal->from_node,
    };
    bool is_there =
        item->from_node == removal->from_node ||
        (item->from_node && removal->from_node &&
         udpai_str_eq(udpai_bytes_view(item->from_node), udpai_bytes_view(removal->from_node)));
    return item->from_node && !is_there ? change_item(item, &moved) : UDPA_OK;
}

static udpa_err
apply_removal(udpai_fanout *fanout, const udpai_change *change)
{
    udpai_topic *topic = udpai_topic_find(fanout, udpai_resource_type_url(change->resource));
    udpai_item *item = topic ? udpai_item_find(topic, udpai_resource_name(change->resource)) : NULL;
    if (!item || !item->resource)
        return UDPA_OK;
    udpa_err err = change->removal ? move_to_source_of_removal(item, change) : UDPA_OK;
    return err == UDPA_OK ? change_item(item, change) : err;
}

static void
wake_view(udpai_view *view)
{
    UDPAI_LIST_FOREACH (node, &view->subscriptions)
        udpai_subscription_wake(UDPAI_LIST_ENTRY(node, udpai_subscription, in_view));
}

enum {
    REFERRED_TO,
    REFERRING,
    REMOVED,
    PASSES
};

static size_t
pass_of(const udpai_change *change)
{
    udpai_str type_url = udpai_resource_type_url(change->resource);
    if (change->kind == UDPAI_CHANGE_REMOVE)
        return REMOVED;
    return udpai_type_rank(type_url) == 0 ? REFERRED_TO : REFERRING;
}

static udpa_err
apply_change(udpai_fanout *fanout, const udpai_change *change)
{
    udpa_err err = udpai_kept_removals_note(fanout, change);
    if (err != UDPA_OK)
        return err;
    return change->kind == UDPAI_CHANGE_REMOVE ? apply_removal(fanout, change)
                                               : apply_set(fanout, change);
}

static void
finish_views(udpai_fanout *fanout)
{
    udpai_list *node;
    while ((node = udpai_list_pop(&fanout->dirty_views))) {
        udpai_view *view = UDPAI_LIST_ENTRY(node, udpai_view, dirty);
        udpai_tombstones_bound(view);
        if (!udpai_view_is_filter(view)) /* the view of which has changed, too */
            wake_view(view);
    }
}

/* Additions get the lower numbers, so that a subscriber that was sent all of them may be sent the
 * removals that belong to them; and those of the first type the lowest, so that whatever waits for
 * one that came with it (may_add) knows it by its number. The place counts through the set once for
 * each. */
udpa_err
udpai_fanout_apply(udpai_fanout *fanout, const udpai_change_set *changes, size_t *place)
{
    size_t n = udpai_change_set_size(changes);
    udpa_err err = UDPA_OK;
    fanout->n_applied++;
    if (*place == 0)
        fanout->applied_after = fanout->seq;
    fanout->is_applying = true;
    while (err == UDPA_OK && *place < PASSES * n) {
        const udpai_change *change = udpai_change_set_at(changes, *place % n);
        if (pass_of(change) == *place / n)
            err = apply_change(fanout, change);
        *place += err == UDPA_OK;
    }
    if (err == UDPA_OK)
        finish_views(fanout);
    fanout->is_applying = false;
    return err;
}
