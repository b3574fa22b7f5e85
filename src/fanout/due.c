/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscription must still be sent: whether there is anything, and where that lies. */
#include "fanout/first_answer.h"
#include "fanout/kept_removals.h"

/* ---- additions ---- */

uint64_t
udpai_pending_in_view(const udpai_subscription *subscription)
{
    const udpai_cursor *cursor = &subscription->cursor;
    if (!subscription->view)
        return UDPAI_NOTHING;
    const udpai_item *item = udpai_log_first_after(&subscription->view->live, cursor->low);
    if (item && udpai_cursor_in_window(cursor, item->seq))
        item = udpai_log_first_after(&subscription->view->live, cursor->window_to);
    return item ? item->seq : UDPAI_NOTHING;
}

static uint64_t
first_pending(const udpai_list *list)
{
    return udpai_list_empty(list) ? UDPAI_NOTHING
                                  : UDPAI_LIST_ENTRY(list->next, udpai_pending, node)->mark_seq;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool
may_answer(udpai_subscription *subscription, udpai_str prefix, bool takes_away)
{
    return udpai_subscription_is_settled(subscription, prefix, subscription->asked_ms) ||
           (!takes_away && udpai_subscription_is_waited_out(subscription, prefix));
}

/* A state means that what it lacks does not exist: that must be certain, unless the client holds
 * nothing; what is not certain is not removed from it. Without any subscription no state is sent.
 */
static bool
may_send_state(udpai_subscription *subscription, bool takes_away)
{
    if (!subscription->view && subscription->names.n == 0)
        return false;
    for (size_t i = 0; i < subscription->prefixes.n; i++)
        if (!may_answer(subscription, udpai_bytes_view(subscription->prefixes.items[i]),
                        takes_away))
            return false;
    return udpai_list_empty(&subscription->unanswered);
}

uint64_t
udpai_pending_addition(udpai_subscription *subscription)
{
    uint64_t pending =
        least(udpai_pending_in_view(subscription), first_pending(&subscription->additions));
    if (subscription->mode != UDPAI_MODE_STATE)
        return pending;
    pending = least(pending, subscription->state_due_seq);
    return pending != UDPAI_NOTHING && may_send_state(subscription, false) ? pending
                                                                           : UDPAI_NOTHING;
}

/* What is pending is sent, if its target is there. */
static const udpai_item *
pending_item(const udpai_pending *pending)
{
    return pending->is_of_item ? pending->item : udpai_target(udpai_pending_name_sub(pending));
}

uint64_t
udpai_pending_change(const udpai_pending *pending)
{
    const udpai_item *item = pending_item(pending);
    return item ? item->seq : 0;
}

static uint64_t
last_in_view(const udpai_subscription *subscription)
{
    const udpai_log *log = &subscription->view->live;
    for (size_t i = log->n; i-- > 0 && log->slots[i].seq > subscription->cursor.low;)
        if (log->slots[i].item)
            return log->slots[i].seq;
    return 0;
}

struct span {
    uint64_t first, last;
};

static void
widen(struct span *span, uint64_t seq)
{
    span->first = least(span->first, seq);
    span->last = seq > span->last ? seq : span->last;
}

/* A state has no lists of what is pending. */
static void
widen_by_names(struct span *span, const udpai_subscription *subscription)
{
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        if (udpai_target(sub) && sub->sent_seq != udpai_target(sub)->seq)
            widen(span, udpai_target(sub)->seq);
}

bool
udpai_subscription_pending_changes(const udpai_subscription *subscription,
                                   uint64_t *ret_first,
                                   uint64_t *ret_last)
{
    struct span span = {UDPAI_NOTHING, 0};
    uint64_t in_view = udpai_pending_in_view(subscription);
    if (in_view != UDPAI_NOTHING) {
        widen(&span, in_view);
        widen(&span, last_in_view(subscription));
    }
    UDPAI_LIST_FOREACH (node, &subscription->additions)
        widen(&span, udpai_pending_change(UDPAI_LIST_ENTRY(node, udpai_pending, node)));
    if (subscription->mode == UDPAI_MODE_STATE)
        widen_by_names(&span, subscription);
    *ret_first = span.first;
    *ret_last = span.last;
    return span.first != UDPAI_NOTHING;
}

uint64_t
udpai_subscription_first_pending(udpai_subscription *subscription)
{
    return udpai_pending_addition(subscription);
}

uint64_t
udpai_subscription_first_removal(udpai_subscription *subscription)
{
    return udpai_pending_removal(subscription);
}

/* The first place of what is pending and may be sent. */
uint64_t
udpai_first_pending_within(const udpai_subscription *subscription, const udpai_send_limits *limits)
{
    UDPAI_LIST_FOREACH (node, &subscription->additions) {
        const udpai_pending *pending = UDPAI_LIST_ENTRY(node, udpai_pending, node);
        if (pending->mark_seq > limits->place)
            break;
        if (udpai_pending_change(pending) <= limits->change)
            return pending->mark_seq;
    }
    return UDPAI_NOTHING;
}

bool
udpai_pending_is_sendable(const udpai_subscription *subscription, const udpai_send_limits *limits)
{
    uint64_t first, last;
    if (limits->change == UDPAI_NOTHING)
        return true;
    if (subscription->mode == UDPAI_MODE_STATE)
        return !udpai_subscription_pending_changes(subscription, &first, &last) ||
               last <= limits->change;
    return udpai_pending_in_view(subscription) <= least(limits->place, limits->change) ||
           udpai_first_pending_within(subscription, limits) != UDPAI_NOTHING;
}

bool
udpai_pending_changed_twice(const udpai_subscription *subscription, uint64_t since)
{
    const udpai_cursor *cursor = &subscription->cursor;
    const udpai_log *log = subscription->view ? &subscription->view->live : NULL;
    for (size_t i = log ? udpai_log_after(log, cursor->low) : 0; log && i < log->n; i++) {
        const udpai_item *item = log->slots[i].item;
        if (item && !udpai_cursor_in_window(cursor, item->seq) && item->previous_seq > since)
            return true;
    }
    UDPAI_LIST_FOREACH (node, &subscription->additions) {
        const udpai_item *item = pending_item(UDPAI_LIST_ENTRY(node, udpai_pending, node));
        if (item && item->previous_seq > since)
            return true;
    }
    return false;
}

/* ---- removals ---- */

/* Has all that is to be removed a removal with a generation? Then the removal is certain, whatever
 * source is still to answer. */
static bool
are_removed(const udpai_subscription *subscription)
{
    udpai_removals removals =
        udpai_removals_after(udpai_filtered_view_of(subscription), subscription->cursor.tombstones);
    while (udpai_removals_next_seq(&removals) != UDPAI_NOTHING) {
        const udpai_item *item = udpai_removals_next(&removals);
        if (item && !udpai_kept_removals_find(item->topic, udpai_item_name(item)))
            return false;
    }
    return subscription->state_removal_seq == UDPAI_NOTHING;
}

static uint64_t
first_tombstone(const udpai_subscription *subscription)
{
    udpai_removals removals =
        udpai_removals_after(udpai_filtered_view_of(subscription), subscription->cursor.tombstones);
    return udpai_removals_next_seq(&removals);
}

uint64_t
udpai_pending_removal(udpai_subscription *subscription)
{
    uint64_t pending = first_tombstone(subscription);
    switch (subscription->mode) {
    case UDPAI_MODE_GROUPED:
        break;
    case UDPAI_MODE_ERRORS:
        return first_pending(&subscription->removals);
    case UDPAI_MODE_DELTA:
        return least(pending, first_pending(&subscription->removals));
    case UDPAI_MODE_STATE:
        pending = least(pending, subscription->state_removal_seq);
        if (pending != UDPAI_NOTHING &&
            (may_send_state(subscription, true) ||
             (may_send_state(subscription, false) && are_removed(subscription))))
            return pending;
        break;
    }
    return UDPAI_NOTHING;
}

/* ---- all there is ---- */

bool
udpai_has_all_additions(const udpai_subscription *subscription)
{
    if (subscription->mode == UDPAI_MODE_STATE && subscription->state_due_seq != UDPAI_NOTHING)
        return false;
    return udpai_list_empty(&subscription->additions) &&
           udpai_pending_in_view(subscription) == UDPAI_NOTHING;
}

/* What its mode does not send it is not there for it. */
bool
udpai_has_all_removals(const udpai_subscription *subscription)
{
    bool takes_lists =
        subscription->mode == UDPAI_MODE_DELTA || subscription->mode == UDPAI_MODE_ERRORS;
    bool takes_views =
        subscription->mode == UDPAI_MODE_DELTA || subscription->mode == UDPAI_MODE_STATE;
    if (takes_lists && !udpai_list_empty(&subscription->removals))
        return false;
    if (subscription->mode == UDPAI_MODE_STATE && subscription->state_removal_seq != UDPAI_NOTHING)
        return false;
    return !takes_views || first_tombstone(subscription) == UDPAI_NOTHING;
}
