/* SPDX-License-Identifier: Apache-2.0 */
/* Wildcards: which view a subscription has, and moving it to another without losing or repeating
 * anything. */
#include "fanout/fanout_internal.h"
#include "fanout/kept_removals.h"
#include "fanout/resume.h"

#include "model/name.h"

#define PREFIXES_MAX 1024 /* of a subscription; each is held against all others */

/* May the subscriber have been sent the item through what it looked through, and not yet its
 * removal? If the item has changed before, it may have been sent what it was then. */
static bool
has_through(udpai_filtered_view filtered, const udpai_cursor *cursor, const udpai_item *item)
{
    udpai_position position = udpai_filtered_view_position(filtered, item);
    switch (position.kind) {
    case UDPAI_POSITION_LIVE:
        return udpai_cursor_was_sent(cursor, item->seq) || item->seq <= cursor->sent_before ||
               item->previous_seq;
    case UDPAI_POSITION_REMOVED:
        return position.seq > cursor->tombstones;
    case UDPAI_POSITION_NONE:
        break;
    }
    return false;
}

bool
udpai_view_will_bring(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item) &&
           !udpai_cursor_was_sent(&subscription->cursor,
                                  udpai_item_payload_seq(item, subscription));
}

/* What it has looked through, and does not any more. */
static void
leave(udpai_filtered_view filtered)
{
    if (filtered.filter && udpai_list_empty(&filtered.filter->subscriptions))
        udpai_filter_free(filtered.filter);
    if (filtered.view && udpai_list_empty(&filtered.view->subscriptions))
        udpai_view_idle(filtered.view);
}

static void
set_filtered(udpai_subscription *subscription, udpai_filtered_view filtered)
{
    udpai_list_remove(&subscription->in_view);
    udpai_list_remove(&subscription->in_filter);
    subscription->view = filtered.view;
    subscription->filter = filtered.filter;
    if (filtered.view)
        udpai_list_append(&filtered.view->subscriptions, &subscription->in_view);
    if (filtered.filter)
        udpai_list_append(&filtered.filter->subscriptions, &subscription->in_filter);
}

void
udpai_subscription_leave_view(udpai_subscription *subscription)
{
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    set_filtered(subscription, (udpai_filtered_view){0});
    leave(filtered);
}

static void
begin_here(udpai_subscription *subscription)
{
    uint64_t now = subscription->topic->fanout->seq;
    subscription->cursor = (udpai_cursor){.low = now, .tombstones = now};
    subscription->synced_seq = now;
}

/* What is seen now and the subscriber was not sent before. */
static udpa_err
mark_new_items(udpai_subscription *subscription,
               udpai_filtered_view old,
               const udpai_cursor *cursor)
{
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < filtered.view->live.n && err == UDPA_OK; i++) {
        udpai_item *item = filtered.view->live.slots[i].item;
        if (!item || udpai_filtered_view_hides(filtered, item))
            continue;
        bool has =
            udpai_filtered_view_is_live(old, item) && udpai_cursor_was_sent(cursor, item->seq);
        if (!has)
            err = udpai_mark_item_pending(subscription, &subscription->additions, item);
    }
    return err;
}

/* `notify`: also of what lies outside the new view. */
static udpa_err
mark_item_removed(udpai_subscription *subscription,
                  udpai_item *item,
                  udpai_filtered_view old,
                  const udpai_cursor *cursor,
                  bool notify)
{
    const udpai_view *view = subscription->view;
    if (!has_through(old, cursor, item) ||
        !(notify || (view && udpai_view_covers(view, udpai_item_name(item)))) ||
        udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item) ||
        udpai_subscription_has_name(subscription, udpai_item_name(item)))
        return UDPA_OK;
    return udpai_mark_item_pending(subscription, &subscription->removals, item);
}

static udpa_err
mark_items_removed(udpai_subscription *subscription,
                   udpai_filtered_view old,
                   const udpai_cursor *cursor,
                   bool notify)
{
    const udpai_log *live = &old.view->live;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; notify && i < live->n && err == UDPA_OK; i++)
        if (live->slots[i].item)
            err = mark_item_removed(subscription, live->slots[i].item, old, cursor, notify);
    udpai_removals removals = udpai_removals_after(old, 0);
    while (err == UDPA_OK && udpai_removals_next_seq(&removals) != UDPAI_NOTHING) {
        udpai_item *item = udpai_removals_next(&removals);
        if (item)
            err = mark_item_removed(subscription, item, old, cursor, notify);
    }
    return err;
}

/* What was asked for by name, too, came by the old view. What that had not brought yet, the name
 * must. */
static void
hand_over_to_names(udpai_subscription *subscription,
                   udpai_filtered_view old,
                   const udpai_cursor *cursor)
{
    size_t at = 0;
    udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at))) {
        udpai_item *item = udpai_target(sub) ? udpai_target(sub) : udpai_asked(sub);
        udpai_position before = udpai_filtered_view_position(old, item);
        bool was_there = before.kind == UDPAI_POSITION_LIVE;
        if (before.kind == UDPAI_POSITION_NONE ||
            udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item))
            continue;
        bool brought = was_there ? udpai_cursor_was_sent(cursor, item->seq) &&
                                       !udpai_pending_of_item(subscription, item)
                                 : before.seq <= cursor->tombstones;
        if (brought) /* with some delivery up to now */
            udpai_name_sub_set_turn(sub, subscription->n_turns);
        if (brought && !was_there && !udpai_list_linked(&sub->pending.node))
            sub->pending.mark_seq = before.seq; /* where its end was sent */
        if (udpai_target(sub) && brought && was_there) {
            sub->sent_seq = item->seq;
            udpai_name_sub_sent(sub, udpai_item_payload_seq(item, subscription));
        } else if (udpai_target(sub) && sub->sent_seq != item->seq) {
            udpai_mark_pending(subscription, &subscription->additions, &sub->pending);
        } else if (!udpai_target(sub) && sub->state == UDPAI_NAME_MISSING && !brought) {
            udpai_mark_pending(subscription, &subscription->removals, &sub->pending);
        }
    }
}

/* Has nothing at all come through it yet? */
static bool
is_untouched(const udpai_cursor *cursor)
{
    return cursor->low == 0 && cursor->window_to == 0;
}

static udpa_err
move_to(udpai_subscription *subscription, udpai_filtered_view filtered, bool notify)
{
    udpai_filtered_view old = udpai_filtered_view_of(subscription);
    udpai_cursor cursor = subscription->cursor;
    udpa_err err = UDPA_OK;
    set_filtered(subscription, filtered);
    if (filtered.view)
        begin_here(subscription);
    if (filtered.view && is_untouched(&cursor))
        subscription->cursor.sent_before = cursor.sent_before;
    if (filtered.view && (!old.view || is_untouched(&cursor)))
        subscription->cursor.low = subscription->synced_seq = 0; /* all of it, page by page */
    else if (filtered.view)
        err = mark_new_items(subscription, old, &cursor);
    if (filtered.view && old.view && subscription->mode == UDPAI_MODE_STATE)
        subscription->cursor = cursor; /* a state is always whole: it counts from the last one */
    if (old.view)
        hand_over_to_names(subscription, old, &cursor);
    if (err == UDPA_OK && old.view)
        err = mark_items_removed(subscription, old, &cursor, notify);
    leave(old);
    return err;
}

/* Of its prefixes; nothing without any. */
static udpa_err
find_filtered(const udpai_subscription *subscription,
              udpai_filtered_view *ret_filtered,
              udpa_error **ret_error)
{
    size_t n = subscription->prefixes.n;
    *ret_filtered = (udpai_filtered_view){0};
    if (!n)
        return UDPA_OK;
    UDPAI_AUTO_FREE udpai_str *prefixes = udpai_alloc_array(n, sizeof(*prefixes));
    if (!prefixes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n; i++)
        prefixes[i] = udpai_bytes_view(subscription->prefixes.items[i]);
    n = udpai_prefix_minimal_cover(prefixes, n);
    udpa_err err = udpai_view_get(subscription, prefixes, n, &ret_filtered->view, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_filter_get(ret_filtered->view, subscription, &ret_filtered->filter);
    if (err != UDPA_OK)
        leave(*ret_filtered);
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_subscription_reselect(udpai_subscription *subscription, bool notify, udpa_error **ret_error)
{
    udpai_filtered_view filtered;
    udpa_err err = find_filtered(subscription, &filtered, ret_error);
    if (err != UDPA_OK ||
        (filtered.view == subscription->view && filtered.filter == subscription->filter))
        return err;
    err = move_to(subscription, filtered, notify);
    if (subscription->mode == UDPAI_MODE_STATE && notify)
        udpai_subscription_resend_state(subscription);
    udpai_subscription_wake(subscription);
    return udpai_fail_code(ret_error, err);
}

static size_t
find_prefix(const udpai_subscription *subscription, udpai_str prefix)
{
    size_t i = 0;
    while (i < subscription->prefixes.n &&
           !udpai_str_eq(udpai_bytes_view(subscription->prefixes.items[i]), prefix))
        i++;
    return i;
}

/* Asked for again: everything below the prefix goes out again. */
static udpa_err
send_again(udpai_subscription *subscription, udpai_str prefix)
{
    udpai_view *view = subscription->view;
    udpa_err err = UDPA_OK;
    if (subscription->mode == UDPAI_MODE_STATE || subscription->prefixes.n == 1) {
        udpai_subscription_resend_all(subscription);
        return UDPA_OK;
    }
    for (size_t i = 0; i < view->live.n && err == UDPA_OK; i++) {
        udpai_item *item = view->live.slots[i].item;
        if (item && udpai_prefix_covers(prefix, udpai_item_name(item)) &&
            !udpai_filtered_view_hides(udpai_filtered_view_of(subscription), item))
            err = udpai_mark_item_pending(subscription, &subscription->additions, item);
    }
    udpai_subscription_wake(subscription);
    return err;
}

static udpa_err
add_prefix(udpai_subscription *subscription, udpai_str prefix, udpa_error **ret_error)
{
    if (subscription->prefixes.n >= PREFIXES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "a stream has at most %d wildcards of one type: subscribe to a namespace "
                          "that holds some of them",
                          PREFIXES_MAX);
    udpa_bytes *copy = NULL;
    udpa_err err = udpa_bytes_new(&copy, prefix.data, prefix.len);
    if (err == UDPA_OK && !udpai_vector_push(&subscription->prefixes, copy))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpa_bytes_unref(copy);
    return udpai_fail_code(ret_error, err);
}

/* All that it does not have yet, or none. One view is made for all of them: each would hold what is
 * below the ones before it. */
static udpa_err
add_prefixes(udpai_subscription *subscription,
             const udpai_str *prefixes,
             size_t n,
             udpa_error **ret_error)
{
    size_t n_before = subscription->prefixes.n;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        if (find_prefix(subscription, prefixes[i]) == subscription->prefixes.n)
            err = add_prefix(subscription, prefixes[i], ret_error);
    if (err == UDPA_OK && subscription->prefixes.n > n_before)
        err = udpai_subscription_reselect(subscription, false, ret_error);
    while (err != UDPA_OK && subscription->prefixes.n > n_before)
        udpa_bytes_unref(subscription->prefixes.items[--subscription->prefixes.n]);
    return err;
}

static udpa_err
mark_name_removed(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = udpai_item_get(subscription->topic, name);
    if (!item)
        return UDPA_ERR_NOMEM;
    if (item->resource)
        return UDPA_OK;
    udpa_err err = udpai_mark_item_pending(subscription, &subscription->removals, item);
    if (err == UDPA_OK)
        udpai_held_forget(subscription, name); /* so that it is sent once */
    else
        udpai_item_release(item);
    return err;
}

/* It may have been published again since, elsewhere. */
static udpa_err
send_removal(udpai_subscription *subscription, udpai_str name)
{
    if (udpai_subscription_knows_absence(subscription, name))
        return mark_name_removed(subscription, name);
    udpai_held_suspect(subscription, name);
    return UDPA_OK;
}

/* A node that comes is to be sent what was published of names below this prefix, as far as nothing
 * is there: it may have what was removed by another path, and states only what it has by this one.
 */
static udpa_err
mark_all_removed(udpai_subscription *subscription, udpai_str prefix)
{
    const udpai_topic *topic = subscription->topic;
    if (subscription->mode != UDPAI_MODE_DELTA || !subscription->subscriber->except_node)
        return UDPA_OK;
    udpa_err err = UDPA_OK;
    size_t at = 0;
    const udpa_resource *removal;
    while (err == UDPA_OK && (removal = udpai_kept_removals_next(topic, &at)))
        if (udpai_prefix_covers(prefix, udpai_resource_name(removal)))
            err = send_removal(subscription, udpai_resource_name(removal));
    return err;
}

udpa_err
udpai_subscribe_wildcards(udpai_subscription *subscription,
                          const udpai_str *prefixes,
                          size_t n,
                          udpa_error **ret_error)
{
    size_t n_before = subscription->prefixes.n;
    const udpai_view *before = subscription->view;
    subscription->asked_ms = subscription->topic->fanout->wheel->now_ms;
    udpa_err err = add_prefixes(subscription, prefixes, n, ret_error);
    if (err != UDPA_OK)
        return err;
    for (size_t i = n_before; i < subscription->prefixes.n && err == UDPA_OK; i++) {
        udpai_str prefix = udpai_bytes_view(subscription->prefixes.items[i]);
        udpai_interest_wildcard(subscription, prefix, true);
        err = mark_all_removed(subscription, prefix);
    }
    /* It had them, or a wider wildcard holds them already: asked for again, in effect. */
    bool is_again =
        subscription->mode == UDPAI_MODE_STATE || (before && before == subscription->view);
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        if (is_again || find_prefix(subscription, prefixes[i]) < n_before)
            err = send_again(subscription, prefixes[i]);
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_subscribe_wildcard(udpai_subscription *subscription, udpai_str prefix, udpa_error **ret_error)
{
    return udpai_subscribe_wildcards(subscription, &prefix, 1, ret_error);
}

static void
forget_prefix(udpai_subscription *subscription, size_t index)
{
    udpa_bytes *prefix = subscription->prefixes.items[index];
    udpai_interest_wildcard(subscription, udpai_bytes_view(prefix), false);
    udpa_bytes_unref(prefix);
    udpai_vector_remove_unordered(&subscription->prefixes, index);
}

udpa_err
udpai_unsubscribe_wildcard(udpai_subscription *subscription, udpai_str prefix)
{
    size_t index = find_prefix(subscription, prefix);
    if (index == subscription->prefixes.n)
        return UDPA_OK;
    forget_prefix(subscription, index);
    udpa_err err = udpai_held_forget_uncovered(subscription);
    return err == UDPA_OK ? udpai_subscription_reselect(subscription, false, NULL) : err;
}

udpa_err
udpai_unsubscribe_all_wildcards(udpai_subscription *subscription)
{
    while (subscription->prefixes.n)
        forget_prefix(subscription, subscription->prefixes.n - 1);
    udpa_err err = udpai_held_forget_uncovered(subscription);
    return err == UDPA_OK ? udpai_subscription_reselect(subscription, false, NULL) : err;
}

bool
udpai_subscription_has_prefix(const udpai_subscription *subscription, udpai_str prefix)
{
    return find_prefix(subscription, prefix) < subscription->prefixes.n;
}

bool
udpai_subscription_has_wildcard(const udpai_subscription *subscription)
{
    return subscription->prefixes.n > 0;
}

bool
udpai_subscription_covers(const udpai_subscription *subscription, udpai_str name)
{
    for (size_t i = 0; i < subscription->prefixes.n; i++)
        if (udpai_prefix_covers(udpai_bytes_view(subscription->prefixes.items[i]), name))
            return true;
    return false;
}

size_t
udpai_subscription_n_prefixes(const udpai_subscription *subscription)
{
    return subscription->prefixes.n;
}

udpai_str
udpai_subscription_prefix(const udpai_subscription *subscription, size_t index)
{
    return udpai_bytes_view(subscription->prefixes.items[index]);
}
