/* SPDX-License-Identifier: Apache-2.0 */
/* Counts changes that are replaced before they were sent. There is no queue to be looked through:
 * of the subscriptions of a view the one that has come least far decides, which is looked for once
 * in a change set, as all of them are woken then; of a name each has what it was sent. */
#include "fanout/fanout_internal.h"

#include "metrics/meters.h"

/* One that has been sent nothing yet waits for its first response, which brings the last of all
 * changes. */
static bool
has_begun(const udpai_subscription *subscription)
{
    return subscription->n_turns != 0;
}

static const udpai_subscription *
find_slowest(const udpai_view *view)
{
    const udpai_subscription *slowest = NULL;
    UDPAI_LIST_FOREACH (node, &view->subscriptions) {
        const udpai_subscription *one = UDPAI_LIST_ENTRY(node, udpai_subscription, in_view);
        if (has_begun(one) && (!slowest || one->cursor.low < slowest->cursor.low))
            slowest = one;
    }
    return slowest;
}

/* None moves while a change set is applied. */
static const udpai_subscription *
slowest_of(udpai_view *view)
{
    uint64_t n_applied = view->topic->fanout->n_applied;
    if (view->slowest_in != n_applied)
        view->slowest = find_slowest(view);
    view->slowest_in = n_applied;
    return view->slowest;
}

static bool
is_unsent_in(udpai_view *view, const udpai_item *item)
{
    const udpai_subscription *slowest = slowest_of(view);
    return slowest && !udpai_cursor_was_sent(&slowest->cursor, item->payload_seq) &&
           !udpai_filtered_view_hides(udpai_filtered_view_of(slowest), item);
}

static bool
is_unsent_in_views(const udpai_item *item)
{
    const udpai_membership *memberships = udpai_item_memberships(item);
    for (size_t i = 0; i < item->n_memberships; i++)
        if (!memberships[i].is_tombstone && !udpai_view_is_filter(memberships[i].view) &&
            is_unsent_in(memberships[i].view, item))
            return true;
    return false;
}

/* What comes by a wildcard as well is not sent by the name. */
static bool
is_unsent_by(const udpai_name_sub *sub, const udpai_item *item)
{
    return has_begun(sub->subscription) && udpai_target(sub) == item &&
           sub->sent_seq < item->payload_seq &&
           !udpai_filtered_view_is_live(udpai_filtered_view_of(sub->subscription), item);
}

static bool
is_unsent_by_names(const udpai_item *item)
{
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(item))
        if (is_unsent_by(udpai_name_sub_of(node), item))
            return true;
    UDPAI_LIST_FOREACH (other, udpai_item_alias_subs(item))
        if (is_unsent_by(udpai_alias_sub_of(other), item))
            return true;
    return false;
}

void
udpai_coalesced_count(const udpai_item *item, const udpai_change *change)
{
    if (item->topic->coalesced && item->resource && change->kind != UDPAI_CHANGE_REFRESH &&
        (is_unsent_in_views(item) || is_unsent_by_names(item)))
        udpai_meter_add(item->topic->coalesced, 1);
}
